"""Folds over ranges of ranks, in rings: sums of whole numbers by differences, other folds by a tree over each ring.

What is asked costs the logarithm of a range's length, what comes that of its ring's room, whatever is held.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import DTypeLike

from jupyter_stream.aggregates import Partial
from jupyter_stream.arrays.runs import begins_run, run_starts
from jupyter_stream.core.messages import Array, Int64s
from jupyter_stream.partials.rings import Rings, RingValues

_FEW: Final = 4
"""Ranges, or places, up to which one after the other takes less than all at once."""


@dataclass(frozen=True)
class RankedRows:
    """Rows that have come, those of a partition together and in order.

    Attributes:
        slots: the partition of each.
        ranks: which of its partition's rows it is.
        heads: which are the first of their partitions.
        places: where each is in the rings.
        following: where the one that comes behind it is.
        bits: none of their rings has more than `2 ** bits` places.
    """

    slots: Int64s
    ranks: Int64s
    heads: Int64s
    places: Int64s
    following: Int64s
    bits: int

    @classmethod
    def of(cls, rings: Rings, slots: Int64s) -> RankedRows:
        """Rows of these partitions come now."""
        if slots.size == 1:
            heads = np.zeros(1, np.int64)
            ranks = rings.extend(slots, np.ones(1, np.int64))
        else:
            heads = run_starts(slots)
            counts = np.diff(heads, append=slots.size)
            first = rings.extend(slots[heads], counts)
            ranks = np.arange(slots.size) + np.repeat(first - heads, counts)
        touched = slots[heads]
        return cls(slots, ranks, heads, rings.places(slots, ranks), rings.places(slots, ranks + 1), rings.bits(touched))

    @property
    def lasts(self) -> Int64s:
        """Which are the last of their partitions."""
        return np.append(self.heads[1:], self.slots.size) - 1


@dataclass(frozen=True)
class RankRanges:
    """Ranks from `first` to before `stop` of partitions; `stop` is no less.

    Attributes:
        rings: where they are.
        slots: the partition of each.
        first: its first rank.
        stop: one past its last.
        begin: where the first is.
        end: where the one past the last is.
    """

    rings: Rings
    slots: Int64s
    first: Int64s
    stop: Int64s
    begin: Int64s
    end: Int64s

    @classmethod
    def of(cls, rings: Rings, slots: Int64s, first: Int64s, stop: Int64s) -> RankRanges:
        """These ranks."""
        return cls(rings, slots, first, stop, rings.places(slots, first), rings.places(slots, stop))


class RingFold(Protocol):
    """What each row adds, and folds over it."""

    def append(self, rows: RankedRows, values: Array) -> None:
        """Rows have come, with what each adds."""

    def amend(self, last: Int64s, following: Int64s, values: Array, bits: int) -> None:
        """The last ranks of partitions add more than they did.

        Args:
            last: where these ranks are.
            following: where those are that come behind them.
            values: what else they add.
            bits: none of their rings has more than `2 ** bits` places.
        """

    def over(self, ranges: RankRanges) -> Array:
        """The fold over each range; that of nothing where it is empty."""


class RingCounts:
    """How many ranks there are, where each counts: nothing is kept for it."""

    def append(self, rows: RankedRows, values: Array) -> None:
        return

    def amend(self, last: Int64s, following: Int64s, values: Array, bits: int) -> None:
        return

    def over(self, ranges: RankRanges) -> Array:
        return np.asarray(ranges.stop - ranges.first)


class RingSums:
    """Sums of whole numbers, exact modulo 2**64: for each rank the sum of those before it.

    Args:
        rings: where ranks are.
    """

    def __init__(self, rings: Rings) -> None:
        self._before = RingValues()
        rings.columns.append(self._before)

    def append(self, rows: RankedRows, values: Array) -> None:
        heads, before = rows.heads, self._before.held
        if values.size == 1:
            before[rows.following] = before[rows.places] + values
            return
        running = np.cumsum(values)
        base = before[rows.places[heads]] - (running[heads] - values[heads])
        before[rows.following] = running + np.repeat(base, np.diff(heads, append=values.size))

    def amend(self, last: Int64s, following: Int64s, values: Array, bits: int) -> None:
        self._before.held[following] += values

    def over(self, ranges: RankRanges) -> Array:
        before = self._before.held
        return np.asarray(before[ranges.end] - before[ranges.begin])


class RingTree:
    """Any fold: for each stretch of 2, 4, 8, ... ranks that begins at a multiple of its length, the fold over it.

    Ranges of floats are so put together from the same stretches, whatever rows came in one batch.

    Args:
        rings: where ranks are.
        fold: associative.
        dtype: of the values.
        nothing: the fold of nothing.
    """

    def __init__(self, rings: Rings, fold: np.ufunc, dtype: DTypeLike, nothing: float) -> None:
        self._fold = fold
        self._nothing = nothing
        self._levels: list[Array] = [np.zeros(0, dtype)]
        rings.columns.append(self)

    @property
    def bytes(self) -> int:
        return sum(level.nbytes for level in self._levels)

    def clear(self, size: int) -> None:
        dtype, levels = self._levels[0].dtype, max(size, 1).bit_length()
        self._levels = [np.zeros(size >> level, dtype) for level in range(levels)]

    def read(self, places: Int64s) -> Array:
        return self._levels[0][places]

    def write(self, places: Int64s, values: Array, bits: int) -> None:
        levels, fold = self._levels, self._fold
        levels[0][places] = values
        with np.errstate(
            invalid="ignore", over="ignore"
        ):  # what is behind the last rank is anything, and not asked for
            if places.size <= _FEW:
                for place in places.tolist():
                    for below, level in pairwise(levels[: bits + 1]):
                        place >>= 1
                        level[place] = fold(below[2 * place], below[2 * place + 1])
                return
            for below, level in pairwise(levels[: bits + 1]):
                places = places >> 1
                places = places[begins_run(places)]  # neighbours have one above them
                level[places] = fold(below[2 * places], below[2 * places + 1])

    def append(self, rows: RankedRows, values: Array) -> None:
        self.write(rows.places, values, rows.bits)

    def amend(self, last: Int64s, following: Int64s, values: Array, bits: int) -> None:
        with np.errstate(invalid="ignore"):
            self.write(last, self._fold(self._levels[0][last], values), bits)

    def over(self, ranges: RankRanges) -> Array:
        first, stop = ranges.first, ranges.stop
        at, room = ranges.rings.rings(ranges.slots)
        with np.errstate(invalid="ignore"):  # infinities of both signs make a NaN, as they should
            if first.size <= _FEW:
                each = zip(at.tolist(), (room - 1).tolist(), first.tolist(), stop.tolist(), strict=True)
                return np.array([self._one(*range_) for range_ in each], self._levels[0].dtype)
            return self._many(at, room - 1, first, stop)

    def _one(self, at: int, mask: int, first: int, stop: int) -> Any:
        fold = self._fold
        left = right = self._levels[0].dtype.type(self._nothing)
        for level in self._levels:
            if first >= stop:
                break
            if first & 1:
                left = fold(left, level[at + (first & mask)])
                first += 1
            if stop & 1:
                stop -= 1
                right = fold(level[at + (stop & mask)], right)
            at, mask, first, stop = at >> 1, mask >> 1, first >> 1, stop >> 1
        return fold(left, right)

    def _many(self, at: Int64s, mask: Int64s, first: Int64s, stop: Int64s) -> Array:
        fold = self._fold
        left = np.full(at.size, self._nothing, self._levels[0].dtype)
        right = left.copy()
        for level in self._levels:
            some = first < stop
            if not some.any():
                break
            now = np.flatnonzero((first & 1).astype(np.bool_) & some)
            left[now] = fold(left[now], level[at[now] + (first[now] & mask[now])])
            now = np.flatnonzero((stop & 1).astype(np.bool_) & some)
            right[now] = fold(level[at[now] + ((stop[now] - 1) & mask[now])], right[now])
            at, mask, first, stop = at >> 1, mask >> 1, (first + 1) >> 1, stop >> 1
        return np.asarray(fold(left, right))


def ring_folds(rings: Rings, partial: Partial) -> list[RingFold]:
    """How a partial result is kept; a sum of whole numbers as two halves, so that only the answer can overflow."""
    if partial.op == "count":
        return [RingSums(rings)]
    if partial.op == "sum" and partial.kind == "int":
        return [RingSums(rings), RingSums(rings)]
    dtype = np.float64 if partial.kind == "float" else np.int64
    return [RingTree(rings, partial.fold, dtype, partial.identity)]


__all__ = ["RankRanges", "RankedRows", "RingCounts", "RingFold", "RingSums", "RingTree", "ring_folds"]
