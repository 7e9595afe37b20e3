"""Partials of groups at each distinct time: the bins of slide-by-tuple windows (window-queries thesis §6.1.4).

The thesis updates every bin within RANGE of a row as it comes. Here a row goes into the bin of its own time only, and extents
are folded over bins, many at once, when they are final: same answers, no row kept or looked at again, and the cost of a row
does not depend on RANGE. Which extents there are and when one is final is the operator's business.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from jupyter_stream.aggregates.protocol import Dense, Partial
from jupyter_stream.arrays.exact import halves, whole
from jupyter_stream.arrays.order import order_of
from jupyter_stream.arrays.range_fold import lifted, sums
from jupyter_stream.arrays.rows import columns_of
from jupyter_stream.arrays.walking import ranges
from jupyter_stream.core.axis import plus
from jupyter_stream.core.messages import Array, Int64s, ints
from jupyter_stream.core.time import MIN_TIME
from jupyter_stream.partials.frame_bins import BIN, FrameBins
from jupyter_stream.partials.group_aggregate import GroupAggregate
from jupyter_stream.partials.group_line import GroupLine
from jupyter_stream.partials.store import SLOT, Found
from jupyter_stream.partials.timeline import Timeline

_PAIRS_AT_ONCE = 131_072
"""Answers made at a time, so that many groups in many extents need little memory."""
_CHUNKS = 32
_TURNS = 32
"""RANGEs that may be gone through from one punctuation to the next, each of which is a step."""
_SPARSE = 4
"""Slots for each bin in a RANGE from which on most groups have none in an extent."""


@dataclass(frozen=True)
class TimeEnds:
    """Extents by the times they end at: what answers are read by.

    Attributes:
        times: rising, each once; they do not go back from one time bins are read to the next. Each has a bin.
        until: no row before it will come, and none of them is after it.
    """

    times: Int64s
    until: int


@dataclass(frozen=True)
class _SortedBins:
    """Bins (or rows that are to become bins), sorted by slot and time, each once."""

    slots: Int64s
    ts: Int64s
    columns: list[Array]

    @property
    def bytes(self) -> int:
        return self.slots.nbytes + self.ts.nbytes + sum(c.nbytes for c in self.columns)

    def only(self, kept: NDArray[np.bool_]) -> _SortedBins:
        if kept.all():
            return self
        at = np.flatnonzero(kept)  # a mask would be gone through again for each column, five times as slowly
        return _SortedBins(self.slots[at], self.ts[at], [c[at] for c in self.columns])

    def cut(self, until: int, by_time: bool) -> tuple[_SortedBins, _SortedBins]:
        """Those before a time, and the others. `by_time`: they are all of one slot."""
        if not by_time:
            before = self.ts < until
            return self.only(before), self.only(~before)
        at = int(np.searchsorted(self.ts, until))
        columns = self.columns
        early = _SortedBins(self.slots[:at], self.ts[:at], [c[:at] for c in columns])
        return early, _SortedBins(self.slots[at:], self.ts[at:], [c[at:] for c in columns])


class Bins:
    """Bins of all groups, those still open for rows apart from those that are complete.

    Args:
        span: the window's RANGE, microseconds.
        aggregates: what is computed.
        grouped: whether there are groups beside that in slot 0.
    """

    def __init__(self, span: int, aggregates: Sequence[GroupAggregate], grouped: bool) -> None:
        self._span = span
        self._aggregates = tuple(aggregates)
        self._partials: list[Partial] = []
        self._inputs: list[tuple[int | None, int | None]] = []  # of each partial: its argument and its FILTER
        self._column: list[int] = []  # of each partial: its first column; a sum of integers has two
        self._folds: list[np.ufunc] = []  # of each column
        self._dense: list[list[int]] = []  # of each aggregate: its partials
        self._frames: list[FrameBins | None] = []
        for aggregate in self._aggregates:
            self._dense.append(self._partials_of(aggregate) if isinstance(aggregate.form, Dense) else [])
            self._frames.append(None if isinstance(aggregate.form, Dense) else FrameBins(aggregate))
        self._open: list[_SortedBins] = []
        # bins no row will go into any more, in order of time
        folds = [None if self._is_summed(c) else f for c, f in enumerate(self._folds)]
        self._line = None if grouped else Timeline(folds, self._dtypes())
        self._groups = GroupLine(span, folds, self._identities(), self._dtypes()) if grouped else None
        self._slots = 1  # groups are in slots below it
        self._completed = MIN_TIME
        self._by_group: _SortedBins | None = None
        """The same by group, where looking at all of them takes less than going from extent to extent."""

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

    def _none(self) -> _SortedBins:
        return _SortedBins(np.empty(0, np.int64), np.empty(0, np.int64), [np.empty(0, t) for t in self._dtypes()])

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

    def add(self, groups: Int64s, at: Int64s, ts: pl.Series, inputs: Sequence[pl.Series]) -> None:
        """Fold rows in, in any order; `at` are their times."""
        self._slots = max(self._slots, int(groups.max()) + 1)
        columns: list[Array] = []
        for partial, (argument, where) in zip(self._partials, self._inputs, strict=True):
            series = None if argument is None else inputs[argument]
            mask = _mask(series, None if where is None else inputs[where])
            columns += _values(partial, series, mask, at.size)
        self._open.append(self._fold(groups, at, columns))
        if len(self._open) > _CHUNKS:
            self._open = [self._joined(self._open)]
        for frames in self._frames:
            if frames is not None:
                frames.add(groups, ts, inputs)

    def _fold(self, slots: Int64s, ts: Int64s, columns: list[Array]) -> _SortedBins:
        """Sort, and fold what has the same slot and time."""
        if self._groups is None:
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
            return _SortedBins(slots, ts, columns)
        starts = np.concatenate([[0], first + 1])
        return _SortedBins(
            slots[starts], ts[starts], [f.reduceat(c, starts) for f, c in zip(self._folds, columns, strict=True)]
        )

    def _joined(self, parts: Sequence[_SortedBins]) -> _SortedBins:
        if not parts:
            return self._none()
        if len(parts) == 1:
            return parts[0]
        columns = [np.concatenate(c) for c in zip(*(p.columns for p in parts), strict=True)]
        slots, ts = np.concatenate([p.slots for p in parts]), np.concatenate([p.ts for p in parts])
        return self._fold(slots, ts, columns)

    # -- time --------------------------------------------------------------------------------------------------------

    def _complete(self, until: int) -> None:
        """No row before `until` will come."""
        if until <= self._completed:
            return
        self._completed = until
        cut = [part.cut(until, self._groups is None) for part in self._open]
        self._open = [late for _, late in cut if late.ts.size]
        new = self._joined([early for early, _ in cut if early.ts.size])
        if new.ts.size:
            self._append(new)
        for frames in self._frames:
            if frames is not None:
                frames.complete(until)

    def _append(self, new: _SortedBins) -> None:
        """Put bins behind the last; all of them are later."""
        if self._line is not None:
            self._line.append(new.ts, new.columns)
        if self._groups is None:
            return
        held = self._groups.times.size
        order = order_of(new.ts)
        self._groups.append(new.slots[order], new.ts[order], [c[order] for c in new.columns])
        self._groups.fit(self._slots)
        if new.ts.size > _TURNS * held or self._slots > _SPARSE * held:
            slots, ts, columns = self._groups.held()
            order = order_of(slots)
            self._by_group = _SortedBins(slots[order], ts[order], [c[order] for c in columns])

    def change(self, change: int) -> None:
        """No row before a time will come, and no extent that ends before it will be asked for."""
        self._complete(change)
        self._by_group = None
        until = plus(change, -self._span)
        if self._line is not None:
            self._line.forget(until)
        if self._groups is not None:
            self._groups.forget(until)
        for frames in self._frames:
            if frames is not None:
                frames.expire(until)

    def opened(self) -> Bins:
        """The same bins, of which the open ones may be completed; the original is not touched."""
        copy = object.__new__(Bins)
        copy.__dict__.update(self.__dict__)
        copy._open = list(self._open)
        copy._line = None if self._line is None else self._line.copy()
        copy._groups = None if self._groups is None else self._groups.copy()
        copy._frames = [None if f is None else f.snapshot() for f in self._frames]
        return copy

    # -- answers out -------------------------------------------------------------------------------------------------

    def read(self, picks: TimeEnds, by: Sequence[str]) -> Iterator[Found]:
        """Answers extent by extent, so many extents at a time as the groups in them allow.

        Args:
            picks: which extents.
            by: what to call the groups and the extents, which are told by their index among those.
        """
        self._complete(picks.until)
        groups = 1
        if self._by_group is not None:
            groups = np.unique(self._by_group.slots).size
        elif self._groups is not None:
            groups = self._slots
        size = max(1, _PAIRS_AT_ONCE // max(1, groups))
        for begin in range(0, max(1, picks.times.size), size):
            yield self._read(picks.times[begin : begin + size], begin, by)

    def _read(self, ends: Int64s, begin: int, by: Sequence[str]) -> Found:
        extents, slots, columns = self._fold_extents(ends)
        folded = [
            columns[i : i + 2 if _is_exact_sum(p) else i + 1] for i, p in zip(self._column, self._partials, strict=True)
        ]
        answers: list[pl.Series] = []
        beyond = np.zeros(extents.size, np.bool_)
        for aggregate, own, frames in zip(self._aggregates, self._dense, self._frames, strict=True):
            if frames is not None:
                answers.append(frames.read(slots, ends[extents], self._span))
                continue
            arrays: list[Array] = []
            for index in own:
                values, *low = folded[index]
                if low:
                    values, wrong = whole(values, low[0], aggregate.dtype.is_integer())
                    if wrong is not None:
                        beyond |= wrong
                arrays.append(values)
            answers.append(aggregate.function.finish(arrays, aggregate.dtype).alias(aggregate.name))
        group, extent = by
        found = pl.DataFrame([pl.Series(group, slots), pl.Series(extent, extents + begin), *answers])
        if not beyond.any():
            return found, columns_of(found.clear(), by)
        return found.filter(pl.Series(~beyond)), found.filter(pl.Series(beyond)).select(by)

    def _fold_extents(self, ends: Int64s) -> tuple[Int64s, Int64s, list[Array]]:
        """For each extent and group in it: the extent's index, the group's slot, and the columns folded. Extent by extent."""
        if self._line is not None:
            first, stop = self._line.places(plus(ends, -self._span), ends)
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

    def _ranges(self, bins: _SortedBins, ends: Int64s) -> tuple[Int64s, Int64s, Int64s]:
        """For each extent and group in it: the extent's index, and the group's bins in it."""
        ts, slots = bins.ts, bins.slots
        # a bin is its group's last one in the extents from its own time until the group's next bin, or until it has left
        leaves = plus(ts, self._span)
        follows = slots[1:] == slots[:-1]
        leaves[:-1][follows] = np.minimum(leaves[:-1][follows], ts[1:][follows])
        begin = np.searchsorted(ends, ts, side="left")
        count = np.searchsorted(ends, leaves, side="left") - begin
        last = np.repeat(np.arange(ts.size), count)
        extents = ranges(begin, count)
        order = order_of(extents)
        extents, last = extents[order], last[order]
        times = np.unique(ts)
        places = times.size + 1
        at = slots * places + np.searchsorted(times, ts)
        oldest = np.searchsorted(times, plus(ends, -self._span), side="right")
        return extents, np.searchsorted(at, slots[last] * places + oldest[extents]), last + 1

    def _is_summed(self, column: int) -> bool:
        """Whether a column is of whole numbers that are added up."""
        index = max(i for i, first in enumerate(self._column) if first <= column)
        return self._partials[index].op == "count" or _is_exact_sum(self._partials[index])

    # -- about it ----------------------------------------------------------------------------------------------------

    @property
    def zero(self) -> list[str]:
        """The aggregates that are 0 of no rows."""
        return [a.name for a in self._aggregates if a.function.of_nothing == 0]

    @property
    def rows(self) -> int:
        """Bins held."""
        return self._times.size + sum(p.ts.size for p in self._open)

    @property
    def bytes(self) -> int:
        """Bytes held."""
        held = (*self._open, *(x for x in (self._line, self._groups, *self._frames) if x is not None))
        return sum(x.bytes for x in held)

    @property
    def _times(self) -> Int64s:
        """Times of the bins no row will go into any more."""
        line = self._line if self._groups is None else self._groups
        assert line is not None
        return line.times

    def held(self) -> pl.DataFrame:
        """Groups and times of bins, those that are complete first."""
        complete = self._times
        slots = np.zeros(complete.size, np.int64) if self._groups is None else self._groups.held()[0]
        parts = [(slots, complete), *((p.slots, p.ts) for p in self._open)]
        slots, times = (np.concatenate(column) for column in zip(*parts, strict=True))
        return pl.DataFrame({SLOT: slots, BIN: times})

    def head(self, most: int) -> pl.DataFrame:
        """The oldest bins: at which time, of which group."""
        return self.held().head(most).select(BIN, SLOT)

    def check(self) -> None:
        """Raise AssertionError unless bins are sorted and each is there once."""
        if self._groups is not None:
            self._groups.check()
        for part in self._open:
            order = np.lexsort((part.ts, part.slots))
            assert np.array_equal(order, np.arange(order.size))
            assert not ((np.diff(part.ts) == 0) & (np.diff(part.slots) == 0)).any()


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
    return list(halves(values)) if _is_exact_sum(partial) else [values]
