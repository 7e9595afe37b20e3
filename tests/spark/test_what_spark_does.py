"""The table "What Spark does by itself, and what you get here" of the reference: what Spark does, and what both engines give.

A test that fails in its first half, after PySpark's version was raised, says what has changed there: change the table with it.
"""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import pyspark
import pytest

from jupyter_stream.session.session import Session
from jupyter_stream.spark.surprises import SEEN_IN, SURPRISES
from tests.oracle.compare import assert_same_bag, plain_rows
from tests.tiers import slow
from tests.waiting import PATIENCE

TYPES: dict[str, pl.DataType] = {"k": pl.String(), "v": pl.Int32(), "ts": pl.Datetime("us", "UTC")}
DECLARED = "CREATE STREAM {0} (k STRING, v INT, ts TIMESTAMP) ORDER BY ts SOURCE 'file://{1}/{0}';"
Row = tuple[str | None, int | None, dt.datetime | None]
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def at(second: int, year: int = 2024) -> dt.datetime:
    return dt.datetime(year, 5, 1, 12, tzinfo=dt.UTC) + dt.timedelta(seconds=second)


class Ours(NamedTuple):
    """What both engines gave."""

    rows: list[tuple[Any, ...]]
    late: int
    errors: int


class Both:
    """One Parquet file for each micro-batch, read by Spark alone and by both engines."""

    def __init__(self, spark: Any, session: Session, folder: Path) -> None:
        self.spark = spark.newSession()
        self.spark.conf.set("spark.sql.session.timeZone", "UTC")
        self.spark.conf.set("spark.sql.streaming.stateStore.providerClass", ROCKSDB)
        self._session = session
        self._folder = folder

    def write(self, name: str, *files: Sequence[Row]) -> None:
        """The files of a stream, and its declaration here."""
        (self._folder / name).mkdir()
        for i, rows in enumerate(files):
            path = self._folder / name / f"{i}.parquet"
            pl.DataFrame(rows, schema=TYPES, orient="row").write_parquet(path)
            os.utime(path, (1_000_000 + i, 1_000_000 + i))  # Spark takes them in this order
        self._session.run(DECLARED.format(name, self._folder))

    def stream(self, name: str) -> Any:
        """Spark's own stream of them, in order of time."""
        reader = self.spark.readStream.schema("k string, v int, ts timestamp").option("maxFilesPerTrigger", 1)
        return reader.parquet(str(self._folder / name)).withWatermark("ts", "0 seconds")

    def by_spark(self, frame: Any, name: str = "answers") -> tuple[list[tuple[Any, ...]], list[Any]]:
        """Its answers, sorted, and its reports."""
        query = frame.writeStream.format("memory").queryName(name).trigger(availableNow=True).start()
        try:
            query.awaitTermination()
            found = sorted(map(tuple, self.spark.table(name).collect()), key=str)
        finally:
            query.stop()
        return found, list(query.recentProgress)

    def here(self, text: str, **frames: Any) -> Ours:
        """The answers of both engines, which are the same."""
        self._session.namespace.update(frames)
        one_by_one = {"jupyter_stream.maxFilesPerTrigger": "1"}
        kernel: Any = self._session.run(text)[-1]
        spark: Any = self._session.run(text, engine="spark", conf=one_by_one)[-1]
        assert kernel.wait(PATIENCE)
        assert spark.wait(PATIENCE)
        answers = [h.to_polars().drop("window_start", "window_end", strict=False) for h in (kernel, spark)]
        expected, found = map(plain_rows, answers)
        assert_same_bag(found, expected, answers[0].columns)
        counts = [(len(h.late), len(h.errors)) for h in (kernel, spark)]
        assert counts[0] == counts[1]
        return Ours(sorted(expected, key=str), *counts[0])


@pytest.fixture
def both(spark: Any, sessions: Callable[..., Session], tmp_path: Path) -> Both:
    return Both(spark, sessions(), tmp_path)


