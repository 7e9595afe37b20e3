"""A histogram of each cell: rows per bin, where a value's bin is a few bits of its hash."""

from __future__ import annotations

from typing import Final, Self

import numpy as np

from jupyter_stream.core.messages import Int64s
from jupyter_stream.summaries.protocol import Float64s, Items, Measure

BINS: Final = 64
"""Per cell. A cell's items share them."""
_SHIFT: Final = np.uint64(20)  # bits no bucket uses


class HistogramSketch:
    """Rows per (cell, bin).

    Error: `true <= estimate <= true + other`, `other` being the rows of other items in the same bin of the cell. Over the choice
    of the hash `other` is `(rows of the cell - true) / BINS` on average: at most four times that in three
    cases of four (Markov).
    """

    share = 1 / BINS

    def __init__(self, cells: int) -> None:
        self.cells = cells
        self._bins = np.zeros((cells, BINS), np.int64)

    @property
    def bytes(self) -> int:
        """Bytes held."""
        return int(self._bins.nbytes)

    @property
    def counts(self) -> Int64s:
        """Rows of each cell."""
        found: Int64s = self._bins.sum(axis=1)
        return found

    def summarize(self, cells: Int64s, items: Items, values: Float64s) -> None:
        """One more in each row's bin."""
        self._bins += np.bincount(_place(cells, items), minlength=self._bins.size).reshape(self._bins.shape)

    def estimate(self, cells: Int64s, items: Items, measure: Measure = "count", column: int = 0) -> Float64s:
        """The rows of the item's bin."""
        if measure != "count":
            raise ValueError(f"a histogram has no {measure}")
        return self.count_at(self.places(cells, items))

    def places(self, cells: Int64s, items: Items) -> Int64s:
        """The item's bin."""
        return _place(cells, items)[None, :]

    def count_at(self, places: Int64s) -> Float64s:
        """The rows of the bin."""
        found: Float64s = self._bins.ravel().take(places[0]).astype(np.float64)
        return found

    def confidence(self) -> Float64s:
        """The variance of what other items add: they fall into the bin or not."""
        found: Float64s = (self._bins.astype(np.float64) ** 2).sum(axis=1) / BINS
        return found

    def add(self, other: Self) -> None:
        """Bin by bin."""
        self._bins += other._bins

    def subtract(self, other: Self) -> None:
        """Bin by bin."""
        self._bins -= other._bins

    def copy(self) -> Self:
        """The same bins."""
        found = type(self)(self.cells)
        found._bins[:] = self._bins
        return found


def _place(cells: Int64s, items: Items) -> Int64s:
    return cells * BINS + ((items >> _SHIFT) & np.uint64(BINS - 1)).astype(np.int64)


class Histogram:
    """`histogram`."""

    name = "histogram"
    description = (
        f"Rows per bin, {BINS} bins a cell: never too low, too high by 1/{BINS} of the cell's other rows on average."
    )
    measures: tuple[Measure, ...] = ("count",)

    def empty(self, cells: int, measured: int) -> HistogramSketch:
        """No rows."""
        return HistogramSketch(cells)

    def bytes(self, cells: int, measured: int) -> int:
        """Eight bytes a bin."""
        return 8 * cells * BINS
