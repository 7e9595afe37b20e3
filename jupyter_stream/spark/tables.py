"""A table on Spark: what it holds, and what it held before a change, as a file that is read when Spark's query starts."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import polars as pl

from jupyter_stream.core.messages import UNTIL
from jupyter_stream.core.time import MAX_TIME, MIN_TIME
from jupyter_stream.graph.graph import build
from jupyter_stream.graph.selected_tables import held
from jupyter_stream.plan.catalog import StreamDef
from jupyter_stream.spark.expressions import quoted
from jupyter_stream.spark.joins import SINCE
from jupyter_stream.spark.types import arrow_of, spark_ddl, to_spark

_BROADCAST_ROWS: Final = 1_000_000
"""Rows of a table that each task of Spark's may hold as a whole, so that stream rows need not be moved to meet theirs."""


class TableHistory:
    """What a table has held since a query began.

    Args:
        table: the table.
        folder: where its files go.
    """

    def __init__(self, table: StreamDef, folder: Path) -> None:
        assert table.table is not None
        self._table = table
        self._rows = table.table
        self._folder = folder
        self._since = [MIN_TIME]
        self._held = [held(self._rows, build)]

    def changed(self, at: int) -> None:
        """What it holds now goes for rows at or after `at`, microseconds."""
        # first what it holds: whoever reads them meanwhile, in Spark's thread, has a table for every time
        self._held.append(held(self._rows, build))
        self._since.append(max(at, self._since[-1]))

    def frame(self, spark: Any) -> Any:
        """All versions as one DataFrame, with `$since` and `$until`."""
        since, held = list(self._since), list(self._held)
        parts = [
            frame.with_columns(pl.lit(begin, pl.Int64).alias(SINCE), pl.lit(end, pl.Int64).alias(UNTIL))
            for begin, end, frame in zip(since, [*since[1:], MAX_TIME], held, strict=False)
            if begin < end
        ]
        rows = pl.concat(parts)
        path = self._folder / f"{id(self)}-{len(held)}.parquet"
        self._folder.mkdir(exist_ok=True)
        to_spark(rows).write_parquet(path)
        found = spark.read.schema(_ddl(self._table)).parquet(str(path))
        return found.hint("broadcast") if rows.height <= _BROADCAST_ROWS else found


def rows_now(table: StreamDef, spark: Any) -> Any:
    """What a table holds now as a DataFrame that has it for good, from the beginning of time to its end."""
    assert table.table is not None
    bounds = (pl.lit(at, pl.Int64).alias(n) for n, at in ((SINCE, MIN_TIME), (UNTIL, MAX_TIME)))
    rows = held(table.table, build).with_columns(*bounds)
    return spark.createDataFrame(arrow_of(to_spark(rows)), _ddl(table))


def _ddl(table: StreamDef) -> str:
    columns = [(f.name, spark_ddl(f.dtype)) for f in table.schema] + [(SINCE, "BIGINT"), (UNTIL, "BIGINT")]
    return ", ".join(f"{quoted(name)} {kind}" for name, kind in columns)
