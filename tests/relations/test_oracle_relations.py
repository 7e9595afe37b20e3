"""The kernel engine against the oracle: aggregates without SLIDE, their state and their net changes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracle import strategies
from tests.oracle.answer import answer
from tests.oracle.compare import assert_same_bag
from tests.oracle.running import Ran, assert_right, show
from tests.oracle.search import searching

pytestmark = pytest.mark.timeout(900)  # many small queries; a busy machine is no failure


@searching
@given(st.data())
def test_relations_end_in_the_oracles_state_with_its_net_changes(data: st.DataObject) -> None:
    query = data.draw(strategies.queries(relation=True))
    sizes = data.draw(strategies.splits(len(query.stream.rows)))
    expected, ran = answer(query), Ran(query, sizes)
    assert_right(query, expected, ran, sizes)
    assert_same_bag(
        ran.changes,
        [(op, at, *(row[c] for c in query.columns)) for at, op, row in expected.changes],
        ["op", "at", *query.columns],
        show(query, sizes),
        frozenset({"at"}),
    )
