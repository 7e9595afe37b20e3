"""Rows of one side of a join that are looked up late, some values in some stretches of time: by key and arrival number.

Rows come slot by slot and are numbered as they come, those of a slot by key: rows of one key lie side by side. They are held in
few segments, each with its rows' hashes and numbers in one sorted array, so that many lookups are two binary searches in it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from operator import attrgetter
from typing import Final

import numpy as np

from jupyter_stream.arrays.rows import rows_at
from jupyter_stream.arrays.runs import begins_run, run_starts
from jupyter_stream.core.messages import Int64s
from jupyter_stream.core.time import MAX_TIME
from jupyter_stream.joins.runs import Run
from jupyter_stream.keys.join_keys import Hashes

_NUMBER: Final = np.uint64((1 << 32) - 1)
"""Lower bits: a row's number in its segment; above them the upper bits of its hash."""
_SMALL: Final = 4_096
"""Rows: a segment below is merged with the next; above, while it has less than twice as many."""
PAIRS: Final = 1 << 19
"""Pairs made at a time, where one lookup has not more."""


@dataclass(frozen=True)
class Slot:
    """Rows that came together.

    Attributes:
        first: number of the first.
        end: one after the last.
        low: their earliest time, microseconds.
        high: their latest.
    """

    first: int
    end: int
    low: int
    high: int


_END, _LOW, _HIGH = attrgetter("end"), attrgetter("low"), attrgetter("high")


class Segment:
    """Rows of slots next to each other.

    Args:
        first: number of the first.
        run: the rows.
        index: of each row the upper bits of its hash and its place, sorted.
    """

    def __init__(self, first: int, run: Run, index: Hashes) -> None:
        self.first, self.run, self.index = first, run, index

    @property
    def end(self) -> int:
        """One after the last number."""
        return self.first + self.run.rows

    def append(self, other: Segment) -> Segment:
        """The rows of both; the other's come next."""
        index = np.concatenate([self.index, other.index + np.uint64(self.run.rows)])
        index.sort(kind="stable")  # two sorted stretches: a merge
        return Segment(self.first, self.run.append(other.run), index)

    def since(self, number: int) -> Segment:
        """Without the rows before."""
        kept = np.arange(self.run.rows) >= number - self.first
        run = self.run.only(kept)
        assert run is not None
        index = self.index[(self.index & _NUMBER) >= np.uint64(number - self.first)]
        return Segment(number, run, index - np.uint64(number - self.first))

    def find(self, hashes: Hashes, low: Int64s, high: Int64s) -> tuple[Int64s, Int64s]:
        """For each hash where in `index` the rows with `low <= number < high` begin and end."""
        upper = hashes & ~_NUMBER
        size = self.run.rows
        begin = np.searchsorted(self.index, upper | np.clip(low - self.first, 0, size).view(np.uint64))
        return begin, np.searchsorted(self.index, upper | np.clip(high - self.first, 0, size).view(np.uint64))


