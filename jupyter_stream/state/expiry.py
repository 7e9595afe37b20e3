"""Rows while they live, by when they leave: what is kept follows from the update pattern (update-patterns paper §5.3.2).

- `Fifo`: they leave in the order they came (WKS). A list: in at the end, out at the beginning.
- `Partitions`: they don't (WK). A circle of partitions by the time they leave, as in figure 7; one is sorted when its turn comes.
- `Scanned`: a list in the order they came, all of which is looked through (the paper's DIRECT); for comparison.

Frames of any columns and `$until`. Nothing here knows what the time is: it is told.
"""

from __future__ import annotations

from collections import deque
from typing import Protocol

import numpy as np
import polars as pl

from jupyter_stream.core.messages import UNTIL, Int64s, ints
from jupyter_stream.core.time import MAX_TIME
from jupyter_stream.plan.upkeep import PARTITIONS


class Expiring(Protocol):
    """Rows by when they leave."""

    rows: int

    @property
    def bytes(self) -> int:
        """Bytes held."""

    def insert(self, frame: pl.DataFrame) -> None:
        """Keep rows until `$until`; those that live for ever are not kept."""

    def expire(self, before: int) -> list[pl.DataFrame]:
        """Take out the rows with `$until < before`."""

    def check(self) -> None:
        """Raise AssertionError where an invariant is broken."""


class Fifo:
    """A list in the order of `$until`. No row may leave before one that came earlier, from one `insert` to the next."""

    def __init__(self) -> None:
        self._frames: deque[tuple[pl.DataFrame, Int64s]] = deque()
        self.rows = 0

    @property
    def bytes(self) -> int:
        """Bytes held."""
        return sum(int(f.estimated_size()) for f, _ in self._frames)

    def insert(self, frame: pl.DataFrame) -> None:
        """Append rows."""
        ends = ints(frame.get_column(UNTIL))
        if ends.size and ends[0] == MAX_TIME and (ends == MAX_TIME).all():
            return
        if ends.size > 1 and (ends[1:] < ends[:-1]).any():
            frame = frame.sort(UNTIL, maintain_order=True)
            ends = ints(frame.get_column(UNTIL))
        if ends.size:
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

    def check(self) -> None:
        """Raise AssertionError where an invariant is broken."""
        ends = [int(e) for _, some in self._frames for e in some]
        assert ends == sorted(ends)
        assert self.rows == len(ends)


class Partitions:
    """Partitions of equal stretches of `$until`.

    Args:
        span: how long the longest row lives, microseconds.
        count: how many partitions that is to be.
    """

    def __init__(self, span: int, count: int = PARTITIONS) -> None:
        self._width = max(1, -(-span // count))
        self._waiting: dict[int, list[pl.DataFrame]] = {}  # by number, in the order they came
        self._turn: list[tuple[pl.DataFrame, Int64s]] = []  # the partitions whose turn it is, sorted
        self._turned = -(1 << 62)  # number of the last of these
        self.rows = 0

    @property
    def bytes(self) -> int:
        """Bytes held."""
        frames = [*(f for fs in self._waiting.values() for f in fs), *(f for f, _ in self._turn)]
        return sum(int(f.estimated_size()) for f in frames)

    def insert(self, frame: pl.DataFrame) -> None:
        """Put rows into the partitions they leave with."""
        ends = ints(frame.get_column(UNTIL))
        if ends.size and int(ends.max()) == MAX_TIME:
            frame = frame.filter(pl.col(UNTIL) < MAX_TIME)
            ends = ints(frame.get_column(UNTIL))
        if not ends.size:
            return
        self.rows += ends.size
        numbers = ends // self._width
        first, last = int(numbers.min()), int(numbers.max())
        if first == last:
            self._put(first, frame)
            return
        order = np.argsort(
            numbers - first if last - first > 30_000 else (numbers - first).astype(np.int16), kind="stable"
        )
        frame, numbers = frame[pl.Series(order)], numbers[order]
        cuts = np.flatnonzero(numbers[1:] != numbers[:-1]) + 1
        for begin, end in zip(np.append(0, cuts), np.append(cuts, numbers.size), strict=True):
            self._put(int(numbers[begin]), frame.slice(int(begin), int(end - begin)))

    def _put(self, number: int, frame: pl.DataFrame) -> None:
        if number <= self._turned:
            self._sorted(frame)
        else:
            self._waiting.setdefault(number, []).append(frame)

    def _sorted(self, frame: pl.DataFrame) -> None:
        frame = frame.sort(UNTIL, maintain_order=True)
        self._turn.append((frame, ints(frame.get_column(UNTIL))))
        if len(self._turn) > 32:
            together = pl.concat([f for f, _ in self._turn])
            self._turn = []
            self._sorted(together)

    def expire(self, before: int) -> list[pl.DataFrame]:
        """Take partitions as a whole, and the beginning of the one that time is in."""
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
                self._sorted(pl.concat(now))
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
        return sum(int(f.estimated_size()) for f in frames)

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
        held = pl.concat(frames)
        self._new = []
        leaves = held.get_column(UNTIL) < before
        if not leaves.any():
            self._held = held
            return []
        self._held = held.filter(~leaves)
        gone = held.filter(leaves)
        self.rows -= gone.height
        return [gone]

    def check(self) -> None:
        """Raise AssertionError where an invariant is broken."""
        assert self.rows == sum(f.height for f in [*([] if self._held is None else [self._held]), *self._new])


__all__ = ["Expiring", "Fifo", "Partitions", "Scanned"]
