"""Aggregates over the newest n rows, `[ROWS n]` and `[PARTITION BY a ROWS n]` without SLIDE: relations that rows change.

Arrival numbers are in order by themselves, so changes are given at once. `state.relation_rows` holds the values.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from jupyter_stream.arrays.exact import BEYOND
from jupyter_stream.core.control import ControlTable
from jupyter_stream.core.messages import TS, Batch, Failed, Int64s, Message, Punctuation, Tick, ints
from jupyter_stream.core.time import MAX_TIME
from jupyter_stream.flow.evaluate import Evaluator
from jupyter_stream.flow.protocol import Recall
from jupyter_stream.functions.expression import Expr
from jupyter_stream.keys.slots import KeySlots
from jupyter_stream.partials.group_aggregate import GroupAggregate
from jupyter_stream.relations.relation_rows import RowRelationGroups
from jupyter_stream.windows import RowWindow

_NUMBER = "$number"


@dataclass(frozen=True)
class RowRelationConfig:
    """What a relation over the newest rows computes.

    Attributes:
        window: how many rows, of which partitions.
        keys: (output name, expression, type) of the grouping columns.
        inputs: expressions of arguments and FILTER conditions.
        aggregates: over those inputs, by index.
        where: rows for which it isn't true push others out and are not aggregated; None without.
    """

    window: RowWindow
    keys: tuple[tuple[str, Expr, pl.DataType], ...]
    inputs: tuple[Expr, ...]
    aggregates: tuple[GroupAggregate, ...]
    where: Expr | None = None


class RowRelation:
    """Rows entering and leaving the answer, net for each row that arrives; `$ts` is that row's time."""

    def __init__(self, config: RowRelationConfig) -> None:
        self.control = ControlTable(f"relation aggregate {config.window}")
        self.synopses: list[ControlTable] = []
        self._config = config
        partition = [e for _, e in config.window.partition]
        self._partitions = KeySlots([(f"{i}", e.dtype) for i, e in enumerate(partition)]) if partition else None
        self._counted = Evaluator(partition if config.where is None else [*partition, config.where])
        self._evaluator = Evaluator([e for _, e, _ in config.keys] + list(config.inputs))
        self._groups = RowRelationGroups(
            config.window.rows,
            [(n, t) for n, _, t in config.keys],
            [e.dtype for e in config.inputs],
            config.aggregates,
        )
        self._arrived = 0

    def head(self, most: int) -> pl.DataFrame:
        """Some groups, and how many rows each has."""
        return self._groups.head(most)

    def on_batch(self, port: int, batch: Batch) -> Iterator[Message]:
        """Take rows in, push others out, and tell the changes."""
        frame, columns, failed = self._counted.evaluate(batch.frame)
        if failed is not None:
            yield failed
        if not frame.height:
            return
        times = ints(frame.get_column(TS))
        first = self._arrived
        numbers = np.arange(first, first + frame.height)
        self._arrived += frame.height
        partitions = np.zeros(frame.height, np.int64)
        if self._partitions is not None:
            partitions = self._partitions.encode(columns[: len(self._config.window.partition)])
        self._groups.arrive(partitions, numbers)
        self._groups.born(first)
        counted = frame.with_columns(pl.Series(_NUMBER, numbers))
        if self._config.where is not None:
            counted = counted.filter(columns[-1].fill_null(False))
        counted, columns, failed = self._evaluator.evaluate(counted)
        if failed is not None:
            yield Failed(failed.frame.drop(_NUMBER), failed.reasons)
        rows = None
        if counted.height:
            keys = len(self._config.keys)
            inputs = [*columns[keys:], counted.get_column(TS)]
            rows = self._groups.rows(counted.get_column(_NUMBER), columns[:keys], inputs)
        yield from self._release(rows, times, first)

    def _release(self, rows: pl.DataFrame | None, times: Int64s, first: int) -> Iterator[Message]:
        for changes in self._groups.release(rows, self._arrived):
            for beyond in changes.beyond:
                keys = [c.alias(n) for c, (n, _, _) in zip(beyond.keys, self._config.keys, strict=True)]
                frame = pl.DataFrame([*keys, pl.Series(TS, times[beyond.at - first])])
                yield Failed.all(frame, BEYOND)
            if changes.frame is not None:
                at = times[ints(changes.frame.get_column(TS)) - first]
                yield Batch(changes.frame.with_columns(pl.Series(TS, at)))
        self.control.holds(self._groups.bytes + (0 if self._partitions is None else self._partitions.bytes))
        self.control.extra["live_groups"] = self._groups.live
        self.control.extra["live_rows"] = self._groups.alive

    def recalls(self) -> Recall | None:
        """The newest rows."""
        oldest = self._groups.oldest
        return None if oldest is None else Recall(oldest)

    def on_punctuation(self, port: int, punctuation: Punctuation) -> Iterator[Message]:
        """Nothing is waiting: rows are pushed out by rows alone. The end is passed on."""
        self.control.low_watermark = punctuation.value
        if punctuation.value == MAX_TIME:
            yield punctuation

    def on_tick(self, tick: Tick) -> Iterator[Message]:
        """Pass it on: a relation has no provisional answers."""
        yield tick


__all__ = ["RowRelation", "RowRelationConfig"]