def counted(frame: Any) -> Any:
    """Its rows by ten seconds, with the second at which each window begins."""
    import pyspark.sql.functions as f

    start = int(at(0).timestamp())
    windows = frame.groupBy(f.window("ts", "10 seconds")).count()
    return windows.select(f.unix_seconds("window.start") - start, "count")


COUNTED = """SELECT CAST(second AS INT) AS second, n FROM (SELECT timestampdiff(SECOND, TIMESTAMP '2024-05-01 12:00:00',
    window_start) AS second, count(*) AS n FROM {0} [RANGE 10 SECONDS TUMBLING] GROUP BY k)"""
NEAR = "l.k = r.k AND r.ts BETWEEN l.ts AND l.ts + INTERVAL 10 SECONDS"


def joined(both: Both, how: str, more: str = "TRUE", name: str = "joined") -> list[tuple[Any, ...]]:
    import pyspark.sql.functions as f

    left = both.stream("l").alias("l")
    right = both.stream("r").selectExpr("k", "v AS w", "ts").alias("r")
    return both.by_spark(left.join(right, f.expr(f"{NEAR} AND {more}"), how).select("v", "w"), name)[0]


@slow
def test_null_times(both: Both) -> None:
    both.write("s", [("a", 1, at(0)), ("a", 2, None)], [("a", 3, at(20))], [("a", 4, at(40))])
    found, reports = both.by_spark(counted(both.stream("s")))
    assert found == [(0, 1), (20, 1)]
    assert reports[0]["eventTime"]["min"].startswith("1970")
    ours = both.here(COUNTED.format("s"))
    assert (ours.rows, ours.errors) == ([(0, 1), (20, 1), (40, 1)], 1)


@slow
def test_old_times(both: Both) -> None:
    both.write("s", *([("a", 1, at(s, 1960))] for s in (0, 100, 200)))
    assert both.by_spark(counted(both.stream("s")))[0] == []
    assert len(both.here(COUNTED.format("s")).rows) == 3


@slow
def test_late_rows(both: Both) -> None:
    files = [("a", 2, at(100)), ("a", 3, at(1))], [("a", 4, at(2)), ("a", 5, at(200))], [("a", 6, at(3))]
    both.write("s", [("a", 1, at(0))], *files, [("a", 7, at(300))])
    found = dict(both.by_spark(counted(both.stream("s")))[0])
    assert 1 < found[0] < 4  # the late ones of the first files, and not the last one
    ours = both.here(COUNTED.format("s"))
    assert (ours.rows, ours.late) == ([(0, 1), (100, 1), (200, 1), (300, 1)], 3)


@slow
def test_rows_at_the_watermark(both: Both) -> None:
    same = [[("a", i, at(10))] for i in range(4)]
    for name in "lr":
        both.write(name, *same, [("z", 9, at(60))])
    assert len(joined(both, "inner")) < 17
    ours = both.here(f"SELECT l.v, r.v AS w FROM l JOIN r ON {NEAR}")
    assert len(ours.rows) == 17


@slow
def test_last_windows(both: Both) -> None:
    both.write("s", [("a", 1, at(0)), ("a", 2, at(15))])
    assert both.by_spark(counted(both.stream("s")))[0] == [(0, 1)]
    assert both.here(COUNTED.format("s")).rows == [(0, 1), (10, 1)]


@slow
def test_ended_streams(both: Both) -> None:
    both.write("s", *([("a", 1, at(s))] for s in (2, 100, 200)))
    both.write("t", [("a", 1, at(1))])
    found, reports = both.by_spark(counted(both.stream("s").union(both.stream("t"))))
    assert found == []
    assert reports[-1]["eventTime"]["watermark"] == "2024-05-01T12:00:01.000Z"
    text = COUNTED.format("(SELECT k FROM s UNION ALL SELECT k FROM t)")
    assert both.here(text).rows == [(0, 2), (100, 1), (200, 1)]


