"""The law of cells: one is answered with a `QueryError` that has a caret and at most 2,000 characters, or it runs.

Never another exception, never more than 5 seconds, and the engine is alive after it.
"""

from __future__ import annotations

import concurrent.futures
import datetime as dt
import logging
import os
import re
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from jupyter_stream import Query, Session
from jupyter_stream.errors import QueryError
from tests.fuzz.corpus import SQL
from tests.waiting import PATIENCE

MOST_CHARACTERS = 2_000
MOST_SECONDS = 5.0
QUIET = 0.2
"""Processor seconds of the work in `pace` on a quiet core: the law's seconds are such a core's."""
RUNS_FOR = 1.0
"""Seconds a query of a cell may run before it is stopped."""

_AT = dt.datetime(2024, 1, 1)
_TIMES = [_AT + dt.timedelta(seconds=i) for i in range(6)]
NAMES: dict[str, object] = {
    "p_rows": pl.DataFrame(
        {
            "a": [1, 2, None, 4, 5, -3],
            "b": [0.5, None, 1.5, float("nan"), -2.0, 1e300],
            "k": ["x", "y", "x", None, "ü", ""],
            "x": [1, 1, 2, 3, 5, 8],
            "ts": _TIMES,
            "s": [{"n": i, "m": str(i)} for i in range(6)],
            "l": [[1], [2, 3], [], None, [5], [6]],
        }
    ),
    "q_rows": pl.DataFrame({"a": [1, 2, 3], "k": ["x", "y", "z"], "ts": _TIMES[1:4]}),
    "t_rows": pl.DataFrame({"k": ["x", "y", "y"], "a": [1, 2, 3], "w": [1.5, None, 2.5]}),
    "p": 3,
}
DECLARED = """
CREATE STREAM p (a BIGINT, b DOUBLE, k STRING, x INT, ts TIMESTAMP, s STRUCT<n: BIGINT, m: STRING>, l ARRAY<BIGINT>,
                 WATERMARK FOR ts AS ts - INTERVAL 1 SECOND) SOURCE 'frame://p_rows';
CREATE STREAM q (a BIGINT, k STRING, ts TIMESTAMP) ORDER BY ts SOURCE 'frame://q_rows';
CREATE TABLE t SOURCE 'frame://t_rows';
CREATE RETROACTIVE TABLE r (k STRING, a BIGINT);
INSERT INTO r VALUES ('x', 1), ('y', 2);
CREATE STREAM d AS SELECT k, a, ts FROM p WHERE a > 0;
CREATE VIEW v AS SELECT k, max(a) AS a FROM t GROUP BY k
"""


@dataclass(frozen=True)
class Finding:
    """A cell or record that breaks the law.

    Attributes:
        kind: `exception`, `fault` (a query failed for a fault of ours), `long`, `no place`, `stall`, `dead`.
        where: the place in our code, so that findings of one cause can be counted together.
        text: what was tried.
        detail: what happened.
    """

    kind: str
    where: str
    text: str
    detail: str


def pace() -> float:
    """How many times longer a core takes now than a quiet one: neighbours take its caches and its other half from it."""
    began = time.thread_time()
    for _ in range(3):
        sorted({str(i): (i % 97, i) for i in range(60_000)}.items(), key=lambda item: item[1])
    return max(1.0, (time.thread_time() - began) / QUIET)


class Bench:
    """A session with streams, tables and a view, in which cells are tried; after each it is as before."""

    def __init__(self) -> None:
        os.chdir(SQL)  # the query files' paths are relative to it
        self._level = logging.getLogger("jupyter_stream").level
        logging.getLogger("jupyter_stream").setLevel(logging.CRITICAL)
        self.session = Session(dict(NAMES))
        self._declare()
        self._cells = 0

    def _declare(self) -> None:
        self.session.namespace.clear()
        self.session.namespace.update(NAMES)
        self.session.execute(DECLARED)

    def close(self) -> None:
        """Stop everything, and let others' tests hear again what is logged."""
        self.session.close()
        logging.getLogger("jupyter_stream").setLevel(self._level)

    def check(self, text: str) -> Finding | None:
        """What is wrong with how a cell is answered; None if nothing is."""
        began = time.monotonic(), time.process_time()
        found = self._run(text)
        took = min(time.monotonic() - began[0], time.process_time() - began[1])  # other programs' time isn't ours
        if found is None and took > MOST_SECONDS + RUNS_FOR and took > (MOST_SECONDS + RUNS_FOR) * pace():
            found = Finding("stall", "the cell", text, f"{took:.1f} s")
        self._cells += 1
        try:
            self.session.engine.submit(lambda: None).result(PATIENCE)
        except concurrent.futures.TimeoutError:
            return found or Finding("dead", "engine", text, "the engine doesn't answer")
        if self._cells % 10 == 0 or re.search(r"CREATE|DROP|INSERT|UPDATE|DELETE", text, re.IGNORECASE):
            self.session.reset()
            self._declare()
        return found

    def _run(self, text: str) -> Finding | None:
        known = set(self.session.queries)
        try:
            results = self.session.execute(text)
            for result in results:
                repr(result)
        except QueryError as error:
            return _told(error, text)
        except (Exception, pl.exceptions.PanicException) as error:
            return Finding("exception", place(error), text, "".join(traceback.format_exception_only(error))[:500])
        finally:
            queries = [q for name, q in list(self.session.queries.items()) if name not in known]
        return self._watched([r for r in results if isinstance(r, Query)] or queries, text)

    def _watched(self, queries: list[Query], text: str) -> Finding | None:
        """Let queries run for a moment, and stop them."""
        until = time.monotonic() + RUNS_FOR
        found: Finding | None = None
        for query in queries:
            with_error = query.snapshot
            try:
                query.wait(max(0.0, until - time.monotonic()))
                query.to_polars()
            except QueryError as error:
                told = str(error)
                if "an internal error" in told:
                    found = found or Finding("fault", told.split("(an internal")[0][:160], text, told[:500])
                elif len(told) > MOST_CHARACTERS:
                    found = found or Finding("long", "a query that failed", text, told[:500])
            except (Exception, pl.exceptions.PanicException) as error:
                found = found or Finding("exception", place(error), text, f"{type(error).__name__}: {error}"[:500])
            told = with_error(0).error or ""
            if "an internal error" in told:
                found = found or Finding("fault", told.split("(an internal")[0][:160], text, told[:500])
            query.stop()
        return found


def _told(error: QueryError, text: str) -> Finding | None:
    told = str(error)
    if len(told) > MOST_CHARACTERS:
        return Finding("long", place(error), text, told[:300])
    if error.line is None or error.column is None or error.snippet is None:
        return Finding("no place", place(error), text, told[:300])
    lines = text.split("\n")
    right = 1 <= error.line <= max(1, len(lines)) and told.count("^") >= 1
    return None if right else Finding("no place", place(error), text, told[:300])


def place(error: BaseException) -> str:
    """Type and place of an error: the last frame in our code."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "jupyter_stream" in f.filename]
    last = frames[-1] if frames else None
    where = "" if last is None else f" {last.filename.rpartition('jupyter_stream/')[2]}:{last.name}"
    return f"{type(error).__name__}{where}"


@contextmanager
def bench() -> Iterator[Bench]:
    """A bench that is closed in the end."""
    before = Path.cwd()
    made = Bench()
    try:
        yield made
    finally:
        made.close()
        os.chdir(before)
