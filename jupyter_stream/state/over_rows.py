"""The rows of OVER windows: those whose time hasn't come, and those later rows can still look back on.

Three verbs: take rows in any order, release those before a time, tell each one's range. Which rows are late, and what is said
of progress, is the operator's business.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from jupyter_stream.core.messages import TS, Int64s, ints
from jupyter_stream.core.order import order_of
from jupyter_stream.core.rows import earliest, shown
from jupyter_stream.core.time import MAX_TIME
from jupyter_stream.state.group_aggregate import GroupAggregate
from jupyter_stream.state.over_folds import Answers, Rows, Running, over_ranges
from jupyter_stream.windows import OverWindow

SLOT = "$slot"
NUMBER = "$number"
"""Arrival numbers, which order rows of equal time."""
_FAR = 1 << 62


@dataclass(frozen=True)
class Released:
    """Rows whose answers are final, by time.

    Attributes:
        frame: the rows as they were added; `$ts` is when they fired.
        slots: their partitions.
        positions: their places in their partitions, from 1, in time order; None where nobody asks.
        answers: one column for each aggregate.
    """

    frame: pl.DataFrame
    slots: Int64s
    positions: Int64s | None
    answers: list[Answers]


class OverRows:
    """Rows of one OVER window.

    Args:
        window: which rows each looks back on.
        aggregates: what is computed.
    """

    def __init__(self, window: OverWindow, aggregates: Sequence[GroupAggregate]) -> None:
        self._window = window
        self._aggregates = tuple(aggregates)
        self._waiting: list[pl.DataFrame] = []
        self._kept: pl.DataFrame | None = None  # by partition, time, arrival
        self._unbounded = window.rows is None and window.range is None
        self._running = [Running(a) for a in self._aggregates] if self._unbounded else []
        self._counts = np.zeros(1, np.int64)

    @property
    def waiting(self) -> int:
        """Rows whose time hasn't come."""
        return sum(f.height for f in self._waiting)

    @property
    def kept(self) -> int:
        """Rows later ones can look back on."""
        return 0 if self._kept is None else self._kept.height

    @property
    def oldest(self) -> int:
        """The earliest time of the rows held; `MAX_TIME` without any."""
        return earliest(self._waiting if self._kept is None else [*self._waiting, self._kept])

    @property
    def bytes(self) -> int:
        """Bytes held."""
        frames = self._waiting if self._kept is None else [*self._waiting, self._kept]
        own = sum(int(f.estimated_size()) for f in frames) + sum(r.bytes for r in self._running)
        return own + self._counts.nbytes

    def head(self, most: int) -> pl.DataFrame:
        """The first of the rows held."""
        return shown(self._waiting if self._kept is None else [self._kept, *self._waiting], most)

    def add(self, frame: pl.DataFrame, slots: Int64s, numbers: Int64s, inputs: Sequence[pl.Series]) -> None:
        """Take rows in any order.

        Args:
            frame: all their columns, `$ts` among them.
            slots: the partition of each.
            numbers: the arrival number of each.
            inputs: arguments and FILTER conditions.
        """
        own = [pl.Series(SLOT, slots), pl.Series(NUMBER, numbers)]
        self._waiting.append(frame.hstack([*own, *(c.alias(f"${i}") for i, c in enumerate(inputs))]))
        self._inputs = len(inputs)

    def live(self, capacity: int) -> NDArray[np.bool_] | None:
        """Which partitions have rows; None where every partition seen is remembered for ever."""
        if self._window.range is None or self._window.every > 1:
            return None
        live = np.zeros(capacity, np.bool_)
        for frame in self._waiting if self._kept is None else [*self._waiting, self._kept]:
            live[ints(frame.get_column(SLOT))] = True
        return live

    def release(self, until: int) -> Released | None:
        """Rows before a time, with their answers; no rows before it may come any more."""
        due = self._due(until)
        if self._window.on_expiry:
            return self._expire(due, until)
        if due is None:
            if until == MAX_TIME:
                self._kept = None
            elif self._kept is not None and self._window.range is not None:
                self._kept = self._kept.filter(self._kept.get_column(TS) >= until - self._window.range)
            return None
        columns = [SLOT, TS, NUMBER, *(f"${i}" for i in range(self._inputs))]
        old = 0 if self._kept is None else self._kept.height
        pool = due.select(columns) if self._kept is None else pl.concat([self._kept, due.select(columns)])
        pool, order = _ordered(pool)
        rows = _rows(pool, self._inputs)
        new = np.flatnonzero(order >= old)
        first, stop = self._ranges(rows, new)
        if self._unbounded:
            # every row in the pool is new
            answers = [r.answers(rows, stop) for r in self._running]
        else:
            answers = [over_ranges(a, rows, first, stop) for a in self._aggregates]
        positions = self._positions(rows, order >= old, new) if self._window.every > 1 else None
        self._kept = self._keep(pool, rows, until)
        frame = due[pl.Series(order[new] - old)].drop(SLOT, NUMBER, *columns[3:])
        return _by_time(Released(frame, rows.slots[new], positions, answers), ints(pool.get_column(NUMBER))[new])

    def _expire(self, due: pl.DataFrame | None, until: int) -> Released | None:
        """Rows that leave the window before a time, each with the rows alive just after."""
        length = self._window.range
        assert length is not None
        if due is not None:
            pool, _ = _ordered(due if self._kept is None else pl.concat([self._kept, due]))
        elif self._kept is not None and self._kept.height:
            pool = self._kept
        else:
            return None
        rows = _rows(pool, self._inputs)
        fires = rows.times + length < until if until != MAX_TIME else np.ones(rows.times.size, np.bool_)
        self._kept = pool.filter(pl.Series(~fires))
        leaving = np.flatnonzero(fires)
        if not leaving.size:
            return None
        keys = _Keys.of(rows, length)
        first = keys.after(leaving, rows.times[leaving])
        stop = keys.after(leaving, rows.times[leaving] + length)
        answers = [over_ranges(a, rows, first, stop) for a in self._aggregates]
        gone = pool[pl.Series(leaving)]
        numbers = ints(gone.get_column(NUMBER))
        frame = gone.drop(SLOT, NUMBER, *(f"${i}" for i in range(self._inputs)))
        frame = frame.with_columns(pl.Series(TS, rows.times[leaving] + length))
        return _by_time(Released(frame, rows.slots[leaving], None, answers), numbers)

    def _due(self, until: int) -> pl.DataFrame | None:
        if not self._waiting:
            return None
        frame = pl.concat(self._waiting) if len(self._waiting) > 1 else self._waiting[0]
        if until == MAX_TIME:
            self._waiting = []
            return frame if frame.height else None
        now = frame.get_column(TS) < until
        rest = frame.filter(~now)
        self._waiting = [rest] if rest.height else []
        frame = frame.filter(now)
        return frame if frame.height else None

    def _ranges(self, rows: Rows, new: Int64s) -> tuple[Int64s, Int64s]:
        window = self._window
        if window.rows is not None:
            return np.maximum(rows.starts[new], new - window.rows), new + 1
        if window.range is None:
            return rows.starts[new], _peers_end(rows)[new]
        keys = _Keys.of(rows, window.range)
        return keys.from_(new, rows.times[new] - window.range), _peers_end(rows)[new]

    def _positions(self, rows: Rows, is_new: NDArray[np.bool_], new: Int64s) -> Int64s:
        """Places in the partitions of the rows that are released now."""
        capacity = int(rows.slots.max()) + 1
        if self._counts.size < capacity:
            self._counts = np.append(self._counts, np.zeros(max(1024, 2 * capacity) - self._counts.size, np.int64))
        seen = np.cumsum(is_new)
        rank: Int64s = seen[new] - (seen - is_new)[rows.starts[new]]
        found: Int64s = self._counts[rows.slots[new]] + rank
        np.maximum.at(self._counts, rows.slots[new], found)
        return found

    def _keep(self, pool: pl.DataFrame, rows: Rows, until: int) -> pl.DataFrame | None:
        window = self._window
        if self._unbounded or until == MAX_TIME:
            return None
        if window.rows is not None:
            ends = _ends(rows.starts)
            mask = np.arange(rows.starts.size) >= ends - window.rows
        else:
            assert window.range is not None
            mask = rows.times >= until - window.range
        return pool if mask.all() else pool.filter(pl.Series(mask)).rechunk()


