"""The rows that rows of OVER windows to come look back on, and aggregates over ranges of them: a row costs what it changes.

Numbers are folded in rings; what is no number is gathered and aggregated anew for each range, so that it costs what this holds.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from jupyter_stream.aggregates import Dense
from jupyter_stream.arrays.exact import halves, whole
from jupyter_stream.arrays.runs import run_starts
from jupyter_stream.arrays.walking import ranges
from jupyter_stream.core.messages import Array, Bools, Int64s, ints
from jupyter_stream.partials.group_aggregate import GroupAggregate
from jupyter_stream.partials.number_answers import layout_of
from jupyter_stream.partials.over_folds import OrderedRows, OverAnswers, over_ranges
from jupyter_stream.partials.partial_values import values_of
from jupyter_stream.partials.ring_folds import RankedRows, RankRanges, RingCounts, RingFold, ring_folds
from jupyter_stream.partials.rings import Rings, RingValues
from jupyter_stream.partials.row_log import RowLog


class KeptRows:
    """Rows by partition and rank, with what is computed over ranges of them.

    Args:
        aggregates: what.
    """

    def __init__(self, aggregates: Sequence[GroupAggregate]) -> None:
        self.rings = Rings()
        self._aggregates = tuple(aggregates)
        self._layout = layout_of(aggregates)
        rest = [ring_folds(self.rings, partial) for partial in self._layout.partials[1:]]
        self._folds: list[list[RingFold]] = [[RingCounts()], *rest]
        self._numbers: RingValues | None = None
        if not all(isinstance(a.form, Dense) for a in self._aggregates):
            self._numbers = RingValues()
            self.rings.columns.append(self._numbers)
        self._log = RowLog()

    @property
    def bytes(self) -> int:
        """Bytes held."""
        return self.rings.bytes + self._log.bytes

    def clear(self) -> None:
        """Forget everything."""
        self.rings.reset()
        self._log = RowLog()

    def take(self, rows: OrderedRows) -> RankedRows:
        """Rows come, in the order of their partitions and times, behind all of their partitions' rows."""
        taken = RankedRows.of(self.rings, rows.slots)
        self.rings.times.held[taken.places] = rows.times
        layout = self._layout
        for partial, (argument, where), folds in zip(
            layout.partials[1:], layout.inputs[1:], self._folds[1:], strict=True
        ):
            values = values_of(partial, argument, where, rows.columns, rows.slots.size)
            parts = halves(values) if len(folds) > 1 else (values,)
            for fold, part in zip(folds, parts, strict=True):
                fold.append(taken, part)
        if self._numbers is not None:
            held = pl.DataFrame([pl.Series("$ts", rows.times), *(c.alias(f"{i}") for i, c in enumerate(rows.columns))])
            self._numbers.held[taken.places] = self._log.append(held)
        return taken

    def answers(self, slots: Int64s, first: Int64s, stop: Int64s) -> list[OverAnswers]:
        """Each aggregate over the rows from rank `first` to before `stop`, no less, of partitions, those of one together."""
        asked = RankRanges.of(self.rings, slots, first, stop)
        found: list[OverAnswers] = []
        gathered: tuple[OrderedRows, Int64s, Int64s] | None = None
        for aggregate, own in zip(self._aggregates, self._layout.own, strict=True):
            if own:
                found.append(self._dense(aggregate, own, asked))
                continue
            if gathered is None:
                gathered = self._gathered(slots, first, stop)
            found.append(over_ranges(aggregate, *gathered))
        return found

    def _dense(self, aggregate: GroupAggregate, own: Sequence[int], asked: RankRanges) -> OverAnswers:
        arrays: list[Array] = []
        beyond: Bools | None = None
        for partial in own:
            read = [fold.over(asked) for fold in self._folds[partial]]
            if len(read) > 1:
                total, beyond = whole(read[0], read[1], aggregate.dtype.is_integer())
                arrays.append(total)
            else:
                arrays += read
        return OverAnswers(aggregate.function.finish(arrays, aggregate.dtype), beyond)

    def _gathered(self, slots: Int64s, first: Int64s, stop: Int64s) -> tuple[OrderedRows, Int64s, Int64s]:
        """All rows of some ranges, each once, and where the ranges are among them."""
        assert self._numbers is not None
        heads = run_starts(slots)
        low, high = np.minimum.reduceat(first, heads), np.maximum.reduceat(stop, heads)
        of = np.repeat(slots[heads], high - low)
        numbers = self._numbers.read(self.rings.places(of, ranges(low, high - low)))
        times, *columns = self._log.rows(numbers).get_columns()
        begin = np.cumsum(high - low) - (high - low)
        counts = np.diff(heads, append=slots.size)
        moved = np.repeat(begin - low, counts)
        rows = OrderedRows(of, ints(times), columns, np.repeat(begin, high - low))
        return rows, first + moved, stop + moved

    def tidy(self, before: int | None) -> None:
        """Let go of rows no longer needed, now and then.

        Args:
            before: rows before that time are not needed in any partition; None where nothing is said.
        """
        if self._numbers is None or not self._log.due:
            return
        rings = self.rings
        if before is not None:
            rings.expire(before)
        slots = rings.held
        many = rings.end[slots] - rings.begin[slots]
        of, ranks = np.repeat(slots, many), ranges(rings.begin[slots], many)
        numbers = self._numbers.read(rings.places(of, ranks))
        order = np.argsort(numbers)
        self._log.keep(numbers[order])
        if of.size:
            self._numbers.held[rings.places(of, ranks)[order]] = np.arange(of.size)


__all__ = ["KeptRows", "RankedRows"]
