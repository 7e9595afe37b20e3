"""What a connection has received and no read has taken yet: bounded in bytes, one thread puts, another takes."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

from jupyter_stream.core import threads
from jupyter_stream.errors import SourceError
from jupyter_stream.sources.protocol import BATCH_ROWS, Trouble

Item: TypeAlias = tuple[Any, ...]
"""A message: its bytes, then what the broker says of it, in the order of the source's columns for that."""

ROOM: Final = 64 << 20
"""Bytes that may wait for a read."""
_EACH: Final = 100
"""Bytes that an object of Python takes besides what it holds."""
_LOOK: Final = 0.1
"""Seconds between looks at `stop` while waiting."""


class Inbox:
    """Messages in the order they came.

    Args:
        trouble: where to say that the server is away.
        room: bytes that may wait.
        looking: the messages are only looked at for their columns.

    Attributes:
        closed: nobody wants more.
        looking: the messages are only looked at for their columns.
        position: what a connection leaves for the one after it.
        first: where the first connection began, in terms of the server; None until it has begun, or where there are no positions.
        connected: how often a connection was made.
        well: called when a connection is made.
    """

    def __init__(self, trouble: Trouble, room: int = ROOM, *, looking: bool = False) -> None:
        self.closed = threads.Event()
        self.looking = looking
        self.position: Any = None
        self.first: Any = None
        self.connected = 0
        self.well: Callable[[], None] = lambda: None
        self._trouble = trouble
        self._room = room
        self._lots: deque[tuple[list[Item], int]] = deque()
        self._bytes = 0
        self._dropped = 0
        self._began = False
        self._faults: list[tuple[str, str]] = []
        self._error: BaseException | None = None
        self._ended = False
        self._lock = threading.RLock()  # taken itself: entering a condition, an interrupt could leave it held
        self._changed = threading.Condition(self._lock)
        self._at_close: list[Callable[[], object]] = []

    # -- the thread that receives -------------------------------------------------------------------------------------

    def is_connected(self) -> None:
        """The server answers, and messages may come."""
        self.connected += 1
        self._trouble.over()
        self.well()

    def begins(self, position: object) -> None:
        """The first connection begins there; who reads is to know before anything comes."""
        with self._lock:
            self.position = self.first = position
            self._began = True
            self._changed.notify_all()

    def put(self, items: Sequence[Item]) -> None:
        """Add messages once there is room: until then the server is held back, or keeps them."""
        if not items:
            return
        with self._lock:
            while self._bytes >= self._room and not self.closed.is_set():
                self._changed.wait(_LOOK)
            self._add(items)

    def offer(self, items: Sequence[Item]) -> None:
        """Add messages if there is room. Those for which there is none are dropped and counted: the server keeps nothing."""
        with self._lock:
            if self._bytes >= self._room:
                self._dropped += len(items)
            else:
                self._add(items)

    def refuse(self, raw: str, reason: str) -> None:
        """Something came that is no message: for `errors(name)`."""
        with self._lock:
            self._faults.append((raw, reason))
            self._changed.notify_all()

    def away(self, text: str) -> None:
        """The server is out of reach, and is tried again."""
        self._trouble.text = text

    def fail(self, error: BaseException | None) -> None:
        """Nothing more will come: an error, raised where it is read after what has come before."""
        with self._lock:
            self._error = self._error or error or RuntimeError("its thread ended")
            self._ended = True
            self._changed.notify_all()

    def forked(self, error: SourceError) -> None:
        """This is a forked process: the thread that receives isn't here, and may have held the lock."""
        self._lock = threading.RLock()  # taken itself: entering a condition, an interrupt could leave it held
        self._changed = threading.Condition(self._lock)
        self._lots.clear()
        self.fail(error)

    def at_close(self, end: Callable[[], object]) -> None:
        """Have something called when nobody wants more, such as what wakes a thread that waits for a socket."""
        with self._lock:
            self._at_close = [end]
            closed = self.closed.is_set()
        if closed:
            end()

    def _add(self, items: Sequence[Item]) -> None:
        size = sum(len(item[0] or b"") for item in items) + _EACH * len(items)
        self._lots.append((list(items), size))
        self._bytes += size
        self._changed.notify_all()

    # -- the thread that reads ----------------------------------------------------------------------------------------

    def close(self) -> None:
        """Nobody wants more."""
        with self._lock:
            self.closed.set()
            self._changed.notify_all()
            at_close = self._at_close
        for end in at_close:
            end()

    def take(
        self, stop: threading.Event, seconds: float | None = None
    ) -> tuple[list[Item], list[tuple[str, str]]] | None:
        """Messages that have come, `BATCH_ROWS` of them or a lot more, and what came that was none, with the reasons.

        There may be none of either, once it is known where the first connection begins.

        Args:
            stop: gives None when it is set.
            seconds: how long to wait before nothing is given; None for as long as it takes.

        Raises:
            SourceError: once all before it is taken, what ended the connection for good.
        """
        with self._lock:
            waited = 0.0
            while not (self._lots or self._faults or self._dropped or self._began):
                if self._ended:
                    break
                if stop.is_set():
                    return None
                if seconds is not None and waited >= seconds:
                    return [], []
                self._changed.wait(_LOOK)
                waited += _LOOK
            items: list[Item] = []
            while self._lots and len(items) < BATCH_ROWS:
                lot, size = self._lots.popleft()
                items.extend(lot)
                self._bytes -= size
            faults, self._faults = self._faults, []
            if self._dropped:
                told = f"{self._dropped:,} messages were dropped: they came faster than they are read, and the server keeps none"
                faults.append(("", told))
                self._dropped = 0
            began, self._began = self._began, False
            self._changed.notify_all()
        if items or faults or began:
            return items, faults
        if isinstance(self._error, SourceError):
            raise self._error
        raise SourceError(
            f"What receives the messages raised {type(self._error).__name__}: {self._error}"
        ) from self._error


__all__ = ["ROOM", "Inbox", "Item"]
