"""Aggregates of a relation that look at the rows alive in groups that change: first, last, min, max, and all frame forms."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl

from jupyter_stream.aggregates import FrameForm
from jupyter_stream.aggregates.protocol import SLOT, VALUE
from jupyter_stream.core.messages import TS, Int64s, ints
from jupyter_stream.state.group_aggregate import GroupAggregate
from jupyter_stream.state.relation_columns import inverse
from jupyter_stream.state.relation_slab import Bools, Slab, Spans, spans

_EXPANDED = 1 << 20
"""Values a slow aggregate is given at once."""


class Kept:
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


Pick = Callable[[Spans], Int64s]
"""Which value of its stretch each look takes; anything where the stretch is empty."""


class Picked:
    """An aggregate whose answer is one of the values: first, last, min, max."""

    def __init__(self, aggregate: GroupAggregate, pick: Pick, skips_nulls: bool, forever: bool) -> None:
        self._aggregate = aggregate
        self._pick = pick
        self._skips_nulls = skips_nulls
        self._kept = Kept() if forever else None

    @property
    def bytes(self) -> int:
        """Bytes held."""
        return 0 if self._kept is None else self._kept.bytes

    def answers(self, slab: Slab) -> pl.Series:
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
        return column.cast(self._aggregate.dtype).alias(self._aggregate.name)

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


class Regrouped:
    """Any aggregate that has a frame form, computed anew for each look from the partial results of what is alive.

    Slow: costs looks times partial results of their group. Right for whatever can't be done better.
    """

    def __init__(self, aggregate: GroupAggregate, form: FrameForm, forever: bool) -> None:
        self._aggregate = aggregate
        self._form = form
        self._kept = Kept() if forever else None

    @property
    def bytes(self) -> int:
        """Bytes held."""
        return 0 if self._kept is None else self._kept.bytes

    def answers(self, slab: Slab) -> pl.Series:
        """The answer at each look; NULL (0 for a count) of nothing."""
        aggregate, form = self._aggregate, self._form
        mask = slab.mask(aggregate.inputs[0] if form.skips_nulls else None, aggregate.where)
        names = [VALUE if n == 0 else f"{VALUE}{n}" for n in range(len(aggregate.inputs))]
        rows = pl.DataFrame([slab.inputs[i].alias(name) for name, i in zip(names, aggregate.inputs, strict=True)])
        if form.needs_time:
            rows = rows.with_columns(pl.Series(TS, slab.times if slab.clock is None else slab.clock))
        # each row a partial result of its own, so that stretches are stretches of partial results
        number = pl.Series(SLOT, np.arange(rows.height))
        partials = rows.with_columns(number).group_by([SLOT, *form.extra], maintain_order=True).agg(form.update())
        partials = partials.drop(SLOT)
        found = spans(slab, partials, mask, None if self._kept is None else self._kept.of(slab))
        answers = []
        sizes = found.high - found.low
        ends = np.cumsum(sizes)
        begin = 0
        while begin < sizes.size:
            reached = int(ends[begin - 1]) if begin else 0
            stop = max(begin + 1, int(np.searchsorted(ends, reached + _EXPANDED, "right")))
            answers.append(self._some(found, begin, stop))
            begin = stop
        if self._kept is not None:
            self._keep(slab, found)
        column = pl.concat(answers) if answers else pl.Series([], dtype=aggregate.dtype)
        return column.alias(aggregate.name)

    def _expanded(self, found: Spans, looks: Int64s) -> pl.DataFrame:
        sizes = (found.high - found.low)[looks]
        look = np.repeat(np.arange(looks.size), sizes)
        offset = np.repeat(np.cumsum(sizes) - sizes, sizes)
        at = np.arange(look.size) - offset + np.repeat(found.low[looks], sizes)
        partials = found.values[pl.Series(at)].with_columns(pl.Series(SLOT, look))
        return partials.group_by([SLOT, *self._form.extra], maintain_order=True).agg(self._form.merge())

    def _some(self, found: Spans, begin: int, stop: int) -> pl.Series:
        merged = self._expanded(found, np.arange(begin, stop))
        answered = self._form.finish(merged, [SLOT])
        every = pl.DataFrame({SLOT: np.arange(stop - begin)})
        column = every.join(answered, on=SLOT, how="left", maintain_order="left").get_column(VALUE)
        if self._aggregate.function.name == "count":
            column = column.fill_null(0)
        return column.cast(self._aggregate.dtype)

    def _keep(self, slab: Slab, found: Spans) -> None:
        assert self._kept is not None
        merged = self._expanded(found, slab.last)
        slots = slab.live[merged.get_column(SLOT).to_numpy()]
        self._kept.replace(slab, slots, merged.drop(SLOT).select(found.values.columns))

    def release(self, dead: Bools) -> None:
        """Forget the slots marked."""
        if self._kept is not None:
            self._kept.release(dead)

    def renumber(self, old: Int64s) -> None:
        """Slot `old[i]` is now slot i."""
        if self._kept is not None:
            self._kept.renumber(old)


PICKS: dict[str, tuple[Pick, bool]] = {
    "first": (pick_first, False),
    "last": (pick_last, False),
    "min": (pick_least, True),
    "max": (pick_greatest, True),
}
"""Aggregates that are one of the values: which one, and whether NULLs are left out."""
