"""Our types and Spark's. Times cross as TIMESTAMP in UTC, since Spark's TIMESTAMP is an instant."""

from __future__ import annotations

from typing import Any

import polars as pl

from jupyter_stream.core.schema import INTERVAL, TIMESTAMP, Schema
from jupyter_stream.functions.types import instance, spark_name

_UTC = pl.Datetime("us", "UTC")


def spark_ddl(dtype: pl.DataType) -> str:
    """The type of a column in the files Spark reads. Intervals go as their microseconds: Parquet has none."""
    return "BIGINT" if dtype == INTERVAL else spark_name(dtype)


def to_spark(frame: pl.DataFrame) -> pl.DataFrame:
    """Rows in types that Spark reads as ours."""
    casts = []
    for name, dtype in frame.schema.items():
        if dtype == INTERVAL:
            casts.append(pl.col(name).cast(pl.Int64))
        elif dtype == TIMESTAMP:
            casts.append(pl.col(name).dt.replace_time_zone("UTC"))
        elif isinstance(dtype, pl.List) and instance(dtype.inner) == TIMESTAMP:
            casts.append(pl.col(name).cast(pl.List(_UTC)))
        elif isinstance(dtype, pl.Categorical | pl.Enum):
            casts.append(pl.col(name).cast(pl.String))
    return frame.with_columns(casts) if casts else frame


def from_spark(table: Any, schema: Schema) -> pl.DataFrame:
    """An Arrow table of Spark's in our types; columns that aren't in the schema as they come, times without zone.

    Args:
        table: a `pyarrow.Table`.
        schema: the types wanted.
    """
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    columns = []
    for column in frame.get_columns():
        if isinstance(column.dtype, pl.Datetime):
            column = column.cast(_UTC).dt.replace_time_zone(None)
        field = schema.find(column.name)
        columns.append(column if field is None or column.dtype == field.dtype else column.cast(field.dtype))
    return pl.DataFrame(columns)


def _plain(kind: Any) -> Any:
    """The type by which Spark knows one of Polars's."""
    import pyarrow as pa

    if pa.types.is_large_list(kind) or pa.types.is_list(kind):
        return pa.list_(_plain(kind.value_type))
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", "UTC")
    if pa.types.is_large_binary(kind):
        return pa.binary()
    return pa.string() if pa.types.is_large_string(kind) or pa.types.is_dictionary(kind) else kind


def arrow_of(frame: pl.DataFrame) -> Any:
    """Rows as a `pyarrow.Table` in the types by which Spark knows ours: times in UTC, nothing of the large kinds."""
    import pyarrow as pa

    table = frame.to_arrow(compat_level=pl.CompatLevel.oldest())
    return table.cast(pa.schema([f.with_type(_plain(f.type)) for f in table.schema]))
