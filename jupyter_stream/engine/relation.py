"""The answer that is a relation: its current state and its change log."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

import numpy as np
import polars as pl

from jupyter_stream.core.messages import SIGN, TS
from jupyter_stream.core.newest_frames import NO_LIMIT, NewestFrames
from jupyter_stream.core.schema import TIMESTAMP, Schema
from jupyter_stream.engine.results import since
from jupyter_stream.plan.logical import ORDER_KEY, OrderKey


class Relation:
    """Rows in and out; the state is what is in.

    Args:
        schema: the columns users get, and keys of the order that aren't shown.
        keep: change rows kept.
        integer_time: whether times are integers rather than timestamps.
        order: what the state is sorted by.
        most: bytes of changes kept.
    """

    provisional = False

    def __init__(
        self,
        schema: Schema,
        keep: int,
        integer_time: bool = False,
        order: Sequence[OrderKey] = (),
        most: int = NO_LIMIT,
    ) -> None:
        self._time: pl.DataType = pl.Int64() if integer_time else TIMESTAMP
        self._columns = list(schema.names)
        self._shown = [c for c in self._columns if not c.startswith(ORDER_KEY)]
        self._op, self._at = schema.free("op"), schema.free("at")
        self._order = tuple(order)
        self._state = schema.empty()
        self._empty = self._state.select(self._shown)
        self._pending: list[pl.DataFrame] = []  # changes not yet folded into _state
        self._log = NewestFrames(keep, most)
        self._ended_at: int | None = None
        self._last: Callable[[], int] | None = None
        self._after: list[tuple[pl.DataFrame, pl.Series]] = []  # changes and their times, since only `_last` can say
        self._ahead: list[tuple[pl.DataFrame, pl.Series]] = []  # those that have entered, and are later than `newest`
        self._lock = threading.Lock()
        self.followers: list[Callable[[pl.DataFrame], None]] = []
        """Called with changes of the state, as `changes()` shows them: those after the end of the input are none of them."""
        self.rows_out = 0
        self.version = 0
        self.newest: Callable[[], int] | None = None
        """Tells the last time of its rows so far, microseconds, where these are no stream's own. Extents promise when the next
        one ends, so expirations may come that are later than the last row: they are right until the input ends, and go then."""

    @property
    def changed_by(self) -> tuple[str, str]:
        """The columns of the change log that say what came about, and when: `op` and `at` but for columns called so."""
        return self._op, self._at

    @property
    def forgotten(self) -> int:
        """Changes that are no longer kept."""
        return self._log.forgotten

    @property
    def bytes(self) -> int:
        """Bytes kept, about."""
        return self._log.bytes + int(self._state.estimated_size())

    def change(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Rows that enter (`$sign` +1) or leave (-1) at `$ts`. Returns them as `changes()` shows them."""
        changes = frame.select(
            *self._columns, pl.col(SIGN).cast(pl.Int8).alias(self._op), pl.col(TS).cast(self._time).alias(self._at)
        )
        shown = changes if self._shown == self._columns else self._without_keys(changes)
        with self._lock:
            self.version += 1
            self.rows_out += shown.height
            self._log.add(shown)
            if self._last is not None:
                self._after.append((changes, frame.get_column(TS)))
            elif self._ended_at is not None:
                self._enter(changes.filter(frame.get_column(TS) <= self._ended_at))
            else:
                self._enter(changes)
                if self.newest is not None:
                    self._ahead = _later([*self._ahead, (changes, frame.get_column(TS))], self.newest())
            if len(self._pending) > 64:
                self._fold()
        return shown

    def left(self, at: int) -> pl.DataFrame | None:
        """All rows that are in it leave at that time. Returns the changes; None where it is empty."""
        with self._lock:
            self._fold()
            rows = self._state
        if not rows.height:
            return None
        signed = rows.with_columns(pl.lit(-1, pl.Int8).alias(SIGN), pl.lit(at, pl.Int64).alias(TS))
        return self.change(signed)

    def _enter(self, changes: pl.DataFrame) -> None:
        self._pending.append(changes)
        if self.followers and changes.height:
            shown = changes if self._shown == self._columns else self._without_keys(changes)
            for follow in self.followers:
                follow(shown)

    def _without_keys(self, changes: pl.DataFrame) -> pl.DataFrame:
        """The changes that are left without the keys of the order: of what differs in these alone there is none."""
        each = changes.group_by([*self._shown, self._at], maintain_order=True).agg(
            pl.col(self._op).cast(pl.Int64).sum()
        )
        each = each.filter(pl.col(self._op) != 0)
        signs = each.get_column(self._op).to_numpy()
        each = each.with_columns(pl.Series(self._op, np.sign(signs), pl.Int8)).select(*self._shown, self._op, self._at)
        return each[pl.Series(np.repeat(np.arange(signs.size), np.abs(signs)))]

    def end(self, at: int | Callable[[], int]) -> None:
        """The input ends, and that was its last time: later expirations are logged, and the state stays.

        Args:
            at: microseconds; or what will tell when this closes, where extents are still to come.
        """
        with self._lock:
            if isinstance(at, int):
                self._ended_at = at
            else:
                self._last = at

    def _fold(self) -> None:
        if not self._pending:
            return
        changes = pl.concat(self._pending)
        self._pending = []
        both = pl.concat([self._state.with_columns(pl.lit(1, pl.Int8).alias(self._op)), changes.drop(self._at)])
        net = both.group_by(self._columns, maintain_order=True).agg(pl.col(self._op).cast(pl.Int64).sum())
        net = net.filter(pl.col(self._op) > 0)
        copies = net.get_column(self._op).to_numpy()
        self._state = net.drop(self._op)
        if (copies > 1).any():
            self._state = self._state[pl.Series(np.repeat(np.arange(copies.size), copies))]

    def frame(self) -> pl.DataFrame:
        """The current state."""
        with self._lock:
            self._fold()
            if self._order:
                self._state = self._state.sort(
                    [k.column for k in self._order],
                    descending=[k.descending for k in self._order],
                    nulls_last=[k.nulls_last for k in self._order],
                )
            return self._state.select(self._shown)

    def history(self) -> pl.DataFrame:
        """The change log kept, oldest first: the columns, `op`, `at` (numbered where columns are called so)."""
        with self._lock:
            log = self._log.frames()
        if log:
            return pl.concat(log)
        return self._empty.clear().with_columns(
            pl.lit(None, pl.Int8).alias(self._op), pl.lit(None, self._time).alias(self._at)
        )

    @property
    def height(self) -> int:
        """How many rows the current state has."""
        with self._lock:
            self._fold()
            return self._state.height

    def since(self, position: int) -> tuple[pl.DataFrame, int, int]:
        """Changes from a position on, counted from 0: the rows, how many are forgotten, and the position behind them."""
        with self._lock:
            return since(self._log, self._empty, position)

    def tail(self, last: int) -> tuple[pl.DataFrame, pl.Series]:
        """The state, at most `last` rows of it, the first ones if they have an order; all final."""
        state = self.frame().head(last) if self._order else self.frame().tail(last)
        return state, pl.Series("final", [True] * state.height, dtype=pl.Boolean)

    @property
    def latest(self) -> pl.DataFrame:
        """The current state."""
        return self.frame()

    def forked(self) -> None:
        """This is a process forked from the one in which it is written: whoever held the lock isn't here."""
        self._lock = threading.Lock()

    def close(self) -> None:
        """The query has ended; the state stays."""
        with self._lock:
            if self._last is not None:
                at = self._last()
                for changes, _ in _later(self._ahead, at):
                    self._enter(changes.with_columns(-pl.col(self._op)))
                self._ahead = []
                for changes, times in self._after:
                    self._enter(changes.filter(times <= at))
                self._after = []
        self.version += 1


def _later(changes: list[tuple[pl.DataFrame, pl.Series]], time: int) -> list[tuple[pl.DataFrame, pl.Series]]:
    """Those that are later than a time, microseconds."""
    kept = [(frame.filter(times > time), times.filter(times > time)) for frame, times in changes]
    return [(frame, times) for frame, times in kept if times.len()]
