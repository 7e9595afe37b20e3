"""count: of rows, of non-NULL values, of distinct values."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from jupyter_stream.aggregates.protocol import (
    SLOT,
    VALUE,
    Addition,
    AggregateFunction,
    Algebra,
    BadArguments,
    Dense,
    Differential,
    FrameForm,
    Partial,
    Sums,
    grouped,
)
from jupyter_stream.core.messages import Array


class DistinctValues:
    """The set of a group's distinct values: a partial is the values themselves. Holistic, exact."""

    extra = (VALUE,)
    needs_time = False
    skips_nulls = True

    def __init__(self, answer: pl.Expr, counts: bool = False) -> None:
        self._answer = answer
        self.counts = counts
        """Whether the answer is how many values there are."""

    def update(self) -> list[pl.Expr]:
        """Nothing beside the keys."""
        return []

    def merge(self) -> list[pl.Expr]:
        """Nothing beside the keys."""
        return []

    def finish(self, partials: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
        """Whatever is computed over the distinct values `v`."""
        return grouped(partials, by, self._answer)


def _counted(sums: Sums, dtype: pl.DataType) -> tuple[pl.Series, None]:
    return pl.Series(sums.count).cast(dtype), None


class Count(AggregateFunction):
    """`count(*)`, `count(x)`, `count(DISTINCT x)`."""

    name = "count"
    signature = "count(*) | count([DISTINCT] x)"
    description = "Number of rows, of non-NULL values, or of distinct non-NULL values."
    example = "count(DISTINCT destIP)"
    of_nothing = 0
    stretch = Addition(0, _counted)
    algebra: Algebra = "distributive"
    differential: Differential = "fully"

    def resolve(self, types: Sequence[pl.DataType], distinct: bool) -> tuple[tuple[pl.DataType, ...], pl.DataType]:
        """BIGINT of anything."""
        if len(types) > 1:
            raise BadArguments("count takes one argument; write count(DISTINCT struct(a, b)) to count pairs")
        if distinct and not types:
            raise BadArguments("count(DISTINCT ...) needs something to count")
        return tuple(types), pl.Int64()

    def form(self, types: Sequence[pl.DataType], distinct: bool, parameters: Sequence[object]) -> Dense | FrameForm:
        """One counter, or the distinct values."""
        if distinct:
            return DistinctValues(pl.len().cast(pl.Int64), counts=True)
        return Dense((Partial("count"),))

    def finish(self, arrays: Sequence[Array], dtype: pl.DataType) -> pl.Series:
        """The counter."""
        return pl.Series(arrays[0])


__all__ = ["SLOT", "Count", "DistinctValues"]
