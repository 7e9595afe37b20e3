"""Frames of other libraries as slices of Polars frames: pandas, Polars, Arrow. No copy where memory layouts allow it.

Not for types declared by the user: `conform` casts the slices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import polars as pl
import pyarrow as pa

from jupyter_stream.core.schema import Schema
from jupyter_stream.errors import SourceError
from jupyter_stream.sources.casting import stream_type
from jupyter_stream.sources.of_pandas import is_pandas_column, is_pandas_frame, is_pandas_null
from jupyter_stream.sources.protocol import REPLAY_ROWS
from jupyter_stream.sources.utf8 import trusted

if TYPE_CHECKING:
    import pandas as pd

Slice: TypeAlias = Callable[[int, int], pl.Series]

_BY_INFERENCE: dict[str, pl.DataType] = {
    "string": pl.String(), "integer": pl.Int64(), "boolean": pl.Boolean(), "floating": pl.Float64(), "bytes": pl.Binary(),
    "mixed-integer-float": pl.Float64(), "datetime": pl.Datetime("us"), "datetime64": pl.Datetime("us"), "date": pl.Date(),
    "timedelta": pl.Duration("us"), "timedelta64": pl.Duration("us"), "empty": pl.String(),
}  # fmt: skip


def is_frame(value: object) -> bool:
    """Whether it is a table of one of the libraries known here, or exports itself as an Arrow stream."""
    if isinstance(value, pl.DataFrame | pl.LazyFrame) or is_pandas_frame(value):
        return True
    return hasattr(value, "__arrow_c_stream__") and not is_column(value)


def is_column(value: object) -> bool:
    """Whether it is one column of a frame rather than a frame."""
    return isinstance(value, pl.Series | pa.Array | pa.ChunkedArray) or is_pandas_column(value)


def is_once(value: object) -> bool:
    """Whether a frame can be read only one time."""
    return isinstance(value, pa.RecordBatchReader)


def raw_schema(value: Any, where: str) -> Schema:
    """The columns of a frame and their types, before any cast.

    Raises:
        SourceError: when two columns have the same name.
    """
    if is_pandas_frame(value):
        names = [str(c) for c in value.columns]
        if len(set(names)) < len(names):
            twice = next(n for n in names if names.count(n) > 1)
            raise SourceError(f"{where} has two columns named '{twice}'.", hint="Rename one of them.")
        return Schema.of((name, _pandas_type(column)) for name, column in _pandas_columns(value).items())
    if isinstance(value, pl.LazyFrame):
        return Schema.of(value.collect_schema().items())
    if isinstance(value, pl.DataFrame):
        return Schema.from_frame(value)
    schema = value.schema if isinstance(getattr(value, "schema", None), pa.Schema) else None
    if schema is None:
        return Schema.from_frame(pl.DataFrame(value).clear())
    if len(set(schema.names)) < len(schema.names):
        raise SourceError(f"{where} has two columns of the same name.", hint="Rename one of them.")
    return Schema.from_frame(pl.from_arrow(schema.empty_table()))  # type: ignore[arg-type]  # a table gives a frame


def declared(raw: Schema) -> Schema:
    """The schema a stream over such columns has when none was declared: those that have a name."""
    return Schema.of((f.name, stream_type(f.dtype)) for f in raw if f.name)


def height(value: Any) -> int:
    """How many rows a frame has; 0 where that isn't known before they are read."""
    if isinstance(value, pa.Table | pa.RecordBatch):
        return int(value.num_rows)
    return len(value) if is_pandas_frame(value) or isinstance(value, pl.DataFrame) else 0


def slices(value: Any, columns: Sequence[str], rows: int = REPLAY_ROWS) -> Iterator[pl.DataFrame]:
    """The frame's rows, in order, at most `rows` at a time, in the types of `raw_schema`; only these columns."""
    if is_pandas_frame(value):
        yield from _pandas_slices(value, columns, rows)
    elif isinstance(value, pa.RecordBatchReader):
        for batch in value:
            yield from _cut(_of_arrow(batch, columns), rows)
    else:
        yield from _cut(_polars(value, columns), rows)


def _polars(value: Any, columns: Sequence[str]) -> pl.DataFrame:
    if isinstance(value, pl.LazyFrame):
        return value.select(columns).collect()
    if isinstance(value, pl.DataFrame):
        return value.select(columns)
    if isinstance(value, pa.Table | pa.RecordBatch):
        return _of_arrow(value, columns)
    return pl.DataFrame(value).select(columns)


def _of_arrow(value: pa.Table | pa.RecordBatch, columns: Sequence[str]) -> pl.DataFrame:
    """Text that is no UTF-8 comes as bytes: Polars takes it on trust."""
    return pl.DataFrame([pl.Series(name, trusted(value.column(name))) for name in columns])


