"""From what a micro-batch gives to answers: types, empty extents, and by the kernel's operators what could fail on an answer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl

from jupyter_stream import aggregates
from jupyter_stream.arrays.exact import BEYOND
from jupyter_stream.core.messages import TS, WINDOW_END, WINDOW_ID, WINDOW_START, Batch, Failed, ints
from jupyter_stream.core.schema import TIMESTAMP, Field, Schema
from jupyter_stream.flow.protocol import Operator
from jupyter_stream.flow.table_lookup import TableLookup
from jupyter_stream.plan.logical import Aggregate, Plan
from jupyter_stream.plan.time_of import integer_time
from jupyter_stream.spark.expressions import SHIFT
from jupyter_stream.spark.nodes import SUPPORT
from jupyter_stream.spark.stage import Stage, above, finished_here, has_empty_extents, outermost, window_of
from jupyter_stream.spark.types import from_spark
from jupyter_stream.spark.windowed import OVERFLOWED

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
        self._operators: list[Operator] = []
        self._last: int | None = None
        if self._stage is None:
            return
        fields = list(self._stage.schema.fields)
        if window_of(self._stage) is not None:
            time = pl.Int64() if integer_time(self._stage) else TIMESTAMP
            fields += [Field(WINDOW_START, time), Field(WINDOW_END, time), Field(WINDOW_ID, pl.Int64())]
        self._inner = Schema(tuple(fields))
        for node in reversed(above(plan)):
            make = SUPPORT[type(node)].operators
            assert make is not None
            self._operators += make(node)

    @property
    def in_order(self) -> bool:
        """Whether it has to see all answers, in their order: it fills in extents without rows."""
        return self._stage is not None and has_empty_extents(self._stage)

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
                yield Failed.all(bad, BEYOND)
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
        if not has_empty_extents(aggregate):
            yield frame
            return
        assert isinstance(aggregate, Aggregate)
        frame = frame.sort(WINDOW_ID)
        held = ints(frame.get_column(WINDOW_ID))
        known = held if self._last is None else np.concatenate([[self._last], held])
        self._last = int(held[-1])
        for i in np.flatnonzero(np.diff(known) > 1).tolist():
            for start in range(int(known[i]) + 1, int(known[i + 1]), _AT_ONCE):
                yield self._empty(np.arange(start, min(int(known[i + 1]), start + _AT_ONCE)), frame, aggregate)
        yield frame

    def _empty(self, extents: Any, like: pl.DataFrame, aggregate: Aggregate) -> pl.DataFrame:
        bounds = aggregate.window.bounds(extents)
        assert bounds is not None
        starts, ends = bounds
        system = {WINDOW_START: starts, WINDOW_END: ends, WINDOW_ID: extents, TS: ends - 1 + SHIFT}
        zero = {c.name for c in aggregate.aggregates if aggregates.of_nothing(c.function) == 0}
        columns = []
        for name, dtype in like.schema.items():
            if name in system:
                columns.append(pl.Series(name, system[name]).cast(dtype))
            else:
                columns.append(
                    pl.Series(name, [0 if name in zero else None], dtype=dtype).new_from_index(0, extents.size)
                )
        return pl.DataFrame(columns)
