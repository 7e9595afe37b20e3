"""Numbers by partition and rank, in rings: what comes is put behind, what is no longer needed is given up in front.

A partition's rows are numbered as they come, from 0: their ranks. All partitions share one array for each column. Each has a
ring in it whose room is a power of two, so that a rank finds its place by a mask; a ring that gets full is copied to one twice as
large, and an array that gets full to one with room for twice what is held. So rows cost what they are, however much is held.
"""

from __future__ import annotations

from typing import Final, Protocol

import numpy as np
from numpy.typing import DTypeLike

from jupyter_stream.arrays.growing import grown
from jupyter_stream.arrays.walking import ranges
from jupyter_stream.core.messages import Array, Int64s

_LEAST_ROOM: Final = 2
"""Bits of the smallest ring's places."""
_FEW: Final = 4
"""Things up to which one after the other takes less than all at once."""


class RingColumn(Protocol):
    """A column of numbers over all places."""

    @property
    def bytes(self) -> int:
        """Bytes held."""

    def clear(self, size: int) -> None:
        """As many places, of zeros."""

    def read(self, places: Int64s) -> Array:
        """What is there."""

    def write(self, places: Int64s, values: Array, bits: int) -> None:
        """Put numbers there; no ring written to has more than `2 ** bits` places."""


class RingValues:
    """Numbers as they are."""

    def __init__(self, dtype: DTypeLike = np.int64) -> None:
        self.held: Array = np.zeros(0, dtype)

    @property
    def bytes(self) -> int:
        return self.held.nbytes

    def clear(self, size: int) -> None:
        self.held = np.zeros(size, self.held.dtype)

    def read(self, places: Int64s) -> Array:
        return self.held[places]

    def write(self, places: Int64s, values: Array, bits: int) -> None:
        self.held[places] = values


