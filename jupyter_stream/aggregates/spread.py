"""Variances and standard deviations, from count, mean and sum of squared deviations per part.

Parts are merged by the formula of Chan, Golub and LeVeque ("Updating formulae and a pairwise algorithm for computing sample
variances", 1979): no sum of squares is ever formed, so values far from zero, or a huge one that has left the window, cost
no digits.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from jupyter_stream.aggregates.count import DistinctValues
from jupyter_stream.aggregates.protocol import (
    VALUE,
    Addition,
    AggregateFunction,
    Algebra,
    BadArguments,
    Dense,
    Differential,
    FrameForm,
    Sums,
    as_series,
    check_one,
    grouped,
    is_number,
)
from jupyter_stream.arrays.exact import variance
from jupyter_stream.core.schema import type_name


class Moments:
    """Count, mean and sum of squared deviations from it."""

    extra: tuple[str, ...] = ()
    needs_time = False
    skips_nulls = True

    def __init__(self, ddof: int, root: bool) -> None:
        self._ddof = ddof
        self._root = root

    def update(self) -> list[pl.Expr]:
        """The moments of values."""
        value = pl.col(VALUE)
        n = value.len().cast(pl.Float64)
        return [n.alias("n"), value.mean().alias("mean"), (value.var(ddof=0) * n).alias("m2")]

    def merge(self) -> list[pl.Expr]:
        """The moments of parts."""
        n, mean, m2 = self._merged()
        return [n.alias("n"), mean.alias("mean"), m2.alias("m2")]

    def finish(self, partials: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
        """m2 / (n - ddof), or its root; NULL of fewer than 1 + ddof values."""
        n, _, m2 = self._merged()
        variance = m2 / (n - self._ddof)
        return grouped(partials, by, pl.when(n > self._ddof).then(variance.sqrt() if self._root else variance))

    @staticmethod
    def _merged() -> tuple[pl.Expr, pl.Expr, pl.Expr]:
        n, mean, m2 = pl.col("n"), pl.col("mean"), pl.col("m2")
        total = n.sum()
        # one part is its own mean exactly; the weighted mean might round
        whole = pl.when(pl.len() == 1).then(mean.first()).otherwise((mean * (n / total)).sum())
        return total, whole, m2.sum() + (n * (mean - whole) ** 2).sum()


def _from_sums(ddof: int, root: bool) -> Addition:
    def finish(sums: Sums, dtype: pl.DataType) -> tuple[pl.Series, None]:
        assert sums.total is not None and sums.squares is not None
        values = variance(sums.total, sums.squares, sums.count, ddof)
        return as_series(np.sqrt(values) if root else values, sums.count > ddof, dtype), None

    return Addition(2, finish)


class _Spread(AggregateFunction):
    name = ""
    ddof = 0
    root = False
    algebra: Algebra = "algebraic"
    differential: Differential = "not"

    def resolve(self, types: Sequence[pl.DataType], distinct: bool) -> tuple[tuple[pl.DataType, ...], pl.DataType]:
        """DOUBLE of any number."""
        check_one(types, self.name)
        if not (is_number(types[0]) or isinstance(types[0], pl.Null)):
            raise BadArguments(f"{self.name} takes a number, not {type_name(types[0])}")
        return (pl.Float64(),), pl.Float64()

    def form(self, types: Sequence[pl.DataType], distinct: bool, parameters: Sequence[object]) -> Dense | FrameForm:
        """The moments, or the distinct values."""
        if distinct:
            value = pl.col(VALUE)
            spread = value.std(self.ddof) if self.root else value.var(self.ddof)
            # the variance of one value is 0 in Polars (2.1), even of a NaN; that of NaN is NaN
            return DistinctValues(spread + (value - value).sum())
        return Moments(self.ddof, self.root)


class VarSamp(_Spread):
    """`var_samp(x)`."""

    name = "var_samp"
    ddof = 1
    signature = "var_samp(x)"
    description = "Sample variance; NULL of fewer than two values."
    example = "var_samp(len)"
    stretch = _from_sums(1, False)


class VarPop(_Spread):
    """`var_pop(x)`."""

    name = "var_pop"
    signature = "var_pop(x)"
    description = "Population variance."
    example = "var_pop(len)"
    stretch = _from_sums(0, False)


class StddevSamp(_Spread):
    """`stddev_samp(x)`."""

    name = "stddev_samp"
    ddof = 1
    root = True
    signature = "stddev_samp(x)"
    description = "Sample standard deviation; NULL of fewer than two values."
    example = "stddev_samp(len)"
    stretch = _from_sums(1, True)


class StddevPop(_Spread):
    """`stddev_pop(x)`."""

    name = "stddev_pop"
    root = True
    signature = "stddev_pop(x)"
    description = "Population standard deviation."
    example = "stddev_pop(len)"
    stretch = _from_sums(0, True)
