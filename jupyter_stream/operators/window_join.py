"""Joins of two streams: OA-Join (window-queries thesis §7): no order, no output buffer, pairs given when the later row arrives.

A row is kept while the other input may still bring a partner: until that input's punctuation has passed the last time a partner
could have. Rows without one are padded, or passed by an anti join, when that is certain.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import polars as pl

from jupyter_stream.core.control import ControlTable
from jupyter_stream.core.messages import (
    BROKEN,
    LATE_ID,
    ROW,
    TS,
    UNTIL,
    Batch,
    Failed,
    Int64s,
    KeyPunctuation,
    Message,
    Missed,
    Punctuation,
    Tick,
    ints,
)
from jupyter_stream.core.rows import columns_of, rows_where
from jupyter_stream.core.schema import Schema
from jupyter_stream.core.time import MAX_TIME, MIN_TIME
from jupyter_stream.functions.expression import Column, Expr
from jupyter_stream.functions.expression import columns as columns_in
from jupyter_stream.operators.evaluate import Evaluator
from jupyter_stream.operators.protocol import Recall
from jupyter_stream.plan.keyed import FAR
from jupyter_stream.plan.logical import JoinKind
from jupyter_stream.plan.references import Referring
from jupyter_stream.state.join_keys import Bools, JoinKeys
from jupyter_stream.state.joint_keys import JointKeys
from jupyter_stream.state.meeting import Meanwhile, meet
from jupyter_stream.state.packing import Packing
from jupyter_stream.state.runs import Run, Runs
from jupyter_stream.windows import TimeWindow


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
        wanted: the columns of the joined row that somebody reads; None for all.
        extents: a tumbling window both rows have to be in the same extent of; None without.
        ends: whether somebody reads when joined rows leave.
        promised: which of the keys group-wise punctuations of each input speak of, if any.
        joint: which of the keys it promises something of itself, where both inputs have; None where nobody asks.
        judged: the FOREIGN KEY that rows of an input break which find no partner; None without.
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
    wanted: frozenset[str] | None = None
    ends: bool = True
    promised: tuple[int | None, int | None] = (None, None)
    extents: TimeWindow | None = None
    judged: Referring | None = None
    joint: int | None = None


@dataclass(frozen=True)
class NewRows:
    """Rows of a batch: their input, and themselves. Each says whether it has found a partner."""

    port: int
    run: Run
    matched: Bools


@dataclass(frozen=True)
class _Met:
    """Pairs: numbers of new rows and of a run's, and the joined rows where somebody wants them."""

    mine: Int64s
    theirs: Int64s
    joined: pl.DataFrame | None
    failed: Failed | None = None
    """Pairs on which the further condition fails."""
    candidates: tuple[Int64s, Int64s] | None = None
    """Those that meet but for that condition, where it makes a difference."""


