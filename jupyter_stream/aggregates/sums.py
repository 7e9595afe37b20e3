"""sum and avg. Sums of integers are exact (BIGINT); one beyond 64 bits is an error of that answer, not of the query."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

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
    Partial,
    Sums,
    as_series,
    check_one,
    grouped,
    is_number,
)
from jupyter_stream.arrays.exact import as_floats, as_integers, mean
from jupyter_stream.core.messages import Array
from jupyter_stream.core.schema import type_name


class DecimalSum:
    """Decimals keep their own arithmetic: partial sums as frames."""

    extra: tuple[str, ...] = ()
    needs_time = False
    skips_nulls = True

    def __init__(self, dtype: pl.DataType) -> None:
        """Args:
        dtype: of the answer: a DECIMAL for the sum, DOUBLE for the mean.
        """
        self._dtype = dtype

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
        mean = total.cast(pl.String).cast(pl.Float64) / n  # by its digits: Polars' own cast may miss the nearest
        answer = mean if self._dtype == pl.Float64() else total.cast(self._dtype)
        return grouped(partials, by, pl.when(n > 0).then(answer))


_MORE_DIGITS: Final = 10
"""Digits a sum of DECIMALs has more than they: none of fewer than 10^10 rows needs more."""


def _sum_type(dtype: pl.Decimal) -> pl.Decimal | None:
    """The DECIMAL that holds the sum, as Spark has it; None where it had more than 38 digits."""
    digits = dtype.precision + _MORE_DIGITS
    return pl.Decimal(digits, dtype.scale) if digits <= 38 else None


def _number(name: str, types: Sequence[pl.DataType]) -> pl.DataType:
    check_one(types, name)
    dtype = types[0]
    if isinstance(dtype, pl.Null):
        return pl.Float64()
    if not is_number(dtype):
        raise BadArguments(f"{name} takes a number, not {type_name(dtype)}")
    return dtype


def _summed(sums: Sums, dtype: pl.DataType) -> tuple[pl.Series, NDArray[np.bool_] | None]:
    assert sums.total is not None
    present = sums.count > 0
    if dtype.is_integer():
        values, beyond = as_integers(sums.total)
        return as_series(values, present, dtype), beyond if beyond.any() else None
    return as_series(as_floats(sums.total), present, dtype), None


def _mean(sums: Sums, dtype: pl.DataType) -> tuple[pl.Series, None]:
    assert sums.total is not None
    return as_series(mean(sums.total, sums.count), sums.count > 0, dtype), None


class Sum(AggregateFunction):
    """`sum([DISTINCT] x)`."""

    name = "sum"
    signature = "sum([DISTINCT] x)"
    description = "Sum of the non-NULL values, exact for integers; NULL if there are none."
    example = "sum(len)"
    stretch = Addition(1, _summed)
    algebra: Algebra = "distributive"
    differential: Differential = "fully"

    def resolve(self, types: Sequence[pl.DataType], distinct: bool) -> tuple[tuple[pl.DataType, ...], pl.DataType]:
        """BIGINT of integers, DOUBLE of floats, DECIMAL of decimals of up to 28 digits, of more DOUBLE."""
        dtype = _number(self.name, types)
        if dtype.is_integer():
            return (dtype,), pl.Int64()
        total = _sum_type(dtype) if isinstance(dtype, pl.Decimal) else None
        if total is not None:
            return (dtype,), total
        return (pl.Float64(),), pl.Float64()

    def form(self, types: Sequence[pl.DataType], distinct: bool, parameters: Sequence[object]) -> Dense | FrameForm:
        """A sum and a count of what was summed."""
        if distinct:
            value = pl.col(VALUE).cast(pl.Int64) if types[0].is_integer() else pl.col(VALUE)
            total = _sum_type(types[0]) if isinstance(types[0], pl.Decimal) else None
            answer = value.sum() if total is None else value.sum().cast(total)
            return DistinctValues(pl.when(value.count() > 0).then(answer))
        if isinstance(types[0], pl.Decimal) and (total := _sum_type(types[0])) is not None:
            return DecimalSum(total)
        return Dense((Partial("sum", "int" if types[0].is_integer() else "float"), Partial("count")))

    def finish(self, arrays: Sequence[Array], dtype: pl.DataType) -> pl.Series:
        """The sum where anything was summed."""
        return as_series(arrays[0], arrays[1] > 0, dtype)


class Avg(AggregateFunction):
    """`avg([DISTINCT] x)`."""

    name = "avg"
    signature = "avg([DISTINCT] x)"
    description = "Mean of the non-NULL values; NULL if there are none."
    example = "avg(dep_delay)"
    stretch = Addition(1, _mean)
    algebra: Algebra = "algebraic"
    differential: Differential = "fully"

    def resolve(self, types: Sequence[pl.DataType], distinct: bool) -> tuple[tuple[pl.DataType, ...], pl.DataType]:
        """DOUBLE of any number."""
        dtype = _number(self.name, types)
        keep = dtype.is_integer() or (isinstance(dtype, pl.Decimal) and _sum_type(dtype) is not None)
        return (dtype if keep else pl.Float64(),), pl.Float64()

    def form(self, types: Sequence[pl.DataType], distinct: bool, parameters: Sequence[object]) -> Dense | FrameForm:
        """A sum and a count."""
        if distinct:
            return DistinctValues(pl.col(VALUE).cast(pl.Float64).mean())
        if isinstance(types[0], pl.Decimal):
            return DecimalSum(pl.Float64())
        return Dense((Partial("sum", "int" if types[0].is_integer() else "float"), Partial("count")))

    def finish(self, arrays: Sequence[Array], dtype: pl.DataType) -> pl.Series:
        """Sum over count."""
        n = arrays[1]
        present = n > 0
        with np.errstate(invalid="ignore", divide="ignore"):
            return as_series(arrays[0] / np.where(present, n, 1), present, dtype)
