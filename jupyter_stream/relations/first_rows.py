"""Which rows of a relation are among the first, at every instant of a step: a live top-n, by arrays alone.

A row's value has a slot and a number of copies. Of all values only the best are kept in order: those before a *bound*. What comes
behind it changes a number and nothing else; when too few are left before it, it is set anew. Of those in order, most are among
the first at all instants of a step whatever the others do, or at none: only the rest are looked at instant by instant.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import isqrt

import numpy as np
from numpy.typing import NDArray

from jupyter_stream.arrays.growing import grown
from jupyter_stream.arrays.order import order_of
from jupyter_stream.arrays.runs import begins_run, run_starts
from jupyter_stream.arrays.walking import ranges
from jupyter_stream.core.messages import Int64s

_EVENTS = 1 << 15
"""Changes looked at together."""
_PAIRS, _MANY = 1 << 14, 8
"""Rows at instants that are looked at one by one: so many, and for each stretch so many. Where there are more, the first half of
the instants and the second are looked at apart: fewer rows are there for some of one half only."""
_KEPT = 256
"""Values kept in order at least."""
_ALL = 1 << 62


@dataclass(frozen=True)
class Moves:
    """Rows that enter or leave the answer, by instant, leaving rows before entering ones.

    Attributes:
        slots: their values.
        places: their places, from 0, where these are wanted; otherwise 0.
        instants: when.
        signs: 1 where a row enters, -1 where it leaves.
    """

    slots: Int64s
    places: Int64s
    instants: Int64s
    signs: Int64s


@dataclass(frozen=True)
class _Step:
    """Changes by partition and time: net for each value and instant, and which of the partition's instants each is at."""

    slots: Int64s
    looks: Int64s
    copies: Int64s
    times: Int64s  # of each look
    parts: Int64s  # the partitions, ascending
    first: Int64s  # of each partition, its first look
    stop: Int64s  # and one past its last


@dataclass(frozen=True)
class _Stays:
    """Stretches of looks at which a value has a number of copies: by its rank, the first look, one past the last."""

    rank: Int64s
    begin: Int64s
    end: Int64s
    copies: Int64s

    def at(self, some: Int64s | NDArray[np.bool_]) -> _Stays:
        """Some of them."""
        return _Stays(self.rank[some], self.begin[some], self.end[some], self.copies[some])

    def within(self, first: int, stop: int) -> _Stays:
        """What is of them at some looks."""
        some = self.at((self.end > first) & (self.begin < stop))
        return _Stays(some.rank, np.maximum(some.begin, first), np.minimum(some.end, stop), some.copies)

    def totals(self, looks: int) -> Int64s:
        """Copies at each look."""
        change = np.zeros(looks + 1, np.int64)
        np.add.at(change, self.begin, self.copies)
        np.subtract.at(change, self.end, self.copies)
        return np.cumsum(change)[:-1]


