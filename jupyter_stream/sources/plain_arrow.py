"""Columns of Arrow in types that Polars takes: it fails, or misreads, where it is given some of the others, also deep inside.

Instants are in UTC whatever zone they are shown in, what has a text is that text. Not for types declared by the user: `conform`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple, TypeAlias

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from jupyter_stream.sources.casting import cast
from jupyter_stream.sources.utf8 import trusted

Convert: TypeAlias = Callable[[pa.Array], pa.Array]
"""One array to another of as many values."""
Columnar: TypeAlias = pa.Array | pa.ChunkedArray
Values: TypeAlias = list[Any]
"""What a column holds, as Python values."""

_DIGITS: Final = 38
"""Of the longest DECIMAL."""
_NAME, _METADATA = b"ARROW:extension:name", b"ARROW:extension:metadata"


class ArrowReading(NamedTuple):
    """How a column is read.

    Attributes:
        kind: the type it then has.
        convert: makes it; None where it is that already.
        called: what the type is called that becomes STRING for want of another; None where none does.
    """

    kind: pa.DataType
    convert: Convert | None = None
    called: str | None = None


def reading(field: pa.Field) -> ArrowReading:
    """How the column of a `pyarrow.Field` is read."""
    extension = _extension(field)
    return _of_type(field.type) if extension is None else _of_extension(*extension)


def polars_reads(field: pa.Field) -> bool:
    """Whether Polars reads a file that holds such a column: it refuses the file for zones it doesn't know, and a few more."""
    extension = _extension(field)
    if extension is not None:  # it takes UUIDs for bytes
        return extension[0] != "arrow.uuid" and polars_reads(pa.field("", extension[2]))
    kind, is_ = field.type, pa.types
    if is_.is_timestamp(kind):
        return kind.tz is None or _knows_zone(kind.tz)
    if is_.is_decimal(kind):
        return bool(kind.precision <= _DIGITS)
    if is_.is_list_view(kind) or is_.is_large_list_view(kind):
        return False
    if is_.is_dictionary(kind):
        return polars_reads(pa.field("", kind.value_type))
    return all(polars_reads(kind.field(i)) for i in range(kind.num_fields))


@lru_cache(1_000)
def _knows_zone(zone: str) -> bool:
    try:
        return len(pl.Series(pa.array([], pa.timestamp("us", zone)))) == 0
    except pl.exceptions.PolarsError:
        return False


def plain(column: Columnar, field: pa.Field) -> Columnar:
    """The values of a column, an array or chunks, as they are read; no copy of what is plain. Text that is no UTF-8 is bytes."""
    kind, convert, _ = reading(field)
    if convert is None:
        return trusted(column)
    if isinstance(column, pa.ChunkedArray):
        return trusted(pa.chunked_array([convert(c) for c in column.chunks], kind))
    return trusted(convert(column))


def _extension(field: pa.Field) -> tuple[str, bytes, pa.DataType] | None:
    """Name, parameters and storage of an extension type, whether Arrow knows it or not."""
    kind = field.type
    if isinstance(kind, pa.BaseExtensionType):
        serialized = kind.__arrow_ext_serialize__() if hasattr(kind, "__arrow_ext_serialize__") else b""
        return kind.extension_name, serialized, kind.storage_type
    metadata = field.metadata or {}
    return (metadata[_NAME].decode(), metadata.get(_METADATA, b""), kind) if _NAME in metadata else None


def _of_extension(name: str, parameters: bytes, storage: pa.DataType) -> ArrowReading:
    if name == "arrow.bool8":
        return ArrowReading(pa.bool_(), lambda a: _storage(a).cast(pa.bool_()))
    if name == "arrow.uuid":
        return _as_text(_uuids)
    if name == "pandas.period":
        return _as_text(lambda values: _periods(values, json.loads(parameters)["freq"]), "period")
    if name == "pandas.interval":
        return _as_text(lambda values: _intervals(values, json.loads(parameters)["closed"]), "interval")
    kind, convert, called = _of_type(storage)
    return ArrowReading(kind, lambda a: _storage(a) if convert is None else convert(_storage(a)), called)


def _storage(array: pa.Array) -> pa.Array:
    return array.storage if isinstance(array, pa.ExtensionArray) else array


def _of_type(kind: pa.DataType) -> ArrowReading:
    is_ = pa.types
    if is_.is_timestamp(kind):
        return ArrowReading(kind) if kind.tz in (None, "UTC") else _cast(pa.timestamp(kind.unit, "UTC"))
    if is_.is_decimal(kind):
        return _of_decimal(kind)
    if is_.is_interval(kind):
        return _as_text(_spans, "interval of months")
    if is_.is_union(kind):
        return _as_text(lambda values: [None if v is None else str(v) for v in values], "union")
    if is_.is_dictionary(kind):
        return _of_dictionary(kind)
    if is_.is_run_end_encoded(kind):
        return _then(pc.run_end_decode, kind.value_type)
    if is_.is_map(kind):
        return ArrowReading(pa.large_string(), _maps)
    if is_.is_struct(kind):
        return _of_struct(kind)
    if is_.is_list_view(kind) or is_.is_large_list_view(kind):
        return _then(_from_view, pa.large_list(kind.value_field))
    if is_.is_fixed_size_list(kind) or is_.is_list(kind) or is_.is_large_list(kind):
        return _of_list(kind)
    return ArrowReading(kind)


def _cast(kind: pa.DataType) -> ArrowReading:
    return ArrowReading(kind, lambda a: a.cast(kind))


def _then(first: Convert, kind: pa.DataType) -> ArrowReading:
    """An array of another form first, then as that is read."""
    found, convert, called = _of_type(kind)
    return ArrowReading(found, first if convert is None else lambda a: convert(first(a)), called)


