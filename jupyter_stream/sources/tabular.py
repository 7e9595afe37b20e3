"""Frames of other libraries as slices of Polars frames: pandas, Polars, Arrow. No copy where memory layouts allow it.

Not for types declared by the user: `conform` casts the slices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
import polars as pl
import pyarrow as pa

from jupyter_stream.core.schema import Field, Schema
from jupyter_stream.errors import SourceError
from jupyter_stream.sources.casting import stream_type
from jupyter_stream.sources.nested import instance
from jupyter_stream.sources.of_objects import objects, type_of_objects
from jupyter_stream.sources.of_pandas import is_pandas_column, is_pandas_frame
from jupyter_stream.sources.plain_arrow import plain, reading
from jupyter_stream.sources.protocol import REPLAY_ROWS
from jupyter_stream.sources.widest import bounds, fitting, may_be_beyond

if TYPE_CHECKING:
    import pandas as pd

Slice: TypeAlias = Callable[[int, int], pl.Series]
Pieces: TypeAlias = Callable[[str], Iterable[pl.Series]]
"""Gives all values of a column, some at a time."""

UNREADABLE: Final = (
    pa.ArrowException, pl.exceptions.PolarsError, pl.exceptions.PanicException, NotImplementedError, TypeError, ValueError,
)  # fmt: skip
"""How a library says that it can't read a column."""


@dataclass(frozen=True)
class Columns:
    """What a frame holds.

    Attributes:
        raw: the columns that can be read and their types, before any cast.
        texts: those whose type SQL has no name for, which are read as their text, and what that type is called.
        left_out: those that can't be read, and what their type is called.
    """

    raw: Schema
    texts: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)

    @property
    def notes(self) -> list[str]:
        """Sentences about both."""
        said = []
        if self.texts:
            said.append(f"{_listed(self.texts)} {'is' if len(self.texts) == 1 else 'are'} read as STRING.")
        if self.left_out:
            verb = "is" if len(self.left_out) == 1 else "are"
            said.append(f"{_listed(self.left_out)} can't be read and {verb} left out.")
        return said


def _listed(columns: Mapping[str, str]) -> str:
    names = [f"{name} ({kind})" for name, kind in columns.items()]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


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
    """The columns of a frame and their types, before any cast; those that can be read.

    Raises:
        SourceError: when two columns have the same name.
    """
    return columns_of(value, where).raw


def columns_of(value: Any, where: str) -> Columns:
    """The columns of a frame.

    Raises:
        SourceError: when two columns have the same name.
    """
    if is_pandas_frame(value):
        return _columns_of_pandas(value, where)
    if isinstance(value, pl.LazyFrame):
        return columns_of_polars(value.collect_schema().items(), lambda name: value.select(name).collect())
    if isinstance(value, pl.DataFrame):
        return columns_of_polars(value.schema.items(), lambda name: value.select(name))
    schema = _arrow_schema(value)
    if len(set(schema.names)) < len(schema.names):
        raise SourceError(f"{where} has two columns of the same name.", hint="Rename one of them.")
    return columns_of_arrow(schema)


def declared(raw: Schema, pieces: Pieces | None = None) -> Schema:
    """The schema a stream over such columns has when none was declared: those that have a name.

    Args:
        raw: the columns.
        pieces: of columns that may have whole numbers beyond BIGINT; None where they can't be looked at.
    """
    return Schema.of((f.name, _stream_type(f, pieces)) for f in raw if f.name)


def _stream_type(field: Field, pieces: Pieces | None) -> pl.DataType:
    if pieces is None or not may_be_beyond(field.dtype):
        return stream_type(field.dtype)
    return fitting(field.dtype, bounds(pieces(field.name)))


def pieces_of(value: object) -> Pieces:
    """Those of a frame's columns."""
    return lambda name: (piece.get_column(name) for piece in slices(value, [name]))


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
        value = value.select(columns).collect()
    if isinstance(value, pl.DataFrame):
        return readable(value[[*columns]])  # past the planner
    if isinstance(value, pa.Table | pa.RecordBatch):
        return _of_arrow(value, columns)
    return _of_arrow(pa.table(value), columns)


