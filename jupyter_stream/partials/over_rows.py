"""The rows of OVER windows: those whose time hasn't come, and those later rows can still look back on.

Three verbs: take rows in any order, release those before a time, tell each one's range. Which rows are late, and what is said
of progress, is the operator's business.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from jupyter_stream.arrays.growing import grown
from jupyter_stream.arrays.order import order_of
from jupyter_stream.arrays.runs import begins_run
from jupyter_stream.core.axis import plus
from jupyter_stream.core.messages import TS, Int64s, ints
from jupyter_stream.core.time import MAX_TIME, MIN_TIME
from jupyter_stream.partials.group_aggregate import GroupAggregate
from jupyter_stream.partials.kept_rows import KeptRows
from jupyter_stream.partials.over_folds import OrderedRows, OverAnswers, Running
from jupyter_stream.partials.released import Released, by_time
from jupyter_stream.partials.ring_folds import RankedRows
from jupyter_stream.partials.timeline import NumberColumn
from jupyter_stream.partials.waiting_rows import NUMBER, SLOT, WaitingRows
from jupyter_stream.windows import OverWindow


class OverRows(WaitingRows):
    """Rows of one OVER window that answers each row, once it is final.

    Args:
        window: which rows each looks back on.
        aggregates: what is computed.
    """

    def __init__(self, window: OverWindow, aggregates: Sequence[GroupAggregate]) -> None:
        super().__init__(window)
        self._unbounded = window.rows is None and window.range is None
        self._running = [Running(a) for a in aggregates] if self._unbounded else []
        self._held = KeptRows([] if self._unbounded else aggregates)
        self._within = NumberColumn(np.int64)  # RANGE: the times of rows within it, in order
        self._since = MIN_TIME  # RANGE: rows before that are needed no more
        self._count = 0  # ROWS: rows kept
        self._places = np.zeros(1, np.int64)  # of each partition, its rows so far

    @property
    def kept(self) -> int:
        """Rows later ones can look back on."""
        return self._count if self._window.rows is not None else self._within.end - self._within.begin

    @property
    def oldest(self) -> int:
        """The earliest time of the rows held; `MAX_TIME` without any."""
        held = self._within.held
        if self._window.rows is not None:
            rings = self._held.rings
            held = rings.times.read(rings.places(rings.held, rings.begin[rings.held]))
        return min(self.first_waiting, int(held.min(initial=MAX_TIME)))

    @property
    def bytes(self) -> int:
        """Bytes held."""
        own = sum(r.bytes for r in self._running) + self._held.bytes + self._within.bytes
        return super().bytes + own + self._places.nbytes

    def live(self, capacity: int) -> NDArray[np.bool_] | None:
        """Which partitions have rows; None where every partition seen is remembered for ever."""
        if self._window.range is None or self._window.every > 1:
            return None
        self._held.rings.expire(self._since)
        live = np.zeros(capacity, np.bool_)
        live[self._held.rings.held] = True
        live[self.waiting_slots] = True
        return live

    def pieces(self, until: int) -> Iterator[Released]:
        """Rows before a time, with their answers, all at once; no rows before it may come any more."""
        due = self.due(until)
        released = None if due is None else self._answered(due)
        self._forget(until)
        if released is not None:
            yield released

    def _answered(self, due: pl.DataFrame) -> Released:
        slots, times, numbers = (ints(due.get_column(name)) for name in (SLOT, TS, NUMBER))
        order = order_of(slots, times, numbers)
        rows = ordered_rows(due, order, self.inputs)
        if self._unbounded:
            stop = _peers_end(rows) if self._window.peers else np.arange(1, order.size + 1)
            answers = [r.answers(rows, stop) for r in self._running]
        else:
            answers = self._kept_answers(rows)
        positions = self._positions(rows) if self._window.every > 1 else None
        return by_time(self.shown(due), order, rows, numbers[order], positions, answers)

    def _kept_answers(self, rows: OrderedRows) -> list[OverAnswers]:
        window, held, rings = self._window, self._held, self._held.rings
        before = self._rows_of(rows)
        taken = held.take(rows)
        first, stop = self._ranges(rows, taken)
        answers = held.answers(rows.slots, first, stop)
        touched = rows.slots[taken.heads]
        if window.rows is not None:
            rings.begin[touched] = np.maximum(rings.begin[touched], rings.end[touched] - window.rows)
            self._count += self._rows_of(rows) - before
        else:
            rings.begin[touched] = first[taken.lasts]
            self._within.append(np.sort(rows.times))
        return answers

    def _rows_of(self, rows: OrderedRows) -> int:
        """How many rows are kept of the partitions of these."""
        if self._window.rows is None:
            return 0
        rings = self._held.rings
        slots = rows.slots[rows.starts == np.arange(rows.starts.size)]
        slots = slots[slots < rings.end.size]
        return int((rings.end[slots] - rings.begin[slots]).sum())

    def _ranges(self, rows: OrderedRows, taken: RankedRows) -> tuple[Int64s, Int64s]:
        """From which rank of its partition to before which each row looks back."""
        window, rings = self._window, self._held.rings
        begin = rings.begin[rows.slots]
        if window.rows is not None:
            return np.maximum(begin, taken.ranks - window.rows), taken.ranks + 1
        assert window.range is not None
        first = rings.search(rows.slots, plus(rows.times, -window.range), begin, taken.ranks, "left")
        return first, taken.ranks + (_peers_end(rows) - np.arange(rows.times.size))

    def _positions(self, rows: OrderedRows) -> Int64s:
        """Places in their partitions of the rows that are released now, from 1."""
        self._places = grown(self._places, int(rows.slots.max()) + 1)
        found: Int64s = self._places[rows.slots] + np.arange(rows.slots.size) - rows.starts + 1
        np.maximum.at(self._places, rows.slots, found)
        return found

    def _forget(self, until: int) -> None:
        """Let go of what rows to come don't look back on."""
        if until == MAX_TIME:
            self._held.clear()
            self._within = NumberColumn(np.int64)
            self._count = 0
        elif self._window.range is not None:
            self._since, within = plus(until, -self._window.range), self._within
            within.forget(within.begin + int(np.searchsorted(within.held, self._since)))
            self._held.tidy(self._since)
        else:
            self._held.tidy(None)


def ordered_rows(due: pl.DataFrame, order: Int64s, inputs: int) -> OrderedRows:
    """Rows by partition, time and arrival, with nothing but what is computed over."""
    names = [SLOT, TS, *(f"${i}" for i in range(inputs))]
    columns = [due.get_column(name) for name in names]
    if order.size > 1:
        at = pl.Series(order)
        columns = [column.gather(at) for column in columns]
    slots, starts = ints(columns[0]), np.zeros(order.size, np.int64)
    if order.size > 1:
        heads = begins_run(slots)
        starts = np.maximum.accumulate(np.where(heads, np.arange(slots.size), 0))
    # count(*) alone: only the length is looked at
    return OrderedRows(slots, ints(columns[1]), columns[2:] or columns[:1], starts)


def _peers_end(rows: OrderedRows) -> Int64s:
    """For each row, one past the last of its partition with the same time."""
    if rows.slots.size == 1:
        return np.ones(1, np.int64)
    heads = begins_run(rows.slots, rows.times)
    starts = np.flatnonzero(heads)
    sizes = np.diff(starts, append=heads.size)
    return np.repeat(starts + sizes, sizes)


__all__ = ["OverRows", "ordered_rows"]
