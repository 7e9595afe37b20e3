"""Aggregation over sessions, merged under disorder: rows closer than a gap share an extent, whatever order they come in.

As the session windows of the Dataflow model (Akidau et al., VLDB 2015, §2.2), but a late row says what it missed. Which sessions
there are is `state.sessions`' business, what their aggregates are that of `state.cells`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
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
from jupyter_stream.operators.protocol import Recall
from jupyter_stream.state.cells import SLOT, Cells
from jupyter_stream.state.group_aggregate import GroupAggregate
from jupyter_stream.state.sessions import NONE, Intervals, SessionIntervals, renumber
from jupyter_stream.state.slots import KeySlots
from jupyter_stream.windows import SessionWindow

SESSION = "session"
PARTITION = "$partition"
_FIRST = "$first"


@dataclass(frozen=True)
class SessionAggregateConfig:
    """What an aggregate over sessions computes.

    Attributes:
        window: the gap.
        keys: (output name, expression, type) of the grouping columns, those of the partition among them.
        partition: the keys that have sessions of their own; empty for sessions of all rows.
        inputs: expressions of arguments and FILTER conditions.
        aggregates: over those inputs, by index.
        integer_time: whether the windowing attribute is an integer rather than a TIMESTAMP.
        provisional: whether it answers ticks.
    """

    window: SessionWindow
    keys: tuple[tuple[str, Expr, pl.DataType], ...]
    partition: tuple[int, ...]
    inputs: tuple[Expr, ...]
    aggregates: tuple[GroupAggregate, ...]
    integer_time: bool = False
    provisional: bool = False


class SessionAggregate:
    """Answers per session and group, given when no row to come can join the session."""

    def __init__(self, config: SessionAggregateConfig) -> None:
        self.control = ControlTable(f"session aggregate {config.window} by merging sessions")
        self.synopses = [ControlTable("sessions"), ControlTable("partials"), ControlTable("key slots")]
        self._config = config
        self._gap = config.window.gap
        self._evaluator = Evaluator([e for _, e, _ in config.keys] + list(config.inputs))
        self._rest = [i for i in range(len(config.keys)) if i not in config.partition]
        types = [(name, dtype) for name, _, dtype in config.keys]
        self._partitions = KeySlots([types[i] for i in config.partition]) if config.partition else None
        self._groups = KeySlots([types[i] for i in self._rest]) if self._rest else None
        self._intervals = SessionIntervals(self._gap)
        self._cells = Cells(config.aggregates, (SESSION, SLOT))
        self._reached = MIN_TIME
        self._said = MIN_TIME
        self._checked = 0

    # -- rows --------------------------------------------------------------------------------------------------------

    def head(self, most: int) -> pl.DataFrame:
        """The first open sessions: of which keys, from when, until when so far."""
        sessions = self._intervals.open
        slots = pl.DataFrame({PARTITION: sessions.slot[:most]})
        keys = [] if self._partitions is None else self._partitions.gather(ints(slots.get_column(PARTITION)))
        names = [self._config.keys[i][0] for i in self._config.partition]
        time = pl.Int64() if self._config.integer_time else TIMESTAMP
        times = [("first row", sessions.first), ("newest row", sessions.last)]
        bounds = [pl.Series(name, values[:most]).cast(time) for name, values in times]
        return pl.DataFrame([*(c.alias(n) for c, n in zip(keys, names, strict=True)), *bounds])

    def on_batch(self, port: int, batch: Batch) -> Iterator[Message]:
        """Put rows into their sessions; late ones into what was open when they came."""
        if not batch.rows:
            return
        frame, columns, failed = self._evaluator.evaluate(batch.frame)
        if failed is not None:
            yield failed
        if not frame.height:
            return
        slots, groups = self._encode(columns, frame.height)
        broken = None
        if BROKEN in frame.columns:
            broken = ints(frame.get_column(BROKEN).fill_null(MIN_TIME))
        numbers, missed = self._assign(slots, ints(frame.get_column(TS)), broken)
        if missed is not None and missed.any():
            self.control.late_rows += int(missed.sum())
            late = ints(frame.get_column(LATE_ID).filter(pl.Series(missed)))
            yield Missed(late, np.ones(late.size, np.int64))
        cells = pl.DataFrame({SESSION: numbers, SLOT: groups})
        times, inputs = frame.get_column(TS), columns[len(self._config.keys) :]
        if missed is not None and (numbers == NONE).any():
            used = pl.Series(numbers != NONE)
            cells, times, inputs = cells.filter(used), times.filter(used), [c.filter(used) for c in inputs]
        if cells.height:
            self._cells.add(cells, times, inputs)
        if broken is not None:
            yield from self._close_late(slots, broken)

    def _close_late(self, slots: Int64s, broken: Int64s) -> Iterator[Message]:
        """Give the sessions that were final when late rows came, by the promises these broke; `slots` are their partitions."""
        yield from self._close(int(broken.max()))

    def _encode(self, columns: list[pl.Series], rows: int) -> tuple[Int64s, Int64s]:
        """The partition and the group of each row."""
        nothing = np.zeros(rows, np.int64)
        config = self._config
        slots, groups = self._partitions, self._groups
        return (
            nothing if slots is None else slots.encode([columns[i] for i in config.partition]),
            nothing if groups is None else groups.encode([columns[i] for i in self._rest]),
        )

    def _assign(self, slots: Int64s, ts: Int64s, broken: Int64s | None) -> tuple[Int64s, np.ndarray | None]:
        """The session of each row, and which rows missed one that was final."""
        if broken is None or (broken == MIN_TIME).all():
            numbers, renumbered = self._intervals.take(slots, ts)
            self._renumber(renumbered)
            return numbers, None
        # only in partitions that have a late row in this batch does it matter what is final between two rows
        behind = np.isin(slots, slots[broken != MIN_TIME])
        numbers = np.full(ts.size, NONE)
        missed = np.zeros(ts.size, np.bool_)
        numbers[behind], renumbered, missed[behind] = self._intervals.take_late(
            slots[behind], ts[behind], broken[behind]
        )
        self._renumber(renumbered)
        if not behind.all():
            numbers[~behind], renumbered = self._intervals.take(slots[~behind], ts[~behind])
            self._renumber(renumbered)
        return numbers, missed

    def _renumber(self, renumbered: dict[int, int]) -> None:
        if not renumbered:
            return
        old, new = np.array(list(renumbered)), np.array(list(renumbered.values()))

        def changed(partials: pl.DataFrame) -> pl.DataFrame:
            numbers = renumber(ints(partials.get_column(SESSION)), old, new)
            return partials.with_columns(pl.Series(SESSION, numbers))

        self._cells.change(changed)

    # -- time --------------------------------------------------------------------------------------------------------

    def on_punctuation(self, port: int, punctuation: Punctuation) -> Iterator[Message]:
        """Give the sessions it makes final. Those to come end after it."""
        if punctuation.value <= self._reached:
            return
        self._reached = punctuation.value
        yield from self._close(punctuation.value)
        self._report()
        if punctuation.value > self._said:
            self._said = self.control.low_watermark = punctuation.value
            yield Punctuation(punctuation.value)

    def _close(self, punctuation: int) -> Iterator[Message]:
        yield from self._finish(self._intervals.close(punctuation), everything=punctuation == MAX_TIME)

    def _finish(self, done: Intervals, everything: bool = False) -> Iterator[Message]:
        """Give sessions that are open no more."""
        if done.slot.size:
            yield from self._give(done)
            over = pl.DataFrame({SESSION: done.number})
            if self._intervals.open.slot.size:
                self._cells.change(lambda partials: partials.join(over, on=SESSION, how="anti", maintain_order="left"))
            else:
                self._cells.change(lambda partials: partials.clear())
        self._release(everything)

    def _give(self, sessions: Intervals, provisional: int | None = None) -> Iterator[Message]:
        info = pl.DataFrame(
            {
                SESSION: sessions.number,
                PARTITION: sessions.slot,
                _FIRST: sessions.first,
                TS: sessions.last + (self._gap - 1),
            }
        ).sort(TS, _FIRST)
        answers, beyond = self._cells.read(self._picks(info), (SESSION, SLOT))
        if beyond.height:
            yield self._overflowed(info.join(beyond, on=SESSION, how="inner"))
        found = info.join(answers, on=SESSION, how="inner", maintain_order="left_right")
        if found.height or provisional is not None:
            yield Batch(self._frame(found), provisional)

    def _picks(
        self, info: pl.DataFrame
    ) -> Callable[[pl.DataFrame, Callable[[pl.DataFrame], pl.DataFrame]], pl.DataFrame]:
        wanted = info.select(SESSION)

        def pick(partials: pl.DataFrame, merge: Callable[[pl.DataFrame], pl.DataFrame]) -> pl.DataFrame:
            return partials.join(wanted, on=SESSION, how="semi", maintain_order="left")

        return pick

    def _frame(self, answers: pl.DataFrame) -> pl.DataFrame:
        """The columns of answers from $partition, slot, the aggregates and the session's times."""
        first, last = self._bounds(answers)
        numbers = pl.Series(WINDOW_ID, [None], dtype=pl.Int64).new_from_index(0, answers.height)  # they have no order
        aggregates = [answers.get_column(a.name) for a in self._config.aggregates]
        system = [first.alias(WINDOW_START), last.alias(WINDOW_END), numbers, answers.get_column(TS)]
        return pl.DataFrame([*self._key_columns(answers), *aggregates, *system])

    def _bounds(self, answers: pl.DataFrame) -> tuple[pl.Series, pl.Series]:
        time = pl.Int64() if self._config.integer_time else TIMESTAMP
        return answers.get_column(_FIRST).cast(time), (answers.get_column(TS) + 1).cast(time)

    def _key_columns(self, answers: pl.DataFrame) -> list[pl.Series]:
        gathered: dict[int, pl.Series] = {}
        if self._partitions is not None:
            columns = self._partitions.gather(ints(answers.get_column(PARTITION)))
            gathered.update(zip(self._config.partition, columns, strict=True))
        if self._groups is not None:
            columns = self._groups.gather(ints(answers.get_column(SLOT)))
            gathered.update(zip(self._rest, columns, strict=True))
        return [gathered[i].alias(name) for i, (name, _, _) in enumerate(self._config.keys)]

    def _overflowed(self, bad: pl.DataFrame) -> Failed:
        first, last = self._bounds(bad)
        bounds = [first.alias("window_start"), last.alias("window_end")]
        keys = [c for c in self._key_columns(bad) if c.name not in ("window_start", "window_end")]
        return Failed(pl.DataFrame([*keys, *bounds]), pl.Series(["a sum is beyond BIGINT"] * bad.height))

    def on_tick(self, tick: Tick) -> Iterator[Message]:
        """Provisional answers of every open session, as one snapshot."""
        if self._config.provisional:
            yield from self._give(self._intervals.open, provisional=tick.at)
        yield tick

    def recalls(self) -> Recall | None:
        """The sessions that are open, and those a late row may yet meet."""
        if self._config.provisional:
            return None
        sessions = (self._intervals.open, self._intervals.past)
        return Recall(min(int(s.first.min(initial=MAX_TIME)) for s in sessions))

    # -- state -------------------------------------------------------------------------------------------------------

    def _release(self, everything: bool) -> None:
        """Reuse slots of keys without sessions. Looks only when keys have doubled since it last looked: amortised."""
        held = sum(s.live for s in (self._partitions, self._groups) if s is not None)
        if not everything and held < 2 * self._checked + 1024:
            return
        if self._partitions is not None:
            live = np.zeros(self._partitions.capacity, np.bool_)
            live[self._intervals.open.slot] = live[self._intervals.past.slot] = True
            self._partitions.release(live)
        if self._groups is not None:
            live = np.zeros(self._groups.capacity, np.bool_)
            live[ints(self._cells.held().get_column(SLOT))] = True
            self._groups.release(live)
        self._checked = sum(s.live for s in (self._partitions, self._groups) if s is not None)

    def _report(self) -> None:
        keys = sum(s.bytes for s in (self._partitions, self._groups) if s is not None)
        held = (self._intervals.bytes, self._cells.bytes, keys)
        for table, count in zip(self.synopses, held, strict=True):
            table.holds(count)
        self.control.holds(sum(held))
        self.control.extra["open_sessions"] = self._intervals.open.slot.size

    def check(self) -> None:
        """Raise AssertionError where an invariant is broken."""
        for slots in (self._partitions, self._groups):
            if slots is not None:
                slots.check()
        held = set(self._cells.held().get_column(SESSION).to_list())
        assert held == set(self._intervals.open.number.tolist())


__all__ = ["SessionAggregate", "SessionAggregateConfig"]
