"""The count-sketch: the choice of the promising-tuples paper, and the default.

M. Charikar, K. Chen, M. Farach-Colton, "Finding frequent items in data streams", 2002.

A cell has `DEPTH` rows of `WIDTH` counters. An item adds its sign, +1 or -1, to one counter of each row; its estimate is the
median over the rows of counter times sign, in which other items cancel out on average.
"""

from __future__ import annotations

from typing import Final, Self

import numpy as np

from jupyter_stream.core.messages import Int64s
from jupyter_stream.summaries.aggregate import AggregateCells, SummedBy
from jupyter_stream.summaries.protocol import MEASURES, Float64s, Items, Measure

DEPTH: Final = 3
_WIDTH_BITS: Final = 5
WIDTH: Final = 1 << _WIDTH_BITS
_CELL: Final = DEPTH * WIDTH
_PIECE: Final = 16_384
"""Rows at a time: what is worked out of them stays in the cache. 22 ns a row instead of 35 for 65,536."""


class CountSketchCells:
    """Counters by (cell, row, column).

    Error: with `F2` the sum of squared frequencies of the cell's other items, one row's estimate has no bias and variance
    `F2 / WIDTH`; the median of three is off by more than `sqrt(8 * F2 / WIDTH)` in fewer than 5% of cases (Chebyshev for
    one row: 1/8; for two of three: 3/64 - 2/512).
    """

    share = 1 / WIDTH

    def __init__(self, cells: int, measured: int) -> None:
        self.cells = cells
        self._measured = AggregateCells(cells, measured) if measured else None
        self._counters = np.zeros(cells * _CELL, np.int64)
        self._rows = np.zeros(cells, np.int64)

    @property
    def bytes(self) -> int:
        """Bytes held."""
        return CountSketch().bytes(self.cells, self._measured.columns if self._measured else 0)

    @property
    def counts(self) -> Int64s:
        """Rows of each cell."""
        return self._rows

    def summarize(self, cells: Int64s, items: Items, values: Float64s) -> None:
        """A sign into one counter of each row.

        Of many rows the plus and minus signs are counted apart, which is three times as fast as adding signs up.
        """
        self._rows += np.bincount(cells, minlength=self.cells)
        for begin in range(0, items.size, _PIECE):
            piece = slice(begin, begin + _PIECE)
            if items[piece].size < self.cells * _CELL // 2:
                self._add_signs(cells[piece], items[piece])
            else:
                self._count_signs(cells[piece], items[piece])
        if self._measured:
            self._measured.summarize(cells, items, values)

    def _add_signs(self, cells: Int64s, items: Items) -> None:
        for row in range(DEPTH):
            bits = _bits(items, row)
            np.add.at(self._counters, cells * _CELL + row * WIDTH + (bits & (WIDTH - 1)), 1 - 2 * (bits >> _WIDTH_BITS))

    def _count_signs(self, cells: Int64s, items: Items) -> None:
        both = np.zeros(2 * self._counters.size, np.int64)
        begin = cells * (2 * _CELL)
        for row in range(DEPTH):
            bits = _bits(items, row)
            bits += begin
            both += np.bincount(bits, minlength=both.size)
            begin += 2 * WIDTH
        signed = both.reshape(-1, 2, WIDTH)
        self._counters += (signed[:, 0] - signed[:, 1]).ravel()

    def estimate(self, cells: Int64s, items: Items, measure: Measure = "count", column: int = 0) -> Float64s:
        """The median of the rows' estimates, not below 0.

        A sum is that times the cell's mean; minimum and maximum are the cell's.
        """
        if measure == "count":
            return self.count_at(self.places(cells, items))
        if self._measured is None:
            raise ValueError(f"a count-sketch without measured columns has no {measure}")
        if measure == "sum":
            return self.count_at(self.places(cells, items)) * self._measured.mean(cells, column)
        return self._measured.estimate(cells, items, measure, column)

    def places(self, cells: Int64s, items: Items) -> Int64s:
        """Of each row of counters the item's counter, times two, and its sign below."""
        found = np.empty((DEPTH, items.size), np.int64)
        for row in range(DEPTH):
            bits = _bits(items, row)
            found[row] = (cells * _CELL + (row * WIDTH) + (bits & (WIDTH - 1))) * 2 + (bits >> _WIDTH_BITS)
        return found

    def count_at(self, places: Int64s) -> Float64s:
        """The median over the rows."""
        found = self._counters.take(places >> 1)
        first, second, third = np.where(places & 1, -found, found)
        median = np.maximum(np.minimum(first, second), np.minimum(np.maximum(first, second), third))
        counts: Float64s = np.maximum(median, 0).astype(np.float64)
        return counts

    def confidence(self) -> Float64s:
        """`F2 / WIDTH`; `F2` is the median over rows of the sum of squared counters (Alon, Matias, Szegedy)."""
        squares = (self._counters.reshape(self.cells, DEPTH, WIDTH).astype(np.float64) ** 2).sum(axis=2)
        found: Float64s = np.median(squares, axis=1) / WIDTH
        return found

    def add(self, other: Self) -> None:
        """Counter by counter: it is linear."""
        self._counters += other._counters
        self._rows += other._rows
        if self._measured and other._measured:
            self._measured.add(other._measured)

    def subtract(self, other: Self) -> None:
        """Counter by counter."""
        self._counters -= other._counters
        self._rows -= other._rows
        if self._measured and other._measured:
            self._measured.subtract(other._measured)

    def copy(self) -> Self:
        """The same counters."""
        found = type(self)(self.cells, 0)
        found._counters, found._rows = self._counters.copy(), self._rows.copy()
        found._measured = None if self._measured is None else self._measured.copy()
        return found


def _bits(items: Items, row: int) -> Int64s:
    """A column and, above it, a bit for the sign: cut out of the item's lower bits, other ones for each row."""
    bits = items >> np.uint64(row * (_WIDTH_BITS + 1))
    bits &= np.uint64(2 * WIDTH - 1)
    return bits.view(np.int64)


class CountSketch:
    """`count_sketch`."""

    name = "count_sketch"
    description = f"Signed counters, {DEPTH} x {WIDTH} a cell: off by at most sqrt(F2 / {WIDTH // 8}) in 95% of cases."
    measures = MEASURES

    def empty(self, cells: int, measured: int) -> CountSketchCells:
        """No rows."""
        return CountSketchCells(cells, measured)

    def bytes(self, cells: int, measured: int) -> int:
        """Eight bytes a counter, and the rows of each cell; of measured columns its aggregates."""
        return 8 * cells * (_CELL + 1) + (SummedBy().bytes(cells, measured) if measured else 0)
