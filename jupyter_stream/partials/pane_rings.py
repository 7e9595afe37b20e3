"""Partial results by pane in rings, of windows whose panes come in order in each group: those of row numbers.

A row costs what it changes, and an extent the logarithm of its panes, however many panes and groups there are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from jupyter_stream.aggregates import Dense
from jupyter_stream.arrays.exact import halves
from jupyter_stream.arrays.order import order_of
from jupyter_stream.arrays.rows import frame_of
from jupyter_stream.arrays.runs import run_starts
from jupyter_stream.arrays.walking import ranges
from jupyter_stream.core.messages import Array, Int64s
from jupyter_stream.partials.group_aggregate import GroupAggregate
from jupyter_stream.partials.number_answers import answered, layout_of
from jupyter_stream.partials.partial_values import values_of
from jupyter_stream.partials.ring_folds import RankedRows, RankRanges, RingFold, ring_folds
from jupyter_stream.partials.rings import Rings
from jupyter_stream.partials.store import SLOT, Found


@dataclass(frozen=True)
class PanesPicked:
    """Extents that are answered: panes `first` to before `stop` of a group each.

    Attributes:
        groups: whose they are.
        numbers: of the extents.
        first: the first pane of each.
        stop: one past the last.
    """

    groups: Int64s
    numbers: Int64s
    first: Int64s
    stop: Int64s


@dataclass(frozen=True)
class PanesGone:
    """Panes before `first` of some groups are needed no more; None: no panes at all."""

    groups: Int64s
    first: Int64s | None


class PaneRings:
    """Partial results by group and pane.

    Args:
        calls: what is computed; all are kept as numbers.
        at: the column of panes.
    """

    def __init__(self, calls: Sequence[GroupAggregate], at: str) -> None:
        self._calls, self._at = tuple(calls), at
        self._layout = layout_of(calls)
        self._rings = Rings()  # a rank is a pane, and its time the pane's number
        self._folds = [ring_folds(self._rings, partial) for partial in self._layout.partials]
        self.rows = 0

    @staticmethod
    def takes(calls: Sequence[GroupAggregate]) -> bool:
        """Whether all of these are kept as numbers."""
        return all(isinstance(c.form, Dense) for c in calls)

    @property
    def zero(self) -> list[str]:
        """The aggregates that are 0 of no rows."""
        return [c.name for c in self._calls if c.function.of_nothing == 0]

    @property
    def bytes(self) -> int:
        """Bytes held."""
        return self._rings.bytes

    # -- rows --------------------------------------------------------------------------------------------------------

    def add(self, groups: Int64s, at: Int64s, ts: pl.Series, inputs: Sequence[pl.Series]) -> None:
        """Fold rows in; no pane is before one that its group had."""
        rings, order, starts = self._rings, None, np.zeros(1, np.int64)
        if at.size > 1:
            order = order_of(groups, at)
            groups, at = groups[order], at[order]
            starts = run_starts(groups, at)
            groups, at = groups[starts], at[starts]
        values = self._values(inputs, order, starts)
        old = self._goes_on(groups, at)
        if old.any():
            going = groups[old]
            last, following = (rings.places(going, rings.end[going] - back) for back in (1, 0))
            bits = rings.bits(going)
            for fold, each in zip(self._every_fold, values, strict=True):
                fold.amend(last, following, each[old], bits)
        if not old.all():
            new = ~old
            rows = RankedRows.of(rings, groups[new])
            rings.times.held[rows.places] = at[new]
            for fold, each in zip(self._every_fold, values, strict=True):
                fold.append(rows, each[new])
            self.rows += rows.slots.size

    @property
    def _every_fold(self) -> list[RingFold]:
        return [fold for folds in self._folds for fold in folds]

    def _values(self, inputs: Sequence[pl.Series], order: Int64s | None, starts: Int64s) -> list[Array]:
        """What each fold has to take for each pane: that of the rows from one start to the next, in that order."""
        found: list[Array] = []
        many = 1 if order is None else order.size
        for partial, (argument, where), folds in zip(
            self._layout.partials, self._layout.inputs, self._folds, strict=True
        ):
            values = values_of(partial, argument, where, inputs, many)
            if order is not None:
                values = values[order]
            fold = np.add if partial.op in ("count", "sum") else partial.fold
            with np.errstate(invalid="ignore"):  # infinities of both signs make a NaN, as they should
                for part in halves(values) if len(folds) > 1 else (values,):
                    found.append(part if starts.size == many else fold.reduceat(part, starts))
        return found

    def _goes_on(self, groups: Int64s, panes: Int64s) -> NDArray[np.bool_]:
        """Which are the last pane that their group has already."""
        rings = self._rings
        known = self._known(groups)
        some = groups[known]
        last = rings.places(some, rings.end[some] - 1)
        known[known] = rings.times.held[last] == panes[known]
        return known

    def _known(self, groups: Int64s) -> NDArray[np.bool_]:
        """Which groups have panes."""
        rings = self._rings
        known = groups < rings.end.size
        known[known] = rings.end[groups[known]] > rings.begin[groups[known]]
        return known

    def change(self, change: PanesGone) -> None:
        """Panes are needed no more."""
        rings = self._rings
        if change.first is None:
            rings.reset()
            self.rows = 0
            return
        known = self._known(change.groups)
        groups, first = change.groups[known], change.first[known]
        if groups.size:
            begin = rings.search(groups, first, rings.begin[groups], rings.end[groups], "left")
            self.rows -= int((begin - rings.begin[groups]).sum())
            rings.begin[groups] = begin

    # -- answers -----------------------------------------------------------------------------------------------------

    def read(self, picks: PanesPicked, by: Sequence[str]) -> Iterator[Found]:
        """Answers, all in one piece and in the order asked for: the columns `by`, then one for each aggregate."""
        rings = self._rings
        which = np.flatnonzero(self._known(picks.groups))
        groups = picks.groups[which]
        first = rings.search(groups, picks.first[which], rings.begin[groups], rings.end[groups], "left")
        stop = rings.search(groups, picks.stop[which], first, rings.end[groups], "left")
        full = stop > first
        if not full.all():
            which, groups, first, stop = which[full], groups[full], first[full], stop[full]
        asked = RankRanges.of(rings, groups, first, stop)
        values = {SLOT: groups}
        keys = frame_of([pl.Series(name, values.get(name, picks.numbers[which])) for name in by])
        yield answered(self._calls, self._layout, lambda partial: [f.over(asked) for f in self._folds[partial]], keys)

    def opened(self) -> PaneRings:
        """The same: answers don't wait for rows to come."""
        return self

    def held(self) -> pl.DataFrame:
        """The groups and panes that hold rows."""
        rings = self._rings
        groups = rings.held
        many = rings.end[groups] - rings.begin[groups]
        of, ranks = np.repeat(groups, many), ranges(rings.begin[groups], many)
        return pl.DataFrame({SLOT: of, self._at: rings.times.held[rings.places(of, ranks)]})

    def head(self, most: int) -> pl.DataFrame:
        """Some panes: the number, the group, and how many `rows` each holds."""
        rings = self._rings
        groups = rings.held[:most]
        many = rings.end[groups] - rings.begin[groups]
        of, ranks = np.repeat(groups, many)[:most], ranges(rings.begin[groups], many)[:most]
        rows = self._folds[0][0].over(RankRanges.of(rings, of, ranks, ranks + 1))
        return pl.DataFrame({self._at: rings.times.held[rings.places(of, ranks)], SLOT: of, "rows": rows})

    def check(self) -> None:
        """Raise AssertionError where an invariant is broken."""
        self._rings.check()
        assert self.rows == self.held().height


__all__ = ["PaneRings", "PanesGone", "PanesPicked"]
