"""Aggregation over windows of rows, which are numbered before anything but their partition is looked at.

So a row that WHERE leaves out, or on which an argument fails, has a number all the same. Not for windows over time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

import polars as pl

from jupyter_stream.arrays.rows import rows_if
from jupyter_stream.core.messages import TS, Batch, Failed, Message, ints
from jupyter_stream.flow.evaluate import Evaluator
from jupyter_stream.functions.expression import Expr
from jupyter_stream.keys.partitioned import PartitionedSlots
from jupyter_stream.partials.cells import Cells
from jupyter_stream.partials.group_aggregate import GroupAggregate, GroupBy
from jupyter_stream.partials.pane_rings import PaneRings
from jupyter_stream.windowed.extent_aggregate import ExtentAggregate, PlacedRows
from jupyter_stream.windowed.row_extents import RowExtents
from jupyter_stream.windows import RowWindow

_NUMBER = "$number"
_PARTITION = "$partition"


class RowWindowAggregate(ExtentAggregate):
    """Answers per partition, extent and group, given when the extent's last row has come.

    Args:
        window: its rows and slide; the longest of several.
        computed: the keys, and what is computed over it.
        partition: which of the keys rows are numbered within, by index; empty for all rows together.
        other_windows: the other windows, with what is computed over each.
        where: rows for which it isn't true are numbered and not aggregated; None without.
        provisional: whether ticks are answered.
    """

    def __init__(
        self,
        window: RowWindow,
        computed: GroupBy,
        partition: tuple[int, ...],
        other_windows: Sequence[tuple[RowWindow, tuple[GroupAggregate, ...]]] = (),
        where: Expr | None = None,
        provisional: bool = False,
    ) -> None:
        windows, others = (window, *(w for w, _ in other_windows)), [made for _, made in other_windows]
        slots = PartitionedSlots(computed.types, partition)
        every = [*computed.aggregates, *(a for made in others for a in made)]
        in_rings = not slots.rest and PaneRings.takes(every)
        self._numbers = RowExtents(windows, slots.partition_of, every, in_rings)
        name = f"row window aggregate {' beside '.join(str(w) for w in windows)} by pane merge"
        super().__init__(name, computed, slots, self._numbers, provisional, others, PaneRings if in_rings else Cells)
        self._where = where
        keys = [e for _, e, _ in computed.keys]
        self._counted = Evaluator([*(keys[i] for i in partition), *([] if where is None else [where])])
        self._evaluator = Evaluator([*(keys[i] for i in slots.rest), *computed.inputs])
        self._partition = len(partition)

    def on_batch(self, port: int, batch: Batch) -> Iterator[Message]:
        """Number the rows, fold them into their panes, give the extents they complete."""
        if not batch.rows:
            return
        frame, columns, failed = self._counted.evaluate(batch.frame)
        if failed is not None:
            yield failed
        if not frame.height:
            return
        partitions = self._slots.partitions_of(columns[: self._partition], frame.height)
        numbers, completed = self._numbers.number(partitions, ints(frame.get_column(TS)))
        frame = frame.hstack([pl.Series(_PARTITION, partitions), pl.Series(_NUMBER, numbers)])
        if self._where is not None:
            frame = rows_if(frame, columns[-1])
        frame, columns, failed = self._evaluator.evaluate(frame)
        if failed is not None:
            yield Failed(failed.frame.drop(_PARTITION, _NUMBER), failed.reasons)
        if not frame.height:
            yield from self._follow(completed)
            return
        rest = len(self._slots.rest)
        groups = self._slots.groups_of(ints(frame.get_column(_PARTITION)), columns[:rest])
        steps = chain(self._numbers.place(ints(frame.get_column(_NUMBER))), completed)
        yield from self._follow(steps, PlacedRows(groups, frame, columns[rest:]))


__all__ = ["RowWindowAggregate"]
