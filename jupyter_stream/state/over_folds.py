"""Aggregates over many ranges of rows at once, for OVER: dense partials by differences and binary lifting, others by frames.

Rows lie in the order of their partitions and times. Knows no punctuation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from jupyter_stream.aggregates import Dense, Partial
from jupyter_stream.aggregates.framed import Framed
from jupyter_stream.aggregates.protocol import SLOT, VALUE, Array
from jupyter_stream.core.messages import TS, Int64s, ints
from jupyter_stream.state.group_aggregate import GroupAggregate
from jupyter_stream.state.range_fold import folds, sums

Bools = NDArray[np.bool_]

_PAIRS = 1 << 20
"""Pairs of an answer and a row in its range that a frame-form aggregate is given at once."""
_BLOCK = 128
"""Rows of a partition between two looks at what is carried, for frame forms over unbounded ranges."""
_LOW = 0xFFFFFFFF
_OUT = "$out"


@dataclass(frozen=True)
class Rows:
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
class Answers:
    """One aggregate's answers.

    Attributes:
        values: an answer for each range.
        beyond: ranges whose sum is beyond BIGINT; None for none.
    """

    values: pl.Series
    beyond: Bools | None


def over_ranges(aggregate: GroupAggregate, rows: Rows, first: Int64s, stop: Int64s) -> Answers:
    """The aggregate over `rows[first:stop]`, for each range; ranges may be empty."""
    if not isinstance(aggregate.form, Dense):
        return Answers(_framed_ranges(aggregate, rows, first, stop), None)
    arrays: list[Array] = []
    beyond: Bools | None = None
    for partial, values in _partials(aggregate, rows.columns):
        if partial.op == "count":
            arrays.append(sums(values, first, stop))
        elif partial.op == "sum" and partial.kind == "int":
            low, high = sums(values & _LOW, first, stop), sums(values >> 32, first, stop)
            total, past = _joined(low, high, aggregate)
            arrays.append(total)
            beyond = past
        else:
            arrays.append(_folded(values, partial, first, stop))
    return Answers(aggregate.function.finish(arrays, aggregate.dtype), beyond)


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
            self._framed = Framed(aggregate.function, aggregate.form, aggregate.dtype)

    @property
    def bytes(self) -> int:
        """Bytes held."""
        frame = 0 if self._partials is None else int(self._partials.estimated_size())
        return sum(c.nbytes for c in self._carried) + frame

    def answers(self, rows: Rows, stop: Int64s) -> Answers:
        """Over all rows of each row's partition up to `stop` (exclusive), and what was carried; carries these on."""
        if self._framed is not None:
            return Answers(self._frames(rows, stop), None)
        form = self._aggregate.form
        assert isinstance(form, Dense)
        capacity = int(rows.slots.max()) + 1 if rows.slots.size else 1
        ends = np.flatnonzero(np.append(rows.starts[1:] != rows.starts[:-1], True))
        arrays: list[Array] = []
        beyond: Bools | None = None
        at = 0
        for partial, values in _partials(self._aggregate, rows.columns):
            carried = [self._carry(at + i, partial, capacity) for i in range(_limbs(partial))]
            at += len(carried)
            if partial.op == "sum" and partial.kind == "int":
                runs = [_accumulated(v, rows, c) for v, c in zip((values & _LOW, values >> 32), carried, strict=True)]
                total, beyond = _joined(runs[0][stop - 1], runs[1][stop - 1], self._aggregate)
                arrays.append(total)
            else:
                runs = [_accumulated(values, rows, carried[0], partial)]
                arrays.append(runs[0][stop - 1])
            for run, carry in zip(runs, carried, strict=True):
                carry[rows.slots[ends]] = run[ends]
        return Answers(self._aggregate.function.finish(arrays, self._aggregate.dtype), beyond)

    def _carry(self, at: int, partial: Partial, capacity: int) -> Array:
        held = self._carried[at]
        if held.size < capacity:
            grown = _nothing(partial, max(1024, 2 * capacity))
            grown[: held.size] = held
            self._carried[at] = held = grown
        return held

    def _frames(self, rows: Rows, stop: Int64s) -> pl.Series:
        """Block by block of each partition: what is carried is merged with the rows of the block up to each row."""
        assert self._framed is not None
        block = (np.arange(rows.slots.size) - rows.starts) // _BLOCK
        within = rows.starts + block * _BLOCK
        found = []
        places = []
        wanted = stop - 1  # the answer of the last peer serves all of them
        for number in range(int(block.max()) + 1 if block.size else 0):
            here = np.flatnonzero(block == number)
            made = _partials_of_ranges(self._aggregate, self._framed, rows, within[here], here + 1)
            if self._partials is not None:
                carried = self._partials.join(
                    pl.DataFrame({SLOT: rows.slots[here], _OUT: np.arange(here.size)}), on=SLOT, how="inner"
                ).drop(SLOT)
                made = self._framed.merge(pl.concat([carried.select(made.columns), made]), [_OUT])
            found.append(_finished(self._framed, made, here.size, self._aggregate))
            places.append(here)
            self._absorb(rows, here)
        if not found:
            return pl.Series(self._aggregate.name, [], dtype=self._aggregate.dtype)
        order = np.empty(rows.slots.size, np.int64)
        order[np.concatenate(places)] = np.arange(rows.slots.size)
        return pl.concat(found).gather(pl.Series(order[wanted]))

    def _absorb(self, rows: Rows, here: Int64s) -> None:
        assert self._framed is not None
        new = self._framed.update(_values(self._aggregate, rows, here, rows.slots[here], SLOT), [SLOT])
        both = new if self._partials is None else pl.concat([self._partials, new.select(self._partials.columns)])
        self._partials = self._framed.merge(both, [SLOT])


