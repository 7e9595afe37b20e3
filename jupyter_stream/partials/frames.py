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

from jupyter_stream.aggregates.framed import Framed
from jupyter_stream.aggregates.protocol import SLOT, VALUE, FrameForm
from jupyter_stream.core.messages import Int64s
from jupyter_stream.partials.pieces import Pieces

PANE = "pane"
_WINDOW = "window"
_FOLDED = np.iinfo(np.int64).min
"""Where a landmark keeps what is folded: before every pane, for a late row of a pane folded already came after all in it."""


class FramePanes:
    """One aggregate's partial frames, by pane."""

    def __init__(self, form: FrameForm, framed: Framed) -> None:
        self.form = form
        self._framed = framed
        self._panes: SortedDict = SortedDict()  # pane -> its pieces

    @property
    def bytes(self) -> int:
        """Bytes held."""
        return sum(pieces.bytes for pieces in self._panes.values())

    def update(self, rows: pl.DataFrame) -> None:
        """Take raw rows, none to be left out: columns `pane`, `slot`, `v` (and what the form asks for)."""
        partials = self._framed.each(rows, [PANE, SLOT])
        for (pane,), piece in partials.partition_by(PANE, as_dict=True, include_key=False).items():
            self.append(pane, [piece])

    def append(self, pane: int, partials: Iterable[pl.DataFrame]) -> None:
        """Take partial results of a pane, earlier arrivals first."""
        for piece in partials:
            if pane not in self._panes:
                self._panes[pane] = Pieces(self._framed, [SLOT], grows=False)
            self._panes[pane].append(piece)

    def _of(self, panes: Iterable[int]) -> list[pl.DataFrame]:
        return [frame for pane in panes for frame in self._panes[pane].frames]

    def renumbered(self, pane: int, to: Int64s) -> Iterable[pl.DataFrame]:
        """What a pane holds, under the slots `to[slot]`, without those that have none (-1)."""
        for frame in self._of([pane] if pane in self._panes else []):
            found = frame.with_columns(pl.Series(SLOT, to[frame.get_column(SLOT).to_numpy()]))
            yield found.filter(pl.col(SLOT) >= 0)

    def finish(self, first: int | None, end: int) -> pl.DataFrame:
        """Answers over panes `first <= pane < end`: columns `slot`, `v`; no row for a group without partials."""
        frames = self._of(self._panes.irange(first, end, inclusive=(True, False)))
        if not frames:
            return pl.DataFrame(schema={SLOT: pl.Int64()})
        merged = frames[0] if len(frames) == 1 else self._framed.merge(pl.concat(frames), [SLOT])
        return self.form.finish(merged, [SLOT])

    def close(self, windows: Sequence[tuple[int | None, int]]) -> list[pl.DataFrame]:
        """The window moves through several places: what `finish` gives at each, worked out together.

        A call of Polars costs as much as some ten thousand values, and an extent may hold a few.
        """
        if len(windows) == 1 or any(first is None for first, _ in windows):
            return one_by_one(self, windows)
        of_each = [self._of(self._panes.irange(first, end, inclusive=(True, False))) for first, end in windows]
        self.advance(*windows[-1])
        if not any(of_each):
            return [pl.DataFrame(schema={SLOT: pl.Int64()})] * len(windows)
        rows = pl.concat([frame for frames in of_each for frame in frames])
        heights = [sum(frame.height for frame in frames) for frames in of_each]
        rows = rows.with_columns(pl.Series(_WINDOW, np.repeat(np.arange(len(windows)), heights)))
        if any(len(frames) > 1 for frames in of_each):
            rows = self._framed.merge(rows, [_WINDOW, SLOT])
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
            folded = Pieces(self._framed, [SLOT], grows=False)
            folded.append(self._framed.merge(pl.concat(self._of(panes)), [SLOT]))
            self.free(end)
            self._panes[_FOLDED] = folded

    def renumber(self, old: Int64s) -> None:
        """Slot `old[i]` is now slot i."""
        if not old.size:
            return
        new = np.full(int(old.max()) + 1, -1, np.int64)
        new[old] = np.arange(old.size)
        for pieces in self._panes.values():
            pieces.change(lambda held: held.with_columns(pl.Series(SLOT, new[held.get_column(SLOT).to_numpy()])))


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
        of_nulls: what a group without partial results gets.
    """

    def __init__(
        self, found: pl.DataFrame, capacity: int, name: str, dtype: pl.DataType, of_nulls: object = None
    ) -> None:
        self._name, self._dtype, self._of_nulls = name, dtype, of_nulls
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
        if self._of_nulls is not None and series.null_count():
            series = series.fill_null(self._of_nulls)
        return series.cast(self._dtype).alias(self._name)
