"""The kernel engine against the oracle: slide-by-tuple windows, any disorder, ties, late rows, any batch split."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracle import strategies
from tests.oracle.aggregates import Aggregate
from tests.oracle.answer import answer
from tests.oracle.compare import assert_same_bag, in_columns
from tests.oracle.predicates import Compares
from tests.oracle.progress import InOrder, Slack, Watermark
from tests.oracle.query import Query, Stream
from tests.oracle.running import Ran, assert_right, show
from tests.oracle.search import searching
from tests.oracle.strategies import Shape
from tests.oracle.windows import TupleExtents
from tests.tiers import slow, thinned

COUNT = Aggregate("count")


@st.composite
def windows(draw: st.DrawFn, shape: Shape) -> TupleExtents:
    """Slide-by-tuple windows from a microsecond to longer than all rows."""
    span = draw(st.one_of(st.just(1), st.integers(1, 20).map(lambda n: n * shape.tick), st.just(200 * shape.tick)))
    return TupleExtents(span, draw(st.integers(1, 5)), draw(st.booleans()), paper=draw(st.booleans()))


@st.composite
def queries(draw: st.DrawFn, *, late: bool = True, order_free: bool = False, emit: bool = False) -> Query:
    shape = draw(strategies.shapes)
    stream = draw(strategies.streams(shape, late=late, both=not emit))
    columns = strategies.data_columns(stream)
    keys = tuple(sorted(draw(st.sets(st.sampled_from([name for name, _ in columns]), max_size=2))))
    made = tuple(draw(st.lists(strategies.aggregates(columns, order_free=order_free), min_size=1, max_size=3)))
    window = draw(windows(shape))
    if "w" in dict(stream.columns):
        window = replace(window, on="w")
    if order_free:
        window = replace(window, by_rank=True)  # or the order of arrival would matter
    where = draw(st.none() | strategies.conditions(columns))
    every = draw(st.integers(1, 15)) * shape.tick if emit else None
    return Query(stream, window, made, keys, where, emit_every=every)


@searching
@given(st.data())
def test_slide_by_tuple_gives_what_the_oracle_gives(data: st.DataObject) -> None:
    query = data.draw(queries())
    expected = answer(query)
    sizes = data.draw(strategies.splits(len(query.stream.rows)))
    assert_right(query, expected, Ran(query, sizes), sizes)


@searching
@given(st.data())
def test_by_rank_a_shuffle_within_the_punctuations_gives_the_same_answer(data: st.DataObject) -> None:
    query = data.draw(queries(late=False, order_free=True))
    other = replace(query, stream=data.draw(strategies.shuffled(query.stream)))
    first, second = Ran(query), Ran(other)
    assert first.late == second.late == []
    assert_same_bag(second.rows, first.rows, first.columns, show(other, None))


@searching
@given(st.data())
def test_emit_every_shows_the_extents_that_are_open(data: st.DataObject) -> None:
    query = data.draw(queries(emit=True))
    sizes = data.draw(strategies.splits(len(query.stream.rows)))
    expected, ran = answer(query), Ran(query, sizes)
    assert_right(query, expected, ran, sizes)
    at = 0
    for instant, rows in expected.snapshots:
        came, at = ran.provisional[at : at + len(rows)], at + len(rows)
        about = f"the snapshot at {instant}\n{show(query, sizes)}"
        assert_same_bag(came, in_columns(rows, query.columns), query.columns, about)
    assert ran.provisional[at:] == []


@slow
@searching
@given(st.data())
def test_long_disordered_streams_of_many_groups(data: st.DataObject) -> None:
    shape = Shape(data.draw(st.sampled_from(strategies.TICKS)), 0)
    query = replace(data.draw(strategies.long_queries(shape)), window=data.draw(windows(shape)))
    query = replace(query, stream=replace(query.stream, rows=query.stream.rows[:150]))
    sizes = data.draw(strategies.splits(len(query.stream.rows)))
    assert_right(query, answer(query), Ran(query, sizes), sizes)


def made(times: list[int], progress: object = None) -> Stream:
    columns = (("k", "STRING"), ("n", "BIGINT"), ("x", "DOUBLE"), ("ts", "BIGINT"))
    rows = tuple(
        {"k": (None, "a", "b")[i % 3], "n": None if i % 5 == 4 else i * (-1) ** i, "x": i / 8, "ts": t}
        for i, t in enumerate(times)
    )
    return Stream(columns, "ts", progress or InOrder(), rows)  # type: ignore[arg-type]


def check(query: Query) -> None:
    expected = answer(query)
    for sizes in (None, [1] * len(query.stream.rows), [3] * (len(query.stream.rows) // 3) + [2]):
        assert_right(query, expected, Ran(query, sizes), sizes)


EVERY = tuple(Aggregate(f, "n") for f in ("count", "sum", "avg", "min", "max", "var_samp", "first", "last"))
WINDOWS = [TupleExtents(1), TupleExtents(3, 2), TupleExtents(3, 2, True), TupleExtents(50), TupleExtents(50, 3, True)]


@slow
@pytest.mark.parametrize("window", WINDOWS, ids=str)
def test_ties_disorder_and_late_rows(window: TupleExtents) -> None:
    times = [1, 5, 5, 25, 3, 24, 24, 26, 12, 61, 2, 35, 58, 61, 61, 60, 33, 90, 31, 89]
    for progress in (InOrder(), Watermark(20), Slack(2)):
        check(Query(made(times, progress), window, EVERY))
        check(Query(made(times, progress), window, EVERY, ("k",), Compares("n", "<>", 4)))


@pytest.mark.parametrize("function", ["sum", "avg", "min", "max"])
@pytest.mark.parametrize("odd", thinned([1e17, math.inf, -math.inf, math.nan]))
def test_a_value_that_left_the_extent_leaves_no_trace(function: str, odd: float) -> None:
    stream = made([0, 1, 2, 3, 9, 12, 13, 14])
    rows = tuple({**r, "x": odd if i in (0, 4) else r["x"]} for i, r in enumerate(stream.rows))
    check(Query(replace(stream, rows=rows), TupleExtents(4), (Aggregate(function, "x"),)))


def test_sums_are_exact_beyond_what_a_double_holds_and_between_sums_that_are_no_bigint() -> None:
    stream = made([0, 1, 2, 30, 31, 32])
    values = (2**62, 2**62 - 1, -(2**62), -(2**63), 2**63 - 1, 1)
    rows = tuple({**r, "n": n} for r, n in zip(stream.rows, values, strict=True))
    aggregates = tuple(Aggregate(f, "n") for f in ("sum", "avg", "min", "max"))
    check(Query(replace(stream, rows=rows), TupleExtents(10), aggregates))


def test_no_row_gives_no_answer() -> None:
    check(Query(made([]), TupleExtents(10), (COUNT,)))
    check(Query(made([1, 2]), TupleExtents(10, 3), (COUNT,), ("k",)))
