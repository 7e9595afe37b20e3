"""A stream's rows as a relation: each enters at its time and leaves when its lifetime ends.

What comes after it works on changes: rows with `$sign`, given instant by instant once no row before can come. What is kept of the
rows that live follows from how they end (`state.expiry`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import polars as pl

from jupyter_stream.arrays.order import order_of
from jupyter_stream.arrays.rows import columns_of, earliest, frame_of, rows_at, shown, together, with_column
from jupyter_stream.core.axis import plus
from jupyter_stream.core.messages import SIGN, TS, UNTIL, Batch, Int64s, Message, ints
from jupyter_stream.core.time import MAX_TIME, MIN_TIME
from jupyter_stream.flow.at_instants import AtInstants
from jupyter_stream.flow.protocol import Recall
from jupyter_stream.partials.window_rows import Stub, WindowRows
from jupyter_stream.relations.expiry import Expiring, Fifo, Partitions
from jupyter_stream.windows import LifetimeWindow

_UNKNOWN = 60_000_000
"""How long rows are taken to live where nothing says it, in microseconds: it decides only how many partitions there are."""


class AliveOperator(AtInstants):
    """Rows entering (`$sign` 1) and leaving (-1) at `$ts`.

    Args:
        window: how long rows live, unless they carry `$until` themselves.
        columns: the rows' columns.
        ends: whether the rows carry `$until`.
        living: where they are kept; by default a list, or partitions where they carry `$until`.
        longest: how long rows with `$until` live at most, microseconds; None where nothing says it.
    """

    def __init__(
        self,
        window: LifetimeWindow,
        columns: tuple[str, ...],
        ends: bool = False,
        living: Expiring | None = None,
        longest: int | None = None,
    ) -> None:
        super().__init__("rows alive" if ends else f"rows alive {window}")
        self._range = window.range
        self._longest = longest if ends else window.range
        self._columns = columns
        self._ends_given = ends
        self._living = living or (Partitions(_UNKNOWN) if ends else Fifo())
        if isinstance(self._living, Partitions):
            self.control.settings["partitions"] = self._living.count
        self._kept: Stub | None = None  # rows that have come since others keep them as well

    def head(self, most: int) -> pl.DataFrame:
        """Some of the rows that live, those that leave first if they are kept so; then rows whose time has not come."""
        return shown((*self._living.head(most), *self._all_alive, *self._all_waiting), most)

    @property
    def _all_alive(self) -> list[pl.DataFrame]:
        return [] if self._kept is None else self._kept.alive

    @property
    def _all_waiting(self) -> list[pl.DataFrame]:
        return self._waiting[0] if self._kept is None else [*self._waiting[0], *self._kept.waiting]

    @property
    def waits_for(self) -> int:
        """Also when the first row leaves. What is kept for others as well doesn't say it."""
        if self._kept is not None:
            return MIN_TIME
        return min(super().waits_for, plus(self._living.first_end, 1))

    def take(self, port: int, frame: pl.DataFrame) -> Iterable[Message]:
        """With their ends."""
        kept = [c for c in self._columns if c in frame.columns]
        if self._kept is not None:
            self._kept.take(columns_of(frame, [*kept, TS]))
        elif self._ends_given:
            self.keep(port, columns_of(frame, [*kept, TS, UNTIL]))
        else:
            self.keep(port, with_column(columns_of(frame, [*kept, TS]), UNTIL, self._ends(frame)))
        self.report()
        return ()

    def _ends(self, frame: pl.DataFrame) -> Int64s:
        times = ints(frame.get_column(TS))
        if self._range is None:
            return np.full(times.size, MAX_TIME)
        return plus(times, self._range)

    def step(self, due: Sequence[pl.DataFrame | None], until: int) -> Iterable[Message]:
        """Give the rows that enter and those that leave."""
        entering = self._enter(due[0], until)  # before others leave: a short life may begin and end here
        changes = self._changes(self._leave(until), entering)
        return (Batch(changes),) if changes.height else ()

    def _enter(self, due: pl.DataFrame | None, before: int) -> list[pl.DataFrame]:
        """Rows that enter before a time, with `$ts` in their last column."""
        if self._kept is not None:
            entered = self._kept.enter(before)
            return [] if entered is None else [entered]
        if due is None:
            return []
        columns = due.get_columns()
        if self._range is not None or self._ends_given:
            self._living.insert(frame_of([*columns[:-2], columns[-1]]))
        return [frame_of(columns[:-1])]

    def _leave(self, before: int) -> list[pl.DataFrame]:
        """Rows that leave before a time, with when they do as `$ts` in their last column."""
        gone = []
        if isinstance(self._living, Partitions):
            self._living.divide(int(self.control.settings["partitions"]))
        if due := self._living.expire(before):
            columns = together(due).get_columns()
            gone.append(frame_of([*columns[:-1], columns[-1].alias(TS)]))
        for frame in self._kept.leave(before) if self._kept is not None else ():
            times = plus(ints(frame.get_column(TS)), self._kept_for)
            gone.append(with_column(frame.drop(TS), TS, times))
        return gone

    @staticmethod
    def _changes(leaving: list[pl.DataFrame], entering: list[pl.DataFrame]) -> pl.DataFrame:
        """Both by their times; at one time rows leave before others enter."""
        count = sum(f.height for f in leaving)
        if not leaving and not entering:
            return pl.DataFrame()
        frame = together([*leaving, *entering])
        signs = np.repeat(np.array([-1, 1], np.int8), [count, frame.height - count])
        times = ints(frame.get_column(TS))
        if (times[1:] < times[:-1]).any():
            order = order_of(times)
            frame, signs = rows_at(frame, order), signs[order]
        return with_column(frame, SIGN, signs)

    # -- rows kept once for windows of different length ----------------------------------------------------------------

    @property
    def kept_with(self) -> Stub | None:
        """What it reads of rows that are kept for others as well; None while it keeps its own."""
        return self._kept

    @property
    def _kept_for(self) -> int:
        assert self._range is not None
        return self._range

    def may_keep_with(self, other: AliveOperator, since: int) -> bool:
        """Whether both are to have the same rows from here on.

        Args:
            other: one over the same rows.
            since: the newest time of rows that one of them has had and the other has not, microseconds.
        """
        if self._range is None or other._range is None or self._ends_given or other._ends_given:
            return False
        waiting = [sum(f.height for f in alive._all_waiting) for alive in (self, other)]
        oldest = min(earliest(self._all_waiting), earliest(other._all_waiting))
        return self._reached == other._reached and waiting[0] == waiting[1] and oldest > since

    def keep_in(self, store: WindowRows) -> None:
        """Keep rows that enter from here on there, together with others; those that live already leave as they would have."""
        if not store.windows:
            store.waiting = [columns_of(f, f.columns[:-1]) for f in self._waiting[0]]
        self._waiting[0].clear()
        self._kept = Stub(store, self._kept_for, self.report)
        self.report()

    def stop_keeping(self) -> None:
        """Nobody reads this one any more: others keep what they need."""
        if self._kept is not None:
            self._kept.close()

    def recalls(self) -> Recall | None:
        """The rows that wait or live."""
        if self._range is None and not self._ends_given:
            return Recall(earliest(self._all_waiting))
        if self._longest is None or self._reached in (MIN_TIME, MAX_TIME):
            return None
        return Recall(min(earliest(self._all_waiting), plus(self._reached, -self._longest)))

    def report(self) -> None:
        """And how many rows wait and live."""
        shared, rows = (self._kept.bytes, self._kept.rows) if self._kept is not None else (0, 0)
        self.holds(self._living.bytes + shared)
        self.control.extra["live_rows"] = self._living.rows + rows
        self.control.extra["waiting_rows"] = sum(f.height for f in self._all_waiting)

    def check(self) -> None:
        """Raise AssertionError where an invariant is broken."""
        self._living.check()
        if self._kept is not None:
            self._kept.check()


__all__ = ["AliveOperator"]