def _of_arrow(value: pa.Table | pa.RecordBatch, columns: Sequence[str]) -> pl.DataFrame:
    """Text that is no UTF-8 comes as bytes: Polars takes it on trust."""
    return pl.DataFrame([
        pl.Series(name, plain(value.column(name), value.schema.field(name))) for name in columns
    ])  # fmt: skip


def _arrow_schema(value: Any) -> pa.Schema:
    """The `pyarrow.Schema` of what exports itself as an Arrow stream."""
    own = getattr(value, "schema", None)
    if isinstance(own, pa.Schema):
        return own
    return pa.schema(value) if hasattr(value, "__arrow_c_schema__") else pa.table(value).schema


def columns_of_arrow(schema: pa.Schema) -> Columns:
    """The columns of a `pyarrow.Schema`."""
    found: list[tuple[str, pl.DataType]] = []
    texts: dict[str, str] = {}
    left_out: dict[str, str] = {}
    for column in schema:
        try:
            kind, _, called = reading(column)
            found.append((column.name, pl.Series(pa.array([], kind)).dtype))
        except UNREADABLE:
            left_out[column.name] = str(column.type)
            continue
        if called is not None:
            texts[column.name] = called
    return Columns(Schema.of(found), texts, left_out)


_MAY_BE_ODD: Final = (pl.Struct, pl.List, pl.Array, pl.BaseExtension, pl.Object)


def _is_odd(dtype: object) -> bool:
    """Whether it is, or holds, what is read by way of Arrow or Python: types of others, objects; maps deep inside."""
    dtype = instance(dtype)
    if not isinstance(dtype, _MAY_BE_ODD):
        return False
    if isinstance(dtype, pl.Struct):
        return any(_is_odd(f.dtype) or isinstance(instance(f.dtype), pl.Map) for f in dtype.fields)
    if isinstance(dtype, pl.List | pl.Array):
        return _is_odd(dtype.inner) or isinstance(instance(dtype.inner), pl.Map)
    return isinstance(dtype, pl.BaseExtension | pl.Object)


def columns_of_polars(fields: Iterable[tuple[str, pl.DataType]], column: Callable[[str], pl.DataFrame]) -> Columns:
    """The columns of a frame of Polars.

    Args:
        fields: names and types.
        column: gives one, for those whose type doesn't say all.
    """
    found: list[tuple[str, pl.DataType]] = []
    texts: dict[str, str] = {}
    left_out: dict[str, str] = {}
    for name, dtype in fields:
        if not _is_odd(dtype):
            found.append((name, dtype))
        elif isinstance(dtype, pl.Object):
            kind = _of_polars(column(name)).dtype
            found.append((name, kind))
            texts |= {name: "object"} if isinstance(kind, pl.String) else {}
        else:
            try:
                held = columns_of_arrow(column(name).clear().to_arrow(compat_level=pl.CompatLevel.oldest()).schema)
            except UNREADABLE:
                left_out[name] = str(dtype)
                continue
            found += [(f.name, f.dtype) for f in held.raw]
            texts, left_out = texts | held.texts, left_out | held.left_out
    return Columns(Schema.of(found), texts, left_out)


def readable(frame: pl.DataFrame) -> pl.DataFrame:
    """A frame of Polars in the types that `columns_of_polars` tells."""
    odd = [_of_polars(frame.select(c.name)) for c in frame.get_columns() if _is_odd(c.dtype)]
    return frame.with_columns(odd) if odd else frame


def _of_polars(column: pl.DataFrame) -> pl.Series:
    """One column of a type of `_is_odd`."""
    (values,) = column.get_columns()
    if isinstance(values.dtype, pl.Object):
        held = np.array([*values.to_list(), None], dtype=object)[:-1]  # which would make two dimensions of equal lists
        return objects(held, type_of_objects(held, "mixed")).alias(values.name)
    table = column.to_arrow(compat_level=pl.CompatLevel.oldest())
    return pl.Series(values.name, plain(table.column(0), table.schema.field(0)))


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
    return found | {name: frame.iloc[:, i] for name, i in own.items()}


