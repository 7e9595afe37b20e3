"""Text that others say is UTF-8: looked at before anything relies on it, since a library that trusts it may end the process."""

from __future__ import annotations

from typing import Any

import polars as pl
import pyarrow as pa

NOT_UTF8 = "bytes that are not UTF-8"
"""The reason of a record refused for them."""


def as_text(values: pl.Series) -> pl.Series:
    """Bytes as text; None where they are no UTF-8."""
    try:
        return values.cast(pl.String)
    except pl.exceptions.PolarsError:
        return pl.Series(values.name, [_decoded(v) for v in values], dtype=pl.String)


def trusted(column: Any) -> Any:
    """An Arrow column of text as it is where it is UTF-8, and otherwise as bytes; other columns as they are. No copy."""
    kind = column.type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return column
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
        binary = pa.large_binary() if pa.types.is_large_string(kind) else pa.binary()
        bare = [pa.Array.from_buffers(binary, len(c), c.buffers(), c.null_count, c.offset) for c in chunks]
        return pa.chunked_array(bare, binary)
    return column


def _decoded(value: bytes | None) -> str | None:
    try:
        return None if value is None else value.decode()
    except UnicodeDecodeError:
        return None
