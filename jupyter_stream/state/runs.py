"""Rows of one side of a join, in runs, freed as time passes.

A run is what came together. Small ones are merged into larger ones, so that there are few; rows that can find no partner any more
leave with their run. A run gets an index (`run_index`) when looking for rows in it pays: of two runs that meet one needs none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Final, TypeAlias, TypeVar

import numpy as np
import polars as pl

from jupyter_stream.core.messages import Int64s
from jupyter_stream.core.time import MAX_TIME, MIN_TIME
from jupyter_stream.state.beside import side_by_side
from jupyter_stream.state.join_keys import Bools, JoinKeys
from jupyter_stream.state.run_index import MOST_ROWS, Asked, Index, indexed

Made = TypeVar("Made")
Make: TypeAlias = Callable[["Run", Int64s, Int64s, frozenset[int]], Made]

_SMALL: Final = 4_096
"""Rows: runs below are merged at once."""
_LARGE: Final = 32_768
"""Rows: above, runs are merged when there are `_FEW` alike, since looking in one more costs less than merging them."""
_FEW: Final = 6
_BLOCK: Final = 1_024
"""Rows whose earliest and latest times are known, so that those of no use are passed over together."""
_PIECE: Final = 32_768
"""Rows looked up at a time where two threads do it."""
_PAST: Final = 16
"""A run is rid of rows that have expired when only one in so many has not."""
_MAKING: Final = 2
"""Rows that can be looked up in the time that it takes to put one into an index, and"""
_CROWDED: Final = 4
"""where many rows have one key."""


class Run:
    """Rows that came together, or were put together since.

    Args:
        frame: the rows' columns.
        keys: their keys.
        times: microseconds.
        matched: whether each has found a partner; None where nobody asks.
    """

    def __init__(self, frame: pl.DataFrame, keys: JoinKeys, times: Int64s, matched: Bools | None) -> None:
        self.frame, self.keys, self.times, self.matched = frame, keys, times, matched
        self.low, self.high = int(times.min()), int(times.max())
        self._index: Index | None = None
        self.asked = 0
        """Rows looked at for want of an index."""
        self._blocks: tuple[Int64s, Int64s] | None = None
        self._held = sum(int(c.estimated_size()) for c in frame.get_columns())

    @property
    def rows(self) -> int:
        """How many."""
        return self.times.size

    @property
    def bytes(self) -> int:
        """Bytes held."""
        arrays = [self.times, self.matched, *(self._blocks or ())]
        index = 0 if self._index is None else self._index.bytes
        held: int = sum(a.nbytes for a in arrays if a is not None)
        return held + self.keys.bytes + self._held + index

    def near(self, first: int | None, last: int | None) -> tuple[int, int]:
        """From which row to which those with `first <= time <= last` are; others are among them."""
        if (first is None or first <= self.low) and (last is None or last >= self.high):
            return 0, self.rows
        earliest, latest = self._spans()
        some = np.ones(earliest.size, np.bool_)
        if first is not None:
            some &= latest >= first
        if last is not None:
            some &= earliest <= last
        if not some.any():
            return 0, 0
        return int(some.argmax()) * _BLOCK, min(self.rows, (some.size - int(some[::-1].argmax())) * _BLOCK)

    def _spans(self) -> tuple[Int64s, Int64s]:
        """The earliest and the latest time of each block."""
        if self._blocks is None:
            starts = np.arange(0, self.rows, _BLOCK)
            self._blocks = np.minimum.reduceat(self.times, starts), np.maximum.reduceat(self.times, starts)
        return self._blocks

    def past(self, before: int) -> bool:
        """Whether nearly all rows have `time < before`, as far as a glance tells."""
        if self.low >= before:
            return False
        if self.rows < _PAST * _BLOCK:
            return _PAST * int(np.count_nonzero(self.times >= before)) <= self.rows
        latest = self._spans()[1]
        return _PAST * int(np.count_nonzero(latest >= before)) <= latest.size

    def cost(self, asking: Run) -> int:
        """What it takes to look for rows here, about, in rows looked at."""
        if self._index is None:  # what has been looked at in vain would have paid for an index
            return max(0, _MAKING * self.rows - self.asked) + asking.rows
        return (_CROWDED if self._index.crowded else 1) * asking.rows

    @property
    def has_index(self) -> bool:
        """Whether the rows by key are at hand."""
        return self._index is not None

    @property
    def index(self) -> Index:
        """The rows by key."""
        if self._index is None:
            self._index = indexed(self.keys, self.times)
        return self._index

    def make_index(self) -> None:
        """Have the rows by key at hand."""
        _ = self.index

    def only(self, kept: Bools) -> Run | None:
        """Some of the rows."""
        if not kept.any():
            return None
        if kept.all():
            return self
        matched = None if self.matched is None else self.matched[kept]
        frame = self.frame.filter(pl.Series(kept))
        return Run(frame, self.keys.filter(kept), self.times[kept], matched)

    def append(self, other: Run) -> Run:
        """The rows of both."""
        matched = None
        if self.matched is not None and other.matched is not None:
            matched = np.concatenate([self.matched, other.matched])
        return Run(
            pl.concat([self.frame, other.frame], how="vertical", rechunk=True),
            self.keys.append(other.keys),
            np.concatenate([self.times, other.times]),
            matched,
        )

    def check(self) -> None:
        """Raise AssertionError where an invariant is broken."""
        assert self.rows == self.frame.height == self.keys.rows > 0
        assert self.matched is None or self.matched.size == self.rows
        asked = Asked(self.keys, self.times, 0, 0)
        own = [one[one == other] for one, other in self.index.pairs(asked, 0, self.rows)]
        assert np.array_equal(np.sort(np.concatenate(own)), np.arange(self.rows))


@dataclass(frozen=True)
class _Look:
    """Rows looked for in a run, or for rows of a run in the new ones.

    Attributes:
        run: the run.
        by_run: whether its rows look for the new ones.
        here: the rows that are looked at by key.
        asked: those that look, and from which to which.
    """

    run: Run
    by_run: bool
    here: Run
    asked: Asked
    begin: int
    end: int

    def made(self, make: Make[Made], begin: int, end: int) -> Iterator[Made]:
        """What is made of what some of the rows find."""
        index = self.here.index
        for one, other in index.pairs(self.asked, begin, end):
            new, old = (other, one) if self.by_run else (one, other)
            yield make(self.run, new, old, index.settled)


def meet(
    new: Run, runs: Sequence[Run], low: int | None, high: int | None, timed: bool, make: Make[Made]
) -> Iterator[tuple[Run, Made]]:
    """What is made of candidates, some at a time, and of which run they are.

    Those with times outside of the bounds may be among them. Either looks for its rows in the other: the one where that
    takes less, since an index has to be made first, and serves whoever comes later.

    Args:
        new: rows to find partners for.
        runs: where.
        low: least time there minus time of a new row, None for no bound.
        high: the greatest.
        timed: whether there may be rows of one key that are farther apart.
        make: takes a run, numbers of new rows and of the run's, and which of their key columns are known to be equal. It must
            change nothing that others see, since it may be called by two threads.
    """
    looks = [look for run in runs if (look := _look(new, run, low, high, timed)) is not None]
    here = {id(look.here): look.here for look in looks if not look.here.has_index}
    side_by_side([run.make_index for run in here.values()])
    tasks, of = [], []
    for look in looks:
        if not look.here.index.by_numbers:
            _ = look.asked.keys.hashes  # once, before two threads ask
        if look.here.index.crowded:
            continue
        for begin in range(look.begin, look.end, _PIECE):
            end = min(look.end, begin + _PIECE)
            tasks.append(partial(_all_made, look, make, begin, end))
            of.append(look.run)
    for run, some in zip(of, side_by_side(tasks), strict=True):
        for each in some:
            yield run, each
    for look in looks:
        if look.here.index.crowded:  # there may be many pairs: some at a time
            for each in look.made(make, look.begin, look.end):
                yield look.run, each


def _all_made(look: _Look, make: Make[Made], begin: int, end: int) -> list[Made]:
    return list(look.made(make, begin, end))


def _look(new: Run, run: Run, low: int | None, high: int | None, timed: bool) -> _Look | None:
    by_run = run.cost(new) > new.cost(run)
    here, asking = (new, run) if by_run else (run, new)
    if by_run:
        run.asked += run.rows
        low, high = (None if high is None else -high), (None if low is None else -low)
    begin, end = asking.near(None if high is None else here.low - high, None if low is None else here.high - low)
    asked = Asked(asking.keys, asking.times, low if timed else None, high if timed else None)
    return None if begin == end else _Look(run, by_run, here, asked, begin, end)


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
            while len(alike) > 1 and sum(r.rows for r in alike) <= MOST_ROWS:
                alike = [
                    a if b is None else a.append(b) for a, b in zip(alike[::2], [*alike[1::2], None], strict=False)
                ]
            self.runs[-_FEW:] = alike

    def expire(self, before: int) -> None:
        """Let go of rows with `time < before`; of a run, once that is nearly all of it."""
        kept = []
        for run in self.runs:
            if run.high < before:
                continue
            stay = run.only(run.times >= before) if run.past(before) else run
            if stay is not None:
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
