"""Rows while they live, by when they leave: what is kept follows from the update pattern (update-patterns paper §5.3.2).

- `Fifo`: they leave in the order they came (WKS). A list: in at the end, out at the beginning.
- `Partitions`: they don't (WK). A circle of partitions by the time they leave, as in figure 7; one is sorted when its turn comes.
- `Scanned`: a list in the order they came, all of which is looked through (the paper's DIRECT); for comparison.

Frames of any columns and `$until`. Nothing here knows what the time is: it is told.
"""

from __future__ import annotations

from collections import deque
from itertools import chain, pairwise
from typing import Protocol

import numpy as np
import polars as pl

from jupyter_stream.arrays.order import order_of
from jupyter_stream.arrays.rows import bytes_of, first_rows, rows_at, together
from jupyter_stream.core.messages import UNTIL, Int64s, ints
from jupyter_stream.core.time import MAX_TIME
from jupyter_stream.plan.upkeep import PARTITIONS

_PIECES = 32
"""Sorted pieces of the partition whose turn it is, before they are made one."""


class Expiring(Protocol):
    """Rows by when they leave."""

    rows: int

    @property
    def bytes(self) -> int:
        """Bytes held."""

    @property
    def first_end(self) -> int:
        """No row leaves before that; `MAX_TIME` without any."""

    def insert(self, frame: pl.DataFrame) -> None:
        """Keep rows until `$until`; those that live for ever are not kept."""

    def expire(self, before: int) -> list[pl.DataFrame]:
        """Take out the rows with `$until < before`."""

    def head(self, most: int) -> list[pl.DataFrame]:
        """Some of its rows, at most so many: where they are in order, those that leave first."""

    def check(self) -> None:
        """Raise AssertionError where an invariant is broken."""


class Fifo:
    """A list in the order of `$until`. No row may leave before one that came earlier, from one `insert` to the next."""

    def __init__(self) -> None:
        self._frames: deque[tuple[pl.DataFrame, Int64s]] = deque()
        self._size = 0.0  # bytes of a row
        self.rows = 0

    @property
    def bytes(self) -> int:
        """Bytes held."""
        return int(self._size * self.rows)

    @property
    def first_end(self) -> int:
        """When the first row leaves; `MAX_TIME` without any."""
        return int(self._frames[0][1][0]) if self._frames else MAX_TIME

    def insert(self, frame: pl.DataFrame) -> None:
        """Append rows."""
        frame, ends = _by_end(frame)
        if not ends.size or ends[0] == MAX_TIME:
            return
        self._size = frame.estimated_size() / ends.size
        self._frames.append((frame, ends))
        self.rows += ends.size

    def expire(self, before: int) -> list[pl.DataFrame]:
        """Take rows from the beginning."""
        gone = []
        while self._frames and self._frames[0][1][0] < before:
            frame, ends = self._frames.popleft()
            many = int(np.searchsorted(ends, before))
            gone.append(frame.head(many))
            self.rows -= many
            if many < ends.size:
                self._frames.appendleft((frame.slice(many), ends[many:]))
        return gone

    def head(self, most: int) -> list[pl.DataFrame]:
        """The rows that leave first."""
        return first_rows((f for f, _ in self._frames), most)

    def check(self) -> None:
        """Raise AssertionError where an invariant is broken."""
        ends = [int(e) for _, some in self._frames for e in some]
        assert ends == sorted(ends)
        assert self.rows == len(ends)


def _by_end(frame: pl.DataFrame) -> tuple[pl.DataFrame, Int64s]:
    """Rows by when they leave, and when that is."""
    ends = ints(frame.get_column(UNTIL))
    if (ends[1:] < ends[:-1]).any():
        order = order_of(ends)
        return rows_at(frame, order), ends[order]
    return frame, ends