def _columns_of_pandas(frame: pd.DataFrame, where: str) -> Columns:
    names = [str(c) for c in frame.columns]
    if len(set(names)) < len(names):
        twice = next(n for n in names if names.count(n) > 1)
        raise SourceError(f"{where} has two columns named '{twice}'.", hint="Rename one of them.")
    found: list[tuple[str, pl.DataType]] = []
    texts: dict[str, str] = {}
    left_out: dict[str, str] = {}
    for name, column in _pandas_columns(frame).items():
        try:
            dtype = _pandas_type(_for_arrow(column))
        except UNREADABLE:
            left_out[name] = str(column.dtype)
            continue
        found.append((name, dtype))
        called = _called(column)
        if isinstance(dtype, pl.String) and called is not None:
            texts[name] = called
    return Columns(Schema.of(found), texts, left_out)


def _called(column: pd.Series[Any]) -> str | None:
    """What its type is called where it becomes text and is none."""
    import pandas as pd

    dtype = column.dtype.categories.dtype if isinstance(column.dtype, pd.CategoricalDtype) else column.dtype
    if isinstance(dtype, pd.IntervalDtype):
        return "interval"
    if isinstance(dtype, pd.PeriodDtype):
        return "period"
    return "complex" if dtype.kind == "c" else None


def _for_arrow(column: pd.Series[Any]) -> pd.Series[Any]:
    """A column that Arrow can take: sparse ones with all their values, times in UTC, and as Python objects those of types that
    Arrow doesn't know or would store as something else.
    """
    import pandas as pd

    if isinstance(column.dtype, pd.SparseDtype):
        column = column.sparse.to_dense()  # type: ignore[attr-defined]  # pandas-stubs doesn't know it
    if isinstance(column.dtype, pd.DatetimeTZDtype):
        return pd.Series(column.dt.tz_convert("UTC"))
    if isinstance(column.dtype, pd.ArrowDtype):
        return column
    try:
        kind = pa.array(column.iloc[:0], from_pandas=True).type
        if pa.types.is_dictionary(kind):
            kind = kind.value_type
        known = not isinstance(kind, pa.BaseExtensionType)
    except (pa.ArrowException, TypeError, ValueError):
        known = False
    return column if known else column.astype(object)


def _pandas_slices(frame: pd.DataFrame, columns: Sequence[str], rows: int) -> Iterator[pl.DataFrame]:
    held = _pandas_columns(frame)
    cutters = [_pandas_column(_for_arrow(held[name]), name) for name in columns]
    for start in range(0, len(frame), rows):
        yield pl.DataFrame([cut(start, min(rows, len(frame) - start)) for cut in cutters])


def _pandas_column(column: pd.Series[Any], name: str) -> Slice:
    """A cutter for one column: memory that Arrow can share is taken whole, Python objects are converted slice by slice."""
    if column.dtype == object:
        dtype = _pandas_type(column)
        values = column.to_numpy()
        return lambda start, rows: _without_nan(objects(values[start : start + rows], dtype).alias(name))
    array = pa.array(column, from_pandas=True)
    whole = _without_nan(pl.Series(name, plain(array, pa.field(name, array.type))))
    return lambda start, rows: whole.slice(start, rows)


def _pandas_type(column: pd.Series[Any]) -> pl.DataType:
    if column.dtype != object:
        array = pa.array(column.iloc[:0], from_pandas=True)
        return pl.Series(plain(array, pa.field("", array.type))).dtype
    from pandas.api.types import infer_dtype

    return type_of_objects(column.to_numpy(), infer_dtype(column, skipna=True))


def _without_nan(values: pl.Series) -> pl.Series:
    """NaN in a pandas float column is NULL; Arrow-backed columns may still hold NaN beside their nulls."""
    if values.dtype.is_float() and values.is_nan().any():
        return values.fill_nan(None)
    return values
