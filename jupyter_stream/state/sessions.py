"""Which sessions there are: intervals of time per partition, merged when rows bridge them; and which of them are over.

Not for the values aggregated over a session: `state.cells` has them, under the session's number.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from jupyter_stream.core.messages import Int64s
from jupyter_stream.core.order import order_of
from jupyter_stream.core.time import MAX_TIME, MIN_TIME

NONE = -1
"""The session of a row that is in none."""
_REMEMBERED: Final = 4
"""Gaps that a final session is remembered for, before its partition's first open row, or what was promised. A late row reaches
back over two itself, and over one more by way of each late row that came before it and joined an open session."""


@dataclass(frozen=True)
class Intervals:
    """Sessions, one in each place of the arrays.

    Attributes:
        slot: the partition.
        first: the least time of its rows.
        last: the greatest.
        number: what it is known by; a session that others join keeps the number of the earliest among them.
    """

    slot: Int64s
    first: Int64s
    last: Int64s
    number: Int64s

    @classmethod
    def none(cls) -> Intervals:
        """No session."""
        empty = np.empty(0, np.int64)
        return cls(empty, empty, empty, empty)

    @property
    def bytes(self) -> int:
        """Bytes held."""
        return 4 * self.slot.nbytes

    def where(self, mask: NDArray[np.bool_]) -> Intervals:
        """Some of them."""
        return Intervals(self.slot[mask], self.first[mask], self.last[mask], self.number[mask])

    def with_others(self, others: Intervals) -> Intervals:
        """Both."""
        return Intervals(
            np.concatenate([self.slot, others.slot]),
            np.concatenate([self.first, others.first]),
            np.concatenate([self.last, others.last]),
            np.concatenate([self.number, others.number]),
        )


class SessionIntervals:
    """Sessions of all partitions of one operator.

    A session is final at punctuation p when its last row is a gap or more before p. Final ones are remembered as long as a
    late row that is still of use could have belonged to them: it missed one.

    Args:
        gap: microseconds; rows less than that apart are in one session.
    """

    def __init__(self, gap: int) -> None:
        self._gap = gap
        self._next = 0
        self.open = Intervals.none()
        self.past = Intervals.none()

    @property
    def bytes(self) -> int:
        """Bytes held."""
        return self.open.bytes + self.past.bytes

    # -- rows that are not late, in any order ------------------------------------------------------------------------

    def take(self, slots: Int64s, ts: Int64s) -> tuple[Int64s, dict[int, int]]:
        """Put rows into sessions, by array operations alone.

        Returns:
            The session number of each row, and the new numbers of sessions that were joined to others.
        """
        order = order_of(slots, ts)
        slot, time = slots[order], ts[order]
        begins = np.concatenate([[True], (slot[1:] != slot[:-1]) | (np.diff(time) >= self._gap)])
        starts = np.flatnonzero(begins)
        ends = np.append(starts[1:], time.size) - 1
        ours = Intervals(slot[starts], time[starts], time[ends], np.full(starts.size, NONE))
        touched = np.isin(self.open.slot, ours.slot)
        known = self.open.where(touched)
        merged, cluster = self._merge(known.with_others(ours))
        joined = merged.number[cluster[: known.slot.size]]
        moved = joined != known.number
        renumbered = dict(zip(known.number[moved].tolist(), joined[moved].tolist(), strict=True))
        self.open = self.open.where(~touched).with_others(merged)
        numbers = np.empty(ts.size, np.int64)
        numbers[order] = merged.number[cluster[known.slot.size :]][np.cumsum(begins) - 1]
        return numbers, renumbered

    def _merge(self, pieces: Intervals) -> tuple[Intervals, Int64s]:
        """Join pieces less than a gap apart; the joined ones, and in which of them each piece is."""
        order = order_of(pieces.slot, pieces.first)
        slot, first, last, number = (a[order] for a in (pieces.slot, pieces.first, pieces.last, pieces.number))
        changes = np.concatenate([[True], slot[1:] != slot[:-1]])
        # the greatest `last` so far in each partition: partitions count more than ranks, and ranks are as `last` is
        by_last = order_of(last)
        rank = np.empty(last.size, np.int64)
        rank[by_last] = np.arange(last.size)
        reached = np.maximum.accumulate(np.cumsum(changes) * last.size + rank) % last.size
        newest = last[by_last[reached]]
        begins = changes.copy()
        begins[1:] |= first[1:] - newest[:-1] >= self._gap
        starts = np.flatnonzero(begins)
        ends = np.append(starts[1:], slot.size) - 1
        which = np.cumsum(begins) - 1
        numbers = np.full(starts.size, NONE)
        old = np.flatnonzero(number != NONE)[::-1]
        numbers[which[old]] = number[old]  # the earliest of each is written last
        fresh = np.flatnonzero(numbers == NONE)
        numbers[fresh] = self._next + np.arange(fresh.size)
        self._next += fresh.size
        cluster = np.empty(slot.size, np.int64)
        cluster[order] = which
        return Intervals(slot[starts], first[starts], newest[ends], numbers), cluster

    # -- rows among which there are late ones, in the order they came ------------------------------------------------

    def take_late(self, slots: Int64s, ts: Int64s, broken: Int64s) -> tuple[Int64s, dict[int, int], NDArray[np.bool_]]:
        """Put rows of some partitions into sessions one by one: what is final changes between them.

        Args:
            slots: their partitions; no other rows of these partitions have come since the last punctuation they broke.
            ts: their times.
            broken: the punctuation each broke, MIN_TIME where none.

        Returns:
            The session number of each row (`NONE` for those too late for any), the new numbers of sessions that were joined to
            others, and which rows missed a session that was final.
        """
        numbers = np.full(ts.size, NONE)
        missed = np.zeros(ts.size, np.bool_)
        renumbered: dict[int, int] = {}
        order = order_of(slots)
        own, starts = np.unique(slots[order], return_index=True)
        touched = np.isin(self.open.slot, own)
        made: list[tuple[int, int, int, int]] = []
        open_of = _by_slot(self.open.where(touched))
        past_of = _by_slot(self.past.where(np.isin(self.past.slot, own)))
        for slot, rows in zip(own.tolist(), np.split(order, starts[1:]), strict=True):
            one = _Partition(self._gap, open_of.get(slot, []), past_of.get(slot, []), self._next)
            for row, time, said in zip(rows.tolist(), ts[rows].tolist(), broken[rows].tolist(), strict=True):
                numbers[row], missed[row] = one.take(time, said)
            self._next = one.next
            renumbered |= one.renumbered
            made += [(slot, *session) for session in one.sessions()]
        columns = np.array(made, np.int64).reshape(-1, 4)
        self.open = self.open.where(~touched).with_others(Intervals(*columns.T.copy()))
        while renumbered and any(new in renumbered for new in renumbered.values()):
            renumbered = {old: renumbered.get(new, new) for old, new in renumbered.items()}
        if renumbered:
            held, new = np.array(list(renumbered)), np.array(list(renumbered.values()))
            numbers = renumber(numbers, held, new)
        return numbers, renumbered, missed

    # -- time --------------------------------------------------------------------------------------------------------

    def close(self, punctuation: int) -> Intervals:
        """Sessions that are final at a punctuation; they are open no more."""
        done = self.open.last + self._gap <= punctuation
        closed, self.open = self.open.where(done), self.open.where(~done)
        if punctuation == MAX_TIME:
            self.past = Intervals.none()
        elif closed.slot.size or self.past.slot.size:
            past = self.past.with_others(closed)
            slots = max(int(past.slot.max()), int(self.open.slot.max(initial=0))) + 1
            self.past = self._of_use(past, np.full(slots, punctuation, np.int64))
        return closed

    def close_each(self, promised: Int64s) -> Intervals:
        """The same where each partition has a punctuation of its own, by slot."""
        done = self.open.last + self._gap <= promised[self.open.slot]
        closed, self.open = self.open.where(done), self.open.where(~done)
        self.past = self._of_use(self.past.with_others(closed), promised.copy())
        return closed

    def _of_use(self, past: Intervals, promised: Int64s) -> Intervals:
        """Those of them a late row of use may have missed: it is near an open session of its partition, or its own is open."""
        np.minimum.at(promised, self.open.slot, self.open.first)
        back = _REMEMBERED * self._gap
        return past.where(past.last > np.maximum(promised, MIN_TIME + back)[past.slot] - back)


class _Partition:
    """The sessions of one partition, in the order of time, while late rows are judged."""

    def __init__(
        self, gap: int, held: list[tuple[int, int, int]], past: list[tuple[int, int, int]], number: int
    ) -> None:
        held = sorted(held)
        self._gap = gap
        self._firsts = [s[0] for s in held]
        self._lasts = [s[1] for s in held]
        self._numbers = [s[2] for s in held]
        self._past = past
        self._over: list[tuple[int, int, int]] = []
        self.next = number
        self.renumbered: dict[int, int] = {}

    def take(self, time: int, said: int) -> tuple[int, bool]:
        """The session of a row, and whether it missed one; `said` is the punctuation it broke."""
        gap = self._gap
        late = said != MIN_TIME
        if late and (final := bisect_right(self._lasts, said - gap)):
            self._over += zip(self._firsts[:final], self._lasts[:final], self._numbers[:final], strict=True)
            del self._firsts[:final], self._lasts[:final], self._numbers[:final]
        low, high = bisect_right(self._lasts, time - gap), bisect_left(self._firsts, time + gap)
        missed = late and any(f - gap < time < t + gap for f, t, _ in (*self._past, *self._over))
        if low < high:
            number = self._numbers[low]
            for other in self._numbers[low + 1 : high]:
                self.renumbered[other] = number
            first, last = min(time, self._firsts[low]), max(time, self._lasts[high - 1])
        elif late and time + gap <= said:
            return NONE, True
        else:
            number, first, last = self.next, time, time
            self.next += 1
        self._firsts[low:high], self._lasts[low:high], self._numbers[low:high] = [first], [last], [number]
        return number, missed

    def sessions(self) -> list[tuple[int, int, int]]:
        """All that are not given yet, those that became final among them."""
        return [*self._over, *zip(self._firsts, self._lasts, self._numbers, strict=True)]


def _by_slot(intervals: Intervals) -> dict[int, list[tuple[int, int, int]]]:
    found: dict[int, list[tuple[int, int, int]]] = {}
    columns = (intervals.slot, intervals.first, intervals.last, intervals.number)
    for slot, first, last, number in zip(*(c.tolist() for c in columns), strict=True):
        found.setdefault(slot, []).append((first, last, number))
    return found


def renumber(numbers: Int64s, old: Int64s, new: Int64s) -> Int64s:
    """The numbers with each of `old` replaced by its `new`."""
    order = np.argsort(old)
    old, new = old[order], new[order]
    at = np.minimum(np.searchsorted(old, numbers), old.size - 1)
    return np.where(old[at] == numbers, new[at], numbers)