class ProbedRows:
    """The rows."""

    def __init__(self) -> None:
        self.segments: list[Segment] = []
        self.slots: list[Slot] = []
        self.came = 0
        """Rows that ever came: the number of the next."""

    @property
    def rows(self) -> int:
        """Rows held."""
        return self.came - self.segments[0].first if self.segments else 0

    @property
    def bytes(self) -> int:
        """Bytes held."""
        return sum(s.run.bytes + s.index.nbytes for s in self.segments)

    @property
    def first(self) -> int:
        """Number of the first row held."""
        return self.slots[0].first if self.slots else self.came

    def since(self, time: int) -> int:
        """Number of the first row of the slots that don't lie before a time."""
        at = bisect_left(self.slots, time, key=_HIGH)
        return self.slots[at].first if at < len(self.slots) else self.came

    def slots_within(self, low: int, high: int) -> list[Slot]:
        """Those with a row of `low <= time <= high`, maybe."""
        return self.slots[bisect_left(self.slots, low, key=_HIGH) : bisect_right(self.slots, high, key=_LOW)]

    def add(self, run: Run, width: int = MAX_TIME) -> tuple[Run, Int64s]:
        """Take in the rows of a slot, or of several, which come slot by slot.

        Args:
            run: the rows.
            width: of a slot, microseconds; where none is given they are of one.

        Returns:
            They in the order of their numbers, the first of which is what `came` was; and where in it each key of a slot begins.
        """
        hashes = run.keys.hashes
        one = run.low // width == run.high // width
        slots = np.zeros(run.rows, np.int64) if one else run.times // width
        order = np.argsort(hashes, kind="stable") if one else np.lexsort((hashes, slots))
        run = Run(rows_at(run.frame, order), run.keys.at(order), run.times[order], None, (run.low, run.high))
        hashes, slots = run.keys.hashes, slots[order]
        others = begins_run(slots)
        begins = run_starts(slots, hashes)
        index = (hashes & ~_NUMBER) | np.arange(run.rows, dtype=np.uint64)
        if not one:
            index.sort(kind="stable")  # a sorted stretch of each slot: a merge
        at = np.flatnonzero(others)
        low, high = np.minimum.reduceat(run.times, at), np.maximum.reduceat(run.times, at)
        ends = np.append(at[1:], run.rows)
        self.slots += [
            Slot(self.came + a, self.came + b, c, d)
            for a, b, c, d in zip(at.tolist(), ends.tolist(), low.tolist(), high.tolist(), strict=True)
        ]
        added = Segment(self.came, run, index)
        self.came += run.rows
        while self.segments and self.segments[-1].run.rows < max(_SMALL, 2 * added.run.rows):
            added = self.segments.pop().append(added)
        self.segments.append(added)
        return run, begins

    def forget(self, number: int) -> None:
        """Let go of rows with lower numbers, nearly all of them."""
        gone = bisect_right(self.slots, number, key=_END)
        if not gone:
            return
        del self.slots[:gone]
        first = self.first
        while self.segments and self.segments[0].end <= first:
            del self.segments[0]
        if self.segments and 2 * (first - self.segments[0].first) > self.segments[0].run.rows:
            self.segments[0] = self.segments[0].since(first)

    def check(self) -> None:
        """Raise AssertionError where an invariant is broken."""
        for one, two in zip(self.segments, self.segments[1:], strict=False):
            assert one.end == two.first
        for segment in self.segments:
            assert (segment.index[1:] > segment.index[:-1]).all()
            places = (segment.index & _NUMBER).astype(np.int64)
            assert (np.sort(places) == np.arange(segment.run.rows)).all()
            assert (segment.run.keys.hashes[places] & ~_NUMBER == segment.index & ~_NUMBER).all()


def looked_up(
    asking: Segment, first: Int64s, many: Int64s, held: Segment, low: Int64s, high: Int64s
) -> Iterator[tuple[Int64s, Int64s, Int64s]]:
    """Pairs of rows with equal hashes, some at a time: which lookup finds them, places in the one segment and in the other.

    Those whose hashes are equal in their upper bits alone are among them.

    Args:
        asking: the segment of the rows that look.
        first: number of the first row of each lookup, all of whose rows have one key.
        many: how many rows it has.
        held: where they look.
        low: the least number of a row found, for each lookup.
        high: one after the greatest.
    """
    begin, end = held.find(asking.run.keys.hashes.take(first - asking.first), low, high)
    hits = np.flatnonzero(end > begin)
    if not hits.size:
        return
    first, many, begin, each = first[hits] - asking.first, many[hits], begin[hits], (end - begin)[hits]
    total = np.cumsum(many * each)
    cuts = np.unique(np.searchsorted(total, np.arange(0, int(total[-1]), PAIRS), "right"))
    for one, two in zip(cuts, [*cuts[1:], hits.size], strict=True):
        rows = _expanded(first[one:two], many[one:two])
        found = np.repeat(each[one:two], many[one:two])
        theirs = _expanded(np.repeat(begin[one:two], many[one:two]), found)
        which = np.repeat(hits[one:two], many[one:two] * each[one:two])
        yield which, np.repeat(rows, found), (held.index.take(theirs) & _NUMBER).view(np.int64)


def _expanded(first: Int64s, many: Int64s) -> Int64s:
    """`first`, `first + 1`, ... of each, as many as there are."""
    ends = np.cumsum(many)
    return np.repeat(first - ends + many, many) + np.arange(int(ends[-1]))


__all__ = ["PAIRS", "ProbedRows", "Segment", "Slot", "looked_up"]
