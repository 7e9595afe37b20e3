"""The record fuzzer: JSON, CSV, Parquet, frames, rows of Python and messages of topics, with what nobody expects in them.

Its law: each becomes rows or errors of rows, or its source is refused; whole records stand beside broken ones, and every one of
those has its row in the answer. Never another exception, never more than 5 seconds, and the engine is alive after it.
"""

from __future__ import annotations

import base64
import csv
import datetime as dt
import gzip
import io
import json
import logging
import math
import random
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

from jupyter_stream import Query, Session
from jupyter_stream.core import logs
from jupyter_stream.core.schema import TIMESTAMP, Schema
from jupyter_stream.errors import QueryError
from jupyter_stream.sources.messages import MessageFormat, Messages
from tests.fuzz.law import MOST_CHARACTERS, MOST_SECONDS, Finding, place
from tests.waiting import PATIENCE

WHOLE = 4
"""Records that nothing is wrong with, in each file of lines: two before the broken ones and two behind them."""
COLUMNS = "(mark STRING, a BIGINT, x DOUBLE, k STRING, ts TIMESTAMP, l ARRAY<BIGINT>, s STRUCT<n: INT, m: STRING>)"
FLAT = "(mark STRING, a BIGINT, x DOUBLE, k STRING, ts TIMESTAMP)"
VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 2**31, 2**63, -(2**63), 2**64, 10**30, 0.0, -0.0, 1e308, float("nan"), float("inf"), 5e-324,
    "", "x", "NULL", "null", "1", "1.5", "-", "1e400", "true", "ü", "\N{PILE OF POO}", "\ud800", "\x00", "\u2028", "a\nb",
    'a"b', "a,b", "2024-01-01", "2024-01-01T00:00:00Z", "9999-12-31 23:59:59", "10000-01-01", "0000-01-01", "-1-01-01",
    "2024-13-45", "24:00", [], [1, None, "x"], {}, {"n": 1, "m": "x"}, {"n": "x"}, [[1]], [{"n": 1}], "x" * 10_000,
    "9" * 5_000,
)  # fmt: skip


def trying(seed: int, start: int) -> Callable[[int], tuple[str, Finding | None]]:
    """A function that tries the n-th lot of records; one that only makes it, where `start` is -1."""
    bench = RecordBench() if start >= 0 else None

    def try_one(number: int) -> tuple[str, Finding | None]:
        kind, data = records(seed, number)
        text = shown(kind, data)
        return text, None if bench is None else bench.check(kind, data, text)

    return try_one


def records(seed: int, number: int) -> tuple[str, Any]:
    """The n-th lot of a seed: its kind, and bytes or an object."""
    draw = random.Random(seed * 1_000_003 + number)
    kind = draw.choice(tuple(_MADE))
    return kind, _MADE[kind](draw)


def shown(kind: str, data: Any) -> str:
    """A lot of records as text, to be kept with what was found."""
    if isinstance(data, bytes):
        return f"{kind} {base64.b85encode(data[:20_000]).decode()}"
    try:
        return f"{kind} {data!r}"[:4_000]
    except (Exception, pl.exceptions.PanicException) as error:  # what can't be shown can be read all the same
        return f"{kind} can't be shown: {type(error).__name__}"


# -- making them


def _value(draw: random.Random) -> Any:
    if draw.random() < 0.15:
        return draw.choice(
            (
                draw.randrange(-(10**20), 10**20),
                draw.random() * 10 ** draw.randrange(-300, 300),
                "y" * draw.randrange(50),
            )
        )
    return draw.choice(VALUES)


def _whole(i: int) -> dict[str, Any]:
    return {"mark": "whole", "a": i, "x": 0.5, "k": "x", "ts": f"2024-01-01 00:00:0{i}"}


def _object(draw: random.Random) -> dict[str, Any]:
    keys = ("mark", "a", "x", "k", "ts", "l", "s", "A", "other", "", "\ud801", "k" * 300)
    made = {draw.choice(keys): _value(draw) for _ in range(draw.randrange(9))}
    if made.get("mark") == "whole":
        del made["mark"]
    return made


