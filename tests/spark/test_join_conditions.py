"""Joins with a condition of one side, or of none: Spark takes its constant for a bound of times (seen in PySpark 4.3.0), keeps
rows for ever and never pads them. Here the kernel's answer comes, and what Spark keeps follows the times alone."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from jupyter_stream.session.session import Session
from tests.oracle.compare import assert_same_bag, plain_rows
from tests.tiers import slow
from tests.waiting import PATIENCE

START = dt.datetime(2024, 5, 1, 12)
DECLARED = """CREATE STREAM l (k STRING, v INT, x DOUBLE, ok BOOLEAN, d DATE, ts TIMESTAMP) ORDER BY ts SOURCE 'frame://left_rows';
    CREATE STREAM r (k STRING, w INT, yes BOOLEAN, ts TIMESTAMP) ORDER BY ts SOURCE 'frame://right_rows';"""


def times(*seconds: int) -> pl.Series:
    return pl.Series([START + dt.timedelta(seconds=s) for s in seconds], dtype=pl.Datetime("us"))


LEFT = pl.DataFrame(
    {
        "k": ["a", "b", "z", "z", None, "z"],
        "v": pl.Series([1, 2, 3, None, 4, 5], dtype=pl.Int32),
        "x": [0.5, -1.0, None, 2.0, 3.0, 4.0],
        "ok": [True, False, None, True, True, False],
        "d": [dt.date(2024, 1, day) for day in range(1, 7)],
        "ts": times(0, 0, 40, 70, 100, 160),
    }
)
RIGHT = pl.DataFrame(
    {
        "k": ["a", "b", "x", None, "x"],
        "w": pl.Series([10, 30, 40, 40, None], dtype=pl.Int32),
        "yes": [True, False, None, True, False],
        "ts": times(5, 6, 40, 100, 160),
    }
)
NEAR = "l.k = r.k AND r.ts BETWEEN l.ts AND l.ts + INTERVAL 10 SECONDS"
NUMBERS = ["l.v > 0", "l.v >= 2", "l.v < 100", "l.v <= 1", "r.w > 20"]
CONDITIONS = {
    "ranges, lists, signs": ["l.v BETWEEN 1 AND 9", "l.v IN (1, 4)", "-l.x < 3.0", "l.x * 2.0 - 1.0 > 0.0", "abs(r.w) >= 30"],
    "constants that fold": ["1 = 0", "2 > 1 AND l.v > 0", "l.v > 9000000000", "NULL", "l.v > 1 AND l.v <= 1"],
    "times and truth": ["l.ts > TIMESTAMP '2020-01-01'", "l.d >= DATE '2024-01-02'", "l.ok > FALSE", "NOT r.yes", "l.ok = TRUE"],
    "one side within both": [
        *("NOT (l.v <= 0 OR l.v > r.w)", "CASE WHEN l.v > 0 THEN l.v < r.w ELSE FALSE END", "coalesce(l.v > 1, FALSE)"),
        *("(l.v > 0 AND r.w > 5) OR (l.v > 0 AND r.w > 20)", "l.v > 0 AND r.w > 20 AND l.v < r.w"),
    ],
}  # fmt: skip
SHAPES = {
    "under windows": [
        "SELECT l.v, r.w FROM l [RANGE 10 SECONDS] LEFT JOIN r [RANGE 10 SECONDS] ON l.k = r.k AND l.v > 0",
        "SELECT l.v, r.w FROM l [RANGE 10 SECONDS] FULL JOIN r [RANGE 20 SECONDS] ON l.v > 0 AND r.w > 20",
    ],
    "EXISTS and IN": [
        f"SELECT l.v, 0 AS w FROM l WHERE EXISTS (SELECT 1 FROM r WHERE {NEAR} AND l.v > 0)",
        f"SELECT l.v, 1 AS w FROM l WHERE NOT EXISTS (SELECT 1 FROM r WHERE {NEAR} AND l.v > 0)",
        f"SELECT l.v, 2 AS w FROM l WHERE NOT EXISTS (SELECT 1 FROM r WHERE {NEAR} AND r.w > 20)",
        """SELECT l.v, 3 AS w FROM l [RANGE 10 SECONDS] WHERE l.k NOT IN
            (SELECT k FROM r [RANGE 20 SECONDS] WHERE l.v > 1 AND r.w > 5)""",
    ],
    "keys that may be NULL, or two": [
        """SELECT l.v, r.w FROM l FULL JOIN r ON l.k IS NOT DISTINCT FROM r.k AND l.v > 0
            AND r.ts BETWEEN l.ts AND l.ts + INTERVAL 10 SECONDS""",
        f"SELECT l.v, r.w FROM l FULL JOIN r ON {NEAR} AND l.ok = r.yes AND r.w > 5 AND l.v > 0",
    ],
    "chains and derived streams": [
        """SELECT l.v, q.w FROM l [RANGE 10 SECONDS] LEFT JOIN r [RANGE 10 SECONDS] ON l.k = r.k AND l.v > 1
            LEFT JOIN r q [RANGE 20 SECONDS] ON l.k = q.k AND l.v > 0""",
        """SELECT l.v, r.w FROM (SELECT k, v, ts FROM l WHERE ok) l [RANGE 10 SECONDS]
            LEFT JOIN (SELECT 'a' AS k, w, ts FROM r) r [RANGE 10 SECONDS] ON l.k = r.k AND l.v >= 1 AND r.w < 20""",
    ],
}  # fmt: skip


def same_answers(sessions: Callable[..., Session], parts: Iterable[str], least: int) -> None:
    """All of these SELECTs in one query, so that Spark starts once; each says its number."""
    text = " UNION ALL ".join(part.replace("SELECT ", f"SELECT {i} AS part, ", 1) for i, part in enumerate(parts))
    session = sessions(left_rows=LEFT, right_rows=RIGHT)
    session.run(DECLARED)
    handles: list[Any] = [session.run(text, engine=engine)[-1] for engine in ("kernel", "spark")]
    for handle in handles:
        assert handle.wait(PATIENCE)
    expected, found = (plain_rows(handle.to_polars()) for handle in handles)
    assert len(expected) >= least
    assert_same_bag(found, expected, ["part", "v", "w"])


def with_all(kind: str, conditions: Iterable[str]) -> list[str]:
    return [f"SELECT l.v, r.w FROM l {kind} JOIN r ON {NEAR} AND ({condition})" for condition in conditions]


@slow
def test_rows_that_a_condition_of_one_side_leaves_without_partner_are_padded(sessions: Callable[..., Session]) -> None:
    left, right = ("l.v > 0", "l.v > 1"), ("r.w > 20",)
    anti = f"SELECT l.v, 0 AS w FROM l WHERE NOT EXISTS (SELECT 1 FROM r WHERE {NEAR} AND l.v > 0)"
    same_answers(sessions, [*with_all("LEFT", left), *with_all("RIGHT", right), *with_all("FULL", left[1:]), anti], 20)


KINDS = ("LEFT", "RIGHT", "FULL")


@slow
@pytest.mark.parametrize("kind", KINDS)
def test_numbers_compared_mean_the_same_on_spark_in_every_kind_of_join(
    kind: str, sessions: Callable[..., Session]
) -> None:
    same_answers(sessions, with_all(kind, NUMBERS), 5 * len(NUMBERS))


@slow
@pytest.mark.parametrize("name", CONDITIONS)
def test_every_kind_of_condition_means_the_same_on_spark(name: str, sessions: Callable[..., Session]) -> None:
    """Each condition in one kind of join, by turns: there are enough of each name for all three."""
    parts = [with_all(KINDS[i % 3], [condition])[0] for i, condition in enumerate(CONDITIONS[name])]
    same_answers(sessions, parts, 5 * len(parts))


@slow
@pytest.mark.parametrize("name", SHAPES)
def test_conditions_mean_the_same_wherever_the_join_stands(name: str, sessions: Callable[..., Session]) -> None:
    same_answers(sessions, SHAPES[name], 4)


FILES, SECONDS = 8, 200
COUNTED = "SELECT c, count(*) AS n, count(w) AS m FROM ({}) [RANGE 100 SECONDS TUMBLING] GROUP BY c"
LONG = {
    "a left join": "SELECT l.v, r.w FROM l LEFT JOIN r ON {near} AND l.v > 0",
    "a full join": "SELECT l.v, r.w FROM l FULL JOIN r ON {near} AND l.v > 0 AND r.w >= 1",
    "without equality": "SELECT l.v, r.w FROM l [RANGE 2 SECONDS] LEFT JOIN r [RANGE 2 SECONDS] ON l.v > 0",
    "a window over a join": COUNTED.format("SELECT l.v % 3 AS c, r.w FROM l LEFT JOIN r ON {near} AND l.v > 5"),
}


@slow
@pytest.mark.parametrize("name", LONG)
def test_what_spark_keeps_follows_the_times(name: str, tmp_path: Path, sessions: Callable[..., Session]) -> None:
    """A row a second on both sides, of which nothing is needed after some seconds, in one micro-batch after the other."""
    for side, value in (("l", "v"), ("r", "w")):
        (tmp_path / side).mkdir()
        for i in range(FILES):
            seconds = range(i * SECONDS, (i + 1) * SECONDS)
            rows = {"k": [s % 7 for s in seconds], value: [s % 10 for s in seconds]}
            frame = pl.DataFrame(rows, schema_overrides={"k": pl.Int32, value: pl.Int32})
            frame.with_columns(ts=times(*seconds)).write_parquet(tmp_path / side / f"{i}.parquet")
    session = sessions()
    session.run(
        f"""CREATE STREAM l (k INT, v INT, ts TIMESTAMP) ORDER BY ts SOURCE 'file://{tmp_path}/l';
            CREATE STREAM r (k INT, w INT, ts TIMESTAMP) ORDER BY ts SOURCE 'file://{tmp_path}/r';"""
    )
    text = LONG[name].format(near="l.k = r.k AND r.ts BETWEEN l.ts AND l.ts + INTERVAL 10 SECONDS")
    kernel: Any = session.run(text)[-1]
    one_by_one = {"jupyter_stream.maxFilesPerTrigger": "1"}
    spark: Any = session.run(text, engine="spark", conf=one_by_one)[-1]
    assert kernel.wait(PATIENCE)
    assert spark.wait(PATIENCE)
    found, expected = plain_rows(spark.to_polars()), plain_rows(kernel.to_polars())
    assert_same_bag(found, expected, spark.to_polars().columns)
    reports = spark._pipeline._job.streaming.recentProgress
    kept = [sum(o["numRowsTotal"] for o in report["stateOperators"]) for report in reports]
    assert len(kept) > FILES
    # those of a file, whose end Spark's watermark reaches with the next one, of both sides, and some counts
    assert max(kept) <= 2 * 2 * SECONDS + 50, kept
