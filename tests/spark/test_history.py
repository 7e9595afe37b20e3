"""A query once more over history, and as a DataFrame: the same plan, in Spark's hands."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from jupyter_stream.errors import QueryError, UnsupportedError
from jupyter_stream.session import Session
from tests.oracle.compare import assert_same_bag, plain_rows

START = dt.datetime(2024, 5, 1, 12)
ROWS = pl.DataFrame(
    {
        "k": [f"{i * 7 % 5}" for i in range(3000)],
        "n": [i % 11 for i in range(3000)],
        "ts": [START + dt.timedelta(seconds=i - (i % 7) * 3) for i in range(3000)],
    },
    schema_overrides={"n": pl.Int32},
)
DECLARED = "CREATE STREAM s (k STRING, n INT, ts TIMESTAMP) ORDER BY ts SOURCE 'frame://rows'"
QUERIES = {
    "read by Spark itself": "SELECT k, count(*) AS c, sum(n) AS n FROM s [RANGE 1 MINUTE SLIDE 20 SECONDS] GROUP BY k",
    "looked at row by row": "SELECT k, sum(10 / n) AS p FROM s [RANGE 1 MINUTE TUMBLING] GROUP BY k",
    "an operator of ours": "SELECT k, max(n) AS n FROM s [PARTITION BY k ROWS 10 SLIDE 3] GROUP BY k",
}


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    for i in range(3):
        ROWS[i * 1000 : (i + 1) * 1000].write_parquet(tmp_path / f"{i}.parquet")
    return tmp_path


@pytest.mark.parametrize("name", QUERIES)
def test_history_gives_the_same_on_both_engines_and_nothing_is_late(
    name: str, archive: Path, sessions: Callable[..., Session]
) -> None:
    session = sessions(rows=ROWS[:100])
    session.run(DECLARED)
    assert session.run(QUERIES[name], name="q")[-1].wait(200)  # type: ignore[union-attr]
    uri = f"file://{archive}/*.parquet"
    kernel: Any = session.over("q", uri)
    assert kernel.wait(200)
    spark: Any = session.over("q", uri, engine="spark")
    assert spark.wait(240)
    assert spark.to_polars().schema == kernel.to_polars().schema
    assert kernel.to_polars().height > 10
    assert_same_bag(plain_rows(spark.to_polars()), plain_rows(kernel.to_polars()), kernel.to_polars().columns)
    assert spark.late.height == kernel.late.height == 0
    assert sorted(spark.errors.rows()) == sorted(kernel.errors.rows())


def test_what_has_no_history_is_said(sessions: Callable[..., Session], archive: Path) -> None:
    session = sessions(rows=ROWS[:100])
    session.run("CREATE STREAM a (k STRING, n INT) SOURCE 'frame://rows'")
    session.run("SELECT k FROM a", name="arrived")
    with pytest.raises(QueryError, match="that of arrival"):
        session.over("arrived", f"file://{archive}/*.parquet", engine="spark")
    with pytest.raises(QueryError, match="no query called"):
        session.over("nothing", f"file://{archive}/*.parquet")


def test_a_query_is_a_streaming_frame_as_well(sessions: Callable[..., Session], archive: Path) -> None:
    session = sessions(rows=ROWS)
    session.run(
        f"""CREATE STREAM s (k STRING, n INT, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL 30 SECONDS)
        SOURCE 'file://{archive}'"""
    )
    query: Any = session.run("SELECT k, sum(n) AS n, window_end FROM s [RANGE 1 MINUTE TUMBLING] GROUP BY k")[-1]
    assert query.wait(200)
    frame = query.to_spark()
    assert frame.isStreaming and frame.columns == query.to_polars().columns
    written = frame.writeStream.format("memory").queryName("answers").trigger(availableNow=True).start()
    assert written.awaitTermination(240)
    found = pl.from_arrow(frame.sparkSession.table("answers").toArrow())
    newest: Any = ROWS["ts"].max()
    final = query.to_polars().filter(pl.col("window_end") <= newest - dt.timedelta(seconds=31))
    assert isinstance(found, pl.DataFrame) and final.height > 100
    found = found.with_columns(pl.col("window_start", "window_end").dt.replace_time_zone(None))
    assert_same_bag(plain_rows(found), plain_rows(final), final.columns)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("SELECT count(*) AS c FROM s [ROWS 10 SLIDE 5]", "as our operators"),
        ("SELECT k, count(*) AS c FROM s [RANGE 1 MINUTE TUMBLING] GROUP BY k", "this session only"),
    ],
)
def test_what_no_frame_can_hold_is_said(text: str, says: str, sessions: Callable[..., Session]) -> None:
    session = sessions(rows=ROWS)
    session.run(DECLARED)
    query: Any = session.run(text)[-1]
    with pytest.raises(UnsupportedError, match=says):
        query.to_spark()
