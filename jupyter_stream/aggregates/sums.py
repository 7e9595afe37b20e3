"""sum and avg. Sums of integers are exact (BIGINT); one beyond 64 bits is an error of that answer, not of the query."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from jupyter_stream.aggregates.count import DistinctValues
from jupyter_stream.aggregates.protocol import (
    VALUE,
    Algebra,
    Array,
    BadArguments,
    Dense,
    Differential,
    FrameForm,
    Partial,
    as_series,
    grouped,
    is_number,
)
from jupyter_stream.core.schema import type_name


class DecimalSum:
    """Decimals keep their own arithmetic: partial sums as frames."""

    extra: tuple[str, ...] = ()
    needs_time = False
    skips_nulls = True

    def __init__(self, mean: bool) -> None:
        self._mean = mean

    def update(self) -> list[pl.Expr]:
        """Sum and count."""
        value = pl.col(VALUE)
        return [value.sum().alias("sum"), value.count().cast(pl.Int64).alias("n")]

    def merge(self) -> list[pl.Expr]:
        """Sum of both."""
        return [pl.col("sum").sum(), pl.col("n").sum()]

    def finish(self, partials: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
        """The sum, or the mean as DOUBLE; NULL of nothing."""
        total, n = pl.col("sum").sum(), pl.col("n").sum()
        return grouped(partials, by, pl.when(n > 0).then(total.cast(pl.Float64) / n if self._mean else total))


def _number(name: str, types: Sequence[pl.DataType]) -> pl.DataType:
    if len(types) != 1:
        raise BadArguments(f"{name} takes one argument")
    dtype = types[0]
    if isinstance(dtype, pl.Null):
        return pl.Float64()
    if not is_number(dtype):
        raise BadArguments(f"{name} takes a number, not {type_name(dtype)}")
    return dtype


class Sum:
    """`sum([DISTINCT] x)`."""

    name = "sum"
    signature = "sum([DISTINCT] x)"
    description = "Sum of the non-NULL values, exact for integers; NULL if there are none."
    example = "sum(len)"
    algebra: Algebra = "distributive"
    differential: Differential = "fully"
    constant_from: int | None = None

    def resolve(self, types: Sequence[pl.DataType], distinct: bool) -> tuple[tuple[pl.DataType, ...], pl.DataType]:
        """BIGINT of integers, DOUBLE of floats, DECIMAL of decimals."""
        dtype = _number(self.name, types)
        if dtype.is_integer():
            return (dtype,), pl.Int64()
        if isinstance(dtype, pl.Decimal):
            return (dtype,), pl.Decimal(38, dtype.scale)
        return (pl.Float64(),), pl.Float64()

    def form(self, types: Sequence[pl.DataType], distinct: bool, parameters: Sequence[object]) -> Dense | FrameForm:
        """A sum and a count of what was summed."""
        if distinct:
            value = pl.col(VALUE).cast(pl.Int64) if types[0].is_integer() else pl.col(VALUE)
            return DistinctValues(pl.when(value.count() > 0).then(value.sum()))
        if isinstance(types[0], pl.Decimal):
            return DecimalSum(mean=False)
        return Dense((Partial("sum", "int" if types[0].is_integer() else "float"), Partial("count")))

    def finish(self, arrays: Sequence[Array], dtype: pl.DataType) -> pl.Series:
        """The sum where anything was summed."""
        return as_series(arrays[0], arrays[1] > 0, dtype)


class Avg:
    """`avg([DISTINCT] x)`."""

    name = "avg"
    signature = "avg([DISTINCT] x)"
    description = "Mean of the non-NULL values; NULL if there are none."
    example = "avg(dep_delay)"
    algebra: Algebra = "algebraic"
    differential: Differential = "fully"
    constant_from: int | None = None

    def resolve(self, types: Sequence[pl.DataType], distinct: bool) -> tuple[tuple[pl.DataType, ...], pl.DataType]:
        """DOUBLE of any number."""
        dtype = _number(self.name, types)
        keep = dtype.is_integer() or isinstance(dtype, pl.Decimal)
        return (dtype if keep else pl.Float64(),), pl.Float64()

    def form(self, types: Sequence[pl.DataType], distinct: bool, parameters: Sequence[object]) -> Dense | FrameForm:
        """A sum and a count."""
        if distinct:
            return DistinctValues(pl.col(VALUE).cast(pl.Float64).mean())
        if isinstance(types[0], pl.Decimal):
            return DecimalSum(mean=True)
        return Dense((Partial("sum", "int" if types[0].is_integer() else "float"), Partial("count")))

    def finish(self, arrays: Sequence[Array], dtype: pl.DataType) -> pl.Series:
        """Sum over count."""
        n = arrays[1]
        present = n > 0
        with np.errstate(invalid="ignore", divide="ignore"):
            return as_series(arrays[0] / np.where(present, n, 1), present, dtype)
