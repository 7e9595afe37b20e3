"""Columns of held rows to columns of answers, and answers of several values to rows. All that is not the user's is columnar."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from jupyter_stream.aggregates.protocol import VALUE
from jupyter_stream.aggregates.user.protocol import Program
from jupyter_stream.aggregates.user.segments import over_segments
from jupyter_stream.arrays.walking import nth
from jupyter_stream.core.messages import TS, Int64s, ints

_NOTHING = "$n"


def returned(values: Sequence[Sequence[Any] | None], dtype: pl.DataType) -> tuple[pl.Series, list[str | None]]:
    """Lists of returned values as a column, and what is wrong with those that aren't of the type."""
    wanted = pl.List(dtype)
    try:
        return _lists(values, dtype), [None] * len(values)
    except (TypeError, OverflowError, pl.exceptions.PolarsError):
        pass
    kept: list[list[Any] | None] = []
    reasons: list[str | None] = []
    for value in values:
        made, reason = _one(value, dtype)
        kept.append(made)
        reasons.append(reason)
    return pl.Series(kept, dtype=wanted, strict=False), reasons


def _lists(values: Sequence[Sequence[Any] | None], dtype: pl.DataType) -> pl.Series:
    """Made from one flat column: Polars takes 50 µs for each list it is given."""
    flat = pl.Series([v for own in values if own for v in own], dtype=dtype, strict=True)
    lengths = np.array([0 if own is None else len(own) for own in values], np.int64)
    nothing = np.array([own is None for own in values], np.bool_)
    # from buffers: pyarrow looks for pandas before it makes an array of NumPy's, and importing it takes a second
    offsets = pa.py_buffer(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64))
    there = pa.py_buffer(np.packbits(~nothing, bitorder="little")) if nothing.any() else None
    items = flat.to_arrow()
    made = pl.Series(pa.Array.from_buffers(pa.large_list(items.type), len(values), [there, offsets], children=[items]))
    return made if made.dtype == pl.List(dtype) else made.cast(pl.List(dtype))


def _one(value: Sequence[Any] | None, dtype: pl.DataType) -> tuple[list[Any] | None, str | None]:
    """The values as the type, cast where a cast loses nothing."""
    from jupyter_stream.core.schema import type_name

    if value is None:
        return None, None
    try:
        loose = pl.Series(value, strict=False)
        made = loose.cast(dtype, strict=True)
        if dtype.is_integer() and loose.dtype.is_float() and not (made.cast(loose.dtype) == loose).all():
            raise ValueError
        return made.to_list(), None
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
        shown = repr(value[0] if len(value) == 1 else value)
        return None, f"it returned {shown[:80]}, which is not a value of type {type_name(dtype)}"


def over_lists(program: Program, held: pl.Series) -> tuple[list[Sequence[Any] | None], list[str | None]]:
    """Run over each list of held rows (time, number, arguments), taken in the order of times, ties by numbers.

    Returns:
        What each returned, None for no rows; and why not, where the body failed.
    """
    lengths = held.list.len().fill_null(0).to_numpy().astype(np.int64)
    values: list[Sequence[Any] | None] = [None] * len(held)
    errors: list[str | None] = [None] * len(held)
    if not lengths.sum():
        return values, errors
    flat = held.filter(pl.Series(lengths > 0)).explode().struct.unnest()
    columns = ordered(flat, np.repeat(np.arange(lengths.size), lengths))
    full = np.flatnonzero(lengths)
    for i, (value, error) in zip(full.tolist(), over_segments(program, columns, lengths[full]), strict=True):
        values[i], errors[i] = value, error
    return values, errors


def ordered(held: pl.DataFrame, which: Int64s) -> list[pl.Series]:
    """The arguments of held rows: by `which`, then time, then number, then as they came."""
    order = pl.Series(np.lexsort((ints(held.get_column(VALUE)), ints(held.get_column(TS)), which)))
    return [held.get_column(c).gather(order) for c in held.columns if c not in (TS, VALUE)]


def unfolded(frame: pl.DataFrame, columns: Sequence[str], keeps_empty: bool) -> pl.DataFrame:
    """Rows with lists to rows with values: the n-th values of all lists side by side, as many rows as the longest list has.

    Args:
        frame: the rows.
        columns: which hold lists. NULL is a list of one NULL.
        keeps_empty: whether rows without any value stay, with NULLs.
    """
    counts = frame.select(
        pl.max_horizontal(pl.col(c).list.len().cast(pl.Int64).fill_null(1) for c in columns).alias(_NOTHING)
    ).get_column(_NOTHING)
    if keeps_empty:
        counts = counts.clip(lower_bound=1)
    if (counts == 1).all():
        return frame.with_columns(pl.col(c).list.get(0, null_on_oob=True) for c in columns)
    number = counts.to_numpy()
    rows = np.repeat(np.arange(number.size), number)
    place = pl.Series(nth(number))
    spread = frame[pl.Series(rows)]
    return spread.with_columns(spread.get_column(c).list.get(place, null_on_oob=True).alias(c) for c in columns)
