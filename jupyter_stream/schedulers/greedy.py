"""Policy: the operator that frees most rows per time works next (`stream-manager` paper §4.2).

It may leave an operator idle that would free many, behind one that frees few: `chain` looks further.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import ClassVar

from jupyter_stream.schedulers.protocol import NextStep, Scheduler, WorkOperator, WorkOrder, since


def freed(operator: WorkOperator) -> float:
    """Rows that leave the queues for good per second of an operator's time; infinite where that has not been measured."""
    if operator.cost is None:
        return inf
    made = 0.0 if operator.successor is None else operator.selectivity
    return (1.0 - made) / max(operator.cost, 1e-12)


class _MostFreed:
    def next(self, ready: Sequence[WorkOperator]) -> NextStep:
        """That operator; of equal ones, the one with what came first."""
        return NextStep(min(ready, key=lambda o: (-freed(o), since(o))))

    def notes(self, operators: Sequence[WorkOperator]) -> list[str]:
        """What each frees."""
        found = sorted(((freed(o), o.name) for o in operators), reverse=True)
        return [f"{name} frees {rate:,.0f} rows/s" for rate, name in found if rate != inf]


class Greedy(Scheduler):
    """Most rows freed per time."""

    name: ClassVar[str] = "greedy"
    description: ClassVar[str] = (
        "the operator that frees most rows per time works next, by measured costs and selectivities"
    )

    def order(self) -> WorkOrder:
        """By what was measured."""
        return _MostFreed()
