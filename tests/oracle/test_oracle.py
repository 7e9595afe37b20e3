"""The oracle against examples worked by hand."""

from __future__ import annotations

import math

import pytest

from tests.oracle.aggregates import Aggregate
from tests.oracle.answer import answer
from tests.oracle.compare import assert_same_bag, in_columns
from tests.oracle.predicates import And, Compares, IsNull, Not, Or
from tests.oracle.progress import Apart, Arrived, InOrder, Progress, PunctuationColumn, Slack, Watermark, judge
from tests.oracle.query import Query, Stream
from tests.oracle.values import Value
from tests.oracle.windows import Lifetime, TimeExtents

COUNT = Aggregate("count")


def stream(times: list[int], progress: Progress | None = None, **columns: list[Value]) -> Stream:
    names = [*columns, "ts"]
    rows = tuple(dict(zip(names, row, strict=True)) for row in zip(*columns.values(), times, strict=True))
    kinds = tuple((n, "DOUBLE" if n == "x" else "STRING") for n in columns)
    return Stream((*kinds, ("ts", "BIGINT")), "ts", progress or InOrder(), rows)


def answered(query: Query) -> list[tuple[Value, ...]]:
    return sorted(in_columns(answer(query).rows, query.columns), key=repr)


def over(values: list[Value], function: str, **options: object) -> Value:
    rows = [Arrived({"x": v}, ts, ts, None) for ts, v in enumerate(values)]
    return Aggregate(function, "x", **options).over(rows)  # type: ignore[arg-type]


def befores(times: list[int], rule: Progress) -> list[int | None]:
    return [r.before for r in judge([{"ts": t} for t in times], "ts", rule)]


def test_a_watermark_follows_the_newest_row_at_a_distance() -> None:
    assert befores([10, 30, 20, 40], Watermark(5)) == [None, 5, 25, 25]


def test_without_a_watermark_rows_are_in_order() -> None:
    assert befores([10, 10, 30, 20], InOrder()) == [None, 10, 10, 30]


def test_slack_lets_a_row_come_after_so_many_newer_ones() -> None:
    # With a slack of 2, once 10, 20, 30 have come, a row below 10 would have three newer ones before it.
    assert befores([10, 20, 30, 5, 25, 40], Slack(2)) == [None, None, None, 10, 10, 20]


def test_rows_so_many_apart_are_in_order() -> None:
    # Once 30 is followed by two rows, no row below it may come.
    assert befores([10, 30, 20, 5, 40, 6], Apart(2)) == [None, None, None, 10, 30, 30]


def test_punctuation_rows_are_no_data_and_never_take_back_what_they_said() -> None:
    rows = [{"ts": 1, "p": None}, {"ts": None, "p": 7}, {"ts": None, "p": 4}, {"ts": 5, "p": None}]
    arrived = judge(rows, "ts", PunctuationColumn("p"))
    assert [(r.number, r.before, r.late) for r in arrived] == [(1, None, False), (4, 7, True)]


def test_rows_without_a_time_are_left_out_but_counted() -> None:
    arrived = judge([{"ts": None}, {"ts": 3}], "ts", InOrder())
    assert [(r.ts, r.number) for r in arrived] == [(3, 2)]


def test_a_sliding_extent_holds_rows_from_its_start_up_to_its_end() -> None:
    query = Query(stream([0, 3, 5], Watermark(9)), TimeExtents(4, 2), (COUNT,))
    # [-2,2): 0; [0,4): 0 3; [2,6): 3 5; [4,8): 5
    assert answered(query) == [(-2, 2, 1), (0, 4, 2), (2, 6, 2), (4, 8, 1)]


def test_a_range_that_is_no_multiple_of_the_slide_ends_at_multiples() -> None:
    query = Query(stream([0, 7], Watermark(9)), TimeExtents(5, 3), (COUNT,))
    # [-2,3): 0; [1,6): nothing, but between; [4,9): 7; [7,12): 7
    assert answered(query) == [(-2, 3, 1), (1, 6, 0), (4, 9, 1), (7, 12, 1)]


