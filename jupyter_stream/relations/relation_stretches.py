"""Aggregates of a relation that look at the rows alive in groups that change: first, last, min, max, and all frame forms."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np
import polars as pl

from jupyter_stream.aggregates.protocol import SLOT, VALUE, Pick
from jupyter_stream.core.messages import Bools, Int64s, ints
from jupyter_stream.partials.frame_ranges import RANGE, answers_over, in_ranges
from jupyter_stream.partials.group_aggregate import GroupAggregate
from jupyter_stream.relations.relation_columns import inverse
from jupyter_stream.relations.relation_slab import Slab, Spans, marked, spans


class StandingRows:
    """Rows that stand for all rows of a slot before: where rows live for ever."""

    def __init__(self) -> None:
        self._slots = np.empty(0, np.int64)
        self._values: pl.DataFrame | None = None

    @property
    def bytes(self) -> int:
        """Bytes held."""
        return self._slots.nbytes + (0 if self._values is None else int(self._values.estimated_size()))

    def of(self, slab: Slab) -> tuple[Int64s, pl.DataFrame] | None:
        """Those of groups that have events."""
        if self._values is None:
            return None
        mine = np.flatnonzero(slab.run_of[self._slots] >= 0)
        return self._slots[mine], self._values[pl.Series(mine)]

    def replace(self, slab: Slab, slots: Int64s, values: pl.DataFrame) -> None:
        """These instead, for groups that have events."""
        if self._values is not None:
            others = np.flatnonzero(slab.run_of[self._slots] < 0)
            slots = np.concatenate([self._slots[others], slots])
            values = pl.concat([self._values[pl.Series(others)], values])
        self._slots, self._values = slots, values

    def release(self, dead: Bools) -> None:
        """Forget the slots marked."""
        if self._values is None or not self._slots.size:
            return
        stay = np.flatnonzero(~dead[self._slots])
        self._slots, self._values = self._slots[stay], self._values[pl.Series(stay)].rechunk()

    def renumber(self, old: Int64s) -> None:
        """Slot `old[i]` is now slot i."""
        if self._slots.size:
            self._slots = inverse(old)[self._slots]


class Picked:
    """An aggregate whose answer is one of the values: first, last, min, max."""

    def __init__(self, aggregate: GroupAggregate, pick: Pick, forever: bool) -> None:
        self._aggregate = aggregate
        self._pick = _PICKED[pick.which]
        self._skips_nulls = pick.skips_nulls
        self._kept = StandingRows() if forever else None

    @property
    def bytes(self) -> int:
        """Bytes held."""
        return 0 if self._kept is None else self._kept.bytes

    def answers(self, slab: Slab) -> tuple[pl.Series, None]:
        """The value at each look; NULL of nothing."""
        argument = self._aggregate.inputs[0]
        mask = slab.mask(argument if self._skips_nulls else None, self._aggregate.where)
        values = slab.inputs[argument].alias(VALUE).to_frame()
        found = spans(slab, values, mask, None if self._kept is None else self._kept.of(slab))
        some = found.high > found.low
        at = np.zeros(some.size, np.int64)
        if some.any():
            at = np.where(some, self._pick(found), 0)
        rows = pl.Series(at) if some.all() else pl.Series(at).set(pl.Series(~some), None)
        column = found.values.get_column(VALUE).gather(rows)
        if self._kept is not None:
            have = slab.last[some[slab.last]]
            self._kept.replace(slab, slab.slot[have], found.values[pl.Series(at[have])])
        return column.cast(self._aggregate.dtype).alias(self._aggregate.name), None

    def release(self, dead: Bools) -> None:
        """Forget the slots marked."""
        if self._kept is not None:
            self._kept.release(dead)

    def renumber(self, old: Int64s) -> None:
        """Slot `old[i]` is now slot i."""
        if self._kept is not None:
            self._kept.renumber(old)


def pick_first(found: Spans) -> Int64s:
    """The oldest."""
    return found.low


def pick_last(found: Spans) -> Int64s:
    """The youngest."""
    return found.high - 1


def pick_least(found: Spans) -> Int64s:
    """The least, of equal ones any."""
    return _extreme(found, 1)


def pick_greatest(found: Spans) -> Int64s:
    """The greatest, of equal ones any; NaN is greatest."""
    return _extreme(found, -1)


def _extreme(found: Spans, sign: int) -> Int64s:
    """Minima of stretches: with those of all stretches of 2^k values, two of which cover any (a sparse table, level by level)."""
    ranks = sign * _ranks(found.values.get_column(VALUE))
    length = found.high - found.low
    level = np.where(length > 0, np.frexp(np.maximum(length, 1).astype(np.float64))[1] - 1, -1)
    least = np.zeros(length.size, np.int64)
    table = ranks
    for k in range(int(level.max()) + 1):
        if k:
            half = 1 << (k - 1)
            table = np.minimum(table[:-half], table[half:])
        mine = np.flatnonzero(level == k)
        if mine.size:
            least[mine] = np.minimum(table[found.low[mine]], table[found.high[mine] - (1 << k)])
    where = np.zeros(int(np.abs(ranks).max(initial=0)) + 1, np.int64)
    where[np.abs(ranks)] = np.arange(ranks.size)
    return where[np.abs(least)]


def _ranks(values: pl.Series) -> Int64s:
    """Numbers from 1 in the order of the values."""
    if isinstance(values.dtype, pl.Boolean):
        return values.cast(pl.Int64).to_numpy() + 1
    if values.dtype.is_float():
        # a NaN is greater than all numbers, whatever its bits, and the zeros are equal
        values = (values.cast(pl.Float64) + 0.0).fill_nan(float("nan"))
        bits = values.to_numpy().view(np.int64)
        return _dense(bits ^ ((bits >> 63) & np.iinfo(np.int64).max))
    if values.dtype.is_integer() or values.dtype.is_temporal():
        return _dense(ints(values))
    return values.rank("dense").to_numpy().astype(np.int64)


def _dense(values: Int64s) -> Int64s:
    ranks: Int64s = np.unique(values, return_inverse=True)[1] + 1
    return ranks


_PICKED: Final[Mapping[str, Callable[[Spans], Int64s]]] = {
    "first": pick_first,
    "last": pick_last,
    "least": pick_least,
    "greatest": pick_greatest,
}
"""Which value of its stretch each look takes; anything where the stretch is empty."""


class Regrouped:
    """Any aggregate, computed anew for each look from the partial results of what is alive.

    Slow: costs looks times partial results of their group. Right for whatever can't be done better.
    """

    def __init__(self, aggregate: GroupAggregate, forever: bool) -> None:
        self._aggregate = aggregate
        self._framed = aggregate.framed
        self._kept = StandingRows() if forever else None

    @property
    def bytes(self) -> int:
        """Bytes held."""
        return 0 if self._kept is None else self._kept.bytes

    def answers(self, slab: Slab) -> tuple[pl.Series, Bools | None]:
        """The answer at each look, that of nothing where there is none; and where it is beyond BIGINT (None for nowhere)."""
        aggregate, framed = self._aggregate, self._framed
        mask = slab.mask(aggregate.inputs[0] if framed.skips_nulls else None, aggregate.where)
        clock = pl.Series(slab.times if slab.clock is None else slab.clock)
        # each row a partial result of its own, so that stretches are stretches of partial results
        each = pl.DataFrame([pl.Series(SLOT, np.arange(mask.size)), *aggregate.arguments(slab.inputs, clock)])
        partials = framed.each(each, [SLOT]).drop(SLOT)
        found = spans(slab, partials, mask, None if self._kept is None else self._kept.of(slab))
        sizes = found.high - found.low
        column, lost = answers_over(framed, found.values, found.low, sizes, framed.merge)
        if self._kept is not None:
            self._keep(slab, found)
        return column.alias(aggregate.name), marked(lost, sizes.size)

    def _keep(self, slab: Slab, found: Spans) -> None:
        assert self._kept is not None
        low = found.low[slab.last]
        merged = self._framed.merge(in_ranges(found.values, low, found.high[slab.last] - low), [RANGE])
        slots = slab.live[merged.get_column(RANGE).to_numpy()]
        self._kept.replace(slab, slots, merged.select(found.values.columns))

    def release(self, dead: Bools) -> None:
        """Forget the slots marked."""
        if self._kept is not None:
            self._kept.release(dead)

    def renumber(self, old: Int64s) -> None:
        """Slot `old[i]` is now slot i."""
        if self._kept is not None:
            self._kept.renumber(old)
