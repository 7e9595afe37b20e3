"""Python values to columns: what generators yield (dicts, tuples, dataclasses), many at once, with the misfits told apart."""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any, Final

import numpy as np
import polars as pl

from jupyter_stream.core.schema import TIMESTAMP, Field, Schema
from jupyter_stream.core.time import from_datetime
from jupyter_stream.sources.casting import cast, cast_by_leaf, castable, stream_type
from jupyter_stream.sources.conform import both, conform, rejected
from jupyter_stream.sources.nested import Faults, in_rows, instance, made_list, made_struct
from jupyter_stream.sources.of_pandas import is_pandas_null
from jupyter_stream.sources.protocol import Chunk
from jupyter_stream.sources.utf8 import is_whole

_NATURAL: Final[dict[type, pl.DataType]] = {
    bool: pl.Boolean(), float: pl.Float64(), str: pl.String(), bytes: pl.Binary(), dt.date: pl.Date(),
    dt.timedelta: pl.Duration("us"),
}  # fmt: skip
_SHOWN: Final = 1_000
"""Characters kept of the text of a bad item."""
_BIGINT: Final = 2**63
_STRING: Final = pl.String()


def rows_to_chunk(items: Sequence[object], schema: Schema, fields: Sequence[Field], tick: int | None) -> Chunk:
    """Items that stand for one row each, as a chunk.

    Args:
        items: dicts, dataclass instances, tuples or lists in the schema's order, or bare values for a single column.
        schema: all columns, which tuples must have.
        fields: the columns wanted.
        tick: what numbers mean as times (`casting.TICKS`).
    """
    kinds = set(map(type, items))
    if kinds == {dict}:
        kept, misfits = items, None
        columns = [_from_dicts(items, f.name) for f in fields]  # type: ignore[arg-type]  # all are dicts
    else:
        kept, columns, misfits = _from_anything(items, schema, fields)
    raw: list[pl.Series] = []
    faults: dict[str, list[Faults]] = {}
    for field, values in zip(fields, columns, strict=True):
        series, faults[field.name] = typed(field.name, values, field.dtype, tick)
        raw.append(series)
    chunk = conform(
        pl.DataFrame(raw), fields, tick, lambda rows: [_text(kept[r]) for r in rows],
        faults={name: wrong for name, wrong in faults.items() if wrong},
    )  # fmt: skip
    return Chunk(chunk.frame, both(misfits, chunk.rejected))


def typed(
    name: str, values: Sequence[object], target: pl.DataType, tick: int | None, path: tuple[str, ...] = ()
) -> tuple[pl.Series, list[Faults]]:
    """Values of any kinds as one column of the declared type, which may be nested.

    Returns:
        The column, NULL in each part that has no counterpart, and where those are.
    """
    if isinstance(target, pl.Struct | pl.List):
        return _nested(name, values, target, tick, path)
    series, bad = column(name, values, target, tick)
    return series, [Faults(path, target, np.array(bad, np.int64), [values[i] for i in bad])] if bad else []


def _nested(
    name: str, values: Sequence[object], target: pl.Struct | pl.List, tick: int | None, path: tuple[str, ...]
) -> tuple[pl.Series, list[Faults]]:
    """Objects or lists; texts are read as JSON."""
    plain = [_plain(_as_dict(v)) for v in values]
    texts = {i: v for i, v in enumerate(plain) if isinstance(v, str) and is_whole(v)}
    kind = Mapping if isinstance(target, pl.Struct) else (list, tuple, pl.Series)
    fits = [isinstance(v, kind) and i not in texts for i, v in enumerate(plain)]
    wrong = [i for i, v in enumerate(plain) if v is not None and not fits[i] and i not in texts]
    faults = [Faults(path, target, np.array(wrong, np.int64), [values[i] for i in wrong])] if wrong else []
    there = pl.Series(fits, dtype=pl.Boolean)
    if isinstance(target, pl.Struct):
        objects = [v if ok else {} for v, ok in zip(plain, fits, strict=True)]
        parts = []
        for field in target.fields:
            inner = _values_of(objects, field.name)
            part, more = typed(field.name, inner, instance(field.dtype), tick, (*path, field.name))
            parts.append(part)
            faults += more
        series = made_struct(name, parts, there, target)
    else:
        lengths = np.array([len(v) if ok else 0 for v, ok in zip(plain, fits, strict=True)], np.int64)
        elements = [e for v, ok in zip(plain, fits, strict=True) if ok for e in v]
        part, more = typed(name, elements, instance(target.inner), tick, path)
        series = made_list(name, part, lengths, ~there, target)
        faults += in_rows(more, lengths)
    return (_with_texts(series, texts, target, tick, faults), faults) if texts else (series, faults)


