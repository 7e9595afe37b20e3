"""Whole columns computed in steps inside a Polars expression: by NumPy, or series by series.

For what Polars hasn't or does inexactly, and for what uses an intermediate result more than once: an expression is a tree, and
Polars computes equal branches again and again (it shares them in lazy queries only).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import polars as pl

from jupyter_stream.functions.types import DOUBLE


def elementwise(compute: Callable[..., Any], dtype: pl.DataType, *values: pl.Expr) -> pl.Expr:
    """`compute` on arrays of the values (of equal length, or of one), NULL where one of them is.

    `compute` gives an array, or an array and where it is valid.
    """

    def apply(columns: Sequence[pl.Series]) -> pl.Series:
        arrays = [c.fill_null(1).to_numpy() if c.null_count() else c.to_numpy() for c in columns]
        with np.errstate(all="ignore"):
            made = compute(*arrays)
        made, valid = made if isinstance(made, tuple) else (made, None)
        result = pl.Series(columns[0].name, made, dtype=dtype)
        masks = [c.is_not_null() for c in columns if c.null_count()]
        for mask in (*masks, *(() if valid is None or valid.all() else (pl.Series(valid),))):
            result = result.zip_with(mask, pl.Series([None], dtype=dtype))
        return result

    return pl.map_batches(values, apply, return_dtype=dtype, is_elementwise=True)


def stepwise(compute: Callable[[pl.Series], pl.Series], dtype: pl.DataType, value: pl.Expr) -> pl.Expr:
    """`compute` on the whole series of the value."""
    return value.map_batches(compute, return_dtype=dtype, is_elementwise=True)


def divided(a: pl.Expr, b: pl.Expr | float) -> pl.Expr:
    """The quotient as IEEE 754 has it.

    By what it holds as a scalar (a constant, or a column it knows to be constant) Polars multiplies with the reciprocal, but not
    in a frame of one row: the last bit would depend on the batch. NumPy takes as long, 3 ns a row.
    """
    return elementwise(np.divide, DOUBLE, a, b if isinstance(b, pl.Expr) else pl.lit(b))
