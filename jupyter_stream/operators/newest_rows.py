"""The newest rows as a relation, for joins: each enters at its time and leaves when enough rows that arrived after it are there.

At an instant the window holds the n rows with the greatest arrival numbers among those whose time has come, of each partition. A
row once pushed out never comes back, so it lives for one stretch, which no order of arrival and no other stream has a say in.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heappush, heappushpop

import numpy as np
import polars as pl

from jupyter_stream.core.control import ControlTable
from jupyter_stream.core.messages import (
    BROKEN,
    LATE_ID,
    ROW,
    SIGN,
    TS,
    UNTIL,
    Batch,
    Int64s,
    Message,
    Missed,
    Punctuation,
    Tick,
    ints,
)
from jupyter_stream.core.order import order_of
from jupyter_stream.core.rows import earliest, shown
from jupyter_stream.core.time import MAX_TIME, MIN_TIME
from jupyter_stream.operators.evaluate import Evaluator
from jupyter_stream.operators.protocol import Recall
from jupyter_stream.state.slots import KeySlots
from jupyter_stream.windows import RowWindow

_SLOT = "$slot"


class NewestRows:
    """Rows entering (`$sign` 1) and leaving (-1) at `$ts`, given once no row before can come.

    Args:
        window: how many rows of which partitions; its WHERE has been applied.
        columns: the rows' columns.
    """

    def __init__(self, window: RowWindow, columns: tuple[str, ...]) -> None:
        self.control = ControlTable(f"newest rows {window}")
        self.synopses: list[ControlTable] = []
        self._most = window.rows
        self._columns = columns
        self._partition = Evaluator([e for _, e in window.partition])
        self._slots = KeySlots([(f"{i}", e.dtype) for i, (_, e) in enumerate(window.partition)])
        self._waiting: list[pl.DataFrame] = []
        self._alive: pl.DataFrame | None = None
        self._reached = MIN_TIME

    def head(self, most: int) -> pl.DataFrame:
        """Some of the newest rows; then those whose time has not come."""
        return shown((*([] if self._alive is None else [self._alive]), *self._waiting), most)

    def on_batch(self, port: int, batch: Batch) -> Iterator[Message]:
        """Keep rows until their time has come; late ones are told."""
        frame = batch.frame
        late = frame.get_column(TS) < self._reached
        if BROKEN in frame.columns:
            late |= (frame.get_column(TS) < frame.get_column(BROKEN)).fill_null(False)
        if late.any():
            missed = frame.filter(late)
            self.control.late_rows += missed.height
            if LATE_ID in missed.columns:
                yield Missed(ints(missed.get_column(LATE_ID).drop_nulls()), None)
            frame = frame.filter(~late)
        frame, partition, failed = self._partition.evaluate(frame)
        if failed is not None:
            yield failed
        if frame.height:
            slots = self._slots.encode(partition) if partition else np.zeros(frame.height, np.int64)
            kept = [c for c in self._columns if c in frame.columns]
            self._waiting.append(frame.select(*kept, TS, ROW).with_columns(pl.Series(_SLOT, slots)))
            self._report()

    def on_punctuation(self, port: int, punctuation: Punctuation) -> Iterator[Message]:
        """Give the changes at instants that it makes final."""
        if punctuation.value <= self._reached:
            return
        self._reached = self.control.low_watermark = punctuation.value
        due = self._due(punctuation.value)
        if due is not None:
            yield from self._changes(due)
        self._report()
        yield punctuation

    def _due(self, before: int) -> pl.DataFrame | None:
        if not self._waiting:
            return None
        waiting = pl.concat(self._waiting)
        now = waiting.get_column(TS) < before
        self._waiting = [waiting.filter(~now)] if not now.all() else []
        return waiting.filter(now) if now.any() else None

    def _changes(self, due: pl.DataFrame) -> Iterator[Message]:
        rows = due if self._alive is None else pl.concat([self._alive, due])
        entered = np.arange(rows.height) < rows.height - due.height
        order = order_of(*(ints(rows.get_column(name)) for name in (_SLOT, TS, ROW)))
        rows, entered = rows[pl.Series(order)], entered[order]
        times = ints(rows.get_column(TS))
        ends = _ends(ints(rows.get_column(_SLOT)), times, ints(rows.get_column(ROW)), self._most)
        rows = rows.with_columns(pl.Series(UNTIL, ends))
        self._alive = rows.filter(pl.Series(ends == MAX_TIME)).drop(UNTIL)
        lived = ends > times
        come = rows.filter(pl.Series(lived & ~entered)).select(*due.columns[:-2], pl.lit(1, pl.Int8).alias(SIGN))
        gone = rows.filter(pl.Series(lived & (ends < MAX_TIME)))
        gone = gone.with_columns(pl.col(UNTIL).alias(TS)).select(*due.columns[:-2], pl.lit(-1, pl.Int8).alias(SIGN))
        changes = pl.concat([come, gone])
        if changes.height:
            yield Batch(changes.sort(TS, SIGN, maintain_order=True))

    def on_tick(self, tick: Tick) -> Iterator[Message]:
        """Pass it on: a relation has no provisional answers."""
        yield tick

    def recalls(self) -> Recall | None:
        """The rows that wait, and those that are among the newest."""
        return Recall(earliest(self._waiting if self._alive is None else [*self._waiting, self._alive]))

    def _report(self) -> None:
        frames = [*self._waiting, *([] if self._alive is None else [self._alive])]
        self.control.holds(sum(int(f.estimated_size()) for f in frames) + self._slots.bytes)
        self.control.extra["waiting_rows"] = sum(f.height for f in self._waiting)
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


__all__ = ["NewestRows"]
