"""`agg(x) OVER (...)`: each row, once final, with aggregates over the rows up to it (SQL:2003 window functions; stream-mill).

Rows wait until the punctuation has passed them, so that their order means nothing; what later rows can look back on is kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from jupyter_stream.aggregates.user import UserCall
from jupyter_stream.arrays.exact import BEYOND
from jupyter_stream.arrays.rows import earliest, frame_of
from jupyter_stream.core.axis import plus
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
    Punctuation,
    Rest,
    Tick,
    ints,
)
from jupyter_stream.core.time import MAX_TIME, MIN_TIME
from jupyter_stream.flow.evaluate import Evaluator
from jupyter_stream.flow.late_rows import in_time
from jupyter_stream.flow.protocol import Recall
from jupyter_stream.functions.expression import Expr
from jupyter_stream.keys.slots import KeySlots
from jupyter_stream.partials.expiring_rows import ExpiringRows
from jupyter_stream.partials.group_aggregate import GroupAggregate
from jupyter_stream.partials.over_rows import OverRows
from jupyter_stream.partials.released import Released
from jupyter_stream.partials.user_over_rows import UserOverRows
from jupyter_stream.partials.waiting_rows import WaitingRows
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


class OverOperator:
    """Rows of the input with a column for each aggregate, given when no row up to them can come any more."""

    def __init__(self, config: OverConfig) -> None:
        self.control = ControlTable(str(config.window))
        self.synopses = [ControlTable("rows")]
        self._config = config
        self._window = config.window
        self._evaluator = Evaluator([*config.window.partition, *config.inputs])
        types = [(f"{i}", e.dtype) for i, e in enumerate(config.window.partition)]
        self._partitions = KeySlots(types) if types else None
        self._rows: WaitingRows
        if config.user:
            self._rows = UserOverRows(config.window, config.aggregates, config.user)
        elif config.window.on_expiry:
            self._rows = ExpiringRows(config.window, config.aggregates)
        else:
            self._rows = OverRows(config.window, config.aggregates)
        self._pending: pl.DataFrame | None = None  # SLIDE d: the last row so far of each partition's open slot
        self._arrived = 0
        self._reached = MIN_TIME
        self._said = MIN_TIME
        self._checked = 0
        self._flush: Iterator[Message] = iter(())  # answers that are being given

    def head(self, most: int) -> pl.DataFrame:
        """The first rows later ones look back on, or wait; of what is only folded, the partitions."""
        rows = self._rows.head(most)
        return rows if rows.height or self._partitions is None else self._partitions.head(most)

    @property
    def waits_for(self) -> int:
        """The time after its first waiting row's; slots and expirations end some time."""
        if self._window.slot is not None or self._window.on_expiry:
            return MIN_TIME if self.control.bytes else MAX_TIME
        return plus(self._rows.first_waiting, 1)

    def on_batch(self, port: int, batch: Batch) -> Iterator[Message]:
        """Keep rows until their time has come; late ones are told."""
        frame, missed = in_time(batch.frame, self._reached, self.control)
        if missed is not None:
            yield missed
        if BROKEN in frame.columns:
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
        """Give the rows it makes final, and say so, resting now and then."""
        if punctuation.value <= self._reached:
            return
        yield from (m for m in self._flush if not isinstance(m, Rest))  # an earlier one is still being kept
        self._reached = self.control.low_watermark = punctuation.value
        self._flush = self._keep(punctuation.value)
        yield from self._flush

    def _keep(self, until: int) -> Iterator[Message]:
        for piece, released in enumerate(self._rows.pieces(until)):
            if piece:
                yield Rest()
            yield from self._give(released)
        said = until
        if self._window.slot is not None:
            yield from self._close_slots(said)
            if said != MAX_TIME:
                said = said // self._window.slot * self._window.slot
        self._forget(everything=until == MAX_TIME)
        self._report()
        if said > self._said:
            self._said = said
            yield Punctuation(said)

    def _give(self, released: Released) -> Iterator[Message]:
        # the rows of an inner query with OVER still have its columns
        made = [a.values.alias(c.name) for a, c in zip(released.answers, self._config.aggregates, strict=True)]
        names = {c.name for c in made}
        frame = frame_of([*(c for c in released.frame.get_columns() if c.name not in names), *made])
        kept = np.ones(frame.height, np.bool_)
        for answer in released.answers:
            if answer.beyond is not None:
                kept &= ~answer.beyond
        if not kept.all():
            bad = released.frame.filter(pl.Series(~kept))
            yield Failed.all(bad, BEYOND)
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


__all__ = ["OverConfig", "OverOperator"]
