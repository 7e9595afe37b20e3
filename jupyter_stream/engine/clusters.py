"""Rows that come in clusters: when a value is over, and which rows come after that (clustered-arrival-k, CIDR paper §4.1).

Of `CLUSTERED (c) WITHIN k ROWS` a promise for one key is made: once more than k other rows have followed the last row of a
value, rows of it still to come are not before the newest time then plus a horizon, past all that queries keep of it. Any
horizon makes a true promise; it is also how long a value that is over is remembered, to know rows that break the constraint.
Columnar: a batch costs an encoding of its values and a sort of their slots.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from jupyter_stream.arrays.growing import grown
from jupyter_stream.arrays.runs import begins_run
from jupyter_stream.core.messages import TS, Int64s, KeyPunctuation
from jupyter_stream.core.time import MIN_TIME
from jupyter_stream.keys.remembered import Remembered
from jupyter_stream.keys.slots import KeySlots
from jupyter_stream.plan.catalog import Clustered
from jupyter_stream.plan.keyed import FAR

_NONE: Final = -1
_LONG_AGO: Final = -(2**62)
"""An arrival number more than any k rows before all others."""
_SWEEP_ABOVE: Final = 1024


@dataclass(frozen=True)
class Breaks:
    """The rows of a batch that came after their value was over.

    Attributes:
        rows: which rows.
        promised: of each row of the batch, the promise for its value that held when it came; MIN_TIME for the others.
    """

    rows: NDArray[np.bool_]
    promised: Int64s


class Clusters:
    """The values of one clustered column: those that are not over yet (at most k + 1), and those over not long ago.

    Args:
        constraint: the column, and k.
        dtype: its type.
    """

    def __init__(self, constraint: Clustered, dtype: pl.DataType) -> None:
        self.column = constraint.column
        self.horizon = 0
        """Microseconds past the newest time that queries keep something of a value; `FAR` if for ever."""
        self._rows = constraint.rows
        self._slots = KeySlots([(constraint.column, dtype)])
        self._last = np.empty(0, np.int64)  # of each value, the arrival number of its last row
        self._promise = np.empty(0, np.int64)  # what was promised of it last
        self._over = np.empty(0, np.bool_)  # whether its last row broke the constraint
        self._quiet = np.empty(0, np.bool_)  # whether it has been over since its last row
        self._open = np.empty(0, np.int64)  # the values that are not quiet
        self._past = Remembered(dtype)  # values that have no slot any more, with what was promised of them
        self._numbers = self._newest = np.empty(0, np.int64)  # of the batch under way
        self._before = MIN_TIME

    @property
    def bytes(self) -> int:
        """Bytes held."""
        arrays = (self._last, self._promise, self._over, self._quiet, self._open)
        return self._slots.bytes + self._past.bytes + sum(a.nbytes for a in arrays)

    @property
    def values(self) -> int:
        """How many values are remembered."""
        return self._slots.live + len(self._past)

    def take(
        self, values: pl.Series, numbers: Int64s, ts: Int64s, before: int, promised: Callable[[], Int64s]
    ) -> Breaks | None:
        """Note rows in arrival order.

        Args:
            values: of each row; NULLs are no value.
            numbers: their arrival numbers.
            ts: their times.
            before: the newest time before them.
            promised: gives the promise for all before each row; only asked if a value comes again.

        Returns:
            The rows that break the constraint; None if none does.
        """
        self._numbers, self._before = numbers, before
        self._newest = np.maximum(np.maximum.accumulate(ts), before)
        there = np.arange(numbers.size)
        if values.null_count():
            there = np.flatnonzero(values.is_not_null().to_numpy())
            values = values.drop_nulls()
        if not there.size:
            return None
        slots = self._slots.encode([values])
        self._grow()
        self._recall(np.unique(slots))
        order = np.argsort(slots, kind="stable")
        slot, number = slots[order], numbers[there][order]
        first = begins_run(slot)
        previous = np.empty_like(number)
        previous[1:] = number[:-1]
        previous[first] = self._last[slot[first]]
        again = (previous != _NONE) & (number - previous > self._rows + 1)
        last = np.ones(slot.size, np.bool_)
        last[:-1] = first[1:]
        over, promise = np.zeros(slot.size, np.bool_), np.full(slot.size, MIN_TIME)
        if again.any() or self._over[slot[first]].any():
            promise = np.where(again, self._reach(previous), MIN_TIME)
            known = first & self._quiet[slot]
            promise[known] = self._promise[slot[known]]
            over = again & (promised()[there][order] < promise)
            goes_on = first & ~again & self._over[slot]
            over |= goes_on
            promise[goes_on] = self._promise[slot[goes_on]]
            # each row is as the last one that was the first of its value, or came after a value was over
            at = np.maximum.accumulate(np.where(first | again, np.arange(slot.size), 0))
            over, promise = over[at], promise[at]
        touched = slot[last]
        self._last[touched], self._over[touched] = number[last], over[last]
        self._promise[touched] = np.where(over[last], promise[last], MIN_TIME)
        self._quiet[touched] = False
        self._open = np.union1d(self._open, touched)
        if not over.any():
            return None
        breaks = Breaks(np.zeros(numbers.size, np.bool_), np.full(numbers.size, MIN_TIME))
        breaks.rows[there[order]] = over
        breaks.promised[there[order]] = np.where(over, promise, MIN_TIME)
        return breaks

    def say(self, by_all: int) -> KeyPunctuation | None:
        """What the rows just taken make true of values that are over now; `by_all` is promised for all."""
        due = self._open[int(self._numbers[-1]) - self._last[self._open] > self._rows]
        if not due.size:
            return None
        self._open = self._open[int(self._numbers[-1]) - self._last[self._open] <= self._rows]
        self._quiet[due] = True
        self._promise[due] = np.maximum(self._promise[due], self._reach(self._last[due]))
        told = due[self._promise[due] > by_all]
        said = None
        if told.size:
            (values,) = self._slots.gather(told)
            said = KeyPunctuation(pl.DataFrame([values, pl.Series(TS, self._promise[told])]))
        if self._slots.live >= 2 * self._open.size + _SWEEP_ABOVE:
            self._put_away(by_all)
        return said

    def _reach(self, last: Int64s) -> Int64s:
        """The promise for a value whose last row has this number, made when k + 1 rows have come after it."""
        if self.horizon >= FAR:
            return np.full(last.size, FAR)
        at = np.searchsorted(self._numbers, last + self._rows + 1, "right") - 1
        newest = np.where(at < 0, self._before, self._newest[at])
        return np.minimum(newest, FAR - self.horizon) + self.horizon

    def _grow(self) -> None:
        most = self._slots.capacity
        self._last, self._promise = grown(self._last, most, _NONE), grown(self._promise, most, MIN_TIME)
        self._over, self._quiet = grown(self._over, most), grown(self._quiet, most)

    def _recall(self, slots: Int64s) -> None:
        """Values among these that got a slot just now, and were over before they lost their former one."""
        new = slots[self._last[slots] == _NONE]
        if not new.size or not len(self._past):
            return
        promised = self._past.find(self._slots.gather(new)[0])
        known = promised != MIN_TIME
        over = new[known]
        self._last[over], self._promise[over], self._quiet[over] = _LONG_AGO, promised[known], True

    def _put_away(self, by_all: int) -> None:
        """Take the slots of values that are over; remember what was promised of them while it says more than `by_all`."""
        size = self._slots.capacity
        quiet = self._quiet[:size]
        (still,) = np.nonzero(quiet & (self._promise[:size] > by_all))
        if still.size:
            self._past.add(self._slots.gather(still)[0], self._promise[still], by_all)
        dead = np.flatnonzero(quiet)
        self._slots.release(~quiet)
        self._last[dead], self._promise[dead] = _NONE, MIN_TIME
        self._over[dead] = self._quiet[dead] = False


__all__ = ["Breaks", "Clusters"]
