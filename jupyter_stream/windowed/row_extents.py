"""Extents of row numbers: `[ROWS n SLIDE m]`, the same inside partitions (window-queries thesis §5.1.3, §5.2).

A row's number is a progressing attribute that comes in order by itself, so no row is late and an extent is final when its
last row has come. Rows have numbers in their partition, from 1: extent k ends with row k * SLIDE.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import polars as pl

from jupyter_stream.arrays.growing import grown
from jupyter_stream.arrays.order import order_of
from jupyter_stream.arrays.runs import run_starts
from jupyter_stream.arrays.walking import nth
from jupyter_stream.core.messages import TS, WINDOW_END, WINDOW_ID, WINDOW_PART, WINDOW_START, Int64s, ints
from jupyter_stream.core.time import MAX_TIME, MIN_TIME
from jupyter_stream.partials.group_aggregate import GroupAggregate
from jupyter_stream.partials.pane_rings import PanesGone, PanesPicked
from jupyter_stream.partials.spread import EXTENT, PANE, Spread
from jupyter_stream.partials.store import SLOT
from jupyter_stream.windowed.extents import Changed, Due, Extents, ExtentStep, Placed
from jupyter_stream.windows import RowWindow, TimeWindow

_PARTITION = "$partition"


class RowExtents(Extents):
    """Extents of one window or of several that end with the same rows, in every partition.

    An answer's time is the newest time of any row so far: so answers come in the order of their times.

    Args:
        windows: their rows and slide, the longest first: it holds what the others hold.
        partition_of: the partition of each group, by slot.
        aggregates: what is computed over any of them.
        in_rings: whether partial results are in `PaneRings`, each group being a partition; else in frames.
    """

    by = (SLOT, EXTENT)
    at = PANE
    holds = "row numbers"

    def __init__(
        self,
        windows: Sequence[RowWindow],
        partition_of: Callable[[Int64s], Int64s],
        aggregates: Sequence[GroupAggregate],
        in_rings: bool = False,
    ) -> None:
        self.windows = len(windows)
        slide = windows[0].slide
        assert slide is not None
        self._rows, self._slide = windows[0].rows, slide
        self._spreads = [Spread(TimeWindow(w.rows, slide), partition_of) for w in windows]  # on row numbers from 0
        self._partition_of = partition_of
        self._in_rings = in_rings
        self._nothing = [pl.lit(a.function.of_nothing, a.dtype).alias(a.name) for a in aggregates]
        self._count = np.zeros(1, np.int64)  # rows so far of each partition
        self._newest = MIN_TIME
        self._last_full: int | None = None  # ungrouped: the last extent given that held rows

    @property
    def bytes(self) -> int:
        return self._count.nbytes

    # -- rows --------------------------------------------------------------------------------------------------------

    def number(self, partitions: Int64s, ts: Int64s) -> tuple[Int64s, Iterator[ExtentStep]]:
        """Rows have come: the number of each in its partition, and what is to be done when they are in their panes."""
        newest = np.maximum(np.maximum.accumulate(ts), self._newest)
        self._newest = int(newest[-1])
        self._count = grown(self._count, int(partitions.max()) + 1)
        before = self._count if self._in_rings else self._count.copy()
        order = order_of(partitions)
        ordered = partitions[order]
        starts = run_starts(ordered)
        lengths = np.diff(np.append(starts, ordered.size))
        numbers = np.empty(ts.size, np.int64)
        numbers[order] = self._count[ordered] + 1 + nth(lengths)
        self._count[ordered[starts]] += lengths
        ends = np.flatnonzero(numbers % self._slide == 0)
        extents = numbers[ends] // self._slide
        if self._in_rings:
            return numbers, self._completed_in_rings(partitions[ends], extents, newest[ends])
        columns = {_PARTITION: partitions[ends], EXTENT: extents, TS: newest[ends]}
        return numbers, self._completed(before, pl.DataFrame(columns))

    def place(self, numbers: Int64s) -> Iterator[ExtentStep]:
        """Rows that have been numbered are aggregated; where SLIDE is longer than ROWS, some are between extents."""
        for window, spread in enumerate(self._spreads):
            panes = spread.axis.pane(numbers - 1)
            first, last = spread.extents_of(panes)
            yield Placed(panes, last >= first, window)

    def _completed(self, before: Int64s, ends: pl.DataFrame) -> Iterator[ExtentStep]:
        if not ends.height:
            return
        by = [_PARTITION, EXTENT]
        full = self._count // self._slide
        yield self._due(
            before // self._slide + 1,
            full,
            lambda found: ends.join(self._with_partition(found), on=by, how="inner", maintain_order="left_right"),
        )
        for window, spread in enumerate(self._spreads):
            yield Changed(spread.beyond(full), window, at_once=False)

    def _completed_in_rings(self, partitions: Int64s, extents: Int64s, times: Int64s) -> Iterator[ExtentStep]:
        if not partitions.size:
            return
        yield self._picked(partitions, extents, times)
        final = self._count[partitions] // self._slide
        for window, spread in enumerate(self._spreads):
            yield Changed(PanesGone(partitions, spread.panes_of(final + 1)[0]), window)

    def _picked(self, partitions: Int64s, extents: Int64s, times: Int64s) -> Due:
        """Extents of partitions, in the order their answers are given in, and the times of these."""
        keys = [pl.Series(SLOT, partitions), pl.Series(EXTENT, extents)]
        asked = [pl.Series(_PARTITION, partitions), pl.Series(TS, times)]

        def ordered(found: pl.DataFrame) -> pl.DataFrame:
            if found.height == partitions.size:
                return found.hstack(asked)
            return pl.DataFrame([*keys, *asked]).join(found, on=self.by, how="inner", maintain_order="left_right")

        panes = (spread.panes_of(extents) for spread in self._spreads)
        return Due([PanesPicked(partitions, extents, first, stop) for first, stop in panes], ordered)

    # -- time --------------------------------------------------------------------------------------------------------

    def punctuate(self, value: int) -> Iterator[ExtentStep]:
        """Nothing more is final before the end."""
        if value == MAX_TIME:
            yield self.open()
            for window in range(self.windows):
                gone = PanesGone(np.empty(0, np.int64), None)
                yield Changed(gone if self._in_rings else lambda partials: partials.clear(), window)
            self._count[:] = 0

    def said(self, value: int) -> int:
        return MAX_TIME if value == MAX_TIME else self._newest

    def open(self) -> Due:
        """The extents of each partition that wait for rows: up to the first whose end reaches the last row, so one or none."""
        full, begun = self._count // self._slide, -(-self._count // self._slide)
        if not self._in_rings:
            return self._due(full + 1, begun, self._by_extent)
        waiting = np.flatnonzero(begun > full)
        waiting = waiting[order_of(begun[waiting], waiting)]
        return self._picked(waiting, begun[waiting], np.full(waiting.size, self._newest))

    def _by_extent(self, found: pl.DataFrame) -> pl.DataFrame:
        found = self._with_partition(found).with_columns(pl.lit(self._newest, pl.Int64()).alias(TS))
        return found.sort(EXTENT, _PARTITION, maintain_order=True)

    def _due(self, first: Int64s, last: Int64s, ordered: Callable[[pl.DataFrame], pl.DataFrame]) -> Due:
        return Due([spread.picks(first, last) for spread in self._spreads], ordered)

    # -- answers -----------------------------------------------------------------------------------------------------

    def _with_partition(self, found: pl.DataFrame) -> pl.DataFrame:
        return found.with_columns(pl.Series(_PARTITION, self._partition_of(ints(found.get_column(SLOT)))))

    def filled(self, answers: pl.DataFrame) -> pl.DataFrame:
        """Extents between those that hold rows are answered too, when the next full one is."""
        if not answers.height:
            return answers
        full = ints(answers.get_column(EXTENT))
        known = full if self._last_full is None else np.append(self._last_full, full)
        self._last_full = int(full[-1])
        gaps = np.diff(known) - 1
        if not gaps.any():
            return answers
        after = np.repeat(np.arange(gaps.size), gaps)  # of each empty extent, the full one before it, among `known`
        extents = nth(gaps) + known[after] + 1
        nothing = answers[pl.Series(after + (known.size == full.size))].with_columns(
            pl.Series(EXTENT, extents), *self._nothing
        )
        return pl.concat([answers, nothing]).sort(EXTENT, maintain_order=True)

    def bounded(self, answers: pl.DataFrame) -> pl.DataFrame:
        partitions, extents = ints(answers.get_column(_PARTITION)), ints(answers.get_column(EXTENT))
        ends = extents * self._slide
        bounds = [
            pl.Series(WINDOW_START, np.maximum(ends - self._rows + 1, 1)),
            pl.Series(WINDOW_END, np.minimum(ends, self._count[partitions])),
            pl.Series(WINDOW_ID, extents),
            pl.Series(WINDOW_PART, partitions),
        ]
        return answers.hstack(bounds)

    def remembered(self) -> Int64s:
        return np.flatnonzero(self._count)


__all__ = ["RowExtents"]
