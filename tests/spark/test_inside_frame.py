"""`to_spark()` of queries that Spark has no operators for: ours inside a streaming DataFrame give the kernel's answers."""

from __future__ import annotations

import datetime as dt
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from jupyter_stream.session.session import Session
from tests.oracle.compare import assert_same_bag, plain_rows
from tests.tiers import slow

START = dt.datetime(2024, 5, 1, 12)
COLUMNS = "k STRING, n INT, x DOUBLE, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL 30 SECONDS"
OWN = """CREATE AGGREGATE spread (v INT) : INT { TABLE t (low INT, high INT);
    INITIALIZE : { INSERT INTO t VALUES (v, v); }
    ITERATE : { UPDATE t SET low = least(low, v), high = greatest(high, v); }
    TERMINATE : { INSERT INTO RETURN SELECT high - low FROM t; } };"""
QUERIES = {
    "sessions": "SELECT k, count(*) AS c, first(n) AS f, spread(n) AS s FROM s [SESSION 4 SECONDS] GROUP BY k",
    "OVER": "SELECT k, n, ts, sum(n) OVER (PARTITION BY k RANGE 20 SECONDS PRECEDING) AS t FROM s",
    "a relation": """SELECT k, n FROM s [RANGE 1 MINUTE]
        EXCEPT ALL ON (k) SELECT k FROM s [RANGE 1 SECOND] WHERE n = 3""",
    "a table, in operators of ours": """SELECT name, count(*) AS c FROM (SELECT s.k, name, ts FROM s JOIN names ON s.k = names.k)
        [RANGE 1 MINUTE SLIDE 30 SECONDS CUMULATE] GROUP BY name""",
    "a table, in Spark's own": "SELECT s.k, name, n FROM s LEFT JOIN names ON s.k = names.k WHERE n > 3",
}


def archive(folder: Path) -> str:
    """Two files of rows, the second with late ones, and one whose only row is later than all answers."""
    rows = [
        (f"{i * 7 % 5}", i % 11, i / 8, START + dt.timedelta(seconds=i - (i % 7) * 3, microseconds=i))
        for i in range(600)
    ]
    rows[350:350] = [("0", 99, 1.0, START + dt.timedelta(seconds=s, microseconds=7)) for s in (1, 60, 150)]
    parts = [rows[:300], rows[300:], [("z", 0, 0.0, START + dt.timedelta(days=1))]]
    for i, part in enumerate(parts):
        schema = {"k": pl.String, "n": pl.Int32, "x": pl.Float64, "ts": pl.Datetime("us")}
        pl.DataFrame(part, schema, orient="row").write_parquet(folder / f"{i}.parquet")
        os.utime(folder / f"{i}.parquet", (1000 + i, 1000 + i))
    return f"CREATE STREAM s ({COLUMNS}) SOURCE 'file://{folder}';"


def begun(query: Any, at: str) -> tuple[Any, Any]:
    """Spark's own query that writes what its DataFrame gives, a file of rows in each micro-batch; and the DataFrame."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        frame = query.to_spark(max_files=1)
    writer = frame.writeStream.format("parquet").option("checkpointLocation", f"{at}-checkpoint")
    return writer.trigger(availableNow=True).start(at), frame


@slow
def test_operators_of_ours_in_a_frame_give_the_answers_of_the_kernel(
    tmp_path: Path, sessions: Callable[..., Session]
) -> None:
    session = sessions()
    session.run(archive(tmp_path) + OWN)
    session.run(
        "CREATE TABLE names (k STRING, name STRING); INSERT INTO names VALUES ('0', 'zero'), ('1', NULL), ('3', 'c')"
    )
    queries: dict[str, Any] = {name: session.run(text)[-1] for name, text in QUERIES.items()}
    assert all(query.wait(200) and query.errors.height == 0 for query in queries.values())
    running = {name: begun(query, str(tmp_path / name)) for name, query in queries.items()}
    for name, (written, frame) in running.items():
        assert written.awaitTermination(240), name
        found = pl.DataFrame(pl.from_arrow(frame.sparkSession.read.parquet(str(tmp_path / name)).toArrow()))
        found = found.with_columns(pl.selectors.datetime().dt.replace_time_zone(None))
        query = queries[name]
        expected = query.changes() if name == "a relation" else query.to_polars()
        assert found.schema == expected.schema
        for column in expected.columns:  # without what the last row gives or would have to be followed by another for
            if expected.schema[column] == pl.Datetime("us"):
                keep = pl.col(column) < START + dt.timedelta(hours=12)
                expected, found = expected.filter(keep), found.filter(keep)
        if "k" in expected.columns:
            expected, found = (f.filter(pl.col("k") != "z") for f in (expected, found))
        assert expected.height > 20, name
        assert_same_bag(plain_rows(found), plain_rows(expected), expected.columns)


@slow
@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_a_frame_reads_a_single_file(kind: str, tmp_path: Path, sessions: Callable[..., Session]) -> None:
    rows = pl.DataFrame({"k": ["a", "b"], "ts": [START, START + dt.timedelta(seconds=1)]})
    path = tmp_path / f"rows.{kind}"
    rows.write_parquet(path) if kind == "parquet" else rows.write_csv(path)
    session = sessions()
    session.run(f"CREATE STREAM s (k STRING, ts TIMESTAMP, WATERMARK FOR ts AS ts) SOURCE 'file://{path}'")
    query: Any = session.run("SELECT k FROM s WHERE k <> 'c'")[-1]
    written, frame = begun(query, str(tmp_path / "answers"))
    assert written.awaitTermination(240)
    assert sorted(r.k for r in frame.sparkSession.read.parquet(str(tmp_path / "answers")).collect()) == ["a", "b"]


@slow
def test_a_value_that_cannot_be_computed_ends_a_frame_of_ours(tmp_path: Path, sessions: Callable[..., Session]) -> None:
    session = sessions()
    session.run(archive(tmp_path))
    query: Any = session.run("SELECT k, sum(1 / n) AS s FROM s [SESSION 4 SECONDS] GROUP BY k")[-1]
    assert query.wait(200) and query.errors.height > 0
    written, _ = begun(query, str(tmp_path / "answers"))
    with pytest.raises(Exception, match=r"can't be computed: [^\n]*zero"):
        written.awaitTermination(240)