def _cut(frame: Any, rows: int) -> Iterator[pl.DataFrame]:
    for start in range(0, frame.height, rows):
        yield frame.slice(start, rows)


def _pandas_columns(frame: pd.DataFrame) -> dict[str, pd.Series[Any]]:
    """The columns by name; a level of the index that has a name of its own is one, as times often are. Times without a name
    are called `index`, as `reset_index` calls them.
    """
    import pandas as pd

    own = {str(c): i for i, c in enumerate(frame.columns)}
    unnamed = "index" if isinstance(frame.index, pd.DatetimeIndex) else None
    named = [unnamed if n is None else str(n) for n in frame.index.names]
    levels = {n: i for i, n in enumerate(named) if n is not None and n not in own}
    found = {name: pd.Series(frame.index.get_level_values(i)) for name, i in levels.items()}
    found |= {name: frame.iloc[:, i] for name, i in own.items()}
    return {name: _for_arrow(column) for name, column in found.items()}


def _for_arrow(column: pd.Series[Any]) -> pd.Series[Any]:
    """A column that Arrow can take: sparse ones with all their values, those of types it doesn't know as Python objects."""
    import pandas as pd

    if isinstance(column.dtype, pd.SparseDtype):
        column = column.sparse.to_dense()  # type: ignore[attr-defined]  # pandas-stubs doesn't know it
    try:
        known = not isinstance(pa.array(column.iloc[:0], from_pandas=True).type, pa.BaseExtensionType)
    except (pa.ArrowException, TypeError, ValueError):
        known = False
    return column if known else column.astype(object)


def _pandas_slices(frame: pd.DataFrame, columns: Sequence[str], rows: int) -> Iterator[pl.DataFrame]:
    held = _pandas_columns(frame)
    cutters = [_pandas_column(held[name], name) for name in columns]
    for start in range(0, len(frame), rows):
        yield pl.DataFrame([cut(start, min(rows, len(frame) - start)) for cut in cutters])


def _pandas_column(column: pd.Series[Any], name: str) -> Slice:
    """A cutter for one column: memory that Arrow can share is taken whole, Python objects are converted slice by slice."""
    if column.dtype == object:
        dtype = _pandas_type(column)
        values = column.to_numpy()
        return lambda start, rows: _objects(values[start : start + rows], dtype).alias(name)
    whole = _without_nan(pl.Series(name, trusted(pa.array(column, from_pandas=True))))
    return lambda start, rows: whole.slice(start, rows)


def _pandas_type(column: pd.Series[Any]) -> pl.DataType:
    if column.dtype != object:
        return pl.Series(pa.array(column.iloc[:0], from_pandas=True)).dtype
    from pandas.api.types import infer_dtype

    kind = infer_dtype(column, skipna=True)
    if kind in _BY_INFERENCE:
        return _BY_INFERENCE[kind]
    try:
        return pl.Series(pa.array(column, from_pandas=True)).dtype
    except (pa.ArrowException, UnicodeEncodeError, OverflowError, pl.exceptions.PolarsError):
        return pl.String()


def _objects(values: np.ndarray[Any, Any], dtype: pl.DataType) -> pl.Series:
    # A column of numbers and words is text throughout, and one of numbers and truth values is of numbers: else what a row holds
    # would depend on its neighbours.
    kind = {pl.String: pa.large_string(), pl.Float64: pa.float64()}.get(type(dtype))
    try:
        found = pl.Series(pa.array(values, kind, from_pandas=True))
    except (pa.ArrowException, UnicodeEncodeError, OverflowError):
        found = _as_text(values)
    return found.cast(dtype) if isinstance(found.dtype, pl.Null) else _without_nan(found)


def _as_text(values: np.ndarray[Any, Any]) -> pl.Series:
    """What values are called; as bytes, which `conform` refuses row by row, where halves of characters are among them."""
    texts = [None if _is_missing(v) else str(v) for v in values]
    try:
        return pl.Series(texts, dtype=pl.String)
    except UnicodeEncodeError:
        return pl.Series([None if t is None else t.encode(errors="surrogatepass") for t in texts], dtype=pl.Binary)


def _is_missing(value: Any) -> bool:
    return value is None or is_pandas_null(value) or (isinstance(value, float) and value != value)


def _without_nan(values: pl.Series) -> pl.Series:
    """NaN in a pandas float column is NULL; Arrow-backed columns may still hold NaN beside their nulls."""
    if values.dtype.is_float() and values.is_nan().any():
        return values.fill_nan(None)
    return values
