"""Promising regions (promising-tuples paper §2, §4): which cells a query should look at next, for the order it prefers.

One of these per query; the summary below is shared. Every row belongs to exactly one region handed out, so no answer comes
twice, and what is left when the budget ends is taken up later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
import polars as pl
from sortedcontainers import SortedKeyList

from jupyter_stream.core.messages import Int64s
from jupyter_stream.core.rows import rows_at
from jupyter_stream.core.time import MAX_TIME, MIN_TIME
from jupyter_stream.summaries.protocol import Float64s
from jupyter_stream.summaries.stream_summary import Arrival, StreamSummary

Direction = Literal["desc", "asc", "weighted"]
DIRECTIONS: Final[tuple[Direction, ...]] = ("desc", "asc", "weighted")

Promise = Callable[[int, Int64s], Float64s]
"""Of some cells of a zone (its number, their buckets), how much a row of each promises, not below 0; shape of the buckets."""


@dataclass(frozen=True, slots=True)
class Region:
    """Rows to look at next: those of a cell that were waiting, or the first of them.

    Attributes:
        zone: the zone's number, good for `StreamSummary.estimate` though it may have collapsed since.
        bucket: the value bucket.
        promise: of a row, by the query's preference.
        score: what it was ordered by: the promise, faded by the zone's granularity.
        frame: the rows.
        seq: their arrival numbers in the summary, shape (rows,).
    """

    zone: int
    bucket: int
    promise: float
    score: float
    frame: pl.DataFrame
    seq: Int64s


class PromisingRegions:
    """What one query has still to look at of one stream.

    Args:
        summary: of the stream, shared with other queries.
        direction: DESC takes the highest promise first, ASC the lowest, WEIGHTED gives every region time in proportion to
            rows times promise.
        fade: the FADE FACTOR in (0, 1]: scores of granularity i are multiplied by `fade ** (i - 1)`.
        promise: how much a row of a cell promises; what the summary says of a row's `Count` there unless given.
    """

    def __init__(
        self, summary: StreamSummary, direction: Direction, fade: float = 1.0, promise: Promise | None = None
    ) -> None:
        self._summary = summary
        self._direction = direction
        self._fade = fade
        self._promise = promise or summary.typical
        self._waiting: dict[int, _Waiting] = {}
        self._order = SortedKeyList(key=lambda waiting: (-waiting.best, waiting.zone))
        self.missed = 0
        """Rows that waited until their zone was freed."""

    @property
    def rows(self) -> int:
        """Rows waiting."""
        return sum(int(w.rows.sum()) for w in self._order)

    @property
    def bytes(self) -> int:
        """Bytes held."""
        return sum(w.bytes for w in self._order)

    def note(self, arrivals: Sequence[Arrival]) -> None:
        """Rows have come: what `StreamSummary.insert` returned. Regions they are in wait again, at what they promise by now."""
        for arrival in arrivals:
            waiting = self._waiting.get(arrival.zone)
            if waiting is None:
                waiting = _Waiting(arrival.zone, arrival.counts.size)
                self._waiting[arrival.zone] = waiting
            else:
                self._order.remove(waiting)
            waiting.note(arrival)
            self._score(waiting)
            self._order.add(waiting)

    def fade(self) -> None:
        """Zones have collapsed or were freed (after `StreamSummary.advance`): what waits there gets older, or is missed."""
        for waiting in list(self._order):
            if not self._summary.holds(waiting.zone):
                self._order.remove(waiting)
                del self._waiting[waiting.zone]
                self.missed += int(waiting.rows.sum())
            elif self._summary.level_of(waiting.zone) != waiting.level:
                self._order.remove(waiting)
                self._score(waiting)
                self._order.add(waiting)

    def take(self, budget: int) -> Iterator[Region]:
        """Regions of together at most `budget` rows, most promising first. They no longer wait; the last one may be cut short."""
        if self._direction == "weighted":
            yield from self._take_shares(budget)
            return
        while budget > 0 and self._order:
            waiting = self._order[0]
            bound = self._order[1].best if len(self._order) > 1 else -1.0
            self._order.remove(waiting)
            while budget > 0 and waiting.best >= bound and waiting.left:
                region = self._take_cell(waiting, int(np.argmax(waiting.score)), budget)
                budget -= region.seq.size
                yield region
            self._put_back(waiting)

    def _take_shares(self, budget: int) -> Iterator[Region]:
        """Divide the budget by weight, rows times promise times freshness; what a region has no rows for goes to the others."""
        while budget > 0 and self._order:
            found = list(self._order)
            weight = np.concatenate([w.score * w.rows for w in found])
            rows = np.concatenate([w.rows for w in found])
            if not weight.sum():
                weight = rows.astype(np.float64)
            many = np.minimum(rows, shares(weight, budget))
            at = 0
            for waiting in found:
                self._order.remove(waiting)
                size = waiting.rows.size
                for bucket in np.flatnonzero(many[at : at + size]).tolist():
                    region = self._take_cell(waiting, bucket, int(many[at + bucket]))
                    budget -= region.seq.size
                    yield region
                at += size
                self._put_back(waiting)

    def _put_back(self, waiting: _Waiting) -> None:
        if waiting.left:
            self._order.add(waiting)
        else:
            del self._waiting[waiting.zone]

    def _take_cell(self, waiting: _Waiting, bucket: int, most: int) -> Region:
        since, until = int(waiting.since[bucket]), int(waiting.until[bucket])
        span = (int(waiting.low[bucket]), int(waiting.high[bucket]))
        frame, seq = self._summary.cell(waiting.zone, bucket, since, until, span)
        promise, score = float(waiting.promise[bucket]), float(waiting.score[bucket])
        if seq.size > most:
            first = np.argsort(seq)[:most]
            waiting.rows[bucket] = seq.size - most
            waiting.since[bucket] = int(seq[first[-1]]) + 1
            frame, seq = rows_at(frame, first), seq[first]
        else:
            waiting.clear(bucket)
        return Region(waiting.zone, bucket, promise, score, frame, seq)

    def _score(self, waiting: _Waiting) -> None:
        there = np.flatnonzero(waiting.rows)
        waiting.level = self._summary.level_of(waiting.zone)
        promise = self._promise(waiting.zone, there)
        waiting.promise[there] = promise
        waiting.score[there] = ordered(self._direction, promise) * self._fade ** (waiting.level - 1)

    def check(self) -> None:
        """Raise AssertionError where an invariant is broken."""
        assert {w.zone for w in self._order} == set(self._waiting)
        assert all(w.left for w in self._order)
        best = [w.best for w in self._order]
        assert best == sorted(best, reverse=True)


def ordered(direction: Direction, promise: Float64s) -> Float64s:
    """Promises as scores of which the highest come first."""
    return 1 / (1 + promise) if direction == "asc" else promise


def shares(weight: Float64s, budget: int) -> Int64s:
    """Whole shares of a budget in proportion to weights; they add up to it exactly (systematic rounding)."""
    edges = np.cumsum(weight) * (budget / weight.sum())
    edges[-1] = budget
    found: Int64s = np.diff(np.floor(edges + 0.5), prepend=0.0).astype(np.int64)
    return found


class _Waiting:
    """The cells of a zone some rows of which wait; arrays by bucket."""

    __slots__ = ("high", "level", "low", "promise", "rows", "score", "since", "until", "zone")

    def __init__(self, zone: int, buckets: int) -> None:
        self.zone = zone
        self.level = 1
        self.rows = np.zeros(buckets, np.int64)
        self.since = np.zeros(buckets, np.int64)  # arrival numbers: all rows from there on wait
        self.until = np.zeros(buckets, np.int64)
        self.low = np.full(buckets, MAX_TIME)  # times
        self.high = np.full(buckets, MIN_TIME)
        self.promise = np.zeros(buckets)
        self.score = np.full(buckets, -1.0)  # where nothing waits

    @property
    def bytes(self) -> int:
        return 8 * 7 * self.rows.size

    @property
    def left(self) -> bool:
        return bool(self.rows.any())

    @property
    def best(self) -> float:
        return float(self.score.max())

    def note(self, arrival: Arrival) -> None:
        there = np.flatnonzero(arrival.counts)
        fresh = there[self.rows[there] == 0]
        self.since[fresh] = arrival.since
        self.rows[there] += arrival.counts[there]
        self.until[there] = arrival.until
        self.low[there] = np.minimum(self.low[there], arrival.low)
        self.high[there] = np.maximum(self.high[there], arrival.high)

    def clear(self, bucket: int) -> None:
        self.rows[bucket] = 0
        self.score[bucket] = -1.0
        self.low[bucket], self.high[bucket] = MAX_TIME, MIN_TIME
