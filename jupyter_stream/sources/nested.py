"""Objects and arrays in declared types, leaf by leaf: a leaf that doesn't fit is NULL, and its place is told.

Structs are taken apart into columns and lists into their elements, which `casting` casts as columns of their own; only texts of
another shape than declared (a number where an object should be) are looked at one by one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias, cast

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from jupyter_stream.core.far import pythonic

Path: TypeAlias = tuple[str, ...]
"""The names of fields that lead to a part of a value; elements of a list have none of their own."""
Leaf: TypeAlias = Callable[[pl.Series, pl.DataType], pl.Series]
"""Casts a column that isn't nested; NULL where a value has no counterpart."""

_SHOWN: Final = 100
"""Characters of a bad value that are shown."""


@dataclass(frozen=True, slots=True)
class Faults:
    """Values of one part that have no counterpart in its type.

    Attributes:
        path: the fields that lead to it.
        dtype: the declared type of that part.
        rows: in which rows they are, ascending.
        values: the first bad value of each.
    """

    path: Path
    dtype: pl.DataType
    rows: NDArray[np.int64]
    values: Sequence[object]


def shown(value: object) -> str:
    """A value in a message: text in quotes, and not too long."""
    text = repr(value) if isinstance(value, str | bytes) else str(value)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "..."


def text_of(dtype: pl.DataType) -> pl.DataType:
    """The type with text for all that isn't nested."""
    if isinstance(dtype, pl.List):
        return pl.List(text_of(instance(dtype.inner)))
    if isinstance(dtype, pl.Struct):
        return pl.Struct([pl.Field(f.name, text_of(instance(f.dtype))) for f in dtype.fields])
    return pl.String()


def instance(dtype: object) -> pl.DataType:
    """The type of a nested type's part, which Polars may give as a class."""
    return cast("pl.DataType", dtype() if isinstance(dtype, type) else dtype)


def fitted(values: pl.Series, target: pl.DataType, leaf: Leaf, path: Path = ()) -> tuple[pl.Series, list[Faults]]:
    """A column in a type that may be nested.

    Args:
        values: of any type that `casting.castable` allows, or of texts that hold JSON.
        target: the type declared.
        leaf: casts what isn't nested.
        path: the fields that lead to it.

    Returns:
        The column, NULL in each part that has no counterpart, and where those are.
    """
    source = values.dtype
    if source == target:
        return values, []
    if source == pl.Null:
        return pl.Series(values.name, [None] * len(values), dtype=target), []
    if isinstance(target, pl.Struct) and isinstance(source, pl.Struct):
        return _struct(values, source, target, leaf, path)
    if isinstance(target, pl.List) and isinstance(source, pl.List | pl.Array):
        return _list(values, instance(source.inner), target, leaf, path)
    if isinstance(target, pl.Struct | pl.List) and not source.is_nested():
        return _decoded(values, target, leaf, path)
    if not target.is_nested() and (not source.is_nested() or target == pl.String):
        return _with_faults(values, leaf(values, target), target, path)
    return _with_faults(values, pl.Series(values.name, [None] * len(values), dtype=target), target, path)


def _with_faults(
    before: pl.Series, after: pl.Series, target: pl.DataType, path: Path
) -> tuple[pl.Series, list[Faults]]:
    after = after.alias(before.name)
    if after.null_count() == before.null_count():
        return after, []
    bad = (after.is_null() & before.is_not_null()).arg_true()
    return after, [Faults(path, target, bad.cast(pl.Int64).to_numpy(), pythonic(before.gather(bad)).to_list())]


def _struct(
    values: pl.Series, source: pl.Struct, target: pl.Struct, leaf: Leaf, path: Path
) -> tuple[pl.Series, list[Faults]]:
    there = {f.name.lower(): f.name for f in reversed(source.fields)}
    exact = set(there.values())
    parts: list[pl.Series] = []
    faults: list[Faults] = []
    for field in target.fields:
        name = field.name if field.name in exact else there.get(field.name.lower())
        nothing = pl.Series(field.name, [None] * len(values), dtype=pl.Null)
        part = nothing if name is None else values.struct.field(name)
        typed, wrong = fitted(part, instance(field.dtype), leaf, (*path, field.name))
        parts.append(typed.alias(field.name))
        faults += wrong
    return made_struct(values.name, parts, values.is_not_null(), target), faults


def made_struct(name: str, parts: Sequence[pl.Series], there: pl.Series, target: pl.Struct) -> pl.Series:
    """A column of structs of its fields; NULL where it isn't there."""
    if not parts:
        return pl.Series(name, [None] * len(there), dtype=target)
    whole = pl.DataFrame(parts).to_struct(name)
    return whole if there.all() else pl.select(pl.when(there).then(whole).otherwise(None).alias(name)).to_series()


