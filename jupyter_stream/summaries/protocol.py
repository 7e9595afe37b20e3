"""What a summary is: the interface of promising-tuples paper §3.2, for all the cells of one time zone at once.

A stream is cut along two dimensions (§3.1): a hash of the value gives the *bucket*, the time gives the *zone*; where they
cross is a *cell*. A `Sketch` summarises the cells of one zone, so that a batch of rows or of questions is a handful of passes
over arrays.

Not for: which zones there are (`granularities`), what a query wants first (`priorities`), the rows themselves: those are held by
the queries, each as long as it may still look at them.
"""

from __future__ import annotations

from typing import Final, Literal, Protocol, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from jupyter_stream.core.messages import Int64s

Items: TypeAlias = NDArray[np.uint64]
"""Hashes of values, from `hashing.items_of`: the same value has the same hash in any batch and process."""
Float64s: TypeAlias = NDArray[np.float64]

Measure = Literal["count", "sum", "min", "max"]
"""What `SUMMARY.Estimate.Count`, `Sum`, `Min`, `Max` ask for."""
MEASURES: Final[tuple[Measure, ...]] = ("count", "sum", "min", "max")


class Sketch(Protocol):
    """A summary of the cells of one zone.

    Two sketches of the same shape (made by the same `SketchKind.empty`) can be added and subtracted.

    Attributes:
        cells: how many cells: numbers 0 to `cells - 1`, by the value's bucket.
        share: the variance of an estimate is this share of the sum of the squared frequencies of a cell; 0 where it isn't
            like that.
    """

    cells: int
    share: float

    @property
    def bytes(self) -> int:
        """Bytes held. Never more than the kind's `bytes(cells, measured)`, however many rows come."""

    @property
    def counts(self) -> Int64s:
        """The number of rows in each cell, exactly; shape (cells,)."""

    def summarize(self, cells: Int64s, items: Items, values: Float64s) -> None:
        """Take in rows.

        Args:
            cells: the cell of each row, shape (rows,).
            items: its value's hash, shape (rows,).
            values: what is measured of it, shape (measured columns, rows); NaN where it is NULL.
        """

    def estimate(self, cells: Int64s, items: Items, measure: Measure = "count", column: int = 0) -> Float64s:
        """Of each item, in the cell that goes with it: about how many rows, what sum, minimum, maximum of a measured column.

        Args:
            cells: shape (n,).
            items: shape (n,).
            measure: raises ValueError where the sketch cannot tell (`SketchKind.measures`).
            column: which of the measured columns.

        Returns:
            Shape (n,). Counts are in rows and may be off by the bound in the class's docstring; NaN where there is nothing to
            take a minimum or maximum of.
        """

    def places(self, cells: Int64s, items: Items) -> Int64s:
        """Where a sketch of this kind and shape knows of items in the cells that go with them; shape (k, n), k the kind's own.

        The same in each of them, so that a question to many sketches is made ready once.
        """

    def count_at(self, places: Int64s) -> Float64s:
        """Of items, by some of their `places`: the estimated count; shape (n,)."""

    def confidence(self) -> Float64s:
        """The variance of the estimated count of an item in each cell, in rows squared; shape (cells,). 0 is certainty."""

    def add(self, other: Self) -> None:
        """Take in all that another one has taken in."""

    def subtract(self, other: Self) -> None:
        """Take back all that another one has taken in, which this one has too."""

    def copy(self) -> Self:
        """Another one of the same contents."""


class SketchKind(Protocol):
    """A kind of summary, as it stands in the registry.

    Attributes:
        name: as it is written in a statement.
        description: a sentence for people, with the error bound.
        measures: what it can estimate.
    """

    name: str
    description: str
    measures: tuple[Measure, ...]

    def empty(self, cells: int, measured: int) -> Sketch:
        """A sketch of no rows; `cells` is a power of two, `measured` the number of measured columns."""

    def bytes(self, cells: int, measured: int) -> int:
        """The most bytes such a sketch ever holds."""