class _Keys:
    """Partition and time as one ascending number, so that all look-ups are one binary search."""

    def __init__(self, keys: Int64s, segments: Int64s, span: int, origin: int, times: Int64s | None) -> None:
        self._keys = keys
        self._segments = segments
        self._span = span
        self._origin = origin
        self._times = times

    @classmethod
    def of(cls, rows: Rows, length: int) -> _Keys:
        segments = np.cumsum(rows.starts == np.arange(rows.starts.size)) - 1
        low, high = int(rows.times.min()), int(rows.times.max())
        span = high - low + length + 2
        if span * (int(segments[-1]) + 1) < _FAR:
            return cls(segments * span + (rows.times - low), segments, span, low, None)
        # far apart: the ranks of the times serve as well
        times = np.unique(rows.times)
        span = times.size + 1
        return cls(segments * span + np.searchsorted(times, rows.times), segments, span, 0, times)

    def from_(self, rows: Int64s, times: Int64s) -> Int64s:
        """The first row at or after a time, in the partition of each of `rows`."""
        return self._search(rows, times, "left")

    def after(self, rows: Int64s, times: Int64s) -> Int64s:
        """The first row after a time, in the partition of each of `rows`."""
        return self._search(rows, times, "right")

    def _search(self, rows: Int64s, times: Int64s, side: str) -> Int64s:
        if self._times is not None:
            places = np.searchsorted(self._times, times, "left" if side == "left" else "right")
        else:
            places = np.maximum(times - self._origin + (side == "right"), 0)
        found: Int64s = np.searchsorted(self._keys, self._segments[rows] * self._span + places)
        return found


