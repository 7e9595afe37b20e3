"""`agg(x) OVER (...)`: each row, once final, with aggregates over the rows up to it (SQL:2003 window functions; stream-mill).

Rows wait until the punctuation has passed them, so that their order means nothing; what later rows can look back on is kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from jupyter_stream.aggregates.user import UserCall
from jupyter_stream.core.control import ControlTable
from jupyter_stream.core.messages import (
    BROKEN,
    LATE_ID,
    ROW,
    TS,
    Batch,
    Failed,
    Int64s,
    Message,
    Missed,
    Punctuation,
    Tick,
    ints,
)
from jupyter_stream.core.rows import earliest
from jupyter_stream.core.time import MAX_TIME, MIN_TIME
from jupyter_stream.functions.expression import Expr
from jupyter_stream.operators.evaluate import Evaluator
from jupyter_stream.operators.protocol import Recall
from jupyter_stream.state.group_aggregate import GroupAggregate
from jupyter_stream.state.over_rows import OverRows, Released
from jupyter_stream.state.slots import KeySlots
from jupyter_stream.state.user_over_rows import UserOverRows
from jupyter_stream.windows import OverWindow

_CHECK_ABOVE = 1024
_PARTITION = "$partition"


@dataclass(frozen=True)
class OverConfig:
    """What OVER computes.

    Attributes:
        window: which rows each row looks back on.
        inputs: expressions of arguments and FILTER conditions.
        aggregates: over those inputs, by index.
        user: what is run over them, where they are user-defined: all of them or none.
    """

    window: OverWindow
    inputs: tuple[Expr, ...]
    aggregates: tuple[GroupAggregate, ...]
    user: tuple[UserCall, ...] = ()


class Over:
    """Rows of the input with a column for each aggregate, given when no row up to them can come any more."""

    def __init__(self, config: OverConfig) -> None:
        self.control = ControlTable(str(config.window))
        self.synopses = [ControlTable("rows")]
        self._config = config
        self._window = config.window
        self._evaluator = Evaluator([*config.window.partition, *config.inputs])
        types = [(f"{i}", e.dtype) for i, e in enumerate(config.window.partition)]
        self._partitions = KeySlots(types) if types else None
        if config.user:
            self._rows: OverRows = UserOverRows(config.window, config.aggregates, config.user)
        else:
            self._rows = OverRows(config.window, config.aggregates)
        self._pending: pl.DataFrame | None = None  # SLIDE d: the last row so far of each partition's open slot
        self._arrived = 0
        self._reached = MIN_TIME
        self._said = MIN_TIME
        self._checked = 0

    def head(self, most: int) -> pl.DataFrame:
        """The first rows later ones look back on, or wait; of what is only folded, the partitions."""
        rows = self._rows.head(most)
        return rows if rows.height or self._partitions is None else self._partitions.head(most)

    def on_batch(self, port: int, batch: Batch) -> Iterator[Message]:
        """Keep rows until their time has come; late ones are told."""
        frame = batch.frame
        late = frame.get_column(TS) < self._reached
        if BROKEN in frame.columns:
            late |= (frame.get_column(TS) < frame.get_column(BROKEN)).fill_null(False)
        if late.any():
            missed = frame.filter(late)
            self.control.late_rows += missed.height
            if LATE_ID in missed.columns:
                yield Missed(ints(missed.get_column(LATE_ID).drop_nulls()), None)
            frame = frame.filter(~late)
        frame = frame.drop(BROKEN, LATE_ID, strict=False)
        if not frame.height:
            return
        frame, columns, failed = self._evaluator.evaluate(frame)
        if failed is not None:
            yield failed
        if not frame.height:
            return
        keys = len(self._window.partition)
        slots = (
            np.zeros(frame.height, np.int64) if self._partitions is None else self._partitions.encode(columns[:keys])
        )
        if ROW in frame.columns:
            numbers = ints(frame.get_column(ROW))
        else:
            numbers = np.arange(self._arrived, self._arrived + frame.height)
            self._arrived += frame.height
        self._rows.add(frame, slots, numbers, columns[keys:])
        self._report()

    def on_punctuation(self, port: int, punctuation: Punctuation) -> Iterator[Message]:
        """Give the rows it makes final, and say so."""
        if punctuation.value <= self._reached:
            return
        released = self._rows.release(punctuation.value)
        self._reached = self.control.low_watermark = punctuation.value
        if released is not None:
            yield from self._give(released)
        said = punctuation.value
        if self._window.slot is not None:
            yield from self._close_slots(said)
            if said != MAX_TIME:
                said = said // self._window.slot * self._window.slot
        self._forget(everything=punctuation.value == MAX_TIME)
        self._report()
        if said > self._said:
            self._said = said
            yield Punctuation(said)

    def _give(self, released: Released) -> Iterator[Message]:
        # the rows of an inner query with OVER still have its columns
        frame = released.frame.with_columns(
            a.values.alias(c.name) for a, c in zip(released.answers, self._config.aggregates, strict=True)
        )
        kept = np.ones(frame.height, np.bool_)
        for answer in released.answers:
            if answer.beyond is not None:
                kept &= ~answer.beyond
        if not kept.all():
            bad = released.frame.filter(pl.Series(~kept))
            yield Failed(bad, pl.Series(["a sum is beyond BIGINT"] * bad.height))
        if released.positions is not None:
            kept &= released.positions % self._window.every == 0
        if not kept.all():
            frame = frame.filter(pl.Series(kept))
        if self._window.slot is not None:
            self._note(frame, released.slots[kept])
        elif frame.height:
            yield Batch(frame)

    def _note(self, frame: pl.DataFrame, slots: Int64s) -> None:
        """Remember the last row of each partition's slot of time."""
        assert self._window.slot is not None
        frame = frame.with_columns(pl.Series(_PARTITION, slots))
        both = frame if self._pending is None else pl.concat([self._pending, frame])
        by = [pl.col(_PARTITION), (pl.col(TS) // self._window.slot).alias("$at")]
        self._pending = both.group_by(by, maintain_order=True).last().drop("$at").select(both.columns)

    def _close_slots(self, until: int) -> Iterator[Message]:
        if self._pending is None or not self._pending.height:
            return
        assert self._window.slot is not None
        closed = pl.repeat(True, self._pending.height, eager=True)
        if until != MAX_TIME:
            closed = (self._pending.get_column(TS) // self._window.slot + 1) * self._window.slot <= until
        given = self._pending.filter(closed)
        self._pending = self._pending.filter(~closed)
        if given.height:
            yield Batch(given.drop(_PARTITION).sort(TS, maintain_order=True))

    def on_tick(self, tick: Tick) -> Iterator[Message]:
        """Pass it on: a row's answer is given once."""
        yield tick

    def _forget(self, everything: bool) -> None:
        """Give up partitions without rows, looked for when enough have come since."""
        slots = self._partitions
        if slots is None or (not everything and slots.live < 2 * self._checked + _CHECK_ABOVE):
            return
        live = np.zeros(slots.capacity, np.bool_) if everything else self._rows.live(slots.capacity)
        if live is not None:
            if self._pending is not None:
                live[ints(self._pending.get_column(_PARTITION))] = True
            slots.release(live)
        self._checked = slots.live

    def recalls(self) -> Recall | None:
        """The rows that wait, and those that rows to come look back on."""
        window = self._window
        unbounded = window.rows is None and window.range is None
        if unbounded or window.every > 1 or self._config.user:  # it goes on counting, or a user's states do
            return None
        pending = [] if self._pending is None else [self._pending]
        return Recall(min(self._rows.oldest, earliest(pending)))

    def _report(self) -> None:
        held = self._rows.bytes + (0 if self._partitions is None else self._partitions.bytes)
        held += 0 if self._pending is None else int(self._pending.estimated_size())
        self.control.holds(held)
        self.control.extra["waiting_rows"] = self._rows.waiting
        self.control.extra["kept_rows"] = self._rows.kept


__all__ = ["Over", "OverConfig"]
