"""Which rows of a slide-by-tuple window end an extent, and when. Holds times and numbers only, no values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jupyter_stream.arrays.order import order_of
from jupyter_stream.arrays.runs import run_starts
from jupyter_stream.core.axis import plus
from jupyter_stream.core.messages import Int64s
from jupyter_stream.partials.timeline import NumberColumn


@dataclass(frozen=True)
class ExtentEnds:
    """Extents, by the time of the row that ends them.

    Attributes:
        times: rising, each once.
        counts: how many rows of that time end an extent, at least 1.
        ids: the numbers of those rows, time by time.
    """

    times: Int64s
    counts: Int64s
    ids: Int64s


class TupleEnds:
    """Numbers rows, in the order they come or in that of their times, and keeps those that end extents.

    Args:
        span: the window's RANGE, microseconds: how long extents that are final are remembered, for late rows.
        every: each so many-th row ends an extent.
        by_rank: whether rows are numbered in the order of their times.
    """

    def __init__(self, span: int, every: int, by_rank: bool) -> None:
        self._span = span
        self._every = every
        self._by_rank = by_rank
        self._numbered = 0
        # times in no order, with the row's number; by rank, with how many rows have that time
        self._waiting: list[tuple[Int64s, Int64s]] = []
        self._past = NumberColumn(np.int64)  # times of extents that are final
        self._past_counts = NumberColumn(np.int64)

    def add(self, ts: Int64s) -> None:
        """Rows came, in arrival order."""
        if self._by_rank:
            self._waiting.append(_counted(ts))
        else:
            first = self._every - 1 - self._numbered % self._every
            self._waiting.append(
                (ts[first :: self._every], np.arange(first, ts.size, self._every) + (self._numbered + 1))
            )
            self._numbered += ts.size
        if len(self._waiting) > 32:
            self._waiting = [self._all()]

    def _all(self) -> tuple[Int64s, Int64s]:
        if len(self._waiting) == 1:
            return self._waiting[0]
        none = np.empty(0, np.int64)
        times = np.concatenate([none, *(t for t, _ in self._waiting)])
        others = np.concatenate([none, *(o for _, o in self._waiting)])
        return _counted(times, others) if self._by_rank else (times, others)

    def before(self, until: int) -> ExtentEnds:
        """The extents that end before `until` and have not been completed; no row before it is to come."""
        times, others = self._all()
        some = times < until
        times, others = times[some], others[some]
        if self._by_rank:
            reached = self._numbered + np.cumsum(others)
            first = (reached - others) // self._every
            counts = reached // self._every - first
            kept = counts > 0
            ids = (np.repeat(first[kept] - np.cumsum(counts[kept]) + counts[kept], counts[kept])) + 1
            ids = (ids + np.arange(ids.size)) * self._every
            return ExtentEnds(times[kept], counts[kept], ids)
        order = order_of(times)
        times = times[order]
        starts = run_starts(times)
        return ExtentEnds(times[starts], np.diff(starts, append=times.size), others[order])

    def complete(self, until: int, ends: ExtentEnds) -> None:
        """The extents `before(until)` gave are final; those a RANGE before `until` are forgotten."""
        times, others = self._all()
        open_ = times >= until
        if self._by_rank:
            self._numbered += int(others[~open_].sum())
        self._waiting = [(times[open_], others[open_])] if open_.any() else []
        self._past.append(ends.times)
        self._past_counts.append(ends.counts)
        old = self._past.begin + int(np.searchsorted(self._past.held, plus(until, -self._span), side="right"))
        self._past.forget(old)
        self._past_counts.forget(old)

    def missed(self, ts: Int64s, broken: Int64s) -> tuple[Int64s, np.ndarray]:
        """How many final extents late rows would have been in.

        Args:
            ts: their times.
            broken: the punctuation each broke.

        Returns:
            The counts, and a mask: where it is false the row is a RANGE or more behind the punctuation, so that not all of
            its extents are remembered.
        """
        ahead = self.before(int(broken.max()))
        times = np.concatenate([self._past.held, ahead.times])
        total = np.concatenate([[0], np.cumsum(np.concatenate([self._past_counts.held, ahead.counts]))])
        last = np.minimum(plus(ts, self._span), broken)
        counts = total[np.searchsorted(times, last, side="left")] - total[np.searchsorted(times, ts, side="left")]
        return counts, ts > plus(broken, -self._span)

    @property
    def bytes(self) -> int:
        """Bytes held."""
        return sum(t.nbytes + o.nbytes for t, o in self._waiting) + self._past.bytes + self._past_counts.bytes

    @property
    def next_end(self) -> int | None:
        """The earliest time an extent waits for; None if none is known."""
        if self._by_rank and self._every > 1:
            return None
        return min((int(t.min()) for t, _ in self._waiting if t.size), default=None)


def _counted(times: Int64s, counts: Int64s | None = None) -> tuple[Int64s, Int64s]:
    """Times, rising and each once, with the sum of their counts."""
    if counts is None:
        distinct, summed = np.unique(times, return_counts=True)
        return distinct, summed
    distinct, at = np.unique(times, return_inverse=True)
    summed = np.zeros(distinct.size, np.int64)
    np.add.at(summed, at, counts)
    return distinct, summed
