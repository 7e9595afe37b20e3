"""What comes for a query that can't take it now, since it is paused, held up by a callback, or a step of it is aside.

Bounded in bytes. Where its source would have to wait for it alone, that is for the source's feed to see to; where the source is
live and others read it as well, rows past the share are left out of the query's answers, counted, and told; or they are written
to disk, where whoever paused the query asked for that.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from jupyter_stream.engine.spill import Spill

_ENTRY: Final = 512
"""Bytes that a piece of work has beside its rows."""


@dataclass(slots=True)
class _Entry:
    work: Callable[[], None]
    bytes: int


@dataclass(slots=True)
class _Spilled:
    """Pieces of work on disk, one behind the other."""

    count: int


class Backlog:
    """Work held back, in order. What comes is added by the engine's thread, also while a step of the query takes some of it.

    Args:
        most: bytes held back before there is no more room.

    Attributes:
        bytes: bytes held back, about.
        missed: rows left out since there was no room for them.
        spill: what past its share goes to, None for nowhere.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.bytes = 0
        self.missed = 0
        self.spill: Spill | None = None
        self._lock = threading.RLock()
        self._work: deque[_Entry | _Spilled] = deque()
        self._works: list[Callable[..., None]] = []
        self._places: dict[Hashable, int] = {}
        self._newest: dict[Hashable, _Entry] = {}  # of each source, the last punctuation for which there was no room

    def __bool__(self) -> bool:
        return bool(self._work)

    @property
    def full(self) -> bool:
        """Whether there is no more room."""
        return self.crowded and (self.spill is None or self.spill.full)

    @property
    def crowded(self) -> bool:
        """Whether there is no more room in memory."""
        return self.bytes >= self.most

    def add(self, work: Callable[[], None], bytes: int) -> None:
        """Hold some work back."""
        with self._lock:
            entry = _Entry(work, bytes + _ENTRY)
            self._work.append(entry)
            self.bytes += entry.bytes

    def write(self, of: Hashable, work: Callable[..., None], *given: Any) -> bool:
        """Hold some work back on disk.

        Args:
            of: whose work it is: that of one is always the same, but for what it is given.
            work: what is to be done.
            given: what it takes, which can be pickled.

        Returns:
            Whether it is there: not without a file for it, or where that is full.
        """
        with self._lock:
            if self.spill is None:
                return False
            place = self._places.setdefault(of, len(self._works))
            if place == len(self._works):
                self._works.append(work)
            if not self.spill.put((place, given)):
                return False
            last = self._work[-1] if self._work else None
            if isinstance(last, _Spilled):
                last.count += 1
            else:
                self._work.append(_Spilled(1))
            return True

    def miss(self, rows: int) -> None:
        """Leave rows out."""
        self.missed += rows

    def replace(self, of: Hashable, work: Callable[[], None]) -> None:
        """Hold the last word of a source back, where there is no room for all it says: it stands for those before it."""
        with self._lock:
            if of in self._newest:
                self._newest[of].work = work
                return
            self.add(work, 0)
            last = self._work[-1]
            assert isinstance(last, _Entry)
            self._newest[of] = last

    def take(self) -> Callable[[], None]:
        """The work that was held back longest."""
        with self._lock:
            entry = self._work[0]
            if isinstance(entry, _Spilled):
                assert self.spill is not None
                entry.count -= 1
                if not entry.count:
                    self._work.popleft()
                which, given = self.spill.take()
                return partial(self._works[which], *given)
            self._work.popleft()
            self.bytes -= entry.bytes
            if not self.full:
                self._newest.clear()
            return entry.work

    def clear(self) -> None:
        """There is nothing to do any more."""
        with self._lock:
            self._work.clear()
            self._newest.clear()
            if self.spill is not None:
                self.spill.clear()
            self.bytes = 0
