"""The running fold of a window over its panes, as `plan.folds` says for each partial: what can be taken back is subtracted,
the rest is kept in two stacks (Tangwongsan et al., "General incremental sliding-window aggregation", PVLDB 2015).

Cost per pane is the same whatever range / slide is. The extents of a `Move` are folded together, and some groups at a time,
so that neither many small extents nor one huge one is slow to answer.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from jupyter_stream.arrays.exact import halves
from jupyter_stream.core.messages import Array, Int64s
from jupyter_stream.partials.move import Move, Stretch
from jupyter_stream.partials.panes import Panes
from jupyter_stream.plan.folds import Fold, fold_of

_WIDE = 32
"""Groups from which on folding row by row is faster than one accumulation over all rows (measured)."""


class SlidingFold:
    """The panes of a window that slides forward, folded.

    `_back` of a partial that is subtracted is the fold of all panes up to `back` that are not freed. With two stacks, the
    panes at or before `front` hold suffix folds: the row of pane p folds panes p..front; later ones up to `back` are folded
    in `_back` and hold their own rows still. Panes beyond `back` are not in the window yet.

    Args:
        panes: whose rows are folded.
        one_pane: whether every extent is a single pane, so that there is nothing to fold.
        landmark: whether the window keeps everything.
    """

    def __init__(self, panes: Panes, one_pane: bool = False, landmark: bool = False) -> None:
        self._panes = panes
        self._one_pane, self._landmark = one_pane, landmark
        self._back = [
            np.full(0 if one_pane else panes.slots, p.identity, a.dtype)
            for p, a in zip(panes.partials, panes.arrays, strict=True)
        ]
        self.front: int | None = None
        self.back: int | None = None

    def _way(self, index: int) -> Fold:
        return fold_of(self._panes.partials[index], self._one_pane, self._landmark)

    @property
    def bytes(self) -> int:
        """Bytes held beside the panes."""
        return sum(self._back[i].nbytes for i in self._panes.active())

    # -- the panes change --------------------------------------------------------------------------------------------

    def fit(self) -> None:
        """Follow the panes' number of slots."""
        slots = self._panes.slots
        if self._one_pane:
            return
        for i in self._panes.active():
            array = self._back[i]
            if array.size < slots:
                whole = array.base  # of which it is the beginning, reserved ahead as that of the panes is
                if whole is None or whole.size < slots:
                    whole = np.empty(self._panes.width, array.dtype)
                    whole[: array.size] = array
                whole[array.size : slots] = self._panes.partials[i].identity
                self._back[i] = whole[:slots]

    def unshare(self, index: int) -> None:
        """The panes have unshared a count."""
        self._back[index] = self._back[0].copy()

    def widen(self, index: int) -> None:
        """The panes have widened a sum."""
        self._back[index], low = halves(self._back[index])
        self._back.append(low)

    def take(self, slots: Int64s) -> None:
        """The panes have renumbered slots."""
        if self._one_pane:
            return
        for i in self._panes.active():
            taken = np.full(self._panes.slots, self._panes.partials[i].identity, self._back[i].dtype)
            taken[: slots.size] = self._back[i][slots]
            self._back[i] = taken

    def occupied(self, slots: slice) -> NDArray[np.bool_]:
        """Which of some slots have rows in the running fold."""
        if self._one_pane:
            return np.zeros(len(range(self._panes.slots)[slots]), np.bool_)
        return np.asarray(self._back[0][slots] != 0)

    def count(self) -> int:
        """Rows in the running fold."""
        return int(self._back[0].sum())

    def volume(self, first: int | None) -> Int64s:
        """Rows in the window at its present place, whose first pane is `first`, and in all panes after it, by slot."""
        return self.provisional(first, np.iinfo(np.int64).max)[0]

    # -- the window moves, one extent at a time ----------------------------------------------------------------------

    def advance(self, first: int | None, end: int) -> None:
        """Move the window to panes `first <= pane < end`; `first` None keeps all (a landmark)."""
        move = self.move(None if first is None else np.array([first]), np.array([end]))
        everything = slice(0, self._panes.slots)
        for i in self._panes.active():
            self._read(i, move, everything)
        self.commit(move)

    def current(self, first: int | None) -> list[Array]:
        """The fold over the window, for each partial (shared ones: the row count); `first` is its first pane."""
        row = self._front_row(first)
        result = list(self._back)
        for i in self._panes.active():
            way = self._way(i)
            if way == "single pane":
                assert first is not None
                result[i] = self._of_rows(i, self._panes.rows.irange(first, first))
            elif way == "two stacks" and row is not None:
                result[i] = self._panes.partials[i].fold(self._panes.row(i, row), self._back[i])
        return result

    def _front_row(self, first: int | None) -> int | None:
        if first is None or self.front is None:
            return None
        for pane in self._panes.rows.irange(first, self.front):
            return int(self._panes.rows[pane])
        return None

    def provisional(self, first: int | None, end: int) -> list[Array]:
        """The fold over any panes `first <= pane < end` with end beyond the window's; the window is not moved.

        Costs a fold per pane not yet in the window, and per pane that has left it.
        """
        rows, back = self._panes.rows, self.back
        within = back is not None and (first is None or first <= back)
        ahead = list(rows.irange(back + 1 if within and back is not None else first, end, inclusive=(True, False)))
        result = list(self._back)
        for i in self._panes.active():
            partial, way = self._panes.partials[i], self._way(i)
            if not within or way == "single pane":
                result[i] = self._of_rows(i, ahead)
                continue
            if way == "two stacks":
                row = self._front_row(first)
                if row is not None:
                    start = partial.fold(self._panes.row(i, row), self._back[i])
                elif first is not None and self.front is not None and first > self.front:
                    start = self._of_rows(i, rows.irange(first, back))
                else:
                    start = self._back[i].copy()
            else:
                start = self._back[i].copy()
                if first is not None:
                    for pane in rows.irange(None, first, inclusive=(True, False)):
                        start -= self._panes.row(i, rows[pane])
            self._fold_rows(i, start, ahead)
            result[i] = start
        return result

    def _of_rows(self, index: int, panes: Iterable[int]) -> Array:
        own = self._panes.arrays[index]
        into = np.full(self._panes.slots, self._panes.partials[index].identity, own.dtype)
        self._fold_rows(index, into, panes)
        return into

    def _fold_rows(self, index: int, into: Array, panes: Iterable[int]) -> None:
        for pane in panes:
            self._panes.partials[index].fold(into, self._panes.row(index, self._panes.rows[pane]), out=into)

    # -- many extents at once, some groups at a time -----------------------------------------------------------------

    def move(self, firsts: Int64s | None, ends: Int64s) -> Move:
        """How the window gets to the extents of panes `first <= pane < end`, in order; `firsts` None for a landmark."""
        ways = {self._way(i) for i in self._panes.active()}
        return Move.through(self._panes.rows, firsts, ends, self.front, self.back, ways)

    def read(self, move: Move, slots: slice) -> list[Array]:
        """The folds of the extents of a move, for each partial an array [extent, slot] (shared ones: that of the row count).

        Every slot is to be read once, then the move is committed. Until then the panes up to the last extent must not change.
        """
        result: list[Array] = []
        for i in range(len(self._panes.partials)):
            result.append(result[0] if self._panes.shared(i) else self._read(i, move, slots))
        return result

    def commit(self, move: Move) -> None:
        """All slots have been read: the window is at the last extent of the move, and what left it is forgotten."""
        if not self._one_pane:
            self.back, self.front = move.back, move.front
        rows = self._panes.rows
        # of a landmark nothing is looked at apart again, nor what late rows have opened
        self._panes.free(list(rows.irange(None, move.back)) if self._landmark else move.leaving)

    def _read(self, index: int, move: Move, slots: slice) -> Array:
        array, partial = self._panes.arrays[index], self._panes.partials[index]
        way = self._way(index)
        if way == "single pane":
            single = array[move.last_rows, slots]
            single[move.last_rows < 0] = partial.identity
            return single
        back = self._back[index][slots]
        if way == "two stacks":
            out = np.empty((len(move.ends), back.size), array.dtype)
            for stretch in move.stretches:
                self._read_stacks(index, stretch, slots, back, out)
            return out
        came = _prefixes(back, array, move.entering_rows, slots, partial.fold)
        read: Array = came[move.entered]
        total = came[-1]
        if move.leaving:
            went = _prefixes(np.zeros_like(back), array, move.leaving_rows, slots, partial.fold)
            read -= went[move.left]
            total = total - went[-1]
        back[:] = total
        return read

    def _read_stacks(self, index: int, stretch: Stretch, slots: slice, back: Array, out: Array) -> None:
        array, partial = self._panes.arrays[index], self._panes.partials[index]
        if stretch.flipped is not None:
            # the front is used up: the panes in the window become the front, as suffix folds
            newer: Array | None = None
            for row in stretch.flipped:
                mine = array[row, slots]
                if newer is not None:
                    partial.fold(mine, newer, out=mine)
                newer = mine
            back[:] = partial.identity
        came = _prefixes(back, array, stretch.entering_rows, slots, partial.fold)
        found = came[stretch.entered]
        whole = stretch.front_rows >= 0
        if whole.all():
            partial.fold(found, array[stretch.front_rows, slots], out=found)
        elif whole.any():
            found[whole] = partial.fold(found[whole], array[stretch.front_rows[whole], slots])
        out[stretch.start : stretch.stop] = found
        back[:] = came[-1]

    def evict(self, first: int) -> None:
        """Forget panes before `first`: no extent to come holds them."""
        panes = self._panes
        gone = list(panes.rows.irange(None, first, inclusive=(True, False)))
        if self.back is not None and not self._landmark:
            within = [p for p in gone if p <= self.back]
            empty = within and next(panes.rows.irange(first, self.back), None) is None
            for i in panes.active():
                if self._way(i) == "subtract-on-evict":
                    if empty:
                        self._back[i][:] = 0
                        continue
                    for pane in within:
                        self._back[i] -= panes.row(i, panes.rows[pane])
        panes.free(gone)

    # -- late rows ---------------------------------------------------------------------------------------------------

    def reopen(self, pane: int) -> None:
        """Open a pane late rows are about to be folded into; in the front it starts with the fold of those after it."""
        panes = self._panes
        if pane in panes.rows:
            return
        row = panes.open(pane)
        if self.front is None or pane > self.front:
            return
        for newer in panes.rows.irange(pane, self.front, inclusive=(False, True)):
            for i in panes.active():
                if self._way(i) == "two stacks":
                    panes.row(i, row)[:] = panes.row(i, panes.rows[newer])
            return

    def patch(self, index: int, pane: int, slots: Int64s, values: Array | None) -> None:
        """Fold late rows of one pane, already within the window, into everything that holds it.

        The pane's own row has been updated by the caller.
        """
        low = self._panes.low_limb(index) if self._panes.is_wide(index) else None
        if low is not None and values is not None:
            values, lower = halves(values)
            self.patch(low, pane, slots, lower)
        partial, way = self._panes.partials[index], self._way(index)
        what = 1 if values is None else values
        with np.errstate(invalid="ignore"):  # a late NaN is meant to be found again
            if way == "two stacks" and self.front is not None and pane <= self.front:
                rows = self._panes.rows
                older = [rows[p] for p in rows.irange(None, pane, inclusive=(True, False))]
                if older:
                    at = (np.array(older)[:, np.newaxis], slots[np.newaxis, :])
                    partial.fold.at(self._panes.arrays[index], at, what)
            elif way != "single pane":
                partial.fold.at(self._back[index], slots, what)


def _prefixes(start: Array, array: Array, rows: Int64s, slots: slice, fold: np.ufunc) -> Array:
    """`start`, and it folded with the first row, the first two, and so on: an array [1 + rows, slots]."""
    out = np.empty((rows.size + 1, start.size), array.dtype)
    out[0] = start
    if start.size < _WIDE:
        out[1:] = array[rows, slots]
        fold.accumulate(out, axis=0, out=out)
    else:
        for i, row in enumerate(rows.tolist()):
            fold(out[i], array[row, slots], out=out[i + 1])
    return out
