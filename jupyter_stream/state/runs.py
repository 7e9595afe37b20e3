"""Rows of one side of a join, in runs: found by their keys' hash, within many of one key by time, freed as time passes.

A run is what came together. Small ones are merged into larger ones, so that there are few; rows that can find no partner any more
leave with their run. Nothing is put in order by time but within keys that have many rows, and there only when that pays.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

import numpy as np
import polars as pl

from jupyter_stream.core.messages import Int64s
from jupyter_stream.core.time import MAX_TIME, MIN_TIME
from jupyter_stream.state.join_keys import Bools, Hashes, JoinKeys

_ROW_BITS: Final = 22
_ROW_MASK: Final = np.uint64((1 << _ROW_BITS) - 1)
_MOST_ROWS: Final = 1 << _ROW_BITS
_SMALL: Final = 4_096
"""Rows: runs below are merged at once."""
_LARGE: Final = 32_768
"""Rows: above, runs are merged when there are `_FEW` alike, since looking in one more costs less than merging them."""
_FEW: Final = 6
_PAIRS: Final = 1 << 19
"""Pairs made at a time."""
_CROWDED: Final = 4
"""Candidates per row above which those of the right time are looked for."""


def packed(hashes: Hashes) -> Hashes:
    """The upper 42 bits of each row's hash and the row's number as one integer, in order: 7 ns a row.

    Rows looked up in this order go through a run from its beginning to its end, as the processor likes it.
    """
    both = (hashes & ~_ROW_MASK) | np.arange(hashes.size, dtype=np.uint64)
    both.sort()
    return both


def chosen(order: Hashes, kept: Bools) -> Hashes:
    """`packed` of the rows kept, numbered anew."""
    at = (order & _ROW_MASK).view(np.int64)
    stay = kept.take(at)
    numbers = np.cumsum(kept, dtype=np.int64) - 1
    return (order[stay] & ~_ROW_MASK) | numbers.take(at[stay]).view(np.uint64)


class Run:
    """Rows by hash.

    Rows with equal upper bits of their hash are a *group*; a table says which groups each range of hashes has.

    Args:
        frame: the rows' columns.
        keys: their keys.
        order: `packed` of the keys' hashes.
        times: microseconds.
        matched: whether each has found a partner; None where nobody asks.
    """

    def __init__(
        self, frame: pl.DataFrame, keys: JoinKeys, order: Hashes, times: Int64s, matched: Bools | None
    ) -> None:
        self.frame, self.keys, self.times, self.matched = frame, keys, times, matched
        self.low, self.high = int(times.min()), int(times.max())
        self._packed = order
        upper = order >> np.uint64(_ROW_BITS)
        first = np.flatnonzero(upper[1:] != upper[:-1]) + 1
        self._groups = first.size + 1
        self._first: Int64s | None = None  # where each group begins, and the end; None where each row is one
        if self._groups < times.size:
            self._first = first = np.concatenate([[0], first, [times.size]])
            upper = upper[first[:-1]]
        self._upper = upper
        bits = max(4, self._groups.bit_length())
        self._shift = np.uint64(64 - bits)
        place = (upper >> np.uint64(64 - _ROW_BITS - bits)).view(np.int64)
        starts = np.flatnonzero(place[1:] != place[:-1]) + 1
        starts = np.concatenate([[0], starts, [self._groups]])
        self._cells = np.zeros(1 << bits, np.int64)  # the first group << 32 | how many groups; 0: none
        self._cells[place[starts[:-1]]] = (starts[:-1] << 32) | np.diff(starts)
        self._timed: tuple[Int64s, Int64s, int, int] | None = None

    @property
    def rows(self) -> int:
        """How many."""
        return self.times.size

    @property
    def bytes(self) -> int:
        """Bytes held."""
        arrays = [self._packed, self._upper, self._cells, self.times, self._first, self.matched]
        if self._timed is not None:
            arrays += self._timed[:2]
        return (
            sum(a.nbytes for a in arrays if a is not None)
            + self.keys.bytes
            + sum(int(c.estimated_size()) for c in self.frame.get_columns())
        )

    @property
    def hashes(self) -> Hashes:
        """The upper bits of each row's hash, in the rows' order."""
        hashes = np.empty(self.rows, np.uint64)
        hashes[(self._packed & _ROW_MASK).view(np.int64)] = self._packed & ~_ROW_MASK
        return hashes

    def near(self, order: Hashes, times: Int64s, low: int | None, high: int | None) -> Hashes:
        """Of other rows, those that have partners of the right time here, if any.

        Args:
            order: `packed` of the other rows.
            times: theirs.
            low: least time here minus time there, None for no bound.
            high: the greatest.
        """
        some = None if low is None else times <= self.high - low
        if high is not None:
            early = times >= self.low - high
            some = early if some is None else some & early
        if some is None or some.all():
            return order
        return order[some.take((order & _ROW_MASK).view(np.int64))]

    @property
    def crowded(self) -> bool:
        """Whether several rows have one key, so that pairs may be many."""
        return self._first is not None

    def pairs(self, order: Hashes, times: Int64s, low: int | None, high: int | None) -> Iterator[tuple[Int64s, Int64s]]:
        """Candidates for other rows (see `near`), some at a time: numbers of those rows, and of rows here.

        Those with times outside of the bounds may be among them, and those with another key.
        """
        found, groups = self._find(order)
        if not found.size:
            return
        new = (order.take(found) & _ROW_MASK).view(np.int64)
        if self._first is None:
            yield new, (self._packed[groups] & _ROW_MASK).view(np.int64)
            return
        begin, end = self._first[groups], self._first[groups + 1]
        rows = self._packed
        if (low is not None or high is not None) and int((end - begin).sum()) > _CROWDED * new.size + _SMALL:
            at = times.take(new)
            begin, end, rows = self._in_time(
                groups, None if low is None else at + low, None if high is None else at + high
            )
        yield from _expanded(new, begin, end, rows)

    def _find(self, hashes: Hashes) -> tuple[Int64s, Int64s]:
        """Which of the hashes have a group, and which."""
        cells = self._cells.take((hashes >> self._shift).view(np.int64))
        new = np.flatnonzero(cells)
        cells = cells[new]
        group, left = cells >> 32, cells & 0xFFFFFFFF
        wanted = hashes[new] >> np.uint64(_ROW_BITS)
        hit = self._upper.take(group) == wanted
        found = [(new[hit], group[hit])]
        going = np.flatnonzero(~hit & (left > 1))
        while going.size:  # the next group of the same range: at most a few times
            new, group, left, wanted = new[going], group[going] + 1, left[going] - 1, wanted[going]
            hit = self._upper.take(group) == wanted
            found.append((new[hit], group[hit]))
            going = np.flatnonzero(~hit & (left > 1))
        if len(found) == 1:
            return found[0]
        return np.concatenate([f[0] for f in found]), np.concatenate([f[1] for f in found])

    def _in_time(self, groups: Int64s, first: Int64s | None, last: Int64s | None) -> tuple[Int64s, Int64s, Hashes]:
        """Where a group's rows with `first <= time <= last` begin and end, among all rows by group and time."""
        if self._timed is None:
            assert self._first is not None
            rows = (self._packed & _ROW_MASK).view(np.int64)
            group = np.repeat(np.arange(self._groups), np.diff(self._first))
            # group and time in one number; where the times are too far apart for that, in steps of a power of two
            shift = max(0, (self.high - self.low).bit_length() - (62 - _ROW_BITS))
            span = ((self.high - self.low) >> shift) + 2
            order = group * span + ((self.times[rows] - self.low) >> shift)
            at = np.argsort(order)
            self._timed = (order[at], rows[at], shift, span)
        order, rows, shift, span = self._timed
        base = groups * span
        low, high = base, base + span - 1
        if first is not None:
            low = base + (np.clip(first, self.low, self.high + 1) - self.low >> shift)
        if last is not None:  # one before the first time is before all rows of the group
            high = base + (np.clip(last, self.low - 1, self.high) - self.low >> shift)
        begin = np.searchsorted(order, low, "left")
        return begin, np.maximum(np.searchsorted(order, high, "right"), begin), rows.view(np.uint64)

    def only(self, kept: Bools) -> Run | None:
        """Some of the rows."""
        if not kept.any():
            return None
        if kept.all():
            return self
        matched = None if self.matched is None else self.matched[kept]
        frame = self.frame.filter(pl.Series(kept))
        return Run(frame, self.keys.filter(kept), chosen(self._packed, kept), self.times[kept], matched)

    def append(self, other: Run) -> Run:
        """The rows of both."""
        matched = None
        if self.matched is not None and other.matched is not None:
            matched = np.concatenate([self.matched, other.matched])
        return Run(
            pl.concat([self.frame, other.frame], how="vertical", rechunk=True),
            self.keys.append(other.keys),
            packed(np.concatenate([self.hashes, other.hashes])),
            np.concatenate([self.times, other.times]),
            matched,
        )

    def check(self) -> None:
        """Raise AssertionError where an invariant is broken."""
        assert self.rows == self.frame.height == self.keys.rows > 0
        assert self.matched is None or self.matched.size == self.rows
        hashes = self.hashes
        new, groups = self._find(hashes)
        assert np.array_equal(np.sort(new), np.arange(self.rows))
        assert np.array_equal(self._upper[groups], hashes[new] >> np.uint64(_ROW_BITS))


