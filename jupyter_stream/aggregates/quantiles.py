"""median and quantile, exact: from the counts of the window's distinct values. Not for estimates in constant memory."""

from __future__ import annotations

import math
from collections.abc import Sequence

import polars as pl

from jupyter_stream.aggregates.protocol import (
    VALUE,
    Algebra,
    Array,
    BadArguments,
    Dense,
    Differential,
    FrameForm,
    is_number,
)
from jupyter_stream.aggregates.value_counts import COUNT, ValueCounts
from jupyter_stream.core.schema import type_name


def interpolated(q: float) -> pl.Expr:
    """The value at position q (n - 1) of the n values in order, linear between its neighbours; NaN is greatest."""
    value = pl.col(VALUE).sort_by(VALUE)
    reached = pl.col(COUNT).sort_by(VALUE).cum_sum()
    position = (pl.col(COUNT).sum() - 1) * q
    low, high = position.floor(), position.ceil()
    share = position - low
    below, above = value.filter(reached > low).first(), value.filter(reached > high).first()
    # the weighted form, as Spark's percentile has it: above - below may be beyond a double, and equal neighbours don't round
    between = below * (1 - share) + above * share
    return pl.when((share == 0) | (below == above)).then(below).otherwise(between)


class _Quantile:
    name = ""
    algebra: Algebra = "holistic"
    differential: Differential = "pseudo"

    def _number(self, types: Sequence[pl.DataType], distinct: bool) -> None:
        if distinct:
            raise BadArguments(f"{self.name}(DISTINCT ...) isn't available in this version")
        if not (is_number(types[0]) or isinstance(types[0], pl.Null)):
            raise BadArguments(f"{self.name} takes a number, not {type_name(types[0])}")

    def finish(self, arrays: Sequence[Array], dtype: pl.DataType) -> pl.Series:
        """Never dense."""
        raise TypeError(f"{self.name} has no dense form")


class Median(_Quantile):
    """`median(x)`."""

    name = "median"
    signature = "median(x)"
    description = "Middle value, or the mean of the two in the middle; exact."
    example = "median(price)"
    constant_from: int | None = None

    def resolve(self, types: Sequence[pl.DataType], distinct: bool) -> tuple[tuple[pl.DataType, ...], pl.DataType]:
        """DOUBLE of any number."""
        if len(types) != 1:
            raise BadArguments(f"{self.name} takes one argument")
        self._number(types, distinct)
        return (pl.Float64(),), pl.Float64()

    def form(self, types: Sequence[pl.DataType], distinct: bool, parameters: Sequence[object]) -> Dense | FrameForm:
        """The counts of values."""
        return ValueCounts(interpolated(0.5))


class Quantile(_Quantile):
    """`quantile(x, q)`."""

    name = "quantile"
    signature = "quantile(x, q)"
    description = "The value below which a share q of the values lies, linear between neighbours; exact."
    example = "quantile(price, 0.9)"
    constant_from: int | None = 1

    def resolve(self, types: Sequence[pl.DataType], distinct: bool) -> tuple[tuple[pl.DataType, ...], pl.DataType]:
        """DOUBLE of any number."""
        if len(types) != 2:
            raise BadArguments(f"{self.name} takes a number and a share between 0 and 1")
        self._number(types, distinct)
        return (pl.Float64(), pl.Float64()), pl.Float64()

    def form(self, types: Sequence[pl.DataType], distinct: bool, parameters: Sequence[object]) -> Dense | FrameForm:
        """The counts of values. Raises `BadArguments` where q is no share."""
        (q,) = parameters
        if not isinstance(q, int | float) or not 0 <= q <= 1 or math.isnan(q):
            raise BadArguments("q must be between 0 and 1, the median being 0.5")
        return ValueCounts(interpolated(float(q)))
