"""A query once more over history, and as a DataFrame: the same plan, in Spark's hands."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from jupyter_stream.errors import QueryError, UnsupportedError
from jupyter_stream.session.session import Session
from tests.oracle.compare import assert_same_bag, plain_rows
from tests.tiers import slow

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


@slow
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


@slow
def test_what_has_no_history_is_said(sessions: Callable[..., Session], archive: Path) -> None:
    session = sessions(rows=ROWS[:100])
    session.run("CREATE STREAM a (k STRING, n INT) SOURCE 'frame://rows'")
    session.run("SELECT k FROM a", name="arrived")
    with pytest.raises(QueryError, match="get their time when they arrive"):
        session.over("arrived", f"file://{archive}/*.parquet", engine="spark")
    with pytest.raises(QueryError, match="no query called"):
        session.over("nothing", f"file://{archive}/*.parquet")


@slow
def test_a_query_is_a_streaming_frame_as_well(sessions: Callable[..., Session], archive: Path) -> None:
    session = sessions(rows=ROWS)
    session.run(
        f"""CREATE STREAM s (k STRING, n INT, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL 30 SECONDS)
        SOURCE 'file://{archive}'"""
    )
    query: Any = session.run("SELECT k, sum(n) AS n, window_end FROM s [RANGE 1 MINUTE TUMBLING] GROUP BY k")[-1]
    assert query.wait(200)
    with pytest.warns(UserWarning, match="the last ones are missing where the input ends"):
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


def of_times(folder: Path, name: str, seconds: list[int]) -> str:
    """A stream over a file of rows at these seconds, numbered from 0."""
    times = [START + dt.timedelta(seconds=s) for s in seconds]
    rows = pl.DataFrame({"k": "a", "n": range(len(seconds)), "ts": times}, schema_overrides={"n": pl.Int32})
    (folder / name).mkdir()
    rows.write_parquet(folder / name / "0.parquet")
    time = "WATERMARK FOR ts AS ts - INTERVAL 5 SECONDS"
    return f"CREATE STREAM {name} (k STRING, n INT, ts TIMESTAMP, {time}) SOURCE 'file://{folder / name}';"


@slow
def test_what_a_frame_leaves_out_or_counts_otherwise_is_said_before(
    sessions: Callable[..., Session], tmp_path: Path
) -> None:
    session = sessions()
    session.run(of_times(tmp_path, "a", [0, 60, 1, 61, 200]) + of_times(tmp_path, "b", [0, 60, 61, 200]))

    def both(text: str, said: str) -> tuple[Any, list[tuple[object, ...]]]:
        query: Any = session.run(text)[-1]
        assert query.wait(200)
        with pytest.warns(UserWarning, match=said) as warned:
            frame = query.to_spark()
        assert len([w for w in warned if "late rows once in each micro-batch" in str(w.message)]) == 1
        name = f"answers{len(said)}"
        written = frame.writeStream.format("memory").queryName(name).trigger(availableNow=True).start()
        assert written.awaitTermination(240)
        columns = [c for c in frame.columns if not c.startswith("window")]
        found = pl.from_arrow(frame.sparkSession.table(name).select(columns).toArrow())
        assert isinstance(found, pl.DataFrame)
        return query, sorted(found.rows(), key=repr)

    # the third row is late, the last window open; most extents have no rows
    query, found = both("SELECT count(*) AS c FROM a [RANGE 10 SECONDS TUMBLING]", "It gives no answer for an extent")
    assert query.late.height == 1 and query.to_polars().filter(pl.col("c") > 0)["c"].to_list() == [1, 2, 1]
    assert found == [(2,), (2,)]
    soon = "a.k = b.k AND b.ts > a.ts AND b.ts <= a.ts + INTERVAL 5 SECONDS"
    query, found = both(f"SELECT a.n FROM a LEFT JOIN b ON {soon}", "a row without partner only when a later row")
    assert sorted(query.to_polars()["n"]) == [0, 1, 3, 4]
    assert found == [(0,), (1,), (2,), (3,)]
    query, found = both(f"SELECT n FROM a WHERE EXISTS (SELECT 1 FROM b WHERE {soon})", "^Spark looks for late rows")
    assert query.to_polars().rows() == found == [(1,)]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("SELECT count(*) AS c FROM a [ROWS 10 SLIDE 5]", "go by the order of arrival"),
        ("SELECT row_num, k FROM a", "go by the order of arrival"),
        ("SELECT k, count(*) AS c FROM a [RANGE 1 MINUTE TUMBLING] GROUP BY k EMIT CHANGES", "can't take one back"),
        ("SELECT k, count(*) AS c FROM s [RANGE 1 MINUTE TUMBLING] GROUP BY k", "by itself"),
        ("SELECT k, count(*) AS c FROM u [RANGE 1 MINUTE TUMBLING] GROUP BY k", "what a watermark says"),
    ],
)
def test_what_no_frame_can_hold_is_said(text: str, says: str, tmp_path: Path, sessions: Callable[..., Session]) -> None:
    session = sessions(rows=ROWS)
    session.run(DECLARED + ";" + of_times(tmp_path, "a", [0, 60]))
    session.run(
        f"CREATE STREAM u (k STRING, ts TIMESTAMP) ORDER BY ts WITH (slack = '3 rows') SOURCE 'file://{tmp_path}/a'"
    )
    query: Any = session.run(text)[-1]
    with pytest.raises(UnsupportedError, match=says):
        query.to_spark()