def _ordered(pool: pl.DataFrame) -> tuple[pl.DataFrame, Int64s]:
    """By partition, time, arrival; and the order."""
    order = order_of(*(ints(pool.get_column(name)) for name in (SLOT, TS, NUMBER)))
    return pool[pl.Series(order)], order


def _rows(pool: pl.DataFrame, inputs: int) -> Rows:
    slots = ints(pool.get_column(SLOT))
    heads = np.append(True, slots[1:] != slots[:-1])
    starts = np.maximum.accumulate(np.where(heads, np.arange(slots.size), 0))
    columns = [pool.get_column(f"${i}") for i in range(inputs)]
    if not columns:
        columns = [pool.get_column(SLOT)]  # count(*) alone: only the length is looked at
    return Rows(slots, ints(pool.get_column(TS)), columns, starts)


def _ends(starts: Int64s) -> Int64s:
    """For each row, one past the last of its segment."""
    heads = np.flatnonzero(starts == np.arange(starts.size))
    sizes = np.diff(np.append(heads, starts.size))
    return np.repeat(heads + sizes, sizes)


def _peers_end(rows: Rows) -> Int64s:
    """For each row, one past the last of its partition with the same time."""
    heads = np.append(True, (rows.slots[1:] != rows.slots[:-1]) | (rows.times[1:] != rows.times[:-1]))
    return _ends(np.maximum.accumulate(np.where(heads, np.arange(heads.size), 0)))


def _by_time(found: Released, numbers: Int64s) -> Released:
    times = ints(found.frame.get_column(TS))
    order = order_of(times, numbers)
    rows = pl.Series(order)
    answers = [Answers(a.values.gather(rows), None if a.beyond is None else a.beyond[order]) for a in found.answers]
    positions = None if found.positions is None else found.positions[order]
    return Released(found.frame[rows], found.slots[order], positions, answers)
