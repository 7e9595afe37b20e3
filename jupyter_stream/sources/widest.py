"""Whole numbers beyond BIGINT, deep inside columns too: which type has them all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, TypeAlias

import polars as pl

from jupyter_stream.core.schema import Schema, type_name
from jupyter_stream.sources.casting import stream_type
from jupyter_stream.sources.nested import Path, instance

Bounds: TypeAlias = dict[Path, tuple[int, int]]
"""The least and the greatest of the whole numbers in each part of a column; none of a part that has none."""

_BIGINT: Final = (-(2**63), 2**63 - 1)
UNSIGNED, _LONGEST = pl.Decimal(20, 0), pl.Decimal(38, 0)
INTEGERS: Final = (UNSIGNED, _LONGEST)
"""The types of whole numbers beyond BIGINT."""
_WIDE: Final = (pl.UInt64(), pl.Int128(), pl.UInt128())
"""Those of sources."""


def between(low: int, high: int) -> pl.DataType:
    """The type of whole numbers from `low` to `high`: BIGINT, else a DECIMAL that has them, else STRING."""
    if low >= _BIGINT[0] and high <= _BIGINT[1]:
        return pl.Int64()
    digits = max(len(str(abs(low))), len(str(abs(high))))
    return next((t for t in INTEGERS if digits <= (t.precision or 0)), pl.String())


def integers(values: Iterable[int]) -> pl.DataType:
    """The type that has all of some numbers."""
    found = list(values)
    return between(int(min(found)), int(max(found))) if found else pl.Int64()


def may_be_beyond(dtype: pl.DataType) -> bool:
    """Whether a column of this type may hold whole numbers beyond BIGINT."""
    if isinstance(dtype, pl.Struct):
        return any(may_be_beyond(instance(f.dtype)) for f in dtype.fields)
    return may_be_beyond(instance(dtype.inner)) if isinstance(dtype, pl.List | pl.Array) else dtype in _WIDE


def bounds(pieces: Iterable[pl.Series]) -> Bounds:
    """Those of a column that comes in pieces."""
    found: Bounds = {}
    for path, part in (leaf for piece in pieces for leaf in _numbers(piece)):
        least, most = part.min(), part.max()
        if isinstance(least, int) and isinstance(most, int):
            before = found.get(path, (least, most))
            found[path] = (min(least, before[0]), max(most, before[1]))
    return found


def _numbers(values: pl.Series, path: Path = ()) -> Iterator[tuple[Path, pl.Series]]:
    """The parts of a column that are whole numbers."""
    if isinstance(values.dtype, pl.Struct):
        for part in values.struct.unnest().get_columns():
            yield from _numbers(part, (*path, part.name))
    elif isinstance(values.dtype, pl.List | pl.Array):
        yield from _numbers(values.explode(), path)
    elif values.dtype.is_integer():
        yield path, values


def fitting(dtype: pl.DataType, found: Mapping[Path, tuple[int, int]], path: Path = ()) -> pl.DataType:
    """The type of a stream's column that has all values of a source's.

    Args:
        dtype: the source's type.
        found: the bounds of the column's parts.
        path: the part that is of this type.
    """
    if isinstance(dtype, pl.Struct):
        parts = [(f.name, fitting(instance(f.dtype), found, (*path, f.name))) for f in dtype.fields]
        return pl.Struct([pl.Field(name, part) for name, part in parts])
    if isinstance(dtype, pl.List | pl.Array):
        return pl.List(fitting(instance(dtype.inner), found, path))
    return between(*found[path]) if dtype in _WIDE and path in found else stream_type(dtype)


def remarks(raw: Schema, schema: Schema) -> list[str]:
    """Sentences about whole numbers that are DECIMAL, or text, for some beyond BIGINT.

    Args:
        raw: the source's columns.
        schema: those of the stream.
    """
    pairs = [(f, raw.find(f.name)) for f in schema]
    wide = [told for f, own in pairs if own is not None for told in _widened(f.name, own.dtype, f.dtype)]
    return [f"{name} has values beyond BIGINT, so it is {type_name(dtype)}." for name, dtype in wide]


def _widened(name: str, raw: pl.DataType, dtype: pl.DataType) -> Iterator[tuple[str, pl.DataType]]:
    """The column, or fields of it, that are whole numbers in the source only."""
    if isinstance(raw, pl.Struct) and isinstance(dtype, pl.Struct):
        for own, field in zip(raw.fields, dtype.fields, strict=True):
            yield from _widened(f"{name}.{field.name}", instance(own.dtype), instance(field.dtype))
    elif isinstance(raw, pl.List | pl.Array) and isinstance(dtype, pl.List):
        if any(_widened(name, instance(raw.inner), instance(dtype.inner))):
            yield name, dtype
    elif raw.is_integer() and not dtype.is_integer():
        yield name, dtype


__all__ = ["INTEGERS", "UNSIGNED", "Bounds", "between", "bounds", "fitting", "integers", "may_be_beyond", "remarks"]
