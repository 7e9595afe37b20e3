"""The kernel engine against the oracle: windows of rows, whole and partitioned, in any disorder and batch split."""

from __future__ import annotations

from dataclasses import replace
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_stream.partials import spread
from jupyter_stream.session.session import Session
from tests.oracle import strategies
from tests.oracle.aggregates import Aggregate
from tests.oracle.answer import answer
from tests.oracle.compare import assert_same_bag, in_columns
from tests.oracle.predicates import Compares
from tests.oracle.query import Query
from tests.oracle.running import Ran, assert_right, show
from tests.oracle.search import searching
from tests.oracle.windows import RowExtents
from tests.tiers import slow
from tests.windowed.test_oracle_edges import COUNT, check, stream


@st.composite
def row_queries(draw: st.DrawFn, *, emit: bool = False) -> Query:
    """A query over a window of rows of a stream of its own."""
    query = draw(strategies.queries(emit=emit, both=not emit))
    columns = strategies.data_columns(query.stream)
    names = [name for name, _ in columns]
    partition: tuple[str, ...] = ()
    where = None
    if draw(st.booleans()):
        partition = tuple(draw(st.lists(st.sampled_from(names), min_size=1, max_size=2, unique=True)))
        where = draw(st.none() | strategies.conditions(columns))
    rows, slide = draw(st.integers(1, 12)), draw(st.integers(1, 9))
    paper = where is None and draw(st.integers(0, 3)) == 0
    return replace(query, window=RowExtents(rows, slide, partition, where, paper))


@searching
@given(st.data())
def test_windows_of_rows_give_what_the_oracle_gives(data: st.DataObject) -> None:
    query = data.draw(row_queries())
    sizes = data.draw(strategies.splits(len(query.stream.rows)))
    assert_right(query, answer(query), Ran(query, sizes), sizes)


@pytest.mark.parametrize("keys", [(), ("k",)])
def test_partitions_are_groups_whose_empty_extents_give_no_row(keys: tuple[str, ...]) -> None:
    rows = stream(
        [(k, v, 0) for v in (1, 0, 0, 2, 0, 3, 0) for k in ("ab" if v < 3 else "bbb")], "k STRING, v INT, ts BIGINT"
    )
    query = Query(rows, RowExtents(1, 1, ("k",)), (COUNT, Aggregate("sum", "v")), keys, Compares("v", ">", 0))
    expected = answer(query)
    assert 0 not in [r["a0"] for r in expected.rows] and len(expected.rows) == 7
    for sizes in (None, [1] * len(rows.rows), [5, len(rows.rows) - 5]):
        assert_right(query, expected, Ran(query, sizes), sizes)


@slow
@searching
@given(st.data())
def test_folding_by_doubling_gives_what_the_oracle_gives(data: st.DataObject) -> None:
    query = data.draw(row_queries())
    assert isinstance(query.window, RowExtents)
    narrow = replace(query.window, slide=data.draw(st.integers(1, 3)), rows=data.draw(st.integers(1, 25)))
    query = replace(query, window=narrow)
    sizes = data.draw(strategies.splits(len(query.stream.rows)))
    with patch.object(spread, "SPREAD", -1), patch.object(spread, "SPREAD_PER_PARTIAL", 0):
        assert_right(query, answer(query), Ran(query, sizes), sizes)


@searching
@given(st.data())
def test_emit_every_shows_the_extents_that_wait_for_rows(data: st.DataObject) -> None:
    query = data.draw(row_queries(emit=True))
    sizes = data.draw(strategies.splits(len(query.stream.rows)))
    expected, ran = answer(query), Ran(query, sizes)
    assert_right(query, expected, ran, sizes)
    rows = [row for _, snapshot in expected.snapshots for row in in_columns(snapshot, query.columns)]
    assert_same_bag(ran.provisional, rows, query.columns, show(query, sizes))


EVERY = (
    COUNT,
    Aggregate("count", "x", distinct=True),
    *(Aggregate(f, "x") for f in ("count", "sum", "avg", "min", "max", "var_samp", "stddev_pop", "first", "last")),
)


@slow
def test_every_aggregate_over_windows_of_rows_and_null_keys() -> None:
    some = [((None, "a", "b")[i % 3], None if i % 5 == 0 else float(i % 7), (i * 7) % 31) for i in range(60)]
    rows = stream(some, "k STRING, x DOUBLE, ts TIMESTAMP")
    for extents in (RowExtents(10, 3), RowExtents(2, 5), RowExtents(100, 7)):
        check(Query(rows, extents, EVERY))
        check(Query(rows, extents, EVERY, keys=("k",)))
        check(Query(rows, replace(extents, partition=("k",)), EVERY, keys=("k",)))
        check(Query(rows, replace(extents, partition=("k",)), EVERY, keys=("x",)))
        check(Query(rows, replace(extents, partition=("k", "x")), EVERY, keys=("k",)))


def test_a_group_without_values_for_an_aggregate_is_in_the_answer() -> None:
    rows = stream([("a", None, 1), ("a", None, 2), ("b", 1.0, 3)], "k STRING, x DOUBLE, ts TIMESTAMP")
    check(Query(rows, RowExtents(2, 1), EVERY, keys=("k",)))


def test_no_row_is_late_for_a_window_of_rows() -> None:
    rows = stream([(1.0, 100), (2.0, 1), (3.0, 50), (4.0, 2)], "x DOUBLE, ts TIMESTAMP")
    query = Query(rows, RowExtents(2, 2), EVERY)
    assert answer(query).late == []
    check(query)


def test_a_sum_beyond_bigint_is_left_out_and_told_of() -> None:
    session = Session({"rows": [{"n": 2**62, "at": 1}, {"n": 2**62, "at": 2}, {"n": 5, "at": 3}, {"n": 6, "at": 4}]})
    session.execute("CREATE STREAM s (n BIGINT, at BIGINT) ORDER BY at SOURCE 'python://rows'")
    (query,) = session.execute("SELECT sum(n) AS total FROM s [ROWS 2 SLIDE 2]")
    query.wait(200)
    assert query.to_polars().rows() == [(3, 4, 11)]
    assert query.errors.height == 1
    session.close()


def test_nothing_is_held_when_the_input_has_ended() -> None:
    session = Session({"rows": [{"k": i % 3, "at": i} for i in range(50)]})
    session.execute("CREATE STREAM s (k INT, at BIGINT) ORDER BY at SOURCE 'python://rows'")
    (query,) = session.execute("SELECT k, count(*) FROM s [PARTITION BY k ROWS 7 SLIDE 2]")
    query.wait(200)
    assert query.status == "finished" and query.stats["state_bytes"] == 0
    session.close()


def test_answers_of_a_window_of_rows_are_a_stream_in_the_order_of_time() -> None:
    """An extent's time is the newest time so far, so that a window over the answers closes as it goes."""
    session = Session({"rows": [{"x": i, "at": i ^ 1} for i in range(40)]})
    session.execute("CREATE STREAM s (x INT, at BIGINT) ORDER BY at SOURCE 'python://rows'")
    (query,) = session.execute(
        "SELECT max(n) AS n FROM (SELECT count(*) AS n FROM s [ROWS 4 SLIDE 4]) [RANGE 20 MICROSECONDS TUMBLING]"
    )
    query.wait(200)
    assert query.to_polars().rows() == [(0, 20, 4), (20, 40, 4)]
    assert query.late.height == 0
    session.close()
