"""A reservoir sample of each cell: the rows of the least random priorities, so that samples can be added and subtracted.

J. S. Vitter, "Random sampling with a reservoir", 1985, in the form of bottom-k sketches (Cohen, Kaplan, 2007): every row
draws a number; a cell keeps the rows that drew less than its threshold, which comes down when they are too many.
"""

from __future__ import annotations

from typing import Final, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from jupyter_stream.core.messages import Int64s
from jupyter_stream.summaries.hashing import mixed
from jupyter_stream.summaries.protocol import MEASURES, Float64s, Items, Measure

Cells: TypeAlias = NDArray[np.int32]
ROOM: Final = 32
"""Rows a cell keeps at most."""
_ALL: Final = np.uint64(2**64 - 1)


class SampleCells:
    """At most `ROOM` rows of each cell.

    Error: with N rows in the cell and m of them in the sample, a count is off by more than `N * sqrt(ln(2 / d) / (2 * m))`
    with a chance of at most d (Hoeffding, who allows for drawing without replacement); by `1.36 * N / sqrt(m)` in 5% of cases.
    Cells of at most `ROOM` rows are exact.
    """

    share = 0.0

    def __init__(self, cells: int, measured: int) -> None:
        self.cells = cells
        self._salt: np.uint64 | None = None
        self._drawn = 0
        self._rows = np.zeros(cells, np.int64)
        self._below = np.full(cells, _ALL)
        self._cell = np.zeros(0, np.int32)  # sorted; for each row of the sample its cell, priority, item, values
        self._priority = np.zeros(0, np.uint64)
        self._item = np.zeros(0, np.uint64)
        self._values = np.zeros((measured, 0))

    @property
    def bytes(self) -> int:
        """Bytes held."""
        held = (self._rows, self._below, self._cell, self._priority, self._item, self._values)
        return sum(int(a.nbytes) for a in held)

    @property
    def counts(self) -> Int64s:
        """Rows of each cell."""
        return self._rows

    def summarize(self, cells: Int64s, items: Items, values: Float64s) -> None:
        """Draw for each row; most are told at once that they are above the threshold."""
        self._rows += np.bincount(cells, minlength=self.cells)
        if not items.size:
            return
        if self._salt is None:  # taken from the data: the same stream draws the same again, two zones draw otherwise
            self._salt = np.uint64(mixed(items).sum())
        # the number of the row, too: two rows of an item are to draw twice
        numbers = np.arange(self._drawn, self._drawn + items.size, dtype=np.uint64)
        self._drawn += items.size
        priority = mixed(items ^ mixed(numbers ^ self._salt))
        chosen = np.flatnonzero(priority < self._below[cells])
        self._extend(cells[chosen].astype(np.int32), priority[chosen], items[chosen], values[:, chosen])

    def estimate(self, cells: Int64s, items: Items, measure: Measure = "count", column: int = 0) -> Float64s:
        """The sample's, as many times as the cell has more rows; minimum and maximum as they are."""
        if not self._item.size:
            return np.zeros(items.size) if measure in ("count", "sum") else np.full(items.size, np.nan)
        place, same, scale = self._found(cells, items)
        if measure == "count":
            return np.asarray(same.sum(axis=1) * scale, dtype=np.float64)
        value = self._values[column][place]
        same &= ~np.isnan(value)
        if measure == "sum":
            return np.asarray(np.where(same, value, 0.0).sum(axis=1) * scale, dtype=np.float64)
        nothing, least = (np.inf, np.minimum) if measure == "min" else (-np.inf, np.maximum)
        found = least.reduce(np.where(same, value, nothing), axis=1)
        return np.where(same.any(axis=1), found, np.nan)

    def places(self, cells: Int64s, items: Items) -> Int64s:
        """The cells and the items themselves."""
        return np.stack([cells, items.view(np.int64)])

    def count_at(self, places: Int64s) -> Float64s:
        """The sample's."""
        return self.estimate(places[0], places[1].view(np.uint64))

    def _found(self, cells: Int64s, items: Items) -> tuple[Int64s, NDArray[np.bool_], Float64s]:
        """The sampled rows of each item's cell, which are the item's, and how many rows each stands for."""
        begin, end = np.searchsorted(self._cell, cells, "left"), np.searchsorted(self._cell, cells, "right")
        place = begin[:, None] + np.arange(ROOM)
        there = place < end[:, None]
        place = np.where(there, place, 0)
        same = there & (self._item[place] == items[:, None])
        return place, same, self._rows[cells] / np.maximum(end - begin, 1)

    def confidence(self) -> Float64s:
        """`N * N / (4 m)`, the most the variance of a share of the sample can be, times `N * N`; 0 where all rows are in it."""
        many = np.bincount(self._cell, minlength=self.cells)
        return np.where(many >= self._rows, 0.0, self._rows.astype(np.float64) ** 2 / (4 * np.maximum(many, 1)))

    def add(self, other: Self) -> None:
        """Both samples, below the lower threshold."""
        self._rows += other._rows
        self._drawn += other._drawn
        self._below = np.minimum(self._below, other._below)
        self._extend(other._cell, other._priority, other._item, other._values)

    def subtract(self, other: Self) -> None:
        """Those of the other's rows that are in this sample. It is then as fair as before, only smaller."""
        self._rows -= other._rows
        order = np.argsort(self._priority, kind="stable")
        mine, theirs = self._priority[order], np.sort(other._priority)
        nth = np.arange(mine.size) - np.searchsorted(mine, mine)  # zones that begin alike draw alike: one for one
        gone = nth < np.searchsorted(theirs, mine, "right") - np.searchsorted(theirs, mine)
        self._keep(np.sort(order[~gone]))

    def copy(self) -> Self:
        """The same sample."""
        found = type(self)(self.cells, len(self._values))
        found.add(self)
        found._salt = self._salt
        return found

    def _extend(self, cell: Cells, priority: Items, item: Items, values: Float64s) -> None:
        """Put rows in, and lower thresholds until every cell has room."""
        self._cell = np.concatenate([self._cell, cell])
        self._priority = np.concatenate([self._priority, priority])
        self._item = np.concatenate([self._item, item])
        self._values = np.concatenate([self._values, values], axis=1)
        order = np.lexsort((self._priority, self._cell))
        begin = np.searchsorted(self._cell[order], np.arange(self.cells))
        rank = np.arange(order.size) - begin[self._cell[order]]
        full = order[rank == ROOM]
        self._below[self._cell[full]] = np.minimum(self._below[self._cell[full]], self._priority[full])
        self._keep(order[self._priority[order] < self._below[self._cell[order]]])

    def _keep(self, places: Int64s) -> None:
        self._cell, self._priority, self._item = self._cell[places], self._priority[places], self._item[places]
        self._values = self._values[:, places]


class RandomSample:
    """`sample`."""

    name = "sample"
    description = (
        f"{ROOM} random rows of each cell: a count is off by at most 1.36 / sqrt({ROOM}) of the cell in 95% of cases."
    )
    measures = MEASURES

    def empty(self, cells: int, measured: int) -> SampleCells:
        """No rows."""
        return SampleCells(cells, measured)

    def bytes(self, cells: int, measured: int) -> int:
        """Of each row cell, priority, item and values; of each cell rows and threshold."""
        return cells * (ROOM * (4 + 8 + 8 + 8 * measured) + 16)
