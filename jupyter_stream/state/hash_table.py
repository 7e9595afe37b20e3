"""A map from int64 keys to slots whose every operation is on arrays: open addressing with linear probing.

Not a set of Python objects: a look-up of n keys is a few gathers over n (about 15 ns a key where a dictionary takes 100).
"""

from __future__ import annotations

import numpy as np

from jupyter_stream.core.messages import Int64s

EMPTY = -1
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio: spreads consecutive integers (Knuth, vol. 3, 6.4)


class HashTable:
    """Keys to slots. The load is kept under one half."""

    def __init__(self, bits: int = 10) -> None:
        self._reset(bits)

    def _reset(self, bits: int) -> None:
        self._bits = bits
        self._mask = (1 << bits) - 1
        self._keys = np.zeros(1 << bits, np.int64)
        self._slots = np.full(1 << bits, EMPTY, np.int64)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def bytes(self) -> int:
        """Bytes held."""
        return self._keys.nbytes + self._slots.nbytes

    def _home(self, keys: Int64s) -> Int64s:
        return ((keys.view(np.uint64) * _MULTIPLIER) >> np.uint64(64 - self._bits)).view(np.int64)

    def lookup(self, keys: Int64s) -> Int64s:
        """Slots of the keys, -1 for those not in the table."""
        at = self._home(keys)
        found = self._slots[at]
        pending = np.flatnonzero((found != EMPTY) & (self._keys[at] != keys))
        while pending.size:
            at_pending = (at[pending] + 1) & self._mask
            at[pending] = at_pending
            slots = self._slots[at_pending]
            found[pending] = slots
            pending = pending[(slots != EMPTY) & (self._keys[at_pending] != keys[pending])]
        return found

    def insert(self, keys: Int64s, slots: Int64s) -> None:
        """Add keys that are distinct and not in the table."""
        if 2 * (self._count + keys.size) > self._mask:
            old_keys, old_slots = self.items()
            self._reset(max(10, int(4 * (self._count + keys.size)).bit_length()))
            self.insert(old_keys, old_slots)
        self._count += keys.size
        at = self._home(keys)
        left = np.arange(keys.size)
        while left.size:
            spot = at[left]
            free = self._slots[spot] == EMPTY
            # several keys may want one place: all write, one is read back, the others go on
            self._slots[spot[free]] = slots[left[free]]
            won = np.zeros(left.size, np.bool_)
            won[free] = self._slots[spot[free]] == slots[left[free]]
            self._keys[spot[won]] = keys[left[won]]
            left = left[~won]
            at[left] = (at[left] + 1) & self._mask

    def first_seen(self, keys: Int64s) -> Int64s:
        """Positions at which a key comes for the first time among `keys`, ascending. Without sorting: 20 ns a key."""
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
        used = self._slots != EMPTY
        return self._keys[used], self._slots[used]

    def keep(self, live: np.ndarray) -> None:
        """Forget keys whose slot is not live (`live` is a mask over slots). Shrinks the table."""
        keys, slots = self.items()
        stay = live[slots]
        self._reset(max(10, int(4 * int(stay.sum())).bit_length()))
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

    def lookup_all(self, keys: Int64s) -> Int64s | None:
        """Slots of the keys if all have one, else None. Two passes where the table is full, three otherwise."""
        at = keys - self._base if self._base else keys
        # a key below the range becomes a huge number: one pass sees to both ends, and the gather needs no check
        if not self._slots.size or int(at.view(np.uint64).max()) >= self._slots.size:
            return None
        found = self._slots.take(at, mode="clip")
        return found if self._count == self._slots.size or int(found.min()) != EMPTY else None

    def lookup(self, keys: Int64s) -> Int64s:
        """Slots of keys within the range covered, -1 for those without one."""
        return self._slots[keys - self._base] if self._base else self._slots[keys]

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

    def items(self) -> tuple[Int64s, Int64s]:
        """All keys with their slots."""
        used = np.flatnonzero(self._slots != EMPTY)
        return used + self._base, self._slots[used]

    def keep(self, live: np.ndarray) -> None:
        """Forget keys whose slot is not live. Gives back memory where the live ones span less than half the range."""
        used = np.flatnonzero(self._slots != EMPTY)
        alive = live[self._slots[used]]
        self._slots[used[~alive]] = EMPTY
        stay = used[alive]
        self._count = stay.size
        first, end = (int(stay[0]), int(stay[-1]) + 1) if stay.size else (0, 0)
        if 2 * (end - first) < self._slots.size:
            self._slots = self._slots[first:end].copy()
            self._base += first
