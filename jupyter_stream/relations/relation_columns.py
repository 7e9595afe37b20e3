"""What the aggregates of a relation keep for each group, slab by slab: which values count, how many, their exact sums.

Costs the rows that enter and leave. What looks at the rows alive instead is in `relation_stretches`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import polars as pl

from jupyter_stream.aggregates.protocol import SLOT, VALUE
from jupyter_stream.arrays.exact import Exact
from jupyter_stream.arrays.order import order_of
from jupyter_stream.core.messages import Array, Bools, Int64s, ints
from jupyter_stream.keys.slots import KeySlots
from jupyter_stream.relations.relation_slab import Slab


class Held(Protocol):
    """Something remembered per slot."""

    @property
    def bytes(self) -> int:
        """Bytes held."""

    def release(self, dead: Bools) -> None:
        """Forget the slots marked."""

    def renumber(self, old: Int64s) -> None:
        """Slot `old[i]` is now slot i."""


@dataclass(frozen=True)
class Counted:
    """Which rows an addition is over.

    Attributes:
        argument: rows where it is NULL don't count; None for all rows.
        where: rows where it isn't true don't count.
        distinct: whether rows with equal arguments count once.
    """

    argument: int | None = None
    where: int | None = None
    distinct: bool = False


class Once:
    """Which rows bring a value its group hasn't, and which take the last of its kind away."""

    def __init__(self, counted: Counted, dtype: pl.DataType, forever: bool) -> None:
        assert counted.argument is not None
        self._argument = counted.argument
        self._dtype = dtype
        self._seen = self._table() if forever else None

    def _table(self) -> KeySlots:
        return KeySlots([(SLOT, pl.Int64()), (VALUE, self._dtype)])

    @property
    def bytes(self) -> int:
        """Bytes held."""
        return 0 if self._seen is None else self._seen.bytes

    def weights(self, slab: Slab, mask: Bools) -> tuple[Int64s, Int64s]:
        """Of each row, 1 or 0: when it enters, when it leaves."""
        chosen = np.flatnonzero(mask & (slab.run_of[slab.slots] >= 0))
        enters, leaves = np.zeros(mask.size, np.int64), np.zeros(mask.size, np.int64)
        if not chosen.size:
            return enters, leaves
        table = self._table() if self._seen is None else self._seen
        known = table.capacity
        values = slab.inputs[self._argument].gather(pl.Series(chosen))
        codes = table.encode([pl.Series(slab.slots[chosen]), values])
        order = order_of(codes)
        rows, codes = chosen[order], codes[order]
        apart = np.ones(rows.size + 1, np.bool_)
        np.not_equal(codes[1:], codes[:-1], out=apart[1:-1])
        if slab.ends is None:
            enters[rows[apart[:-1] & (codes >= known)]] = 1
        else:
            # equal values whose lifetimes don't meet count again
            apart[1:-1] |= slab.ends[rows[:-1]] < slab.times[rows[1:]]
            enters[rows[apart[:-1]]] = 1
            leaves[rows[apart[1:]]] = 1
        return enters, leaves

    def release(self, dead: Bools) -> None:
        """Forget values of the slots marked."""
        if self._seen is None:
            return
        every = np.arange(self._seen.capacity)
        slots, values = self._seen.gather(every)
        stay = pl.Series(~dead[ints(slots)])
        self._seen = self._table()
        if stay.any():
            self._seen.encode([slots.filter(stay), values.filter(stay)])

    def renumber(self, old: Int64s) -> None:
        """Slot `old[i]` is now slot i."""
        if self._seen is None or not self._seen.capacity:
            return
        slots, values = self._seen.gather(np.arange(self._seen.capacity))
        self._seen = self._table()
        self._seen.encode([pl.Series(inverse(old)[ints(slots)]), values])


class RowCount:
    """How many rows, per slot."""

    def __init__(self) -> None:
        self.held = np.zeros(1, np.int64)

    @property
    def bytes(self) -> int:
        """Bytes held."""
        return self.held.nbytes

    def advance(self, slab: Slab, weights: Int64s) -> Int64s:
        """The count at each look; `weights` are of events."""
        self.held = _fit(self.held, slab.capacity)
        counts = self.held[slab.slot] + slab.totals(weights)
        self.held[slab.live] = counts[slab.last]
        return counts

    def release(self, dead: Bools) -> None:
        """Forget the slots marked."""
        self.held[: dead.size][dead] = 0

    def renumber(self, old: Int64s) -> None:
        """Slot `old[i]` is now slot i."""
        self.held = self.held[old] if old.size else np.zeros(1, np.int64)


