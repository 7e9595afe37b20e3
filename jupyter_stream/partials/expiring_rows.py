"""The rows of OVER windows with ACTIVE EXPIRATION: each gives an answer when it leaves its window, over those that stay."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from jupyter_stream.arrays.order import order_of
from jupyter_stream.arrays.rows import rows_at, shown
from jupyter_stream.arrays.runs import ends_run
from jupyter_stream.core.axis import plus
from jupyter_stream.core.messages import TS, ints
from jupyter_stream.core.time import MAX_TIME
from jupyter_stream.partials.group_aggregate import GroupAggregate
from jupyter_stream.partials.kept_rows import KeptRows
from jupyter_stream.partials.over_folds import OverAnswers
from jupyter_stream.partials.over_rows import ordered_rows
from jupyter_stream.partials.released import Released
from jupyter_stream.partials.row_log import RowLog
from jupyter_stream.partials.timeline import NumberColumn
from jupyter_stream.partials.waiting_rows import NUMBER, SLOT, WaitingRows
from jupyter_stream.windows import OverWindow


class ExpiringRows(WaitingRows):
    """Rows of one OVER window that answers each row when it leaves.

    Args:
        window: how long a row stays.
        aggregates: what is computed.
    """

    def __init__(self, window: OverWindow, aggregates: Sequence[GroupAggregate]) -> None:
        super().__init__(window)
        self._held = KeptRows(aggregates)
        self._alive = RowLog()  # whole rows that have not left, by time, behind some that have
        self._gone = 0
        self._times, self._slots, self._ranks = (
            NumberColumn(np.int64) for _ in range(3)
        )  # of those that have not left

    @property
    def kept(self) -> int:
        """Rows that have not left."""
        return self._times.end - self._times.begin

    @property
    def oldest(self) -> int:
        """The earliest time of the rows held; `MAX_TIME` without any."""
        return min(self.first_waiting, int(self._times.held.min(initial=MAX_TIME)))

    @property
    def bytes(self) -> int:
        """Bytes held."""
        own = self._times.bytes + self._slots.bytes + self._ranks.bytes
        return super().bytes + self._held.bytes + self._alive.bytes + own

    def head(self, most: int) -> pl.DataFrame:
        """The first of the rows held."""
        kept = np.arange(self._gone, min(self._gone + most, self._alive.size))
        return shown([*([self._alive.rows(kept)] if kept.size else []), *self._waiting], most)

    def live(self, capacity: int) -> NDArray[np.bool_] | None:
        """Which partitions have rows."""
        if self._window.every > 1:
            return None
        live = np.zeros(capacity, np.bool_)
        live[self._slots.held] = True
        live[self.waiting_slots] = True
        return live

    def pieces(self, until: int) -> Iterator[Released]:
        """The rows that leave before a time, all at once, each with the rows that are there just after."""
        length = self._window.range
        assert length is not None
        due = self.due(until)
        if due is not None:
            self._take(due)
        times = self._times.held
        leaving = int(np.searchsorted(plus(times, length), until)) if until != MAX_TIME else times.size
        released = self._leave(leaving, length) if leaving else None
        if until == MAX_TIME:
            self._held.clear()
        if released is not None:
            yield released

    def _take(self, due: pl.DataFrame) -> None:
        slots, times, numbers = (ints(due.get_column(name)) for name in (SLOT, TS, NUMBER))
        order = order_of(slots, times, numbers)
        rows = ordered_rows(due, order, self.inputs)
        ranks = self._held.take(rows).ranks
        back = order_of(rows.times, numbers[order])
        for column, values in ((self._times, rows.times), (self._slots, rows.slots), (self._ranks, ranks)):
            column.append(values[back])
        self._alive.append(rows_at(self.shown(due), order[back]))

    def _leave(self, many: int, length: int) -> Released:
        columns = (self._slots, self._times, self._ranks)
        slots, times, ranks = (c.view(c.begin, c.begin + many).copy() for c in columns)
        for column in columns:
            column.forget(column.begin + many)
        order = order_of(slots, times, ranks)
        slots, times, ranks = slots[order], times[order], ranks[order]
        rings = self._held.rings
        end = rings.end[slots]
        first = rings.search(slots, times, ranks + 1, end, "right")
        stop = rings.search(slots, plus(times, length), first, end, "right")
        answers = self._held.answers(slots, first, stop)
        last = ends_run(slots)
        rings.begin[slots[last]] = ranks[last] + 1
        frame = self._alive.rows(np.arange(self._gone, self._gone + many))
        self._gone += many
        if self._alive.due:
            self._alive.keep(np.arange(self._gone, self._alive.size))
            self._gone = 0
        self._held.tidy(None)
        when = plus(times, length)
        back = np.empty(many, np.int64)
        back[order] = np.arange(many)
        frame = frame.with_columns(pl.Series(TS, when[back]))
        at = pl.Series(back)
        made = [OverAnswers(a.values.gather(at), None if a.beyond is None else a.beyond[back]) for a in answers]
        return Released(frame, slots[back], None, made)


__all__ = ["ExpiringRows"]
