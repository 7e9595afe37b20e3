"""Partials of groups at each distinct time: the bins of slide-by-tuple windows (window-queries thesis §6.1.4).

The thesis updates every bin within RANGE of a row as it comes. Here a row goes into the bin of its own time only, and extents
are folded over bins, many at once, when they are final: same answers, no row kept or looked at again, and the cost of a row
does not depend on RANGE. Which extents there are and when one is final is the operator's business.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from jupyter_stream.aggregates.protocol import Array, Dense, Partial
from jupyter_stream.core.control import ControlTable
from jupyter_stream.core.messages import Int64s, ints
from jupyter_stream.core.order import order_of
from jupyter_stream.state.frame_bins import FrameBins, spread_out
from jupyter_stream.state.group_aggregate import GroupAggregate
from jupyter_stream.state.group_line import GroupLine
from jupyter_stream.state.range_fold import lifted, sums
from jupyter_stream.state.slots import KeySlots
from jupyter_stream.state.timeline import Timeline

_PAIRS_AT_ONCE = 131_072
"""Answers made at a time, so that many groups in many extents need little memory."""
_CHUNKS = 32
_TURNS = 32
"""RANGEs that may be gone through from one punctuation to the next, each of which is a step."""
_SPARSE = 4
"""Slots for each bin in a RANGE from which on most groups have none in an extent."""


@dataclass(frozen=True)
class Found:
    """Answers of extents, row by row.

    Attributes:
        extents: index into the extents asked for.
        keys: the grouping columns.
        answers: the aggregates' columns.
        beyond: for rows whose integer sum does not fit BIGINT, the name of that sum; None where all fit.
    """

    extents: Int64s
    keys: list[pl.Series]
    answers: list[pl.Series]
    beyond: pl.Series | None


@dataclass(frozen=True)
class _Rows:
    """Bins (or rows that are to become bins), sorted by slot and time, each once."""

    slots: Int64s
    ts: Int64s
    columns: list[Array]

    @property
    def bytes(self) -> int:
        return self.slots.nbytes + self.ts.nbytes + sum(c.nbytes for c in self.columns)

    def only(self, kept: NDArray[np.bool_]) -> _Rows:
        if kept.all():
            return self
        at = np.flatnonzero(kept)  # a mask would be gone through again for each column, five times as slowly
        return _Rows(self.slots[at], self.ts[at], [c[at] for c in self.columns])

    def cut(self, until: int, by_time: bool) -> tuple[_Rows, _Rows]:
        """Those before a time, and the others. `by_time`: they are all of one slot."""
        if not by_time:
            before = self.ts < until
            return self.only(before), self.only(~before)
        at = int(np.searchsorted(self.ts, until))
        columns = self.columns
        early = _Rows(self.slots[:at], self.ts[:at], [c[:at] for c in columns])
        return early, _Rows(self.slots[at:], self.ts[at:], [c[at:] for c in columns])


class Bins:
    """Bins of all groups, those still open for rows apart from those that are complete.

    Args:
        span: the window's RANGE, microseconds.
        keys: names and types of the grouping columns.
        aggregates: what is computed.
    """

    def __init__(
        self, span: int, keys: Sequence[tuple[str, pl.DataType]], aggregates: Sequence[GroupAggregate]
    ) -> None:
        self._span = span
        self._aggregates = tuple(aggregates)
        self._slots = KeySlots(keys) if keys else None
        self._partials: list[Partial] = []
        self._inputs: list[tuple[int | None, int | None]] = []  # of each partial: its argument and its FILTER
        self._column: list[int] = []  # of each partial: its first column; a sum of integers has two
        self._folds: list[np.ufunc] = []  # of each column
        self._dense: list[list[int]] = []  # of each aggregate: its partials
        self._frames: list[FrameBins | None] = []
        for aggregate in self._aggregates:
            self._dense.append(self._partials_of(aggregate) if isinstance(aggregate.form, Dense) else [])
            self._frames.append(None if isinstance(aggregate.form, Dense) else FrameBins(aggregate))
        self._open: list[_Rows] = []
        # bins no row will go into any more, in order of time
        folds = [None if self._is_summed(c) else f for c, f in enumerate(self._folds)]
        self._line = Timeline(folds, self._dtypes()) if self._slots is None else None
        self._groups = GroupLine(span, folds, self._identities(), self._dtypes()) if self._slots is not None else None
        self._by_group: _Rows | None = None
        """The same by group, where looking at all of them takes less than going from extent to extent."""
        self._checked = 0
        names = ["open bins", "bins", *(f"partials of {f.name}" for f in self._frames if f is not None)]
        self.tables = [ControlTable(n) for n in (*names, *(["key slots"] if keys else []))]

    def _partials_of(self, aggregate: GroupAggregate) -> list[int]:
        assert isinstance(aggregate.form, Dense)
        argument = aggregate.inputs[0] if aggregate.inputs else None
        known = list(zip(self._partials, self._inputs, strict=True))
        own = []
        for partial in aggregate.form.partials:
            entry = (partial, (argument, aggregate.where))
            if entry not in known:
                known.append(entry)
                self._partials.append(partial)
                self._inputs.append(entry[1])
                self._column.append(len(self._folds))
                self._folds += [partial.fold] * (2 if _is_exact_sum(partial) else 1)
            own.append(known.index(entry))
        return own

    def _none(self) -> _Rows:
        return _Rows(np.empty(0, np.int64), np.empty(0, np.int64), [np.empty(0, t) for t in self._dtypes()])

    def _dtypes(self) -> list[type]:
        types: list[type] = []
        for partial in self._partials:
            types += [np.float64 if partial.kind == "float" else np.int64] * (2 if _is_exact_sum(partial) else 1)
        return types

    def _identities(self) -> list[float]:
        values: list[float] = []
        for partial in self._partials:
            values += [partial.identity] * (2 if _is_exact_sum(partial) else 1)
        return values

    # -- rows in -----------------------------------------------------------------------------------------------------

    def add(self, ts: Int64s, keys: Sequence[pl.Series], inputs: Sequence[pl.Series]) -> None:
        """Fold rows in: their times, grouping columns and inputs (arguments and FILTER conditions)."""
        slots = np.zeros(ts.size, np.int64) if self._slots is None else self._slots.encode(keys)
        columns: list[Array] = []
        for partial, (argument, where) in zip(self._partials, self._inputs, strict=True):
            series = None if argument is None else inputs[argument]
            mask = _mask(series, None if where is None else inputs[where])
            columns += _values(partial, series, mask, ts.size)
        self._open.append(self._fold(slots, ts, columns))
        if len(self._open) > _CHUNKS:
            self._open = [self._joined(self._open)]
        for frames in self._frames:
            if frames is not None:
                frames.add(slots, ts, inputs)

    def _fold(self, slots: Int64s, ts: Int64s, columns: list[Array]) -> _Rows:
        """Sort, and fold what has the same slot and time."""
        if self._slots is None:
            rising = np.diff(ts)
            if rising.size and int(rising.min()) <= 0:
                order = order_of(ts)
                ts = ts[order]
                columns = [c[order] for c in columns]
                rising = np.diff(ts)
            first = np.flatnonzero(rising)
        else:
            order = order_of(slots, ts)
            slots, ts, columns = slots[order], ts[order], [c[order] for c in columns]
            first = np.flatnonzero((np.diff(ts) != 0) | (np.diff(slots) != 0))
        if first.size + 1 >= ts.size:
            return _Rows(slots, ts, columns)
        starts = np.concatenate([[0], first + 1])
        return _Rows(
            slots[starts], ts[starts], [f.reduceat(c, starts) for f, c in zip(self._folds, columns, strict=True)]
        )

    def _joined(self, parts: Sequence[_Rows]) -> _Rows:
        if not parts:
            return self._none()
        if len(parts) == 1:
            return parts[0]
        columns = [np.concatenate(c) for c in zip(*(p.columns for p in parts), strict=True)]
        slots, ts = np.concatenate([p.slots for p in parts]), np.concatenate([p.ts for p in parts])
        return self._fold(slots, ts, columns)

    # -- time --------------------------------------------------------------------------------------------------------

    def complete(self, until: int) -> None:
        """No row before `until` will come."""
        cut = [part.cut(until, self._slots is None) for part in self._open]
        self._open = [late for _, late in cut if late.ts.size]
        new = self._joined([early for early, _ in cut if early.ts.size])
        if new.ts.size:
            self._append(new)
        for frames in self._frames:
            if frames is not None:
                frames.complete(until)

    def _append(self, new: _Rows) -> None:
        """Put bins behind the last; all of them are later."""
        if self._line is not None:
            self._line.append(new.ts, new.columns)
        if self._groups is None or self._slots is None:
            return
        held = self._groups.times.size
        order = order_of(new.ts)
        self._groups.append(new.slots[order], new.ts[order], [c[order] for c in new.columns])
        self._groups.fit(self._slots.capacity)
        if new.ts.size > _TURNS * held or self._slots.capacity > _SPARSE * held:
            slots, ts, columns = self._groups.held()
            order = order_of(slots)
            self._by_group = _Rows(slots[order], ts[order], [c[order] for c in columns])

    def expire(self, until: int) -> None:
        """Free bins no extent from `until` on holds."""
        self._by_group = None
        if self._line is not None:
            self._line.forget(until)
        if self._groups is not None:
            self._groups.forget(until)
        for frames in self._frames:
            if frames is not None:
                frames.expire(until)
        self._release()

    def _release(self) -> None:
        """Reuse slots of groups without bins. Looks only when they have doubled since it last looked: amortised."""
        if self._slots is None or self._groups is None:
            return
        held = self._groups.held()[0]
        empty = not held.size and not self._open
        if not empty and self._slots.live < 2 * self._checked + 1024:
            return
        live = np.zeros(self._slots.capacity, np.bool_)
        for slots in (held, *(part.slots for part in self._open)):
            live[slots] = True
        self._slots.release(live)
        self._checked = self._slots.live

    def snapshot(self) -> Bins:
        """The same bins with the open ones taken as complete, for provisional answers; the original is not touched."""
        copy = object.__new__(Bins)
        copy.__dict__.update(self.__dict__)
        copy._open = list(self._open)
        copy._line = None if self._line is None else self._line.copy()
        copy._groups = None if self._groups is None else self._groups.copy()
        copy._frames = [None if f is None else f.snapshot() for f in self._frames]
        return copy

    # -- answers out -------------------------------------------------------------------------------------------------

    def batches(self, ends: Int64s) -> list[Int64s]:
        """Cuts extents into lots whose answers are made together: as many as the groups in them allow."""
        groups = 1
        if self._by_group is not None:
            groups = np.unique(self._by_group.slots).size
        elif self._slots is not None:
            groups = self._slots.capacity
        size = max(1, _PAIRS_AT_ONCE // max(1, groups))
        return [ends[i : i + size] for i in range(0, ends.size, size)]

    def read(self, ends: Int64s) -> Found:
        """Answers of the extents ending at the given rising times, each of which has a bin, extent by extent.

        Args:
            ends: microseconds; they do not go back from one call to the next.
        """
        extents, slots, columns = self._fold_extents(ends)
        folded = [
            columns[i : i + 2 if _is_exact_sum(p) else i + 1] for i, p in zip(self._column, self._partials, strict=True)
        ]
        answers: list[pl.Series] = []
        beyond: pl.Series | None = None
        for aggregate, own, frames in zip(self._aggregates, self._dense, self._frames, strict=True):
            if frames is not None:
                answers.append(frames.read(slots, ends[extents], self._span))
                continue
            arrays: list[Array] = []
            for index in own:
                values, wrong = _whole(folded[index], aggregate.dtype.is_integer())
                arrays.append(values)
                if wrong is not None:
                    named = pl.Series([aggregate.name]).new_from_index(0, wrong.size).set(pl.Series(~wrong), None)
                    beyond = named if beyond is None else beyond.fill_null(named)
            answers.append(aggregate.function.finish(arrays, aggregate.dtype).alias(aggregate.name))
        keys = [] if self._slots is None else self._slots.gather(slots)
        return Found(extents, keys, answers, beyond)

    def _fold_extents(self, ends: Int64s) -> tuple[Int64s, Int64s, list[Array]]:
        """For each extent and group in it: the extent's index, the group's slot, and the columns folded. Extent by extent."""
        if self._line is not None:
            first, stop = self._line.places(ends - self._span, ends)
            columns = [self._line.read(c, first, stop) for c in range(len(self._folds))]
            return np.arange(ends.size), np.zeros(ends.size, np.int64), columns
        assert self._groups is not None
        if self._by_group is None:
            return self._groups.read(ends)
        bins = self._by_group
        extents, first, stop = self._ranges(bins, ends)
        columns = [
            sums(values, first, stop) if self._is_summed(c) else lifted(values, self._folds[c], first, stop)
            for c, values in enumerate(bins.columns)
        ]
        return extents, bins.slots[stop - 1], columns

    def _ranges(self, bins: _Rows, ends: Int64s) -> tuple[Int64s, Int64s, Int64s]:
        """For each extent and group in it: the extent's index, and the group's bins in it."""
        ts, slots = bins.ts, bins.slots
        # a bin is its group's last one in the extents from its own time until the group's next bin, or until it has left
        leaves = ts + self._span
        follows = slots[1:] == slots[:-1]
        leaves[:-1][follows] = np.minimum(leaves[:-1][follows], ts[1:][follows])
        begin = np.searchsorted(ends, ts, side="left")
        count = np.searchsorted(ends, leaves, side="left") - begin
        last = np.repeat(np.arange(ts.size), count)
        extents = spread_out(begin, count)
        order = order_of(extents)
        extents, last = extents[order], last[order]
        times = np.unique(ts)
        places = times.size + 1
        at = slots * places + np.searchsorted(times, ts)
        oldest = np.searchsorted(times, ends - self._span, side="right")
        return extents, np.searchsorted(at, slots[last] * places + oldest[extents]), last + 1

    def _is_summed(self, column: int) -> bool:
        """Whether a column is of whole numbers that are added up."""
        index = max(i for i, first in enumerate(self._column) if first <= column)
        return self._partials[index].op == "count" or _is_exact_sum(self._partials[index])

    # -- about it ----------------------------------------------------------------------------------------------------

    @property
    def live(self) -> int:
        """Groups with a slot."""
        return self._slots.live if self._slots is not None else 1

    @property
    def size(self) -> int:
        """Bins held."""
        return self._complete.size + sum(p.ts.size for p in self._open)

    @property
    def _complete(self) -> Int64s:
        """Times of the bins no row will go into any more."""
        line = self._line if self._groups is None else self._groups
        assert line is not None
        return line.times

    @property
    def times(self) -> list[int]:
        """The times of the bins held, each once and in order."""
        return sorted({int(t) for ts in (self._complete, *(p.ts for p in self._open)) for t in ts})

    def head(self, most: int) -> pl.DataFrame:
        """The oldest bins: of which group, at which time."""
        complete = self._complete
        known = np.zeros(complete.size, np.int64) if self._groups is None else self._groups.held()[0]
        parts = [(known, complete), *((p.slots, p.ts) for p in self._open)]
        slots, times = (np.concatenate(column)[:most] for column in zip(*parts, strict=True))
        keys = [] if self._slots is None else self._slots.gather(slots)
        return pl.DataFrame([*keys, pl.Series("bin", times)])

    def report(self) -> int:
        """Bring the control tables up to date; returns the bytes held."""
        done = sum(line.bytes for line in (self._line, self._groups) if line is not None)
        held = [sum(p.bytes for p in self._open), done, *(f.bytes for f in self._frames if f is not None)]
        if self._slots is not None:
            held.append(self._slots.bytes)
        for table, count in zip(self.tables, held, strict=True):
            table.holds(count)
        self.tables[0].extra["bins"] = sum(p.ts.size for p in self._open)
        self.tables[1].extra["bins"] = self._complete.size
        return sum(held)

    def check(self) -> None:
        """Raise AssertionError unless bins are sorted and each is there once."""
        if self._groups is not None:
            self._groups.check()
        for part in self._open:
            order = np.lexsort((part.ts, part.slots))
            assert np.array_equal(order, np.arange(order.size))
            assert not ((np.diff(part.ts) == 0) & (np.diff(part.slots) == 0)).any()
        if self._slots is not None:
            self._slots.check()


def _is_exact_sum(partial: Partial) -> bool:
    """Whether it is kept in two columns, the upper and the lower 32 bits, so that no sum can leave them."""
    return partial.op == "sum" and partial.kind == "int"


def _mask(series: pl.Series | None, where: pl.Series | None) -> NDArray[np.bool_] | None:
    """Rows an aggregate takes: not NULL, and the FILTER holds. None for all."""
    mask: NDArray[np.bool_] | None = None
    if series is not None and series.null_count():
        mask = series.is_not_null().to_numpy()
    if where is not None:
        truth: NDArray[np.bool_] = where.fill_null(False).to_numpy()
        mask = truth if mask is None else mask & truth
    return mask


def _values(partial: Partial, series: pl.Series | None, mask: NDArray[np.bool_] | None, rows: int) -> list[Array]:
    """A partial of single rows; its identity where the row is left out."""
    if partial.op == "count":
        return [np.ones(rows, np.int64) if mask is None else mask.astype(np.int64)]
    assert series is not None
    if series.null_count():  # fill_null goes through Polars' planner
        series = series.to_physical().fill_null(0)
    if partial.kind == "float":
        values: Array = series.cast(pl.Float64).to_numpy()
    else:
        values = ints(series)
    if mask is not None:
        values = np.where(mask, values, partial.identity)
    return [values >> 32, values & 0xFFFFFFFF] if _is_exact_sum(partial) else [values]


def _whole(limbs: list[Array], exact: bool) -> tuple[Array, NDArray[np.bool_] | None]:
    """The number two columns stand for, and where it is beyond 64 bits; a float where the answer is one."""
    if len(limbs) == 1:
        return limbs[0], None
    high, low = limbs[0] + (limbs[1] >> 32), limbs[1] & 0xFFFFFFFF
    beyond = (high >= 1 << 31) | (high < -(1 << 31))
    if not beyond.any():
        return (high << 32) | low, None
    if not exact:
        return high * float(1 << 32) + low, None
    return np.where(beyond, 0, (high << 32) | low), beyond