class Partitions:
    """Partitions of equal stretches of `$until`.

    Args:
        span: how long the longest row lives, microseconds.
        count: how many partitions that is to be.
    """

    def __init__(self, span: int, count: int = PARTITIONS) -> None:
        self.count = count
        self._span = span
        self._width = max(1, -(-span // count))
        self._expired = -(1 << 62)  # up to when rows have been taken out
        self._waiting: dict[int, list[pl.DataFrame]] = {}  # by number, in the order they came
        self._turn: list[tuple[pl.DataFrame, Int64s]] = []  # the partition whose turn it is, sorted
        self._turned = -(1 << 62)  # its number
        self._size = 0.0  # bytes of a row
        self.rows = 0

    @property
    def bytes(self) -> int:
        """Bytes held."""
        return int(self._size * self.rows)

    @property
    def first_end(self) -> int:
        """When the first row leaves, at the earliest; `MAX_TIME` without any."""
        if self._turn:
            return min(int(ends[0]) for _, ends in self._turn)
        return min(self._waiting) * self._width if self._waiting else MAX_TIME

    def insert(self, frame: pl.DataFrame) -> None:
        """Put rows into the partitions they leave with."""
        frame, ends = _by_end(frame)
        if ends.size and ends[-1] == MAX_TIME:
            many = int(np.searchsorted(ends, MAX_TIME))
            frame, ends = frame.head(many), ends[:many]
        if not ends.size:
            return
        self.rows += ends.size
        self._size = frame.estimated_size() / ends.size
        first, last = int(ends[0]) // self._width, int(ends[-1]) // self._width
        # of rows far apart most partitions in between are empty
        numbers = np.arange(first, last + 1) if last - first < ends.size else np.unique(ends // self._width)
        cuts = np.append(np.searchsorted(ends, numbers * self._width), ends.size)
        for number, begin, end in zip(numbers.tolist(), cuts[:-1].tolist(), cuts[1:].tolist(), strict=True):
            if begin == end:
                continue
            if number <= self._turned:
                self._turn.append((frame.slice(begin, end - begin), ends[begin:end]))
            else:
                self._waiting.setdefault(number, []).append(frame.slice(begin, end - begin))
        if len(self._turn) > _PIECES:
            self._turn = [_by_end(pl.concat([f for f, _ in self._turn], rechunk=True))]

    def expire(self, before: int) -> list[pl.DataFrame]:
        """Take partitions as a whole, and the beginning of the one that time is in."""
        self._expired = max(self._expired, before)
        number = before // self._width
        gone = []
        if number > self._turned:
            for over in sorted(n for n in self._waiting if n < number):
                gone += self._waiting.pop(over)
            gone += [f for f, _ in self._turn]
            self._turn = []
            self._turned = number
            now = self._waiting.pop(number, None)
            if now:
                self._turn.append(_by_end(pl.concat(now, rechunk=True)))
        stay = []
        for frame, ends in self._turn:
            many = int(np.searchsorted(ends, before))
            if many:
                gone.append(frame.head(many))
            if many < ends.size:
                stay.append((frame.slice(many), ends[many:]) if many else (frame, ends))
        self._turn = stay
        self.rows -= sum(f.height for f in gone)
        return gone

    def divide(self, count: int) -> None:
        """Put what is held into another number of partitions."""
        self.count, width = count, max(1, -(-self._span // count))
        if width == self._width:
            return
        held = [*(f for f, _ in self._turn), *(f for frames in self._waiting.values() for f in frames)]
        self._width, self._waiting, self._turn, self.rows = width, {}, [], 0
        self._turned = self._expired // width if self._expired > -(1 << 62) else self._expired
        for frame in held:
            self.insert(frame)

    def head(self, most: int) -> list[pl.DataFrame]:
        """Some of the rows that leave first."""
        nearest = (f for number in sorted(self._waiting) for f in self._waiting[number])
        return first_rows(chain((f for f, _ in self._turn), nearest), most)

    def check(self) -> None:
        """Raise AssertionError where an invariant is broken."""
        for number, frames in self._waiting.items():
            assert number > self._turned
            for frame in frames:
                assert set(ints(frame.get_column(UNTIL)) // self._width) == {number}
        for frame, ends in self._turn:
            assert np.array_equal(ints(frame.get_column(UNTIL)), ends) and (np.diff(ends) >= 0).all()
        held = sum(f.height for fs in self._waiting.values() for f in fs) + sum(f.height for f, _ in self._turn)
        assert self.rows == held


class Calendar:
    """Partitions of numbers instead of rows: what is due, each with its time (a calendar queue, reference [8] of the paper).

    Args:
        span: how long anything waits at most, microseconds.
        count: partitions in that time.
    """

    def __init__(self, span: int, count: int = PARTITIONS) -> None:
        self._span = span
        self._width = max(1, -(-span // count))
        self._days: dict[int, list[tuple[Int64s, Int64s]]] = {}
        self.entries = 0

    @property
    def bytes(self) -> int:
        """Bytes held."""
        return 16 * self.entries

    def insert(self, numbers: Int64s, ends: Int64s) -> None:
        """Write down numbers, each at its end. What never ends is left out."""
        if ends.size and int(ends.max()) == MAX_TIME:
            some = ends != MAX_TIME
            numbers, ends = numbers[some], ends[some]
        if not ends.size:
            return
        self.entries += ends.size
        self._enter(numbers, ends)

    def _enter(self, numbers: Int64s, ends: Int64s) -> None:
        days = ends // self._width
        first, last = int(days.min()), int(days.max())
        if first == last:
            self._days.setdefault(first, []).append((numbers, ends))
            return
        order = order_of(days)
        numbers, ends, days = numbers[order], ends[order], days[order]
        cuts = [0, *(np.flatnonzero(days[1:] != days[:-1]) + 1).tolist(), days.size]
        for begin, end in pairwise(cuts):
            self._days.setdefault(int(days[begin]), []).append((numbers[begin:end], ends[begin:end]))

    def divide(self, count: int) -> None:
        """Put what is held into another number of partitions."""
        width = max(1, -(-self._span // count))
        if width != self._width:
            numbers, ends = self.held
            self._width, self._days = width, {}
            if ends.size:
                self._enter(numbers, ends)

    @property
    def held(self) -> tuple[Int64s, Int64s]:
        """All numbers, and their ends."""
        entries = [entry for day in self._days.values() for entry in day]
        numbers, ends = zip(*entries, strict=True) if entries else ((), ())
        nothing = np.empty(0, np.int64)
        return np.concatenate([nothing, *numbers]), np.concatenate([nothing, *ends])

    @property
    def first_end(self) -> int:
        """Nothing ends before that; `MAX_TIME` where nothing is entered."""
        return min(self._days) * self._width if self._days else MAX_TIME

    def expire(self, before: int) -> tuple[Int64s, Int64s]:
        """Take out what ends before a time, and when it does."""
        today = before // self._width
        due = [entry for day in sorted(d for d in self._days if d < today) for entry in self._days.pop(day)]
        now = self._days.pop(today, None)
        if now is not None:
            numbers, ends = (np.concatenate(parts) for parts in zip(*now, strict=True))
            over = ends < before
            due.append((numbers[over], ends[over]))
            if not over.all():
                self._days[today] = [(numbers[~over], ends[~over])]
        if not due:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        numbers, ends = (np.concatenate(parts) for parts in zip(*due, strict=True))
        self.entries -= ends.size
        return numbers, ends

    def check(self) -> None:
        """Raise AssertionError where an invariant is broken."""
        assert self.entries == sum(e.size for day in self._days.values() for _, e in day)
        for day, some in self._days.items():
            assert all((ends // self._width == day).all() for _, ends in some)


class Scanned:
    """A list in the order rows came; every look goes through all of it."""

    def __init__(self) -> None:
        self._held: pl.DataFrame | None = None
        self._new: list[pl.DataFrame] = []
        self.rows = 0

    @property
    def bytes(self) -> int:
        """Bytes held."""
        frames = [*([] if self._held is None else [self._held]), *self._new]
        return bytes_of(frames)

    @property
    def first_end(self) -> int:
        """When the first row leaves; `MAX_TIME` without any."""
        frames = [*([] if self._held is None else [self._held]), *self._new]
        return min((int(ints(f.get_column(UNTIL)).min()) for f in frames if f.height), default=MAX_TIME)

    def insert(self, frame: pl.DataFrame) -> None:
        """Append rows."""
        frame = frame.filter(pl.col(UNTIL) < MAX_TIME)
        self.rows += frame.height
        if frame.height:
            self._new.append(frame)

    def expire(self, before: int) -> list[pl.DataFrame]:
        """Look through all rows."""
        frames = [*([] if self._held is None else [self._held]), *self._new]
        if not frames:
            return []
        held = together(frames)
        self._new = []
        leaves = held.get_column(UNTIL) < before
        if not leaves.any():
            self._held = held
            return []
        self._held = held.filter(~leaves)
        gone = held.filter(leaves)
        self.rows -= gone.height
        return [gone]

    def head(self, most: int) -> list[pl.DataFrame]:
        """The rows that came first."""
        return first_rows([*([] if self._held is None else [self._held]), *self._new], most)

    def check(self) -> None:
        """Raise AssertionError where an invariant is broken."""
        assert self.rows == sum(f.height for f in [*([] if self._held is None else [self._held]), *self._new])


__all__ = ["Calendar", "Expiring", "Fifo", "Partitions", "Scanned"]