def _as_text(texts: Callable[[Values], Sequence[str | None]], called: str | None = None) -> ArrowReading:
    def convert(array: pa.Array) -> pa.Array:
        return pa.array(texts(_storage(array).to_pylist()), pa.large_string())

    return ArrowReading(pa.large_string(), convert, called)


def _of_decimal(kind: pa.DataType) -> ArrowReading:
    if pa.types.is_decimal128(kind) and kind.scale >= 0:
        return ArrowReading(kind)
    precision, scale = kind.precision - min(kind.scale, 0), max(kind.scale, 0)
    if precision <= _DIGITS:
        return _cast(pa.decimal128(precision, scale))
    return _as_text(lambda values: [None if v is None else f"{v:f}" for v in values], f"DECIMAL({precision},{scale})")


def _of_dictionary(kind: pa.DataType) -> ArrowReading:
    words = pa.types.is_string(kind.value_type) or pa.types.is_large_string(kind.value_type)
    return ArrowReading(kind) if words else _then(lambda a: a.dictionary.take(a.indices), kind.value_type)


def _of_struct(kind: pa.DataType) -> ArrowReading:
    parts = [kind.field(i) for i in range(kind.num_fields)]
    read = [reading(f) for f in parts]
    if all(r.convert is None for r in read):
        return ArrowReading(kind)
    fields = [pa.field(f.name, r.kind) for f, r in zip(parts, read, strict=True)]

    def convert(array: pa.Array) -> pa.Array:
        made = [r.convert(array.field(i)) if r.convert else array.field(i) for i, r in enumerate(read)]
        return pa.StructArray.from_arrays(made, fields=fields, mask=array.is_null())

    return ArrowReading(pa.struct(fields), convert, next((r.called for r in read if r.called), None))


def _of_list(kind: pa.DataType) -> ArrowReading:
    inner, convert_inner, called = reading(kind.value_field)
    field = pa.field("item", inner)
    if pa.types.is_fixed_size_list(kind):
        size = kind.list_size

        def of_equal_length(array: pa.Array) -> pa.Array:  # of a slice, Polars would take the values from its beginning
            values = array.values.slice(array.offset * size, len(array) * size)
            values = values if convert_inner is None else convert_inner(values)
            return pa.FixedSizeListArray.from_arrays(values, size, mask=array.is_null())

        return ArrowReading(pa.list_(field, size), of_equal_length, called)
    if convert_inner is None:
        return ArrowReading(kind)

    def convert(array: pa.Array) -> pa.Array:
        offsets = array.offsets
        first, last = (offsets[0].as_py(), offsets[-1].as_py()) if len(array) else (0, 0)
        values = convert_inner(array.values.slice(first, last - first))
        return _listed(pc.subtract(offsets, offsets[0]).cast(pa.int64()), values, field, array.is_null())

    return ArrowReading(pa.large_list(field), convert, called)


def _from_view(array: pa.Array) -> pa.Array:
    """A list view as a list: its values may lie in any order, or be shared."""
    lengths = pc.fill_null(pc.list_value_length(array), 0).to_numpy(zero_copy_only=False)
    offsets = pa.array([0, *lengths.cumsum().tolist()], pa.int64())
    return _listed(offsets, array.flatten(), array.type.value_field, array.is_null())


def _listed(offsets: pa.Array, values: pa.Array, field: pa.Field, missing: pa.Array) -> pa.Array:
    return pa.LargeListArray.from_arrays(offsets, values, type=pa.large_list(field), mask=missing)


def _maps(array: pa.Array) -> pa.Array:
    """A map as a JSON object: SQL's paths reach into it."""
    key, item = reading(array.type.key_field), reading(array.type.item_field)
    read = array
    if key.convert is not None or item.convert is not None:
        entries = pa.struct([pa.field("key", array.type.key_type, False), array.type.item_field.with_name("value")])
        pairs = plain(array.cast(pa.list_(entries)), pa.field("entries", pa.list_(entries)))
        read = pairs.cast(pa.map_(key.kind, item.kind))
    text = cast(pl.Series(read), pl.String()).to_arrow(compat_level=pl.CompatLevel.oldest())
    return pa.array(text).cast(pa.large_string())


def _uuids(values: Values) -> list[str | None]:
    from uuid import UUID

    return [None if v is None else str(UUID(bytes=v)) for v in values]


def _periods(values: Values, freq: str) -> list[str | None]:
    import pandas as pd

    known = [v for v in values if v is not None]
    periods: Any = pd.PeriodIndex  # pandas-stubs doesn't know how to make them of numbers
    texts = iter(periods.from_ordinals(known, freq=freq).astype(str))
    return [None if v is None else next(texts) for v in values]


def _intervals(values: Values, closed: str) -> list[str | None]:
    left, right = "[" if closed in ("left", "both") else "(", "]" if closed in ("right", "both") else ")"
    return [None if v is None or v["left"] is None else f"{left}{v['left']}, {v['right']}{right}" for v in values]


def _spans(values: Values) -> list[str | None]:
    """Months, days and nanoseconds in the spelling of ISO 8601."""
    found: list[str | None] = []
    for value in values:
        if value is None:
            found.append(None)
            continue
        seconds, rest = divmod(value.nanoseconds, 1_000_000_000)
        clock = f"{seconds}.{rest:09d}".rstrip("0").rstrip(".") if rest else str(seconds)
        found.append(f"P{value.months}M{value.days}DT{clock}S")
    return found


__all__ = ["ArrowReading", "plain", "polars_reads", "reading"]
