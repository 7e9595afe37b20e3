"""What a scheduler is: which input is served next, and which operator of a query works next. Answers never depend on it.

The words are those of the papers. Operators are joined by queues; an operator's *successor* takes what it makes, its
*predecessors* feed its inputs. A step is `run(amount)`: an operator takes up to so many rows from its queues and gives control
back (`stream-manager` paper §3.1). What leaves the last operator is no longer queued.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol, TypeVar

STEP_ROWS = 16_384
"""Rows an operator takes in a step, at most, unless a policy has reasons of its own."""


class SchedulerInput(Protocol):
    """What a scheduler sees of an input."""

    @property
    def low_watermark(self) -> int:
        """Its punctuation, microseconds."""


class WorkQueue(Protocol):
    """What a scheduler sees of a queue in front of an operator."""

    @property
    def rows(self) -> float:
        """Rows that wait."""

    @property
    def since(self) -> float:
        """When what waits longest came to this query, seconds of some clock; infinity where nothing waits."""

    @property
    def low_watermark(self) -> int:
        """The last punctuation taken from it, microseconds.

        It is the time-stamp memory (TSM) register of this input (`stream-mill-timestamps`, figure 4).
        """

    @property
    def empty(self) -> bool:
        """Whether nothing waits in it, no punctuation either."""

    @property
    def predecessor(self) -> WorkOperator | None:
        """What fills it; None for a source, or a part shared with other queries."""


class WorkOperator(Protocol):
    """What a scheduler sees of an operator."""

    @property
    def name(self) -> str:
        """What it is, in a few words."""

    @property
    def queues(self) -> Sequence[WorkQueue]:
        """Those in front of it, by input."""

    @property
    def successor(self) -> WorkOperator | None:
        """What takes its rows; None for the last."""

    @property
    def cost(self) -> float | None:
        """Seconds it takes for a row, as measured; None before that."""

    @property
    def selectivity(self) -> float:
        """Rows it gives for a row, as measured; 1 before that."""


Choice = TypeVar("Choice", bound=SchedulerInput)


@dataclass(frozen=True, slots=True)
class NextStep:
    """A step.

    Attributes:
        operator: who works.
        rows: how many rows it takes, at most; a batch with more is cut.
        port: from which input; None for the one whose first message has come first.
    """

    operator: WorkOperator
    rows: float = STEP_ROWS
    port: int | None = None


class WorkOrder(Protocol):
    """Which operator of one query works next; may remember what it chose."""

    def next(self, ready: Sequence[WorkOperator]) -> NextStep:
        """The next step.

        Args:
            ready: operators with something in their queues, at least one, always in the same order.
        """

    def notes(self, operators: Sequence[WorkOperator]) -> list[str]:
        """What EXPLAIN says of it, line by line, given all operators that have queues."""


class Scheduler:
    """A policy.

    Attributes:
        name: what it goes by.
        description: what it does, a sentence.
        straight: whether a message goes through all operators before the next is taken, so that no queues are needed.
    """

    name: ClassVar[str]
    description: ClassVar[str]
    straight: ClassVar[bool] = False

    def __init__(self) -> None:
        self._served: dict[int, int] = {}
        self._turn = 0

    @classmethod
    def named(cls, name: str) -> Scheduler | None:
        """The policy somebody asks for by name; None where it is another's name."""
        return cls() if name == cls.name else None

    @property
    def title(self) -> str:
        """Its name, with what was asked for besides."""
        return self.name

    def choose(self, ready: Sequence[Choice]) -> Choice:
        """One of the inputs, of which there is at least one, in the order they were added: the one served longest ago."""
        self._turn += 1
        chosen = min(ready, key=lambda i: self._served.get(id(i), -1))
        self._served[id(chosen)] = self._turn
        if len(self._served) > 2 * len(ready) + 64:
            present = {id(i) for i in ready}
            self._served = {k: v for k, v in self._served.items() if k in present}
        return chosen

    def order(self) -> WorkOrder:
        """A fresh memory of which operator works next, for one query."""
        raise NotImplementedError


def since(operator: WorkOperator) -> float:
    """When what waits longest in front of an operator came to its query."""
    return min(queue.since for queue in operator.queues)


def left(operator: WorkOperator) -> int:
    """How many operators there are behind one."""
    count, after = 0, operator.successor
    while after is not None:
        count, after = count + 1, after.successor
    return count


def waiting(operator: WorkOperator) -> bool:
    """Whether something waits in front of an operator: the relaxed *more* condition.

    Our operators take what comes on any input and hold what must wait for another, by their inputs' low-watermarks; so one
    message on one input is enough, and equal times never wait for each other.
    """
    return any(not queue.empty for queue in operator.queues)


__all__ = [
    "STEP_ROWS",
    "Choice",
    "NextStep",
    "Scheduler",
    "SchedulerInput",
    "WorkOperator",
    "WorkOrder",
    "WorkQueue",
    "left",
    "since",
    "waiting",
]
