"""CSV and JSON lines that Spark reads itself, for `to_spark()`: the rows our reader gives, or a refusal that says why."""

from __future__ import annotations

import datetime as dt
import json
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from jupyter_stream.core.schema import Schema
from jupyter_stream.errors import QueryError, UnsupportedError
from jupyter_stream.session.session import Session
from jupyter_stream.spark.settings import settings
from jupyter_stream.spark.texts import kind_of, rows_of_texts
from tests.oracle.compare import assert_same_bag, plain_rows
from tests.tiers import slow

START = dt.datetime(2024, 5, 1, 12)
COLUMNS = "ts TIMESTAMP, k STRING, n INT, x DOUBLE, b BIGINT, ok BOOLEAN, d DATE"
WORDS = ["plain", 'with "quotes"', "two\nlines", "a, b; c", "back\\slash", " around ", "ünïcode", "", None]
QUERY = """SELECT k, ok, d, count(*) AS c, sum(n) AS n, max(x) AS x, min(b) AS b, count(n) AS cn
    FROM s [RANGE 20 SECONDS SLIDE 10 SECONDS] GROUP BY k, ok, d"""


def records(count: int = 400) -> list[dict[str, Any]]:
    """Good records, with NULLs, times of three spellings and text of all kinds."""
    made = []
    for i in range(count):
        ts = START + dt.timedelta(milliseconds=i * 700)
        spelt = [ts.isoformat(), ts.isoformat(" ", "milliseconds"), ts.isoformat(timespec="microseconds")][i % 3]
        made.append(
            {
                "other": i,
                "d": None if i % 5 == 0 else f"2024-0{1 + i % 9}-15",
                "k": WORDS[i % len(WORDS)],
                "ts": spelt,
                "n": None if i % 7 == 0 else i - 200,
                "x": None if i % 11 == 0 else [i / 8, -1e-9, 1.5e300][i % 3],
                "b": None if i % 13 == 0 else (-1) ** i * (2**62 + i),
                "ok": [True, False, None][i % 3],
            }
        )
    return made


def write(folder: Path, kind: str, rows: list[dict[str, Any]], files: int = 4) -> Path:
    folder.mkdir()
    for i in range(files):
        part = rows[i * len(rows) // files : (i + 1) * len(rows) // files]
        if kind == "json":
            text = "".join(json.dumps(row) + "\n" for row in part)
        else:
            text = "\n".join([",".join(part[0]), *(",".join(csv_field(v) for v in row.values()) for row in part), ""])
        file = folder / f"{i}.{kind}"
        file.write_text(text)
        os.utime(file, (1000 + i, 1000 + i))  # Spark takes files in the order of their times, those of the same in any
    return folder


def csv_field(value: object) -> str:
    if value is None:
        return ""
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return '"' + text.replace('"', '""') + '"' if isinstance(value, str) else text


def declared(folder: Path, options: str = "") -> str:
    return f"CREATE STREAM s ({COLUMNS}, WATERMARK FOR ts AS ts - INTERVAL 5 SECONDS) SOURCE 'file://{folder}'{options}"


@slow
@pytest.mark.parametrize("kind", ["csv", "json"])
def test_spark_reads_good_records_as_our_reader_does(
    kind: str, tmp_path: Path, sessions: Callable[..., Session]
) -> None:
    session = sessions()
    session.run(declared(write(tmp_path / "s", kind, records())))
    query: Any = session.run(QUERY)[-1]
    assert query.wait(200) and query.errors.height == 0
    frame = query.to_spark(max_files=1)
    running = frame.writeStream.format("memory").queryName("answers").trigger(availableNow=True).start()
    assert running.awaitTermination(200)
    took = [p["numInputRows"] for p in running.recentProgress if p["numInputRows"]]
    assert took == [100, 100, 100, 100]  # a file a micro-batch
    found = pl.from_arrow(frame.sparkSession.table("answers").toArrow())
    assert isinstance(found, pl.DataFrame)
    found = found.with_columns(pl.col("window_start", "window_end").dt.replace_time_zone(None)).cast({"d": pl.String})
    newest = START + dt.timedelta(milliseconds=399 * 700)
    final = query.to_polars().filter(pl.col("window_end") <= newest - dt.timedelta(seconds=6)).cast({"d": pl.String})
    assert final.height > 100
    assert_same_bag(plain_rows(found), plain_rows(final), final.columns)


@slow
def test_files_that_spark_would_take_in_another_order_are_told(
    tmp_path: Path, sessions: Callable[..., Session]
) -> None:
    session = sessions()
    folder = write(tmp_path / "s", "csv", records(40))
    session.run(declared(folder))
    query: Any = session.run(QUERY)[-1]
    assert query.wait(200)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "Spark takes")
        query.to_spark()
        query.to_spark(max_files=1)
        query.to_spark(max_files=4)
        os.utime(folder / "2.csv", (1001, 1001))
        query.to_spark(max_files=4)  # all at once
        with pytest.raises(UserWarning, match=r"2\.csv was not changed after 1\.csv"):
            query.to_spark(max_files=3)


