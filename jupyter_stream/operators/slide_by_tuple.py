"""Slide-by-tuple aggregation: an extent for each row, or each n-th, answered in one pass (window-queries thesis §5.2, §6.1.4).

Order-agnostic: a row goes into the bin of its time, wherever that lies; an extent is final when the punctuation has passed the
row that ends it. Time logic is here; `state.bins` holds the values, `state.tuple_extents` the rows that end extents.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from jupyter_stream.core.control import ControlTable
from jupyter_stream.core.messages import (
    BROKEN,
    LATE_ID,
    TS,
    WINDOW_END,
    WINDOW_ID,
    WINDOW_START,
    Batch,
    Failed,
    Int64s,
    Message,
    Missed,
    Punctuation,
    Tick,
    ints,
)
from jupyter_stream.core.schema import TIMESTAMP
from jupyter_stream.core.time import MAX_TIME, MIN_TIME
from jupyter_stream.functions.expression import Expr
from jupyter_stream.operators.evaluate import Evaluator
from jupyter_stream.plan.folds import describe_bins
from jupyter_stream.plan.logical import Aggregate, Derived, Over, Plan, walk
from jupyter_stream.state.bins import Bins, Found
from jupyter_stream.state.group_aggregate import GroupAggregate
from jupyter_stream.state.tuple_extents import Ends, TupleExtents
from jupyter_stream.windows import TupleWindow

_OUT_ROWS = 65_536


@dataclass(frozen=True)
class SlideByTupleConfig:
    """What a slide-by-tuple aggregate computes.

    Attributes:
        window: RANGE, and which rows end an extent.
        keys: (output name, expression, type) of the grouping columns.
        inputs: expressions of arguments and FILTER conditions.
        aggregates: over those inputs, by index.
        integer_time: whether the windowing attribute is an integer rather than a TIMESTAMP.
        provisional: whether it answers ticks.
    """

    window: TupleWindow
    keys: tuple[tuple[str, Expr, pl.DataType], ...]
    inputs: tuple[Expr, ...]
    aggregates: tuple[GroupAggregate, ...]
    integer_time: bool = False
    provisional: bool = False


class SlideByTuple:
    """Answers per extent and group; rows of equal time that end extents give equal answers, each its own.

    Rows are numbered among those that reach the operator in time and that no expression fails on. Late rows are not used; they
    are told with the number of final extents they would have been in, or without one where they are a RANGE or more behind.
    """

    def __init__(self, config: SlideByTupleConfig) -> None:
        ways = describe_bins((a.function.name, a.form) for a in config.aggregates)
        self.control = ControlTable(f"window aggregate {config.window}" + (f"; {ways}" if ways else ""))
        self._config = config
        self._window = config.window
        self._evaluator = Evaluator([e for _, e, _ in config.keys] + list(config.inputs))
        self._bins = Bins(config.window.range, [(n, t) for n, _, t in config.keys], config.aggregates)
        self._extents = TupleExtents(config.window.range, config.window.every, config.window.by_rank)
        self.synopses = [*self._bins.tables, ControlTable("ends of extents")]
        self._reached = MIN_TIME

    @property
    def bin_times(self) -> list[int]:
        """The times of the bins held, microseconds, each once and in order; for those who draw them."""
        return self._bins.times

    def head(self, most: int) -> pl.DataFrame:
        """The oldest bins: of which group, at which time."""
        return self._bins.head(most)

    def on_batch(self, port: int, batch: Batch) -> Iterator[Message]:
        """Put rows into their bins; late ones are told."""
        frame = batch.frame
        ts = ints(frame.get_column(TS))
        broken = np.full(ts.size, self._reached)
        if BROKEN in frame.columns:
            np.maximum(broken, ints(frame.get_column(BROKEN).fill_null(MIN_TIME)), out=broken)
        late = ts < broken
        in_time = frame.filter(pl.Series(~late)) if late.any() else frame
        if in_time.height:
            yield from self._take(in_time)
        if late.any():
            # after the others: whatever ended before the punctuation a row broke had come before it
            yield from self._tell(frame.filter(pl.Series(late)), broken[late])
        self._report()

    def _take(self, frame: pl.DataFrame) -> Iterator[Message]:
        frame, columns, failed = self._evaluator.evaluate(frame)
        if failed is not None:
            yield failed
        if frame.height:
            keys = len(self._config.keys)
            ts = ints(frame.get_column(TS))
            self._bins.add(ts, columns[:keys], columns[keys:])
            self._extents.add(ts)

    def _tell(self, late: pl.DataFrame, broken: Int64s) -> Iterator[Message]:
        self.control.late_rows += late.height
        if LATE_ID not in late.columns:
            return
        missed, known = self._extents.missed(ints(late.get_column(TS)), broken)
        known &= late.get_column(LATE_ID).is_not_null().to_numpy()
        ids = late.get_column(LATE_ID)
        if known.any():
            yield Missed(ints(ids.filter(pl.Series(known))), missed[known])
        rest = ids.filter(pl.Series(~known)).drop_nulls()
        if len(rest):
            yield Missed(ints(rest), None)

    def on_punctuation(self, port: int, punctuation: Punctuation) -> Iterator[Message]:
        """Give the extents it makes final, and pass it on: rows to come end theirs no earlier."""
        until = punctuation.value
        if until <= self._reached:
            return
        self._reached = until
        self._bins.complete(until)
        ends = self._extents.before(until)
        for found in self._answers(self._bins, ends):
            yield from found
        self._extents.complete(until, ends)
        self._bins.expire(until if until == MAX_TIME else until - self._window.range)
        self.control.low_watermark = until
        self._report()
        yield punctuation

    def on_tick(self, tick: Tick) -> Iterator[Message]:
        """Provisional answers of all extents that are not final, as one snapshot."""
        if self._config.provisional:
            bins = self._bins.snapshot()
            bins.complete(MAX_TIME)
            frames = []
            for messages in self._answers(bins, self._extents.before(MAX_TIME)):
                for message in messages:
                    if isinstance(message, Batch):
                        frames.append(message.frame)
                    else:
                        yield message
            nothing = Ends(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int64))
            frames = frames or [self._frame(bins.read(nothing.times), nothing)]
            yield Batch(pl.concat(frames), provisional=tick.at)
        yield tick

    def _answers(self, bins: Bins, ends: Ends) -> Iterator[Iterator[Message]]:
        done = given = 0
        for times in bins.batches(ends.times):
            counts = ends.counts[done : done + times.size]
            rows = int(counts.sum())
            yield self._give(bins.read(times), Ends(times, counts, ends.ids[given : given + rows]))
            done, given = done + times.size, given + rows

    def _give(self, found: Found, ends: Ends) -> Iterator[Message]:
        frame = self._frame(found, ends)
        if found.beyond is not None:
            wrong = found.beyond.gather(pl.Series(_repeated(found.extents, ends)[0]))
            bad = frame.filter(wrong.is_not_null())
            reasons = ["a sum is beyond BIGINT"] * bad.height
            yield Failed(bad.drop([a.name for a in self._config.aggregates]), pl.Series(reasons))
            frame = frame.filter(wrong.is_null())
        for piece in frame.iter_slices(_OUT_ROWS):
            yield Batch(piece)

    def _frame(self, found: Found, ends: Ends) -> pl.DataFrame:
        """Result rows: each answer as often as rows of its time end an extent."""
        rows, which = _repeated(found.extents, ends)
        columns = [c.alias(n) for c, (n, _, _) in zip(found.keys, self._config.keys, strict=True)] + found.answers
        if rows.size != found.extents.size:
            columns = [c.gather(pl.Series(rows)) for c in columns]
        times = ends.times[found.extents[rows]]
        dtype = pl.Int64() if self._config.integer_time else TIMESTAMP
        system = [
            pl.Series(WINDOW_START, times - self._window.range).cast(dtype),
            pl.Series(WINDOW_END, times).cast(dtype),
            pl.Series(WINDOW_ID, ends.ids[which]),
            pl.Series(TS, times),
        ]
        return pl.DataFrame([*columns, *system])

    def _report(self) -> None:
        self.synopses[-1].holds(self._extents.bytes)
        self.control.holds(self._bins.report() + self._extents.bytes)
        self.control.extra["live_groups"] = self._bins.live
        self.control.extra["bins"] = self._bins.size
        if (following := self._extents.next_end) is not None:
            self.control.extra["next_final"] = following + 1
        else:
            self.control.extra.pop("next_final", None)

    def check(self) -> None:
        """Raise AssertionError where an invariant is broken."""
        self._bins.check()


def _repeated(extents: Int64s, ends: Ends) -> tuple[Int64s, Int64s]:
    """For each result row: the answer it is, and which of the extents' numbers it has. Extent by extent."""
    if ends.ids.size == ends.times.size:
        return np.arange(extents.size), extents
    counts = ends.counts[extents]
    rows = np.repeat(np.arange(extents.size), counts)
    nth = np.arange(rows.size) - np.repeat(np.cumsum(counts) - counts, counts)
    return rows, (np.cumsum(ends.counts) - ends.counts)[extents[rows]] + nth


def in_time_order(plan: Plan) -> bool:
    """Whether a plan's rows are numbered in the order of their times, as those of derived streams are."""
    return any(isinstance(node, Derived | Aggregate | Over) for node in walk(plan))


__all__ = ["SlideByTuple", "SlideByTupleConfig", "in_time_order"]
