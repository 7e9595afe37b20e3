"""Policy: operators work in turn, each on as many rows as any other (`stream-manager` paper §4.2). None starves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from jupyter_stream.schedulers.protocol import NextStep, Scheduler, WorkOperator, WorkOrder

AMOUNT = 8_192
"""Rows of a turn."""


class _InTurn:
    def __init__(self) -> None:
        self._worked: dict[WorkOperator, int] = {}
        self._turn = 0

    def next(self, ready: Sequence[WorkOperator]) -> NextStep:
        """The one that worked longest ago."""
        self._turn += 1
        chosen = min(ready, key=lambda o: self._worked.get(o, -1))
        self._worked[chosen] = self._turn
        return NextStep(chosen, AMOUNT)

    def notes(self, operators: Sequence[WorkOperator]) -> list[str]:
        """Nothing."""
        return []


class RoundRobin(Scheduler):
    """Operators in turn, by amount."""

    name: ClassVar[str] = "round robin"
    description: ClassVar[str] = f"operators work in turn, each on up to {AMOUNT:,} rows (STREAM)"

    def order(self) -> WorkOrder:
        """In turn."""
        return _InTurn()