def _spoilt(line: bytes, draw: random.Random) -> bytes:
    """A record with some bytes changed; it stays one line."""
    data = bytearray(line)
    for _ in range(draw.choice((0, 0, 1, 2, 8))):
        at = draw.randrange(len(data) + 1)
        match draw.randrange(4):
            case 0:
                data[at:at] = bytes([draw.randrange(256)])
            case 1:
                del data[at : at + draw.choice((1, 1, 5, 100))]
            case 2:
                data[at:at] = draw.choice(
                    (
                        b"\xff\xfe",
                        b"\xed\xa0\x80",
                        b"\\ud800",
                        b"\\u0000",
                        b"{" * 3_000,
                        b"[" * 3_000,
                        b"\x00",
                        b'"',
                        b"\r",
                    )
                )
            case _:
                data[at:at] = data[draw.randrange(len(data) + 1) :][:50]
    return bytes(data).replace(b"\n", b" ")


def _json_line(draw: random.Random) -> bytes:
    made = json.dumps(_object(draw), ensure_ascii=draw.random() < 0.7)
    return _spoilt(made.encode(errors="surrogatepass"), draw)


def _json(draw: random.Random) -> bytes:
    lines = [json.dumps(_whole(i)).encode() for i in range(WHOLE)]
    bad = [_json_line(draw) for _ in range(draw.choice((0, 1, 3, 10)))]
    bad = [line for line in bad if b"whole" not in line]
    return b"\n".join((*lines[:2], *bad, *lines[2:])) + draw.choice((b"", b"\n", b"\r\n", b"\n\n"))


def _csv_line(draw: random.Random) -> bytes:
    text = io.StringIO()
    csv.writer(text).writerow([_value(draw) for _ in range(draw.choice((0, 1, 4, 5, 5, 5, 6)))])
    return _spoilt(text.getvalue().strip().encode(errors="surrogatepass"), draw)


def _csv(draw: random.Random) -> bytes:
    lines = [",".join(map(str, _whole(i).values())).encode() for i in range(WHOLE)]
    # a quote that isn't closed takes what follows it, by right: there are none in what is expected to leave others alone
    bad = [_csv_line(draw).replace(b'"', b"'").replace(b"\r", b" ") for _ in range(draw.choice((0, 1, 3, 10)))]
    return b"\n".join((b"mark,a,x,k,ts", *lines[:2], *bad, *lines[2:])) + draw.choice((b"", b"\n"))


def _any_csv(draw: random.Random) -> bytes:
    return b"\n".join((b"mark,a,x,k,ts", *(_csv_line(draw) for _ in range(draw.choice((1, 3, 10))))))


def _packed(draw: random.Random) -> bytes:
    made = gzip.compress(draw.choice((_json, _any_csv))(draw))
    return draw.choice((made, made[: draw.randrange(len(made))], _spoilt(made, draw), made + b"rest", made + made))


def _column(draw: random.Random, rows: int) -> pl.Series:
    kinds: tuple[Callable[[], pl.Series], ...] = (
        lambda: pl.Series([draw.randrange(-5, 5) for _ in range(rows)]),
        lambda: pl.Series([draw.choice((None, 2**63 - 1, -(2**63), 0)) for _ in range(rows)], dtype=pl.Int64),
        lambda: pl.Series([draw.choice((None, math.nan, math.inf, 0.5)) for _ in range(rows)], dtype=pl.Float64),
        lambda: pl.Series([draw.choice((None, "", "x", "2024-01-01", "\x00")) for _ in range(rows)], dtype=pl.String),
        lambda: pl.Series([draw.randrange(-(2**63), 2**63) for _ in range(rows)], dtype=pl.Int64).cast(
            pl.Datetime(draw.choice(("ns", "us", "ms")))  # type: ignore[arg-type]
        ),
        lambda: pl.Series([dt.datetime(draw.choice((1, 1970, 2024, 9999)), 1, 1) for _ in range(rows)]),
        lambda: pl.Series([dt.date(draw.choice((1, 1970, 9999)), 1, 1) for _ in range(rows)]),
        lambda: pl.Series([dt.timedelta(draw.randrange(9)) for _ in range(rows)]),
        lambda: pl.Series([dt.time(draw.randrange(24)) for _ in range(rows)]),
        lambda: pl.Series([[1, None]] * rows),
        lambda: pl.Series([{"n": 1, "m": "x"}] * rows),
        lambda: pl.Series([b"\xff\x00"] * rows),
        lambda: pl.Series(["x"] * rows, dtype=pl.Categorical),
        lambda: pl.Series([2**100] * rows, dtype=pl.Int128),
        lambda: pl.Series([1] * rows).cast(pl.Decimal(38, 5)),
        lambda: pl.Series([None] * rows, dtype=pl.Null),
        lambda: pl.Series([object()] * rows, dtype=pl.Object),
    )
    return draw.choice(kinds)()


