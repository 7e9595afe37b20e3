"""Partials by extent rather than by pane: WID as it is without panes (window-queries thesis §6.1.3).

A row is folded into every extent that holds it, range / slide of them, and an extent is read as it is. Cheaper than panes only
where an extent is one pane anyway; kept to be chosen, compared and drawn.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sortedcontainers import SortedDict

from jupyter_stream.core.control import ControlTable
from jupyter_stream.core.messages import Int64s
from jupyter_stream.partials.closed import Closed, one_by_one, single_panes
from jupyter_stream.partials.group_aggregate import GroupAggregate
from jupyter_stream.partials.groups import WindowGroups
from jupyter_stream.windows import TimeWindow


class ExtentGroups:
    """Partials of groups in extents.

    Args:
        window: which extents; not a landmark, of whose extents every row is in infinitely many.
        keys: names and types of the grouping columns.
        aggregates: what is computed.
    """

    def __init__(
        self, window: TimeWindow, keys: Sequence[tuple[str, pl.DataType]], aggregates: Sequence[GroupAggregate]
    ) -> None:
        self._window = window
        # a window whose panes are the extents: extent k is pane k - 1
        self._extents = WindowGroups(TimeWindow(window.slide, window.slide, window.phase), keys, aggregates)
        self.slots = self._extents.slots
        self.occupied: SortedDict = SortedDict()
        """The panes that hold rows, in order."""
        self._closed: int | None = None

    @property
    def tables(self) -> list[ControlTable]:
        """Control tables of what it remembers."""
        return self._extents.tables

    @property
    def live(self) -> int:
        """Groups with a slot."""
        return self._extents.live

    @property
    def dense(self) -> bool:
        """Whether every aggregate is kept as numbers."""
        return self._extents.dense

    def report(self) -> int:
        """Bring the control tables up to date; returns the bytes held."""
        return self._extents.report()

    def counts(self) -> dict[str, int]:
        """All groups are eager; how many there are is told by `live`."""
        return {}

    def head(self, most: int) -> pl.DataFrame:
        """Extents and the groups with rows in them, the oldest first: at most so many."""
        return self._extents.head(most).select((pl.col("pane") + 1).alias("extent"), pl.exclude("pane"))

    def add(self, ts: Int64s, keys: Sequence[pl.Series], inputs: Sequence[pl.Series]) -> None:
        """Fold rows into each extent that holds them and is still open."""
        window = self._window
        slots = np.zeros(ts.size, np.int64)
        if self.slots is not None:
            slots = self.slots.encode(keys)
            self._extents.fit(self.slots.capacity)
        self.occupied.update(dict.fromkeys(np.unique(window.pane(ts)).tolist()))
        first, last = window.extents_of(ts)
        earliest, common = int(first.min()), int((last - first).min())
        for i in range(window.slides):
            kept: NDArray[np.bool_] | None = None
            if i > common:
                kept = first + i <= last
            if self._closed is not None and earliest + i <= self._closed:
                open_ = first + i > self._closed
                kept = open_ if kept is None else kept & open_
            at = ts + i * window.slide
            if kept is None:
                self._extents.fold_known(at, slots, inputs, ts)
            elif kept.any():
                chosen = pl.Series(kept)
                self._extents.fold_known(at[kept], slots[kept], [c.filter(chosen) for c in inputs], ts[kept])

    def advance(self, k: int) -> None:
        """Nothing moves: each extent is by itself."""

    def expire(self, k: int) -> None:
        """Free extents before k."""
        self._extents.expire(k)
        self._closed = k - 1
        first = self._window.first_pane(k)
        for pane in list(self.occupied.irange(None, first, inclusive=(True, False))):
            del self.occupied[pane]

    def release(self) -> Iterator[int]:
        """Reuse slots of groups that hold nothing, some at each step."""
        return self._extents.release()

    def free(self, panes: Sequence[int]) -> None:
        """Forget panes that no extent holds."""
        for pane in panes:
            del self.occupied[pane]

    def read(self, k: int, without: Int64s) -> tuple[Int64s, list[pl.Series]]:
        """Groups alive in extent k, some left out, and their answers. Raises `Overflowed`."""
        return self._extents.read_pane(k - 1, k, without)

    def peek(self, k: int, without: Int64s) -> tuple[Int64s, list[pl.Series]]:
        """The same for an extent that is still open."""
        return self.read(k, without)

    @property
    def extents_at_once(self) -> int:
        """How many extents to `close` together."""
        return 64

    def close(self, extents: Sequence[int]) -> Iterator[Closed]:
        """Move the window through some extents, in order, and give their answers."""
        tumbling = self._window.slides == 1 and self._window.panes_per_slide == 1 and self.dense
        return single_panes(self, extents) if tumbling else one_by_one(self, extents)

    def read_tumbling(self, panes: Sequence[int]) -> tuple[Int64s, Int64s, list[pl.Series]]:
        """Answers of many single-pane extents at once: index into `panes`, slot, and the answers, row by row."""
        return self._extents.read_tumbling(panes)

    def check(self) -> None:
        """Raise AssertionError where an invariant is broken."""
        self._extents.check()


__all__ = ["ExtentGroups"]