@slow
def test_touching_sessions(both: Both) -> None:
    import pyspark.sql.functions as f

    both.write("s", [("a", 1, at(0)), ("a", 2, at(4)), ("a", 3, at(20))])
    sessions = both.stream("s").groupBy("k", f.session_window("ts", "4 seconds")).count().select("count")
    assert both.by_spark(sessions)[0] == [(2,)]
    assert both.here("SELECT count(*) AS n FROM s [SESSION 4 SECONDS] GROUP BY k").rows == [(1,), (1,), (1,)]


def _far_apart(both: Both) -> None:
    both.write("l", [("a", 1, at(0)), ("z", 2, at(40))], [("z", 3, at(100))], [("z", 4, at(160))])
    both.write("r", [("a", 10, at(5))], [("x", 40, at(100))], [("x", 40, at(160))])


@slow
def test_conditions_of_one_side(both: Both) -> None:
    _far_apart(both)
    assert joined(both, "left_outer", "l.v > 0") == [(1, 10)]
    ours = both.here(f"SELECT l.v, r.v AS w FROM l LEFT JOIN r ON {NEAR} AND l.v > 0")
    assert ours.rows == [(1, 10), (2, None), (3, None), (4, None)]


@slow
def test_conditions_that_fold(both: Both) -> None:
    _far_apart(both)
    with pytest.raises(Exception, match="without equality predicate"):
        joined(both, "left_outer", "1 = 0")
    ours = both.here(f"SELECT l.v, r.v AS w FROM l LEFT JOIN r ON {NEAR} AND 1 = 0")
    assert ours.rows == [(v, None) for v in (1, 2, 3, 4)]


@slow
def test_null_keys(both: Both) -> None:
    both.write("l", [(None, 1, at(0))], [("z", 2, at(100))])
    both.write("r", [(None, 10, at(5))], [("x", 20, at(100))])
    assert (1, 10) in joined(both, "full_outer")
    ours = both.here(f"SELECT l.v, r.v AS w FROM l FULL JOIN r ON {NEAR}")
    assert ours.rows == [(1, None), (2, None), (None, 10), (None, 20)]


def _table(both: Both, rows: Sequence[tuple[Any, ...]], schema: str) -> Any:
    return both.spark.createDataFrame(rows, schema).coalesce(1)


@slow
def test_equal_values(both: Both) -> None:
    table = _table(both, [("a", 1), ("b", 1), ("c", 1)], "k string, v int")
    assert tuple(table.selectExpr("max_by(k, v)", "max_by(k, v, 1)").first()) == ("c", ["a"])
    both.write("s", [("a", 1, at(0)), ("b", 1, at(0))], [("c", 1, at(1))], [("d", 0, at(2))])
    ours = both.here("SELECT max_by(k, v) AS m, min_by(k, v + 1) AS n FROM s [RANGE 10 SECONDS TUMBLING]")
    assert ours.rows == [("a", "d")]


@slow
def test_sums_beyond_bigint(both: Both) -> None:
    large = 2**63 - 1
    assert _table(both, [(large,), (-5,), (1,)], "n bigint").selectExpr("sum(n)").first()[0] == large - 4
    with pytest.raises(Exception, match="ARITHMETIC_OVERFLOW"):
        _table(both, [(large,), (1,), (-5,)], "n bigint").selectExpr("sum(n)").first()
    both.write("s", [("a", 1, at(0)), ("a", -5, at(1))], [("a", 0, at(2))])
    numbers = f"CASE WHEN v = 0 THEN {large} ELSE CAST(v AS BIGINT) END"
    text = f"SELECT sum({numbers}) AS n FROM s [RANGE 9 SECONDS TUMBLING] GROUP BY k"
    assert both.here(text).rows == [(large - 4,)]


