"""Partial results of one window of rows by group and pane, from which the answers of its extents are made.

Rows have numbers in their partition, from 1: extent k ends with row k * SLIDE (window-queries thesis §5.2). Not for lifetimes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import polars as pl

from jupyter_stream.core.messages import Int64s, ints
from jupyter_stream.state.cells import SLOT, Cells
from jupyter_stream.state.group_aggregate import GroupAggregate
from jupyter_stream.state.spread import EXTENT, PANE, Spread
from jupyter_stream.windows import RowWindow, TimeWindow

_BY = (SLOT, EXTENT)


class RowPanes:
    """The panes of a window.

    Args:
        window: its rows and slide.
        aggregates: what is computed over it.
        partition_of: the partition of each group, by slot.

    Attributes:
        cells: the partial results.
        aggregates: what is computed.
    """

    def __init__(
        self, window: RowWindow, aggregates: Sequence[GroupAggregate], partition_of: Callable[[Int64s], Int64s]
    ) -> None:
        assert window.slide is not None
        self._axis = TimeWindow(window.rows, window.slide)  # on row numbers from 0
        self._spread = Spread(self._axis, partition_of)
        self._partition_of = partition_of
        self.aggregates = tuple(aggregates)
        self.cells = Cells(self.aggregates, (SLOT, PANE))

    def add(self, groups: Int64s, numbers: Int64s, times: pl.Series, inputs: list[pl.Series]) -> None:
        """Fold rows into their panes; where SLIDE is longer than ROWS, some are between extents.

        Args:
            groups: the slot of each row's group.
            numbers: each row's number in its partition.
            times: event times.
            inputs: arguments and conditions of the aggregates.
        """
        panes = self._axis.pane(numbers - 1)
        cells = pl.DataFrame({SLOT: groups, PANE: panes})
        first, last = self._spread.extents_of(panes)
        if (last < first).any():
            held = pl.Series(last >= first)
            cells, times, inputs = cells.filter(held), times.filter(held), [c.filter(held) for c in inputs]
        if cells.height:
            self.cells.add(cells, times, inputs)

    def read(self, first: Int64s, last: Int64s) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Answers by slot and extent of the extents `first[p]` to `last[p]` of each partition p.

        Returns:
            The answers of extents that hold rows, and slot and extent of those a sum of which is beyond BIGINT.
        """
        return self.cells.read(self._spread.picks(first, last), _BY)

    def free(self, final: Int64s) -> None:
        """Forget the panes that only extents up to `final[p]` of each partition p hold."""

        def needed(partials: pl.DataFrame) -> pl.DataFrame:
            _, last = self._spread.extents_of(ints(partials.get_column(PANE)))
            return partials.filter(pl.Series(last > final[self._partition_of(ints(partials.get_column(SLOT)))]))

        self.cells.change(needed)


def read_together(parts: Sequence[RowPanes], first: Int64s, last: Int64s) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Answers of several windows that end with the same rows, the longest first: it holds what the others hold.

    Returns:
        As `RowPanes.read`; what is beyond BIGINT over one window is no answer of any.
    """
    answers, beyond = parts[0].read(first, last)
    bad = [beyond]
    for part in parts[1:]:
        own, beyond = part.read(first, last)
        bad.append(beyond)
        answers = answers.join(own, on=list(_BY), how="left", maintain_order="left")
        counts = [a.name for a in part.aggregates if a.function.name == "count"]
        answers = answers.with_columns(pl.col(name).fill_null(0) for name in counts)
    beyond = pl.concat(bad).unique(maintain_order=True)
    if len(parts) > 1 and beyond.height:
        answers = answers.join(beyond, on=list(_BY), how="anti", maintain_order="left")
    return answers, beyond


__all__ = ["RowPanes", "read_together"]