def _with_texts(
    series: pl.Series, texts: Mapping[int, str], target: pl.DataType, tick: int | None, faults: list[Faults]
) -> pl.Series:
    """The column with what some texts hold in JSON; what is wrong with these is added to `faults`."""
    at = np.array(list(texts), np.int64)
    found, wrong = cast_by_leaf(pl.Series(series.name, list(texts.values()), dtype=pl.String), target, tick)
    faults += [replace(f, rows=at[f.rows]) for f in wrong]
    where = np.arange(len(series))
    where[at] = len(series) + np.arange(at.size)
    return pl.concat([series, found]).gather(where)


def _values_of(objects: Sequence[Mapping[object, object]], name: str) -> list[object]:
    """What objects have under a name, in whatever case."""
    if all(name in o for o in objects):
        return [o[name] for o in objects]
    lower = name.lower()
    return [o[name] if name in o else next((v for k, v in o.items() if str(k).lower() == lower), None) for o in objects]


def column(name: str, values: Sequence[Any], target: pl.DataType, tick: int | None) -> tuple[pl.Series, list[int]]:
    """Values of any kinds as one column of the declared type.

    Values are taken kind by kind (most columns have one kind and NULLs), each kind at once.

    Returns:
        The column, and the positions of values that have no counterpart in the type (NULL in the column).
    """
    kinds = set(map(type, values)) - {type(None)}
    if not kinds:
        return pl.Series(name, [None] * len(values), dtype=target), []
    if len(kinds) == 1 and len(values) > 0:
        return _one_kind(name, values, kinds.pop(), target, tick)
    parts: list[pl.Series] = []
    where: list[int] = []
    bad: list[int] = []
    for kind in kinds:
        at = [i for i, v in enumerate(values) if type(v) is kind]
        part, failed = _one_kind(name, [values[i] for i in at], kind, target, tick)
        parts.append(part)
        where.extend(at)
        bad.extend(at[i] for i in failed)
    missing = [i for i, v in enumerate(values) if v is None]
    parts.append(pl.Series(name, [None] * len(missing), dtype=target))
    order = pl.Series(where + missing).arg_sort()
    return pl.concat(parts).gather(order), sorted(bad)


def infer(
    items: Iterable[Any], of_words: Callable[[Sequence[str]], pl.DataType] | None = None, nothing: pl.DataType = _STRING
) -> Schema | None:
    """The schema that a list of dicts or dataclass instances tells by itself; None if they don't.

    An empty key is no column, nor is one with half of a character: no query can name them.

    Args:
        items: the rows.
        of_words: the type of texts; STRING if left out.
        nothing: the type of what has no values.
    """
    rows = [_as_dict(i) for i in items]
    if not rows or not all(isinstance(row, Mapping) for row in rows):
        return None
    fields = _Widest(of_words or (lambda words: pl.String()), nothing).fields(rows)
    return Schema.of([(name, dtype) for name, dtype in fields if name])


class _Widest:
    """Types that hold all of some values.

    Args:
        of_words: the type of texts.
        nothing: that of what has no values.
    """

    def __init__(self, of_words: Callable[[Sequence[str]], pl.DataType], nothing: pl.DataType) -> None:
        self._of_words = of_words
        self._nothing = nothing

    def fields(self, rows: Sequence[Mapping[object, object]]) -> list[tuple[str, pl.DataType]]:
        """The keys of objects in the order in which they first come, each with the type that holds all its values."""
        values: dict[str, list[object]] = {}
        lower: dict[str, str] = {}
        for row in rows:
            for key, value in row.items():
                name = str(key)
                name = name if name in values else lower.setdefault(name.lower(), name)
                values.setdefault(name, []).append(value)
        return [(name, self.of(found)) for name, found in values.items() if is_whole(name)]

    def of(self, values: Sequence[object]) -> pl.DataType:
        """The type that holds all of these values: of objects and lists, part by part."""
        plain = [p for v in values if (p := _plain(_as_dict(v))) is not None]
        if not plain:
            return self._nothing
        if all(isinstance(v, Mapping) for v in plain):
            found = self.fields(plain)
            return pl.Struct([pl.Field(name, dtype) for name, dtype in found]) if found else self._nothing
        if all(isinstance(v, list | tuple) for v in plain):
            return pl.List(self.of([element for v in plain for element in v]))
        if all(isinstance(v, str) for v in plain):
            return self._of_words(plain) if all(map(is_whole, plain)) else pl.String()
        kinds = {type(v) for v in plain}
        if any(isinstance(v, Mapping | list | tuple) for v in plain):
            return pl.String()
        if kinds <= {int, float}:
            if kinds == {int} and not all(-_BIGINT <= v < _BIGINT for v in plain):
                return pl.String()
            return pl.Float64() if float in kinds else pl.Int64()
        try:
            return stream_type(pl.Series(plain, strict=True).dtype)
        except (TypeError, OverflowError, UnicodeEncodeError, pl.exceptions.PolarsError):
            return pl.String()


