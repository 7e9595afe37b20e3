"""Who gives up how much, and when: a query's techniques, driven by how full its queues and the session's memory are.

Nothing is given up below a mark, and then the more the fuller it is, up to what is tolerated: a feedback without a clock that
comes to rest where as much is taken as comes. Not for what a technique does.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from jupyter_stream.approximation.protocol import Technique
from jupyter_stream.core import logs
from jupyter_stream.core.precision import Moment

log = logs.of(__name__)


@dataclass(frozen=True, slots=True)
class Marks:
    """How full something is, from 0 to 1, when it matters.

    Attributes:
        begin: something is given up from there on,
        end: until it is less full than this;
        most: as much as may be is given up here.
    """

    begin: float
    end: float
    most: float

    def pressure(self, fill: float, eased: bool) -> float:
        """From 0, nothing has to be given up, to 1, as much as may be."""
        if fill < (self.end if eased else self.begin):
            return 0.0
        return min(1.0, (fill - self.end) / (self.most - self.end))


QUEUE: Final = Marks(begin=0.3, end=0.05, most=0.75)
"""Of a source's queue, by rows and by bytes. It is full at 1, and then the source waits."""
MEMORY: Final = Marks(begin=0.75, end=0.6, most=0.9)
"""Of the session's memory. At 1 a query is ended."""
_MOMENTS: Final = 100
"""Moments remembered."""


class Easing:
    """What one query gives up.

    Args:
        name: the query's.
        techniques: in the order they are used.
        clock: seconds since 1970.
    """

    def __init__(self, name: str, techniques: Sequence[Technique], clock: Callable[[], float] = time.time) -> None:
        self._name = name
        self.techniques = tuple(techniques)
        self._clock = clock
        self._queue = self._memory = 0.0
        self.moments: deque[Moment] = deque(maxlen=_MOMENTS)

    @property
    def eased(self) -> bool:
        """Whether something is given up now."""
        return any(technique.now < 1 for technique in self.techniques)

    def queue(self, fill: float) -> None:
        """A batch of its input comes; so full is the queue it comes from."""
        self._queue = fill
        self._adjust()

    def memory(self, fill: float) -> None:
        """So full is the memory of all queries. Called by another thread: it counts from the next batch on."""
        self._memory = fill

    def rest(self) -> None:
        """Nothing waits any more."""
        self._queue = 0.0
        self._adjust()

    def _adjust(self) -> None:
        before = self.eased
        pressure = max(QUEUE.pressure(self._queue, before), MEMORY.pressure(self._memory, before))
        for technique in self.techniques:
            # each step of pressure leaves the same part of what the step before did
            technique.leave(technique.least**pressure if pressure else 1.0)
        if self.eased != before:
            self._say("exact again" if before else f"{self._why} ran short: answers are approximate from now on")

    @property
    def _why(self) -> str:
        return "memory" if self._memory >= MEMORY.begin and self._memory > self._queue else "time"

    def _say(self, what: str) -> None:
        self.moments.append(Moment(self._clock(), what))
        log.info("query %s: %s", self._name, what)

    @property
    def now(self) -> str:
        """What is given up now, for people; empty for nothing."""
        return "; ".join(technique.said for technique in self.techniques if technique.now < 1)


__all__ = ["MEMORY", "QUEUE", "Easing", "Marks"]