@slow
def test_zeros(both: Both) -> None:
    table = _table(both, [(0.0,), (-0.0,), (1.0,)], "x double")
    assert len(table.selectExpr("approx_top_k(x, 5)").first()[0]) == 3
    assert table.groupBy("x").count().count() == 2
    both.write("s", [("a", 1, at(0)), ("a", -1, at(1)), ("a", 2, at(2))])
    zeros = "(SELECT CASE WHEN v = 2 THEN 1.5 WHEN v = 1 THEN 0.0 ELSE -0.0 END AS x FROM (SELECT v FROM s))"
    zeros = zeros.replace("0.0", "CAST(0 AS DOUBLE)").replace("1.5", "CAST(1.5 AS DOUBLE)")
    top = both.here(f"SELECT approx_top_k(x, 5) AS top FROM {zeros} [RANGE 10 SECONDS TUMBLING]")
    assert [item[1] for item in top.rows[0][0]] == [2, 1]
    assert len(both.here(f"SELECT x, count(*) AS n FROM {zeros} [RANGE 10 SECONDS TUMBLING] GROUP BY x").rows) == 2


@slow
def test_unsigned_numbers(both: Both) -> None:
    frame = pl.DataFrame({"n": [1, 2**63 + 5], "ts": [at(0), at(1)]}, schema={"n": pl.UInt64, "ts": TYPES["ts"]})
    table = both.spark.createDataFrame(frame.select("n").to_pandas())
    assert [row[0] for row in table.collect()] == [1, None]
    text = "CREATE STREAM u (n BIGINT, ts TIMESTAMP) ORDER BY ts SOURCE 'frame://numbers'; SELECT n FROM u"
    ours = both.here(text, numbers=frame)
    assert (ours.rows, ours.errors) == ([(1,)], 1)


def _chained_timers() -> Any:
    """A processor that sets a timer for 1 ms later where one has expired, and says when each one was for."""
    import pandas as pd

    class Chained:  # a `StatefulProcessor` for all that Spark asks of it
        def init(self, handle: Any) -> None:
            self._handle = handle

        def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Any:  # noqa: N803  its names
            list(rows)
            self._handle.registerTimer(timerValues.getCurrentWatermarkInMs() + 1)
            yield pd.DataFrame({"v": [0]})

        def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Any:  # noqa: N803  its names
            expired = expiredTimerInfo.getExpiryTimeInMs()
            self._handle.registerTimer(expired + 1)
            yield pd.DataFrame({"v": [expired]})

        def close(self) -> None:
            pass

    return Chained()


@slow
def test_timers(both: Both) -> None:
    both.write("s", [("a", 1, at(0))], [("b", 2, at(10))], [("b", 3, at(20))], [("b", 4, at(30))])
    stream = both.stream("s").where("k = 'a'").groupBy("k")
    chained = stream.transformWithStateInPandas(_chained_timers(), "v long", "append", "eventTime")
    found, reports = both.by_spark(chained)
    assert [v for (v,) in found] == list(range(len(reports))), "one in each micro-batch, though all had passed"
    ours = both.here("SELECT k, count(*) AS n FROM s [SESSION 4 SECONDS] GROUP BY k")
    assert ours.rows == [("a", 1), ("b", 1), ("b", 1), ("b", 1)]


def test_tester() -> None:
    from pyspark.errors.exceptions.base import IllegalArgumentException
    from pyspark.sql.streaming.tws_tester import TwsTester

    tester = TwsTester(_chained_timers(), timeMode="eventTime", eventTimeExtractor=lambda row: row["ts"])
    for ts in (1_000, 90_000):
        assert tester.testInPandas("a", pl.DataFrame({"ts": [ts]}).to_pandas())["v"].to_list() == [0]
    with pytest.raises(IllegalArgumentException, match="not later than the current watermark"):
        tester.setWatermark(1_000)  # now the timer expires; and the engine takes the next one, see `test_timers`
    own = Path(__file__)
    users = [p for p in own.parent.parent.rglob("*.py") if p != own and "tws_tester" in p.read_text("utf-8")]
    assert users == []


def test_each_row_of_the_table_is_shown() -> None:
    assert {f"test_{row.name}" for row in SURPRISES} <= set(globals())


def test_the_table_names_the_version_that_is_installed() -> None:
    assert pyspark.__version__ == SEEN_IN, (
        "Run this file, change the rows of the table that it tells of, then the version."
    )
