"""Rows of one stream kept once for windows of different length: the longest window's, which shorter ones read as well.

A store with a stub for each window (shared synopses, `stream-manager` paper §3.2). All windows are told the same in the same
order, each when its turn comes: the first to be told writes down, the others move on in what is written. One that is held up
finds all it needs when it goes on; rows are given up when the last window has let go of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl

from jupyter_stream.arrays.order import order_of
from jupyter_stream.arrays.rows import bytes_of, earliest, rows_at, rows_where, together
from jupyter_stream.core.axis import plus
from jupyter_stream.core.messages import TS, Int64s, ints
from jupyter_stream.core.time import MAX_TIME


@dataclass(frozen=True)
class _Entered:
    """Rows whose time came with one punctuation, by `$ts`; how many had entered before them."""

    frame: pl.DataFrame
    times: Int64s
    before: int


class WindowRows:
    """What is kept: rows that wait for their time, and rows that live in some window."""

    def __init__(self) -> None:
        self.windows: list[Stub] = []
        self.waiting: list[pl.DataFrame] = []
        self.batches = 0
        self.entered: list[_Entered] = []
        self.given_up = 0  # how many of the list have been taken off its beginning
        self.rows = 0  # that have ever entered
        self._size = 0.0  # bytes of a row

    @property
    def bytes(self) -> int:
        """Bytes held."""
        kept = self.rows - min((w.left for w in self.windows), default=self.rows)
        return int(self._size * kept) + bytes_of(self.waiting)

    @property
    def counted_with(self) -> Stub | None:
        """The longest window; None without any."""
        return max(self.windows, key=lambda w: w.range, default=None)

    @property
    def longest(self) -> int:
        """Its range, microseconds."""
        return 0 if self.counted_with is None else self.counted_with.range

    def enter(self, before: int) -> None:
        """Write down that a punctuation has come."""
        frame = None
        if self.waiting:
            frame = together(self.waiting)
            now = ints(frame.get_column(TS)) < before
            self.waiting = [] if now.all() else [rows_where(frame, ~now)]
            frame = rows_where(frame, now)
            times = ints(frame.get_column(TS))
            if (times[1:] < times[:-1]).any():
                order = order_of(times)
                frame, times = rows_at(frame, order), times[order]
        else:
            times = np.empty(0, np.int64)
        if frame is None or not times.size:
            frame, times = pl.DataFrame(), np.empty(0, np.int64)
        else:
            self._size = frame.estimated_size() / times.size
        self.entered.append(_Entered(frame, times, self.rows))
        self.rows += times.size

    def give_up(self) -> None:
        """Forget what no window reads any more."""
        needed = min((w.place for w in self.windows), default=self.given_up + len(self.entered))
        if needed > self.given_up:
            del self.entered[: needed - self.given_up]
            self.given_up = needed


class Stub:
    """What one window reads, from the rows on that come after it was made.

    Args:
        store: where they are kept; nothing may wait there that this window is not to have.
        range: how long rows live in this window, microseconds.
        told: called when what is counted with this window has changed.
    """

    def __init__(self, store: WindowRows, range: int, told: Callable[[], None]) -> None:
        self.range = range
        self.told = told
        self.left = store.rows  # rows before these have left this window
        self.place = store.given_up + len(store.entered)  # where the first of those that haven't was written down
        self._store = store
        self._batches = store.batches
        self._entered = self.place
        self._come = store.rows
        store.windows.append(self)

    @property
    def store(self) -> WindowRows:
        """Where the rows are kept."""
        return self._store

    @property
    def rows(self) -> int:
        """Rows alive in this window."""
        return self._come - self.left

    @property
    def bytes(self) -> int:
        """Bytes held, which are counted with the longest window."""
        return self._store.bytes if self._store.counted_with is self else 0

    @property
    def alive(self) -> list[pl.DataFrame]:
        """Rows alive in this window, oldest first."""
        return [
            e.frame[max(0, self.left - e.before) :]
            for e in self._store.entered
            if e.frame.height > self.left - e.before
        ]

    @property
    def waiting(self) -> list[pl.DataFrame]:
        """Rows whose time hasn't come."""
        return self._store.waiting

    @property
    def earliest(self) -> int:
        """The earliest time of rows that wait; `MAX_TIME` without any."""
        return earliest(self._store.waiting)

    def take(self, frame: pl.DataFrame) -> None:
        """A batch has come, with `$ts` as its last column."""
        if self._batches == self._store.batches:
            self._store.waiting.append(frame)
            self._store.batches += 1
        self._batches += 1

    def enter(self, before: int) -> pl.DataFrame | None:
        """Rows whose time comes with this punctuation."""
        store = self._store
        if self._entered == store.given_up + len(store.entered):
            store.enter(before)
        entered = store.entered[self._entered - store.given_up]
        self._entered += 1
        self._come += entered.times.size
        return entered.frame if entered.times.size else None

    def leave(self, before: int) -> list[pl.DataFrame]:
        """Rows whose lifetime here ends before that time, with `$ts` as they entered."""
        store = self._store
        gone = []
        last = plus(before, -self.range)
        while self.place < self._entered:
            entered = store.entered[self.place - store.given_up]
            begin, end = self.left - entered.before, int(np.searchsorted(entered.times, last))
            if end > begin:
                gone.append(entered.frame.slice(begin, end - begin))
                self.left += end - begin
            if end < entered.times.size:
                break
            self.place += 1
        self._give_up()
        return gone

    def _give_up(self) -> None:
        self._store.give_up()
        counted = self._store.counted_with
        if counted is not None and counted is not self:
            counted.told()

    def close(self) -> None:
        """This window reads no more."""
        if self in self._store.windows:
            self._store.windows.remove(self)
            self._give_up()

    def check(self) -> None:
        """Raise AssertionError where an invariant is broken."""
        store = self._store
        times = [int(t) for entered in store.entered for t in entered.times]
        assert times == sorted(times) and MAX_TIME not in times
        assert store.given_up <= self.place <= self._entered <= store.given_up + len(store.entered)
        assert self.left <= self._come <= store.rows


__all__ = ["Stub", "WindowRows"]