def test_foreign_spellings_start_at_multiples() -> None:
    query = Query(stream([0], Watermark(9)), TimeExtents(5, 3, starts=True), (COUNT,))
    assert answered(query) == [(-3, 2, 1), (0, 5, 1)]


def test_rows_between_extents_that_leave_gaps_are_in_none() -> None:
    query = Query(stream([1, 8, 9, 25], Watermark(99)), TimeExtents(2, 10), (COUNT,))
    # [8,10): 8 9. 1 and 25 fall into gaps; [18,20) would be empty and after the last that holds rows
    assert answered(query) == [(8, 10, 2)]


def test_an_origin_moves_the_ends_and_times_may_be_negative() -> None:
    query = Query(stream([-11, -1], Watermark(99)), TimeExtents(10, 10, origin=3), (COUNT,))
    assert answered(query) == [(-17, -7, 1), (-7, 3, 1)]


def test_a_landmark_ends_at_the_first_multiple_beyond_the_last_row() -> None:
    query = Query(stream([5, 10, 20], k=["a", "b", "a"]), TimeExtents(None, 10), (COUNT,), keys=("k",))
    assert answered(query) == sorted(
        [(None, 10, "a", 1), (None, 20, "a", 1), (None, 20, "b", 1), (None, 30, "a", 2), (None, 30, "b", 1)], key=repr
    )


def test_empty_extents_give_no_row_to_groups_and_a_row_of_nulls_without() -> None:
    rows = stream([1, 25], x=[2.0, 4.0])
    total = Aggregate("sum", "x")
    assert answered(Query(rows, TimeExtents(10, 10), (COUNT, total))) == [
        (0, 10, 1, 2.0),
        (10, 20, 0, None),
        (20, 30, 1, 4.0),
    ]
    assert answered(Query(rows, TimeExtents(10, 10), (COUNT,), keys=("x",))) == [(0, 10, 2.0, 1), (20, 30, 4.0, 1)]


def test_where_decides_which_extents_hold_rows() -> None:
    query = Query(stream([1, 15, 25], x=[2.0, 4.0, 4.0]), TimeExtents(10, 10), (COUNT,), where=Compares("x", ">", 3.0))
    assert answered(query) == [(10, 20, 1), (20, 30, 1)]


def test_a_late_row_counts_in_open_extents_and_lists_those_it_missed() -> None:
    query = Query(stream([10, 35, 22], Watermark(10)), TimeExtents(20, 5), (COUNT,))
    # 22 comes at punctuation 25: it missed [5,25) and is in [10,30), [15,35), [20,40)
    found = {end: n for _, end, n in answered(query)}  # type: ignore[misc]
    assert found == {15: 1, 20: 1, 25: 1, 30: 2, 35: 1, 40: 2, 45: 1, 50: 1, 55: 1}
    assert answer(query).late == [({"ts": 22}, 25, 1)]


def test_a_late_row_that_still_finds_all_its_extents_is_not_listed() -> None:
    query = Query(stream([10, 18, 16]), TimeExtents(10, 10), (COUNT,))
    assert answered(query) == [(10, 20, 3)]
    assert answer(query).late == []


def test_a_late_row_dropped_by_where_missed_nothing() -> None:
    rows = stream([10, 28, 16], x=[1.0, 1.0, 0.0])
    assert answer(Query(rows, TimeExtents(10, 10), (COUNT,), where=Compares("x", "=", 1.0))).late == []


def test_windows_on_another_column_close_at_the_end_only() -> None:
    rows = Stream(
        (("w", "BIGINT"), ("ts", "BIGINT")),
        "ts",
        InOrder(),
        ({"w": 5, "ts": 1}, {"w": 15, "ts": 99}, {"w": 4, "ts": 50}),
    )
    query = Query(rows, TimeExtents(10, 10, on="w"), (COUNT,))
    assert answered(query) == [(0, 10, 2), (10, 20, 1)]
    assert answer(query).late == []