def _limbs(partial: Partial) -> int:
    """Arrays a partial is carried in: sums of integers in two halves, so that only the answer can overflow."""
    return 2 if partial.op == "sum" and partial.kind == "int" else 1


def _nothing(partial: Partial, size: int) -> Array:
    dtype = np.float64 if partial.kind == "float" and partial.op != "count" else np.int64
    return np.full(size, partial.identity, dtype)


def _partials(aggregate: GroupAggregate, columns: Sequence[pl.Series]) -> Iterator[tuple[Partial, Array]]:
    """Each dense partial with the value every row adds to it."""
    form = aggregate.form
    assert isinstance(form, Dense)
    valid = _chosen(aggregate, columns)
    argument = columns[aggregate.inputs[0]] if aggregate.inputs else None
    if argument is not None:
        valid = valid & argument.is_not_null().to_numpy()
    for partial in form.partials:
        if partial.op == "count":
            yield partial, valid.astype(np.int64)
            continue
        assert argument is not None
        values: Array
        if partial.kind == "float":
            values = argument.cast(pl.Float64).fill_null(0.0).to_numpy()
        else:
            values = ints(argument.to_physical().cast(pl.Int64).fill_null(0))
        identity = values.dtype.type(partial.identity)
        yield partial, values if valid.all() else np.where(valid, values, identity)


def _chosen(aggregate: GroupAggregate, columns: Sequence[pl.Series]) -> Bools:
    """Rows that FILTER lets through."""
    if aggregate.where is None:
        size = len(columns[0]) if columns else 0
        return np.ones(size, np.bool_)
    chosen: Bools = columns[aggregate.where].fill_null(False).to_numpy()
    return chosen


def _joined(low: Int64s, high: Int64s, aggregate: GroupAggregate) -> tuple[Array, Bools | None]:
    """Sums of integers from the sums of their halves, and which of them don't fit."""
    high = high + (low >> 32)
    low = low & _LOW
    if aggregate.dtype.is_float():
        return high.astype(np.float64) * 2.0**32 + low, None
    past = (high < -(2**31)) | (high >= 2**31)
    return (high << 32) | low, past if past.any() else None


def _folded(values: Array, partial: Partial, first: Int64s, stop: Int64s) -> Array:
    found = _nothing(partial, first.size)
    some = np.flatnonzero(stop > first)
    with np.errstate(invalid="ignore"):
        found[some] = folds(values, partial.fold, first[some], stop[some], 0)
    return found


def _accumulated(values: Array, rows: Rows, carried: Array, partial: Partial | None = None) -> Array:
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


def _values(aggregate: GroupAggregate, rows: Rows, at: Int64s, by: Int64s, name: str) -> pl.DataFrame:
    """Rows as `Framed.update` takes them, grouped by a number; those FILTER keeps."""
    picked = pl.Series(at)
    columns = [pl.Series(name, by), pl.Series(TS, rows.times[at])]
    for i, index in enumerate(aggregate.inputs):
        columns.append(rows.columns[index].gather(picked).alias(VALUE if i == 0 else f"{VALUE}{i}"))
    frame = pl.DataFrame(columns)
    if aggregate.where is None:
        return frame
    return frame.filter(rows.columns[aggregate.where].gather(picked).fill_null(False))


def _partials_of_ranges(
    aggregate: GroupAggregate, framed: Framed, rows: Rows, first: Int64s, stop: Int64s
) -> pl.DataFrame:
    lengths = stop - first
    out = np.repeat(np.arange(first.size), lengths)
    at = np.arange(out.size) - np.repeat(np.cumsum(lengths) - lengths, lengths) + np.repeat(first, lengths)
    return framed.update(_values(aggregate, rows, at, out, _OUT), [_OUT])


def _framed_ranges(aggregate: GroupAggregate, rows: Rows, first: Int64s, stop: Int64s) -> pl.Series:
    assert not isinstance(aggregate.form, Dense)
    framed = Framed(aggregate.function, aggregate.form, aggregate.dtype)
    pairs = np.cumsum(stop - first)
    found = []
    begin = 0
    while begin < first.size:
        done = int(pairs[begin - 1]) if begin else 0
        end = max(begin + 1, int(np.searchsorted(pairs, done + _PAIRS, "right")))
        made = _partials_of_ranges(aggregate, framed, rows, first[begin:end], stop[begin:end])
        found.append(_finished(framed, made, end - begin, aggregate))
        begin = end
    return pl.concat(found) if found else pl.Series(aggregate.name, [], dtype=aggregate.dtype)


def _finished(framed: Framed, partials: pl.DataFrame, count: int, aggregate: GroupAggregate) -> pl.Series:
    """An answer for each of `count` ranges, that over no rows where there are no partials."""
    answers = framed.finish(partials, [_OUT])
    values = pl.DataFrame({_OUT: np.arange(count)}).join(answers, on=_OUT, how="left", maintain_order="left")
    found = values.get_column(VALUE).cast(aggregate.dtype)
    nothing = framed.of_nothing()
    return (found if nothing is None else found.fill_null(nothing)).alias(aggregate.name)
