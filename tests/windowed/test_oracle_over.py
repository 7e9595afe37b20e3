"""The kernel engine against the oracle: OVER in every form, whatever order the rows come in."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_stream import Session
from jupyter_stream.aggregates import find
from jupyter_stream.core.messages import TS, Batch, Punctuation
from jupyter_stream.core.time import MAX_TIME
from jupyter_stream.functions.expression import Column
from jupyter_stream.partials.group_aggregate import GroupAggregate
from jupyter_stream.windowed.over_window import OverConfig, OverOperator
from jupyter_stream.windows import OverWindow
from tests.oracle import strategies
from tests.oracle.aggregates import Aggregate
from tests.oracle.compare import assert_same_bag
from tests.oracle.over import OverQuery, over
from tests.oracle.progress import InOrder, Slack, Watermark
from tests.oracle.running import Ran, assert_right, show
from tests.oracle.search import searching
from tests.tiers import slow, thinned
from tests.windowed.test_oracle_edges import COUNT, SECOND, YEAR, stream

pytestmark = pytest.mark.timeout(900)  # many small queries; a busy machine is no failure


@st.composite
def over_queries(draw: st.DrawFn, *, late: bool = True) -> OverQuery:
    """A query with OVER on a stream of its own."""
    shape = draw(strategies.shapes)
    rows = draw(strategies.streams(shape, late=late, both=True))
    columns = strategies.data_columns(rows)
    names = [name for name, _ in columns]
    partition = tuple(draw(st.lists(st.sampled_from(names), max_size=2, unique=True)))
    made = tuple(draw(st.lists(strategies.aggregates(columns, order_free=not late), min_size=1, max_size=3)))
    query = OverQuery(rows, made, partition, where=draw(st.none() | strategies.conditions(columns)))
    length = draw(st.integers(1, 12)) * shape.tick
    kind = draw(st.sampled_from(("rows", "range", "unbounded", "expiry") if late else ("range", "unbounded", "expiry")))
    if kind == "rows":
        query = replace(query, rows=draw(st.integers(1, 8)))
    elif kind == "unbounded":
        kept = tuple(replace(a, function="last", constant=None) if a.function in LISTS else a for a in made)
        query = replace(query, aggregates=kept, peers=not late or draw(st.booleans()))
    else:
        query = replace(query, range=length, on_expiry=kind == "expiry")
    thinned = "all" if kind == "expiry" else draw(st.sampled_from(("all", "all", "rows", "slots")))
    if thinned == "rows" and late:
        query = replace(query, every=draw(st.integers(2, 4)))
    elif thinned == "slots" and late:
        query = replace(query, slot=draw(st.integers(1, 9)) * shape.tick)
    return query


LISTS = ("collect_list", "string_agg")


@searching
@given(st.data())
def test_over_gives_what_the_oracle_gives(data: st.DataObject) -> None:
    query = data.draw(over_queries())
    expected = over(query)
    sizes = data.draw(strategies.splits(len(query.stream.rows)))
    assert_right(query, expected, Ran(query, sizes), sizes)


@searching
@given(st.data())
def test_a_shuffle_within_the_punctuations_gives_the_same_rows(data: st.DataObject) -> None:
    query = data.draw(over_queries(late=False))
    other = replace(query, stream=data.draw(strategies.shuffled(query.stream)))
    first, second = Ran(query), Ran(other)
    assert first.late == second.late == []
    assert_same_bag(second.rows, first.rows, first.columns, show(other, None))


PROGRESS = (InOrder(), Watermark(3 * SECOND), Watermark(YEAR), Slack(2))
WINDOWS = (
    {"rows": 3},
    {"range": 4 * SECOND},
    {"range": 4 * SECOND, "on_expiry": True},
    {},
    {"peers": False},
    {"peers": False, "every": 3},
    {"range": 4 * SECOND, "every": 3},
    {"slot": 3 * SECOND},
)


@pytest.mark.parametrize(("progress", "window"), thinned(product(PROGRESS, WINDOWS), 17), ids=str)
def test_ties_null_partitions_and_late_rows(window: dict, progress: object) -> None:
    times = [1, 1, 3, 2, 2, 9, 4, 8, 8, 30, 30, 12, 31, 29]
    rows = [("ab"[i % 2] if i % 5 else None, None if i == 3 else i / 4, i, t) for i, t in enumerate(times)]
    made = (COUNT, Aggregate("sum", "x"), Aggregate("max", "n"), Aggregate("first", "n"), Aggregate("last", "x"),
            Aggregate("median", "n"), Aggregate("count", "n", distinct=True), Aggregate("avg", "n"))  # fmt: skip
    query = OverQuery(stream(rows, "k STRING, x DOUBLE, n BIGINT, ts TIMESTAMP", progress), made, ("k",), **window)
    for sizes in (None, [1] * len(rows), [4, 5, 5]):
        assert_right(query, over(query), Ran(query, sizes), sizes)


@pytest.mark.parametrize("window", WINDOWS, ids=str)
def test_sums_are_exact_and_one_beyond_bigint_is_an_error_of_its_row(window: dict) -> None:
    rows = stream([(2**62, 0), (2**61, 1), (5, 8), (2**53 + 1, 9)], "n BIGINT, ts TIMESTAMP")
    query = OverQuery(rows, (Aggregate("sum", "n"), Aggregate("avg", "n")), **window)
    assert_right(query, over(query), Ran(query))
    with Session({"rows": [(2**62, 0), (2**62, 1), (3, 20)]}) as session:
        session.execute("CREATE STREAM s (n BIGINT, ts BIGINT) SOURCE 'python://rows'")
        (beyond,) = session.execute("SELECT n, sum(n) OVER (ROWS 1 PRECEDING) AS total FROM s")
        assert beyond.wait(200)
        assert beyond.to_polars()["total"].to_list() == [2**62, 2**62 + 3]
        assert beyond.errors.rows() == [(f'{{"n":{2**62},"ts":1}}', "a sum is beyond BIGINT")]


@pytest.mark.parametrize("odd", [float("nan"), float("inf"), 1e17])
def test_a_value_that_left_the_window_leaves_no_trace(odd: float) -> None:
    rows = stream([(odd, 0), (0.1, 1), (0.2, 2), (0.3, 3), (-odd, 4), (0.5, 9), (0.7, 10)], "x DOUBLE, ts TIMESTAMP")
    made = tuple(Aggregate(f, "x") for f in ("sum", "avg", "min", "max", "var_pop", "stddev_samp"))
    for window in ({"rows": 1}, {"range": 2 * SECOND}):
        query = OverQuery(rows, made, **window)
        assert_right(query, over(query), Ran(query, [1] * 7), [1] * 7)


def test_times_years_apart_and_many_partitions() -> None:
    rows = [(i % 97, i * YEAR // SECOND // 7 % (400 * YEAR // SECOND)) for i in range(300)]
    made = stream(rows, "n BIGINT, ts TIMESTAMP", Watermark(500 * YEAR))
    for window in ({"range": 150 * YEAR}, {"range": 150 * YEAR, "on_expiry": True}):
        query = OverQuery(made, (COUNT, Aggregate("sum", "n")), ("n",), **window)
        assert_right(query, over(query), Ran(query, [100, 200]), None)


@slow
def test_unbounded_ranges_over_many_blocks_of_rows() -> None:
    rows = [("ab"[i % 3 == 0], i * 7 % 11, i * 5 % 1009) for i in range(1000)]
    query = OverQuery(
        stream(rows, "k STRING, n BIGINT, ts TIMESTAMP", Watermark(200 * SECOND)),
        (Aggregate("mode", "n"), Aggregate("var_pop", "n"), Aggregate("count", "n", distinct=True)),
        ("k",),
    )
    assert_right(query, over(query), Ran(query, [600, 400]), None)


@pytest.mark.parametrize(
    ("window", "most"), thinned([({"range": 50}, 51), ({"range": 50, "on_expiry": True}, 51), ({"rows": 4}, 28)])
)
def test_state_follows_the_window_and_is_empty_when_its_rows_are_gone(window: dict, most: int) -> None:
    key = Column("k", pl.Int64())
    count = find("count")
    assert count is not None
    calls = (GroupAggregate(count, count.form([], False, ()), (), None, pl.Int64(), "n"),)
    operator = OverOperator(OverConfig(OverWindow(partition=(key,), **window), (), calls))
    rows = 0
    for start in range(0, 20_000, 100):
        times = np.arange(start, start + 100)
        messages = [
            *operator.on_batch(0, Batch(pl.DataFrame({"k": times % 7, TS: times}))),
            *operator.on_punctuation(0, Punctuation(start + 100)),
        ]
        rows += sum(m.rows for m in messages if isinstance(m, Batch))
        assert operator.control.extra["kept_rows"] <= most
        assert operator.control.extra["waiting_rows"] == 0
    list(operator.on_punctuation(0, Punctuation(MAX_TIME)))
    assert operator.control.extra["kept_rows"] == 0
    assert rows >= 20_000 - most
