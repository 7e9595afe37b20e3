"""What each row adds to a partial result that is a number."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from jupyter_stream.aggregates import Partial
from jupyter_stream.core.messages import Array, Bools, ints


def values_of(
    partial: Partial, argument: int | None, where: int | None, inputs: Sequence[pl.Series], rows: int
) -> Array:
    """The numbers; those of rows that FILTER leaves out, or whose argument is NULL, are that of nothing.

    Args:
        partial: which.
        argument: the column of its argument among the inputs; None for count(*).
        where: that of its FILTER condition; None without.
        inputs: arguments and FILTER conditions.
        rows: how many there are.
    """
    column = None if argument is None else inputs[argument]
    valid: Bools | None = None if where is None else chosen(inputs[where])
    if column is not None and column.null_count():
        known = column.is_not_null().to_numpy()
        valid = known if valid is None else valid & known
    if partial.op == "count":
        return np.ones(rows, np.int64) if valid is None else valid.astype(np.int64)
    assert column is not None
    numbers = _filled(column.cast(pl.Float64 if partial.kind == "float" else pl.Int64))
    values: Array = numbers.to_numpy() if partial.kind == "float" else ints(numbers)
    return values if valid is None else np.where(valid, values, values.dtype.type(partial.identity))


def chosen(condition: pl.Series) -> Bools:
    """Rows that FILTER lets through."""
    found: Bools = (condition.fill_null(False) if condition.null_count() else condition).to_numpy()
    return found


def _filled(numbers: pl.Series) -> pl.Series:
    return numbers.fill_null(0) if numbers.null_count() else numbers


__all__ = ["chosen", "values_of"]
