"""Columns of Python objects, as pandas and Polars hold them: one type for the whole column, and what has none as its text."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final, TypeAlias

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from jupyter_stream.core.schema import TIMESTAMP
from jupyter_stream.sources.of_pandas import is_pandas_null
from jupyter_stream.sources.plain_arrow import plain, reading
from jupyter_stream.sources.widest import INTEGERS, integers

Objects: TypeAlias = NDArray[np.object_]
_FAILURES: Final = (
    pa.ArrowException, TypeError, ValueError, OverflowError, NotImplementedError, pl.exceptions.PolarsError,
)  # fmt: skip
"""How Arrow and Polars say that they know no type for some values."""
_PLAIN: Final = (bool, int, float, str, bytes, dt.date, dt.time, dt.timedelta, Decimal)
_BY_KIND: Final[dict[str, pl.DataType]] = {
    "string": pl.String(), "boolean": pl.Boolean(), "floating": pl.Float64(), "bytes": pl.Binary(),
    "mixed-integer-float": pl.Float64(), "datetime": TIMESTAMP, "datetime64": TIMESTAMP,
    "timedelta": pl.Duration("us"), "timedelta64": pl.Duration("us"), "empty": pl.String(),
}  # fmt: skip


def type_of_objects(values: Objects, kind: str) -> pl.DataType:
    """The type of a whole column.

    Args:
        values: all of it.
        kind: what `pandas.api.types.infer_dtype` says of it; "mixed" where nobody has looked.
    """
    if kind in _BY_KIND:
        return _BY_KIND[kind]
    if kind == "integer":
        return integers(v for v in values if not _is_missing(v))
    if kind in ("date", "mixed") and _are_times(values):
        return TIMESTAMP
    if kind == "date":
        return pl.Date()
    found = _by_arrow(values)
    return pl.String() if found is None else found.dtype


def objects(values: Objects, dtype: pl.DataType) -> pl.Series:
    """Some values of a column of that type."""
    if dtype == TIMESTAMP:
        return _instants(values)
    if dtype in INTEGERS:
        return _as_text(values).cast(dtype)
    # A column of numbers and words is text throughout, and one of numbers and truth values is of numbers: else what a row holds
    # would depend on its neighbours.
    found = _by_arrow(values, {pl.String: pa.large_string(), pl.Float64: pa.float64()}.get(type(dtype)))
    if found is None:
        return _as_text(values)
    return found.cast(dtype) if isinstance(found.dtype, pl.Null) else found


def _by_arrow(values: Objects, kind: pa.DataType | None = None) -> pl.Series | None:
    """The values as Arrow reads them, those that it doesn't know as their text; None where that is not one type."""
    try:
        return _series(values, kind)
    except _FAILURES:
        if kind is not None or not any(isinstance(v, _NESTED) for v in values):
            return None
    try:
        return _series([None if _is_missing(v) else _leaves(v) for v in values], None)
    except _FAILURES:
        return None


def _series(values: object, kind: pa.DataType | None) -> pl.Series:
    array = pa.array(values, kind, from_pandas=True)
    field = pa.field("", array.type)
    if isinstance(array.type, pa.BaseExtensionType) or reading(field).called is None:
        return pl.Series(plain(array, field))
    raise TypeError(array.type)


_NESTED: Final = (Mapping, list, tuple, set, frozenset, np.ndarray)


def _leaves(value: object) -> object:
    """A value with the text of all in it that Arrow has no type for."""
    if value is None or isinstance(value, _PLAIN):
        return value
    if isinstance(value, Mapping):
        return {str(k): _leaves(v) for k, v in value.items()}
    if isinstance(value, _NESTED):
        return [_leaves(v) for v in value]
    if isinstance(value, np.generic):
        return _leaves(value.astype("datetime64[us]").item() if isinstance(value, np.datetime64) else value.item())
    return None if _is_missing(value) else _text(value)


def _as_text(values: Objects) -> pl.Series:
    """What values are called; as bytes, which `conform` refuses row by row, where halves of characters are among them."""
    texts = [None if _is_missing(v) else _text(v) for v in values]
    try:
        return pl.Series(texts, dtype=pl.String)
    except UnicodeEncodeError:
        return pl.Series([None if t is None else t.encode(errors="surrogatepass") for t in texts], dtype=pl.Binary)


def _text(value: object) -> str:
    """What a value is called: JSON for what holds others, its type for one that doesn't say."""
    try:
        if isinstance(value, Mapping | list | tuple | set | frozenset | np.ndarray):
            return json.dumps(_leaves(value), ensure_ascii=False, default=str)
        return str(value)
    except Exception:
        return f"<{type(value).__name__}>"


def _are_times(values: Objects) -> bool:
    """Whether all are dates and times, and one at least is a time."""
    kinds = {type(v) for v in values if not _is_missing(v)}
    dated = all(issubclass(k, dt.date | np.datetime64) for k in kinds)
    return dated and any(issubclass(k, dt.datetime | np.datetime64) for k in kinds)


def _instants(values: Objects) -> pl.Series:
    try:
        return pl.Series(pa.array(values, pa.timestamp("us"), from_pandas=True))
    except _FAILURES:
        return pl.Series([_instant(v) for v in values], dtype=TIMESTAMP)


def _instant(value: Any) -> dt.datetime | None:
    if isinstance(value, np.datetime64):
        value = value.astype("datetime64[us]").item()
    if _is_missing(value):
        return None
    if not isinstance(value, dt.datetime):
        return dt.datetime(value.year, value.month, value.day)
    plain_one = value if value.tzinfo is None else value.astimezone(dt.UTC).replace(tzinfo=None)
    return plain_one.to_pydatetime(warn=False) if hasattr(plain_one, "to_pydatetime") else plain_one


def _is_missing(value: object) -> bool:
    return value is None or is_pandas_null(value) or (isinstance(value, float) and value != value)


__all__ = ["objects", "type_of_objects"]
