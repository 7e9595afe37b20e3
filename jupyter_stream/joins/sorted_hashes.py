"""Candidates of many rows at once: hashes of both sides are sorted together, and those that are equal become neighbours.

Where about as many rows come as are kept, this takes less than making an index and asking it: both go through memory in order
(12 ns a row), while every look into a table of a few megabytes waits for memory (a row's way in and a look about 100 ns).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

import numpy as np

from jupyter_stream.arrays.two_threads import in_parallel
from jupyter_stream.core.messages import Int64s
from jupyter_stream.keys.join_keys import Hashes

ROW_BITS: Final = 22
MOST_ROWS: Final = 1 << ROW_BITS
ROW_MASK: Final = np.uint64(MOST_ROWS - 1)
_BLOCK: Final = 65_536
"""Rows looked at at a time, so that what is computed of them stays in the processor's cache; in smaller pieces two threads take
longer to hand the interpreter to each other than to compute."""
_PIECE: Final = 4 * _BLOCK
"""Rows numbered at a time, by one of two threads."""


class Neighbours:
    """Rows of both sides in the order of their hashes, those kept before those that are new where these are equal.

    Args:
        kept: hashes of the rows kept, in pieces that are numbered through.
        new: those of the new rows.
    """

    def __init__(self, kept: Sequence[Hashes], new: Hashes) -> None:
        self._kept = sum(hashes.size for hashes in kept)
        self._order = np.empty(self._kept + new.size, np.uint64)
        pieces = []
        begin = 0
        for hashes in (*kept, new):
            for first in range(0, hashes.size, _PIECE):
                pieces.append(partial(self._enter, begin + first, hashes[first : first + _PIECE]))
            begin += hashes.size
        in_parallel(pieces)
        _sort(self._order)
        blocks = range(0, self._order.size - 1, _BLOCK)
        met = in_parallel([partial(self._met, begin) for begin in blocks])
        self.places: Int64s = np.concatenate(met) if met else np.empty(0, np.int64)
        """Where a row and the next have the same hash."""

    def _enter(self, begin: int, hashes: Hashes) -> None:
        some = self._order[begin : begin + hashes.size]
        np.bitwise_and(hashes, ~ROW_MASK, out=some)
        some |= np.arange(begin, begin + hashes.size, dtype=np.uint64)

    def _met(self, begin: int) -> Int64s:
        some = self._order[begin : begin + _BLOCK + 1]
        found: Int64s = np.flatnonzero((some[1:] ^ some[:-1]) <= ROW_MASK)
        found += begin
        return found

    @property
    def distinct(self) -> bool:
        """Whether no more than two rows have the same hash."""
        return not (self.places[1:] - self.places[:-1] == 1).any()

    def couples(self, begin: int, end: int) -> tuple[Int64s, Int64s]:
        """Of some of the places, where hashes are `distinct`, the pairs: numbers of new rows and of those kept."""
        at = self.places[begin:end]
        one, two = self._order.take(at), self._order.take(at + 1)
        one &= ROW_MASK
        two &= ROW_MASK
        kept: Int64s = one.view(np.int64)
        new: Int64s = two.view(np.int64)
        meet = (kept < self._kept) & (new >= self._kept)
        if not meet.all():
            kept, new = kept.compress(meet), new.compress(meet)
        new -= self._kept
        return new, kept

    def groups(self) -> tuple[Int64s, Int64s, Int64s, Int64s]:
        """The pairs, whatever the hashes.

        Returns:
            Numbers of new rows; for each where what it meets begins and where it ends; numbers of rows, where those are.
        """
        met = np.zeros(self._order.size, np.bool_)
        met[self.places] = True
        inside = met.copy()
        inside[1:] |= met[:-1]
        places = np.flatnonzero(inside)
        rows = (self._order.take(places) & ROW_MASK).view(np.int64)
        numbers = np.arange(rows.size)
        opens = np.ones(rows.size, np.bool_)
        opens[1:] = ~met.take(places[1:] - 1)
        first = np.maximum.accumulate(np.where(opens, numbers, 0))
        is_new = rows >= self._kept
        kept = np.cumsum(~is_new)
        new = np.flatnonzero(is_new)
        begin = first.take(new)
        # those kept are at the beginning of their group
        many = kept.take(new) - kept.take(begin) + ~is_new.take(begin)
        some = many > 0
        new, begin, many = new[some], begin[some], many[some]
        return rows.take(new) - self._kept, begin, begin + many, rows


def _sort(order: Hashes) -> None:
    """In place, by two threads once each half holds what belongs to it."""
    if order.size < 2 * _BLOCK:
        order.sort()
        return
    half = order.size // 2
    order.partition(half)  # 2 ns a row
    in_parallel([order[:half].sort, order[half:].sort])


__all__ = ["MOST_ROWS", "ROW_BITS", "ROW_MASK", "Neighbours"]