def _polars(draw: random.Random) -> pl.DataFrame:
    rows = draw.choice((0, 1, 5, 20))
    names = draw.sample(("mark", "a", "x", "k", "ts", "l", "s", "T s", "ü"), draw.randrange(1, 6))
    return pl.DataFrame([_column(draw, rows).alias(name) for name in names])


def _pandas(draw: random.Random) -> pd.DataFrame:
    rows = draw.choice((0, 1, 5, 20))
    kinds: tuple[Callable[[], Any], ...] = (
        lambda: pd.Series([_value(draw) for _ in range(rows)], dtype=object),
        lambda: pd.arrays.SparseArray([draw.choice((0, 0, 1)) for _ in range(rows)]),
        lambda: pd.Categorical([draw.choice(("x", "y", None)) for _ in range(rows)]),
        lambda: pd.period_range("2024", periods=rows, freq=draw.choice(("Y", "D", "h"))),
        lambda: pd.interval_range(0, rows),
        lambda: pd.date_range("2024", periods=rows, tz=draw.choice((None, "UTC", "Europe/Berlin"))),
        lambda: np.array([draw.randrange(-(2**63), 2**63) for _ in range(rows)]).astype(
            draw.choice(("M8[s]", "M8[ns]", "m8[us]"))
        ),
        lambda: np.array([1 + 2j] * rows),
        lambda: np.array([draw.randrange(2**64) for _ in range(rows)], dtype=np.uint64),
        lambda: pd.array([draw.choice((1, None)) for _ in range(rows)], dtype="Int8"),
        lambda: np.array([0.5] * rows, dtype=draw.choice(("f2", "f4", "f8"))),
    )
    names: list[Any] = draw.sample(["mark", "a", "x", "k", "ts", 0, None, ("a", "b"), 1.5], draw.randrange(1, 5))
    made = pd.DataFrame({i: pd.Series(draw.choice(kinds)()) for i in range(len(names))})
    made.columns = pd.Index(names, dtype=object) if draw.random() < 0.9 else pd.Index(["a"] * len(names))
    return made


def _arrow(draw: random.Random) -> pa.Table:
    frame = _polars(draw)
    return frame.select(c for c in frame.columns if not isinstance(frame.schema[c], pl.Object | pl.Int128)).to_arrow()


def _parquet(draw: random.Random) -> bytes:
    made = io.BytesIO()
    frame = _polars(draw)
    frame.select(c for c in frame.columns if not isinstance(frame.schema[c], pl.Object)).write_parquet(made)
    data = bytearray(made.getvalue())
    for _ in range(draw.choice((0, 0, 1, 3))):
        data[draw.randrange(len(data))] = draw.randrange(256)
    return bytes(data[: draw.randrange(len(data))] if draw.random() < 0.1 else data)


def _rows(draw: random.Random) -> list[Any]:
    kinds = (_object, _object, _value, lambda draw: tuple(_value(draw) for _ in range(3)))
    return [draw.choice(kinds)(draw) for _ in range(8)]


def _messages(draw: random.Random) -> list[bytes | None]:
    kinds = (_json_line, _csv_line, lambda draw: b"", lambda draw: None)
    made: list[bytes | None] = [draw.choice(kinds)(draw) for _ in range(draw.randrange(9))]
    return [m for m in made if m is None or b"whole" not in m]


_MADE: dict[str, Callable[[random.Random], Any]] = {
    "json": _json, "csv": _csv, "any.csv": _any_csv, "gz": _packed, "parquet": _parquet, "polars": _polars, "pandas": _pandas,
    "arrow": _arrow, "python": _rows, "topic": _messages,
}  # fmt: skip


# -- trying them


class Faults(logging.Handler):
    """Errors of ours that the log has: a source that ends by one looks, to its queries, like one that was refused."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[BaseException] = []
        logging.getLogger("jupyter_stream").addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the error."""
        if record.exc_info is not None and record.exc_info[1] is not None:
            self.seen.append(record.exc_info[1])

    def close(self) -> None:
        """Listen no more."""
        logs.flush()
        logging.getLogger("jupyter_stream").removeHandler(self)
        super().close()


