"""Cases that break window engines, each on its own, against the oracle: what random search seldom meets."""

from __future__ import annotations

import math
from dataclasses import replace

import polars as pl
import pytest

from jupyter_stream import Session
from tests.oracle.aggregates import Aggregate
from tests.oracle.answer import answer
from tests.oracle.predicates import Compares, IsNull
from tests.oracle.progress import InOrder, PunctuationColumn, Slack, Watermark
from tests.oracle.query import Query, Stream
from tests.oracle.running import Ran, assert_right
from tests.oracle.values import Row, Value
from tests.oracle.windows import TimeExtents
from tests.tiers import slow, thinned

pytestmark = pytest.mark.timeout(900)  # many small queries; a busy machine is no failure

SECOND = 1_000_000
COUNT = Aggregate("count")
YEAR = 365 * 86_400 * SECOND
NUMERIC = ("sum", "avg", "min", "max", "var_samp", "var_pop", "stddev_samp", "stddev_pop")


def stream(rows: list[tuple[Value, ...]], columns: str, progress: object = None) -> Stream:
    """A stream from tuples; `columns` such as `k STRING, x DOUBLE, ts TIMESTAMP`, the time last, in seconds."""
    named = tuple((c.split()[0], c.split()[1]) for c in columns.split(", "))
    made: list[Row] = []
    for row in rows:
        values = dict(zip([n for n, _ in named], row, strict=True))
        for name, kind in named:
            if kind == "TIMESTAMP" and values[name] is not None:
                values[name] = round(values[name] * SECOND)  # type: ignore[operator, arg-type]
        made.append(values)
    return Stream(named, "ts", progress or InOrder(), tuple(made))  # type: ignore[arg-type]


def check(query: Query) -> None:
    """The answer is the oracle's, whether the rows come together or one by one."""
    expected = answer(query)
    for sizes in (None, [1] * len(query.stream.rows)):
        assert_right(query, expected, Ran(query, sizes), sizes)


def seconds(span: float | None, slide: float) -> TimeExtents:
    return TimeExtents(None if span is None else round(span * SECOND), round(slide * SECOND))


