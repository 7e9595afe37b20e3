"""What statements do to tables: read them in, insert, delete, update, and tell the queries that look into them."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable

import polars as pl

from jupyter_stream.core import threads
from jupyter_stream.core.schema import Schema
from jupyter_stream.core.table import TableRows
from jupyter_stream.engine.pipeline import Pipeline
from jupyter_stream.errors import QueryError
from jupyter_stream.flow.evaluate import Evaluator
from jupyter_stream.functions.expression import Expr
from jupyter_stream.plan.catalog import OpenSource
from jupyter_stream.sources.protocol import Request, Source
from jupyter_stream.spark.run import SparkRun


class ValueRefused(QueryError):
    """A value that can't be worked out.

    Attributes:
        expr: the expression.
    """

    def __init__(self, reason: str, expr: Expr) -> None:
        super().__init__(f"{reason}; nothing is changed")
        self.expr = expr


_ONE_ROW = pl.DataFrame({"$ts": [0]}, schema={"$ts": pl.Int64()})


def read(schema: Schema, source: OpenSource, stop: threading.Event | None = None) -> tuple[pl.DataFrame, int]:
    """All rows of a source, and how many records could not be used.

    Args:
        schema: the table's columns.
        source: where they come from.
        stop: set when they are no longer wanted; the rows are then not all there.
    """
    frames, refused = [schema.empty()], 0
    opened: Source = source  # type: ignore[assignment]  # the catalog knows only a part of it
    for chunk in opened.read(Request(stop=stop or threads.Event())):
        frames.append(chunk.frame.select(schema.names))
        refused += 0 if chunk.rejected is None else chunk.rejected.height
    return pl.concat(frames), refused


def values(rows: list[list[Expr]], schema: Schema) -> pl.DataFrame:
    """The rows of VALUES. Raises `ValueRefused` where a value can't be worked out."""
    made = [_worked_out(row, _ONE_ROW) for row in rows]
    frames = [pl.DataFrame([c.alias(n) for c, n in zip(row, schema.names, strict=True)]) for row in made]
    return pl.concat([schema.empty(), *frames])


def selected(casts: list[Expr], rows: pl.DataFrame, schema: Schema) -> pl.DataFrame:
    """The rows of a SELECT as a table takes them. Raises `ValueRefused` where a value can't be cast."""
    columns = _worked_out(casts, rows)
    return pl.DataFrame([c.alias(n) for c, n in zip(columns, schema.names, strict=True)])


def insert(table: TableRows, rows: pl.DataFrame) -> int:
    """Append rows; returns how many."""
    table.change(lambda frame: pl.concat([frame, rows]))
    return rows.height


def delete(table: TableRows, where: Expr | None) -> int:
    """Take rows out; returns how many."""
    before, after = table.change(lambda f: f.clear() if where is None else f.filter(~_true(where, f)))
    return before.height - after.height


def update(table: TableRows, assignments: dict[str, Expr], where: Expr | None) -> int:
    """Change rows in place; returns how many."""
    count = 0

    def change(frame: pl.DataFrame) -> pl.DataFrame:
        nonlocal count
        chosen = pl.repeat(True, frame.height, eager=True) if where is None else _true(where, frame)
        count = int(chosen.sum())
        if not count:
            return frame
        some = frame.filter(chosen)
        columns = _worked_out(list(assignments.values()), some)
        some = some.with_columns(c.alias(n) for c, n in zip(columns, assignments, strict=True))
        place = pl.Series("$place", range(frame.height))
        both = pl.concat(
            [frame.with_columns(place).filter(~chosen), some.with_columns(place.filter(chosen))], how="vertical"
        )
        return both.sort("$place").drop("$place")

    table.change(change)
    return count


def _true(where: Expr, frame: pl.DataFrame) -> pl.Series:
    (mask,) = _worked_out([where], frame)
    return mask.fill_null(False)


def _worked_out(exprs: list[Expr], frame: pl.DataFrame) -> list[pl.Series]:
    _, columns, failed = Evaluator(exprs).evaluate(frame)
    if failed is not None:
        raise ValueRefused(failed.reasons[0], next(e for e in exprs if Evaluator([e]).evaluate(frame)[2] is not None))
    return columns


def tell(table: TableRows, pipelines: Iterable[object]) -> None:
    """Running queries look into the new rows from now on: the clock's now for live streams, the low-watermark for replays.

    The engine's thread calls this.
    """
    for pipeline in pipelines:
        if not isinstance(pipeline, Pipeline | SparkRun) or not pipeline.running:
            continue
        live = any(not feed.stream.source.replayable for feed in pipeline.feeds)
        at = time.time_ns() // 1000 if live else pipeline.low_watermark
        if isinstance(pipeline, SparkRun):
            pipeline.table_changed(table, at)
            continue
        pipeline.table_changed(table, at)
