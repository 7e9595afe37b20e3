"""Partial results by panes, put together by extents: copied to each extent they are in, or folded by doubling where that is less.

For operators that keep partial results in frames (`state.cells`). Which extents are wanted is said partition by partition.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl

from jupyter_stream.arrays.walking import nth
from jupyter_stream.core.messages import Int64s, ints
from jupyter_stream.partials.cells import Merge, Picks
from jupyter_stream.partials.store import SLOT
from jupyter_stream.windows import TimeWindow

PANE = "pane"
EXTENT = "extent"
SPREAD = 20_000
SPREAD_PER_PARTIAL = 4
"""Partial results are copied to each extent they are in up to so many copies, or up to so many for each and doubling."""


@dataclass(frozen=True)
class Spread:
    """From panes to extents.

    Attributes:
        axis: which panes make an extent; no landmark.
        partition_of: the partition of each group, by slot.
    """

    axis: TimeWindow
    partition_of: Callable[[Int64s], Int64s]

    def extents_of(self, panes: Int64s) -> tuple[Int64s, Int64s]:
        """The first and the last extent that hold each pane; the last is less where none does."""
        return self.axis.extents_of_panes(panes)

    def panes_of(self, extents: Int64s) -> tuple[Int64s, Int64s]:
        """The first pane of each extent, and one past the last."""
        first = self.axis.first_panes(extents)
        assert first is not None, "no landmark"
        return first, self.axis.panes_per_slide * extents

    def picks(self, first: Int64s, last: Int64s) -> Picks:
        """Partial results by slot and extent, of the extents `first[p]` to `last[p]` of each partition p."""

        def pick(partials: pl.DataFrame, merge: Merge) -> pl.DataFrame:
            groups, panes = ints(partials.get_column(SLOT)), ints(partials.get_column(PANE))
            partitions = self.partition_of(groups)
            low, high = self.extents_of(panes)
            low = np.maximum(low, first[partitions])
            high = np.minimum(high, last[partitions])
            copies = np.maximum(high - low + 1, 0)
            used = copies > 0
            total = int(copies.sum())
            if total > max(SPREAD, SPREAD_PER_PARTIAL * int(used.sum()) * self._width.bit_length()):
                return self._doubled(partials.filter(pl.Series(used)), merge, first, last)
            rows = np.repeat(np.arange(panes.size), copies)
            extents = nth(copies) + low[rows]
            return partials[pl.Series(rows)].with_columns(pl.Series(EXTENT, extents))

        return pick

    def beyond(self, final: Int64s) -> Merge:
        """Leaves the partial results that extents after `final[p]` of each partition p hold."""

        def kept(partials: pl.DataFrame) -> pl.DataFrame:
            _, last = self.extents_of(ints(partials.get_column(PANE)))
            return partials.filter(pl.Series(last > final[self.partition_of(ints(partials.get_column(SLOT)))]))

        return kept

    @property
    def _width(self) -> int:
        """Panes in an extent."""
        axis = self.axis
        return axis.slides if axis.panes_per_slide == 1 else 2 * axis.slides - 1

    def _doubled(
        self,
        partials: pl.DataFrame,
        merge: Merge,
        first: Int64s,
        last: Int64s,
    ) -> pl.DataFrame:
        """Extents by folding runs of 1, 2, 4, ... panes: a pane is touched log(panes) times rather than once per extent."""
        per, width = self.axis.panes_per_slide, self._width

        def moved(frame: pl.DataFrame, by: int) -> pl.DataFrame:
            ends = ints(frame.get_column(PANE)) + by
            within = ends < per * last[self.partition_of(ints(frame.get_column(SLOT)))]
            return frame.with_columns(pl.Series(PANE, ends)).filter(pl.Series(within))

        run, size = merge(partials), 1  # at pane p: the panes p - size < q <= p
        whole: pl.DataFrame | None = None
        covered = 0
        while True:
            if width & size:
                earlier = moved(run, covered)
                whole = earlier if whole is None else merge(pl.concat([earlier, whole]))
                covered += size
            if 2 * size > width:
                break
            run = merge(pl.concat([moved(run, size), run]))
            size *= 2
        assert whole is not None
        panes = ints(whole.get_column(PANE)) + 1
        partitions = self.partition_of(ints(whole.get_column(SLOT)))
        wanted = (panes % per == 0) & (panes // per >= first[partitions]) & (panes // per <= last[partitions])
        return whole.with_columns(pl.Series(EXTENT, panes // per)).filter(pl.Series(wanted))


__all__ = ["EXTENT", "PANE", "Spread"]