def _expanded(new: Int64s, begin: Int64s, end: Int64s, rows: Hashes) -> Iterator[tuple[Int64s, Int64s]]:
    """Each of `new` with each of `rows[begin:end]`, `_PAIRS` at a time."""
    counts = end - begin
    totals = np.cumsum(counts)
    at = 0
    while at < new.size:
        done = int(totals[at - 1]) if at else 0
        stop = max(at + 1, int(np.searchsorted(totals, done + _PAIRS, "right")))
        sizes = counts[at:stop]
        offset = begin[at:stop] - (totals[at:stop] - sizes - done)
        old = np.arange(int(totals[stop - 1]) - done) + np.repeat(offset, sizes)
        yield np.repeat(new[at:stop], sizes), (rows[old] & _ROW_MASK).view(np.int64)
        at = stop


class Runs:
    """All stored rows of one side."""

    def __init__(self) -> None:
        self.runs: list[Run] = []

    @property
    def rows(self) -> int:
        """Rows held."""
        return sum(r.rows for r in self.runs)

    @property
    def bytes(self) -> int:
        """Bytes held."""
        return sum(r.bytes for r in self.runs)

    @property
    def oldest(self) -> int:
        """The earliest time of all rows; `MAX_TIME` without any."""
        return min((r.low for r in self.runs), default=MAX_TIME)

    def add(self, run: Run) -> None:
        """Store rows."""
        self.runs.append(run)
        while len(self.runs) > 1:
            one, two = self.runs[-2:]
            if one.rows >= max(_SMALL, 2 * two.rows) or one.rows >= _LARGE:
                break
            self.runs[-2:] = [one.append(two)]
        alike = self.runs[-_FEW:]
        if len(alike) == _FEW and all(a.rows < 2 * b.rows for a, b in pairwise(alike)):
            while len(alike) > 1 and sum(r.rows for r in alike) <= _MOST_ROWS:
                alike = [
                    a if b is None else a.append(b) for a, b in zip(alike[::2], [*alike[1::2], None], strict=False)
                ]
            self.runs[-_FEW:] = alike

    def expire(self, before: int) -> None:
        """Let go of rows with `time < before`; of a run of which less than three quarters have expired, none yet."""
        kept = []
        for run in self.runs:
            if run.high < before:
                continue
            old = None if run.low >= before else run.times < before
            if old is None or 4 * int(old.sum()) < 3 * run.rows:
                kept.append(run)
            elif (stay := run.only(~old)) is not None:
                kept.append(stay)
        self.runs = kept

    def take(self, before: int) -> list[tuple[pl.DataFrame, Bools]]:
        """Take out all rows with `time < before`: the rows, and whether each has found a partner."""
        gone, kept = [], []
        for run in self.runs:
            old = run.times < before
            assert run.matched is not None
            if old.any():
                gone.append((run.frame.filter(pl.Series(old)), run.matched[old]))
            if (stay := run.only(~old)) is not None:
                kept.append(stay)
        self.runs = kept
        return gone

    def take_keys(self, key: int, values: pl.Series, before: Int64s) -> list[tuple[pl.DataFrame, Bools | None]]:
        """Take out rows that have one of the values in a key column, and a time before that value's.

        Gives the rows, and whether each has found a partner, where somebody asks.
        """
        gone, kept = [], []
        for run in self.runs:
            old = run.times < run.keys.limits(key, values, before, MIN_TIME)
            if old.any():
                gone.append((run.frame.filter(pl.Series(old)), None if run.matched is None else run.matched[old]))
            if (stay := run.only(~old)) is not None:
                kept.append(stay)
        self.runs = kept
        return gone

    def check(self) -> None:
        """Raise AssertionError where an invariant is broken."""
        for run in self.runs:
            run.check()
