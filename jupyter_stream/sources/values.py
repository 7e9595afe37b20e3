"""Python values to columns: what generators yield (dicts, tuples, dataclasses), many at once, with the misfits told apart."""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

import numpy as np
import polars as pl

from jupyter_stream.core.schema import TIMESTAMP, Field, Schema, type_name
from jupyter_stream.core.time import from_datetime
from jupyter_stream.sources.casting import cast, castable, stream_type
from jupyter_stream.sources.conform import both, conform, rejected
from jupyter_stream.sources.of_pandas import is_pandas_null
from jupyter_stream.sources.protocol import Chunk

_NATURAL: Final[dict[type, pl.DataType]] = {
    bool: pl.Boolean(), float: pl.Float64(), str: pl.String(), bytes: pl.Binary(), dt.date: pl.Date(),
    dt.timedelta: pl.Duration("us"),
}  # fmt: skip
_SHOWN: Final = 1_000
"""Characters kept of the text of a bad item."""


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
    broken: dict[int, str] = {}
    for field, values in zip(fields, columns, strict=True):
        series, bad = column(field.name, values, field.dtype, tick)
        raw.append(series)
        for row in bad:
            value = values[row]
            broken.setdefault(row, f"column {field.name}: {_text(value)} can't be read as {type_name(field.dtype)}")
    chunk = conform(pl.DataFrame(raw), fields, tick)
    if broken:
        rows = sorted(broken)
        keep = np.ones(len(kept), dtype=bool)
        keep[rows] = False
        told = rejected([_text(kept[r]) for r in rows], [broken[r] for r in rows])
        chunk = Chunk(chunk.frame.filter(pl.Series(keep)), told)
    return Chunk(chunk.frame, both(misfits, chunk.rejected))


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


def infer(items: Iterable[Any]) -> Schema | None:
    """The schema that a list of dicts or dataclass instances tells by itself; None if they don't.

    A key with half of a character is no column: no text in UTF-8 can hold it.
    """
    rows = [dataclasses.asdict(i) if _is_dataclass(i) else i for i in items]
    if not rows or not all(isinstance(row, Mapping) for row in rows):
        return None
    names = [n for n in dict.fromkeys(str(name) for row in rows for name in row) if _is_whole(n)]
    return Schema.of((name, _inferred([row.get(name) for row in rows])) for name in names)


def _inferred(values: list[Any]) -> pl.DataType:
    plain = [_plain(v) for v in values]
    try:
        return stream_type(pl.Series(plain, strict=True).dtype)
    except (TypeError, OverflowError, UnicodeEncodeError, pl.exceptions.PolarsError):
        kinds = {type(v) for v in plain} - {type(None)}
        return pl.Float64() if kinds <= {int, float} else pl.String()


def _one_kind(
    name: str, values: Sequence[Any], kind: type, target: pl.DataType, tick: int | None
) -> tuple[pl.Series, list[int]]:
    halves = [i for i, v in enumerate(values) if isinstance(v, str) and not _is_whole(v)] if kind is str else []
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


def _is_whole(text: str) -> bool:
    """Whether no character of it is only half of one."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


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


def _is_dataclass(item: object) -> bool:
    return dataclasses.is_dataclass(item) and not isinstance(item, type)


def _text(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "..."
