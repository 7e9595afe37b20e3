"""Operators of given cost and selectivity, for the engine's own policies to choose from: a simulator on a virtual clock.

Time and rows are numbers without unit. An operator takes `cost` for a row and gives `selectivity` rows for it; a unit of rows is
worked on as a whole.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf

from jupyter_stream.core.time import MIN_TIME
from jupyter_stream.schedulers import WorkOrder

_DUST = 1e-9


class VirtualQueue:
    """Rows that wait, as (rows, since) in the order they came."""

    def __init__(self, predecessor: Virtual | None) -> None:
        self.predecessor = predecessor
        self.low_watermark = MIN_TIME
        self.parts: deque[tuple[float, float]] = deque()

    @property
    def rows(self) -> float:
        """How many."""
        return sum(rows for rows, _ in self.parts)

    @property
    def empty(self) -> bool:
        """Whether there are none."""
        return not self.parts

    @property
    def since(self) -> float:
        """When the oldest came."""
        return self.parts[0][1] if self.parts else inf


class Virtual:
    """An operator.

    Args:
        name: what it goes by.
        cost: time for a row.
        selectivity: rows given for a row.
        below: what feeds its inputs; nothing where a source does.
    """

    def __init__(self, name: str, cost: float | None, selectivity: float, below: Sequence[Virtual] = ()) -> None:
        self.name = name
        self.cost = cost
        self.selectivity = selectivity
        self.successor: Virtual | None = None
        self.queues = [VirtualQueue(one) for one in below] or [VirtualQueue(None)]
        for one in below:
            one.successor = self

    @property
    def empty(self) -> bool:
        """Whether nothing waits."""
        return all(queue.empty for queue in self.queues)

    @property
    def rows(self) -> float:
        """How many rows wait."""
        return sum(queue.rows for queue in self.queues)

    def put(self, rows: float, since: float, port: int = 0) -> None:
        """Rows come."""
        if rows > _DUST:
            self.queues[port].parts.append((rows, since))

    def takes(self, most: float) -> float:
        """The time for up to so many rows of the oldest that came together."""
        assert self.cost is not None
        return min(most, self._oldest.parts[0][0]) * self.cost

    def run(self, most: float) -> None:
        """Take up to so many rows of the oldest that came together, and give what comes of them."""
        queue = self._oldest
        rows, since = queue.parts.popleft()
        if rows > most + _DUST:
            queue.parts.appendleft((rows - most, since))
            rows = most
        if self.successor is not None:
            port = next(i for i, q in enumerate(self.successor.queues) if q.predecessor is self)
            self.successor.put(rows * self.selectivity, since, port)

    @property
    def _oldest(self) -> VirtualQueue:
        return min(self.queues, key=lambda q: q.since)


def line(*operators: tuple[str, float, float]) -> list[Virtual]:
    """A path of operators, each of (name, cost, selectivity)."""
    made: list[Virtual] = []
    for name, cost, selectivity in operators:
        made.append(Virtual(name, cost, selectivity, made[-1:]))
    return made


def step(order: WorkOrder, ready: Sequence[Virtual], most: float = inf) -> Virtual:
    """One step by a policy; returns who worked."""
    chosen = order.next(ready)
    assert isinstance(chosen.operator, Virtual)
    chosen.operator.run(min(chosen.rows, most))
    return chosen.operator


@dataclass
class Run:
    """What became of some arrivals.

    Attributes:
        sizes: at each time that was asked for, the rows in all queues.
        peak: the most there ever were, looked at when something arrives or is done.
        end: when all was done.
    """

    sizes: list[float]
    peak: float
    end: float


def simulate(
    order: WorkOrder,
    operators: Sequence[Virtual],
    arrivals: Sequence[tuple[float, Virtual, float]],
    most: float | Callable[[Virtual], float] = 1.0,
    asked: Sequence[float] = (),
) -> Run:
    """Let operators work by a policy.

    Args:
        order: the policy.
        operators: those there are.
        arrivals: (time, where, rows), by time.
        most: rows of a step, at most; of each operator, if they differ.
        asked: times at which the rows in queues are wanted, before what arrives then is worked on.
    """
    now, peak, pending, wanted = 0.0, 0.0, deque(arrivals), deque(asked)
    sizes: list[float] = []
    while True:
        while wanted and wanted[0] <= now + _DUST and not (pending and pending[0][0] <= wanted[0] + _DUST):
            wanted.popleft()
            sizes.append(sum(o.rows for o in operators))
        if pending and pending[0][0] <= now + _DUST:
            at, where, rows = pending.popleft()
            where.put(rows, at)
            peak = max(peak, sum(o.rows for o in operators))
            continue
        ready = [o for o in operators if not o.empty]
        if not ready:
            if not pending and not wanted:
                return Run(sizes, peak, now)
            now = min([at for at, _, _ in list(pending)[:1]] + list(wanted)[:1])
            continue
        chosen = order.next(ready).operator
        assert isinstance(chosen, Virtual)
        rows = most(chosen) if callable(most) else most
        end = now + chosen.takes(rows)
        while pending and pending[0][0] < end - _DUST:  # what comes while it works waits beside what it works on
            at, where, came = pending.popleft()
            where.put(came, at)
            peak = max(peak, sum(o.rows for o in operators))
        chosen.run(rows)
        now = end
        peak = max(peak, sum(o.rows for o in operators))
