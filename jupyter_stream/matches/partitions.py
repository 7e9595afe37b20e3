"""How far each partition of a row pattern has been searched, by its slot: arrays, so that a punctuation looks at all at once."""

from __future__ import annotations

import numpy as np

from jupyter_stream.arrays.growing import extended
from jupyter_stream.arrays.runs import begins_run
from jupyter_stream.arrays.walking import nth
from jupyter_stream.core.messages import Bools, Int64s
from jupyter_stream.core.time import MAX_TIME


class SearchedPartitions:
    """The partitions.

    Attributes:
        count: how many rows each has had: they are numbered from 0.
        next: the number of the row at which the next match may begin.
        keep: that of the first row that is still needed.
        opened: the time of the row at `next`; `MAX_TIME` where it hasn't come.
        deadline: when the match under way can't have more rows; `MAX_TIME` where none is, or nothing says so.
        matches: how many it has had.
    """

    def __init__(self) -> None:
        self.count = np.zeros(0, np.int64)
        self.next = np.zeros(0, np.int64)
        self.keep = np.zeros(0, np.int64)
        self.opened = np.zeros(0, np.int64)
        self.deadline = np.zeros(0, np.int64)
        self.matches = np.zeros(0, np.int64)

    @property
    def size(self) -> int:
        """Slots there is room for."""
        return self.count.size

    @property
    def bytes(self) -> int:
        """Bytes held."""
        return 6 * self.count.nbytes

    @property
    def first_open(self) -> int:
        """The earliest time a match to come may have."""
        return int(self.opened.min()) if self.size else MAX_TIME

    @property
    def first_deadline(self) -> int:
        """The least punctuation that decides a match under way; `MAX_TIME` for none."""
        return int(self.deadline.min()) if self.size else MAX_TIME

    def grow(self, size: int) -> None:
        """Make room for so many slots."""
        if size <= self.size:
            return
        most = max(size, 2 * self.size)
        self.count, self.next, self.keep, self.matches = (
            extended(a, most) for a in (self.count, self.next, self.keep, self.matches)
        )
        self.opened, self.deadline = (extended(a, most, MAX_TIME) for a in (self.opened, self.deadline))

    def numbered(self, slots: Int64s) -> Int64s:
        """The numbers of new rows, which lie partition by partition."""
        new = begins_run(slots)
        begins = np.flatnonzero(new)
        sizes = np.diff(np.append(begins, slots.size))
        numbers: Int64s = nth(sizes) + self.count[slots]
        self.count[slots[begins]] += sizes
        return numbers

    def over(self, until: int) -> Int64s:
        """Those with a match under way that has no more rows to come; all that have had rows, at the end."""
        return np.flatnonzero(
            (self.deadline <= until) & (self.deadline != MAX_TIME) | ((until == MAX_TIME) & (self.count > 0))
        )

    def searched(self, slot: int, following: int, keep: int, opened: int, deadline: int) -> None:
        """How far one has come."""
        self.next[slot], self.keep[slot], self.opened[slot], self.deadline[slot] = following, keep, opened, deadline

    def counting(self, size: int) -> Bools:
        """Which of the first so many have had a match."""
        found = np.zeros(size, np.bool_)
        found[: min(size, self.size)] = self.matches[:size] > 0
        return found

    def renumber(self, old: Int64s) -> None:
        """The partitions of these slots come into the slots 0, 1, ..., and all others go."""
        known = old < self.size
        for name in ("count", "next", "keep", "matches"):
            held = np.zeros(old.size, np.int64)
            held[known] = getattr(self, name)[old[known]]
            setattr(self, name, held)
        for name in ("opened", "deadline"):
            held = np.full(old.size, MAX_TIME)
            held[known] = getattr(self, name)[old[known]]
            setattr(self, name, held)

    def release(self, slots: Int64s) -> None:
        """Begin anew where others come into these slots."""
        slots = slots[slots < self.size]
        for held in (self.count, self.next, self.keep, self.matches):
            held[slots] = 0
        self.opened[slots] = self.deadline[slots] = MAX_TIME


__all__ = ["SearchedPartitions"]