class Total:
    """Sum of an argument or of its squares, per slot, exact."""

    _CARRY_AFTER = 1 << 29

    def __init__(self, argument: int, power: int) -> None:
        self._argument = argument
        self._power = power
        self._low = 0
        self._held = np.zeros((1, 1), np.int64)
        self._odd: Int64s | None = None
        self._added = 0

    @property
    def bytes(self) -> int:
        """Bytes held."""
        return self._held.nbytes + (0 if self._odd is None else self._odd.nbytes)

    def advance(self, slab: Slab, weights: Int64s) -> Exact:
        """The sum at each look; `weights` are of events."""
        self._held = _fit(self._held, slab.capacity)
        change = Exact.of(self._values(slab), weights, self._power)
        self._carry(weights.size)
        self._widen(change)
        parts = self._held[:, slab.slot]
        for k in range(change.parts.shape[0]):
            if change.parts[k].any():
                parts[change.low - self._low + k] += slab.totals(change.parts[k])
        self._held[:, slab.live] = parts[:, slab.last]
        odd = None
        if change.odd is not None and self._odd is None:
            self._odd = np.zeros((3, slab.capacity), np.int64)
        if self._odd is not None:
            self._odd = _fit(self._odd, slab.capacity)
            odd = self._odd[:, slab.slot]
            if change.odd is not None:
                for k in range(3):
                    odd[k] += slab.totals(change.odd[k])
                self._odd[:, slab.live] = odd[:, slab.last]
                if not self._odd.any():
                    self._odd = None
        return Exact(self._low, parts, odd)

    def _values(self, slab: Slab) -> Array:
        series = slab.inputs[self._argument]
        values: Array
        if series.dtype.is_float() or isinstance(series.dtype, pl.Null):
            values = series.cast(pl.Float64).fill_null(0.0).to_numpy()
        else:
            values = ints(series.cast(pl.Int64).fill_null(0))
        if slab.row.size and (slab.row < 0).any():
            values = np.append(values, values.dtype.type(0))
        return values[slab.row]

    def _widen(self, change: Exact) -> None:
        """Make room for the limbs of a change, and drop limbs at the ends that hold nothing."""
        used = np.flatnonzero(self._held.any(axis=1))
        low, high = change.low, change.high
        if used.size:
            low, high = min(low, self._low + int(used[0])), max(high, self._low + int(used[-1]) + 1)
        if (low, high) == (self._low, self._low + self._held.shape[0]):
            return
        held = np.zeros((high - low, self._held.shape[1]), np.int64)
        for k in used.tolist():
            held[self._low - low + k] = self._held[k]
        self._low, self._held = low, held

    def _carry(self, rows: int) -> None:
        """Bring parts back to a limb's size before they could leave 64 bits."""
        self._added += rows
        if self._added < self._CARRY_AFTER:
            return
        self._added = rows
        parts = np.concatenate([self._held, np.zeros((1, self._held.shape[1]), np.int64)])
        for k in range(parts.shape[0] - 1):
            parts[k + 1] += parts[k] >> 32
            parts[k] &= 0xFFFFFFFF
        self._held = parts

    def release(self, dead: Bools) -> None:
        """Forget the slots marked."""
        self._held[:, : dead.size][:, dead] = 0
        if self._odd is not None:
            self._odd[:, : dead.size][:, dead] = 0

    def renumber(self, old: Int64s) -> None:
        """Slot `old[i]` is now slot i."""
        if not old.size:
            self._held, self._odd = np.zeros((1, 1), np.int64), None
            self._low = 0
            return
        self._held = self._held[:, old]
        if self._odd is not None:
            self._odd = self._odd[:, old]


def _fit(array: Int64s, capacity: int) -> Int64s:
    have = array.shape[-1]
    if have >= capacity:
        return array
    grown = np.zeros((*array.shape[:-1], max(2 * have, capacity)), np.int64)
    grown[..., :have] = array
    return grown


def inverse(old: Int64s) -> Int64s:
    """Of slots that get the numbers 0, 1, ...: the new number of each old one."""
    new = np.full(int(old.max(initial=0)) + 1, -1)
    new[old] = np.arange(old.size)
    return new
