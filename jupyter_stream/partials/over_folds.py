"""Aggregates over many ranges of rows at once, for OVER: dense partials by differences and binary lifting, others by frames.

Rows lie in the order of their partitions and times. Knows no punctuation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from jupyter_stream.aggregates import Dense, Partial
from jupyter_stream.aggregates.framed import Framed
from jupyter_stream.aggregates.protocol import SLOT
from jupyter_stream.arrays.exact import halves, whole
from jupyter_stream.arrays.range_fold import folds, sums
from jupyter_stream.arrays.runs import ends_run
from jupyter_stream.arrays.walking import ranges
from jupyter_stream.core.messages import Array, Bools, Int64s
from jupyter_stream.partials.frame_ranges import answers_over
from jupyter_stream.partials.group_aggregate import GroupAggregate
from jupyter_stream.partials.partial_values import chosen, values_of

_BLOCK = 128
"""Rows of a partition between two looks at what is carried, for frame forms over unbounded ranges."""
_OUT = "$out"


@dataclass(frozen=True)
class OrderedRows:
    """Rows in the order of (partition, time, arrival).

    Attributes:
        slots: the partition of each.
        times: microseconds.
        columns: arguments and FILTER conditions.
        starts: for each row the index of the first row of its partition.
    """

    slots: Int64s
    times: Int64s
    columns: list[pl.Series]
    starts: Int64s


@dataclass(frozen=True)
class OverAnswers:
    """One aggregate's answers.

    Attributes:
        values: an answer for each range.
        beyond: ranges whose sum is beyond BIGINT; None for none.
    """

    values: pl.Series
    beyond: Bools | None


def over_ranges(aggregate: GroupAggregate, rows: OrderedRows, first: Int64s, stop: Int64s) -> OverAnswers:
    """The aggregate over `rows[first:stop]`, for each range; ranges may be empty."""
    if not isinstance(aggregate.form, Dense):
        return OverAnswers(_framed_ranges(aggregate, rows, first, stop), None)
    arrays: list[Array] = []
    beyond: Bools | None = None
    for partial, values in _partials(aggregate, rows.columns):
        if partial.op == "count":
            arrays.append(sums(values, first, stop))
        elif partial.op == "sum" and partial.kind == "int":
            high, low = (sums(half, first, stop) for half in halves(values))
            total, beyond = whole(high, low, aggregate.dtype.is_integer())
            arrays.append(total)
        else:
            arrays.append(_folded(values, partial, first, stop))
    return OverAnswers(aggregate.function.finish(arrays, aggregate.dtype), beyond)


class Running:
    """One aggregate over all rows of a partition so far: what is carried from release to release.

    Args:
        aggregate: which.
    """

    def __init__(self, aggregate: GroupAggregate) -> None:
        self._aggregate = aggregate
        self._carried: list[Array] = []
        self._framed: Framed | None = None
        self._partials: pl.DataFrame | None = None
        if isinstance(aggregate.form, Dense):
            self._carried = [_nothing(p, 1) for p in aggregate.form.partials for _ in range(_limbs(p))]
        else:
            self._framed = aggregate.framed

    @property
    def bytes(self) -> int:
        """Bytes held."""
        frame = 0 if self._partials is None else int(self._partials.estimated_size())
        return sum(c.nbytes for c in self._carried) + frame

    def answers(self, rows: OrderedRows, stop: Int64s) -> OverAnswers:
        """Over all rows of each row's partition up to `stop` (exclusive), and what was carried; carries these on."""
        if self._framed is not None:
            return OverAnswers(self._frames(rows, stop), None)
        form = self._aggregate.form
        assert isinstance(form, Dense)
        capacity = int(rows.slots.max()) + 1 if rows.slots.size else 1
        ends = np.flatnonzero(ends_run(rows.starts))
        arrays: list[Array] = []
        beyond: Bools | None = None
        at = 0
        for partial, values in _partials(self._aggregate, rows.columns):
            carried = [self._carry(at + i, partial, capacity) for i in range(_limbs(partial))]
            at += len(carried)
            if partial.op == "sum" and partial.kind == "int":
                runs = [_accumulated(v, rows, c) for v, c in zip(halves(values), carried, strict=True)]
                high, low = (run[stop - 1] for run in runs)
                total, beyond = whole(high, low, self._aggregate.dtype.is_integer())
                arrays.append(total)
            else:
                runs = [_accumulated(values, rows, carried[0], partial)]
                arrays.append(runs[0][stop - 1])
            for run, carry in zip(runs, carried, strict=True):
                carry[rows.slots[ends]] = run[ends]
        return OverAnswers(self._aggregate.function.finish(arrays, self._aggregate.dtype), beyond)

    def _carry(self, at: int, partial: Partial, capacity: int) -> Array:
        held = self._carried[at]
        if held.size < capacity:
            grown = _nothing(partial, max(1024, 2 * capacity))
            grown[: held.size] = held
            self._carried[at] = held = grown
        return held

    def _frames(self, rows: OrderedRows, stop: Int64s) -> pl.Series:
        """Block by block of each partition: what is carried is merged with the rows of the block up to each row."""
        assert self._framed is not None
        block = (np.arange(rows.slots.size) - rows.starts) // _BLOCK
        within = rows.starts + block * _BLOCK
        found = []
        places = []
        wanted = stop - 1  # the answer of the last peer serves all of them
        for number in range(int(block.max()) + 1 if block.size else 0):
            here = np.flatnonzero(block == number)
            sizes = here + 1 - within[here]
            at, out = ranges(within[here], sizes), np.repeat(np.arange(here.size), sizes)
            made = self._framed.update(self._rows(rows, at, pl.Series(_OUT, out)), [_OUT])
            if self._partials is not None:
                carried = self._partials.join(
                    pl.DataFrame({SLOT: rows.slots[here], _OUT: np.arange(here.size)}), on=SLOT, how="inner"
                ).drop(SLOT)
                made = self._framed.merge(pl.concat([carried.select(made.columns), made]), [_OUT])
            found.append(self._framed.answers(made, _OUT, here.size)[0])
            places.append(here)
            self._absorb(rows, here)
        if not found:
            return pl.Series(self._aggregate.name, [], dtype=self._aggregate.dtype)
        order = np.empty(rows.slots.size, np.int64)
        order[np.concatenate(places)] = np.arange(rows.slots.size)
        return pl.concat(found).gather(pl.Series(order[wanted])).alias(self._aggregate.name)

    def _absorb(self, rows: OrderedRows, here: Int64s) -> None:
        assert self._framed is not None
        new = self._framed.update(self._rows(rows, here, pl.Series(SLOT, rows.slots[here])), [SLOT])
        both = new if self._partials is None else pl.concat([self._partials, new.select(self._partials.columns)])
        self._partials = self._framed.merge(both, [SLOT])

    def _rows(self, rows: OrderedRows, at: Int64s, by: pl.Series) -> pl.DataFrame:
        return self._aggregate.rows([by], rows.columns, pl.Series(rows.times), pl.Series(at))


