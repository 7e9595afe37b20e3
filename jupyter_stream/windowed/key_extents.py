"""Extents of time, each final for one key at a time (group-wise linear punctuation, window-queries thesis §2.3).

Partial results are kept by group and pane in frames, from which those of a key can be taken out; where promises are for all
keys, `windowed.window_aggregate` does better.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import polars as pl

from jupyter_stream.arrays.growing import grown
from jupyter_stream.core.messages import Int64s, ints
from jupyter_stream.core.time import MAX_TIME, MIN_TIME
from jupyter_stream.keys.partitioned import PartitionedSlots
from jupyter_stream.partials.group_aggregate import GroupBy
from jupyter_stream.partials.spread import EXTENT, PANE, Spread
from jupyter_stream.partials.store import SLOT
from jupyter_stream.windowed.extent_aggregate import KeyedExtentAggregate
from jupyter_stream.windowed.extent_bounds import extent_bounds
from jupyter_stream.windowed.extents import Changed, Due, ExtentStep, KeyedExtents, Missing, Placed
from jupyter_stream.windows import TimeWindow

_NEVER = -(2**62)


class KeyExtents(KeyedExtents):
    """Extents of every key.

    Args:
        window: sliding or tumbling.
        time: type of the windowing attribute.
        key_of: the key of each group, by slot.
    """

    by = (SLOT, EXTENT)
    at = PANE
    holds = "extents given"

    def __init__(self, window: TimeWindow, time: pl.DataType, key_of: Callable[[Int64s], Int64s]) -> None:
        self._window = window
        self._time = time
        self._spread = Spread(window, key_of)
        self._given = np.empty(0, np.int64)  # of each key, the last extent given
        self._closed = _NEVER  # the last extent that is final for all keys
        self._newest = _NEVER  # the last pane with rows

    @property
    def bytes(self) -> int:
        return self._given.nbytes

    # -- rows --------------------------------------------------------------------------------------------------------

    def take(self, partitions: Int64s, ts: Int64s, broken: Int64s | None) -> Iterator[ExtentStep]:
        self._given = grown(self._given, int(partitions.max()) + 1, self._closed)
        panes = self._window.pane(ts)
        first, last = self._spread.extents_of(panes)
        usable, level = last >= first, np.full(ts.size, _NEVER)
        if broken is not None:
            late = broken != MIN_TIME
            judged = self._window.late(ts[late], broken[late], self._given[partitions[late]])
            missed = np.zeros(ts.size, np.int64)
            missed[late] = judged.missed
            if missed.any():
                yield Missing(missed > 0, missed)
            usable[late] &= judged.usable
            level[late] = np.where(judged.missed > 0, judged.final, _NEVER)
        # what a late row missed is given without it: those that missed nothing first, then by what was final when they came
        for at in np.unique(level[usable]).tolist():
            chosen = usable & (level == at)
            if at != _NEVER:
                target = np.full(self._given.size, _NEVER)
                target[partitions[chosen]] = at
                yield from self._close(target)
            self._newest = max(self._newest, int(panes[chosen].max()))
            yield Placed(panes, chosen)

    # -- time --------------------------------------------------------------------------------------------------------

    def punctuate(self, value: int) -> Iterator[ExtentStep]:
        closed = self._last() if value == MAX_TIME else self._window.closed(value)
        if closed > self._closed:
            self._closed = closed
            yield from self._close(np.full(self._given.size, min(closed, self._last())))

    def said(self, value: int) -> int:
        return MAX_TIME if value == MAX_TIME else self._window.end(self._window.closed(value) + 1) - 1

    def promise(self, promised: Int64s) -> Iterator[ExtentStep]:
        self._given = grown(self._given, promised.size, self._closed)
        target = np.full(self._given.size, _NEVER)
        some = np.flatnonzero(promised != MIN_TIME)
        target[some] = np.minimum(self._window.closed_each(promised[some]), max(self._last(), self._closed))
        yield from self._close(target)

    def answered(self, promised: Int64s) -> Int64s:
        return self._window.ends(self._window.closed_each(promised) + 1) - 1

    def _last(self) -> int:
        """The last extent that holds rows."""
        if self._newest == _NEVER:
            return self._closed
        last = self._window.last_extent(self._newest)
        assert last is not None
        return last

    def _close(self, target: Int64s) -> Iterator[ExtentStep]:
        """Give the extents of each key up to `target`, and free what only they needed."""
        target = np.maximum(target, self._given)
        if (target > self._given).any():
            yield self._due(target)
            self._given = target
            yield Changed(self._spread.beyond(target))

    def open(self) -> Due:
        return self._due(np.full(self._given.size, self._last()))

    def _due(self, last: Int64s) -> Due:
        return Due([self._spread.picks(self._given + 1, last)], lambda found: found.sort(EXTENT, maintain_order=True))

    def bounded(self, answers: pl.DataFrame) -> pl.DataFrame:
        return answers.hstack(extent_bounds(self._window, ints(answers.get_column(EXTENT)), self._time))

    # -- state -------------------------------------------------------------------------------------------------------

    def forgotten(self, live: Int64s) -> None:
        # whoever gets the slot of a key that is gone begins where all are: a late row says itself what was final for it
        given = np.full(self._given.size if live.size else 0, self._closed)
        given[live] = self._given[live]
        self._given = given


def keyed_windows(window: TimeWindow, computed: GroupBy, key: int, provisional: bool = False) -> KeyedExtentAggregate:
    """Aggregates over windows of time where punctuations speak of one grouping column.

    Args:
        window: sliding or tumbling.
        computed: the keys, and what is computed.
        key: which of the keys, by index.
        provisional: whether ticks are answered.
    """
    name = f"window aggregate {window}, final for each {computed.keys[key][0]} on its own, by pane merge"
    slots = PartitionedSlots(computed.types, (key,))
    extents = KeyExtents(window, computed.time, slots.partition_of)
    return KeyedExtentAggregate(name, computed, slots, extents, provisional, 0)


__all__ = ["keyed_windows"]
