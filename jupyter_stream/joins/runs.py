"""Rows of one side of a join, in runs, freed as time passes.

A run is what came together. Small ones are merged into larger ones, so that there are few; rows that can find no partner any more
leave with their run. A run gets an index (`run_index`) when looking for rows in it pays: of two runs that meet one needs none.
"""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from typing import Final

import numpy as np
import polars as pl

from jupyter_stream.arrays.rows import in_one_piece, rows_at
from jupyter_stream.core.messages import Bools, Int64s
from jupyter_stream.core.time import MAX_TIME, MIN_TIME
from jupyter_stream.joins.run_index import Index, Probes, cells_of, indexed, repeats
from jupyter_stream.joins.sorted_hashes import MOST_ROWS
from jupyter_stream.keys.join_keys import JoinKeys
from jupyter_stream.keys.key_words import KeyWords

_SMALL: Final = 4_096
"""Rows: runs below are merged at once."""
_LARGE: Final = 32_768
"""Rows: above, runs are merged when there are `_FEW` alike, since looking in one more costs less than merging them."""
_FEW: Final = 6
_BLOCK: Final = 1_024
"""Rows whose earliest and latest times are known, so that those of no use are passed over together."""
_PAST: Final = 16
"""A run is rid of rows that have expired when only one in so many has not."""
_MAKING: Final = 2
"""Rows that can be looked up in the time that it takes to put one into an index, and"""
_SORTING: Final = 12
_CROWDED: Final = 4
"""where many rows have one key."""


class Run:
    """Rows that came together, or were put together since.

    Args:
        frame: the rows' columns.
        keys: their keys.
        times: microseconds.
        matched: whether each has found a partner; None where nobody asks.
        span: the earliest and the latest of the times, where known.
    """

    def __init__(
        self,
        frame: pl.DataFrame,
        keys: JoinKeys,
        times: Int64s,
        matched: Bools | None,
        span: tuple[int, int] | None = None,
    ) -> None:
        self.frame, self.keys, self.times, self.matched = frame, keys, times, matched
        self.low, self.high = span or (int(times.min()), int(times.max()))
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

    def cost(self, asking: int) -> int:
        """What it takes to look for so many rows here, about, in rows looked at."""
        if self._index is None:  # what has been looked at in vain would have paid for an index
            making = (_SORTING if self.repeats else _MAKING) * self.rows
            return max(0, making - self.asked) + (_CROWDED if self.repeats else 1) * asking
        return (_CROWDED if self._index.crowded else 1) * asking

    @cached_property
    def cells(self) -> dict[int, tuple[int, int]]:
        """Of integers among the keys that say themselves where to look, the least value and how many from there on."""
        return cells_of(self.keys)

    @cached_property
    def repeats(self) -> bool:
        """Whether several rows seem to have one key, of integers that say themselves where to look: an index has to sort them."""
        return self.rows > 1 and repeats(self.keys, self.cells)

    @property
    def has_index(self) -> bool:
        """Whether the rows by key are at hand."""
        return self._index is not None

    @property
    def finds_at_once(self) -> bool:
        """Whether an index is at hand in which the keys are places, of one row each."""
        return self._index is not None and self._index.by_numbers and not self._index.crowded

    @property
    def index(self) -> Index:
        """The rows by key."""
        if self._index is None:
            self._index = indexed(self.keys, self.times, self.cells)
        return self._index

    def rekey(self, keys: JoinKeys) -> None:
        """Have the same keys in another form."""
        self.keys, self._index = keys, None
        for known in ("cells", "repeats"):
            self.__dict__.pop(known, None)

    def make_index(self) -> None:
        """Have the rows by key at hand."""
        _ = self.index

    def only(self, kept: Bools) -> Run | None:
        """Some of the rows."""
        at = np.flatnonzero(kept)  # by number: half of what it takes by a mask
        if not at.size:
            return None
        if at.size == self.rows:
            return self
        matched = None if self.matched is None else self.matched.take(at)
        return Run(rows_at(self.frame, at), self.keys.at(at), self.times.take(at), matched)

    def append(self, other: Run) -> Run:
        """The rows of both."""
        matched = None
        if self.matched is not None and other.matched is not None:
            matched = np.concatenate([self.matched, other.matched])
        return Run(
            in_one_piece(self.frame.vstack(other.frame)),
            self.keys.append(other.keys),
            np.concatenate([self.times, other.times]),
            matched,
            (min(self.low, other.low), max(self.high, other.high)),
        )

    def check(self) -> None:
        """Raise AssertionError where an invariant is broken."""
        assert self.rows == self.frame.height == self.keys.rows > 0
        assert self.matched is None or self.matched.size == self.rows
        asked = Probes(self.keys, self.times, 0, 0)
        own = [one[one == other] for one, other in self.index.pairs(asked, 0, self.rows)]
        assert np.array_equal(np.sort(np.concatenate(own)), np.arange(self.rows))


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
        """Store rows. Where those before them are asked for by numbers, so will these be."""
        if run.rows >= _LARGE and self.runs and self.runs[-1].finds_at_once and run.cells:
            run.make_index()
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

    def pack(self, words: KeyWords | None) -> None:
        """Put keys of all rows, integers that have room there, into words."""
        for run in self.runs:
            keys = run.keys.packed(words)
            assert keys is not None
            run.rekey(keys)

    def check(self) -> None:
        """Raise AssertionError where an invariant is broken."""
        for run in self.runs:
            run.check()
