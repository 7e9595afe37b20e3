"""min and max of numbers, times, strings. NaN is the greatest number, as in Spark."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from jupyter_stream.aggregates.protocol import (
    VALUE,
    AggregateFunction,
    Algebra,
    BadArguments,
    Dense,
    Differential,
    FrameForm,
    Op,
    Partial,
    Pick,
    as_series,
    check_one,
    grouped,
)
from jupyter_stream.core.messages import Array
from jupyter_stream.core.schema import type_name


class OrderedValue:
    """The least or greatest value of a type that is no number: partials are values."""

    extra: tuple[str, ...] = ()
    needs_time = False
    skips_nulls = True

    def __init__(self, op: str) -> None:
        value = pl.col(VALUE)
        self._fold = value.min() if op == "min" else value.max()

    def update(self) -> list[pl.Expr]:
        """The extreme."""
        return [self._fold]

    def merge(self) -> list[pl.Expr]:
        """The extreme of extremes."""
        return [self._fold]

    def finish(self, partials: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
        """The extreme of extremes."""
        return grouped(partials, by, self._fold)


class _Extreme(AggregateFunction):
    name = ""
    algebra: Algebra = "distributive"
    differential: Differential = "not"

    def resolve(self, types: Sequence[pl.DataType], distinct: bool) -> tuple[tuple[pl.DataType, ...], pl.DataType]:
        """The argument's type."""
        check_one(types, self.name)
        if types[0].is_nested():
            raise BadArguments(f"{self.name} takes something that can be ordered, not {type_name(types[0])}")
        return (types[0],), types[0]

    def form(self, types: Sequence[pl.DataType], distinct: bool, parameters: Sequence[object]) -> Dense | FrameForm:
        """One number and a count where the type allows, else the value."""
        op: Op = "min" if self.name == "min" else "max"
        dtype = types[0]
        if dtype.is_integer() or dtype.is_temporal() or isinstance(dtype, pl.Boolean):
            return Dense((Partial(op, "int"), Partial("count")))
        if dtype.is_float():
            return Dense((Partial(op, "float"), Partial("count")))
        return OrderedValue(op)

    def finish(self, arrays: Sequence[Array], dtype: pl.DataType) -> pl.Series:
        """The extreme where there was anything."""
        return as_series(arrays[0], arrays[1] > 0, dtype)


class Min(_Extreme):
    """`min(x)`."""

    name = "min"
    signature = "min(x)"
    description = "Least non-NULL value; NaN counts as greatest."
    example = "min(price)"
    stretch = Pick("least", skips_nulls=True)


class Max(_Extreme):
    """`max(x)`."""

    name = "max"
    signature = "max(x)"
    description = "Greatest non-NULL value; NaN counts as greatest."
    example = "max(price)"
    stretch = Pick("greatest", skips_nulls=True)
