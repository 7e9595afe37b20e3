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

from jupyter_stream.aggregates.framed import Framed
from jupyter_stream.aggregates.protocol import SLOT, VALUE, Array, Dense, Partial
from jupyter_stream.core.control import ControlTable
from jupyter_stream.core.messages import TS, Int64s, ints
from jupyter_stream.core.order import order_of
from jupyter_stream.state.groups import GroupAggregate
from jupyter_stream.state.range_fold import lifted, sums
from jupyter_stream.state.slots import KeySlots
from jupyter_stream.state.timeline import Timeline

_PAIRS_AT_ONCE = 131_072
"""Answers made at a time, so that many groups in many extents need little memory."""
_PARTIALS_AT_ONCE = 1 << 20
"""Frame partials looked at together."""
_CHUNKS = 32
_BIN = "bin"
_PAIR = "pair"


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
        return _Rows(self.slots[kept], self.ts[kept], [c[kept] for c in self.columns])

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
        self._frames: list[_Frames | None] = []
        for aggregate in self._aggregates:
            self._dense.append(self._partials_of(aggregate) if isinstance(aggregate.form, Dense) else [])
            self._frames.append(None if isinstance(aggregate.form, Dense) else _Frames(aggregate))
        self._open: list[_Rows] = []
        self._done = self._none()  # of groups
        self._line: Timeline | None = None  # without groups
        if self._slots is None:
            summed = {c for c in range(len(self._folds)) if self._is_summed(c)}
            self._line = Timeline([None if c in summed else f for c, f in enumerate(self._folds)], self._dtypes())
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
            if self._line is not None:  # all of them are later than those before
                self._line.append(new.ts, new.columns)
            else:
                self._done = self._joined([self._done, new])
        for frames in self._frames:
            if frames is not None:
                frames.complete(until)

    def expire(self, until: int) -> None:
        """Free bins no extent from `until` on holds."""
        if self._line is not None:
            self._line.forget(until)
        else:
            self._done = self._done.only(self._done.ts > until)
        for frames in self._frames:
            if frames is not None:
                frames.expire(until)
        self._release()

    def _release(self) -> None:
        """Reuse slots of groups without bins. Looks only when they have doubled since it last looked: amortised."""
        if self._slots is None:
            return
        empty = not self._done.ts.size and not self._open
        if not empty and self._slots.live < 2 * self._checked + 1024:
            return
        live = np.zeros(self._slots.capacity, np.bool_)
        for part in (*self._open, self._done):
            live[part.slots] = True
        self._slots.release(live)
        self._checked = self._slots.live

    def snapshot(self) -> Bins:
        """The same bins with the open ones taken as complete, for provisional answers; the original is not touched."""
        copy = object.__new__(Bins)
        copy.__dict__.update(self.__dict__)
        copy._open = list(self._open)
        copy._line = None if self._line is None else self._line.copy()
        copy._frames = [None if f is None else f.snapshot() for f in self._frames]
        return copy

    # -- answers out -------------------------------------------------------------------------------------------------

    def batches(self, ends: Int64s) -> list[Int64s]:
        """Cuts extents into lots whose answers are made together: as many as the groups in them allow."""
        groups = 1 if self._slots is None else max(1, np.unique(self._done.slots).size)
        size = max(1, _PAIRS_AT_ONCE // groups)
        return [ends[i : i + size] for i in range(0, ends.size, size)]

    def read(self, ends: Int64s) -> Found:
        """Answers of the extents ending at the given rising times, each of which has a bin, extent by extent.

        Args:
            ends: microseconds; they do not go back from one call to the next.
        """
        extents, first, stop = self._ranges(ends)
        slots = np.zeros(ends.size, np.int64) if self._line is not None else self._done.slots[stop - 1]
        answers: list[pl.Series] = []
        beyond: pl.Series | None = None
        folded = [self._folded(i, first, stop) for i in range(len(self._partials))]
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

    def _ranges(self, ends: Int64s) -> tuple[Int64s, Int64s, Int64s]:
        """For each extent and group in it: the extent's index, and the group's bins in it."""
        if self._line is not None:
            return (np.arange(ends.size), *self._line.places(ends - self._span, ends))
        ts, slots = self._done.ts, self._done.slots
        # a bin is its group's last one in the extents from its own time until the group's next bin, or until it has left
        leaves = ts + self._span
        follows = slots[1:] == slots[:-1]
        leaves[:-1][follows] = np.minimum(leaves[:-1][follows], ts[1:][follows])
        begin = np.searchsorted(ends, ts, side="left")
        count = np.searchsorted(ends, leaves, side="left") - begin
        last = np.repeat(np.arange(ts.size), count)
        extents = _spread(begin, count)
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

    def _folded(self, index: int, first: Int64s, stop: Int64s) -> list[Array]:
        partial, column = self._partials[index], self._column[index]
        columns = range(column, column + (2 if _is_exact_sum(partial) else 1))
        if self._line is not None:
            return [self._line.read(c, first, stop) for c in columns]
        values = self._done.columns
        if self._is_summed(column):
            return [sums(values[c], first, stop) for c in columns]
        return [lifted(values[column], partial.fold, first, stop)]

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
        return self._done.ts if self._line is None else self._line.times

    @property
    def times(self) -> list[int]:
        """The times of the bins held, each once and in order."""
        return sorted({int(t) for ts in (self._complete, *(p.ts for p in self._open)) for t in ts})

    def report(self) -> int:
        """Bring the control tables up to date; returns the bytes held."""
        done = self._done.bytes if self._line is None else self._line.bytes
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
        for part in (*self._open, self._done):
            order = np.lexsort((part.ts, part.slots))
            assert np.array_equal(order, np.arange(order.size))
            assert not ((np.diff(part.ts) == 0) & (np.diff(part.slots) == 0)).any()
        if self._slots is not None:
            self._slots.check()


class _Frames:
    """Bins of an aggregate whose partials are no numbers: rows of (slot, bin, partial columns).

    The general way: each extent's partials are gathered and merged, so an answer costs what its extent holds.
    """

    def __init__(self, aggregate: GroupAggregate) -> None:
        self._aggregate = aggregate
        self._framed = Framed(aggregate.function, aggregate.form, aggregate.dtype)
        self._open: list[pl.DataFrame] = []
        self._done: pl.DataFrame | None = None
        self.name = aggregate.name

    def snapshot(self) -> _Frames:
        copy = object.__new__(_Frames)
        copy.__dict__.update(self.__dict__)
        copy._open = list(self._open)
        return copy

    def add(self, slots: Int64s, ts: Int64s, inputs: Sequence[pl.Series]) -> None:
        columns = [pl.Series(SLOT, slots), pl.Series(_BIN, ts)]
        columns += [inputs[i].alias(VALUE if n == 0 else f"{VALUE}{n}") for n, i in enumerate(self._aggregate.inputs)]
        if self._framed.needs_time:
            columns.append(pl.Series(TS, ts))
        rows = pl.DataFrame(columns)
        if self._aggregate.where is not None:
            rows = rows.filter(inputs[self._aggregate.where])
        self._open.append(self._framed.update(rows, [SLOT, _BIN]))
        if len(self._open) > _CHUNKS:
            self._open = [self._joined(self._open)]

    def _joined(self, parts: Sequence[pl.DataFrame]) -> pl.DataFrame:
        return parts[0] if len(parts) == 1 else self._framed.merge(pl.concat(parts), [SLOT, _BIN])

    def complete(self, until: int) -> None:
        if not self._open:
            return
        held = self._joined(self._open)
        rest = held.filter(pl.col(_BIN) >= until)
        self._open = [rest] if rest.height else []
        new = held.filter(pl.col(_BIN) < until)
        done = new if self._done is None else pl.concat([self._done, new])
        self._done = done.sort(SLOT, _BIN, maintain_order=True)

    def expire(self, until: int) -> None:
        if self._done is not None:
            self._done = self._done.filter(pl.col(_BIN) > until)

    def read(self, slots: Int64s, ends: Int64s, span: int) -> pl.Series:
        """Answers of groups in extents ending at `ends`."""
        found = [pl.DataFrame(schema={_PAIR: pl.Int64, VALUE: self._aggregate.dtype})]
        if self._done is not None and self._done.height:
            first, count = self._ranges(slots, ends, span)
            for start, stop in _cuts(count):
                rows = self._done[pl.Series(_spread(first[start:stop], count[start:stop]))]
                pairs = pl.Series(_PAIR, np.repeat(np.arange(start, stop), count[start:stop]))
                merged = self._framed.merge(rows.with_columns(pairs), [_PAIR])
                found.append(self._framed.finish(merged, [_PAIR]))
        every = pl.DataFrame({_PAIR: np.arange(slots.size)})
        answers = every.join(pl.concat(found), on=_PAIR, how="left", maintain_order="left").get_column(VALUE)
        if (nothing := self._framed.of_nothing()) is not None:
            answers = answers.fill_null(nothing)
        return answers.alias(self.name)

    def _ranges(self, slots: Int64s, ends: Int64s, span: int) -> tuple[Int64s, Int64s]:
        assert self._done is not None
        bins = ints(self._done.get_column(_BIN))
        times = np.unique(bins)
        places = times.size + 1
        at = ints(self._done.get_column(SLOT)) * places + np.searchsorted(times, bins)
        first = np.searchsorted(at, slots * places + np.searchsorted(times, ends - span, side="right"))
        stop = np.searchsorted(at, slots * places + np.searchsorted(times, ends, side="right"))
        return first, stop - first

    @property
    def bytes(self) -> int:
        held = [*self._open, *([] if self._done is None else [self._done])]
        return sum(int(f.estimated_size()) for f in held)


def _cuts(count: Int64s) -> list[tuple[int, int]]:
    """Runs of ranges that hold few enough rows together, or one range each."""
    total = np.concatenate([[0], np.cumsum(count)])
    cuts, start = [], 0
    while start < count.size:
        stop = int(np.searchsorted(total, total[start] + _PARTIALS_AT_ONCE, side="right")) - 1
        stop = min(count.size, max(stop, start + 1))
        cuts.append((start, stop))
        start = stop
    return cuts


def _spread(begin: Int64s, count: Int64s) -> Int64s:
    """begin, begin + 1, ... of each range, one range after the other."""
    stop = np.cumsum(count)
    return np.arange(int(stop[-1]) if stop.size else 0) + np.repeat(begin - stop + count, count)


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
