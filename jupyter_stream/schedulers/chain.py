"""Policy: Chain. Operators work in the order of the slopes of their chains' lower envelopes; near least queues (`envelope`).

Costs and selectivities are measured while the query runs. A row that enters a join or union goes one way, to the end: there is a
chain for each source, and an operator that several have in common is worth as much as the best of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf
from typing import ClassVar

from jupyter_stream.schedulers.envelope import Descent, chart, envelope
from jupyter_stream.schedulers.protocol import NextStep, Scheduler, WorkOperator, WorkOrder, left, since

_FRESH = 32
"""Steps after which envelopes are worked out anew."""


class Steepest:
    """The operator on the steepest segment works next."""

    def __init__(self) -> None:
        self._slopes: dict[WorkOperator, float] = {}
        self._age = 0

    def next(self, ready: Sequence[WorkOperator]) -> NextStep:
        """That operator; of equal ones, the one with what came first, and of these the last on its way."""
        self._age += 1
        if self._age >= _FRESH or any(o not in self._slopes or self._slopes[o] == inf for o in ready):
            self._slopes, self._age = slopes(ready), 0
        known = self._slopes
        return NextStep(min(ready, key=lambda o: (-known[o], since(o), left(o))))

    def notes(self, operators: Sequence[WorkOperator]) -> list[str]:
        """The envelope of each chain."""
        return [_in_words(chain) for chain in chains(operators)]


def chains(operators: Sequence[WorkOperator]) -> Iterator[list[WorkOperator]]:
    """From each operator that a source feeds to the last."""
    seen = dict.fromkeys(operators)
    for operator in list(seen):
        seen.update(dict.fromkeys(_before(operator)))
    for operator in seen:
        if any(queue.predecessor is None for queue in operator.queues):
            yield _onward(operator)


def _before(operator: WorkOperator) -> Iterator[WorkOperator]:
    for queue in operator.queues:
        if queue.predecessor is not None:
            yield queue.predecessor
            yield from _before(queue.predecessor)


def _onward(operator: WorkOperator) -> list[WorkOperator]:
    found, after = [operator], operator.successor
    while after is not None:
        found.append(after)
        after = after.successor
    return found


def segments(chain: Sequence[WorkOperator]) -> list[Descent]:
    """The lower envelope of a chain."""
    return envelope(chart([o.cost for o in chain], [o.selectivity for o in chain]))


def slopes(ready: Sequence[WorkOperator]) -> dict[WorkOperator, float]:
    """Of each operator the slope of its segment, the steepest where it is on several; infinite where nothing was measured."""
    found: dict[WorkOperator, float] = {}
    for chain in chains(ready):
        for segment in segments(chain):
            for operator in chain[segment.first : segment.last + 1]:
                slope = inf if operator.cost is None else segment.slope
                found[operator] = max(slope, found.get(operator, -inf))
    return found


def _in_words(chain: Sequence[WorkOperator]) -> str:
    points = chart([o.cost for o in chain], [o.selectivity for o in chain])
    parts = []
    for segment in segments(chain):
        names = " + ".join(o.name for o in chain[segment.first : segment.last + 1])
        (began, before), (until, after) = points[segment.first], points[segment.last + 1]
        micros = (until - began) * 1e6
        parts.append(f"{names}: {before:.2g} -> {after:.2g} rows in {micros:.3g} µs, {segment.slope:,.0f} rows/s")
    return "envelope: " + "; ".join(parts)


class Chain(Scheduler):
    """Chain."""

    name: ClassVar[str] = "chain"
    description: ClassVar[str] = (
        "near least queues: by the lower envelopes of rows left over time spent, measured while running (STREAM)"
    )

    def order(self) -> WorkOrder:
        """By what was measured."""
        return Steepest()
