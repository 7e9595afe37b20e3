"""How a window gets from where it is through some extents: which panes come in, which go, when the two stacks flip.

Worked out once for all partials and groups; not for values, which `state.sliding` folds.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sortedcontainers import SortedDict

from jupyter_stream.core.messages import Int64s


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
        last_rows: for each extent the row of its last pane, -1 if that holds nothing.
        stretches: the same for two stacks.
        front: the last pane of the front, after the move.
        back: the last pane of the window, after the move.
    """

    ends: Sequence[int]
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
        cls, rows: SortedDict, firsts: Sequence[int | None], ends: Sequence[int], front: int | None, back: int | None
    ) -> Move:
        """The move through extents of panes `first <= pane < end`; all `first` None for a landmark.

        Args:
            rows: the row of each pane that holds any, by pane.
            firsts: the first pane of each extent, ascending.
            ends: the first pane after each, ascending.
            front: the last pane of the front now.
            back: the last pane of the window now.
        """
        low = None if back is None else back + 1
        entering = list(rows.irange(low, ends[-1], inclusive=(True, False)))
        entered = np.array([bisect_left(entering, end) for end in ends], np.int64)
        stretches: list[Stretch] = []
        leaving: list[int] = []
        left = np.zeros(len(ends), np.int64)
        known = [first for first in firsts if first is not None]
        if known:
            leaving = list(rows.irange(None, known[-1], inclusive=(True, False)))
            left = np.array([bisect_left(leaving, first) for first in known], np.int64)
            stretches, front = _stretches(rows, known, ends, front, low)
        return cls(
            ends,
            entering,
            _rows(rows, entering),
            entered,
            leaving,
            _rows(rows, leaving),
            left,
            np.array([rows.get(end - 1, -1) for end in ends], np.int64),
            stretches,
            front,
            ends[-1] - 1,
        )


def _rows(rows: SortedDict, panes: Sequence[int]) -> Int64s:
    return np.array([rows[p] for p in panes], np.int64)


def _stretches(
    rows: SortedDict, firsts: Sequence[int], ends: Sequence[int], front: int | None, low: int | None
) -> tuple[list[Stretch], int | None]:
    found = []
    start = 0
    while start < len(ends):
        flipped = None
        if front is None or firsts[start] > front:
            inside = rows.irange(firsts[start], ends[start], inclusive=(True, False), reverse=True)
            flipped = [rows[p] for p in inside]
            front, low = ends[start] - 1, ends[start]
        stop = start + 1
        while stop < len(ends) and firsts[stop] <= front:
            stop += 1
        entering = list(rows.irange(low, ends[stop - 1], inclusive=(True, False)))
        oldest = [next(rows.irange(first, front), None) for first in firsts[start:stop]]
        found.append(
            Stretch(
                start,
                stop,
                flipped,
                np.array([-1 if p is None else rows[p] for p in oldest], np.int64),
                _rows(rows, entering),
                np.array([bisect_left(entering, end) for end in ends[start:stop]], np.int64),
            )
        )
        low = ends[stop - 1]
        start = stop
    return found, front


__all__ = ["Move", "Stretch"]
