"""Columns as text formats and databases without nested types hold them."""

from __future__ import annotations

from typing import Final

import polars as pl

from jupyter_stream.core.far import as_json, shown

_TIME: Final = "%Y-%m-%d %H:%M:%S%.6f"


def flat(frame: pl.DataFrame) -> pl.DataFrame:
    """Times as ISO 8601, bytes as hexadecimal digits, lists and structs as JSON; all else as it is."""
    return frame.select(_flat(column) for column in frame.get_columns())


def _flat(column: pl.Series) -> pl.Series:
    dtype = column.dtype
    if dtype.is_nested():
        return json(column)
    if isinstance(dtype, pl.Datetime):
        return shown(column, _TIME)
    if isinstance(dtype, pl.Date):
        return shown(column, "%Y-%m-%d")
    if isinstance(dtype, pl.Duration):
        return column.dt.to_string("iso")
    return column.bin.encode("hex") if isinstance(dtype, pl.Binary) else column


def json(column: pl.Series) -> pl.Series:
    """A nested column as JSON texts."""
    whole = as_json(column.alias("v").to_frame()).str.slice(5).str.head(-1)  # {"v":...}
    return whole.zip_with(column.is_not_null(), pl.Series([None], dtype=pl.String)).alias(column.name)
