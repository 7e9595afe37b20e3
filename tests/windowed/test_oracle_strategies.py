"""WID, AdaptWID and rows kept, against the oracle: how a window is aggregated never changes an answer.

Paned-WID, the planner's choice, is what `test_oracle_windows` drives.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from unittest.mock import Mock, patch

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from jupyter_stream.partials import panes
from jupyter_stream.partials.memory_condition import MemoryCondition
from jupyter_stream.plan import strategy as strategy_module
from jupyter_stream.plan.strategy import StrategyChoice
from jupyter_stream.windowed.window_aggregate import WindowAggregate
from tests.oracle import strategies
from tests.oracle.aggregates import Aggregate
from tests.oracle.answer import answer
from tests.oracle.compare import assert_same_bag, in_columns
from tests.oracle.query import Query
from tests.oracle.running import Ran, assert_right, show
from tests.oracle.search import searching
from tests.oracle.strategies import Shape
from tests.tiers import slow

pytestmark = pytest.mark.timeout(900)  # many small queries; a busy machine is no failure

NUMBERS = (
    Aggregate("count"),
    Aggregate("count", "c1"),
    Aggregate("sum", "c0"),
    Aggregate("avg", "c1"),
    Aggregate("min", "c1"),
    Aggregate("max", "c0"),
)
"""Aggregates that are kept as numbers: the only ones for which the planner changes its mind."""
OTHERS = ("wid", "adapt-wid", "rows")


@contextmanager
def switching_at(rows: float) -> Iterator[None]:
    """Groups become eager above so many rows, and lazy again soon, so that small examples meet all states of a group.

    Invariants hold after each punctuation.
    """
    finish = WindowAggregate._report

    def checked(self: WindowAggregate) -> None:
        finish(self)
        self.check()

    with (
        patch.object(MemoryCondition, "above", lambda self, panes: rows),
        patch.object(MemoryCondition, "below", lambda self, panes: rows + 2),
        patch.object(WindowAggregate, "_report", checked),
    ):
        yield


def draw_query(data: st.DataObject, **options: bool) -> Query:
    """A query whose extents let go of rows."""
    query = data.draw(strategies.queries(**options))
    assume(getattr(query.window, "range", None) is not None)
    return query


@searching
@given(st.data(), st.sampled_from(OTHERS), st.sampled_from((0, 1, 2, 5)))
def test_every_strategy_gives_what_the_oracle_gives(data: st.DataObject, strategy: str, rows: int) -> None:
    query = draw_query(data)
    sizes = data.draw(strategies.splits(len(query.stream.rows)))
    with switching_at(rows):
        assert_right(query, answer(query), Ran(query, sizes, strategy=strategy), sizes)


@searching
@given(st.data(), st.sampled_from(OTHERS), st.sampled_from((0, 1, 2)))
def test_every_strategy_gives_the_oracles_provisional_answers(data: st.DataObject, strategy: str, rows: int) -> None:
    query = draw_query(data, emit=True)
    sizes = data.draw(strategies.splits(len(query.stream.rows)))
    expected = answer(query)
    with switching_at(rows):
        ran = Ran(query, sizes, strategy=strategy)
    assert_right(query, expected, ran, sizes)
    provisional = [row for _, rows_ in expected.snapshots for row in in_columns(rows_, query.columns)]
    assert_same_bag(ran.provisional, provisional, query.columns, show(query, sizes))


@slow
@searching
@given(st.data(), strategies.long_shapes, st.sampled_from((1, 3, 8)))
def test_the_planner_may_change_its_mind_at_any_extent(data: st.DataObject, shape: Shape, rows: int) -> None:
    """From Paned-WID to AdaptWID, whatever is open then."""
    query = data.draw(strategies.long_queries(shape))
    window = data.draw(strategies.time_extents(shape, landmark=False))
    keys = data.draw(st.sampled_from((("c0",), ("c0", "c2"))))
    query = replace(query, aggregates=NUMBERS, window=window, keys=keys)
    assume(query.stream.rows)
    sizes = data.draw(strategies.splits(len(query.stream.rows)))
    stay = [None] * data.draw(st.integers(0, 6))
    mock = Mock(side_effect=[*stay, StrategyChoice("adapt-wid", "now"), *([None] * 10_000)])
    with (
        switching_at(rows),
        patch.object(strategy_module, "SPARED", -1),
        patch.object(strategy_module, "reconsider", mock),
    ):
        assert_right(query, answer(query), Ran(query, sizes), sizes)


@slow
@searching
@given(st.data(), st.sampled_from((1, 3, 8)))
def test_a_batch_of_many_panes_and_groups_is_folded_in_pieces(data: st.DataObject, rows: int) -> None:
    """And the planner may change its mind between two of them, whatever the aggregates."""
    query = draw_query(data, emit=data.draw(st.booleans()))
    assume(query.keys)
    sizes = data.draw(strategies.splits(len(query.stream.rows)))
    with (
        switching_at(rows),
        patch.object(strategy_module, "SPARED", 0),
        patch.object(panes, "_FEW", 1),
        patch.object(panes, "_FEW_PANES", 1),
        patch.object(panes, "_SPARSE", data.draw(st.sampled_from((1, 1000)))),
    ):
        assert_right(query, answer(query), Ran(query, sizes), sizes)


@slow
@searching
@given(st.data(), st.sampled_from(OTHERS), strategies.long_shapes, st.sampled_from((1, 3, 8)))
def test_many_groups_in_all_states(data: st.DataObject, strategy: str, shape: Shape, rows: int) -> None:
    """Larger batches: groups become eager and lazy again while others are in transition."""
    query = data.draw(strategies.long_queries(shape))
    assume(query.stream.rows and getattr(query.window, "range", None) is not None)
    sizes = data.draw(strategies.splits(len(query.stream.rows)))
    with switching_at(rows):
        assert_right(query, answer(query), Ran(query, sizes, strategy=strategy), sizes)