class _Answer:
    """Which values are among the first at which looks, and with how many copies.

    Args:
        offset: as of `FirstRows`.
        end: as of `FirstRows`.
        numbered: as of `FirstRows`.
        step: the looks.
        part: of each rank, which of the step's partitions it is of.
    """

    def __init__(self, offset: int, end: int, numbered: bool, step: _Step, part: Int64s) -> None:
        self._offset, self._end, self._numbered, self._step, self.part = offset, end, numbered, step, part
        self._sure = np.zeros(step.times.size, np.int64)  # copies at each look of values known to be among the first
        self._shown: list[tuple[Int64s, ...]] = []

    @property
    def shown(self) -> tuple[Int64s, Int64s, Int64s, Int64s, Int64s]:
        """Ranks, places (0 where they aren't wanted), first looks, one past the last looks, copies."""
        if not self._shown:
            nothing = np.empty(0, np.int64)
            return nothing, nothing, nothing, nothing, nothing
        rank, place, begin, end, copies = (np.concatenate(parts) for parts in zip(*self._shown, strict=True))
        return rank, place, begin, end, copies

    def look(self, stays: _Stays, first: int, stop: int) -> None:
        """Look at some of the looks. Of each value all stretches there are given, in the order of ranks."""
        if not stays.rank.size:
            return
        heads = run_starts(stays.rank)
        many = np.diff(np.append(heads, stays.rank.size))
        before, up_to = self._ahead(stays, heads, first, stop)
        unsure = before < self._end
        if self._offset == 0 and not self._numbered:
            sure = up_to <= self._end  # the first few: whatever the others do
            unsure &= ~sure
            self._give(stays.at(np.repeat(sure, many)), first, stop)
        if not unsure.all():
            stays = stays.at(np.repeat(unsure, many))
        there = stays.at(stays.copies > 0)
        pairs = int((there.end - there.begin).sum())
        if stop - first == 1 or pairs <= _PAIRS + _MANY * stays.rank.size:
            if pairs:
                self._one_by_one(there)
            return
        middle = (first + stop) // 2
        self.look(stays.within(first, middle), first, middle)
        self.look(stays.within(middle, stop), middle, stop)

    def _ahead(self, stays: _Stays, heads: Int64s, first: int, stop: int) -> tuple[Int64s, Int64s]:
        """How many rows come before a value at least, and how many up to it at most, at any of the looks."""
        least, most = np.minimum.reduceat(stays.copies, heads), np.maximum.reduceat(stays.copies, heads)
        part = self.part[stays.rank[heads]]
        begins = run_starts(part)
        of = np.repeat(np.arange(begins.size), np.diff(np.append(begins, part.size)))
        before, up_to = np.cumsum(least) - least, np.cumsum(most)
        before -= before[begins][of]
        up_to -= (up_to - most)[begins][of]
        mine = part[begins]
        from_, to = np.maximum(self._step.first[mine], first), np.minimum(self._step.stop[mine], stop)
        bounds = np.stack([from_, to], axis=1).ravel()
        sure = np.append(self._sure, 0)
        return before + np.minimum.reduceat(sure, bounds)[::2][of], up_to + np.maximum.reduceat(sure, bounds)[::2][of]

    def _give(self, stays: _Stays, first: int, stop: int) -> None:
        """Values that are in the answer when they are there."""
        stays = stays.at(stays.copies > 0)
        if stays.rank.size:
            moved = _Stays(stays.rank, stays.begin - first, stays.end - first, stays.copies)
            self._sure[first:stop] += moved.totals(stop - first)
            self._shown.append((stays.rank, np.zeros(stays.rank.size, np.int64), stays.begin, stays.end, stays.copies))

    def _one_by_one(self, stays: _Stays) -> None:
        """The first rows at each look, found by counting."""
        many = stays.end - stays.begin
        which = np.repeat(np.arange(many.size), many)
        look = ranges(stays.begin, many)
        order = order_of(look)
        which, look = which[order], look[order]
        rank, copies = stays.rank[which], stays.copies[which]
        ahead = np.cumsum(copies) - copies
        heads = run_starts(look)
        ahead -= np.repeat(ahead[heads], np.diff(np.append(heads, look.size)))
        ahead += self._sure[look]
        low = np.maximum(ahead, self._offset)
        wanted = np.minimum(ahead + copies, self._end) - low
        shown = wanted > 0
        rank, look, low, wanted = rank[shown], look[shown], low[shown], wanted[shown]
        place = np.zeros(rank.size, np.int64)
        if self._numbered:
            place = np.repeat(low - np.cumsum(wanted) + wanted, wanted) + np.arange(int(wanted.sum()))
            rank, look = np.repeat(rank, wanted), np.repeat(look, wanted)
            wanted = np.ones(rank.size, np.int64)
        self._shown.append((rank, place, look, look + 1, wanted))


