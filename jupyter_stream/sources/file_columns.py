"""The columns of several files as one stream has them: all that any file has, in types that hold the values of each."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import polars as pl

from jupyter_stream.core.schema import Field, Schema
from jupyter_stream.sources.nested import instance
from jupyter_stream.sources.widest import UNSIGNED

LOOKED_AT: Final = 50
"""Files whose columns are looked at when a stream over them is declared."""
_INTEGERS: Final = (pl.Int8, pl.Int16, pl.Int32, pl.Int64)
_SAID: Final = 3
"""Columns that are named in one sentence."""


class FileColumns:
    """What is found in one file after the other."""

    def __init__(self) -> None:
        self._types: dict[str, pl.DataType] = {}
        self._spelt: dict[str, str] = {}
        self._having: list[tuple[Path, set[str]]] = []
        self.notes: list[str] = []

    def add(self, path: Path, schema: Schema, notes: Sequence[str] = (), *, fixed: bool = True) -> None:
        """Take the columns of a file.

        Args:
            path: the file.
            schema: its columns; Null is the type of one without values.
            notes: sentences about them.
            fixed: whether each row has all of them: objects of JSON may leave some out.
        """
        for field in schema:
            name = self._spelt.setdefault(field.name.lower(), field.name)
            if name != field.name and name in schema.names:  # columns that differ in case alone are refused later
                name = field.name
            before = self._types.get(name, pl.Null())
            self._types[name] = wider(before, field.dtype)
        self.notes += [note for note in notes if note not in self.notes]
        if fixed:
            self._having.append((path, {n.lower() for n in schema.names}))

    def __len__(self) -> int:
        return len(self._types)

    def schema(self, folders: Schema) -> Schema:
        """All of them, then those that stand in the names of folders, which have these columns for the files.

        Args:
            folders: the latter.
        """
        lower = {f.name.lower() for f in folders}
        own = [Field(n, _typed(t)) for n, t in self._types.items() if n.lower() not in lower]
        return Schema((*own, *folders.fields))

    def lacks(self, schema: Schema) -> list[str]:
        """Sentences that say which columns are not in every file."""
        by_file: dict[Path, list[str]] = {}
        for field in schema:
            without = [path for path, names in self._having if field.name.lower() not in names]
            if without and len(without) < len(self._having):
                by_file.setdefault(without[0], []).append(field.name)
        return [lacking(path, names) for path, names in by_file.items()]


def lacking(path: Path, names: Sequence[str]) -> str:
    """That a file has no such columns."""
    shown = ", ".join(names[:_SAID]) + (f" and {len(names) - _SAID} more" if len(names) > _SAID else "")
    return f"{path.name} has no {shown}: NULL there."


def wider(one: pl.DataType, other: pl.DataType) -> pl.DataType:
    """The type that holds the values of both, of objects and lists part by part, else STRING."""
    if one == other or isinstance(other, pl.Null):
        return one
    if isinstance(one, pl.Null):
        return other
    if isinstance(one, pl.Struct) and isinstance(other, pl.Struct):
        return _with_fields_of(one, other)
    if isinstance(one, pl.List) and isinstance(other, pl.List):
        return pl.List(wider(instance(one.inner), instance(other.inner)))
    if isinstance(one, _INTEGERS) and isinstance(other, _INTEGERS):
        return max(one, other, key=lambda t: _INTEGERS.index(type(t)))
    if UNSIGNED in (one, other) and all(t == UNSIGNED or isinstance(t, _INTEGERS) for t in (one, other)):
        return UNSIGNED
    if (
        one.is_numeric()
        and other.is_numeric()
        and not isinstance(one, pl.Decimal)
        and not isinstance(other, pl.Decimal)
    ):
        return pl.Float64()
    if isinstance(one, pl.Date | pl.Datetime) and isinstance(other, pl.Date | pl.Datetime):
        return pl.Datetime("us")
    return pl.String()


def _with_fields_of(one: pl.Struct, other: pl.Struct) -> pl.DataType:
    """The fields of both, those of the first before those that only the other has."""
    spelt: dict[str, str] = {}
    types: dict[str, pl.DataType] = {}
    for field in (*one.fields, *other.fields):
        name = field.name if field.name in types else spelt.setdefault(field.name.lower(), field.name)
        types[name] = wider(types.get(name, pl.Null()), instance(field.dtype))
    return pl.Struct([pl.Field(name, dtype) for name, dtype in types.items()])


def _typed(dtype: pl.DataType) -> pl.DataType:
    """The type, with STRING for what has no values anywhere."""
    if isinstance(dtype, pl.Struct):
        return pl.Struct([pl.Field(f.name, _typed(instance(f.dtype))) for f in dtype.fields])
    if isinstance(dtype, pl.List):
        return pl.List(_typed(instance(dtype.inner)))
    return pl.String() if isinstance(dtype, pl.Null) else dtype
