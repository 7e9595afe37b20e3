"""A map from int64 keys to slots whose every operation is on arrays: open addressing with linear probing.

Not a set of Python objects: a look-up of n keys is a few gathers over n (about 15 ns a key where a dictionary takes 100).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from jupyter_stream.core.messages import Int64s

EMPTY = -1
_FREE, _GONE = 0, -1
"""What a place without a key holds; those with one hold its slot plus one. A search goes on behind a key that has gone."""
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio: spreads consecutive integers (Knuth, vol. 3, 6.4)
_MOVED = 6
"""Places of the old table moved for each key that comes. 4 are needed: the new ones are full after a quarter as many keys as
there are old ones."""
_MOVED_AT_LEAST = 4096
_FEW = 256
_AHEAD = np.arange(1, 17)
"""Of so few keys that are searched for still, so many places are looked at at a time."""
_SORTED = 2_048
"""So few keys are sorted to find equal ones: 20 µs for 300, where the calls of a table's rounds take 100."""
_LARGE = 1 << 16
"""Places from which on those of the next, larger table are made ready ahead: memory met for the first time is slow."""


class _Places:
    """One array of places, of a size that doesn't change."""

    def __init__(self, bits: int) -> None:
        self._shift = np.uint64(64 - bits)
        self.mask = (1 << bits) - 1
        self.keys = np.zeros(1 << bits, np.int64)
        self.held = np.zeros(1 << bits, np.int64)
        self.taken = 0
        """Places that are not free."""
        self.gone = 0
        self.ready = 0
        """Places whose memory has been written to ahead."""

    def make_ready(self, places: int) -> None:
        """Write to the memory of the next so many places, before there are keys."""
        self.keys[self.ready : self.ready + places] = 0
        self.held[self.ready : self.ready + places] = _FREE
        self.ready = min(self.keys.size, self.ready + places)

    def _home(self, keys: Int64s) -> Int64s:
        return ((keys.view(np.uint64) * _MULTIPLIER) >> self._shift).view(np.int64)

    def find(self, keys: Int64s) -> tuple[Int64s, Int64s]:
        """Slots of the keys, -1 for those not here, and where the search ended."""
        at = self._home(keys)
        found = self.held[at]
        pending = np.flatnonzero(self._goes_on(found, at, keys))
        while pending.size > _FEW:
            at_pending = (at[pending] + 1) & self.mask
            at[pending] = at_pending
            held = self.held[at_pending]
            found[pending] = held
            pending = pending[self._goes_on(held, at_pending, keys[pending])]
        while pending.size:
            # the last few one place after the other would take most of the time: a step is some calls, however few are left
            ahead = (at[pending, None] + _AHEAD) & self.mask
            held = self.held[ahead]
            goes_on = self._goes_on(held, ahead, keys[pending, None])
            end = goes_on.argmin(axis=1)  # the first place where the search ends; 0 where it doesn't
            row = np.arange(pending.size)
            at[pending], found[pending] = ahead[row, end], held[row, end]
            on = goes_on[row, end]
            at[pending[on]] = ahead[on, -1]
            pending = pending[on]
        found -= 1
        return found, at

    def _goes_on(self, held: Int64s, at: Int64s, keys: Int64s) -> NDArray[np.bool_]:
        on: NDArray[np.bool_] = (held != _FREE) & (self.keys[at] != keys)
        return on | (held == _GONE) if self.gone else on

    def put(self, keys: Int64s, slots: Int64s) -> None:
        """Add keys that are distinct and not here."""
        self.taken += keys.size
        at = self._home(keys)
        mine = slots + 1
        left = np.arange(keys.size)
        while left.size:
            spot = at[left]
            free = self.held[spot] == _FREE
            # several keys may want one place: all write, one is read back, the others go on
            self.held[spot[free]] = mine[left[free]]
            won = np.zeros(left.size, np.bool_)
            won[free] = self.held[spot[free]] == mine[left[free]]
            self.keys[spot[won]] = keys[left[won]]
            left = left[~won]
            at[left] = (at[left] + 1) & self.mask

    def remove(self, keys: Int64s) -> Int64s:
        """Forget keys, each distinct; returns the places of those that were here."""
        found, at = self.find(keys)
        spots: Int64s = at[found != EMPTY]
        self.held[spots] = _GONE
        self.gone += spots.size
        return spots


