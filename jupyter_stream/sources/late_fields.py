"""Fields that come after the first records, from which the columns were found: no column has them.

Most records are not looked at one by one: lines are where a count of their keys says that some have more than there are columns,
dictionaries where they have a key of another name; and else one in so many.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

import polars as pl

from jupyter_stream.core.schema import Schema
from jupyter_stream.sources.nested import Path, instance
from jupyter_stream.sources.protocol import Remarks
from jupyter_stream.sources.values import infer

_MOST: Final = 10
"""Fields that are named."""
_FEW, _EVERY = 8, 200
"""Records of a lot that are looked at in any case: so many, and each so many-th."""
_VALUES: Final = 100
"""Values of a field that tell its type."""
_SUSPECTS: Final = 200
"""Lines of a lot with many keys that are looked at."""
_IN_VAIN: Final = 3
"""Lots with many keys and nothing new, after which their count says nothing."""
_KEY: Final = b'":'


class LateFields:
    """Those of one read.

    Args:
        schema: the columns that were found.
        of_words: the type of texts; STRING if left out.

    Attributes:
        more: whether there are others than those it has.
    """

    def __init__(self, schema: Schema, of_words: Callable[[Sequence[str]], pl.DataType] | None = None) -> None:
        self.more = False
        self._of_words = of_words
        self._values: dict[Path, list[object]] = {}
        self._known = pl.Struct([pl.Field(f.name, f.dtype) for f in schema])
        self._done = set(schema.names)
        self._keys = _count(self._known)
        self._vain = 0

    @property
    def types(self) -> dict[Path, pl.DataType]:
        """Of each field without a column, by its path."""
        found = {
            path: infer([{"value": v} for v in values], self._of_words) for path, values in list(self._values.items())
        }
        return {path: schema.fields[0].dtype for path, schema in found.items() if schema is not None}

    def look(self, rows: Iterable[Mapping[object, object]]) -> bool:
        """Note the fields of some records that no column has; whether one is new."""
        before = len(self._values)
        for row in rows:
            for path, value in _unknown(row, self._known, ()):
                self._note(path, value)
            if self.more:
                break
        return len(self._values) > before

    def look_at(self, items: Sequence[object]) -> None:
        """The same for dictionaries among some items."""
        if not self.more:
            every = 1 if len(items) <= _FEW else _EVERY
            done = self._done.issuperset
            self.look(i for n, i in enumerate(items) if type(i) is dict and (n % every == 0 or not done(i)))

    def look_into(self, lines: bytes, count: int) -> None:
        """The same for that many lines of JSON."""
        if self.more or not count:
            return
        if self._vain < _IN_VAIN and lines.count(_KEY) > count * self._keys:
            self._vain += not self.look(_objects(self._suspects(lines)))
        self.look(_objects(_some(lines, count)))

    def completed(self, schema: Schema) -> Schema:
        """The columns with what was found: new ones, and new fields of those there are."""
        whole = pl.Struct([pl.Field(f.name, f.dtype) for f in schema])
        for path, dtype in self.types.items():
            whole = _with_field(whole, path, dtype)
        return Schema.of((f.name, instance(f.dtype)) for f in whole.fields)

    def _suspects(self, lines: bytes) -> Iterator[bytes]:
        """Lines with more keys than columns, so many of them."""
        most = self._keys
        many = (line for line in lines.split(b"\n") if line.count(_KEY) > most)
        return islice(many, _SUSPECTS)

    def _note(self, path: Path, value: object) -> None:
        values = self._values.get(path)
        if values is None and len(self._values) == _MOST:
            self.more = True
        elif values is None:
            self._values[path] = [value]
            self._keys += _keys_of(value) + 1
        elif len(values) < _VALUES:
            values.append(value)
        elif len(path) == 1:
            self._done.add(path[0])


def of_read(
    remarks: Remarks, schema: Schema, of_words: Callable[[Sequence[str]], pl.DataType] | None = None
) -> LateFields:
    """What looks for them in one read, of all its files."""
    remarks.late_fields = remarks.late_fields or LateFields(schema, of_words)
    return remarks.late_fields


def _unknown(value: object, dtype: pl.DataType, path: Path) -> Iterator[tuple[Path, object]]:
    """The fields of an object that a type hasn't got, each with its value and the way to it."""
    if isinstance(dtype, pl.Struct) and isinstance(value, Mapping):
        known = {f.name.lower(): f for f in dtype.fields}
        for key, inner in value.items():
            field = known.get(str(key).lower())
            if field is not None:
                if field.dtype.is_nested() and inner is not None:
                    yield from _unknown(inner, instance(field.dtype), (*path, field.name))
            elif key and inner is not None and (path or not str(key).startswith("$")):  # which no column can be called
                yield (*path, str(key)), inner
    elif isinstance(dtype, pl.List) and isinstance(value, list | tuple):
        inner_type = instance(dtype.inner)
        if inner_type.is_nested():
            for element in value:
                yield from _unknown(element, inner_type, path)


def _with_field(dtype: pl.DataType, path: Path, new: pl.DataType) -> pl.Struct:
    """A type with one more field somewhere inside."""
    assert isinstance(dtype, pl.Struct), "a field was found in it"
    fields = [
        pl.Field(f.name, _inside(instance(f.dtype), path, new) if f.name == path[0] else f.dtype) for f in dtype.fields
    ]
    return pl.Struct(fields if any(f.name == path[0] for f in fields) else [*fields, pl.Field(path[0], new)])


def _inside(dtype: pl.DataType, path: Path, new: pl.DataType) -> pl.DataType:
    if isinstance(dtype, pl.List):
        return pl.List(_inside(instance(dtype.inner), path, new))
    return _with_field(dtype, path[1:], new)


def _count(dtype: pl.DataType) -> int:
    """How many keys an object of a type has, where lists have one element."""
    if isinstance(dtype, pl.List):
        return _count(instance(dtype.inner))
    if isinstance(dtype, pl.Struct):
        return sum(1 + _count(instance(f.dtype)) for f in dtype.fields)
    return 0


def _keys_of(value: object) -> int:
    if isinstance(value, Mapping):
        return sum(1 + _keys_of(inner) for inner in value.values())
    return sum(map(_keys_of, value[:1])) if isinstance(value, list | tuple) else 0


def _some(lines: bytes, count: int) -> Iterator[bytes]:
    """Some of so many lines: the first, and others all over them."""
    step = max(1, len(lines) // (_FEW + count // _EVERY))
    if count <= _FEW:
        yield from lines.split(b"\n")
        return
    for at in range(0, len(lines), step):
        begin = lines.find(b"\n", at) + 1 if at else 0
        end = lines.find(b"\n", begin)
        yield lines[begin : end if end >= 0 else len(lines)]


def _objects(lines: Iterable[bytes]) -> Iterator[Mapping[object, object]]:
    for line in lines:
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            yield value


__all__ = ["LateFields", "of_read"]
