"""Variances and standard deviations, from counts, sums and sums of squares relative to the first value seen.

The shift keeps squares of values near each other small, so that the textbook formula loses no more than a few digits
(Chan, Golub, LeVeque 1983); plain sums merge in any order, and are the same however rows are split.
"""

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
    is_number,
)
from jupyter_stream.core.schema import type_name


class _Spread:
    name = ""
    ddof = 0
    root = False
    algebra: Algebra = "algebraic"
    differential: Differential = "fully"
    constant_from: int | None = None

    def resolve(self, types: Sequence[pl.DataType], distinct: bool) -> tuple[tuple[pl.DataType, ...], pl.DataType]:
        """DOUBLE of any number."""
        if len(types) != 1:
            raise BadArguments(f"{self.name} takes one argument")
        if not (is_number(types[0]) or isinstance(types[0], pl.Null)):
            raise BadArguments(f"{self.name} takes a number, not {type_name(types[0])}")
        return (pl.Float64(),), pl.Float64()

    def form(self, types: Sequence[pl.DataType], distinct: bool, parameters: Sequence[object]) -> Dense | FrameForm:
        """Count, sum and sum of squares."""
        if distinct:
            value = pl.col(VALUE)
            return DistinctValues(value.std(self.ddof) if self.root else value.var(self.ddof))
        return Dense(
            (
                Partial("count"),
                Partial("sum", "float", shifted=True),
                Partial("sum", "float", power=2, shifted=True),
            )
        )

    def finish(self, arrays: Sequence[Array], dtype: pl.DataType, shift: float) -> pl.Series:
        """(Σd² - (Σd)²/n) / (n - ddof), never below zero; NULL of fewer than 1 + ddof values."""
        n, total, squares = arrays
        present = n > self.ddof
        with np.errstate(invalid="ignore", divide="ignore"):
            deviations = squares - total * (total / np.where(n > 0, n, 1))
            variance = np.maximum(deviations, 0.0) / np.where(present, n - self.ddof, 1)
        return as_series(np.sqrt(variance) if self.root else variance, present, dtype)


class VarSamp(_Spread):
    """`var_samp(x)`."""

    name = "var_samp"
    ddof = 1
    signature = "var_samp(x)"
    description = "Sample variance; NULL of fewer than two values."
    example = "var_samp(len)"


class VarPop(_Spread):
    """`var_pop(x)`."""

    name = "var_pop"
    signature = "var_pop(x)"
    description = "Population variance."
    example = "var_pop(len)"


class StddevSamp(_Spread):
    """`stddev_samp(x)`."""

    name = "stddev_samp"
    ddof = 1
    root = True
    signature = "stddev_samp(x)"
    description = "Sample standard deviation; NULL of fewer than two values."
    example = "stddev_samp(len)"


class StddevPop(_Spread):
    """`stddev_pop(x)`."""

    name = "stddev_pop"
    root = True
    signature = "stddev_pop(x)"
    description = "Population standard deviation."
    example = "stddev_pop(len)"
