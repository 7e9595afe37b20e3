"""EMIT EVERY over aggregates of aggregates against the oracle: the same snapshots and the same history in any batch split."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracle import extents, strategies
from tests.oracle.aggregates import Aggregate
from tests.oracle.answer import answer
from tests.oracle.compare import assert_same_bag, in_columns
from tests.oracle.progress import Arrived
from tests.oracle.query import Query, duration
from tests.oracle.running import Ran, show
from tests.oracle.search import searching
from tests.oracle.values import Row
from tests.oracle.windows import TimeExtents

pytestmark = pytest.mark.timeout(900)  # many small queries; a busy machine is no failure


@dataclass(frozen=True)
class Nested:
    """An aggregate of a query's answers.

    Attributes:
        inner: the query below.
        window: of the outer aggregate.
        every: the interval of EMIT EVERY.
    """

    inner: Query
    window: TimeExtents
    every: int

    @property
    def outer(self) -> Query:
        return Query(self.inner.stream, self.window, (Aggregate("count"), Aggregate("max", "a0")))

    @property
    def stream(self) -> object:
        return self.inner.stream

    @property
    def emit_every(self) -> int:
        return self.every

    @property
    def columns(self) -> tuple[str, ...]:
        return self.outer.columns

    def sql(self) -> str:
        """The SELECT."""
        window = Query._bracket(self.window)
        text = f"SELECT count(*) AS a0, max(a0) AS a1 FROM ({self.inner.sql()}) [{window}]"
        return f"{text} EMIT EVERY {duration(self.every)}"

    def rows(self) -> list[Arrived]:
        """The answers below, as rows."""
        return [
            Arrived({"a0": r["a0"]}, r["window_end"] - 1, 0, None)  # type: ignore[operator]
            for r in answer(self.inner).rows
        ]

    def final(self) -> list[Row]:
        """The final answers."""
        return extents.results(self.outer, self.window, self.rows(), self.rows())

    def snapshots(self) -> list[tuple[int, list[Row]]]:
        """At each instant that reaches or passes a multiple, what is open: the whole instant counts."""
        rows, found = self.rows(), []
        instants = sorted({r.ts for r in rows})
        for earlier, at in itertools.pairwise(instants):
            if at // self.every > earlier // self.every:
                so_far = [r for r in rows if r.ts <= at]
                found.append((at, extents.results(self.outer, self.window, so_far, so_far, at, final=False)))
        return found


@st.composite
def nested(draw: st.DrawFn) -> Nested:
    """An ungrouped aggregate of counts by key."""
    inner = draw(strategies.queries())
    inner = replace(inner, aggregates=(Aggregate("count"),), having=None)
    assert isinstance(inner.window, TimeExtents)
    unit = inner.window.slide
    window = TimeExtents(draw(st.integers(1, 6)) * unit, draw(st.integers(1, 4)) * unit)
    return Nested(inner, window, draw(st.integers(1, 5)) * unit)


@searching
@given(st.data())
def test_emit_every_over_answers_gives_the_oracles_snapshots_in_any_split(data: st.DataObject) -> None:
    query = data.draw(nested())
    expected = query.snapshots()
    for sizes in (None, data.draw(strategies.splits(len(query.inner.stream.rows)))):
        ran = Ran(query, sizes)
        final = [(*r, True) for r in in_columns(query.final(), query.columns)]
        assert_same_bag(ran.rows, final, ran.columns, show(query, sizes))
        at = 0
        for instant, rows in expected:
            came, at = ran.provisional[at : at + len(rows)], at + len(rows)
            about = f"the snapshot at {instant}\n{show(query, sizes)}"
            assert_same_bag(came, in_columns(rows, query.columns), query.columns, about)
        assert_same_bag(ran.provisional[at:], [], query.columns, show(query, sizes))