def test_nulls_and_nans_are_groups_of_their_own_and_zero_has_no_sign() -> None:
    rows = stream([1, 2, 3, 4, 5, 6], x=[None, math.nan, None, math.nan, 0.0, -0.0])
    found = answered(Query(rows, TimeExtents(10, 10), (COUNT,), keys=("x",)))
    assert sorted((str(x), n) for _, _, x, n in found) == [("0.0", 2), ("None", 2), ("nan", 2)]


def test_provisional_answers_come_when_the_streams_time_passes_a_multiple() -> None:
    query = Query(stream([1, 4, 6, 14, 13], Watermark(5)), TimeExtents(10, 10), (COUNT,), emit_every=5)
    # 6 passes 5 (the first row never counts); 14 passes 10; 13 passes nothing.
    assert answer(query).snapshots == [
        (6, [{"window_start": 0, "window_end": 10, "a0": 3}]),
        (14, [{"window_start": 0, "window_end": 10, "a0": 3}, {"window_start": 10, "window_end": 20, "a0": 1}]),
    ]


def test_provisional_answers_show_what_was_open_when_their_row_came() -> None:
    query = Query(stream([1, 12, 21]), TimeExtents(10, 10), (COUNT,), emit_every=5)
    assert answer(query).snapshots == [
        (12, [{"window_start": 0, "window_end": 10, "a0": 1}, {"window_start": 10, "window_end": 20, "a0": 1}]),
        (21, [{"window_start": 10, "window_end": 20, "a0": 1}, {"window_start": 20, "window_end": 30, "a0": 1}]),
    ]


def test_a_relation_follows_its_rows_lifetimes() -> None:
    query = Query(stream([1, 3, 6], k=["a", "a", "b"]), Lifetime(4, "[RANGE 4 MICROSECONDS]"), (COUNT,), keys=("k",))
    found = answer(query)
    assert found.rows == [{"k": "a", "a0": 1}, {"k": "b", "a0": 1}]
    assert [(at, op, row["k"], row["a0"]) for at, op, row in found.changes] == [
        (1, 1, "a", 1),
        (3, -1, "a", 1),
        (3, 1, "a", 2),
        (5, -1, "a", 2),
        (5, 1, "a", 1),
        (6, 1, "b", 1),
        (7, -1, "a", 1),
        (10, -1, "b", 1),
    ]


def test_changes_are_net_per_instant() -> None:
    # At 5 the first row ends and the third begins: the count stays 1.
    query = Query(stream([1, 5]), Lifetime(4, "[RANGE 4 MICROSECONDS]"), (COUNT,))
    assert answer(query).changes == [(1, 1, {"a0": 1}), (9, -1, {"a0": 1}), (9, 1, {"a0": 0})]


def test_an_ungrouped_relation_has_its_row_from_the_first_input_row_on() -> None:
    query = Query(stream([1, 5], x=[0.0, 1.0]), Lifetime(), (COUNT,), where=Compares("x", "=", 1.0))
    assert answer(query).changes == [(1, 1, {"a0": 0}), (5, -1, {"a0": 0}), (5, 1, {"a0": 1})]


def test_a_relation_does_not_use_late_rows() -> None:
    found = answer(Query(stream([1, 5, 3]), Lifetime(), (COUNT,)))
    assert found.rows == [{"a0": 2}]
    assert found.late == [({"ts": 3}, 5, None)]


