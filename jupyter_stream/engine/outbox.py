"""Answers on their way to a callback of the user's, which may be slower than the query: bounded in bytes, nothing is left out.

Where more waits than its share the query is held up, as by a pause, until the callback has caught up.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Protocol

import polars as pl

_FRAME = 2048
"""Bytes a frame has beside its rows."""


class Receiver(Protocol):
    """What answers are given to besides the handle: a callback's outbox, or the writer of a sink."""

    bytes: int
    """Bytes that wait in it."""

    @property
    def full(self) -> bool:
        """Whether more waits than should: the query is held up."""

    def put(self, answers: pl.DataFrame, /) -> None:
        """Answers given together."""

    def wait_for_room(self, while_: Callable[[], bool]) -> None:
        """Wait until there is room, for whoever answers in a thread that may wait; no longer than that condition holds."""

    def end(self, *, patient: bool) -> None:
        """No more answers come; `patient` where they have all been given, rather than stopped."""


class Outbox:
    """What waits for one callback. Written by whoever answers, taken from by the thread of callbacks.

    Args:
        callback: of one frame.
        most: bytes that may wait before the query is held up.
        ring: called when there is something to call back with.
        room: called when there is room again.
    """

    def __init__(
        self,
        callback: Callable[[pl.DataFrame], None],
        most: int,
        ring: Callable[[Outbox], None],
        room: Callable[[], None],
    ) -> None:
        self._callback = callback
        self._most = most
        self._ring = ring
        self._room = room
        self._waiting: deque[tuple[pl.DataFrame, int]] = deque()
        self._lock = threading.RLock()  # taken itself: entering a condition, an interrupt could leave it held
        self._changed = threading.Condition(self._lock)
        self.bytes = 0

    @property
    def full(self) -> bool:
        """Whether more waits than should."""
        return self.bytes >= self._most

    def put(self, frame: pl.DataFrame) -> None:
        """Answers to call back with."""
        size = int(frame.estimated_size()) + _FRAME
        with self._lock:
            self._waiting.append((frame, size))
            self.bytes += size
        self._ring(self)

    def end(self, *, patient: bool) -> None:
        """No more answers come: what waits is called back with all the same."""

    def call(self) -> None:
        """Call back with what waits longest. Called once for each frame, by the thread of callbacks."""
        with self._lock:
            frame, size = self._waiting.popleft()
        try:
            self._callback(frame)
        finally:
            del frame
            with self._lock:
                was_full = self.full
                self.bytes -= size
                self._changed.notify_all()
            if was_full and not self.full:
                self._room()

    def wait_for_room(self, while_: Callable[[], bool]) -> None:
        """Wait until there is room, for whoever answers in a thread that may wait; no longer than that condition holds."""
        with self._lock:
            while self.full and while_():
                self._changed.wait(0.1)

    def settle(self, timeout: float | None) -> bool:
        """Wait until the callback has had all that was put, so many seconds at most. Returns whether it has."""
        with self._lock:
            return self._changed.wait_for(lambda: self.bytes == 0, timeout)
