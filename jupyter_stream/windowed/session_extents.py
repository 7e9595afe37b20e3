"""Sessions, merged under disorder: rows closer than a gap share an extent, whatever order they come in.

As the session windows of the Dataflow model (Akidau et al., VLDB 2015, §2.2), but a late row says what it missed. Which sessions
there are is the business of `partials.sessions`; here they become steps of an aggregate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from jupyter_stream.arrays.order import order_of
from jupyter_stream.core.axis import plus
from jupyter_stream.core.messages import TS, WINDOW_END, WINDOW_ID, WINDOW_START, Int64s, ints
from jupyter_stream.core.time import MAX_TIME, MIN_TIME
from jupyter_stream.flow.protocol import Recall
from jupyter_stream.keys.partitioned import PartitionedSlots
from jupyter_stream.partials.cell_arrays import CellArrays
from jupyter_stream.partials.cells import Cells, Merge
from jupyter_stream.partials.group_aggregate import GroupAggregate, GroupBy
from jupyter_stream.partials.sessions import NONE, Intervals, SessionIntervals, renumber
from jupyter_stream.partials.store import SLOT, PartialStore
from jupyter_stream.windowed.extent_aggregate import ExtentAggregate, KeyedExtentAggregate
from jupyter_stream.windowed.extents import Changed, Due, ExtentStep, KeyedExtents, Missing, Placed
from jupyter_stream.windows import SessionWindow

SESSION = "session"
_FIRST = "$first"


class SessionExtents(KeyedExtents):
    """Sessions of every partition.

    Args:
        gap: rows less than that apart are in one, microseconds.
        time: type of the windowing attribute.
        keyed: whether promises may be for single partitions.
    """

    by = (SESSION, SLOT)
    at = SESSION
    holds = "sessions"

    def __init__(self, gap: int, time: pl.DataType, keyed: bool) -> None:
        self._gap = gap
        self._time = time
        self._keyed = keyed
        self._intervals = SessionIntervals(gap)
        self._reached = MIN_TIME

    @property
    def bytes(self) -> int:
        return self._intervals.bytes

    def counts(self) -> dict[str, int]:
        return {"open_sessions": self._intervals.open.slot.size}

    def head(self, most: int) -> tuple[Int64s, list[pl.Series]]:
        """Of which keys, from when, until when so far."""
        held = self._intervals.open
        times = [("first row", held.first), ("newest row", held.last)]
        return held.slot[:most], [pl.Series(name, values[:most]).cast(self._time) for name, values in times]

    # -- rows --------------------------------------------------------------------------------------------------------

    def take(self, partitions: Int64s, ts: Int64s, broken: Int64s | None) -> Iterator[ExtentStep]:
        if broken is None or (broken == MIN_TIME).all():
            numbers, joined = self._intervals.take(partitions, ts)
            yield from _renumbered(joined)
            yield Placed(numbers)
            return
        # only in partitions that have a late row in this batch does it matter what is final between two rows
        behind = np.isin(partitions, partitions[broken != MIN_TIME])
        numbers = np.full(ts.size, NONE)
        missed = np.zeros(ts.size, np.int64)
        numbers[behind], joined, missed[behind] = self._intervals.take_late(
            partitions[behind], ts[behind], broken[behind]
        )
        yield from _renumbered(joined)
        if not behind.all():
            numbers[~behind], joined = self._intervals.take(partitions[~behind], ts[~behind])
            yield from _renumbered(joined)
        if missed.any():
            yield Missing(missed > 0, missed)
        yield Placed(numbers, numbers != NONE)
        # what was final when late rows came, by the promises these broke
        if self._keyed:
            promised = np.full(int(partitions.max()) + 1, self._reached)
            np.maximum.at(promised, partitions, broken)
            yield from self._finish(self._intervals.close_each(self._fit(promised)))
        else:
            yield from self._finish(self._intervals.close(int(broken.max())))

    # -- time --------------------------------------------------------------------------------------------------------

    def punctuate(self, value: int) -> Iterator[ExtentStep]:
        if value > self._reached:
            self._reached = value
            yield from self._finish(self._intervals.close(value))

    def promise(self, promised: Int64s) -> Iterator[ExtentStep]:
        yield from self._finish(self._intervals.close_each(self._fit(np.maximum(promised, self._reached))))

    def _fit(self, promised: Int64s) -> Int64s:
        """Long enough for every partition that has a session, or had one."""
        slots = max(int(s.slot.max(initial=-1)) for s in (self._intervals.open, self._intervals.past)) + 1
        return np.append(promised, np.full(max(0, slots - promised.size), self._reached))

    def said(self, value: int) -> int:
        return value

    def _finish(self, done: Intervals) -> Iterator[ExtentStep]:
        """Give sessions that are open no more."""
        if not done.slot.size:
            return
        yield self._due(done)
        yield Changed(SessionsGone(done.number, every=not self._intervals.open.slot.size))

    def open(self) -> Due:
        return self._due(self._intervals.open)

    def _due(self, sessions: Intervals) -> Due:
        ends = plus(sessions.last, self._gap - 1)
        order = order_of(ends, sessions.first)
        numbers, first, ends = sessions.number[order], sessions.first[order], ends[order]
        bounds = [pl.Series(_FIRST, first), pl.Series(TS, ends)]

        def ordered(answers: pl.DataFrame) -> pl.DataFrame:
            if np.array_equal(ints(answers.get_column(SESSION)), numbers):  # one group in each, in order already
                return answers.hstack(bounds)
            known = pl.DataFrame([pl.Series(SESSION, numbers), *bounds])
            return known.join(answers, on=SESSION, how="inner", maintain_order="left_right")

        return Due([SessionsPicked(numbers)], ordered)

    def bounded(self, answers: pl.DataFrame) -> pl.DataFrame:
        start, end = answers.get_column(_FIRST).cast(self._time), (answers.get_column(TS) + 1).cast(self._time)
        no_order = pl.Series(WINDOW_ID, [None], dtype=pl.Int64()).new_from_index(0, answers.height)
        return answers.hstack([start.alias(WINDOW_START), end.alias(WINDOW_END), no_order])

    # -- state -------------------------------------------------------------------------------------------------------

    def recalls(self) -> Recall:
        """The sessions that are open, and those a late row may yet meet."""
        sessions = (self._intervals.open, self._intervals.past)
        return Recall(min(int(s.first.min(initial=MAX_TIME)) for s in sessions))

    def remembered(self) -> Int64s:
        return self._intervals.past.slot

    def check(self, held: Int64s) -> None:
        assert set(held.tolist()) == set(self._intervals.open.number.tolist())


@dataclass(frozen=True)
class SessionsJoined:
    """Sessions are part of others: they have their numbers."""

    old: Int64s
    new: Int64s

    def __call__(self, partials: pl.DataFrame) -> pl.DataFrame:
        """Of partial results in frames."""
        numbers = renumber(ints(partials.get_column(SESSION)), self.old, self.new)
        return partials.with_columns(pl.Series(SESSION, numbers))


@dataclass(frozen=True)
class SessionsGone:
    """Sessions have been answered.

    Attributes:
        old: their numbers.
        every: whether none is left.
        new: they are part of no others.
    """

    old: Int64s
    every: bool
    new: None = None

    def __call__(self, partials: pl.DataFrame) -> pl.DataFrame:
        """Of partial results in frames."""
        if self.every:
            return partials.clear()
        return partials.join(pl.DataFrame({SESSION: self.old}), on=SESSION, how="anti", maintain_order="left")


@dataclass(frozen=True)
class SessionsPicked:
    """Sessions are answered."""

    numbers: Int64s

    def __call__(self, partials: pl.DataFrame, merge: Merge) -> pl.DataFrame:
        """Of partial results in frames."""
        return partials.join(pl.DataFrame({SESSION: self.numbers}), on=SESSION, how="semi", maintain_order="left")


def _renumbered(joined: dict[int, int]) -> Iterator[ExtentStep]:
    if joined:
        yield Changed(SessionsJoined(np.array(list(joined)), np.array(list(joined.values()))))


def session_aggregate(
    window: SessionWindow,
    computed: GroupBy,
    partition: tuple[int, ...],
    provisional: bool = False,
    key: int | None = None,
) -> ExtentAggregate:
    """Aggregates over sessions.

    Args:
        window: the gap.
        computed: the keys, and what is computed.
        partition: the keys that have sessions of their own, by index; empty for sessions of all rows.
        provisional: whether ticks are answered.
        key: the one of them that punctuations may speak of; None for none.
    """
    name = f"session aggregate {window} by merging sessions"
    slots = PartitionedSlots(computed.types, partition)
    extents = SessionExtents(window.gap, computed.time, key is not None)
    # where a session is of one group, and all that is computed is numbers, the session's number is a place in arrays
    arrays = not slots.rest and CellArrays.takes(computed.aggregates)
    store: Callable[[Sequence[GroupAggregate], str], PartialStore] = CellArrays if arrays else Cells
    if key is None:
        return ExtentAggregate(name, computed, slots, extents, provisional, store=store)
    name += f", final for each {computed.keys[key][0]} on its own"
    return KeyedExtentAggregate(name, computed, slots, extents, provisional, partition.index(key), store)


__all__ = ["session_aggregate"]
