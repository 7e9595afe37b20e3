"""Extents that rows end, each or each n-th: `[RANGE d SLIDE 1 ROW]` (slide-by-tuple, window-queries thesis §5.2, §6.1.4).

Order-agnostic: a row goes into the bin of its time, wherever that lies; an extent is final when the punctuation has passed the
row that ends it. Which rows those are is the business of `partials.tuple_ends`. Rows are numbered among those that reach the
operator in time and that no expression fails on; late ones are not used.

Partial results are kept in arrays, `partials.bins`. Kept in frames, each answer copies those in its RANGE: count, sum and maximum
by 100 keys over a second, every 100 rows, took 27 times as long (15 and 0.55 µs of processor time a row).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from jupyter_stream.arrays.rows import frame_of, gathered
from jupyter_stream.arrays.walking import nth
from jupyter_stream.core.axis import plus
from jupyter_stream.core.messages import TS, WINDOW_END, WINDOW_ID, WINDOW_START, Int64s, ints
from jupyter_stream.core.time import MAX_TIME, MIN_TIME
from jupyter_stream.keys.partitioned import PartitionedSlots
from jupyter_stream.partials.bins import Bins, TimeEnds
from jupyter_stream.partials.frame_bins import BIN
from jupyter_stream.partials.group_aggregate import GroupBy
from jupyter_stream.partials.store import SLOT
from jupyter_stream.partials.tuple_ends import ExtentEnds, TupleEnds
from jupyter_stream.plan.folds import describe_bins
from jupyter_stream.windowed.extent_aggregate import ExtentAggregate
from jupyter_stream.windowed.extents import Changed, Due, ExtentStep, Missing, Placed, TimedExtents
from jupyter_stream.windows import TupleWindow

_ENDED = "$ended"


class TupleExtents(TimedExtents):
    """Extents of rows; those that rows of equal time end have equal answers, each its own.

    Late rows are told with the number of final extents they would have been in, or without one where they are a RANGE or more
    behind.

    Args:
        window: RANGE, and which rows end an extent.
        time: type of the windowing attribute.
    """

    by = (SLOT, _ENDED)
    at = BIN
    holds = "ends of extents"

    def __init__(self, window: TupleWindow, time: pl.DataType) -> None:
        self._range = window.range
        self._time = time
        self._ends = TupleEnds(window.range, window.every, window.by_rank)
        self._reached = MIN_TIME

    @property
    def bytes(self) -> int:
        return self._ends.bytes

    def counts(self) -> dict[str, int]:
        following = self._ends.next_end
        return {} if following is None else {"next_final": following + 1}

    def take(self, partitions: Int64s, ts: Int64s, broken: Int64s | None) -> Iterator[ExtentStep]:
        broken = np.full(ts.size, self._reached) if broken is None else np.maximum(broken, self._reached)
        late = ts < broken
        if not late.all():
            self._ends.add(ts[~late])
            yield Placed(ts, ~late)
        if late.any():
            # after the others: whatever ended before the punctuation a row broke had come before it
            missed, known = np.zeros(ts.size, np.int64), np.zeros(ts.size, np.bool_)
            missed[late], known[late] = self._ends.missed(ts[late], broken[late])
            yield Missing(late & known, missed)
            yield Missing(late & ~known, None)

    def punctuate(self, value: int) -> Iterator[ExtentStep]:
        if value <= self._reached:
            return
        self._reached = value
        ends = self._ends.before(value)
        if ends.times.size:
            yield self._due(ends, value)
        self._ends.complete(value, ends)
        yield Changed(value)

    def said(self, value: int) -> int:
        return value  # rows to come end theirs no earlier

    def open(self) -> Due:
        return self._due(self._ends.before(MAX_TIME), MAX_TIME)

    def _due(self, ends: ExtentEnds, until: int) -> Due:
        def ordered(answers: pl.DataFrame) -> pl.DataFrame:
            """Each answer as often as rows of its time end an extent."""
            rows, ended, which = _repeated(ints(answers.get_column(_ENDED)), ends)
            columns = [column for column in answers.get_columns() if column.name != _ENDED]
            if rows.size != answers.height:
                # one after the other: all together they would go through Polars' threads, which spin for a while after that
                columns = [gathered(column, rows) for column in columns]
            return frame_of([*columns, pl.Series(TS, ends.times[ended]), pl.Series(WINDOW_ID, ends.ids[which])])

        return Due([TimeEnds(ends.times, until)], ordered)

    def bounded(self, answers: pl.DataFrame) -> pl.DataFrame:
        ends = ints(answers.get_column(TS))
        bounds = ((WINDOW_START, plus(ends, -self._range)), (WINDOW_END, ends))
        return answers.hstack([pl.Series(name, times).cast(self._time) for name, times in bounds])


def _repeated(extents: Int64s, ends: ExtentEnds) -> tuple[Int64s, Int64s, Int64s]:
    """For each result row: the answer it is, the time that ends its extent, and which of the extents' numbers it has."""
    if ends.ids.size == ends.times.size:
        return np.arange(extents.size), extents, extents
    if extents.size == ends.times.size and (np.diff(extents) == 1).all():  # one answer for each time
        rows = np.repeat(extents, ends.counts)
        return rows, rows, np.arange(ends.ids.size)
    counts = ends.counts[extents]
    rows = np.repeat(np.arange(extents.size), counts)
    ended = extents[rows]
    return rows, ended, (np.cumsum(ends.counts) - ends.counts)[ended] + nth(counts)


def slide_by_tuple(window: TupleWindow, computed: GroupBy, provisional: bool = False) -> ExtentAggregate:
    """Aggregates over extents that rows end.

    Args:
        window: RANGE, and which rows end an extent.
        computed: the keys, and what is computed.
        provisional: whether ticks are answered.
    """
    ways = describe_bins((a.function.name, a.form) for a in computed.aggregates)
    return ExtentAggregate(
        f"window aggregate {window}" + (f"; {ways}" if ways else ""),
        computed,
        PartitionedSlots(computed.types, ()),
        TupleExtents(window, computed.time),
        provisional,
        store=lambda made, _: Bins(window.range, made, bool(computed.keys)),
    )


__all__ = ["slide_by_tuple"]
