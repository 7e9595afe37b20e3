"""Which sessions there are: intervals of time per partition, merged when rows bridge them; and which of them are over.

Not for the values aggregated over a session: `state.cells` has them, under the session's number.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from jupyter_stream.arrays.order import order_of
from jupyter_stream.arrays.runs import begins_run
from jupyter_stream.core.axis import between, plus
from jupyter_stream.core.messages import Int64s
from jupyter_stream.core.time import MAX_TIME, MIN_TIME

_FEW: Final = 4
"""Partitions up to which looking for one after the other takes less than for all at once."""
_SPARE: Final = 3
"""Free numbers for each that is in use, from which on they are looked through."""
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
        number: what it is known by while it is open; a session that others join keeps the number of the earliest among them.
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

    def put(self, at: int, one: Intervals) -> None:
        """Another, of the same number, in place of one."""
        self.first[at], self.last[at] = one.first[0], one.last[0]

    def where(self, mask: NDArray[np.bool_] | Int64s) -> Intervals:
        """Some of them, by a mask or by their places."""
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
        self._free: list[int] = []  # numbers of sessions that are open no more
        self.open = Intervals.none()
        self.past = Intervals.none()

    @property
    def bytes(self) -> int:
        """Bytes held."""
        return self.open.bytes + self.past.bytes + 8 * len(self._free)

    # -- rows that are not late, in any order ------------------------------------------------------------------------

    def take(self, slots: Int64s, ts: Int64s) -> tuple[Int64s, dict[int, int]]:
        """Put rows into sessions, by array operations alone.

        Returns:
            The session number of each row, and the new numbers of sessions that were joined to others.
        """
        order = order_of(slots, ts)
        slot, time = slots[order], ts[order]
        begins = begins_run(slot)
        begins[1:] |= between(time[1:], time[:-1]) >= self._gap
        starts = np.flatnonzero(begins)
        ends = np.append(starts[1:], time.size) - 1
        ours = Intervals(slot[starts], time[starts], time[ends], np.full(starts.size, NONE))
        touched = _among(self.open.slot, ours.slot)
        places = np.flatnonzero(touched)
        known = self.open.where(places)
        merged, cluster = self._merge(known.with_others(ours))
        joined = merged.number[cluster[: known.slot.size]]
        moved = joined != known.number
        renumbered = dict(zip(known.number[moved].tolist(), joined[moved].tolist(), strict=True))
        self._free += renumbered
        if known.slot.size == 1 and merged.slot.size == 1:
            self.open.put(int(places[0]), merged)
        elif known.slot.size:
            self.open = self.open.where(~touched).with_others(merged)
        else:
            self.open = self.open.with_others(merged)
        numbers = np.empty(ts.size, np.int64)
        numbers[order] = merged.number[cluster[known.slot.size :]][np.cumsum(begins) - 1]
        return numbers, renumbered

    def _merge(self, pieces: Intervals) -> tuple[Intervals, Int64s]:
        """Join pieces less than a gap apart; the joined ones, and in which of them each piece is."""
        order = order_of(pieces.slot, pieces.first)
        slot, first, last, number = (a[order] for a in (pieces.slot, pieces.first, pieces.last, pieces.number))
        changes = begins_run(slot)
        # the greatest `last` so far in each partition: partitions count more than ranks, and ranks are as `last` is
        by_last = order_of(last)
        rank = np.empty(last.size, np.int64)
        rank[by_last] = np.arange(last.size)
        reached = np.maximum.accumulate(np.cumsum(changes) * last.size + rank) % last.size
        newest = last[by_last[reached]]
        begins = changes.copy()
        begins[1:] |= between(first[1:], newest[:-1]) >= self._gap
        starts = np.flatnonzero(begins)
        ends = np.append(starts[1:], slot.size) - 1
        which = np.cumsum(begins) - 1
        numbers = np.full(starts.size, NONE)
        old = np.flatnonzero(number != NONE)[::-1]
        numbers[which[old]] = number[old]  # the earliest of each is written last
        fresh = np.flatnonzero(numbers == NONE)
        numbers[fresh] = self._fresh(fresh.size)
        cluster = np.empty(slot.size, np.int64)
        cluster[order] = which
        return Intervals(slot[starts], first[starts], newest[ends], numbers), cluster

    def _fresh(self, many: int) -> Int64s:
        """Numbers for new sessions, those that are free first."""
        again = min(many, len(self._free))
        found = np.append(self._free[len(self._free) - again :], self._next + np.arange(many - again)).astype(np.int64)
        del self._free[len(self._free) - again :]
        self._next += many - again
        return found

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
            one = _PartitionSessions(self._gap, open_of.get(slot, []), past_of.get(slot, []), self._next)
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
            self._free += renumbered
        return numbers, renumbered, missed

    # -- time --------------------------------------------------------------------------------------------------------

    def close(self, punctuation: int) -> Intervals:
        """Sessions that are final at a punctuation; they are open no more."""
        done = self.open.last <= (MAX_TIME if punctuation == MAX_TIME else plus(punctuation, -self._gap))
        if punctuation == MAX_TIME:
            self.past = Intervals.none()
        if not done.any():
            return Intervals.none()
        closed, self.open = self._parted(done)
        if punctuation != MAX_TIME:
            past = self.past.with_others(closed)
            slots = max(int(past.slot.max()), int(self.open.slot.max(initial=0))) + 1
            self.past = self._of_use(past, np.full(slots, punctuation, np.int64))
        return closed

    def _parted(self, done: NDArray[np.bool_]) -> tuple[Intervals, Intervals]:
        """Those that are done, whose numbers are free from now on, and the others."""
        closed, left = self.open.where(np.flatnonzero(done)), self.open.where(~done)
        self._free += closed.number.tolist()
        if len(self._free) > _SPARE * left.slot.size:
            self._trim(int(left.number.max(initial=NONE)) + 1)
        return closed, left

    def _trim(self, used: int) -> None:
        """Give numbers from `used` on as new ones, where they are half of all: what is kept by number can end there."""
        if 2 * used <= self._next:
            self._free = [number for number in self._free if number < used]
            self._next = used

    def close_each(self, promised: Int64s) -> Intervals:
        """The same where each partition has a punctuation of its own, by slot."""
        done = plus(self.open.last, self._gap) <= promised[self.open.slot]
        closed, self.open = self._parted(done)
        self.past = self._of_use(self.past.with_others(closed), promised.copy())
        return closed

    def _of_use(self, past: Intervals, promised: Int64s) -> Intervals:
        """Those of them a late row of use may have missed: it is near an open session of its partition, or its own is open."""
        np.minimum.at(promised, self.open.slot, self.open.first)
        return past.where(past.last > plus(promised, -_REMEMBERED * self._gap)[past.slot])


class _PartitionSessions:
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


def _among(slots: Int64s, some: Int64s) -> NDArray[np.bool_]:
    """Which of them are some."""
    if some.size > _FEW:
        return np.isin(slots, some)
    found = np.zeros(slots.size, np.bool_)
    for one in some.tolist():
        found |= slots == one
    return found


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
