"""Bins of slide-by-tuple aggregates whose partials are no numbers: rows of (slot, bin, partial columns).

The general way: each extent's partials are gathered and merged, so an answer costs what its extent holds.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from jupyter_stream.aggregates.protocol import SLOT
from jupyter_stream.core.axis import plus
from jupyter_stream.core.messages import Int64s, ints
from jupyter_stream.partials.frame_ranges import answers_over
from jupyter_stream.partials.group_aggregate import GroupAggregate
from jupyter_stream.partials.pieces import Pieces

BIN = "bin"


class FrameBins:
    """Bins of one aggregate."""

    def __init__(self, aggregate: GroupAggregate) -> None:
        self._aggregate = aggregate
        self._framed = aggregate.framed
        self._open = Pieces(self._framed, [SLOT, BIN])
        self._done: pl.DataFrame | None = None
        self.name = aggregate.name

    def snapshot(self) -> FrameBins:
        """Another that goes on by itself; this one is not touched by it."""
        copy = object.__new__(FrameBins)
        copy.__dict__.update(self.__dict__)
        copy._open = self._open.copy()
        return copy

    def add(self, slots: Int64s, ts: pl.Series, inputs: Sequence[pl.Series]) -> None:
        """Fold rows in: their groups, times and the operator's inputs."""
        rows = self._aggregate.rows([pl.Series(SLOT, slots), ts.alias(BIN)], inputs, ts)
        self._open.append(self._framed.update(rows, [SLOT, BIN]))

    def complete(self, until: int) -> None:
        """No row before `until` will come."""
        if not self._open:
            return
        new = self._open.merged().filter(pl.col(BIN) < until)
        self._open.change(lambda held: held.filter(pl.col(BIN) >= until))
        done = new if self._done is None else pl.concat([self._done, new])
        self._done = done.sort(SLOT, BIN, maintain_order=True)

    def expire(self, until: int) -> None:
        """Free bins no extent from `until` on holds."""
        if self._done is not None:
            self._done = self._done.filter(pl.col(BIN) > until)

    def read(self, slots: Int64s, ends: Int64s, span: int) -> pl.Series:
        """Answers of groups in extents ending at `ends`."""
        if self._done is None or not self._done.height:
            return pl.Series(self.name, [self._framed.of_nothing()], dtype=self._framed.dtype).new_from_index(
                0, ends.size
            )
        first, sizes = self._ranges(slots, ends, span)
        answers, _ = answers_over(self._framed, self._done, first, sizes, self._framed.merge)
        return answers.alias(self.name)

    def _ranges(self, slots: Int64s, ends: Int64s, span: int) -> tuple[Int64s, Int64s]:
        assert self._done is not None
        bins = ints(self._done.get_column(BIN))
        times = np.unique(bins)
        places = times.size + 1
        at = ints(self._done.get_column(SLOT)) * places + np.searchsorted(times, bins)
        first = np.searchsorted(at, slots * places + np.searchsorted(times, plus(ends, -span), side="right"))
        stop = np.searchsorted(at, slots * places + np.searchsorted(times, ends, side="right"))
        return first, stop - first

    @property
    def bytes(self) -> int:
        """Bytes held."""
        return self._open.bytes + (0 if self._done is None else int(self._done.estimated_size()))


__all__ = ["BIN", "FrameBins"]