@pytest.mark.parametrize(
    ("function", "values", "expected"),
    [
        ("count", [1, None, 3], 2),
        ("sum", [2**60, 2**60, 1], 2**61 + 1),
        ("sum", [None, None], None),
        ("sum", [0.5, 0.25], 0.75),
        ("sum", [1.0, math.inf], math.inf),
        ("sum", [-math.inf, math.inf], math.nan),
        ("avg", [1, 2], 1.5),
        ("avg", [], None),
        ("min", [2.0, math.nan], 2.0),
        ("max", [2.0, math.nan], math.nan),
        ("max", ["a", "B"], "a"),
        ("min", [math.nan, None], math.nan),
        ("var_samp", [1], None),
        ("var_pop", [1], 0.0),
        ("var_samp", [1, 3], 2.0),
        ("var_pop", [1, 3], 1.0),
        ("stddev_samp", [1, 1, 4], math.sqrt(3)),
        ("stddev_pop", [1, 5], 2.0),
        ("stddev_pop", [1.0, math.inf], math.nan),
        ("first", [None, 1], None),
        ("last", [1, None], None),
        ("last", [1, 2], 2),
    ],
)
def test_aggregates_by_hand(function: str, values: list[Value], expected: Value) -> None:
    assert_same_bag([(over(values, function),)], [(expected,)], ["result"])


def test_first_and_last_go_by_time_then_by_arrival() -> None:
    rows = [Arrived({"x": x}, ts, n, None) for n, (x, ts) in enumerate([("c", 2), ("a", 1), ("b", 1), ("d", 2)])]
    assert Aggregate("first", "x").over(rows) == "a"
    assert Aggregate("last", "x").over(rows) == "d"


def test_distinct_leaves_out_null_and_counts_nan_once() -> None:
    assert over([1.0, 1.0, None, math.nan, math.nan, 0.0, -0.0], "count", distinct=True) == 3


def test_filter_takes_rows_for_which_it_is_true_not_null() -> None:
    assert over([1, None, 3], "count", where=Compares("x", "<>", 1)) == 1


def test_conditions_have_three_values() -> None:
    null = {"x": None}
    assert Compares("x", "=", 1).truth(null) is None
    assert Not(Compares("x", "=", 1)).truth(null) is None
    assert And(Compares("x", "=", 1), IsNull("x", negated=True)).truth(null) is False
    assert Or(Compares("x", "=", 1), IsNull("x")).truth(null) is True
    assert Compares("x", ">", 1.0).truth({"x": math.nan}) is True
    assert Compares("x", "=", math.nan).truth({"x": math.nan}) is True


def test_comparison_tells_missing_rows_from_wrong_ones() -> None:
    with pytest.raises(AssertionError, match=r"1 missing, 1 wrong\nmissing:\n  k='a', n=2\nwrong:\n  k='a', n=3"):
        assert_same_bag([("a", 3), ("b", 1)], [("b", 1), ("a", 2)], ["k", "n"])


def test_comparison_counts_equal_rows() -> None:
    with pytest.raises(AssertionError, match="1 missing"):
        assert_same_bag([("a",)], [("a",), ("a",)], ["k"])


@pytest.mark.parametrize(("actual", "expected"), [(1, 1.0), (True, 1), (1.0, 1.0 + 1e-6), (None, math.nan), ("1", 1)])
def test_comparison_minds_types_and_digits(actual: Value, expected: Value) -> None:
    with pytest.raises(AssertionError):
        assert_same_bag([(actual,)], [(expected,)], ["x"])


def test_queries_are_written_as_users_would() -> None:
    rows = stream([1], Watermark(5_000_000), k=["a"])
    assert rows.sql("python://rows") == (
        "CREATE STREAM s (k STRING, ts BIGINT, WATERMARK FOR ts AS ts - INTERVAL 5 SECONDS) SOURCE 'python://rows'"
    )
    extents = TimeExtents(600_000_000, 60_000_000, spelling="paper")
    assert Query(rows, extents, (COUNT,), keys=("k",)).sql() == (
        "SELECT k, count(*) [RANGE 10 MINUTES, SLIDE 1 MINUTE, WA ts] AS a0 FROM s GROUP BY k"
    )
    hop = TimeExtents(600_000_000, 60_000_000, starts=True, spelling="table function")
    assert Query(rows, hop, (COUNT,)).sql() == (
        "SELECT count(*) AS a0 FROM HOP(s, ts, INTERVAL 1 MINUTE, INTERVAL 10 MINUTES)"
    )
