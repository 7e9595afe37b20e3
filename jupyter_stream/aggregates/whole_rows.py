"""The rows of an extent as they are: what a SELECT without aggregates gathers over a window with SLIDE.

Not called by users. Each row is kept once, in its pane, whatever number of extents hold it.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from jupyter_stream.aggregates.protocol import (
    VALUE,
    AggregateFunction,
    Algebra,
    Dense,
    Differential,
    FrameForm,
    grouped,
)

EXTENT = "$extent"
"""Its name in plans. It takes the rows' columns, at least one."""


def fields(columns: int) -> list[str]:
    """What the columns are called in the rows it gathers."""
    return [VALUE, *(f"{VALUE}{i}" for i in range(1, columns))]


class GatheredRows:
    """Columns of all rows, as they came: a list of structs.

    Args:
        columns: which.
    """

    extra: tuple[str, ...] = ()
    needs_time = False
    skips_nulls = False

    def __init__(self, columns: Sequence[str]) -> None:
        self._columns = list(columns)

    def update(self) -> list[pl.Expr]:
        """The rows."""
        return [pl.struct(self._columns).implode().alias(VALUE)]

    def merge(self) -> list[pl.Expr]:
        """All of them."""
        return [pl.col(VALUE).explode().implode()]

    def finish(self, partials: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
        """The rows as one list."""
        return grouped(partials, by, pl.col(VALUE).explode().implode())


class WholeRows(AggregateFunction):
    """The aggregate itself."""

    name = EXTENT
    signature = ""
    description = ""
    example = ""
    algebra: Algebra = "holistic"
    differential: Differential = "not"

    def resolve(self, types: Sequence[pl.DataType], distinct: bool) -> tuple[tuple[pl.DataType, ...], pl.DataType]:
        """A list of rows of these types."""
        row = pl.Struct([pl.Field(n, t) for n, t in zip(fields(len(types)), types, strict=True)])
        return tuple(types), pl.List(row)

    def form(self, types: Sequence[pl.DataType], distinct: bool, parameters: Sequence[object]) -> Dense | FrameForm:
        """The rows."""
        return GatheredRows(fields(len(types)))
