"""The running fold of a sliding window over its panes: two stacks (Tangwongsan et al., "General incremental sliding-window
aggregation", PVLDB 2015), with the front stack's suffix folds kept in the panes' own rows.

Each pane is folded about three times whatever range / slide is. It needs no subtraction, so it serves every aggregate and
loses nothing on floats.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from jupyter_stream.aggregates.protocol import Array
from jupyter_stream.core.messages import Int64s
from jupyter_stream.state.panes import Panes


class SlidingFold:
    """The panes of a window that slides forward, folded.

    The panes at or before `front` hold suffix folds: the row of pane p folds panes p..front. Later ones up to `back` are
    folded in `_back` and hold their own rows still. Panes beyond `back` are not in the window yet.
    """

    def __init__(self, panes: Panes) -> None:
        self._panes = panes
        self._back = [
            np.full(panes.slots, p.identity, a.dtype) for p, a in zip(panes.partials, panes.arrays, strict=True)
        ]
        self.front: int | None = None
        self.back: int | None = None

    @property
    def bytes(self) -> int:
        """Bytes held beside the panes."""
        return sum(self._back[i].nbytes for i in self._panes.active())

    def fit(self) -> None:
        """Follow the panes' number of slots."""
        slots = self._panes.slots
        for i in self._panes.active():
            array = self._back[i]
            if array.size != slots:
                resized = np.full(slots, self._panes.partials[i].identity, array.dtype)
                resized[: min(slots, array.size)] = array[:slots]
                self._back[i] = resized

    def unshare(self, index: int) -> None:
        """The panes have unshared a count."""
        self._back[index] = self._back[0].copy()

    def widen(self, index: int) -> None:
        """The panes have widened a sum."""
        array = self._back[index]
        self._back.append(array & 0xFFFFFFFF)
        self._back[index] = array >> 32

    def take(self, slots: Int64s) -> None:
        """The panes have renumbered slots."""
        for i in self._panes.active():
            taken = np.full(self._panes.slots, self._panes.partials[i].identity, self._back[i].dtype)
            taken[: slots.size] = self._back[i][slots]
            self._back[i] = taken

    def occupied(self) -> NDArray[np.bool_]:
        """Slots with rows in the back."""
        return np.asarray(self._back[0] != 0)

    def count(self) -> int:
        """Rows in the back."""
        return int(self._back[0].sum())

    def volume(self, first: int | None) -> Int64s:
        """Rows in the window at its present place, whose first pane is `first`, and in all panes after it, by slot."""
        panes = self._panes
        counts: Int64s = self._back[0].copy()
        if (row := self._front_row(first)) is not None:
            counts += panes.row(0, row)
        for pane in panes.rows.irange(None if self.back is None else self.back + 1):
            counts += panes.row(0, panes.rows[pane])
        return counts

    def advance(self, first: int | None, end: int) -> None:
        """Move the window to panes `first <= pane < end`; `first` None keeps all (a landmark)."""
        panes = self._panes
        low = None if self.back is None else self.back + 1
        arriving = list(panes.rows.irange(low, end, inclusive=(True, False)))
        if first is None:
            self._absorb(arriving)
            panes.free(list(panes.rows.irange(None, end, inclusive=(True, False))))
            self.back = end - 1
            return
        expired = list(panes.rows.irange(None, first, inclusive=(True, False)))
        if self.front is not None and first > self.front:
            # the front is used up: the panes of the back become the front, as suffix folds
            panes.free(expired)
            self._absorb_into_front(first, end)
            return
        panes.free(expired)
        self._absorb([p for p in arriving if p >= first])
        self.back = end - 1
        if self.front is None:
            self._absorb_into_front(first, end)

    def _absorb(self, arriving: list[int]) -> None:
        for pane in arriving:
            row = self._panes.rows[pane]
            for i in self._panes.active():
                self._panes.partials[i].fold(self._back[i], self._panes.row(i, row), out=self._back[i])

    def _absorb_into_front(self, first: int, end: int) -> None:
        newer: int | None = None
        for pane in reversed(list(self._panes.rows.irange(first, end, inclusive=(True, False)))):
            row = self._panes.rows[pane]
            if newer is not None:
                for i in self._panes.active():
                    mine = self._panes.row(i, row)
                    self._panes.partials[i].fold(mine, self._panes.row(i, newer), out=mine)
            newer = row
        for i in self._panes.active():
            self._back[i][:] = self._panes.partials[i].identity
        self.front = self.back = end - 1

    def current(self, first: int | None) -> list[Array]:
        """The fold over the window, for each partial (shared ones: the row count); `first` is its first pane."""
        row = self._front_row(first)
        result = list(self._back)
        if row is not None:
            for i in self._panes.active():
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

        Costs a fold per pane not yet in the window.
        """
        panes = self._panes
        low = first if first is not None else None
        if self.back is not None and (low is None or low <= self.back):
            reach_back = first is None or self.front is None or first <= self.front
            if reach_back:
                result = [a.copy() for a in self.current(first)]
            else:
                result = self._identities()
                self._fold_rows(result, panes.rows.irange(first, self.back))
            low = self.back + 1
        else:
            result = self._identities()
        self._fold_rows(result, panes.rows.irange(low, end, inclusive=(True, False)))
        return result

    def _identities(self) -> list[Array]:
        panes = self._panes
        return [np.full(panes.slots, p.identity, a.dtype) for p, a in zip(panes.partials, panes.arrays, strict=True)]

    def _fold_rows(self, into: list[Array], panes: Iterable[int]) -> None:
        for pane in panes:
            row = self._panes.rows[pane]
            for i in self._panes.active():
                self._panes.partials[i].fold(into[i], self._panes.row(i, row), out=into[i])

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
                panes.row(i, row)[:] = panes.row(i, panes.rows[newer])
            return

    def patch(self, index: int, pane: int, slots: Int64s, values: Array | None) -> None:
        """Fold late rows of one pane, already within the window, into everything that holds it.

        The pane's own row has been updated by the caller where it is in the back; front rows hold suffixes.
        """
        low = self._panes.low_limb(index) if self._panes.is_wide(index) else None
        if low is not None and values is not None:
            self.patch(low, pane, slots, values & 0xFFFFFFFF)
            values = values >> 32
        partial = self._panes.partials[index]
        what = 1 if values is None else values
        with np.errstate(invalid="ignore"):  # a late NaN is meant to be found again
            if self.front is not None and pane <= self.front:
                for older in self._panes.rows.irange(None, pane, inclusive=(True, False)):
                    partial.fold.at(self._panes.row(index, self._panes.rows[older]), slots, what)
            else:
                partial.fold.at(self._back[index], slots, what)
