"""Dense partials of open panes: one array [panes, slots] per partial, updated a batch at a time.

A pane is a row of these arrays; rows are given out as panes open and taken back as they expire, so memory follows what is
open. Not for windows: which panes make an extent, and when, is `SlidingFold`'s and the operator's business.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sortedcontainers import SortedDict

from jupyter_stream.aggregates.protocol import Partial
from jupyter_stream.arrays.exact import halves
from jupyter_stream.core.messages import Array, Int64s

_SOME = 1024
_SPAN = 4096
"""Panes a batch may span before its panes are found by sorting rather than by look-up."""


_STEP = 65_536
"""Slots made room for at a time, at most."""
_MET = 1 << 18
"""Slots whose memory is had from the system at once: 2 MB, where it gives large pages."""
_RESERVED = 1 << 28
"""Bytes of an array that are reserved ahead, at most: what is never written to takes no memory."""
_AHEAD = 32
"""Times the slots in use that are reserved."""

_FEW = 1024
"""Rows that are folded in at once, however many panes and groups they may need."""
_FEW_PANES = 16
"""Panes that a batch may need, however many groups there are: cutting it would gain nothing."""
_SPARSE = 16
"""Partials are sparse if not one in so many holds something."""


class PaneMap(Protocol):
    """What is asked of a window: which pane a time is in."""

    def pane(self, ts: Int64s) -> Int64s:
        """Numbers of the panes."""

    def pane_of(self, ts: int) -> int:
        """Number of the pane of one time."""

    def pane_start(self, pane: int) -> int:
        """The first microsecond of a pane."""


@dataclass(frozen=True, slots=True)
class FlatCells:
    """Where rows belong: `at` within the part of the flat arrays that starts at `base` and is `span` long."""

    at: Int64s
    base: int
    span: int

    def where(self, mask: NDArray[np.bool_]) -> FlatCells:
        """Those of some rows."""
        return FlatCells(self.at[mask], self.base, self.span)


@dataclass(frozen=True, slots=True)
class Halves:
    """Where rows of one group in one pane or two belong.

    Attributes:
        size: how many rows.
        low: the row of the arrays of the earlier pane.
        high: the row of the later one.
        later: which rows are in the later one; None for none of them.
    """

    size: int
    low: int
    high: int
    later: NDArray[np.bool_] | None = None

    def where(self, mask: NDArray[np.bool_]) -> Halves:
        """Those of some rows."""
        later = None if self.later is None else self.later[mask]
        return Halves(int(np.count_nonzero(mask)), self.low, self.high, later)


class Panes:
    """Partials by pane and slot. Partial 0 is always the row count.

    Args:
        partials: what is kept.
        room: panes to make room for at first.
    """

    def __init__(self, partials: Sequence[Partial], room: int = 2) -> None:
        self.partials = tuple(partials)
        self.rows: SortedDict = SortedDict()  # pane -> row of the arrays
        self._shared: set[int] = set()
        self._low: dict[int, int] = {}
        self._free = list(range(room - 1, -1, -1))
        self._spare: int | None = None  # the row opened next, which is filled ahead of time
        self._filled: dict[int, int] = {}  # its slots that are, for each partial
        self._touched_to = 0  # slots up to which memory has been met ahead in open panes' rows
        self._to_touch: list[tuple[int, int]] = []  # partials and rows in which that is still to be done
        self._touched = 0  # rows from here on have never been opened: their memory is the system's still
        self._cells = np.empty(0, np.int64)
        self.slots = 1
        # a row is filled when it is opened, so that neither growth nor letting go costs more than the rows in use
        self.arrays: list[Array] = [np.empty((room, 1), _dtype(p)) for p in self.partials]

    @property
    def width(self) -> int:
        """Slots there is room for. Those beyond `slots` have never been written to."""
        return int(self.arrays[0].shape[1])

    def without_room(self) -> tuple[dict[str, object], list[tuple[Array, Array]]]:
        """What a checkpoint keeps: the slots in use."""
        arrays = [(a, a[:, : self.slots]) for a in (self.arrays[i] for i in self.active())]
        return {"_touched_to": self.slots, "_to_touch": []}, arrays

    @property
    def bytes(self) -> int:
        """Bytes held."""
        return sum(self.arrays[i].itemsize for i in self.active()) * self.slots * self._touched

    def active(self) -> list[int]:
        """Partials that have an array of their own."""
        return [i for i in range(len(self.partials)) if i not in self._shared]

    def shared(self, index: int) -> bool:
        """Whether the partial is the row count so far."""
        return index in self._shared

    def share(self, index: int) -> None:
        """Keep a count of non-NULL arguments as the row count, until `unshare`. Only before there are rows."""
        self._shared.add(index)
        self.arrays[index] = self.arrays[0]

    def unshare(self, index: int) -> None:
        """The first NULL has come: from here the count is its own."""
        self._shared.discard(index)
        self.arrays[index] = self._mapped(self.arrays[0], lambda counts: counts)

    def is_wide(self, index: int) -> bool:
        """Whether an integer sum is kept in two limbs."""
        return index in self._low

    def low_limb(self, index: int) -> int:
        """The partial that holds the lower 32 bits of a wide sum."""
        return self._low[index]

    def widen(self, index: int) -> None:
        """From here a sum is `high * 2^32 + low`, each limb a sum of its own: 95 bits."""
        array = self.arrays[index]
        self._low[index] = len(self.partials)
        self.partials = (*self.partials, Partial("sum"))
        self.arrays.append(self._mapped(array, lambda sums: halves(sums)[1]))
        self.arrays[index] = self._mapped(array, lambda sums: halves(sums)[0])

    def _mapped(self, array: Array, change: Callable[[Array], Array]) -> Array:
        made = np.empty(array.shape, array.dtype)
        for row in self.rows.values():
            made[row, : self.slots] = change(array[row, : self.slots])
        self._filled = {}
        return made

    def count(self) -> int:
        """Rows in all open panes."""
        return sum(int(self.row(0, row).sum()) for row in self.rows.values())

    def occupied(self, slots: slice) -> NDArray[np.bool_]:
        """Which of some slots have rows in any open pane."""
        found = np.zeros(len(range(self.slots)[slots]), np.bool_)
        for row in self.rows.values():
            found |= self.arrays[0][row, slots] != 0
        return found

    @property
    def sparse(self) -> bool:
        """Whether hardly any of the partials hold something."""
        counts, rows = self.arrays[0], np.fromiter(self.rows.values(), np.int64, len(self.rows))
        used = sum(int(np.count_nonzero(counts[rows[i : i + _SPAN], : self.slots])) for i in range(0, rows.size, _SPAN))
        return _SPARSE * used < rows.size * self.slots

    def affordable(self, size: int, span: int, groups: int, spared: int) -> int:
        """How many of some rows can be folded in without partials growing beyond measure, if no group of theirs is known yet.

        Args:
            size: how many they are.
            span: how many panes they are in at most.
            groups: how many groups they have at most.
            spared: bytes that partials may take at any rate; twice what they take now, they always may.
        """
        if span <= _FEW_PANES:
            return size
        each, measure = 8 * len(self.active()), max(spared, 2 * self.bytes)
        while (
            size > _FEW and (len(self.rows) + min(size, span)) * (self.slots + min(size, groups)) * 2 * each > measure
        ):
            size //= 2
        return size

    def take(self, slots: Int64s) -> None:
        """Renumber: new slot i is what was `slots[i]`; the others hold nothing and are given up."""
        size = max(1, slots.size)
        for i in self.active():
            taken = np.empty((self.arrays[i].shape[0], size), self.arrays[i].dtype)
            for row in self.rows.values():
                taken[row, : slots.size] = self.arrays[i][row, slots]
                taken[row, slots.size :] = self.partials[i].identity
            self.arrays[i] = taken
        self._follow()
        self._filled = {}
        self.slots = size

    def _follow(self) -> None:
        for i in self._shared:
            self.arrays[i] = self.arrays[0]

    def fit(self, slots: int) -> None:
        """Make room for at least that many slots."""
        if slots <= self.slots:
            return
        grown = max(slots, min(2 * self.slots, self.slots + _STEP))
        height = self.arrays[0].shape[0]
        if grown > self.width:
            # copying a million groups takes longer than the step between two batches may
            ahead = min(_AHEAD * grown, _RESERVED // (8 * height)) if grown > _STEP else 0
            self._resize((height, max(grown if grown <= _STEP else 2 * grown, ahead)))
        for i in self.active():
            for row in self.rows.values():
                self.arrays[i][row, self.slots : grown] = self.partials[i].identity
        self.slots = grown

    def _resize(self, shape: tuple[int, int]) -> None:
        for i in self.active():
            old = self.arrays[i]
            self.arrays[i] = np.empty(shape, old.dtype)
            for row in self.rows.values():
                self.arrays[i][row, : self.slots] = old[row, : self.slots]
        self._touched, self._filled = max(self.rows.values(), default=-1) + 1, {}
        self._touched_to, self._to_touch = self.slots, []
        self._follow()

    def open(self, pane: int) -> int:
        """The row of a pane, which is opened if it isn't."""
        row = self.rows.get(pane)
        if row is None:
            if self._spare is None:
                self._spare, self._filled = self._take_row(), {}
            row = self._spare
            self._fill(self.slots)
            self._spare = None
            self.rows[pane] = row
        return int(row)

    def _take_row(self) -> int:
        if not self._free:
            have = self.arrays[0].shape[0]
            self._resize((2 * have, self.width))
            self._free.extend(range(2 * have - 1, have - 1, -1))
        return self._free.pop()

    def _fill(self, slots: int) -> None:
        """Fill the spare row up to that slot."""
        for i in self.active():
            self._fill_one(i, slots)

    def _fill_one(self, index: int, slots: int) -> None:
        assert self._spare is not None
        self.arrays[index][self._spare, self._filled.get(index, 0) : slots] = self.partials[index].identity
        self._filled[index] = slots
        self._touched = max(self._touched, self._spare + 1)

    def work_ahead(self) -> None:
        """Fill some of the row that will be opened next, and meet some of the memory that slots to come will need.

        To be called once a batch. A million slots at once take longer than a batch may; and memory is had from the system some
        MB at a time, each of which takes 2 ms (measured), for all partials and panes at once if nothing is done.
        """
        if self.slots <= _STEP:
            return
        if not self._to_touch and self._touched_to < min(self.width, self.slots + 2 * _MET):
            self._touched_to = min(self.width, max(self.slots, self._touched_to) + _MET)
            self._to_touch = [(i, row) for i in self.active() for row in self.rows.values()]
        if self._to_touch:
            index, row = self._to_touch.pop()
            self.arrays[index][row, self._touched_to - 1] = self.partials[index].identity
            return
        if self._spare is None and self._free:
            self._spare, self._filled = self._free.pop(), {}
        if self._spare is not None:
            index = min(self.active(), key=lambda i: self._filled.get(i, 0))
            if (filled := self._filled.get(index, 0)) < self.slots:
                self._fill_one(index, min(self.slots, filled + 2 * _STEP))

    def free(self, panes: Sequence[int]) -> None:
        """Forget panes."""
        self._free.extend(self.rows.pop(p) for p in panes)

    def cells(
        self, ts: Int64s, slots: Int64s | None, window: PaneMap, bounds: tuple[int, int] | None = None
    ) -> FlatCells | Halves:
        """Where each row belongs in the arrays; opens the panes seen. `slots` None: all rows are one group.

        The result is good until the next call. `bounds`: the least and the greatest of `ts`, where they are known.

        A batch in arrival order mostly meets one or two panes, for which no division is needed.
        """
        earliest, latest = bounds or (int(ts.min()), int(ts.max()))
        low, high = window.pane_of(earliest), window.pane_of(latest)
        if low == high:
            row = self.open(low)
            return Halves(ts.size, row, row) if slots is None else FlatCells(slots, row * self.width, self.slots)
        if high == low + 1:
            first, second = self.open(low), self.open(high)
            if slots is None:
                return Halves(ts.size, first, second, ts >= window.pane_start(high))
            at = np.multiply(ts >= window.pane_start(high), (second - first) * self.width, out=self._room(ts.size))
            base = min(first, second)
            if second < first:
                at += (first - second) * self.width
            at += slots
            return FlatCells(at, base * self.width, abs(second - first) * self.width + self.slots)
        return self._many(window.pane(ts), low, high, slots)

    def cells_of(self, pane: int, slots: Int64s) -> FlatCells:
        """The same for rows of one pane."""
        return FlatCells(slots, self.open(pane) * self.width, self.slots)

    def _room(self, rows: int) -> Int64s:
        if self._cells.size < rows:
            self._cells = np.empty(rows, np.int64)
        return self._cells[:rows]

    def _many(self, panes: Int64s, low: int, high: int, slots: Int64s | None) -> FlatCells:
        near = high - low < _SPAN
        if near:
            which = panes - low
            between = range(low + 1, high)
            if len(between) <= _FEW_PANES and all(pane in self.rows for pane in between):
                met = np.arange(low, high + 1)  # as is mostly so, which spares counting them
            else:
                met = np.flatnonzero(np.bincount(which, minlength=high - low + 1)) + low
        else:
            met, which = np.unique(panes, return_inverse=True)
        rows = np.array([self.open(pane) for pane in met.tolist()], np.int64)
        base = int(rows.min())
        span = int(rows.max()) - base + 1
        starts = (rows - base) * self.width  # worked out by pane rather than by row
        if near:
            table = np.zeros(high - low + 1, np.int64)
            table[met - low] = starts
            starts = table
        at = starts[which]
        if slots is not None:
            at += slots
        return FlatCells(at, base * self.width, (span - 1) * self.width + self.slots)

    def update(self, index: int, cells: FlatCells | Halves, values: Array | None) -> None:
        """Fold values into partial `index`; without values, count. Duplicates among the cells are expected."""
        partial = self.partials[index]
        low = self._low.get(index)
        if low is not None and values is not None:
            values, lower = halves(values)
            self.update(low, cells, lower)
        if isinstance(cells, Halves):
            self._update_halves(index, cells, values)
            return
        flat = self.arrays[index].reshape(-1)[cells.base : cells.base + cells.span]
        if partial.op == "count":
            if cells.span <= cells.at.size:
                flat += np.bincount(cells.at, minlength=cells.span)
            else:
                np.add.at(flat, cells.at, 1)
        elif values is not None:
            # with an intp index and values of the array's own type these take 3 ns a row, with any other 30
            with np.errstate(invalid="ignore"):  # a NaN among the values is meant to be found again
                partial.fold.at(flat, cells.at, values)

    def _update_halves(self, index: int, halves: Halves, values: Array | None) -> None:
        """One group: reductions, 0.5 ns a row, in place of a scatter."""
        partial, array = self.partials[index], self.arrays[index]
        low, high, later = halves.low, halves.high, halves.later
        if partial.op == "count":
            after = 0 if later is None else int(np.count_nonzero(later))
            array[low, 0] += halves.size - after
            array[high, 0] += after
            return
        if values is None or not halves.size:
            return
        fold = partial.fold
        with np.errstate(invalid="ignore"):  # a NaN among the values is meant to be found again
            if later is None:
                array[low, 0] = fold(array[low, 0], fold.reduce(values))
                return
            nothing = values.dtype.type(partial.identity)

            def among(row: int, which: NDArray[np.bool_], values: Array) -> None:
                array[row, 0] = fold(array[row, 0], fold.reduce(np.where(which, values, nothing), initial=nothing))

            if partial.op == "sum":
                among(low, ~later, values)
                among(high, later, values)
                return
            some = slice(None, None, 1 + values.size // _SOME)
            for row in (low, high):
                # some rows say about how far it goes, few are beyond that; telling all rows apart takes 4 ns a row
                among(row, later[some] == (row == high), values[some])
                beyond = np.flatnonzero(_beyond(partial, values, array[row, 0]))
                among(row, later[beyond] == (row == high), values[beyond])

    def row(self, index: int, row: int) -> Array:
        """Partial `index` of the pane in `row`, by slot; a view."""
        view: Array = self.arrays[index][row, : self.slots]
        return view

    def check(self) -> None:
        """Raise AssertionError unless each row is free or given out, once."""
        used = [*self.rows.values(), *([] if self._spare is None else [self._spare])]
        assert len(set(used)) == len(used)
        assert not set(used) & set(self._free)
        assert len(used) + len(self._free) == self.arrays[0].shape[0]


def _beyond(partial: Partial, values: Array, met: Any) -> NDArray[np.bool_]:
    """Which values may change a minimum or maximum that has got so far."""
    if partial.kind == "float":  # a NaN is to be told of
        return np.asarray(~(values <= met if partial.op == "max" else values >= met))
    return np.asarray(values > met if partial.op == "max" else values < met)


def _dtype(partial: Partial) -> type[np.float64] | type[np.int64]:
    return np.float64 if partial.kind == "float" and partial.op != "count" else np.int64