@pytest.mark.parametrize("odd", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("function", thinned(NUMERIC))
def test_a_nan_or_infinity_that_left_the_window_leaves_no_trace(function: str, odd: float) -> None:
    rows = stream([(odd, 0), (1.0, 1), (2.5, 2), (4.0, 3), (odd, 9), (1.5, 12), (2.0, 13)], "x DOUBLE, ts TIMESTAMP")
    check(Query(rows, seconds(4, 1), (Aggregate(function, "x"),)))


@pytest.mark.parametrize("function", NUMERIC)
def test_a_huge_value_that_left_the_window_takes_no_digits_with_it(function: str) -> None:
    rows = stream([(1e17, 0), (0.1, 1), (0.2, 2), (0.3, 3), (-1e17, 4), (0.5, 6), (0.7, 9)], "x DOUBLE, ts TIMESTAMP")
    check(Query(rows, seconds(3, 1), (Aggregate(function, "x"),)))


@pytest.mark.parametrize("function", thinned(["var_samp", "var_pop", "stddev_samp", "stddev_pop"]))
@pytest.mark.parametrize("window", thinned([seconds(4, 1), seconds(10, 10), seconds(None, 2)]))
def test_small_spreads_around_a_large_mean_keep_their_digits(function: str, window: TimeExtents) -> None:
    rows = stream([(1e9 + i % 3 / 8, i / 4) for i in range(60)], "x DOUBLE, ts TIMESTAMP")
    check(Query(rows, window, (Aggregate(function, "x"),)))


def test_the_spread_of_equal_values_is_nothing() -> None:
    rows = stream([(0.1, i) for i in range(30)], "x DOUBLE, ts TIMESTAMP")
    check(Query(rows, seconds(7, 2), tuple(Aggregate(f, "x") for f in NUMERIC)))


def test_sums_of_integers_are_exact_beyond_what_a_double_holds() -> None:
    rows = stream([(2**53 + 1, 0), (2**60, 1), (1, 2), (-(2**60), 3), (3, 4)], "n BIGINT, ts TIMESTAMP")
    check(Query(rows, seconds(3, 1), (Aggregate("sum", "n"), Aggregate("min", "n"), Aggregate("max", "n"))))


def test_sums_of_int_columns_do_not_wrap() -> None:
    rows = stream([(2**31 - 1, i) for i in range(9)], "n INT, ts TIMESTAMP")
    check(Query(rows, seconds(5, 2), (Aggregate("sum", "n"), Aggregate("avg", "n"))))


def test_a_year_without_rows_is_skipped_by_groups() -> None:
    rows = stream([("a", 0), ("a", 1), ("b", YEAR // SECOND)], "k STRING, ts TIMESTAMP")
    # The oracle walks through every extent: a day's slide keeps that short. The engine has no such excuse.
    check(Query(rows, seconds(2 * 86_400, 86_400), (COUNT,), keys=("k",)))


def test_windows_of_a_microsecond() -> None:
    rows = stream([("a", 0), ("a", 0), ("b", 3e-6)], "k STRING, ts TIMESTAMP")
    check(Query(rows, TimeExtents(1, 1), (COUNT,), keys=("k",)))
    check(Query(rows, TimeExtents(3, 1), (COUNT,)))


@pytest.mark.parametrize("window", [seconds(7, 3), seconds(3, 7), seconds(1, 1), seconds(None, 4), seconds(2.5, 0.75)])
@pytest.mark.parametrize("base", thinned([-0.000001, 0, -1e9, 1.7e9], 4))
def test_odd_ratios_around_every_epoch(window: TimeExtents, base: float) -> None:
    rows = stream([("ab"[i % 2], base + i * 0.7) for i in range(25)], "k STRING, ts TIMESTAMP")
    check(Query(rows, window, (COUNT, Aggregate("last", "ts")), keys=("k",)))
    check(Query(rows, window, (COUNT, Aggregate("min", "ts"))))


@slow
@pytest.mark.parametrize("window", [seconds(30, 10), seconds(10, 10), seconds(7, 3), seconds(3, 7), seconds(None, 10)])
def test_late_rows_among_others_in_one_batch(window: TimeExtents) -> None:
    """On-time rows, a jump, late rows and the next on-time rows in one batch are judged row by row."""
    times = [1, 5, 25, 3, 24, 26, 12, 61, 2, 35, 58, 62, 60, 33, 90, 31, 89]
    rows = stream([("ab"[i % 2], float(i), t) for i, t in enumerate(times)], "k STRING, x DOUBLE, ts TIMESTAMP")
    aggregates = (COUNT, Aggregate("sum", "x"), Aggregate("first", "x"), Aggregate("last", "x"), Aggregate("max", "x"))
    for progress in (InOrder(), Watermark(2 * SECOND), Watermark(20 * SECOND), Slack(1), Slack(3)):
        check(Query(replace(rows, progress=progress), window, aggregates, keys=("k",)))
        check(Query(replace(rows, progress=progress), window, aggregates))
        check(Query(replace(rows, progress=progress), window, aggregates, where=Compares("k", "=", "b")))


def test_a_late_row_can_be_the_first_its_extent_keeps() -> None:
    rows = stream([(100,), (45,), (44,), (101,)], "ts TIMESTAMP", Watermark(50 * SECOND))
    check(Query(rows, seconds(20, 10), (COUNT,)))


def test_a_late_row_that_falls_between_extents_missed_nothing() -> None:
    rows = stream([(8,), (25,), (12,), (9,), (29,)], "ts TIMESTAMP")
    check(Query(rows, seconds(2, 10), (COUNT,)))


def test_punctuations_far_ahead_of_the_rows_close_what_has_no_row_yet() -> None:
    rows = [("a", 1, None), (None, None, 50), ("b", 60, None), ("c", 45, None), ("d", 55, None), (None, None, 60)]
    made = stream(rows, "k STRING, ts TIMESTAMP, p TIMESTAMP", PunctuationColumn("p"))
    check(Query(made, seconds(10, 10), (COUNT,)))
    check(Query(made, seconds(20, 5), (COUNT,), keys=("k",)))


def test_punctuations_before_any_row() -> None:
    rows = [(None, None, 10), (None, None, 5), ("a", 12, None), ("b", 9, None)]
    made = stream(rows, "k STRING, ts TIMESTAMP, p TIMESTAMP", PunctuationColumn("p"))
    check(Query(made, seconds(10, 5), (COUNT,), keys=("k",)))


def test_no_row_at_all_gives_no_answer() -> None:
    rows = stream([], "k STRING, ts TIMESTAMP")
    for window in (seconds(10, 10), seconds(None, 5), seconds(10, 3)):
        check(Query(rows, window, (COUNT,)))
        check(Query(rows, window, (COUNT,), keys=("k",)))


def test_where_that_drops_everything_gives_no_answer() -> None:
    rows = stream([("a", 1), ("b", 2)], "k STRING, ts TIMESTAMP")
    check(Query(rows, seconds(10, 10), (COUNT,), where=Compares("k", "=", "z")))


@slow
@pytest.mark.parametrize("window", [seconds(10_000, 1), seconds(10_000.5, 1), seconds(None, 1)])
def test_ten_thousand_extents_open_at_once(window: TimeExtents) -> None:
    """All rows come before the first punctuation that closes anything: every extent stays open until the end."""
    times = [i * 197 % 10_007 for i in range(60)]
    rows = stream([("ab"[i % 2], i, t) for i, t in enumerate(times)], "k STRING, n INT, ts TIMESTAMP", Watermark(YEAR))
    made = (COUNT, Aggregate("max", "n"), Aggregate("sum", "n"))
    query = Query(rows, window, made, keys=("k",))
    assert_right(query, answer(query), Ran(query, [7] * 8 + [4]), None)


@pytest.mark.parametrize("end", [1, -1])
@pytest.mark.parametrize(
    "window", ["[RANGE 1 SECOND TUMBLING]", "[RANGE 5 SECONDS SLIDE 2 SECONDS]", "[RANGE ALL SLIDE 1 SECOND]",
               "[SESSION 1 SECOND]", "[RANGE 1 SECOND SLIDE 1 ROW]", "[RANGE 1 SECOND]"]
)  # fmt: skip
def test_times_as_far_as_they_go_and_those_beyond_which_are_errors(window: str, end: int) -> None:
    far = 2**62 * end
    times = [far - 4 * end, far - end, far, far + end, (2**63 - 1) * end]
    frame = pl.DataFrame({"ts": sorted(times)})
    with Session({"frame": frame}) as session:
        session.execute("CREATE STREAM s (ts BIGINT) ORDER BY ts SOURCE 'frame://frame'")
        (query,) = session.execute(f"SELECT max(ts) AS newest FROM s {window}")
        query.wait(200)
        assert query.to_polars()["newest"].max() == max(times[:3])
        assert (
            query.errors["reason"].to_list()
            == ["ts is too far from 1970: times reach from -2^62 to 2^62 microseconds"] * 2
        )


def test_rows_without_a_time_are_not_answered_and_stop_nothing() -> None:
    rows = stream([("a", 1), ("b", None), ("a", 2), ("b", 11), ("c", None)], "k STRING, ts TIMESTAMP")
    check(Query(rows, seconds(5, 5), (COUNT,), keys=("k",)))


@slow
def test_keys_of_every_type_together() -> None:
    kinds = "i INT, b BIGINT, d DOUBLE, s STRING, o BOOLEAN, ts TIMESTAMP"
    some: list[tuple[Value, ...]] = [
        (1, 2**40, math.nan, "a", True, 1),
        (1, 2**40, math.nan, "a", True, 2),
        (1, 2**40, 0.0, "a", True, 3),
        (1, 2**40, -0.0, "a", True, 4),
        (None, None, None, None, None, 5),
        (None, None, None, None, None, 6),
        (0, 0, 0.0, "", False, 7),
        (None, 0, 0.0, "", False, 8),
        (0, None, 0.0, "", False, 9),
        (0, 0, None, "", False, 10),
        (0, 0, 0.0, None, False, 11),
        (0, 0, 0.0, "", None, 12),
        (0, 0, 0.0, "", False, 13),
        (-(2**31), -(2**63), -math.inf, "\x00", False, 14),
        (2**31 - 1, 2**63 - 1, math.inf, "\x00\x00", True, 15),
    ]
    rows = stream(some, kinds)
    check(Query(rows, seconds(20, 5), (COUNT,), keys=("i", "b", "d", "s", "o")))
    for key in "ibdso":
        check(Query(rows, seconds(20, 5), (COUNT, Aggregate("last", key)), keys=(key,)))


@slow
def test_groups_that_come_and_go_and_come_back() -> None:
    """Slots of groups that ended are used again; an old group must not see what its slot held."""
    some = [(i // 3 % 5 if i % 7 else None, float(i), i / 2) for i in range(60)]
    some += [(100 + i, 1.0, 30 + i / 2) for i in range(20)] + [(i % 5, 2.0, 41 + i / 2) for i in range(10)]
    rows = stream(some, "k INT, x DOUBLE, ts TIMESTAMP")
    every = (*tuple(Aggregate(f, "x") for f in (*NUMERIC, "first", "last")), Aggregate("count", "x", distinct=True))
    for window in (seconds(2, 2), seconds(4, 1), seconds(5, 3), seconds(None, 10)):
        check(Query(rows, window, every, keys=("k",)))


@slow
def test_filters_that_differ_within_a_query() -> None:
    rows = stream([(None if i % 4 == 0 else i % 3, i / 4) for i in range(40)], "n INT, ts TIMESTAMP")
    wheres = (None, Compares("n", "=", 1), IsNull("n"), IsNull("n", negated=True), Compares("n", ">", 99))
    every = tuple(
        Aggregate(f, "n", where=w) for f in ("count", "sum", "min", "var_samp", "first", "last") for w in wheres
    )
    check(Query(rows, seconds(3, 2), every))


def test_first_and_last_with_ties_out_of_order() -> None:
    some = [(i, t) for i, t in enumerate([5, 3, 5, 3, 4, 5, 3, 8, 7, 8, 7, 5])]
    rows = stream(some, "n INT, ts TIMESTAMP", Watermark(5 * SECOND))
    for window in (seconds(10, 10), seconds(3, 1), seconds(None, 2), seconds(4, 3)):
        check(Query(rows, window, (Aggregate("first", "n"), Aggregate("last", "n"))))


@slow
def test_distinct_counts_over_sliding_extents() -> None:
    some = [(None if i % 5 == 0 else (i * i) % 7, "xyz"[i % 3], i / 3) for i in range(60)]
    rows = stream(some, "n INT, s STRING, ts TIMESTAMP")
    every = (Aggregate("count", "n", distinct=True), Aggregate("count", "s", distinct=True))
    for window in (seconds(5, 1), seconds(3, 3), seconds(4, 3), seconds(None, 5)):
        check(Query(rows, window, every))
        check(Query(rows, window, every, keys=("s",)))


@pytest.mark.parametrize("union", ["one UNION two", "two UNION one"])
def test_a_landmark_of_a_union_ends_beyond_the_last_row_of_all(union: str) -> None:
    frames = {"one": pl.DataFrame({"n": [1], "ts": [3]}), "two": pl.DataFrame({"n": [0], "ts": [33]})}
    with Session(frames) as session:
        for name in frames:
            session.execute(f"CREATE STREAM {name} (n INT, ts BIGINT, WATERMARK FOR ts AS ts) SOURCE 'frame://{name}'")
        (query,) = session.execute(f"SELECT count(*) AS c FROM ({union}) [RANGE ALL SLIDE 10 MICROSECONDS] WHERE n > 0")
        assert query.wait(200)
        assert query.to_polars()["window_end"].to_list() == [10, 20, 30, 40]
