"""Joins with a budget (promising-tuples paper §4.1.2): the symmetric hash join, its probes in the order of what they promise.

A probe looks one row up in one time zone of the other stream. Each slot's rows bring theirs, the most promising of all that wait
are made, and what is left waits for idle time: every pair comes from one probe, so none comes twice, all in the end.
Time is the ordinary join's: which rows meet, what is late, when rows are let go.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from jupyter_stream.core.coverage import Coverage
from jupyter_stream.core.messages import Batch, Int64s, Message, Punctuation, Rest
from jupyter_stream.core.rows import rows_at, together
from jupyter_stream.core.time import MAX_TIME, MIN_TIME
from jupyter_stream.operators.promises import MEMORY, REST_PROBES, UNKNOWN, Promise, Promises, sampled, scored
from jupyter_stream.operators.slots import Keeper
from jupyter_stream.operators.window_join import NewRows, WindowJoin, WindowJoinConfig, head_of
from jupyter_stream.plan.preference import Preference
from jupyter_stream.state.probed_rows import ProbedRows, Segment, looked_up
from jupyter_stream.state.runs import Run
from jupyter_stream.summaries.hashing import mixed
from jupyter_stream.summaries.priorities import Taken
from jupyter_stream.summaries.protocol import Float64s, Items


@dataclass(frozen=True)
class PromisingJoinConfig:
    """A join with a budget.

    Attributes:
        join: which rows meet.
        width: of a slot, microseconds.
        preference: what comes first; None for a uniform sample.
        promises: by the side looked into, what its summaries say of the values of rows of the other side; None without.
        own: by side, what its summaries say of the values of its own rows; None without.
    """

    join: WindowJoinConfig
    width: int
    preference: Preference | None
    promises: tuple[Promise | None, Promise | None]
    own: tuple[Promise | None, Promise | None]


@dataclass(eq=False)
class _Round:
    """Lookups of one slot's rows, some of which wait.

    Attributes:
        left: probes that wait.
        own: number of the first of the rows that look.
        other: number of the first row that they look through.
    """

    left: int
    own: int
    other: int


@dataclass(frozen=True, slots=True)
class _Zones:
    """Stretches of one side's rows, oldest first, those of a zone together; arrays of one shape (zones,).

    Attributes:
        first: number of the first row.
        end: one after the last.
        low: their earliest time, microseconds.
        high: their latest.
        level: the zone's granularity.
        place: which of the summary's zones that is, counted from the newest, which is -1.
        last: the same of the last zone, where that is another one.
        share: how many of the zone's rows these are, 0 to 1.
    """

    first: Int64s
    end: Int64s
    low: Int64s
    high: Int64s
    level: Int64s
    place: Int64s
    last: Int64s
    share: Float64s


@dataclass(frozen=True, slots=True)
class _Entries:
    """Lookups of one slot's rows, before they are put in order: arrays of one shape (entries,)."""

    columns: dict[str, Int64s]
    probes: Float64s
    promise: Float64s
    counts: Float64s
    groups: Items
    expected: Float64s
    fade: Float64s


