"""Threads beside the engine's, for the steps of queries that take long: several queries at once, each step by step.

The one that has had least time by its weight is served next (start-time fair queueing). A step that doesn't end keeps its thread,
and another takes its place for the others.
"""

from __future__ import annotations

import heapq
import os
import threading
import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from jupyter_stream.core import threads
from jupyter_stream.engine.turn import Turn

_IDLE: Final = 5.0
"""Seconds a thread waits for more before it ends."""
_STUCK: Final = 0.4
"""Seconds after which a step's thread isn't counted on."""
_CORES: Final = max(2, os.cpu_count() or 2)
"""Steps that may be under way at once, but for those that are stuck."""
_CLAIM: Final = 0.5
"""Seconds, by weight, that are made up to who had less time than others: not more, however long it had nothing to do."""


@dataclass(order=True, slots=True)
class _Job:
    """A step to do: what has had least comes first."""

    had: float
    number: int
    turn: Turn = field(compare=False)
    owner: Any = field(compare=False)
    work: Callable[[], None] = field(compare=False)
    weight: float = field(compare=False)


class Lanes:
    """Does steps in threads of its own.

    Args:
        do: does one step, and never raises.
    """

    def __init__(self, do: Callable[[Turn, Any, Callable[[], None]], None]) -> None:
        self._do = do
        self._lock = threading.Lock()
        self._more = threading.Condition(self._lock)
        self._ready: list[_Job] = []
        self._under_way: dict[int, float] = {}
        self._waiting = 0
        self._count = 0
        self._had: weakref.WeakKeyDictionary[Any, float] = weakref.WeakKeyDictionary()
        self._served = 0.0  # what the owner of the last step to begin had had
        self._closed = False

    def put(self, turn: Turn, owner: Any, work: Callable[[], None], weight: float) -> None:
        """Have a step done, soon. No other of the same owner may be waiting or under way.

        Args:
            turn: its thread's time.
            owner: whose step it is.
            work: the step.
            weight: the share of the time the owner has, beside others.
        """
        with self._lock:
            had = max(self._had.get(owner, 0.0), self._served - _CLAIM)
            self._count += 1
            heapq.heappush(self._ready, _Job(had, self._count, turn, owner, work, weight))
            self._more.notify()
        self.look()

    def look(self) -> None:
        """See to it that there are threads for what is to be done."""
        now = time.monotonic()
        with self._lock:
            working = sum(now - since < _STUCK for since in self._under_way.values())
            wanted = min(len(self._ready), _CORES - working) - self._waiting
            self._waiting += max(0, wanted)
        for _ in range(wanted):
            threads.begin("jupyter-stream steps", self._work, lambda error: None)

    def close(self) -> None:
        """Do nothing more."""
        with self._lock:
            self._closed = True
            self._ready.clear()
            self._more.notify_all()

    def _work(self) -> None:
        with np.errstate(invalid="ignore", over="ignore"):
            while (job := self._next()) is not None:
                began = time.monotonic()
                try:
                    self._do(job.turn, job.owner, job.work)
                finally:
                    self._over(job, time.monotonic() - began)
                del job  # while it waits it holds on to no query

    def _next(self) -> _Job | None:
        """What to do next, None if there is nothing for a while. Whoever asks counts as waiting."""
        with self._lock:
            until = time.monotonic() + _IDLE
            while not self._ready and not self._closed:
                left = until - time.monotonic()
                if left <= 0 or not self._more.wait(left):
                    break
            self._waiting -= 1
            if not self._ready:
                return None
            job = heapq.heappop(self._ready)
            self._served = job.had
            self._under_way[job.number] = time.monotonic()
            return job

    def _over(self, job: _Job, seconds: float) -> None:
        with self._lock:
            del self._under_way[job.number]
            self._had[job.owner] = job.had + seconds / job.weight
            self._waiting += 1