def _list(
    values: pl.Series, inner: pl.DataType, target: pl.List, leaf: Leaf, path: Path
) -> tuple[pl.Series, list[Faults]]:
    if isinstance(values.dtype, pl.Array):
        values = values.arr.to_list()
    lengths = values.list.len().fill_null(0).cast(pl.Int64).to_numpy()
    full = values.filter(pl.Series(lengths > 0))
    elements = full.explode() if len(full) else pl.Series(values.name, [], dtype=inner)
    typed, wrong = fitted(elements, instance(target.inner), leaf, path)
    return made_list(values.name, typed, lengths, values.is_null(), target), in_rows(wrong, lengths)


def made_list(
    name: str, elements: pl.Series, lengths: NDArray[np.int64], missing: pl.Series, target: pl.DataType
) -> pl.Series:
    """A column of lists of so many elements each; NULL where it is missing."""
    ends = np.concatenate([[0], np.cumsum(lengths)])
    flat = elements.alias("").to_arrow(compat_level=pl.CompatLevel.oldest())
    made = pa.LargeListArray.from_arrays(
        pa.array(ends, pa.int64()), flat, mask=pa.array(missing.to_numpy().astype(np.bool_))
    )
    return pl.Series(name, made).cast(target)


def in_rows(faults: Iterable[Faults], lengths: NDArray[np.int64]) -> list[Faults]:
    """Faults of elements as those of the rows they are in."""
    found = []
    rows = np.repeat(np.arange(lengths.size), lengths)
    for fault in faults:
        at, first = np.unique(rows[fault.rows], return_index=True)
        found.append(replace(fault, rows=at, values=[fault.values[i] for i in first.tolist()]))
    return found


def _decoded(values: pl.Series, target: pl.DataType, leaf: Leaf, path: Path) -> tuple[pl.Series, list[Faults]]:
    """Texts that hold JSON, in a nested type."""
    shaped, faults = _halves(leaf(values, pl.String()), target, path, 0)
    typed, wrong = fitted(shaped, target, leaf, path)
    return typed.alias(values.name), [*faults, *wrong]


def _halves(text: pl.Series, target: pl.DataType, path: Path, first: int) -> tuple[pl.Series, list[Faults]]:
    """Texts as values of `text_of(target)`; one of another shape is looked at by itself, which Polars only tells by raising."""
    shape = text_of(target)
    if text.null_count() == len(text):
        return pl.Series(text.name, [None] * len(text), dtype=shape), []
    try:
        found = text.str.json_decode(shape)  # which leaves empty texts out
        if len(found) == len(text) and found.dtype == shape:
            return found, []
    except pl.exceptions.PolarsError:
        pass
    if len(text) == 1:
        return _one(text, target, path, first)
    half = len(text) // 2
    left, wrong = _halves(text[:half], target, path, first)
    right, more = _halves(text[half:], target, path, first + half)
    return pl.concat([left, right]), [*wrong, *more]


def _one(text: pl.Series, target: pl.DataType, path: Path, row: int) -> tuple[pl.Series, list[Faults]]:
    wrong: list[tuple[Path, pl.DataType, object]] = []
    try:
        value = json.loads(text[0], parse_int=str, parse_float=str, parse_constant=str)
        shaped = _shaped(value, target, path, wrong)
        found = pl.Series(text.name, [json.dumps(shaped)]).str.json_decode(text_of(target))
    except (ValueError, RecursionError, pl.exceptions.PolarsError):
        found, wrong = pl.Series(text.name, [None], dtype=text_of(target)), [(path, target, text[0])]
    first = {p: (d, v) for p, d, v in reversed(wrong)}
    return found, [Faults(p, d, np.array([row], np.int64), [v]) for p, (d, v) in first.items()]


def _shaped(value: object, target: pl.DataType, path: Path, wrong: list[tuple[Path, pl.DataType, object]]) -> object:
    """The value with text for its leaves, and nothing where it is of another shape than the type."""
    if value is None:
        return None
    if isinstance(target, pl.Struct) and isinstance(value, dict):
        lower = {k.lower(): k for k in reversed(value)}
        found = {}
        for field in target.fields:
            key = field.name if field.name in value else lower.get(field.name.lower(), field.name)
            found[field.name] = _shaped(value.get(key), instance(field.dtype), (*path, field.name), wrong)
        return found
    if isinstance(target, pl.List) and isinstance(value, list):
        return [_shaped(v, instance(target.inner), path, wrong) for v in value]
    if isinstance(target, pl.Struct | pl.List):
        wrong.append((path, target, value))
        return None
    return value if isinstance(value, str) else json.dumps(value)