def _limbs(partial: Partial) -> int:
    """Arrays a partial is carried in: sums of integers in two halves, so that only the answer can overflow."""
    return 2 if partial.op == "sum" and partial.kind == "int" else 1


def _nothing(partial: Partial, size: int) -> Array:
    dtype = np.float64 if partial.kind == "float" and partial.op != "count" else np.int64
    return np.full(size, partial.identity, dtype)


def _partials(aggregate: GroupAggregate, columns: Sequence[pl.Series]) -> Iterator[tuple[Partial, Array]]:
    """Each dense partial with the value every row adds to it."""
    assert isinstance(aggregate.form, Dense)
    argument = aggregate.inputs[0] if aggregate.inputs else None
    for partial in aggregate.form.partials:
        yield partial, values_of(partial, argument, aggregate.where, columns, len(columns[0]))


def _folded(values: Array, partial: Partial, first: Int64s, stop: Int64s) -> Array:
    found = _nothing(partial, first.size)
    some = np.flatnonzero(stop > first)
    with np.errstate(invalid="ignore"):
        found[some] = folds(values, partial.fold, first[some], stop[some], 0)
    return found


def _accumulated(values: Array, rows: OrderedRows, carried: Array, partial: Partial | None = None) -> Array:
    """Running folds within partitions, what was carried first. Sums of doubles are added one by one, in order."""
    heads = np.flatnonzero(rows.starts == np.arange(rows.starts.size))
    values = values.copy()
    slots = rows.slots[heads]
    if partial is not None and partial.op in ("min", "max"):
        with np.errstate(invalid="ignore"):
            values[heads] = partial.fold(values[heads], carried[slots])
            return _segmented(values, rows.starts, partial.fold)
    with np.errstate(invalid="ignore"):  # infinities of both signs make a NaN, as they should
        values[heads] += carried[slots]
    if values.dtype == np.float64:
        frame = pl.DataFrame({"s": rows.starts, "v": values})
        return frame.select(pl.col("v").cum_sum().over("s")).to_series().to_numpy()
    running = np.cumsum(values)
    before = running[heads] - values[heads]
    sizes = np.diff(np.append(heads, values.size))
    found: Array = running - np.repeat(before, sizes)
    return found


def _segmented(values: Array, starts: Int64s, fold: np.ufunc) -> Array:
    """Running folds within segments by doubling; for folds that don't care how they are put together."""
    at = np.arange(values.size)
    longest = int((at - starts).max()) + 1 if values.size else 0
    step = 1
    while step < longest:
        reach = np.flatnonzero(at - step >= starts)
        folded = fold(values[reach - step], values[reach])
        values[reach] = folded
        step *= 2
    return values


# -- frame forms


def _framed_ranges(aggregate: GroupAggregate, rows: OrderedRows, first: Int64s, stop: Int64s) -> pl.Series:
    taken = aggregate.rows([], rows.columns, pl.Series(rows.times))
    if aggregate.where is not None:  # where the rows are that are left
        before = np.append(0, np.cumsum(chosen(rows.columns[aggregate.where])))
        first, stop = before[first], before[stop]
    framed = aggregate.framed
    return answers_over(framed, taken, first, stop - first, framed.update)[0].alias(aggregate.name)
