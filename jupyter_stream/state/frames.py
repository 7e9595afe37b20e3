"""Partials of aggregates that are no numbers: per pane, small frames of (slot, ...) merged by Polars' group-by.

Kept in the order they came, so that an aggregate may break ties by arrival.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Protocol

import numpy as np
import polars as pl
from sortedcontainers import SortedDict

from jupyter_stream.aggregates.protocol import SLOT, VALUE, FrameForm
from jupyter_stream.core.messages import Int64s

PANE = "pane"
_MERGE_ABOVE = 16
_WINDOW = "window"
_FOLDED = np.iinfo(np.int64).min
"""Where a landmark keeps what is folded: before every pane, for a late row of a pane folded already came after all in it."""


class FramePanes:
    """One aggregate's partial frames, by pane."""

    def __init__(self, form: FrameForm) -> None:
        self.form = form
        self._keys = [SLOT, *form.extra]
        self._panes: SortedDict = SortedDict()  # pane -> list of frames

    @property
    def bytes(self) -> int:
        """Bytes held."""
        return sum(int(f.estimated_size()) for pieces in self._panes.values() for f in pieces)

    @property
    def rows(self) -> int:
        """Partial rows held."""
        return sum(f.height for pieces in self._panes.values() for f in pieces)

    def update(self, rows: pl.DataFrame) -> None:
        """Take raw rows: columns `pane`, `slot`, `v` (and what the form asks for)."""
        partials = rows.group_by([PANE, *self._keys], maintain_order=True).agg(self.form.update())
        for (pane,), piece in partials.partition_by(PANE, as_dict=True, include_key=False).items():
            self.append(pane, [piece])

    def append(self, pane: int, partials: Iterable[pl.DataFrame]) -> None:
        """Take partial results of a pane, earlier arrivals first."""
        for piece in partials:
            pieces = self._panes.setdefault(pane, [])
            pieces.append(piece)
            if len(pieces) > _MERGE_ABOVE:
                self._panes[pane] = [self._merge(pieces)]

    def renumbered(self, pane: int, to: Int64s) -> Iterable[pl.DataFrame]:
        """What a pane holds, under the slots `to[slot]`, without those that have none (-1)."""
        for frame in self._panes.get(pane, ()):
            found = frame.with_columns(pl.Series(SLOT, to[frame.get_column(SLOT).to_numpy()]))
            yield found.filter(pl.col(SLOT) >= 0)

    def _merge(self, pieces: list[pl.DataFrame]) -> pl.DataFrame:
        if len(pieces) == 1:
            return pieces[0]
        return pl.concat(pieces).group_by(self._keys, maintain_order=True).agg(self.form.merge())

    def finish(self, first: int | None, end: int) -> pl.DataFrame:
        """Answers over panes `first <= pane < end`: columns `slot`, `v`; no row for a group without partials."""
        pieces = [f for p in self._panes.irange(first, end, inclusive=(True, False)) for f in self._panes[p]]
        if not pieces:
            return pl.DataFrame(schema={SLOT: pl.Int64()})
        return self.form.finish(self._merge(pieces), [SLOT])

    def close(self, windows: Sequence[tuple[int | None, int]]) -> list[pl.DataFrame]:
        """The window moves through several places: what `finish` gives at each, worked out together.

        A call of Polars costs as much as some ten thousand values, and an extent may hold a few.
        """
        if len(windows) == 1 or any(first is None for first, _ in windows):
            return one_by_one(self, windows)
        pieces: list[pl.DataFrame] = []
        which: list[int] = []
        for i, (first, end) in enumerate(windows):
            for pane in self._panes.irange(first, end, inclusive=(True, False)):
                pieces += self._panes[pane]
                which += [i] * len(self._panes[pane])
        self.advance(*windows[-1])
        if not pieces:
            return [pl.DataFrame(schema={SLOT: pl.Int64()})] * len(windows)
        rows = pl.concat(pieces)
        rows = rows.with_columns(pl.Series(_WINDOW, np.repeat(which, [p.height for p in pieces])))
        if len(set(which)) < len(which):
            rows = rows.group_by([_WINDOW, *self._keys], maintain_order=True).agg(self.form.merge())
        found = self.form.finish(rows, [_WINDOW, SLOT])
        cuts = found.get_column(_WINDOW).search_sorted(np.arange(len(windows) + 1)).to_list()
        found = found.select(SLOT, VALUE)
        return [found[start:stop] for start, stop in pairwise(cuts)]

    def advance(self, first: int | None, end: int) -> None:
        """The window moves to panes `first <= pane < end`; `first` None keeps all (a landmark)."""
        if first is None:
            self.fold_into_one(end)
        else:
            self.free(first)

    def free(self, before: int) -> None:
        """Forget panes before that one."""
        for pane in list(self._panes.irange(None, before, inclusive=(True, False))):
            del self._panes[pane]

    def fold_into_one(self, end: int) -> None:
        """Merge all panes before `end` into one (a landmark never looks at them apart)."""
        panes = list(self._panes.irange(None, end, inclusive=(True, False)))
        if panes and panes != [_FOLDED]:
            merged = self._merge([f for p in panes for f in self._panes[p]])
            for pane in panes:
                del self._panes[pane]
            self._panes[_FOLDED] = [merged]

    def renumber(self, old: Int64s) -> None:
        """Slot `old[i]` is now slot i."""
        if not old.size:
            return
        new = np.full(int(old.max()) + 1, -1, np.int64)
        new[old] = np.arange(old.size)
        for pane, pieces in self._panes.items():
            self._panes[pane] = [f.with_columns(pl.Series(SLOT, new[f.get_column(SLOT).to_numpy()])) for f in pieces]


class Moving(Protocol):
    """Partial results a window moves over."""

    def advance(self, first: int | None, end: int) -> None:
        """The window moves."""

    def finish(self, first: int | None, end: int) -> pl.DataFrame:
        """Answers: columns `slot`, `v`."""


def one_by_one(partials: Moving, windows: Sequence[tuple[int | None, int]]) -> list[pl.DataFrame]:
    """The window moves through several places: what `finish` gives at each."""
    found = []
    for first, end in windows:
        partials.advance(first, end)
        found.append(partials.finish(first, end))
    return found


class FrameAnswers:
    """Answers of one extent, by slot.

    Args:
        found: columns `slot` and `v`, or `slot` alone where there are none.
        capacity: slots are below it.
        name: the output column.
        dtype: its type.
        of_nothing: what a group without partial results gets.
    """

    def __init__(
        self, found: pl.DataFrame, capacity: int, name: str, dtype: pl.DataType, of_nothing: int | None = None
    ) -> None:
        self._name, self._dtype, self._of_nothing = name, dtype, of_nothing
        self._values = found.get_column(VALUE) if VALUE in found.columns else None
        self._row_of = np.full(capacity, -1, np.int64)
        self._row_of[found.get_column(SLOT).to_numpy()] = np.arange(found.height)

    def of(self, slots: Int64s) -> pl.Series:
        """The answers of groups."""
        if self._values is None:
            series = pl.Series([None], dtype=self._dtype).new_from_index(0, slots.size)
        else:
            rows = self._row_of[slots]
            at = pl.Series(rows)
            if (rows < 0).any():
                at = at.set(pl.Series(rows < 0), None)
            series = self._values.gather(at)
        if self._of_nothing is not None:
            series = series.fill_null(self._of_nothing)
        return series.cast(self._dtype).alias(self._name)