class Rings:
    """Which place each rank of each partition has, and the times that are there.

    Behind the last rank of a ring there is always a free place: the one that comes next.

    Attributes:
        columns: all that is held, times first.
        times: of every rank, microseconds; they don't fall from rank to rank.
        begin: of each partition, the first rank that is needed.
        end: one past the last.
    """

    def __init__(self) -> None:
        self.times = RingValues()
        self.columns: list[RingColumn] = [self.times]
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        self.begin = np.zeros(0, np.int64)
        self.end = np.zeros(0, np.int64)
        self._at = np.zeros(0, np.int64)
        self._room = np.zeros(0, np.int64)
        self._size = self._used = 0
        for column in self.columns:
            column.clear(0)

    @property
    def bytes(self) -> int:
        """Bytes held."""
        own = self.begin.nbytes + self.end.nbytes + self._at.nbytes + self._room.nbytes
        return own + sum(c.bytes for c in self.columns)

    @property
    def held(self) -> Int64s:
        """The partitions with ranks that are needed."""
        return np.flatnonzero(self.end > self.begin)

    def extend(self, slots: Int64s, counts: Int64s) -> Int64s:
        """Rows come: the first rank of each of these partitions' new ones.

        Args:
            slots: partitions, each once.
            counts: how many rows come to each.
        """
        most = int(slots.max()) + 1
        if most > self.end.size:
            self.begin, self.end, self._at, self._room = (
                grown(a, most) for a in (self.begin, self.end, self._at, self._room)
            )
        first: Int64s = self.end[slots]
        need = first - self.begin[slots] + counts + 1
        short = need > self._room[slots]
        if short.any() and not self._moved(slots[short], need[short]):
            self._renew(slots, need)
        self.end[slots] = first + counts
        return first

    def places(self, slots: Int64s, ranks: Int64s) -> Int64s:
        """Where ranks are."""
        found: Int64s = self._at[slots] + (ranks & (self._room[slots] - 1))
        return found

    def rings(self, slots: Int64s) -> tuple[Int64s, Int64s]:
        """Where rings begin, and how many places they have."""
        return self._at[slots], self._room[slots]

    def bits(self, slots: Int64s) -> int:
        """None of these rings has more than `2 ** bits` places."""
        return int(self._room[slots].max()).bit_length() - 1

    def search(self, slots: Int64s, times: Int64s, low: Int64s, high: Int64s, side: str) -> Int64s:
        """The first rank from `low` to before `high` at or after a time ('left'), or after it ('right'); `high` without one."""
        after = side == "right"
        if slots.size <= _FEW:
            return np.array(
                [self._searched(*one, after) for one in zip(slots, times, low, high, strict=True)], np.int64
            )
        at, mask, held = self._at[slots], self._room[slots] - 1, self.times.held
        low, length = low.copy(), high - low
        for _ in range(int(length.max()).bit_length()):
            half = length >> 1
            found = held[at + ((low + half) & mask)]
            further = (found <= times if after else found < times) & (length > 0)
            half += further  # one more is passed than the half
            low += half * further
            length = np.where(further, length - half, half)
        return low

    def _searched(self, slot: int, time: int, low: int, high: int, after: bool) -> int:
        at, mask, held = int(self._at[slot]), int(self._room[slot]) - 1, self.times.held
        low, high = int(low), int(high)
        while low < high:
            middle = (low + high) >> 1
            found = held[at + (middle & mask)]
            if found < time or (after and found == time):
                low = middle + 1
            else:
                high = middle
        return low

    def expire(self, before: int) -> None:
        """Give up what is before a time, of all partitions."""
        slots = self.held
        if slots.size:
            times = np.full(slots.size, before)
            self.begin[slots] = self.search(slots, times, self.begin[slots], self.end[slots], "left")

    # -- room --------------------------------------------------------------------------------------------------------

    def _moved(self, slots: Int64s, need: Int64s) -> bool:
        """Give partitions rings of at least so many places. Whether there is room for them."""
        slots, room = _largest_first(slots, _room(need))
        most = int(room[0])
        start = -(-self._used // most) * most
        if start + int(room.sum()) > self._size:
            return False
        self._put(slots, room, start)
        return True

    def _renew(self, slots: Int64s, need: Int64s) -> None:
        """All rings anew, in arrays of twice the places they need; these partitions need so many."""
        wanted = np.where(self.end > self.begin, self.end - self.begin + 1, 0)
        wanted[slots] = need
        self._room[wanted == 0] = 0
        every = np.flatnonzero(wanted)
        every, room = _largest_first(every, _room(wanted[every]))
        self._size = 2 * int(room.sum())
        self._size += -self._size % (2 * int(room[0]))
        self._put(every, room, 0, fresh=True)

    def _put(self, slots: Int64s, room: Int64s, start: int, fresh: bool = False) -> None:
        """Put partitions' rings there, one behind the other."""
        moved = slots[self._room[slots] > 0]
        many = self.end[moved] - self.begin[moved] + 1  # with the place that comes next
        of, ranks = np.repeat(moved, many), ranges(self.begin[moved], many)
        old = self.places(of, ranks)
        values = [column.read(old) for column in self.columns]
        if fresh:
            for column in self.columns:
                column.clear(self._size)
        self._used = start + int(room.sum())
        self._at[slots] = np.cumsum(room) - room + start
        self._room[slots] = room
        new, bits = self.places(of, ranks), int(room[0]).bit_length() - 1
        for column, held in zip(self.columns, values, strict=True):
            column.write(new, held, bits)

    def check(self) -> None:
        """Raise AssertionError unless rings lie apart, have room for what is held, and times rise."""
        slots = self.held
        at, room = self.rings(slots)
        assert (self.begin <= self.end).all()
        assert (self.end[slots] - self.begin[slots] < room).all()
        assert not (at % room).any()
        order = np.argsort(at)
        assert (at[order][1:] >= (at + room)[order][:-1]).all()
        assert not slots.size or int((at + room).max()) <= self._used <= self._size
        for slot in slots.tolist():
            ranks = np.arange(self.begin[slot], self.end[slot])
            assert (np.diff(self.times.read(self.places(np.full(ranks.size, slot), ranks))) >= 0).all()


def _largest_first(slots: Int64s, room: Int64s) -> tuple[Int64s, Int64s]:
    """So that each ring, one behind the other, begins at a multiple of its room."""
    order = np.argsort(-room, kind="stable")
    return slots[order], room[order]


def _room(need: Int64s) -> Int64s:
    """Powers of two, no less than these."""
    bits = np.maximum(np.frexp((need - 1).astype(np.float64))[1], _LEAST_ROOM)
    return np.left_shift(1, bits.astype(np.int64))


__all__ = ["RingColumn", "RingValues", "Rings"]
