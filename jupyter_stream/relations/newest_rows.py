"""The newest rows as a relation, for joins: each enters at its time and leaves when enough rows that arrived after it are there.

At an instant the window holds the n rows with the greatest arrival numbers among those whose time has come, of each partition. A
row once pushed out never comes back, so it lives for one stretch, which no order of arrival and no other stream has a say in.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import heappush, heappushpop

import numpy as np
import polars as pl

from jupyter_stream.arrays.order import order_of
from jupyter_stream.arrays.rows import earliest, shown
from jupyter_stream.core.messages import ROW, SIGN, TS, UNTIL, Batch, Int64s, Message, ints
from jupyter_stream.core.time import MAX_TIME
from jupyter_stream.flow.at_instants import AtInstants
from jupyter_stream.flow.evaluate import Evaluator
from jupyter_stream.flow.protocol import Recall
from jupyter_stream.keys.slots import KeySlots
from jupyter_stream.windows import RowWindow

_SLOT = "$slot"


class NewestOperator(AtInstants):
    """Rows entering (`$sign` 1) and leaving (-1) at `$ts`, given once no row before can come.

    Args:
        window: how many rows of which partitions; its WHERE has been applied.
        columns: the rows' columns.
    """

    def __init__(self, window: RowWindow, columns: tuple[str, ...]) -> None:
        super().__init__(f"newest rows {window}")
        self._most = window.rows
        self._columns = columns
        self._partition = Evaluator([e for _, e in window.partition])
        self._slots = KeySlots([(f"{i}", e.dtype) for i, (_, e) in enumerate(window.partition)])
        self._alive: pl.DataFrame | None = None

    def head(self, most: int) -> pl.DataFrame:
        """Some of the newest rows; then those whose time has not come."""
        return shown(self._held, most)

    @property
    def _held(self) -> list[pl.DataFrame]:
        return [*([] if self._alive is None else [self._alive]), *self._waiting[0]]

    def take(self, port: int, frame: pl.DataFrame) -> Iterator[Message]:
        """With their partitions."""
        frame, partition, failed = self._partition.evaluate(frame)
        if failed is not None:
            yield failed
        if frame.height:
            slots = self._slots.encode(partition) if partition else np.zeros(frame.height, np.int64)
            kept = [c for c in self._columns if c in frame.columns]
            self.keep(port, frame.select(*kept, TS, ROW).with_columns(pl.Series(_SLOT, slots)))
            self.report()

    def step(self, due: Sequence[pl.DataFrame | None], until: int) -> Iterator[Message]:
        """Give the rows that come, and those they push out."""
        (come,) = due
        if come is not None:
            yield from self._changes(come)

    def _changes(self, new: pl.DataFrame) -> Iterator[Message]:
        rows = new if self._alive is None else pl.concat([self._alive, new])
        entered = np.arange(rows.height) < rows.height - new.height
        order = order_of(*(ints(rows.get_column(name)) for name in (_SLOT, TS, ROW)))
        rows, entered = rows[pl.Series(order)], entered[order]
        times = ints(rows.get_column(TS))
        ends = _ends(ints(rows.get_column(_SLOT)), times, ints(rows.get_column(ROW)), self._most)
        rows = rows.with_columns(pl.Series(UNTIL, ends))
        self._alive = rows.filter(pl.Series(ends == MAX_TIME)).drop(UNTIL)
        lived = ends > times
        come = rows.filter(pl.Series(lived & ~entered)).select(*new.columns[:-2], pl.lit(1, pl.Int8).alias(SIGN))
        gone = rows.filter(pl.Series(lived & (ends < MAX_TIME)))
        gone = gone.with_columns(pl.col(UNTIL).alias(TS)).select(*new.columns[:-2], pl.lit(-1, pl.Int8).alias(SIGN))
        changes = pl.concat([come, gone])
        if changes.height:
            yield Batch(changes.sort(TS, SIGN, maintain_order=True))

    def recalls(self) -> Recall | None:
        """The rows that wait, and those that are among the newest."""
        return Recall(earliest(self._held))

    def report(self) -> None:
        """And how many rows wait and live."""
        self.holds(self._slots.bytes + (0 if self._alive is None else int(self._alive.estimated_size())))
        self.control.extra["waiting_rows"] = self.waiting_rows
        self.control.extra["live_rows"] = 0 if self._alive is None else self._alive.height


def _ends(slots: Int64s, times: Int64s, numbers: Int64s, most: int) -> Int64s:
    """When each row is pushed out, `MAX_TIME` for not yet. Rows come by slot, and within a slot by time."""
    ends = np.full(slots.size, MAX_TIME)
    same = slots[1:] == slots[:-1]
    first = np.flatnonzero(np.concatenate([[True], ~same]))
    last = np.append(first[1:], slots.size)
    # where rows of a partition arrived in order of their times, the n-th row after a row pushes it out
    if slots.size > most:
        pushed = slots[most:] == slots[:-most]
        ends[:-most][pushed] = times[most:][pushed]
    back = np.flatnonzero(same & (numbers[1:] < numbers[:-1]))
    for at in np.unique(np.searchsorted(first, back, "right") - 1).tolist():  # out of order: one by one
        begin, end = int(first[at]), int(last[at])
        ends[begin:end] = MAX_TIME
        held: list[tuple[int, int]] = []
        for i in range(begin, end):
            row = (int(numbers[i]), i)
            if len(held) < most:
                heappush(held, row)
            else:
                ends[heappushpop(held, row)[1]] = times[i]
    return ends


__all__ = ["NewestOperator"]
