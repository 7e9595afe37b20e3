"""Policy: Chain under a latency bound. What has waited longer than that is brought to its end first, the rest goes by Chain."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import ClassVar

from jupyter_stream.core.time import parse_duration
from jupyter_stream.schedulers.chain import Steepest
from jupyter_stream.schedulers.fifo import OldestFirst
from jupyter_stream.schedulers.protocol import NextStep, Scheduler, WorkOperator, WorkOrder, since


class _Within:
    def __init__(self, bound: float, clock: Callable[[], float]) -> None:
        self._bound = bound
        self._clock = clock
        self._chain, self._oldest = Steepest(), OldestFirst()

    def next(self, ready: Sequence[WorkOperator]) -> NextStep:
        """By Chain, unless something has waited for too long."""
        overdue = self._clock() - min(since(o) for o in ready) > self._bound
        return self._oldest.next(ready) if overdue else self._chain.next(ready)

    def notes(self, operators: Sequence[WorkOperator]) -> list[str]:
        """The envelopes."""
        return self._chain.notes(operators)


class ChainWithin(Scheduler):
    """Chain, with a bound on how long anything waits.

    Args:
        bound: how long, such as `100 ms`.
        clock: seconds, of what `since` of queues is of.
    """

    name: ClassVar[str] = "chain 100 ms"
    description: ClassVar[str] = "chain, but what has waited longer than that goes first; any duration may be written"

    def __init__(self, bound: str = "100 ms", clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        micros = parse_duration(bound)
        if not micros:
            raise ValueError(f"{bound!r} is not a duration")
        self._bound, self._seconds = bound, micros / 1e6
        self._clock = clock

    @classmethod
    def named(cls, name: str) -> Scheduler | None:
        """`chain` with a duration."""
        first, _, duration = name.partition(" ")
        return cls(duration) if first == "chain" and duration and parse_duration(duration) else None

    @property
    def title(self) -> str:
        """With its bound."""
        return f"chain {self._bound}"

    def order(self) -> WorkOrder:
        """Chain's, as long as there is time."""
        return _Within(self._seconds, self._clock)
