"""Joins under SLIDE: the rows that are alive just before each of the instants at which a query looks.

An extent that ends at e holds the rows of [e - d, e): those whose lifetimes hold e - 1. So what is joined of rows of the same
extents is what is in the join of their lifetimes at that instant, and each such row comes with that time.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from jupyter_stream.arrays.rows import bytes_of, earliest, together
from jupyter_stream.arrays.walking import walked
from jupyter_stream.core.messages import SIGN, TS, UNTIL, Batch, Int64s, Message, Punctuation, ints
from jupyter_stream.core.time import MAX_TIME, show_duration
from jupyter_stream.flow.protocol import Recall, Stateless
from jupyter_stream.relations.relation_ends import taken_back
from jupyter_stream.windows import TimeWindow

_MOST = 1 << 20
"""How many rows are given at a time, about."""


class LivesAtInstants(Stateless):
    """Rows with `$until`, given once for each instant of their lifetimes at which somebody looks.

    Args:
        window: has the instants.
    """

    def __init__(self, window: TimeWindow) -> None:
        super().__init__(f"looks every {show_duration(window.slide)}")
        self._window = window

    def on_batch(self, port: int, batch: Batch) -> Iterator[Message]:
        """Give each row with its instants."""
        begins, ends = (ints(batch.frame.get_column(c)) for c in (TS, UNTIL))
        first, after = _first_look(self._window, begins), _first_look(self._window, ends)
        yield from _given(batch.frame.drop(UNTIL), first, after, self._window)


class RelationAtInstants(Stateless):
    """All rows of a relation at each instant, up to the first one after the last change, or for landmarks the last row.

    Args:
        window: has the instants.
    """

    def __init__(self, window: TimeWindow) -> None:
        super().__init__(f"looks every {show_duration(window.slide)}")
        self._window = window
        self._alive: pl.DataFrame | None = None
        self._waiting: list[pl.DataFrame] = []
        self._said: int | None = None  # the last extent given
        self._last: int | None = None  # the first one after all that it has heard of

    def head(self, most: int) -> pl.DataFrame:
        """The first rows alive."""
        return pl.DataFrame() if self._alive is None else self._alive.head(most)

    def on_batch(self, port: int, batch: Batch) -> Iterator[Message]:
        """Keep changes until their instant is over."""
        if batch.frame.height:
            self._waiting.append(batch.frame)
            if self._window.length is not None:  # a landmark is looked at until the last row, whatever else ends later
                times = ints(batch.frame.get_column(TS))
                self.saw(int(times.min()), int(times.max()))
        return iter(())

    def saw(self, first: int, last: int) -> None:
        """Hear of the times of rows, or of changes."""
        extent = int(_first_look(self._window, np.array([last]))[0])
        self._last = extent if self._last is None else max(self._last, extent)

    def on_punctuation(self, port: int, punctuation: Punctuation) -> Iterator[Message]:
        """Give what was alive at each instant that is over."""
        upto = self._last if punctuation.value == MAX_TIME else self._window.closed(punctuation.value)
        if self._last is not None and upto is not None and (self._said is None or upto > self._said):
            yield from self._look(upto)
        yield from super().on_punctuation(port, punctuation)

    def _look(self, upto: int) -> Iterator[Message]:
        changes = together(self._waiting).sort(TS, maintain_order=True) if self._waiting else None
        if changes is not None:
            now = _first_look(self._window, ints(changes.get_column(TS))) <= upto
            self._waiting = [] if now.all() else [changes.filter(pl.Series(~now))]
            changes = changes.filter(pl.Series(now))
        rows, ends = self._rows(changes)
        if rows is not None:
            first = _first_look(self._window, ints(rows.get_column(TS)))
            if self._said is not None:
                first = np.maximum(first, self._said + 1)
            after = np.minimum(_first_look(self._window, ends), upto + 1)
            self._alive = rows.filter(pl.Series(ends == MAX_TIME))
            yield from self._in_turn(rows, first, after, upto)
        self._said = upto
        self.control.holds(bytes_of(self._held()))

    def _rows(self, changes: pl.DataFrame | None) -> tuple[pl.DataFrame | None, Int64s]:
        """Those alive and those that have entered since, with when they leave."""
        if changes is None:
            count = 0 if self._alive is None else self._alive.height
            return self._alive, np.full(count, MAX_TIME)
        entering = changes.filter(pl.col(SIGN) > 0).drop(SIGN)
        rows = entering if self._alive is None else together([self._alive, entering])
        ends = np.full(rows.height, MAX_TIME)
        at, when = taken_back(rows, changes.filter(pl.col(SIGN) < 0).drop(SIGN))
        ends[at] = when
        return rows, ends

    def _in_turn(self, rows: pl.DataFrame, first: Int64s, after: Int64s, upto: int) -> Iterator[Message]:
        """Extents of many rows one after the other, so that what comes behind keeps few at once."""
        count = int(np.maximum(after - first, 0).sum())
        if count <= _MOST:
            yield from _given(rows, first, after, self._window)
            return
        start = int(first.min())
        step = max(1, (upto + 1 - start) * _MOST // count)
        for low in range(start, upto + 1, step):
            high = min(low + step, upto + 1)
            concerned = (first < high) & (after > low)
            here, begin, end = rows.filter(pl.Series(concerned)), first[concerned], after[concerned]
            yield from _given(here, np.maximum(begin, low), np.minimum(end, high), self._window)
            yield Punctuation(self._window.end(high - 1))

    def _held(self) -> list[pl.DataFrame]:
        return self._waiting if self._alive is None else [*self._waiting, self._alive]

    def recalls(self) -> Recall | None:
        """The rows of the relation."""
        return Recall(earliest(self._held()))


def _first_look(window: TimeWindow, times: Int64s) -> Int64s:
    """The number of the first extent that looks at each time or after it."""
    return window.schedule.closed(np.minimum(times, MAX_TIME - window.slide)) + 1


def _given(rows: pl.DataFrame, first: Int64s, after: Int64s, window: TimeWindow) -> Iterator[Message]:
    """Each row once for each of the extents from `first` to before `after`, at the time that looks."""
    for row, extent in walked(first, after, _MOST):
        yield Batch(rows[pl.Series(row)].with_columns(pl.Series(TS, window.ends(extent) - 1)))


__all__ = ["LivesAtInstants", "RelationAtInstants"]