class FirstRows:
    """The rows with places from `offset` to `end` in each partition.

    Args:
        offset: how many come before those wanted.
        end: one past the last place wanted; None for all.
        numbered: whether a row's place is part of it.
        by_part: whether there are partitions; otherwise all slots are of partition 0.
        ranked: the places of slots in the rows' order, those of one partition in any case.
        before: those of some slots that may come before another, and perhaps some that don't.
        best: at least so many of some slots that come first (all, if there are no more), in order.
    """

    def __init__(
        self,
        offset: int,
        end: int | None,
        numbered: bool,
        by_part: bool,
        ranked: Callable[[Int64s], Int64s],
        before: Callable[[Int64s, int], Int64s],
        best: Callable[[Int64s, int], Int64s],
    ) -> None:
        self._offset, self._end, self._numbered, self._by_part = offset, _ALL if end is None else end, numbered, by_part
        self._ranked, self._before, self._first_of = ranked, before, best
        self.clear()

    def clear(self) -> None:
        """Forget all."""
        nothing = np.empty(0, np.int64)
        self._copies = nothing  # by slot
        self._part = nothing  # by slot
        self._best = nothing  # slots before the bound, in order; not used where there are partitions
        self._bound: int | None = None  # the slot of the last value before the bound; None where all are in order
        self._answer = (nothing, nothing, nothing)  # slots, places, copies

    @property
    def bytes(self) -> int:
        """Bytes held."""
        return self._copies.nbytes + self._part.nbytes + self._best.nbytes + sum(a.nbytes for a in self._answer)

    @property
    def rows(self) -> int:
        """Rows of the relation."""
        return int(self._copies.sum())

    def live(self, capacity: int) -> NDArray[np.bool_]:
        """Which slots are in use."""
        live = np.zeros(capacity, np.bool_)
        live[: self._copies.size] = self._copies[:capacity] > 0
        if self._bound is not None:
            live[self._bound] = True
        return live

    def copies(self, slots: Int64s) -> Int64s:
        """Copies of values."""
        return self._copies[slots]

    def parts(self, slots: Int64s) -> Int64s:
        """Partitions of values."""
        return self._part[slots]

    def renumber(self, old: Int64s) -> None:
        """What had slot `old[i]` has slot i."""
        new = np.empty(self._copies.size, np.int64)
        new[old] = np.arange(old.size)
        self._copies, self._part, self._best = self._copies[old], self._part[old], new[self._best]
        self._answer = (new[self._answer[0]], *self._answer[1:])
        self._bound = None if self._bound is None else int(new[self._bound])

    # -- changes -----------------------------------------------------------------------------------------------------

    def advance(self, slots: Int64s, parts: Int64s, instants: Int64s, signs: Int64s) -> list[Moves]:
        """What changes among the first rows when these enter (1) or leave (-1), in any order."""
        most = int(slots.max()) + 1
        self._copies, self._part = grown(self._copies, most), grown(self._part, most)
        self._part[slots] = parts
        order = order_of(slots, instants)
        slots, instants = slots[order], instants[order]
        begins = run_starts(slots, instants)
        net = np.add.reduceat(signs[order], begins)
        begins, net = begins[net != 0], net[net != 0]
        slots, instants = slots[begins], instants[begins]
        order = order_of(instants)
        slots, instants, net = slots[order], instants[order], net[order]
        found: list[Moves] = []
        begin = 0
        while begin < slots.size:
            end = min(slots.size, begin + _EVENTS)
            if end < slots.size:
                end = int(np.searchsorted(instants, instants[end - 1], "right"))
            found.append(self._advance(slots[begin:end], instants[begin:end], net[begin:end]))
            begin = end
        return [moves for moves in found if moves.slots.size]

    def _advance(self, slots: Int64s, instants: Int64s, net: Int64s) -> Moves:
        """The same for changes in the order of time, one for each value and instant."""
        step = self._step(slots, instants, net)
        ranks, stays = self._involved(step)
        answer = _Answer(self._offset, self._end, self._numbered, step, np.searchsorted(step.parts, self._part[ranks]))
        answer.look(stays, 0, step.times.size)
        moves = self._moves_shown(step, ranks, answer)
        np.add.at(self._copies, slots, net)
        if not self._by_part:
            self._best = ranks[self._copies[ranks] > 0]
            self._cut()
        return moves

    def _step(self, slots: Int64s, instants: Int64s, net: Int64s) -> _Step:
        parts = self._part[slots]
        if self._by_part:
            order = order_of(parts, instants)
            slots, instants, net, parts = slots[order], instants[order], net[order], parts[order]
        new = begins_run(instants, parts)
        starts = np.flatnonzero(new)
        first = run_starts(parts[starts])
        stop = np.append(first[1:], starts.size)
        return _Step(slots, np.cumsum(new) - 1, net, instants[starts], parts[starts][first], first, stop)

    def _involved(self, step: _Step) -> tuple[Int64s, _Stays]:
        """Values that may be among the first at some look, in order, partition by partition; and their copies at the looks."""
        if self._by_part:
            touched = np.zeros(self._part.size + 1, np.bool_)
            touched[step.parts] = True
            some = (self._copies > 0) & touched[self._part]
            some[step.slots] = True
            ranks = np.flatnonzero(some)
            ranks = ranks[self._ranked(ranks)]
            ranks = ranks[order_of(self._part[ranks])]
            return ranks, self._stays(step, ranks)
        came = step.slots[self._copies[step.slots] == 0]
        if came.size:
            new = np.zeros(int(came.max()) + 1, np.bool_)
            new[came] = True
            came = np.flatnonzero(new)  # each once
        while True:
            ranks = self._in_order(came)
            stays = self._stays(step, ranks)
            if self._bound is None or int(stays.totals(step.times.size).min()) >= self._end:
                return ranks, stays
            self._refill(int(np.count_nonzero(step.copies < 0)))

    def _in_order(self, came: Int64s) -> Int64s:
        """The best values and of those that come the ones before the bound, in order."""
        bound = self._bound
        if bound is not None:
            came = self._before(came[came != bound], bound)
        # the bound's own value may have gone, and come again
        ends = bound is not None and not (self._best.size and self._best[-1] == bound)
        ranks = np.concatenate([self._best, came, np.array([bound] if ends else [], np.int64)])
        if came.size:
            ranks = ranks[self._ranked(ranks)]
        if bound is not None:
            ranks = ranks[: int(np.flatnonzero(ranks == bound)[0]) + 1]
        return ranks

    def _refill(self, leaving: int) -> None:
        """Set the bound anew, farther away: so many may leave."""
        alive = np.flatnonzero(self._copies > 0)
        wanted = max(2 * self._best.size, self._kept(alive.size) + leaving)
        self._best = self._first_of(alive, wanted)
        self._bound = None if self._best.size == alive.size else int(self._best[-1])

    def _cut(self) -> None:
        """Set the bound where enough come before it."""
        if self._best.size <= 2 * _KEPT:
            return
        kept = self._kept(int(np.count_nonzero(self._copies)))
        if self._best.size > 2 * kept:
            self._best = self._best[:kept]
            self._bound = int(self._best[-1])

    def _kept(self, alive: int) -> int:
        """How many values to keep in order: setting the bound anew takes as long as keeping as many more in order."""
        return max(_KEPT, 4 * min(self._end, alive), 8 * isqrt(alive))

    def _stays(self, step: _Step, ranks: Int64s) -> _Stays:
        rank_of = np.full(self._copies.size, -1)
        rank_of[ranks] = np.arange(ranks.size)
        rank = rank_of[step.slots]
        mine = rank >= 0
        rank, looks, net = rank[mine], step.looks[mine], step.copies[mine]
        order = order_of(rank, looks)
        rank, looks, net = rank[order], looks[order], net[order]
        part = np.searchsorted(step.parts, self._part[ranks])
        first, stop = step.first[part], step.stop[part]
        was = self._copies[ranks]
        until = stop.copy()  # of the stretch before a value's first change
        if not rank.size:
            return _Stays(np.arange(ranks.size), first, until, was)
        heads = run_starts(rank)
        until[rank[heads]] = looks[heads]
        total = np.cumsum(net)
        sizes = np.diff(np.append(heads, rank.size))
        after = total + np.repeat(was[rank[heads]] - (total - net)[heads], sizes)
        ends = np.append(looks[1:], 0)
        last = np.append(heads[1:], rank.size) - 1
        ends[last] = stop[rank[last]]
        before = until > first
        found = _Stays(
            np.concatenate([np.flatnonzero(before), rank]),
            np.concatenate([first[before], looks]),
            np.concatenate([until[before], ends]),
            np.concatenate([was[before], after]),
        )
        return found.at(order_of(found.rank))

    # -- the answer --------------------------------------------------------------------------------------------------

    def _moves_shown(self, step: _Step, ranks: Int64s, answer: _Answer) -> Moves:
        """The changes between what was in the answer and what is."""
        rank, place, begin, end, copies = answer.shown
        rank_of = np.full(self._copies.size, -1)
        rank_of[ranks] = np.arange(ranks.size)
        slots, places, shown = self._answer
        mine = rank_of[slots] >= 0
        was = rank_of[slots[mine]]
        part = answer.part
        last = end == step.stop[part[rank]]
        ranked = np.concatenate([was, rank, rank[~last]])
        placed = np.concatenate([places[mine], place, place[~last]])
        looks = np.concatenate([step.first[part[was]], begin, end[~last]])
        change = np.concatenate([-shown[mine], copies, -copies[~last]])
        self._answer = (
            np.concatenate([slots[~mine], ranks[rank[last]]]),
            np.concatenate([places[~mine], place[last]]),
            np.concatenate([shown[~mine], copies[last]]),
        )
        nothing = np.empty(0, np.int64)
        if not ranked.size:
            return Moves(nothing, nothing, nothing, nothing)
        order = order_of(ranked, placed, looks)
        ranked, placed, looks = ranked[order], placed[order], looks[order]
        heads = run_starts(ranked, placed, looks)
        change = np.add.reduceat(change[order], heads)
        heads, change = heads[change != 0], change[change != 0]
        ranked, placed, looks = ranked[heads], placed[heads], looks[heads]
        order = order_of(step.times[looks], change > 0, ranked)
        order = np.repeat(order, np.abs(change[order]))
        return Moves(ranks[ranked[order]], placed[order], step.times[looks[order]], np.sign(change[order]))


__all__ = ["FirstRows", "Moves"]
