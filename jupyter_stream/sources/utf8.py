"""Text that others say is UTF-8: looked at before anything relies on it, since a library that trusts it may end the process."""

from __future__ import annotations

import re
from typing import Final

import polars as pl
import pyarrow as pa

NOT_UTF8 = "bytes that are not UTF-8"
"""The reason of a record refused for them."""
_HALF: Final = re.compile("[\ud800-\udfff]")


def as_text(values: pl.Series) -> pl.Series:
    """Bytes as text; None where they are no UTF-8."""
    try:
        return values.cast(pl.String)
    except pl.exceptions.PolarsError:
        return pl.Series(values.name, [_decoded(v) for v in values], dtype=pl.String)


def trusted(column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """An Arrow column as it is where its text is UTF-8, and otherwise with bytes in its place, also deep inside. No copy."""
    bare = _with_bytes(column.type)
    if bare == column.type:
        return column
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        return column.cast(bare)
    return column


def _with_bytes(kind: pa.DataType) -> pa.DataType:
    """The type with BINARY where it holds text."""
    if pa.types.is_string(kind) or pa.types.is_string_view(kind):
        return pa.binary()
    if pa.types.is_large_string(kind):
        return pa.large_binary()
    if pa.types.is_struct(kind):
        parts = [kind.field(i) for i in range(kind.num_fields)]
        return pa.struct([f.with_type(_with_bytes(f.type)) for f in parts])
    for is_list, made in ((pa.types.is_list, pa.list_), (pa.types.is_large_list, pa.large_list)):
        if is_list(kind):
            return made(kind.value_field.with_type(_with_bytes(kind.value_type)))
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(kind.value_field.with_type(_with_bytes(kind.value_type)), kind.list_size)
    return kind


def _decoded(value: bytes | None) -> str | None:
    try:
        return None if value is None else value.decode()
    except UnicodeDecodeError:
        return None


def is_whole(text: str) -> bool:
    """Whether UTF-8 can hold a text: it has no half of a character."""
    return text.isascii() or _HALF.search(text) is None