class PromisingJoin(WindowJoin):
    """Pairs of rows that meet, those first that the preference asks for."""

    def __init__(self, config: PromisingJoinConfig, keepers: Callable[[], tuple[Keeper, Keeper]]) -> None:
        super().__init__(config.join)
        self._packs = False  # rows that wait keep the keys they came with
        kind = "a uniform sample" if config.preference is None else str(config.preference)
        self.control.name = f"promising join, {kind}"
        self.control.settings |= {"probes_per_row": 0.0, "rest_probes": REST_PROBES, "memory_limit": MEMORY}
        self._promising = config
        self._keepers = keepers
        self._slots: tuple[deque[NewRows], deque[NewRows]] = (deque(), deque())
        self._rows = (ProbedRows(), ProbedRows())
        self._rounds: tuple[dict[int, _Round], dict[int, _Round]] = ({}, {})
        self._named = 0
        self._purse = 0.0
        self._met_so_far = 0  # pairs, before the further condition is asked
        self.allowance: Callable[[], float] | None = None
        self.promises = Promises(config.preference)

    # -- what the engine sees --------------------------------------------------------------------------------------------

    @property
    def left(self) -> int:
        """Probes that wait."""
        return self.promises.left

    @property
    def probes(self) -> int:
        """Probes made."""
        return self.promises.probes

    @property
    def coverage(self) -> Coverage:
        """The share of the exact answer given so far."""
        return self.promises.coverage()

    def take_up(self, probes: int) -> Iterator[Message]:
        """Make some of the probes that wait."""
        taken = self.promises.take(probes)
        if taken is not None:
            yield from self._probe(taken)
            self._report()

    # -- rows and time -----------------------------------------------------------------------------------------------------

    def on_batch(self, port: int, batch: Batch) -> Iterator[Message]:
        """Keep the rows of a slot until both streams have passed it."""
        new = yield from self._arrived(port, batch)
        if new is not None:
            self._slots[port].append(new)

    def on_punctuation(self, port: int, punctuation: Punctuation) -> Iterator[Message]:
        """Make the probes of the slots that both streams have passed; in the end all that are left."""
        if punctuation.value <= self._reached[port]:
            return
        self._reached[port] = punctuation.value
        both = min(self._reached)
        width = self._promising.width
        while (slot := self._next_slot()) is not None and (slot + 1) * width <= both:
            yield from self._round(slot)
            self._let_go(both)
            self._report()
        if both == MAX_TIME:
            while self.left:
                yield from self.take_up(int(self.control.settings["rest_probes"]))
                yield Rest()
            self._let_go(both)
            self._report()
        if not self.left and both > self._said:
            self._said = self.control.low_watermark = both
            yield Punctuation(both)

    def _next_slot(self) -> int | None:
        return min((slots[0].run.low // self._promising.width for slots in self._slots if slots), default=None)

    # -- a slot --------------------------------------------------------------------------------------------------------------

    def _round(self, slot: int) -> Iterator[Message]:
        end = (slot + 1) * self._promising.width
        for keeper in self._keepers():
            keeper.advance(end)
        entries: list[_Entries] = []
        rows = 0
        for port in (0, 1):  # left rows meet older right ones; right rows then meet left ones of the same slot too
            while self._slots[port] and self._slots[port][0].run.low < end:
                new = self._slots[port].popleft()
                rows += new.run.rows
                entries += self._entries(port, new.run)
        self._push(entries, slot)
        if self.allowance is not None:
            self._purse = self.allowance()
        else:
            self._purse += float(self.control.settings["probes_per_row"]) * rows
        taken = self.promises.take(self._purse)
        if taken is not None:
            self._purse -= float(taken.cost.sum())
            yield from self._probe(taken)
        if not self.left:
            self._purse = 0.0
        limit = int(self.control.settings["memory_limit"])
        while self.left and self._waiting_bytes(end) > limit:
            for number, many in zip(*(a.tolist() for a in self.promises.let_go_of_oldest("round")), strict=True):
                self._done(number, many)
            self._let_go(end)

    def _entries(self, port: int, run: Run) -> Iterator[_Entries]:
        """Where new rows can look for partners, and what that promises.

        A lookup is of all of a slot's rows with one key, but of a single row where a fair sample is wanted: of each value a part.
        """
        own, config = self._rows[port], self._promising
        first = own.came
        run, begins = own.add(run)
        zones = self._zones(1 - port, run)
        if not zones.first.size:
            return
        reached = self._reached_of(port, run, zones)
        theirs, mine = config.promises[1 - port], config.own[port]
        values = rows_at(run.frame, begins) if begins.size < run.rows else run.frame
        which = np.repeat(np.arange(begins.size), np.diff(begins, append=run.rows))
        preference = config.preference
        if preference is not None and preference.order != "weighted":  # all rows of a key together
            near = np.add.reduceat(reached > 0, begins, axis=1, dtype=np.float64)
            share = np.add.reduceat(reached, begins, axis=1)
            at, many, which = begins, np.diff(begins, append=run.rows), np.arange(begins.size)
        else:
            near, share, at, many = (
                (reached > 0).astype(np.float64),
                reached,
                np.arange(run.rows),
                np.ones(run.rows, np.int64),
            )
        promise, counts, items = self._worth(port, values, zones, theirs, mine)
        zone, unit = np.nonzero(near)
        if not zone.size:
            return
        value = which[unit]
        size = zone.size
        columns = {
            "round": np.full(size, self._named * 2 + port),
            "first": (at + first)[unit],
            "many": many[unit],
            "low": zones.first[zone],
            "high": zones.end[zone],
        }
        groups = items[value]
        if theirs is None and mine is None:
            numbers = (columns["first"] - first).astype(np.uint64)
            groups = mixed(numbers + (zones.first[zone].astype(np.uint64) << np.uint64(32)) + np.uint64(port << 63))
        probes = near[zone, unit]
        sample = sampled(size, self._named)
        columns["$found"] = np.full(size, UNKNOWN)
        columns["$found"][sample] = self._would_find(port, {name: c[sample] for name, c in columns.items()})
        fade: Float64s = np.ones(size) if preference is None else np.power(preference.fade, zones.level[zone] - 1.0)
        found = counts[zone, value]
        yield _Entries(
            columns, probes, promise[zone, value], found, groups, found * share[zone, unit] * zones.share[zone], fade
        )
        self._rounds[port][self._named * 2 + port] = _Round(int(probes.sum()), first, int(zones.first[0]))
        self._named += 1

    def _would_find(self, port: int, lookups: dict[str, Int64s]) -> Int64s:
        """How many pairs lookups of a slot's rows will bring, as far as keys and times say."""
        own = self._rows[port].segments[-1]
        first, many, low, high = (lookups[name] for name in ("first", "many", "low", "high"))
        found = np.zeros(first.size, np.int64)
        for held in self._rows[1 - port].segments:
            for which, mine, theirs in looked_up(own, first, many, held, low, high):
                apart = held.run.times.take(theirs) - own.run.times.take(mine)
                apart = apart if port == 0 else -apart
                near = np.ones(which.size, np.bool_) if self._least is None else apart >= self._least
                if self._most is not None:
                    near &= apart <= self._most
                found += np.bincount(which[near], minlength=found.size)
        return found

    def _worth(
        self, port: int, values: pl.DataFrame, zones: _Zones, theirs: Promise | None, own: Promise | None
    ) -> tuple[Float64s, Float64s, Items]:
        """What looking up values in zones promises, how many rows it may find there, both of shape (zones, values); their hashes.

        The preference speaks of what is found: estimates are the other stream's. Where it says nothing of that stream, and of the
        rarest, they are those of all time, of the row's own stream too: a value frequent there makes no rare answer.
        """
        keepers = self._keepers()
        preference = self._promising.preference
        shape = (zones.first.size, values.height)
        promise, counts, items = np.ones(shape), np.ones(shape), np.zeros(values.height, np.uint64)
        rarest = preference is not None and preference.order == "asc"
        if own is not None and (theirs is None or rarest):
            asked = own.ask(values)
            items = asked.items[0]
            promise = promise * own.of_all(keepers[port], asked)[0]
        if theirs is not None:
            asked = theirs.ask(values)
            items = asked.items[0]
            found = theirs.by_zone(keepers[1 - port], asked, int(zones.low.min()))
            counts = _sums(found.counts, zones)
            promise = promise * (theirs.of_all(keepers[1 - port], asked)[0] if rarest else _sums(found.promise, zones))
        return promise, counts, items

    def _reached_of(self, port: int, run: Run, zones: _Zones) -> Float64s:
        """For each zone and row how much of the zone's time the row's partners may lie in, 0 to 1; shape (zones, rows)."""
        least, most = self._config.low, self._config.high
        if port == 1:
            least, most = (None if most is None else -most), (None if least is None else -least)
        low, high = zones.low[:, None], zones.high[:, None]
        begin = low if least is None else np.maximum(run.times + least, low)
        end = high if most is None else np.minimum(run.times + most, high)
        return np.broadcast_to(np.maximum(end - begin + 1, 0) / (high - low + 1), (zones.low.size, run.rows))

    def _zones(self, side: int, run: Run) -> _Zones:
        """Where rows may find partners among the rows that one side has had."""
        least, most = self._config.low, self._config.high
        if side == 0:
            least, most = (None if most is None else -most), (None if least is None else -least)
        low, high = MIN_TIME if least is None else run.low + least, MAX_TIME if most is None else run.high + most
        slots = self._rows[side].slots_within(low, high)
        numbers = np.array([(s.first, s.end, s.low, s.high) for s in slots], np.int64).reshape(-1, 4)
        first, end, lows, highs = numbers.T
        promise = self._promising.promises[side]
        if promise is None or not slots:
            one = np.ones(len(slots), np.int64)
            return _Zones(first, end, lows, highs, one, -one, -one, one.astype(np.float64))
        known = promise.zones(self._keepers()[side])
        many = known.starts.size
        place = np.maximum(np.searchsorted(known.starts, lows, "right") - 1, 0)
        begins = np.flatnonzero(np.concatenate([[True], place[1:] != place[:-1]]))
        ends = np.append(begins[1:], place.size) - 1
        first, end, place = first[begins], end[ends], place[begins]
        low_of, high_of = np.minimum.reduceat(lows, begins), np.maximum.reduceat(highs, begins)
        last = np.maximum(np.searchsorted(known.starts, high_of, "right") - 1, place)  # a zone may end within a slot
        held = np.concatenate([[0], np.cumsum(known.rows)])
        share = np.minimum(1.0, (end - first) / np.maximum(held[last + 1] - held[place], 1))
        return _Zones(first, end, low_of, high_of, known.levels[place], place - many, last - many, share)

    def _push(self, entries: list[_Entries], slot: int) -> None:
        if not entries:
            return
        promise, counts, groups, expected, probes, fade = (
            np.concatenate([getattr(e, name) for e in entries])
            for name in ("promise", "counts", "groups", "expected", "probes", "fade")
        )
        columns = {name: np.concatenate([e.columns[name] for e in entries]) for name in entries[0].columns}
        scores = scored(self._promising.preference, promise, counts, groups, slot) * fade
        self.promises.push(scores, expected, columns, probes)

    def _probe(self, taken: Taken) -> Iterator[Message]:
        """Look rows up in the zones they were to be looked up in: the pairs, as one batch."""
        frames: list[pl.DataFrame] = []
        rounds = taken.columns["round"]
        for port in (0, 1):
            some = taken.only(rounds % 2 == port)
            if not len(some):
                continue
            for own in self._rows[port].segments:
                here = some.only((some.columns["first"] >= own.first) & (some.columns["first"] < own.end))
                if len(here):
                    yield from self._look_up(port, own, here, frames)
        for number, many in _summed(rounds, taken.cost):
            self._done(number, many)
        self.promises.brought(sum(f.height for f in frames), self._met_so_far)
        if frames:
            yield Batch(together(frames))

    def _look_up(self, port: int, own: Segment, taken: Taken, frames: list[pl.DataFrame]) -> Iterator[Message]:
        """Look rows of a segment up; pairs go to `frames`."""
        first, many, low, high = (taken.columns[name] for name in ("first", "many", "low", "high"))
        new = NewRows(port, own.run, np.empty(0, np.bool_))
        for held in self._rows[1 - port].segments:
            for _, mine, theirs in looked_up(own, first, many, held, low, high):
                met = self._met(new, held.run, mine, theirs, frozenset())
                self._met_so_far += (met.candidates or (met.mine,))[0].size
                for message in self._pairs(new, held.run, met):
                    if isinstance(message, Batch):
                        frames.append(message.frame)
                    else:
                        yield message

    def _done(self, number: int, probes: int) -> None:
        """Probes of a round don't wait any more."""
        rounds = self._rounds[number % 2]
        rounds[number].left -= probes
        if not rounds[number].left:
            del rounds[number]

    # -- rows kept -----------------------------------------------------------------------------------------------------------

    def _needed(self, side: int, both: int) -> int:
        """Number of the first row of a side that rows to come may look for."""
        wait = self._waits[side]
        # not by the other stream's own punctuation: its rows wait for slots that this one has not passed
        before = both if both in (MIN_TIME, MAX_TIME) else MIN_TIME if wait is None else both - wait
        return self._rows[side].since(before)

    def _let_go(self, both: int) -> None:
        """Let go of rows that none look for, neither those to come nor those that wait."""
        for side in (0, 1):
            needed = self._needed(side, both)
            # rounds are in order: none looks for older rows than those before
            for port, rounds in enumerate(self._rounds):
                oldest = next(iter(rounds.values()), None)
                if oldest is not None:
                    needed = min(needed, oldest.own if port == side else oldest.other)
            self._rows[side].forget(needed)

    def _waiting_bytes(self, both: int) -> int:
        """Bytes of what waits: the lookups, and the rows that are kept for them alone."""
        found = float(self.promises.bytes)
        for side, rows in enumerate(self._rows):
            if rows.rows:
                found += rows.bytes * (self._needed(side, both) - rows.first) / rows.rows
        return int(found)

    def _report(self) -> None:
        for table, rows in zip(self.synopses, self._rows, strict=True):
            table.holds(rows.bytes)
            table.extra["rows"] = rows.rows
        self.control.holds(sum(t.bytes for t in self.synopses) + self.promises.bytes)
        self.control.extra["probes"] = self.promises.probes
        self.control.extra["probes_left"] = self.promises.left

    def head(self, most: int) -> pl.DataFrame:
        """The first rows kept of each side, half each, with the side they are of."""
        return head_of([[segment.run for segment in rows.segments] for rows in self._rows], most)

    def check(self) -> None:
        """Raise AssertionError where an invariant is broken."""
        assert self.promises.left == sum(r.left for rounds in self._rounds for r in rounds.values())
        for rows in self._rows:
            rows.check()


def _sums(by_zone: Float64s, zones: _Zones) -> Float64s:
    """What is known of the summary's zones, for each of the stretches."""
    found = by_zone[zones.place]
    for more in np.flatnonzero(zones.last > zones.place).tolist():
        end = int(zones.last[more]) + 1
        found[more] = by_zone[int(zones.place[more]) : end if end else None].sum(axis=0)
    return found


def _summed(numbers: Int64s, probes: Float64s) -> Iterator[tuple[int, int]]:
    """How many probes were made of each round."""
    distinct, which = np.unique(numbers, return_inverse=True)
    yield from zip(distinct.tolist(), np.bincount(which, probes).astype(np.int64).tolist(), strict=True)


__all__ = ["PromisingJoin", "PromisingJoinConfig"]
