"""Operators on a virtual clock, for the engine's own schedulers to choose from: how many rows wait over time. For tutorial 10.

Time and rows are numbers without a unit. Nothing is measured, so the same policy gives the same numbers everywhere.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from math import inf

from jupyter_stream.schedulers import scheduler

_DUST = 1e-9


class Operator:
    """An operator, and the queue in front of it: what a scheduler sees of both.

    Args:
        name: what it goes by.
        cost: time for a row.
        selectivity: rows given for a row; those of the last operator are answers, and wait no more.
        predecessor: what feeds it; None where a source does.
        step: rows it takes at a time.
    """

    low_watermark = 0

    def __init__(
        self, name: str, cost: float, selectivity: float, predecessor: Operator | None = None, step: float = 1.0
    ) -> None:
        self.name, self.cost, self.selectivity, self.step = name, cost, selectivity, step
        self.predecessor = predecessor
        self.successor: Operator | None = None
        if predecessor is not None:
            predecessor.successor = self
        self._waiting: deque[tuple[float, float]] = deque()  # rows, and when they came

    @property
    def queues(self) -> Sequence[Operator]:
        """The queue in front of it."""
        return [self]

    @property
    def rows(self) -> float:
        """Rows that wait."""
        return sum(rows for rows, _ in self._waiting)

    @property
    def since(self) -> float:
        """When what waits longest came."""
        return self._waiting[0][1] if self._waiting else inf

    @property
    def empty(self) -> bool:
        """Whether nothing waits."""
        return not self._waiting

    def put(self, rows: float, since: float) -> None:
        """Rows come."""
        if rows > _DUST:
            self._waiting.append((rows, since))

    def takes(self) -> float:
        """The time of its next step."""
        return self.cost * min(self.step, self._waiting[0][0])

    def work(self) -> None:
        """A step: rows that came together are taken, and what is made of them goes on."""
        rows, since = self._waiting.popleft()
        if rows > self.step + _DUST:
            self._waiting.appendleft((rows - self.step, since))
            rows = self.step
        if self.successor is not None:
            self.successor.put(rows * self.selectivity, since)


def path(*operators: tuple[str, float, float], steps: Iterable[float] = ()) -> list[Operator]:
    """Operators one after the other, each of (name, cost, selectivity); the first is fed by a source."""
    made: list[Operator] = []
    sizes = list(steps) or [1.0] * len(operators)
    for (name, cost, selectivity), step in zip(operators, sizes, strict=True):
        made.append(Operator(name, cost, selectivity, made[-1] if made else None, step))
    return made


def waiting_at(
    policy: str, paths: Sequence[Sequence[Operator]], arrivals: Iterable[float], times: Iterable[float]
) -> list[float]:
    """The rows in all queues at these times, under a policy of the engine.

    Args:
        policy: its name.
        paths: operators by path.
        arrivals: when a row comes, on every path.
        times: when to look: at what has come by then, before it is worked on.
    """
    order, operators = scheduler(policy).order(), [operator for each in paths for operator in each]
    events = deque(sorted([*((at, False) for at in arrivals), *((at, True) for at in times)]))
    found: list[float] = []

    def happen(until: float) -> None:
        while events and events[0][0] < until:
            at, looks = events.popleft()
            if looks:
                found.append(sum(operator.rows for operator in operators))
            for each in () if looks else paths:
                each[0].put(1.0, at)

    now = 0.0
    while True:
        happen(now + _DUST)
        if not events:
            return found
        ready = [operator for operator in operators if not operator.empty]
        if not ready:
            now = events[0][0]
            continue
        chosen = order.next(ready).operator
        assert isinstance(chosen, Operator)
        end = now + chosen.takes()
        happen(end - _DUST)  # what it works on waits until it is done
        chosen.work()
        now = end


__all__ = ["Operator", "path", "waiting_at"]
