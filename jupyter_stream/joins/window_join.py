"""Joins of two streams: OA-Join (window-queries thesis §7): no order, no output buffer, pairs given when the later row arrives.

A row is kept while the other input may still bring a partner: until that input's punctuation has passed the last time a partner
could have. Rows without one are padded, or passed by an anti join, when that is certain.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from functools import partial

import numpy as np
import polars as pl

from jupyter_stream.core.axis import plus
from jupyter_stream.core.control import ControlTable
from jupyter_stream.core.messages import (
    BROKEN,
    ROW,
    TS,
    Batch,
    Int64s,
    KeyPunctuation,
    Message,
    Missed,
    PairPunctuation,
    Punctuation,
    Tick,
    ints,
)
from jupyter_stream.core.time import MAX_TIME, MIN_TIME
from jupyter_stream.flow.evaluate import Evaluator
from jupyter_stream.flow.late_rows import in_time
from jupyter_stream.flow.protocol import Recall
from jupyter_stream.functions.expression import Column
from jupyter_stream.joins.candidates import Meanwhile, meet
from jupyter_stream.joins.joined_rows import JoinedPairs, JoinedRows, NewRows
from jupyter_stream.joins.joint_keys import JointKeys
from jupyter_stream.joins.packing import Packing
from jupyter_stream.joins.runs import Run, Runs
from jupyter_stream.joins.time_bounds import TimeBounds
from jupyter_stream.joins.window_join_config import WindowJoinConfig
from jupyter_stream.keys.join_keys import JoinKeys


class WindowJoin:
    """Pairs of rows that meet; `$ts` is the later of their times, `$until` the earlier end of their lifetimes."""

    def __init__(self, config: WindowJoinConfig) -> None:
        self.control = ControlTable(f"{config.kind} join")
        self.synopses = [ControlTable("left rows"), ControlTable("right rows")]
        self._config = config
        self._evaluators = [Evaluator([pair[side] for pair in config.keys]) for side in (0, 1)]
        self._sides = (Runs(), Runs())
        self._packing = Packing(self._sides)
        self._foreseen: list[tuple[Batch, Run] | None] = [None, None]
        self._reached = [MIN_TIME, MIN_TIME]
        self._joint = None if config.joint is None else JointKeys(config.keys[config.joint][0].dtype)
        if self._joint is not None:
            self.synopses.append(ControlTable("keys ahead of others"))
        self._said = MIN_TIME
        self._said_of_times = MIN_TIME, MIN_TIME
        self.judged = config.judged
        """The constraint whose breaks it tells of."""
        self._pads = (config.kind in ("left", "full"), config.kind in ("right", "full"))
        reach = TimeBounds(config.low, config.high, config.extents)
        self._reach = (reach, reach.back)
        self._joined = JoinedRows(config)

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
        if batch.span[0] < self._reached[port] or BROKEN in frame.columns:
            frame, missed = in_time(frame, self._reached[port], self.control)
            if missed is not None:
                yield missed
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
            yield from self._alone(port, self._joined.kept_columns(port, frame.filter(lone), numbered=False))
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
        frame = self._joined.kept_columns(port, frame, self._judges(port))
        times = ints(frame.get_column(TS))
        keys = JoinKeys.of(columns, frame.height)
        if self._config.extents is not None:
            keys = keys.and_one(self._config.extents.closed(times))
        packed = in_words(keys)
        return None if packed is None else Run(frame, packed, times, None, span)

    def _new(self, port: int, run: Run) -> NewRows:
        """New rows, none of which has found a partner."""
        matched = np.zeros(run.rows, np.bool_)
        if self._config.kind != "inner" or self.judged is not None:  # somebody asks
            run.matched = matched
        return NewRows(port, run, matched)

    def _meet(self, new: NewRows, runs: Sequence[Run]) -> Iterator[Message]:
        """Pairs of new rows and runs of the other side; keeps the new rows."""

        def made(run: Run, mine: Int64s, theirs: Int64s, settled: frozenset[int]) -> JoinedPairs:
            return self._joined.pairs(new, run, mine, theirs, settled)

        # which rows are kept may follow from which have met
        waits = new.run.matched is not None
        meanwhile = Meanwhile(None if waits else partial(self._keep, new))
        for run, met in meet(new.run, runs, self._reach[new.port], self._joined.timed, made, meanwhile):
            yield from self._pairs(new, run, met)
        if waits:
            self._keep(new)

    def _pairs(self, new: NewRows, run: Run, met: JoinedPairs) -> Iterator[Message]:
        mine, theirs, joined = met.mine, met.theirs, met.joined
        if met.failed is not None:
            yield met.failed
        if mine.size and self._config.kind == "semi":
            yield from self._first_matches(new, run, mine, theirs)
        elif mine.size and self._config.kind != "anti":
            assert joined is not None
            yield Batch(joined)
        if run.matched is not None:
            if self.judged is not None and met.candidates is not None:
                mine, theirs = met.candidates  # a further condition is none of the constraint's
            new.matched[mine] = True
            run.matched[theirs] = True

    def _first_matches(self, new: NewRows, run: Run, mine: Int64s, theirs: Int64s) -> Iterator[Message]:
        """Semi: left rows that find their first partner."""
        matched, frame, at = (new.matched, new.run.frame, mine) if new.port == 0 else (run.matched, run.frame, theirs)
        assert matched is not None
        found = np.zeros(matched.size, np.bool_)
        found[at] = True
        found &= ~matched
        if found.any():
            yield Batch(self._joined.with_end(0, frame.filter(pl.Series(found)).drop(ROW, strict=False)))

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
        return self._reach[port].alive(self._reached[1 - port])

    def _tells(self, port: int) -> bool:
        """Whether rows that never had a partner are given."""
        return self._pads[port] or (self._config.kind == "anti" and port == 0)

    def _judges(self, port: int) -> bool:
        """Whether rows that never had a partner break a constraint."""
        return self.judged is not None and self.judged.port == port

    def _asks(self, port: int) -> bool:
        """Whether it matters which rows never had a partner."""
        return self._tells(port) or self._judges(port)

    @property
    def waits_for(self) -> int:
        """Pairs are given as their rows come. Rows that wait for a partner are told of when none can come any more."""
        tells = any(self._asks(port) and self._sides[port].rows for port in (0, 1))
        return MIN_TIME if tells else MAX_TIME

    def _without_partner(self, port: int, rows: pl.DataFrame) -> Iterator[Message]:
        """Rows with something to refer to, that never had a partner."""
        if self.judged is not None and self._judges(port) and ROW in rows.columns:
            # the first promise of the other stream by which nothing it refers to can come
            broken = plus(ints(rows.get_column(TS)), self.judged.constraint.within + 1)
            yield Missed(ints(rows.get_column(ROW)), None, self.judged.stream, broken)
            rows = rows.drop(ROW)
        yield from self._alone(port, rows)

    def _alone(self, port: int, rows: pl.DataFrame) -> Iterator[Message]:
        """Rows that never had a partner."""
        if self._config.kind == "anti" and port == 0:
            yield Batch(self._joined.with_end(port, rows))
        elif self._pads[port]:
            yield Batch(self._joined.padded(port, self._joined.with_end(port, rows)))

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
        if self._config.paired:
            yield from self._promise_times()
        said = self._promise()
        if said > self._said:
            self._said = self.control.low_watermark = said
            yield Punctuation(said)

    def on_key_punctuation(self, port: int, punctuation: KeyPunctuation) -> Iterator[Message]:
        """Let go of the other side's rows of those keys that find no partner any more."""
        key, other = self._config.promised[port], 1 - port
        if key is None:
            return
        values, said = punctuation.frame.get_column(punctuation.column), ints(punctuation.frame.get_column(TS))
        for rows, matched in self._sides[other].take_keys(key, values, self._reach[other].alive_by_key(said)):
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

    def _promise_times(self) -> Iterator[Message]:
        """What is promised of each time alone: a row to come is of a row to come, or of one that still waits for it."""
        left, right = (min(self._reached[port], self._needed_from(port)) for port in (0, 1))
        if (left, right) != self._said_of_times:
            self._said_of_times = left, right
            yield PairPunctuation((left, right))

    def _promise(self) -> int:
        """Every joined row to come is at least this late; a row without partner comes when the other input has passed it.

        Not both times of a pair to come are before what both inputs have promised: a joint punctuation (thesis §7.2). The box of
        two different values, (left, right), holds other pairs only whose later time is not before the lesser of them. To who goes
        by the later time it says nothing more: a pair with just that time may come. Who goes by one of them hears
        `_promise_times`, the slabs of §7.2.
        """
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
        left, right = (reach.high for reach in self._reach)
        return None if left is None or right is None else Recall(plus(since, -max(left, right, 0)))

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


__all__ = ["WindowJoin", "head_of"]
