"""Partials of groups in order of time, appended at one end and forgotten at the other, and what all groups hold at rising times.

What is asked costs what has entered and left since, and the answers; not what is held. Whole numbers that are summed are added
as they enter and taken back as they leave. Other folds are two stacks for each group (Tangwongsan et al., "General incremental
sliding-window aggregation", PVLDB 2015), all groups turned over together.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence

import numpy as np
from numpy.typing import DTypeLike

from jupyter_stream.arrays.growing import extended
from jupyter_stream.arrays.order import order_of
from jupyter_stream.core.axis import plus
from jupyter_stream.core.messages import Array, Int64s
from jupyter_stream.partials.timeline import NumberColumn


class GroupLine:
    """Partials by time and slot, each pair once; folds over the RANGE before each of some rising times.

    A time's extent holds what is later than a RANGE before it, up to and with that time. Places are counted from the first
    partial ever appended. Those up to `_entered` and from `_left` on are in the sums; with two stacks, those before
    `_seam_place` are folded up to it (`_front`: of each slot what is left of them), those behind it from it on (`_back`).

    Args:
        span: RANGE.
        folds: how each column is folded; None for whole numbers that are summed.
        identities: of the folds.
        dtypes: of the columns.
    """

    def __init__(
        self,
        span: int,
        folds: Sequence[np.ufunc | None],
        identities: Sequence[float],
        dtypes: Sequence[DTypeLike],
    ) -> None:
        self._span = span
        self._folds, self._identities = tuple(folds), tuple(identities)
        self._ts, self._slots = NumberColumn(np.int64), NumberColumn(np.int64)
        self._values = [NumberColumn(t) for t in dtypes]
        self._entered = self._left = 0
        self._count = np.zeros(0, np.int64)  # of each slot: partials in the extent
        self._front: list[Array] = [np.empty(0, t) for t in dtypes]  # of columns that are summed: the sums
        self._back: list[Array] = [np.empty(0, t) for t in dtypes]
        self._seam: int | None = None  # a time; None before the first is needed
        self._seam_place = self._oldest = 0
        self._after: list[Array] = [np.empty(0, t) for t in dtypes]
        """Of each place from `_oldest` up to the seam: the fold of its slot's later ones before the seam."""

    @property
    def bytes(self) -> int:
        """Bytes held."""
        columns = (self._ts, self._slots, *self._values)
        arrays = (self._count, *self._front, *self._back, *self._after)
        return sum(c.bytes for c in columns) + sum(a.nbytes for a in arrays)

    @property
    def times(self) -> Int64s:
        """The time of each partial, rising."""
        held: Int64s = self._ts.held
        return held

    def held(self) -> tuple[Int64s, Int64s, list[Array]]:
        """Slots, times and columns of all partials, in order of time."""
        return self._slots.held, self._ts.held, [c.held for c in self._values]

    def append(self, slots: Int64s, ts: Int64s, columns: Sequence[Array]) -> None:
        """Put partials in order of time behind the last; all of them are later."""
        self._ts.append(ts)
        self._slots.append(slots)
        for column, values in zip(self._values, columns, strict=True):
            column.append(values)

    def fit(self, slots: int) -> None:
        """Make room for so many slots."""
        self._count = extended(self._count, slots)
        for arrays in (self._front, self._back):
            arrays[:] = [extended(a, slots, nothing) for a, nothing in zip(arrays, self._identities, strict=True)]

    def forget(self, until: int) -> None:
        """No extent to come holds what is at that time or before."""
        stop = self._place(until)
        slots = self._slots.view(self._left, max(self._left, min(stop, self._entered)))
        np.subtract.at(self._count, slots, np.ones(slots.size, np.int64))
        for front, fold, values in zip(self._front, self._folds, self._values, strict=True):
            if fold is None:
                np.subtract.at(front, slots, values.view(self._left, self._left + slots.size))
        if self._seam is not None and stop >= self._seam_place:
            self._seam = None
        first = max(self._left, self._oldest)
        if self._seam is not None and first < stop:
            for i, after in enumerate(self._after):
                if self._folds[i] is not None:
                    # of several places of a slot the last is written last, and stays
                    self._front[i][self._slots.view(first, stop)] = after[first - self._oldest : stop - self._oldest]
        self._left, self._entered = max(self._left, stop), max(self._entered, stop)
        for column in (self._ts, self._slots, *self._values):
            column.forget(stop)
        if not self._ts.held.size:
            self._seam, self._count = None, self._count[:0].copy()
            self._front, self._back, self._after = ([a[:0].copy() for a in self._front] for _ in range(3))

    def _place(self, time: int) -> int:
        """Behind all partials up to that time."""
        return self._ts.begin + int(np.searchsorted(self._ts.held, time, "right"))

    def read(self, ends: Int64s) -> tuple[Int64s, Int64s, list[Array]]:
        """What is in the extents of rising times, which do not go back from one call to the next.

        Returns:
            For each slot in each extent, extent by extent: the index of the extent, the slot, and the columns folded.
        """
        found: list[tuple[Int64s, Int64s, list[Array]]] = []
        at, stacked = 0, any(f is not None for f in self._folds)
        while at < ends.size:
            until = ends.size
            if stacked:
                if self._seam is None or plus(int(ends[at]), -self._span) >= self._seam:
                    self._turn(int(ends[at]))
                assert self._seam is not None
                until = int(np.searchsorted(ends, plus(self._seam, self._span)))
            extents, slots, columns = self._stretch(ends[at:until])
            found.append((extents + at, slots, columns))
            at = until
        if len(found) == 1:
            return found[0]
        if not found:
            return np.empty(0, np.int64), np.empty(0, np.int64), [c.held[:0] for c in self._values]
        folded = [np.concatenate(c) for c in zip(*(c for _, _, c in found), strict=True)]
        return np.concatenate([e for e, _, _ in found]), np.concatenate([s for _, s, _ in found]), folded

    def _turn(self, end: int) -> None:
        """The extent of that time becomes the front."""
        first, stop = self._place(plus(end, -self._span)), self._place(end)
        self._seam, self._seam_place, self._oldest = end, stop, first
        slots = self._slots.view(first, stop)
        order = order_of(slots)
        slots = slots[order]
        last = np.ones(slots.size, np.bool_)  # of its slot
        np.not_equal(slots[1:], slots[:-1], out=last[:-1])
        begins = np.flatnonzero(np.concatenate([[True], last[:-1]])) if slots.size else np.empty(0, np.int64)
        longest = int(np.diff(np.append(begins, slots.size)).max(initial=0))
        for i, fold in enumerate(self._folds):
            if fold is None:
                continue
            folded = self._values[i].view(first, stop)[order]
            step = 1
            while step < longest:  # over the next 1, 2, 4, ... of the slot
                same = np.flatnonzero(slots[step:] == slots[:-step])
                folded[same] = fold(folded[same], folded[same + step])
                step *= 2
            self._front[i][:] = self._back[i][:] = self._identities[i]
            self._front[i][slots[begins]] = folded[begins]
            after = np.full(slots.size, self._identities[i], folded.dtype)
            after[:-1][~last[:-1]] = folded[1:][~last[:-1]]
            self._after[i] = np.empty_like(after)
            self._after[i][order] = after

    def _stretch(self, ends: Int64s) -> tuple[Int64s, Int64s, list[Array]]:
        """The same where all extents begin before the seam."""
        groups, size = self._count.size, ends.size
        entered, left = self._place(int(ends[-1])), self._place(plus(int(ends[-1]), -self._span))
        coming, going = (self._entered, entered), (self._left, left)
        # cells [extent, slot] from which on a partial is in, and from which on it is not
        came = np.searchsorted(ends, self._ts.view(*coming)) * groups + self._slots.view(*coming)
        went = np.searchsorted(plus(ends, -self._span), self._ts.view(*going)) * groups + self._slots.view(*going)
        ones = np.ones(max(came.size, went.size), np.int64)
        count = _summed(self._count, size, came, ones[: came.size], went, ones[: went.size])
        cells = np.flatnonzero(count)
        extents, slots = np.divmod(cells, groups)
        self._count = count[-groups:].copy()
        behind = max(self._entered, self._seam_place) - self._entered
        before = max(self._left, self._oldest) - self._left
        latest: Int64s | None = None  # in each cell: which of those that have gone was its slot's last, counted from 1
        columns: list[Array] = []
        for i, fold in enumerate(self._folds):
            values = self._values[i]
            if fold is None:
                sums = _summed(self._front[i], size, came, values.view(*coming), went, values.view(*going))
                self._front[i] = sums[-groups:].copy()
                columns.append(sums[cells])
                continue
            if latest is None:
                latest = _latest(size, groups, went[before:])
            after = self._after[i][self._left + before - self._oldest : left - self._oldest]
            back = np.full(size * groups, self._identities[i], self._back[i].dtype)
            back[:groups] = self._back[i]
            with np.errstate(invalid="ignore"):  # a NaN among the values is meant to be found again
                fold.at(back, came[behind:], values.view(*coming)[behind:])
                fold.accumulate(back.reshape(size, groups), axis=0, out=back.reshape(size, groups))
                front = _later(self._front[i][slots], latest[cells], after)
                columns.append(fold(front, back[cells]))
            self._front[i] = _later(self._front[i], latest[-groups:], after)
            self._back[i] = back[-groups:].copy()
        self._entered, self._left = entered, left
        return extents, slots, columns

    def copy(self) -> GroupLine:
        """Another that goes on by itself; this one is not touched by it."""
        made = copy.copy(self)
        made._ts, made._slots = copy.copy(self._ts), copy.copy(self._slots)
        made._values = [copy.copy(c) for c in self._values]
        made._count = self._count.copy()
        made._front, made._back = [a.copy() for a in self._front], [a.copy() for a in self._back]
        made._after = list(self._after)
        return made

    def check(self) -> None:
        """Raise AssertionError unless partials are in order of time, each pair of slot and time once."""
        slots, ts, _ = self.held()
        assert not (np.diff(ts) < 0).any()
        assert len(set(zip(slots.tolist(), ts.tolist(), strict=True))) == ts.size


def _summed(start: Int64s, rows: int, came: Int64s, added: Array, went: Int64s, taken: Array) -> Int64s:
    """Sums in cells [row, slot], given what is added and taken back from some cells on; modulo 2**64."""
    cells = np.zeros(rows * start.size, np.int64)
    cells[: start.size] = start
    np.add.at(cells, came, added)
    np.subtract.at(cells, went, taken)
    table = cells.reshape(rows, start.size)
    np.add.accumulate(table, axis=0, out=table)
    return cells


def _latest(rows: int, groups: int, went: Int64s) -> Int64s:
    """In each cell [row, slot] the number of the last of some events, counted from 1, in it or a row before; 0 for none."""
    latest = np.zeros(rows * groups, np.int64)
    latest[went] = np.arange(1, went.size + 1)
    table = latest.reshape(rows, groups)
    np.maximum.accumulate(table, axis=0, out=table)
    return latest


def _later(values: Array, event: Int64s, after: Array) -> Array:
    """The values, replaced where there has been an event by what it left."""
    found = values.copy()
    some = np.flatnonzero(event)
    found[some] = after[event[some] - 1]
    return found


__all__ = ["GroupLine"]
