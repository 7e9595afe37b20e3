"""The aggregates of a relation, each over whole slabs of events: exact integers added up, or stretches of rows looked into.

What is added up (counts, sums, squares; DISTINCT too) costs the rows that enter and leave. The others (first, last, min, max and
whatever has only a frame form) look at the rows alive in the groups that change.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from jupyter_stream.aggregates import FrameForm
from jupyter_stream.aggregates.protocol import SLOT, VALUE, Array, as_series
from jupyter_stream.core.messages import TS, Int64s, ints
from jupyter_stream.core.order import order_of
from jupyter_stream.state.groups import GroupAggregate
from jupyter_stream.state.relation_exact import Exact, as_floats, as_integers, mean, variance
from jupyter_stream.state.relation_slab import Bools, Slab, Spans, spans
from jupyter_stream.state.slots import KeySlots

_EXPANDED = 1 << 20
"""Values a slow aggregate is given at once."""


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
        self._seen.encode([pl.Series(_inverse(old)[ints(slots)]), values])


class Count:
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
            self._slots = _inverse(old)[self._slots]


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


# -- aggregates that are additions ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sums:
    """What an addition gives at each look: how many values, their sum, the sum of their squares (where asked for)."""

    count: Int64s
    total: Exact | None = None
    squares: Exact | None = None


@dataclass(frozen=True)
class Addition:
    """How an aggregate follows from exact sums.

    Attributes:
        powers: 0: of counts only; 1: of sums; 2: of squares as well.
        finish: the answer and, where it can be beyond its type, where it is.
    """

    powers: int
    finish: Callable[[Sums, pl.DataType], tuple[pl.Series, Bools | None]]


def _count(sums: Sums, dtype: pl.DataType) -> tuple[pl.Series, Bools | None]:
    return pl.Series(sums.count).cast(dtype), None


def _sum(sums: Sums, dtype: pl.DataType) -> tuple[pl.Series, Bools | None]:
    assert sums.total is not None
    present = sums.count > 0
    if dtype.is_integer():
        values, beyond = as_integers(sums.total)
        return as_series(values, present, dtype), beyond if beyond.any() else None
    return as_series(as_floats(sums.total), present, dtype), None


def _avg(sums: Sums, dtype: pl.DataType) -> tuple[pl.Series, Bools | None]:
    assert sums.total is not None
    return as_series(mean(sums.total, sums.count), sums.count > 0, dtype), None


def _spread(ddof: int, root: bool) -> Addition:
    def finish(sums: Sums, dtype: pl.DataType) -> tuple[pl.Series, Bools | None]:
        assert sums.total is not None and sums.squares is not None
        present: NDArray[np.bool_] = sums.count > ddof
        values = variance(sums.total, sums.squares, sums.count, ddof)
        return as_series(np.sqrt(values) if root else values, present, dtype), None

    return Addition(2, finish)


ADDITIONS: dict[str, Addition] = {
    "count": Addition(0, _count),
    "sum": Addition(1, _sum),
    "avg": Addition(1, _avg),
    "var_samp": _spread(1, False),
    "var_pop": _spread(0, False),
    "stddev_samp": _spread(1, True),
    "stddev_pop": _spread(0, True),
}
"""Aggregates that are functions of exact sums, for arguments that are integers or floats."""

PICKS: dict[str, tuple[Pick, bool]] = {
    "first": (pick_first, False),
    "last": (pick_last, False),
    "min": (pick_least, True),
    "max": (pick_greatest, True),
}
"""Aggregates that are one of the values: which one, and whether NULLs are left out."""


def _fit(array: Int64s, capacity: int) -> Int64s:
    have = array.shape[-1]
    if have >= capacity:
        return array
    grown = np.zeros((*array.shape[:-1], max(2 * have, capacity)), np.int64)
    grown[..., :have] = array
    return grown


def _inverse(old: Int64s) -> Int64s:
    new = np.full(int(old.max(initial=0)) + 1, -1)
    new[old] = np.arange(old.size)
    return new
