"""Joins of two streams: OA-Join (window-queries thesis §7): no order, no output buffer, pairs given when the later row arrives.

A row is kept while the other input may still bring a partner: until that input's punctuation has passed the last time a partner
could have. Rows without one are padded, or passed by an anti join, when that is certain.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from jupyter_stream.core.control import ControlTable
from jupyter_stream.core.messages import (
    BROKEN,
    LATE_ID,
    TS,
    UNTIL,
    Batch,
    Failed,
    Int64s,
    Message,
    Missed,
    Punctuation,
    Tick,
    ints,
)
from jupyter_stream.core.schema import Schema
from jupyter_stream.core.time import MAX_TIME, MIN_TIME
from jupyter_stream.functions.expression import Expr
from jupyter_stream.operators.evaluate import Evaluator
from jupyter_stream.plan.logical import JoinKind
from jupyter_stream.state.runs import Run, Runs
from jupyter_stream.state.slots import KeySlots

Bools = NDArray[np.bool_]
_PAIRS = 1 << 19
"""Pairs made at a time."""
_CHECK_ABOVE = 1024


@dataclass(frozen=True)
class WindowJoinConfig:
    """Which rows meet.

    Attributes:
        kind: as of `plan.logical.Join`.
        left: the left rows' columns.
        right: the right rows' columns.
        right_names: what these are called in the joined row.
        schema: the joined row's columns.
        keys: pairs of expressions that are to be equal.
        residual: a further condition over the joined row, None without.
        low: least right time minus left time, None for no bound.
        high: the greatest.
        lifetimes: how long rows of each side live, microseconds, None for ever: joined rows live while both do.
    """

    kind: JoinKind
    left: Schema
    right: Schema
    right_names: tuple[str, ...]
    schema: Schema
    keys: tuple[tuple[Expr, Expr], ...]
    residual: Expr | None
    low: int | None
    high: int | None
    lifetimes: tuple[int | None, int | None]


class WindowJoin:
    """Pairs of rows that meet; `$ts` is the later of their times, `$until` the earlier end of their lifetimes."""

    def __init__(self, config: WindowJoinConfig) -> None:
        self.control = ControlTable(f"{config.kind} join")
        self.synopses = [ControlTable("left rows"), ControlTable("right rows")]
        self._config = config
        self._evaluators = [Evaluator([pair[side] for pair in config.keys]) for side in (0, 1)]
        self._residual = None if config.residual is None else Evaluator([config.residual])
        self._slots = KeySlots([(f"{i}", k.dtype) for i, (k, _) in enumerate(config.keys)]) if config.keys else None
        self._sides = (Runs(), Runs())
        self._reached = [MIN_TIME, MIN_TIME]
        self._said = MIN_TIME
        self._checked = 0
        self._pads = (config.kind in ("left", "full"), config.kind in ("right", "full"))
        # how long a row waits: for partners on the other side whose time is at most so much greater than its own
        self._waits = (config.high, None if config.low is None else -config.low)
        self._names = (config.left.names, config.right.names)

    # -- rows --------------------------------------------------------------------------------------------------------

    def on_batch(self, port: int, batch: Batch) -> Iterator[Message]:
        """Give the pairs the rows make with what is kept; keep those that may find more."""
        frame = batch.frame
        late = frame.get_column(TS) < self._reached[port]
        if BROKEN in frame.columns:
            late |= (frame.get_column(TS) < frame.get_column(BROKEN)).fill_null(False)
        if late.any():
            missed = frame.filter(late)
            self.control.late_rows += missed.height
            if LATE_ID in missed.columns:
                yield Missed(ints(missed.get_column(LATE_ID).drop_nulls()), None)
            frame = frame.filter(~late)
        if not frame.height:
            return
        frame, keys, failed = self._evaluators[port].evaluate(frame)
        if failed is not None:
            yield failed
        if not frame.height:
            return
        frame = self._with_lifetimes(port, frame)
        slots, null = self._encode(keys, frame.height)
        if null.any():  # NULL equals nothing: no partner, ever
            yield from self._alone(port, frame.filter(pl.Series(null)))
            frame, slots = frame.filter(pl.Series(~null)), slots[~null]
        if not frame.height:
            return
        times = ints(frame.get_column(TS))
        matched = np.zeros(frame.height, np.bool_)
        for run in self._sides[1 - port].runs:
            yield from self._meet(port, frame, slots, times, matched, run)
        self._keep(port, frame, slots, times, matched)
        yield from self._past(port, frame, times, matched)
        self._report()

    def _with_lifetimes(self, port: int, frame: pl.DataFrame) -> pl.DataFrame:
        """The columns a joined row needs, `$ts`, and the end of the row's lifetime."""
        if UNTIL not in frame.columns:
            length = self._config.lifetimes[port]
            until = pl.lit(MAX_TIME, pl.Int64()) if length is None else pl.col(TS) + length
            frame = frame.with_columns(until.alias(UNTIL))
        schema = self._config.right if port else self._config.left
        absent = [f for f in schema if f.name not in frame.columns]  # the query doesn't need them, so nobody read them
        if absent:
            frame = frame.with_columns(pl.lit(None, f.dtype).alias(f.name) for f in absent)
        return frame.select(*self._names[port], TS, UNTIL)

    def _encode(self, keys: list[pl.Series], rows: int) -> tuple[Int64s, Bools]:
        null = np.zeros(rows, np.bool_)
        if self._slots is None:
            return np.zeros(rows, np.int64), null
        for key in keys:
            if key.null_count():
                null |= key.is_null().to_numpy()
        if not null.any():
            return self._slots.encode(keys), null
        slots = np.zeros(rows, np.int64)
        there = pl.Series(~null)
        if (~null).any():
            slots[~null] = self._slots.encode([k.filter(there) for k in keys])
        return slots, null

    def _meet(
        self, port: int, frame: pl.DataFrame, slots: Int64s, times: Int64s, matched: Bools, run: Run
    ) -> Iterator[Message]:
        """Pairs of new rows and a run of the other side."""
        low, high = self._config.low, self._config.high
        if port == 1:  # seen from the right, differences are the other way round
            low, high = (None if high is None else -high), (None if low is None else -low)
        first = None if low is None else times + low
        last = None if high is None else times + high
        begin, end = run.find(slots, first, last)
        counts = end - begin
        some = np.flatnonzero(counts)
        totals = np.cumsum(counts[some])
        at = 0
        while at < some.size:
            done = int(totals[at - 1]) if at else 0
            stop = max(at + 1, int(np.searchsorted(totals, done + _PAIRS, "right")))
            chosen = some[at:stop]
            sizes = counts[chosen]
            new = np.repeat(chosen, sizes)
            old = np.arange(new.size) - np.repeat(np.cumsum(sizes) - sizes, sizes) + np.repeat(begin[chosen], sizes)
            yield from self._pairs(port, frame, times, matched, run, new, old)
            at = stop

    def _pairs(
        self, port: int, frame: pl.DataFrame, times: Int64s, matched: Bools, run: Run, new: Int64s, old: Int64s
    ) -> Iterator[Message]:
        mine, theirs = frame[pl.Series(new)], run.frame[pl.Series(old)]
        left, right = (mine, theirs) if port == 0 else (theirs, mine)
        lefts, rights = ints(left.get_column(TS)), ints(right.get_column(TS))
        difference = rights - lefts
        meets = np.ones(difference.size, np.bool_)
        if self._config.low is not None:
            meets &= difference >= self._config.low
        if self._config.high is not None:
            meets &= difference <= self._config.high
        # what was joined before lives as long as all its parts
        meets &= (rights < ints(left.get_column(UNTIL))) & (lefts < ints(right.get_column(UNTIL)))
        if not meets.all():
            kept = pl.Series(meets)
            left, right, new, old = left.filter(kept), right.filter(kept), new[meets], old[meets]
        if not new.size:
            return
        joined = self._joined(left, right)
        if self._residual is not None:
            joined = joined.with_columns(pl.Series("$new", new), pl.Series("$old", old))
            joined, (true,), failed = self._residual.evaluate(joined)
            if failed is not None:
                yield Failed(failed.frame.drop("$new", "$old"), failed.reasons)
            joined = joined.filter(true.fill_null(False))
            new, old = ints(joined.get_column("$new")), ints(joined.get_column("$old"))
            joined = joined.drop("$new", "$old")
        if self._config.kind in ("semi", "anti"):
            yield from self._first_matches(port, frame, matched, run, new, old)
        elif joined.height:
            yield Batch(joined)
        matched[new] = True
        run.matched[old] = True

    def _joined(self, left: pl.DataFrame, right: pl.DataFrame) -> pl.DataFrame:
        names = dict(zip(self._config.right.names, self._config.right_names, strict=True))
        columns = [left.get_column(n) for n in self._names[0]]
        columns += [right.get_column(n).alias(names[n]) for n in self._names[1]]
        later = np.maximum(ints(left.get_column(TS)), ints(right.get_column(TS)))
        until = np.minimum(ints(left.get_column(UNTIL)), ints(right.get_column(UNTIL)))
        return pl.DataFrame([*columns, pl.Series(TS, later), pl.Series(UNTIL, until)])

    def _first_matches(
        self, port: int, frame: pl.DataFrame, matched: Bools, run: Run, new: Int64s, old: Int64s
    ) -> Iterator[Message]:
        """Semi: left rows that find their first partner."""
        if self._config.kind != "semi" or not new.size:
            return
        found, flags, source = (
            (np.unique(new), matched, frame) if port == 0 else (np.unique(old), run.matched, run.frame)
        )
        found = found[~flags[found]]
        if found.size:
            yield Batch(source[pl.Series(found)])

    # -- keeping and letting go ----------------------------------------------------------------------------------------

    def _keep(self, port: int, frame: pl.DataFrame, slots: Int64s, times: Int64s, matched: Bools) -> None:
        """Store rows that may still find partners. A semi join's left rows need one only."""
        may = times >= self._needed_from(port)
        if self._config.kind == "semi" and port == 0:
            may &= ~matched
        if may.all():
            self._sides[port].add(frame, slots, times, matched)
        elif may.any():
            self._sides[port].add(frame.filter(pl.Series(may)), slots[may], times[may], matched[may])

    def _past(self, port: int, frame: pl.DataFrame, times: Int64s, matched: Bools) -> Iterator[Message]:
        """New rows that can find no partner any more and have found none."""
        alone = ~matched & (times < self._needed_from(port))
        if alone.any():
            yield from self._alone(port, frame.filter(pl.Series(alone)))

    def _needed_from(self, port: int) -> int:
        """Rows of an input before this time find no partner any more: the other's punctuation has passed them all."""
        reached, wait = self._reached[1 - port], self._waits[port]
        if reached in (MIN_TIME, MAX_TIME):
            return reached
        return MIN_TIME if wait is None else reached - wait

    def _alone(self, port: int, rows: pl.DataFrame) -> Iterator[Message]:
        """Rows that never had a partner."""
        if self._config.kind == "anti" and port == 0:
            yield Batch(rows)
        elif self._pads[port]:
            yield Batch(self._padded(port, rows))

    def _padded(self, port: int, rows: pl.DataFrame) -> pl.DataFrame:
        names = dict(zip(self._config.right.names, self._config.right_names, strict=True))
        if port == 0:
            columns = [rows.get_column(n) for n in self._names[0]]
            types = [(names[f.name], f.dtype) for f in self._config.right]
            columns += [pl.Series(n, [None], dtype=t).new_from_index(0, rows.height) for n, t in types]
        else:
            columns = [
                pl.Series(f.name, [None], dtype=f.dtype).new_from_index(0, rows.height) for f in self._config.left
            ]
            columns += [rows.get_column(n).alias(names[n]) for n in self._names[1]]
        return pl.DataFrame([*columns, rows.get_column(TS), rows.get_column(UNTIL)])

    def on_punctuation(self, port: int, punctuation: Punctuation) -> Iterator[Message]:
        """Let go of the other side's rows it says find no partner any more."""
        if punctuation.value <= self._reached[port]:
            return
        self._reached[port] = punctuation.value
        other = 1 - port
        before = self._needed_from(other)
        if before != MIN_TIME:
            tells = self._pads[other] or (self._config.kind == "anti" and other == 0)
            side = self._sides[other]
            for run in side.take(before) if tells or before == MAX_TIME else side.expire(before):
                if tells and not run.matched.all():
                    yield from self._alone(other, run.frame.filter(pl.Series(~run.matched)))
        self._forget()
        self._report()
        said = self._promise()
        if said > self._said:
            self._said = self.control.low_watermark = said
            yield Punctuation(said)

    def _promise(self) -> int:
        """Every joined row to come is at least this late; a row without partner comes when the other input has passed it."""
        said = min(self._reached)
        holds_back = [p for p in (0, 1) if self._pads[p]]
        if self._config.kind in ("semi", "anti"):
            holds_back = [0]
        for port in holds_back:
            said = min(said, self._needed_from(port))
        return said

    def on_tick(self, tick: Tick) -> Iterator[Message]:
        """Pass it on: pairs are given once."""
        yield tick

    def _forget(self) -> None:
        slots = self._slots
        if slots is None or slots.live < 2 * self._checked + _CHECK_ABOVE:
            return
        live = np.zeros(slots.capacity, np.bool_)
        for side in self._sides:
            side.live(live)
        slots.release(live)
        self._checked = slots.live

    def _report(self) -> None:
        for table, side in zip(self.synopses, self._sides, strict=True):
            table.holds(side.bytes)
            table.extra["rows"] = side.rows
        held = sum(side.bytes for side in self._sides) + (0 if self._slots is None else self._slots.bytes)
        self.control.holds(held)
        self.control.extra["kept_rows"] = sum(side.rows for side in self._sides)

    def check(self) -> None:
        """Raise AssertionError where an invariant is broken."""
        for side in self._sides:
            side.check()


__all__ = ["WindowJoin", "WindowJoinConfig"]