class HashTable:
    """Keys to slots. The load is kept under one half.

    When it grows, what it holds is moved to the new places some at a time, as further keys come, so that none of them waits long.

    Args:
        bits: places to begin with, as a power of two.
        spare: places for each key when it grows: 3 for speed, 2 where memory counts.
    """

    def __init__(self, bits: int = 10, spare: int = 3) -> None:
        self._spare = spare
        self._reset(bits)

    def _reset(self, bits: int) -> None:
        self._places = _Places(bits)
        self._old: _Places | None = None  # places being moved, up to `_moved`
        self._moved = 0
        self._next: _Places | None = None  # places that will serve when these are full
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def bytes(self) -> int:
        """Bytes held."""
        held = sum(p.keys.nbytes + p.held.nbytes for p in (self._places, self._old) if p is not None)
        return held + (0 if self._next is None else 16 * self._next.ready)

    def lookup(self, keys: Int64s) -> Int64s:
        """Slots of the keys, -1 for those not in the table."""
        found, _ = self._places.find(keys)
        if self._old is not None:
            missing = np.flatnonzero(found == EMPTY)
            if missing.size:
                found[missing], _ = self._old.find(keys[missing])
        return found

    def insert(self, keys: Int64s, slots: Int64s) -> None:
        """Add keys that are distinct and not in the table."""
        self._move(_MOVED * keys.size + _MOVED_AT_LEAST)
        taken, size = self._places.taken + keys.size, self._places.mask
        if 2 * taken > size:
            self._move(None)
            self._old, self._moved = self._places, 0
            self._places, self._next = self._larger(keys.size), None
            self._move(_MOVED_AT_LEAST)
        elif 16 * taken > 5 * size and size > _LARGE:
            # three eighths of the keys these places have room for are still to come
            if self._next is None:
                self._next = _Places(self._bits(3 * size // 16, 0.75))
            self._next.make_ready(6 * keys.size * self._next.keys.size // size)
        self._count += keys.size
        self._places.put(keys, slots)

    def _bits(self, more: int, share: float = 1.0) -> int:
        """Of places for what there is and so many keys more, with so much of what is to be spare."""
        return max(10, int(share * self._spare * (self._count + more)).bit_length())

    def _larger(self, more: int) -> _Places:
        """Places for what there is and so many keys more."""
        ready = self._next
        return (
            ready if ready is not None and ready.keys.size >= 1 << self._bits(more, 0.75) else _Places(self._bits(more))
        )

    def _move(self, most: int | None) -> None:
        """Move what is in the next so many old places; None: in all of them."""
        old = self._old
        if old is None:
            return
        stop = old.held.size if most is None else min(old.held.size, self._moved + most)
        used = self._moved + np.flatnonzero(old.held[self._moved : stop] > _FREE)
        self._places.put(old.keys[used], old.held[used] - 1)
        self._moved = stop
        if stop == old.held.size:
            self._old = None

    def remove(self, keys: Int64s) -> None:
        """Forget keys, distinct ones; some may not be in the table."""
        self._count -= self._places.remove(keys).size
        if self._old is not None:
            # what has been moved has left a copy behind, which must not be found either
            self._count -= int(np.count_nonzero(self._old.remove(keys) >= self._moved))

    def first_seen(self, keys: Int64s) -> Int64s:
        """Positions at which a key comes for the first time among `keys`, ascending. Many are not sorted: 20 ns a key."""
        if keys.size <= _SORTED:
            order = np.argsort(keys, kind="stable")
            in_order = keys[order]
            opens = np.ones(keys.size, np.bool_)
            np.not_equal(in_order[1:], in_order[:-1], out=opens[1:])
            return np.sort(order[opens])
        bits = max(4, int(2 * keys.size).bit_length())
        owner = np.full(1 << bits, EMPTY, np.int64)
        at = ((keys.view(np.uint64) * _MULTIPLIER) >> np.uint64(64 - bits)).view(np.int64)
        left = np.arange(keys.size)
        first = np.zeros(keys.size, np.bool_)
        while left.size:
            spot = at[left]
            free = np.flatnonzero(owner[spot] == EMPTY)[::-1]
            owner[spot[free]] = left[free]  # of several the one written last stays: the earliest
            own = owner[spot]
            met = keys[own] == keys[left]  # all with one key are at one place
            first[own[met]] = True
            left = left[~met]
            at[left] = (at[left] + 1) & ((1 << bits) - 1)
        return np.flatnonzero(first)

    def items(self) -> tuple[Int64s, Int64s]:
        """All keys with their slots, in no order."""
        self._move(None)
        used = np.flatnonzero(self._places.held > _FREE)
        return self._places.keys[used], self._places.held[used] - 1

    def keep(self, live: np.ndarray) -> None:
        """Forget keys whose slot is not live (`live` is a mask over slots). Shrinks the table."""
        keys, slots = self.items()
        stay = live[slots]
        self._reset(max(10, int(3 * int(stay.sum())).bit_length()))
        self.insert(keys[stay], slots[stay])

    def check(self) -> None:
        """Raise AssertionError unless every key can be found again."""
        keys, slots = self.items()
        assert keys.size == self._count
        assert np.array_equal(self.lookup(keys), slots)


class DirectTable:
    """The same map for integers of a small range: one gather (0.9 ns a key).

    Attributes:
        LIMIT: widest range held; beyond it a `HashTable` serves.
    """

    LIMIT = 1 << 20

    def __init__(self) -> None:
        self._base = 0
        self._slots = np.empty(0, np.int64)
        self._count = 0

    @property
    def bytes(self) -> int:
        """Bytes held."""
        return self._slots.nbytes

    def covers(self, low: int, high: int) -> bool:
        """Make room for keys from low to high; False if the range would be too wide."""
        if not self._slots.size:
            base, end = low, high + 1
        else:
            base, end = min(self._base, low), max(self._base + self._slots.size, high + 1)
        if end - base > self.LIMIT:
            return False
        if end - base > self._slots.size:
            if self._slots.size:  # a range that grows will grow again
                spare = min(self._slots.size // 4, self.LIMIT - (end - base))
                base, end = (base - spare, end) if base < self._base else (base, end + spare)
            grown = np.full(end - base, EMPTY, np.int64)
            shift = self._base - base if self._slots.size else 0
            grown[shift : shift + self._slots.size] = self._slots
            self._slots, self._base = grown, base
        return True

    def lookup_within(self, keys: Int64s) -> Int64s | None:
        """Slots of the keys, -1 for those without one; None if some are beyond the range covered."""
        at = keys - self._base if self._base else keys
        # a key below the range becomes a huge number: one pass sees to both ends, and the gather needs no check
        if not self._slots.size or int(at.view(np.uint64).max()) >= self._slots.size:
            return None
        return self._slots.take(at, mode="clip")

    @property
    def full(self) -> bool:
        """Whether every key of the range covered has a slot."""
        return self._count == self._slots.size

    def lookup(self, keys: Int64s) -> Int64s:
        """Slots of keys within the range covered, -1 for those without one."""
        return self._slots[keys - self._base] if self._base else self._slots[keys]

    def together(self, keys: Int64s) -> Int64s | None:
        """The distinct keys without a slot, ascending, of keys within the range covered; None if they are too far apart."""
        low, high = int(keys.min()), int(keys.max())
        return None if high - low >= keys.size else self.unknown(keys, low, high)

    def unknown(self, keys: Int64s, low: int, high: int) -> Int64s:
        """The same for keys from low to high."""
        span = high - low + 1
        met = np.zeros(span, np.bool_)
        met[keys - low] = True
        found: Int64s = np.flatnonzero(met & (self._slots[low - self._base : low - self._base + span] == EMPTY)) + low
        return found

    def first_seen(self, keys: Int64s) -> Int64s:
        """Positions at which a key comes for the first time among `keys`, ascending; they are within the range, without slots."""
        at = keys - self._base
        mark = np.arange(EMPTY - 1, EMPTY - 1 - keys.size, -1)
        self._slots[at[::-1]] = mark[::-1]  # of several the one written last stays: the earliest
        first = np.flatnonzero(self._slots[at] == mark)
        self._slots[at[first]] = EMPTY
        return first

    def insert(self, keys: Int64s, slots: Int64s) -> None:
        """Add keys within the range covered that are distinct and not in the table."""
        self._slots[keys - self._base] = slots
        self._count += keys.size

    def remove(self, keys: Int64s) -> None:
        """Forget keys of the range covered."""
        at = keys - self._base
        self._count -= int(np.count_nonzero(self._slots[at] != EMPTY))
        self._slots[at] = EMPTY

    def items(self) -> tuple[Int64s, Int64s]:
        """All keys with their slots."""
        used = np.flatnonzero(self._slots != EMPTY)
        return used + self._base, self._slots[used]

    def keep(self, live: np.ndarray) -> None:
        """Forget keys whose slot is not live."""
        used = np.flatnonzero(self._slots != EMPTY)
        alive = live[self._slots[used]]
        self._slots[used[~alive]] = EMPTY
        self._count = int(np.count_nonzero(alive))
        self.trim()

    def trim(self) -> None:
        """Give back memory where the keys span less than half the range."""
        used = np.flatnonzero(self._slots != EMPTY)
        first, end = (int(used[0]), int(used[-1]) + 1) if used.size else (0, 0)
        if 2 * (end - first) < self._slots.size:
            self._slots = self._slots[first:end].copy()
            self._base += first
