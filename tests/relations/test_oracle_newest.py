"""The kernel engine against the oracle: relations over the newest rows, of all or of each partition."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracle import strategies
from tests.oracle.aggregates import Aggregate
from tests.oracle.answer import answer
from tests.oracle.compare import assert_same_bag
from tests.oracle.predicates import Compares
from tests.oracle.query import Query
from tests.oracle.running import Ran, assert_right, show
from tests.oracle.search import searching
from tests.oracle.windows import NewestRows
from tests.tiers import thinned
from tests.windowed.test_oracle_edges import COUNT, stream

pytestmark = pytest.mark.timeout(900)  # many small queries; a busy machine is no failure


@st.composite
def newest_queries(draw: st.DrawFn) -> Query:
    """A query over the newest rows of a stream of its own."""
    query = draw(strategies.queries(relation=True))
    columns = strategies.data_columns(query.stream)
    window = NewestRows(rows=draw(st.integers(1, 9)))
    if draw(st.booleans()):
        names = [name for name, _ in columns]
        partition = tuple(draw(st.lists(st.sampled_from(names), min_size=1, max_size=2, unique=True)))
        window = replace(window, partition=partition, where=draw(st.none() | strategies.conditions(columns)))
    where = draw(st.none() | strategies.conditions(columns))
    return replace(query, window=window, where=where, having=None)


def check(query: Query, sizes: list[int] | None) -> None:
    expected, ran = answer(query), Ran(query, sizes)
    assert_right(query, expected, ran, sizes)
    changes = [(op, at, *(row[c] for c in query.columns)) for at, op, row in expected.changes]
    assert_same_bag(ran.changes, changes, ["op", "at", *query.columns], show(query, sizes), frozenset({"at"}))


@searching
@given(st.data())
def test_the_newest_rows_give_what_the_oracle_gives(data: st.DataObject) -> None:
    query = data.draw(newest_queries())
    check(query, data.draw(strategies.splits(len(query.stream.rows))))


@pytest.mark.parametrize("sizes", thinned([None, [1] * 12, [5, 7]]), ids=str)
@pytest.mark.parametrize("partition", [(), ("k",)])
def test_every_kind_of_aggregate_with_rows_that_only_push_others_out(partition: tuple, sizes: list | None) -> None:
    times = [5, 1, 9, 2, 2, 8, 3, 30, 4, 4, 31, 0]
    rows = [("ab"[i % 3 == 0], None if i == 4 else i * 7 % 5, t) for i, t in enumerate(times)]
    made = (
        COUNT,
        *(Aggregate(f, "n") for f in ("sum", "avg", "min", "max", "first", "last", "median", "mode", "collect_list")),
    )
    window = NewestRows(rows=3, partition=partition)
    query = Query(stream(rows, "k STRING, n INT, ts TIMESTAMP"), window, made, ("k",), Compares("n", "<>", 3))
    check(query, sizes)
    if not partition:
        check(replace(query, keys=()), sizes)
