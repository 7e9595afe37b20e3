"""Policy: what comes first is brought to its end first, each batch through all operators. The default: it needs no queues."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from jupyter_stream.schedulers.protocol import NextStep, Scheduler, WorkOperator, WorkOrder, left, since


class OldestFirst:
    """The operator that has what came first; of several that have parts of it, the last on its way."""

    def next(self, ready: Sequence[WorkOperator]) -> NextStep:
        """That operator."""
        return NextStep(min(ready, key=lambda o: (since(o), left(o))))

    def notes(self, operators: Sequence[WorkOperator]) -> list[str]:
        """Nothing."""
        return []


class FirstCome(Scheduler):
    """Each batch to completion; inputs in turn."""

    name: ClassVar[str] = "fifo"
    description: ClassVar[str] = "each batch goes through all operators before the next is taken; the default"
    straight: ClassVar[bool] = True

    def order(self) -> WorkOrder:
        """First come, first served."""
        return OldestFirst()


__all__ = ["FirstCome", "OldestFirst"]
