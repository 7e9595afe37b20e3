"""How a window gets from where it is through some extents: which panes come in, which go, when the two stacks flip.

Worked out once for all partials and groups; not for values, which `state.sliding` folds.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from sortedcontainers import SortedDict

from jupyter_stream.core.messages import Int64s
from jupyter_stream.plan.folds import Fold


@dataclass(frozen=True)
class Stretch:
    """Extents between two flips of the two stacks.

    Attributes:
        start: the first of them, counted within the move.
        stop: the first after them.
        flipped: rows of the panes that become the front before them, newest first; None without a flip.
        front_rows: for each extent the row of its oldest pane in the front, -1 where there is none.
        entering_rows: rows of the panes that come in behind the front.
        entered: for each extent how many of those have come in.
    """

    start: int
    stop: int
    flipped: list[int] | None
    front_rows: Int64s
    entering_rows: Int64s
    entered: Int64s


@dataclass(frozen=True)
class Move:
    """The extents a window goes through, in order.

    Attributes:
        ends: the first pane after each extent.
        entering: panes that come in.
        entering_rows: their rows.
        entered: for each extent how many of them have come in.
        leaving: panes that have gone when the last extent is reached.
        leaving_rows: their rows.
        left: for each extent how many of them have gone.
        last_rows: for single panes: for each extent the row of its last pane, -1 if that holds nothing.
        stretches: for two stacks: what lies between two flips.
        front: the last pane of the front, after the move.
        back: the last pane of the window, after the move.
    """

    ends: Int64s
    entering: list[int]
    entering_rows: Int64s
    entered: Int64s
    leaving: list[int]
    leaving_rows: Int64s
    left: Int64s
    last_rows: Int64s
    stretches: list[Stretch]
    front: int | None
    back: int

    @property
    def depth(self) -> int:
        """How many numbers a group's fold takes in memory, at most."""
        return 2 * (len(self.entering) + len(self.leaving) + len(self.ends)) + 2

    @classmethod
    def through(
        cls,
        rows: SortedDict,
        firsts: Int64s | None,
        ends: Int64s,
        front: int | None,
        back: int | None,
        ways: Collection[Fold],
    ) -> Move:
        """The move through extents of panes `first <= pane < end`.

        Args:
            rows: the row of each pane that holds any, by pane.
            firsts: the first pane of each extent, ascending; None for a landmark.
            ends: the first pane after each, ascending.
            front: the last pane of the front now.
            back: the last pane of the window now.
            ways: how panes are put together: what no way asks for isn't worked out.
        """
        low = None if back is None else back + 1
        entering = _Held.of(rows, low, int(ends[-1]))
        leaving = _Held.of(rows, None, None if firsts is None else int(firsts[-1]))
        stretches: list[Stretch] = []
        left = last_rows = np.zeros(ends.size, np.int64)
        if "single pane" in ways:
            last_rows = _Held.of(rows, int(ends[0]) - 1, int(ends[-1])).row_of(ends - 1)
        if firsts is not None:
            left = leaving.before(firsts)
        if firsts is not None and "two stacks" in ways:
            stretches, front = _stretches(rows, firsts, ends, front, low)
        return cls(
            ends,
            entering.panes.tolist(),
            entering.rows,
            entering.before(ends),
            leaving.panes.tolist(),
            leaving.rows,
            left,
            last_rows,
            stretches,
            front,
            int(ends[-1]) - 1,
        )


@dataclass(frozen=True, slots=True)
class _Held:
    """Panes that hold rows, ascending, and their rows."""

    panes: Int64s
    rows: Int64s

    @classmethod
    def of(cls, rows: SortedDict, low: int | None, end: int | None) -> _Held:
        """Those of `low <= pane < end`: from the first on where low is None, none where end is."""
        panes = [] if end is None else list(rows.irange(low, end, inclusive=(True, False)))
        return cls(np.array(panes, np.int64), np.array([rows[p] for p in panes], np.int64))

    def before(self, panes: Int64s) -> Int64s:
        """How many of them are before each of those."""
        return self.panes.searchsorted(panes)

    def row_of(self, panes: Int64s) -> Int64s:
        """The row of each of those, -1 where it holds nothing."""
        return self._rows_at(self.before(panes), panes)

    def next_row(self, panes: Int64s) -> Int64s:
        """The row of the first of them that isn't before each of those, -1 where there is none."""
        return self._rows_at(self.before(panes), None)

    def _rows_at(self, at: Int64s, panes: Int64s | None) -> Int64s:
        found = np.full(at.size, -1, np.int64)
        within = at < self.panes.size
        if panes is not None:
            within[within] = self.panes[at[within]] == panes[within]
        found[within] = self.rows[at[within]]
        return found


def _stretches(
    rows: SortedDict, firsts: Int64s, ends: Int64s, front: int | None, low: int | None
) -> tuple[list[Stretch], int | None]:
    found = []
    start = 0
    while start < ends.size:
        flipped = None
        if front is None or firsts[start] > front:
            flipped = _Held.of(rows, int(firsts[start]), int(ends[start])).rows[::-1].tolist()
            low = int(ends[start])
            front = low - 1
        stop = max(start + 1, int(np.searchsorted(firsts, front, side="right")))
        entering = _Held.of(rows, low, int(ends[stop - 1]))
        oldest = _Held.of(rows, int(firsts[start]), front + 1)
        here = slice(start, stop)
        found.append(
            Stretch(start, stop, flipped, oldest.next_row(firsts[here]), entering.rows, entering.before(ends[here]))
        )
        low = int(ends[stop - 1])
        start = stop
    return found, front


__all__ = ["Move", "Stretch"]
