"""The aggregate summary: rows, sum, minimum and maximum of the measured columns, for a cell as a whole."""

from __future__ import annotations

from typing import Self

import numpy as np

from jupyter_stream.core.messages import Int64s
from jupyter_stream.summaries.protocol import MEASURES, Float64s, Items, Measure


class AggregateCells:
    """Count, and of each measured column sum, minimum and maximum by cell.

    Error: exact of a cell (sums as doubles are). Of an item in it count is an upper bound, and minimum and maximum are bounds
    that all of its rows keep. After `subtract` minimum and maximum still are, though no longer the tightest.
    """

    share = 0.0

    def __init__(self, cells: int, measured: int) -> None:
        self.cells = cells
        self._rows = np.zeros(cells, np.int64)
        self._values = np.zeros((measured, cells), np.int64)  # rows whose value isn't NULL
        self._sum = np.zeros((measured, cells))
        self._min = np.full((measured, cells), np.inf)
        self._max = np.full((measured, cells), -np.inf)

    @property
    def bytes(self) -> int:
        """Bytes held."""
        return SummedBy().bytes(self.cells, self.columns)

    @property
    def counts(self) -> Int64s:
        """Rows of each cell."""
        return self._rows

    def summarize(self, cells: Int64s, items: Items, values: Float64s) -> None:
        """A few passes over each measured column."""
        self._rows += np.bincount(cells, minlength=self.cells)
        for column, measured in enumerate(values):
            there = ~np.isnan(measured)
            where, value = (cells, measured) if there.all() else (cells[there], measured[there])
            self._values[column] += np.bincount(where, minlength=self.cells)
            self._sum[column] += np.bincount(where, value, minlength=self.cells)
            np.minimum.at(self._min[column], where, value)
            np.maximum.at(self._max[column], where, value)

    def estimate(self, cells: Int64s, items: Items, measure: Measure = "count", column: int = 0) -> Float64s:
        """The cell's; NaN for the minimum and maximum of nothing."""
        if measure == "count":
            return self.count_at(self.places(cells, items))
        found: Float64s = {"sum": self._sum, "min": self._min, "max": self._max}[measure][column][cells]
        return found if measure == "sum" else np.where(self._values[column][cells] > 0, found, np.nan)

    def places(self, cells: Int64s, items: Items) -> Int64s:
        """The cell: items are not told apart."""
        return cells[None, :]

    def count_at(self, places: Int64s) -> Float64s:
        """The rows of the cell."""
        found: Float64s = self._rows.take(places[0]).astype(np.float64)
        return found

    @property
    def columns(self) -> int:
        """How many measured columns."""
        return len(self._sum)

    def mean(self, cells: Int64s, column: int) -> Float64s:
        """Of a measured column: its sum over the cell's rows, those that are NULL among them; 0 of no rows."""
        found: Float64s = self._sum[column][cells] / np.maximum(self._rows[cells], 1)
        return found

    def confidence(self) -> Float64s:
        """An item's count is anything from 0 to the cell's: no variance is above a quarter of its square (Popoviciu)."""
        return self._rows.astype(np.float64) ** 2 / 4

    def add(self, other: Self) -> None:
        """Cell by cell."""
        self._rows += other._rows
        self._values += other._values
        self._sum += other._sum
        np.minimum(self._min, other._min, out=self._min)
        np.maximum(self._max, other._max, out=self._max)

    def subtract(self, other: Self) -> None:
        """Counts and sums. What is left may have had the minimum or not: it stays a bound."""
        self._rows -= other._rows
        self._values -= other._values
        self._sum -= other._sum

    def copy(self) -> Self:
        """The same numbers."""
        found = type(self)(self.cells, self.columns)
        found.add(self)
        return found


class SummedBy:
    """`aggregate`."""

    name = "aggregate"
    description = "Rows, sum, minimum and maximum of each cell: exact for the cell, bounds for an item in it."
    measures = MEASURES

    def empty(self, cells: int, measured: int) -> AggregateCells:
        """No rows."""
        return AggregateCells(cells, measured)

    def bytes(self, cells: int, measured: int) -> int:
        """Eight bytes for each number."""
        return 8 * cells * (1 + 4 * measured)