class WindowJoin:
    """Pairs of rows that meet; `$ts` is the later of their times, `$until` the earlier end of their lifetimes."""

    def __init__(self, config: WindowJoinConfig) -> None:
        self.control = ControlTable(f"{config.kind} join")
        self.synopses = [ControlTable("left rows"), ControlTable("right rows")]
        self._config = config
        self._evaluators = [Evaluator([pair[side] for pair in config.keys]) for side in (0, 1)]
        self._residual = None if config.residual is None else Evaluator([config.residual])
        self._sides = (Runs(), Runs())
        self._packing = Packing(self._sides)
        self._foreseen: list[tuple[Batch, Run] | None] = [None, None]
        self._reached = [MIN_TIME, MIN_TIME]
        self._joint = None if config.joint is None else JointKeys(config.keys[config.joint][0].dtype)
        if self._joint is not None:
            self.synopses.append(ControlTable("keys ahead of others"))
        self._said = MIN_TIME
        self.judged = config.judged
        """The constraint whose breaks it tells of."""
        self._pads = (config.kind in ("left", "full"), config.kind in ("right", "full"))
        # how long a row waits: for partners on the other side whose time is at most so much greater than its own
        self._waits = (config.high, None if config.low is None else -config.low)
        # what is to be seen to: rows of one extent are as near to each other as the window says
        apart = MAX_TIME if config.extents is None else config.extents.slide - 1
        self._least = None if config.low is None or config.low <= -apart else config.low
        self._most = None if config.high is None or config.high >= apart else config.high
        read = _needed(config)
        self._fields = (
            [f for f in config.left if f.name in read],
            [f for f, n in zip(config.right, config.right_names, strict=True) if n in read],
        )
        self._names = tuple(tuple(f.name for f in fields) for fields in self._fields)
        right = dict(zip(config.right.names, config.right_names, strict=True))
        self._right_names = {n: right[n] for n in self._names[1]}

    # -- rows --------------------------------------------------------------------------------------------------------

    def head(self, most: int) -> pl.DataFrame:
        """The first rows kept of each side, half each, with the side they are of."""
        return head_of([side.runs for side in self._sides], most)

    def on_batch(self, port: int, batch: Batch) -> Iterator[Message]:
        """Give the pairs the rows make with what is kept; keep those that may find more."""
        new = yield from self._arrived(port, batch)
        if new is None:
            return
        yield from self._meet(new, self._sides[1 - port].runs)
        yield from self._past(new)
        self._report()

    def foresee(self, port: int, batch: Batch) -> None:
        """Work out the keys of rows none of which is late or fails, and how they are going to be looked for."""
        if BROKEN in batch.frame.columns:
            return
        frame, columns, failed = self._evaluators[port].evaluate(batch.frame)
        if failed is not None or not frame.height or any(c.null_count() for c in columns):
            return
        run = self._run(port, frame, columns, batch.span, self._packing.foreseen)
        if run is None:
            return
        if run.keys.columns and not run.cells:
            _ = run.keys.hashes
        self._foreseen[port] = (batch, run)

    def _arrived(self, port: int, batch: Batch) -> Generator[Message, None, NewRows | None]:
        """The rows that may find partners; the others are told of."""
        foreseen, self._foreseen[port] = self._foreseen[port], None
        if foreseen is not None and foreseen[0] is batch and batch.span[0] >= self._reached[port]:
            run = foreseen[1]
            if self._packing.holds(run.keys):
                return self._new(port, run)
        frame = yield from self._on_time(port, batch)
        if not frame.height:
            return None
        return (yield from self._made_ready(port, frame, batch.span if frame.height == batch.rows else None))

    def _on_time(self, port: int, batch: Batch) -> Generator[Message, None, pl.DataFrame]:
        """The rows that are not late; those that are, are told of."""
        frame = batch.frame
        stamps = frame.get_column(TS)
        late = stamps < self._reached[port] if batch.span[0] < self._reached[port] else None
        if BROKEN in frame.columns:
            broke = (stamps < frame.get_column(BROKEN)).fill_null(False)
            late = broke if late is None else late | broke
        if late is not None and late.any():
            missed = frame.filter(late)
            self.control.late_rows += missed.height
            if LATE_ID in missed.columns:
                yield Missed(ints(missed.get_column(LATE_ID).drop_nulls()), None)
            frame = frame.filter(~late)
        return frame

    def _made_ready(
        self, port: int, frame: pl.DataFrame, span: tuple[int, int] | None
    ) -> Generator[Message, None, NewRows | None]:
        """Rows, at least one, with their keys; those that can find no partner are told of."""
        rows = frame.height
        frame, columns, failed = self._evaluators[port].evaluate(frame)
        if failed is not None:
            yield failed
        if not frame.height:
            return None
        null = [c.is_null() for c in columns if c.null_count()]
        if null:  # NULL equals nothing: no partner, ever
            lone = null[0]
            for other in null[1:]:
                lone |= other
            yield from self._alone(port, self._kept_columns(port, frame.filter(lone)).drop(ROW, strict=False))
            frame, columns = frame.filter(~lone), [c.filter(~lone) for c in columns]
        if not frame.height:
            return None
        span = span if frame.height == rows else None
        arrived = self._run(port, frame, columns, span, self._packing.packed)
        assert arrived is not None
        return self._new(port, arrived)

    def _run(
        self,
        port: int,
        frame: pl.DataFrame,
        columns: list[pl.Series],
        span: tuple[int, int] | None,
        in_words: Callable[[JoinKeys], JoinKeys | None],
    ) -> Run | None:
        """Rows with their keys; None where these can't be put in words."""
        frame = self._kept_columns(port, frame)
        times = ints(frame.get_column(TS))
        if self._config.extents is not None:
            columns = [*columns, pl.Series((times - self._config.extents.phase) // self._config.extents.slide)]
        keys = in_words(JoinKeys.of(columns, frame.height))
        return None if keys is None else Run(frame, keys, times, None, span)

    def _new(self, port: int, run: Run) -> NewRows:
        """New rows, none of which has found a partner."""
        matched = np.zeros(run.rows, np.bool_)
        if self._config.kind != "inner" or self.judged is not None:  # somebody asks
            run.matched = matched
        return NewRows(port, run, matched)

    def _kept_columns(self, port: int, frame: pl.DataFrame) -> pl.DataFrame:
        """The columns a joined row needs, `$ts`, an end of its own that the row has, its number where it is judged."""
        absent = [f for f in self._fields[port] if f.name not in frame.columns]  # nobody reads them
        if absent:
            frame = frame.with_columns(pl.lit(None, f.dtype).alias(f.name) for f in absent)
        system = [c for c in (UNTIL, ROW if self._judges(port) else UNTIL) if c in frame.columns]
        return columns_of(frame, [*self._names[port], TS, *dict.fromkeys(system)])

    def _meet(self, new: NewRows, runs: Sequence[Run]) -> Iterator[Message]:
        """Pairs of new rows and runs of the other side; keeps the new rows."""
        low, high = self._config.low, self._config.high
        if new.port == 1:  # seen from the right, differences are the other way round
            low, high = (None if high is None else -high), (None if low is None else -low)
        timed = self._least is not None or self._most is not None

        def made(run: Run, mine: Int64s, theirs: Int64s, settled: frozenset[int]) -> _Met:
            return self._met(new, run, mine, theirs, settled)

        # which rows are kept may follow from which have met
        waits = new.run.matched is not None
        meanwhile = Meanwhile(None if waits else partial(self._keep, new))
        for run, met in meet(new.run, runs, low, high, timed, made, meanwhile):
            yield from self._pairs(new, run, met)
        if waits:
            self._keep(new)

    def _met(self, new: NewRows, run: Run, mine: Int64s, theirs: Int64s, settled: frozenset[int]) -> _Met:
        """Those of the candidates that meet, so far as keys and times say; joined where that is all there is to say."""
        meets = new.run.keys.same(mine, run.keys, theirs, settled)
        one, two = new.run.times.take(mine), run.times.take(theirs)
        lefts, rights = (one, two) if new.port == 0 else (two, one)
        if self._least is not None or self._most is not None:
            difference = rights - lefts
            if self._least is not None:
                meets = _both(meets, difference >= self._least)
            if self._most is not None:
                meets = _both(meets, difference <= self._most)
        ends = [self._own_ends(new.run, mine), self._own_ends(run, theirs)]
        left_ends, right_ends = ends if new.port == 0 else ends[::-1]
        # what was joined before lives as long as all its parts
        if left_ends is not None:
            meets = _both(meets, rights < left_ends)
        if right_ends is not None:
            meets = _both(meets, lefts < right_ends)
        later = np.maximum(lefts, rights)
        until = None
        if self._config.ends:
            left_ends, right_ends = (
                times + length if own is None and length is not None else own
                for own, times, length in zip(
                    (left_ends, right_ends), (lefts, rights), self._config.lifetimes, strict=True
                )
            )
            until = _earlier(left_ends, right_ends, later.size)
        if meets is not None and not meets.all():
            mine, theirs, later = mine[meets], theirs[meets], later[meets]
            until = None if until is None else until[meets]
        joined = None
        if mine.size and (self._residual is not None or self._config.kind not in ("semi", "anti")):
            joined = self._joined(new, run, mine, theirs, later, until)
        if joined is None or self._residual is None:
            return _Met(mine, theirs, joined)
        numbered = joined.hstack([pl.Series("$new", mine), pl.Series("$old", theirs)])
        left, (true,), failed = self._residual.evaluate(numbered)
        left = rows_where(left, true.fill_null(False).to_numpy())
        if failed is not None:
            failed = Failed(failed.frame.drop("$new", "$old"), failed.reasons)
        met = ints(left.get_column("$new")), ints(left.get_column("$old"))
        return _Met(*met, columns_of(left, joined.columns), failed, (mine, theirs))

    def _pairs(self, new: NewRows, run: Run, met: _Met) -> Iterator[Message]:
        mine, theirs, joined = met.mine, met.theirs, met.joined
        if self.judged is not None and run.matched is not None:  # a further condition is none of the constraint's
            one, other = met.candidates or (mine, theirs)
            new.matched[one] = True
            run.matched[other] = True
        if met.failed is not None:
            yield met.failed
        if not mine.size:
            return
        if self._config.kind in ("semi", "anti"):
            yield from self._first_matches(new, run, mine, theirs)
        else:
            assert joined is not None
            yield Batch(joined)
        if run.matched is not None:
            new.matched[mine] = True
            run.matched[theirs] = True

    def _own_ends(self, run: Run, rows: Int64s) -> Int64s | None:
        """Ends of lifetimes that rows bring with them; None where their window says it."""
        return ints(run.frame.get_column(UNTIL)).take(rows) if UNTIL in run.frame.columns else None

    def _joined(
        self, new: NewRows, run: Run, mine: Int64s, theirs: Int64s, later: Int64s, until: Int64s | None
    ) -> pl.DataFrame:
        rows = (new.run.frame, run.frame) if new.port == 0 else (run.frame, new.run.frame)
        at = [pl.Series(i.astype(np.uint32)) for i in ((mine, theirs) if new.port == 0 else (theirs, mine))]
        # by index, since `gather` goes through a planner
        columns = [rows[0].get_column(n)[at[0]] for n in self._names[0]]
        columns += [rows[1].get_column(n)[at[1]].alias(name) for n, name in self._right_names.items()]
        return pl.DataFrame([*columns, pl.Series(TS, later), *([] if until is None else [pl.Series(UNTIL, until)])])

    def _first_matches(self, new: NewRows, run: Run, mine: Int64s, theirs: Int64s) -> Iterator[Message]:
        """Semi: left rows that find their first partner."""
        if self._config.kind != "semi" or not mine.size:
            return
        matched, frame, at = (new.matched, new.run.frame, mine) if new.port == 0 else (run.matched, run.frame, theirs)
        assert matched is not None
        found = np.zeros(matched.size, np.bool_)
        found[at] = True
        found &= ~matched
        if found.any():
            yield Batch(self._with_end(0, frame.filter(pl.Series(found)).drop(ROW, strict=False)))

    # -- keeping and letting go ----------------------------------------------------------------------------------------

    def _keep(self, new: NewRows) -> None:
        """Store rows that may still find partners. A semi join's left rows need one only."""
        kind, needed, run = self._config.kind, self._needed_from(new.port), new.run
        may = None if run.low >= needed else run.times >= needed
        if kind == "semi" and new.port == 0 and new.matched.any():
            may = ~new.matched if may is None else may & ~new.matched
        stay = run if may is None else run.only(may)
        if stay is not None:
            self._sides[new.port].add(stay)

    def _past(self, new: NewRows) -> Iterator[Message]:
        """New rows that can find no partner any more and have found none."""
        needed, run = self._needed_from(new.port), new.run
        if run.low >= needed or not self._asks(new.port):
            return
        alone = ~new.matched & (run.times < needed)
        if alone.any():
            yield from self._without_partner(new.port, run.frame.filter(pl.Series(alone)))

    def _needed_from(self, port: int) -> int:
        """Rows of an input before this time find no partner any more: the other's punctuation has passed them all."""
        reached, wait = self._reached[1 - port], self._waits[port]
        if reached in (MIN_TIME, MAX_TIME):
            return reached
        return MIN_TIME if wait is None else reached - wait

    def _tells(self, port: int) -> bool:
        """Whether rows that never had a partner are given."""
        return self._pads[port] or (self._config.kind == "anti" and port == 0)

    def _judges(self, port: int) -> bool:
        """Whether rows that never had a partner break a constraint."""
        return self.judged is not None and self.judged.port == port

    def _asks(self, port: int) -> bool:
        """Whether it matters which rows never had a partner."""
        return self._tells(port) or self._judges(port)

    def _without_partner(self, port: int, rows: pl.DataFrame) -> Iterator[Message]:
        """Rows with something to refer to, that never had a partner."""
        if self.judged is not None and self._judges(port) and ROW in rows.columns:
            # the first promise of the other stream by which nothing it refers to can come
            broken = ints(rows.get_column(TS)) + self.judged.constraint.within + 1
            yield Missed(ints(rows.get_column(ROW)), None, self.judged.stream, broken)
            rows = rows.drop(ROW)
        yield from self._alone(port, rows)

    def _alone(self, port: int, rows: pl.DataFrame) -> Iterator[Message]:
        """Rows that never had a partner."""
        if self._config.kind == "anti" and port == 0:
            yield Batch(self._with_end(port, rows))
        elif self._pads[port]:
            yield Batch(self._padded(port, self._with_end(port, rows)))

    def _with_end(self, port: int, rows: pl.DataFrame) -> pl.DataFrame:
        if not self._config.ends:
            return rows.drop(UNTIL, strict=False)
        if UNTIL in rows.columns:
            return rows
        length = self._config.lifetimes[port]
        until = pl.lit(MAX_TIME, pl.Int64()) if length is None else pl.col(TS) + length
        return rows.with_columns(until.alias(UNTIL))

    def _padded(self, port: int, rows: pl.DataFrame) -> pl.DataFrame:
        others = [
            pl.Series(f.name, [None], dtype=f.dtype).new_from_index(0, rows.height) for f in self._fields[1 - port]
        ]
        lefts, rights = ([rows.get_column(n) for n in self._names[port]], others)[:: 1 if port == 0 else -1]
        rights = [c.alias(self._right_names[c.name]) for c in rights]
        return pl.DataFrame([*lefts, *rights, *(rows.get_column(n) for n in (TS, UNTIL) if n in rows.columns)])

    def on_punctuation(self, port: int, punctuation: Punctuation) -> Iterator[Message]:
        """Let go of the other side's rows it says find no partner any more."""
        if punctuation.value <= self._reached[port]:
            return
        self._reached[port] = punctuation.value
        other = 1 - port
        before = self._needed_from(other)
        if before != MIN_TIME:
            side = self._sides[other]
            if not self._asks(other):
                side.expire(before)
            else:
                for rows, matched in side.take(before):
                    if not matched.all():
                        yield from self._without_partner(other, rows.filter(pl.Series(~matched)))
        yield from self._promise_keys()
        self._report()
        said = self._promise()
        if said > self._said:
            self._said = self.control.low_watermark = said
            yield Punctuation(said)

    def on_key_punctuation(self, port: int, punctuation: KeyPunctuation) -> Iterator[Message]:
        """Let go of the other side's rows of those keys that find no partner any more."""
        key, other = self._config.promised[port], 1 - port
        wait = self._waits[other]
        if key is None:
            return
        values, said = punctuation.frame.get_column(punctuation.column), ints(punctuation.frame.get_column(TS))
        before = np.where(said >= FAR, FAR, MIN_TIME) if wait is None else said - wait
        for rows, matched in self._sides[other].take_keys(key, values, before):
            if matched is not None and not matched.all():
                yield from self._without_partner(other, rows.filter(pl.Series(~matched)))
        if self._joint is not None and key == self._config.joint:
            self._joint.take(port, values, punctuation.frame.get_column(TS))
        yield from self._promise_keys()
        self._report()

    def _promise_keys(self) -> Iterator[Message]:
        """What both inputs together promise of single keys' pairs (thesis §7.2)."""
        if self._joint is None or self._config.joint is None:
            return
        said = self._joint.say((self._reached[0], self._reached[1]))
        key = self._config.keys[self._config.joint][0]
        if said is not None and isinstance(key, Column):
            yield KeyPunctuation(said.rename({said.columns[0]: key.name}))

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

    def recalls(self) -> Recall | None:
        """The rows that may find partners; but for an inner join, what partners they have had as well."""
        # rows of long ago do nothing where they are still held
        since = min(max(side.oldest, self._needed_from(port)) for port, side in enumerate(self._sides))
        if self._config.kind == "inner" and self.judged is None:
            return Recall(since)
        left, right = self._waits
        return None if left is None or right is None else Recall(since - max(left, right, 0))

    def _report(self) -> None:
        for table, side in zip(self.synopses, self._sides, strict=False):
            table.holds(side.bytes)
            table.extra["rows"] = side.rows
        if self._joint is not None:
            self.synopses[-1].holds(self._joint.bytes)
            self.synopses[-1].extra["keys"] = self._joint.keys
        self.control.holds(sum(table.bytes for table in self.synopses))
        self.control.extra["kept_rows"] = sum(side.rows for side in self._sides)

    def check(self) -> None:
        """Raise AssertionError where an invariant is broken."""
        for side in self._sides:
            side.check()


def head_of(sides: Sequence[Sequence[Run]], most: int) -> pl.DataFrame:
    """The first rows of a left and a right side, half each, with the side they are of."""
    found: list[pl.DataFrame] = []
    for name, runs in zip(("left", "right"), sides, strict=True):
        frames = [run.frame.head(most // 2) for run in runs]
        if frames:
            rows = pl.concat(frames).head(most // 2)
            found.append(rows.select(pl.lit(name).alias("side"), pl.all().exclude("^\\$.*$")))
    return pl.concat(found, how="diagonal_relaxed") if found else pl.DataFrame()


def _needed(config: WindowJoinConfig) -> frozenset[str]:
    """The columns of a joined row that are to be made."""
    if config.wanted is None:
        return frozenset((*config.left.names, *config.right_names))
    return config.wanted if config.residual is None else config.wanted | columns_in(config.residual)


def _both(one: Bools | None, other: Bools) -> Bools:
    """What is true of both; None is true of all."""
    return other if one is None else one & other


def _earlier(one: Int64s | None, other: Int64s | None, rows: int) -> Int64s:
    if one is None:
        return np.full(rows, MAX_TIME) if other is None else other
    return one if other is None else np.minimum(one, other)


__all__ = ["NewRows", "WindowJoin", "WindowJoinConfig", "head_of"]