@slow
def test_bad_record_ends_the_frame_and_goes_to_the_errors_of_the_query(
    tmp_path: Path, sessions: Callable[..., Session]
) -> None:
    folder = write(tmp_path / "s", "json", records(40), files=1)
    with (folder / "0.json").open("a") as file:
        file.write('{"ts": "2024-05-01T12:10:00", "n": "many"}\n')
    session = sessions()
    session.run(declared(folder))
    query: Any = session.run(QUERY, engine="spark", conf=["jupyter_stream.maxFilesPerTrigger=1"])[-1]
    assert query.wait(200)
    assert query.errors.height == 1 and "many" in query.errors["raw"][0]
    running = query.to_spark().writeStream.format("noop").trigger(availableNow=True).start()
    with pytest.raises(Exception, match=r"FAILED_READ_FILE|MALFORMED_RECORD"):
        running.awaitTermination(200)


SCHEMA = Schema.of([("k", pl.String()), ("n", pl.Int32())])


@pytest.mark.parametrize(
    ("name", "text", "options", "says"),
    [
        ("a.csv", "k,n\nx,1\n", {"null": "NA"}, "option null"),
        ("a.csv", "k,n\nx,1\n", {"timestamp_unit": "s"}, "option timestamp_unit"),
        ("a.csv", "K,n\nx,1\n", {}, "no k in this spelling"),
        ("a.json", '{"k": "x", "N": 1}\n', {}, "no n in this spelling"),
        ("a.json", '[{"k": "x", "n": 1}]\n', {}, "no n in this spelling|one object per line"),
        ("a.json", '[\n{"k": "x", "n": 1}]\n', {}, "one object per line"),
    ],
)
def test_files_that_spark_would_read_otherwise_are_refused(
    name: str, text: str, options: dict[str, str], says: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_text(text)
    kind = kind_of([path], options)
    assert kind is not None
    with pytest.raises(UnsupportedError, match=says):
        rows_of_texts(None, str(path), [path], kind, SCHEMA, options)


def test_nested_columns_of_text_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('{"k": ["x"]}\n')
    with pytest.raises(UnsupportedError, match="k is of a type"):
        rows_of_texts(None, str(path), [path], "json", Schema.of([("k", pl.List(pl.String()))]), {})


def test_files_of_several_kinds_are_of_none() -> None:
    assert kind_of([Path("a.csv"), Path("b.csv")], {}) == "csv"
    assert kind_of([Path("a.csv"), Path("b.json")], {}) is None
    assert kind_of([Path("a.txt"), Path("b.csv")], {"format": "JSONL"}) == "json"
    assert kind_of([Path("a.csv.gz")], {}) is None
    assert kind_of([], {}) is None


def test_number_of_files_is_said_to_be_one() -> None:
    assert settings(None, ["jupyter_stream.maxFilesPerTrigger=3"], None, None).at_once == 3
    assert settings(None, (), None, None).at_once is None
    with pytest.raises(QueryError, match="not a number of files"):
        settings(None, ["jupyter_stream.maxFilesPerTrigger=0"], None, None)