class RecordBench:
    """A session that reads what it is given, declared and undeclared."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self.session = Session({})
        self._faults = Faults()
        self.session.engine.submit(lambda: None).result(PATIENCE)  # its thread is the bench's, and no test's

    def close(self) -> None:
        """Stop everything."""
        self.session.close()
        self._folder.cleanup()
        self._faults.close()

    def check(self, kind: str, data: Any, text: str) -> Finding | None:
        """What is wrong with how a lot is read; None if nothing is."""
        began = time.monotonic(), time.process_time()
        self._faults.seen.clear()
        try:
            found = _parsed(data, text) if kind == "topic" else self._read(kind, data, text)
        except (Exception, pl.exceptions.PanicException) as error:
            found = Finding("exception", place(error), text, f"{type(error).__name__}: {error}"[:500])
        took = min(time.monotonic() - began[0], time.process_time() - began[1])
        logs.flush()
        for error in self._faults.seen:
            told = "".join(traceback.format_exception_only(error))[:500]
            found = found or Finding("fault", place(error), text, told)
        if found is None and took > MOST_SECONDS:
            found = Finding("stall", kind, text, f"{took:.1f} s")
        self.session.reset()
        try:
            self.session.engine.submit(lambda: None).result(PATIENCE)
        except TimeoutError:
            return found or Finding("dead", "engine", text, "the engine doesn't answer")
        return found

    def _read(self, kind: str, data: Any, text: str) -> Finding | None:
        if isinstance(data, bytes):
            ending = {"json": "jsonl", "gz": "jsonl.gz"}.get(kind, kind)
            path = Path(self._folder.name) / f"f.{ending}"
            path.write_bytes(data)
            uri = f"file://{path}"
        else:
            self.session.namespace["given"] = data
            uri = f"{'python' if kind == 'python' else 'frame'}://given"
        sources = [f"SOURCE '{uri}'", f"{FLAT if 'csv' in kind else COLUMNS} SOURCE '{uri}'"]
        for declared in sources:
            found = self._run(declared, text, whole=declared is sources[1] and kind in ("json", "csv"))
            if found is not None:
                return found
        return None

    def _run(self, declared: str, text: str, whole: bool) -> Finding | None:
        try:
            query = self.session.execute(f"CREATE OR REPLACE STREAM s {declared}; SELECT * FROM s")[-1]
            assert isinstance(query, Query)
            query.wait(PATIENCE)
            rows, errors = query.to_polars(), query.errors
        except QueryError as error:
            told = str(error)
            if "an internal error" in told:
                return Finding("fault", told.split("(an internal")[0][:160], text, told[:500])
            if len(told) > MOST_CHARACTERS:
                return Finding("long", place(error), text, told[:300])
            return Finding("lost", declared[:40], text, told[:300]) if whole else None
        if query.status not in ("finished", "failed"):
            return Finding("stall", declared[:20], text, str(query.status))
        if whole and rows.filter(pl.col("mark") == "whole").height != WHOLE:
            return Finding("lost", declared[:40], text, f"{rows.height} rows, {errors.rows()[:3]}"[:400])
        return None


_SCHEMA = Schema.of(
    (("mark", pl.String()), ("a", pl.Int64()), ("x", pl.Float64()), ("k", pl.String()), ("ts", TIMESTAMP))
)


def _parsed(values: list[bytes | None], text: str) -> Finding | None:
    """Messages of a topic, as they come from a broker: each is a row or an error."""
    for form in ("json", "csv"):
        about = pl.DataFrame({"offset": list(range(len(values)))}, schema={"offset": pl.Int64()})
        broker = Schema.of((("offset", pl.Int64()),))
        parser = MessageFormat({"format": form}, _SCHEMA, {}, broker, "kafka://h/t").parser(_SCHEMA.fields)
        chunk = parser.parse(Messages(values, about, lambda number: f" (t, offset {number})"))
        bad = 0 if chunk.rejected is None else chunk.rejected.height
        if form == "json" and chunk.frame.height + bad != len(values):
            return Finding("lost", "messages", text, f"{chunk.frame.height} rows, {bad} errors of {len(values)}")
    return None
