"""A chart as plain data: axes, layers of shapes, legend, rows to read. Knows neither Bokeh nor SVG; both draw it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Ragged:
    """A list of arrays, flat: array i is `values[offsets[i]:offsets[i + 1]]`."""

    values: Floats
    offsets: NDArray[np.int64]

    @classmethod
    def of(cls, arrays: list[Floats]) -> Ragged:
        """From the arrays themselves."""
        flat = np.concatenate(arrays) if arrays else np.empty(0)
        return cls(flat, np.concatenate(([0], np.cumsum([len(a) for a in arrays], dtype=np.int64))).astype(np.int64))

    def arrays(self) -> list[Floats]:
        """The arrays again, as views."""
        return [self.values[a:b] for a, b in zip(self.offsets[:-1], self.offsets[1:], strict=True)]


Column: TypeAlias = "Floats | list[str] | Ragged"


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis.

    Attributes:
        label: the word on it, unit included.
        kind: time (milliseconds since the epoch, UTC), number, or category (factor i is centred at i + 0.5).
        low: where it begins.
        high: where it ends.
        factors: the categories.
    """

    label: str
    kind: Literal["time", "number", "category"]
    low: float = 0.0
    high: float = 1.0
    factors: tuple[str, ...] = ()


LayerKind: TypeAlias = Literal["lines", "areas", "points", "boxes", "late"]


@dataclass(frozen=True, slots=True, eq=False)
class Layer:
    """Shapes of one kind.

    Attributes:
        kind: what they are, and so which columns there are beside `color` and `alpha`:
            lines and areas have Ragged `xs`, `ys`; points have `x`, `y`, `row`; boxes `left`, `right`, `top`, `bottom`, `row`.
            `row` is the index in the picture's rows that a pointer over the shape shows. Late rows have `x`, `y` and `late`,
            the index in the picture's late rows.
        columns: equally long columns.
    """

    kind: LayerKind
    columns: dict[str, Column]


@dataclass(frozen=True, slots=True)
class Table:
    """Rows to read, as text, column by column.

    Attributes:
        names: the headings.
        columns: for each heading its cells.
        numeric: for each heading whether it is set flush right.
        light: for each row whether it is provisional.
        frame: the rows themselves.
    """

    names: tuple[str, ...] = ()
    columns: tuple[list[str], ...] = ()
    numeric: tuple[bool, ...] = ()
    light: tuple[bool, ...] = ()
    frame: pl.DataFrame | None = field(default=None, repr=False, compare=False)

    @property
    def height(self) -> int:
        """How many rows."""
        return len(self.columns[0]) if self.columns else 0


@dataclass(frozen=True, slots=True)
class Scale:
    """What colours mean where they stand for amounts.

    Attributes:
        label: the word for the amount, unit included.
        low: the least, in words.
        high: the most.
        colours: from the least to the most.
    """

    label: str
    low: str
    high: str
    colours: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Picture:
    """A chart, drawn or to be read.

    Attributes:
        kind: plot (axes and layers), table, or number.
        rows: the rows behind the shapes, or the table, or the numbers (one row).
        x: horizontal axis of a plot.
        y: vertical axis of a plot.
        layers: shapes of a plot, the first at the bottom.
        legend: (label, colour) pairs.
        provisional: whether anything in it is drawn light because it is not final.
        watermark: where the dashed line of the low-watermark stands on x; None for none.
        note: one line under the chart ("30 of 412 bars"), None mostly.
        total: of a table, how many rows there are, those in it and others; None of what is no table.
        ranked: which rows a table has, where they are the largest: what its foot says behind the count.
        scale: of a plot whose colours are amounts.
        panels: (title, picture) of small multiples. They have the axes above, and their rows are those of `rows`.
        keys: of a table whose rows are one each for a key, the columns that are it.
        past: of numbers, for each its values up to now.
        shades: of numbers that are keys', for each the key's colour.
        late: rows that came too late, in words, for the layers of late rows.
        beyond: whether anything in it is drawn light because its window reaches past the end of the data.
        steady: columns of a table that say when, and don't light up as time goes on.
    """

    kind: Literal["plot", "table", "number"]
    rows: Table
    x: Axis | None = None
    y: Axis | None = None
    layers: tuple[Layer, ...] = ()
    legend: tuple[tuple[str, str], ...] = field(default=())
    provisional: bool = False
    watermark: float | None = None
    note: str | None = None
    total: int | None = None
    ranked: str = ""
    scale: Scale | None = None
    panels: tuple[tuple[str, Picture], ...] = ()
    keys: tuple[int, ...] = ()
    past: tuple[Floats, ...] = ()
    shades: tuple[str, ...] = ()
    late: Table | None = None
    beyond: bool = False
    steady: tuple[int, ...] = ()

    def foot(self, shown: int) -> str | None:
        """The line under the picture where so many of its rows are shown: `showing 10 of 1,548`."""
        if self.total is None or self.total <= shown:
            return self.note
        return f"showing {shown:,} of {self.total:,}{self.ranked}"

    @property
    def signs(self) -> tuple[tuple[str, str], ...]:
        """What else stands in the legend, and how: light, dashed or a cross."""
        shown = (
            (self.provisional, "not final yet", "light"),
            (self.beyond, "past the end of the data", "light"),
            (self.watermark is not None, "watermark", "dashed"),
            (self.late is not None and self.late.height > 0, "late rows", "cross"),
        )
        return tuple((words, how) for there, words, how in shown if there)