def _one_kind(
    name: str, values: Sequence[Any], kind: type, target: pl.DataType, tick: int | None
) -> tuple[pl.Series, list[int]]:
    halves = [i for i, v in enumerate(values) if isinstance(v, str) and not is_whole(v)] if kind is str else []
    if halves:
        values = [None if i in set(halves) else v for i, v in enumerate(values)]
        series, wrong = _one_kind(name, values, kind, target, tick)
        return series, sorted([*halves, *wrong])
    before = _series(name, values, kind)
    if before is None or not castable(before.dtype, target, tick):
        return pl.Series(name, [None] * len(values), dtype=target), [i for i, v in enumerate(values) if not _is_null(v)]
    after = cast(before, target, tick).alias(name)
    if not after.null_count() or (after.null_count() == before.null_count() and kind is not int):
        return after, []
    return after, [i for i in after.is_null().arg_true().to_list() if not _is_null(values[i])]


def _series(name: str, values: Sequence[Any], kind: type) -> pl.Series | None:
    """The values, all of one kind (or None), in the type that suits the kind; None if no type does."""
    if kind in _NATURAL:
        return pl.Series(name, values, dtype=_NATURAL[kind])
    if kind is int:
        try:
            return pl.Series(name, values, dtype=pl.Int64, strict=True)
        except (TypeError, OverflowError, pl.exceptions.PolarsError):
            return pl.Series(name, [None if v is None else str(v) for v in values], dtype=pl.String)
    if issubclass(kind, dt.datetime):
        return _datetimes(name, values)
    if issubclass(kind, Decimal):
        return pl.Series(name, [None if v is None else str(v) for v in values], dtype=pl.String)
    if issubclass(kind, np.generic | np.ndarray):
        plain = [_plain(v) for v in values]
        inner = {type(v) for v in plain} - {type(None)}
        if len(inner) != 1 or inner == {kind}:
            return pl.Series(name, [None] * len(values), dtype=pl.Null) if not inner else None
        return _series(name, plain, inner.pop())
    if is_pandas_null(next((v for v in values if v is not None), None)):
        return pl.Series(name, [None] * len(values), dtype=pl.Null)
    try:
        return pl.Series(name, values, strict=True)
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
        return None


def _datetimes(name: str, values: Sequence[Any]) -> pl.Series:
    micros = [None if _is_null(v) else from_datetime(v) for v in values]
    return pl.Series(name, micros, dtype=pl.Int64).cast(TIMESTAMP)


def _plain(value: Any) -> Any:
    if isinstance(value, np.datetime64):
        micros = value.astype("datetime64[us]")
        return None if np.isnat(micros) else micros.item()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    return None if _is_null(value) else value


def _is_null(value: Any) -> bool:
    return value is None or is_pandas_null(value)


def _from_dicts(items: Sequence[dict[Any, Any]], name: str) -> list[Any]:
    # Rows of one generator spell their keys alike: so the first row that has the column says how.
    key = next((k for item in items for k in item if isinstance(k, str) and k == name), None)
    if key is None:
        lower = name.lower()
        key = next((k for item in items[:100] for k in item if isinstance(k, str) and k.lower() == lower), name)
    return [item.get(key) for item in items]


def _from_anything(
    items: Sequence[object], schema: Schema, fields: Sequence[Field]
) -> tuple[list[object], list[list[Any]], pl.DataFrame | None]:
    """Items of several kinds as columns; those that are no row of the schema as rejected records."""
    at = [schema.names.index(f.name) for f in fields]
    kept: list[object] = []
    rows: list[Sequence[Any]] = []
    raw: list[str] = []
    reasons: list[str] = []
    for item in items:
        row = _row(item, schema)
        if isinstance(row, str):
            raw.append(_text(item))
            reasons.append(row)
        else:
            kept.append(item)
            rows.append(row)
    return kept, [[row[i] for row in rows] for i in at], rejected(raw, reasons)


def _row(item: Any, schema: Schema) -> Sequence[Any] | str:
    """The item's values in the schema's order, or why it is no row."""
    if _is_dataclass(item):
        item = {f.name: getattr(item, f.name) for f in dataclasses.fields(item)}
    elif hasattr(item, "_asdict"):
        item = item._asdict()
    if isinstance(item, Mapping):
        lower = {str(k).lower(): v for k, v in item.items()}
        return [item[n] if n in item else lower.get(n.lower()) for n in schema.names]
    if isinstance(item, tuple | list):
        if len(item) == len(schema):
            return item
        return f"{len(item)} values for the {len(schema)} columns {', '.join(schema.names)}"
    if len(schema) == 1:
        return (item,)
    return f"a {type(item).__name__} is not a row: yield a dict, a tuple or a dataclass"


def _as_dict(item: Any) -> Any:
    return dataclasses.asdict(item) if _is_dataclass(item) else item


def _is_dataclass(item: object) -> bool:
    return dataclasses.is_dataclass(item) and not isinstance(item, type)


def _text(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "..."
