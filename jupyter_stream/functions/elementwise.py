"""Whole columns computed in steps inside a Polars expression: by NumPy, or series by series.

For what Polars hasn't or does inexactly, and for what uses an intermediate result more than once: an expression is a tree, and
Polars computes equal branches again and again (it shares them in lazy queries only).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import polars as pl

from jupyter_stream.arrays.rows import frame_of
from jupyter_stream.functions.types import DOUBLE


class _Calls(threading.local):
    """Calls of Python made so far by the thread."""

    number = 0


_calls = _Calls()


def calls_of_python() -> int:
    """How many expressions that call Python this thread has made: the dear ones, not to be computed again and again."""
    return _calls.number


def calling(values: pl.Expr | Sequence[pl.Expr], apply: Callable[..., pl.Series], dtype: pl.DataType) -> pl.Expr:
    """`apply` on whole series of the values, a function of Python's; it is counted."""
    _calls.number += 1
    if isinstance(values, pl.Expr):
        return values.map_batches(apply, return_dtype=dtype, is_elementwise=True)
    return pl.map_batches(values, apply, return_dtype=dtype, is_elementwise=True)


def elementwise(compute: Callable[..., Any], dtype: pl.DataType, *values: pl.Expr) -> pl.Expr:
    """`compute` on arrays of the values (of equal length, or of one), NULL where one of them is.

    `compute` gives an array, or an array and where it is valid.
    """
    nothing = pl.Series([None], dtype=dtype)

    def apply(columns: Sequence[pl.Series]) -> pl.Series:
        filled, masks = _filled(columns)
        with np.errstate(all="ignore"):
            made = compute(*(c.to_numpy() for c in filled))
        made, valid = made if isinstance(made, tuple) else (made, None)
        result = pl.Series(columns[0].name, made, dtype=dtype)
        for mask in (*masks, *(() if valid is None or valid.all() else (pl.Series(valid),))):
            result = result.zip_with(mask, nothing)
        return result

    return calling(values, apply, dtype)


def _filled(columns: Sequence[pl.Series]) -> tuple[list[pl.Series], list[pl.Series]]:
    """The columns with 1 for NULL, and masks of where none is NULL: as few calls of Polars as can be, 30 us each."""
    filled = list(columns)
    masks = []
    lacking: dict[int, list[int]] = {}  # by length: constants have one row
    for at, column in enumerate(columns):
        if column.null_count():
            lacking.setdefault(len(column), []).append(at)
    for places in lacking.values():
        given = frame_of([columns[at].alias(f"{at}") for at in places])
        made = given.select_seq(pl.all().fill_null(_ONE), pl.all_horizontal(pl.all().is_not_null()).alias("mask"))
        *values, mask = made.get_columns()
        masks.append(mask)
        for at, column in zip(places, values, strict=True):
            filled[at] = column
    return filled, masks


_ONE = pl.lit(1)


def rowwise(compute: Callable[..., Any], dtype: pl.DataType, *values: pl.Expr) -> pl.Expr:
    """`compute` on the Python values of each row, NULL where one of them is: for what neither Polars nor NumPy has.

    Some 100 ns a row and more; the values are of equal length, or of one.
    """

    def apply(columns: Sequence[pl.Series]) -> pl.Series:
        length = max(len(c) for c in columns) if all(len(c) for c in columns) else 0
        lists = [c.to_list() if len(c) == length else c.to_list() * length for c in columns]
        made = [None if None in row else compute(*row) for row in zip(*lists, strict=True)]
        return pl.Series(columns[0].name, made, dtype=dtype)

    return calling(values, apply, dtype)


def stepwise(compute: Callable[[pl.Series], pl.Series], dtype: pl.DataType, value: pl.Expr) -> pl.Expr:
    """`compute` on the whole series of the value."""
    return calling(value, compute, dtype)


def divided(a: pl.Expr, b: pl.Expr | float) -> pl.Expr:
    """The quotient as IEEE 754 has it.

    By what it holds as a scalar (a constant, or a column it knows to be constant) Polars multiplies with the reciprocal, but not
    in a frame of one row: the last bit would depend on the batch. NumPy takes as long, 3 ns a row.
    """
    return elementwise(np.divide, DOUBLE, a, b if isinstance(b, pl.Expr) else pl.lit(b))
