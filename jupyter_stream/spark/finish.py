"""From what a micro-batch gives to answers: types, empty extents, and by the kernel's operators what could fail on an answer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl

from jupyter_stream import aggregates
from jupyter_stream.core.messages import TS, WINDOW_END, WINDOW_ID, WINDOW_START, Batch, Failed, ints
from jupyter_stream.core.schema import TIMESTAMP, Field, Schema
from jupyter_stream.operators import planned
from jupyter_stream.operators.filter import Filter as FilterOperator
from jupyter_stream.operators.graph import build
from jupyter_stream.operators.project import Project as ProjectOperator
from jupyter_stream.operators.table_lookup import TableLookup
from jupyter_stream.plan.logical import Aggregate, Filter, Lookup, Plan, Project
from jupyter_stream.spark.expressions import SHIFT
from jupyter_stream.spark.preflight import Stage, above, finished_here, outermost
from jupyter_stream.spark.translate import OVERFLOWED, integer_time
from jupyter_stream.spark.types import from_spark
from jupyter_stream.windows import TimeWindow

_AT_ONCE = 262_144
"""Empty extents made at a time."""


class Finish:
    """Makes answers of a query's micro-batches, in their order.

    Args:
        plan: the query's root.
    """

    def __init__(self, plan: Plan) -> None:
        self._schema = plan.schema
        self._stage = outermost(plan) if finished_here(plan) else None
        self._operators: list[FilterOperator | ProjectOperator | TableLookup] = []
        self._last: int | None = None
        if self._stage is None:
            return
        fields = list(self._stage.schema.fields)
        if isinstance(self._stage, Aggregate):
            time = pl.Int64() if integer_time(self._stage) else TIMESTAMP
            fields += [Field(WINDOW_START, time), Field(WINDOW_END, time), Field(WINDOW_ID, pl.Int64())]
        self._inner = Schema(tuple(fields))
        for node in reversed(above(plan)):
            match node:
                case Filter(predicate=predicate):
                    self._operators.append(FilterOperator(predicate))
                case Project(items=items):
                    self._operators.append(ProjectOperator(items))
                case Lookup():
                    self._operators.append(planned.lookup(node, build))

    @property
    def lookups(self) -> list[TableLookup]:
        """Look-ups in tables among what is done here."""
        return [o for o in self._operators if isinstance(o, TableLookup)]

    def answers(self, table: Any) -> Iterator[pl.DataFrame | Failed]:
        """Answers, and those that could not be computed.

        Args:
            table: a micro-batch as a `pyarrow.Table`.
        """
        if self._stage is None:
            frame = from_spark(table, self._schema)
            if frame.height:
                yield frame
            return
        for frame in self._with_empties(from_spark(table, self._inner), self._stage):
            yield from self._finished(frame)

    def _finished(self, frame: pl.DataFrame) -> Iterator[pl.DataFrame | Failed]:
        if OVERFLOWED in frame.columns:
            assert isinstance(self._stage, Aggregate)
            beyond = frame.get_column(OVERFLOWED).fill_null(False)
            if beyond.any():
                bad = frame.filter(beyond).select(
                    *(n for n, _ in self._stage.keys if n not in ("window_start", "window_end")),
                    pl.col(WINDOW_START).alias("window_start"),
                    pl.col(WINDOW_END).alias("window_end"),
                )
                yield Failed(bad, pl.Series(["a sum is beyond BIGINT"] * bad.height))
                frame = frame.filter(~beyond)
            frame = frame.drop(OVERFLOWED)
        frame = frame.with_columns(pl.col(TS).cast(pl.Int64) - SHIFT)
        for operator in self._operators:
            onward = None
            for message in operator.on_batch(0, Batch(frame)):
                if isinstance(message, Failed):
                    yield message
                elif isinstance(message, Batch):
                    onward = message.frame
            if onward is None:
                return
            frame = onward
        if frame.height:
            yield frame.select(self._schema.names)

    def _with_empties(self, frame: pl.DataFrame, aggregate: Stage) -> Iterator[pl.DataFrame]:
        """Ungrouped: the extents without rows between those that hold some; Spark gives extents in the order they close."""
        if not frame.height:
            return
        if not isinstance(aggregate, Aggregate):
            yield frame
            return
        window = aggregate.window
        if aggregate.keys or not isinstance(window, TimeWindow):
            yield frame
            return
        frame = frame.sort(WINDOW_ID)
        held = ints(frame.get_column(WINDOW_ID))
        known = held if self._last is None else np.concatenate([[self._last], held])
        self._last = int(held[-1])
        for i in np.flatnonzero(np.diff(known) > 1).tolist():
            for start in range(int(known[i]) + 1, int(known[i + 1]), _AT_ONCE):
                yield self._empty(np.arange(start, min(int(known[i + 1]), start + _AT_ONCE)), frame, aggregate, window)
        yield frame

    def _empty(self, extents: Any, like: pl.DataFrame, aggregate: Aggregate, window: TimeWindow) -> pl.DataFrame:
        assert window.range is not None
        ends = extents * window.slide + window.phase
        system = {WINDOW_START: ends - window.range, WINDOW_END: ends, WINDOW_ID: extents, TS: ends - 1 + SHIFT}
        zero = {
            c.name for c in aggregate.aggregates if c.function == "count" or c.function in aggregates.ZERO_OF_NOTHING
        }
        columns = []
        for name, dtype in like.schema.items():
            if name in system:
                columns.append(pl.Series(name, system[name]).cast(dtype))
            else:
                columns.append(
                    pl.Series(name, [0 if name in zero else None], dtype=dtype).new_from_index(0, extents.size)
                )
        return pl.DataFrame(columns)
