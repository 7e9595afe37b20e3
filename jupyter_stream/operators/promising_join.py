"""Joins with a budget (promising-tuples paper §4.1.2): the symmetric hash join, its probes in the order of what they promise.

A probe looks one row up in one time zone of the other stream. Each slot's rows bring theirs, the most promising of all that wait
are made, and what is left waits for idle time: every pair comes from one probe, so none comes twice, all in the end.
Time is the ordinary join's: which rows meet, what is late, when rows are let go.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import polars as pl

from jupyter_stream.core.coverage import Coverage
from jupyter_stream.core.messages import Batch, Int64s, Message, Punctuation, Rest
from jupyter_stream.core.rows import together
from jupyter_stream.core.time import MAX_TIME, MIN_TIME
from jupyter_stream.operators.promises import MEMORY, REST_PROBES, Promise, Promises, scored
from jupyter_stream.operators.slots import Keeper
from jupyter_stream.operators.window_join import NewRows, WindowJoin, WindowJoinConfig
from jupyter_stream.plan.preference import Preference
from jupyter_stream.state.join_keys import Bools
from jupyter_stream.state.runs import Run
from jupyter_stream.summaries.hashing import mixed
from jupyter_stream.summaries.priorities import Taken
from jupyter_stream.summaries.protocol import Float64s, Items

_MERGED: Final = 2
"""Neighbouring runs of one collapsed zone are merged unless the older one is so many times larger."""


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


_Asked: TypeAlias = tuple[Promise, pl.DataFrame, list[Items], Int64s]
"""Who is asked, the distinct values asked about, their hashes by summary, and which of them each row has."""


@dataclass(eq=False)
class _Region:
    """Rows of one slot that look into one zone of the other stream, as it was then."""

    new: NewRows
    runs: tuple[Run, ...]
    left: int
    bytes: int
    """Its part of what its rows take, those of all regions they look into together."""


@dataclass(frozen=True, slots=True)
class _Entries:
    """Probes of one slot's rows into one zone, before they are put in order."""

    region: _Region
    zone: int
    level: int
    rows: Int64s
    promise: Float64s
    counts: Float64s
    groups: Items
    expected: Float64s


class PromisingJoin(WindowJoin):
    """Pairs of rows that meet, those first that the preference asks for."""

    def __init__(self, config: PromisingJoinConfig, keepers: Callable[[], tuple[Keeper, Keeper]]) -> None:
        super().__init__(config.join)
        kind = "a uniform sample" if config.preference is None else str(config.preference)
        self.control.name = f"promising join, {kind}"
        self.control.settings |= {"probes_per_row": 0.0, "rest_probes": REST_PROBES, "memory_limit": MEMORY}
        self._promising = config
        self._keepers = keepers
        self._slots: tuple[deque[NewRows], deque[NewRows]] = (deque(), deque())
        self._held: tuple[list[Run], list[Run]] = ([], [])
        self._regions: dict[int, _Region] = {}
        self._named = 0
        self._bytes = 0  # of the rows that look into regions
        self._purse = 0.0
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
        for side, wait in enumerate(self._waits):
            # not by the other stream's own punctuation: its rows wait for slots that this one has not passed
            before = both if both in (MIN_TIME, MAX_TIME) else MIN_TIME if wait is None else both - wait
            self._held[side][:] = [run for run in self._held[side] if run.high >= before]
        if both == MAX_TIME:
            while self.left:
                yield from self.take_up(int(self.control.settings["rest_probes"]))
                yield Rest()
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
                rows += new.run.times.size
                entries += self._entries(new)
                self._held[port].append(new.run)
        self._push(entries, slot)
        self._purse += float(self.control.settings["probes_per_row"]) * rows
        taken = self.promises.take(self._purse)
        if taken is not None:
            self._purse -= len(taken)
            yield from self._probe(taken)
        if not self.left:
            self._purse = 0.0
        while self.left and self.promises.bytes + self._bytes > int(self.control.settings["memory_limit"]):
            for number, many in zip(*(a.tolist() for a in self.promises.let_go_of_oldest("region")), strict=True):
                self._done(number, many)
        self._merge()

    def _entries(self, new: NewRows) -> Iterator[_Entries]:
        """Where new rows can look for partners, and what that promises."""
        look = self._promising.promises[1 - new.port], self._promising.own[new.port]
        asked = [None if promise is None else (promise, *promise.ask(new.run.frame)) for promise in look]
        zones = list(self._zones(1 - new.port))
        each = int(new.run.frame.estimated_size()) // max(1, len(zones))
        for number, level, held, runs in zones:
            low, high = min(r.low for r in runs), max(r.high for r in runs)
            reached = self._reached_of(new, low, high)
            near = np.flatnonzero(reached > 0)
            if near.size:
                promise, counts, groups = self._worth(new, near, number, low, high, asked)
                # of the rows the summary has there, those that are looked through, and in time
                expected = counts * reached[near] * min(1.0, sum(r.rows for r in runs) / max(1, held))
                region = _Region(new, tuple(runs), near.size, each)
                yield _Entries(region, number, level, near, promise, counts, groups, expected)

    def _worth(
        self, new: NewRows, near: Int64s, zone: int, low: int, high: int, asked: Sequence[_Asked | None]
    ) -> tuple[Float64s, Float64s, Items]:
        """What looking up new rows in a zone promises, how many pairs it may bring, and whose time it takes.

        The preference speaks of what is found: estimates are the other stream's. Where it says nothing of that stream, and of the
        rarest, they are those of all time, of the row's own stream too: a value frequent there makes no rare answer.
        """
        keepers = self._keepers()
        theirs, own = asked
        if theirs is None and own is None:
            which = near.astype(np.uint64) + (np.uint64(zone % (1 << 20)) << np.uint64(32)) + np.uint64(new.port << 60)
            return np.ones(near.size), np.ones(near.size), mixed(which)
        promise, counts, groups = np.ones(near.size), np.ones(near.size), np.zeros(near.size, np.uint64)
        preference = self._promising.preference
        rarest = preference is not None and preference.order == "asc"
        for side, part in ((new.port, own), (1 - new.port, theirs)):
            if part is None or (side == new.port and theirs is not None and not rarest):
                continue
            ask, distinct, items, which_value = part
            of_all = rarest or side == new.port
            bounds = (MIN_TIME, MAX_TIME) if of_all else (low, high + 1)
            found, there = ask.of_zone(keepers[side], *bounds, distinct, items)
            values = which_value[near]
            promise = promise * found[values]
            counts, groups = there[values], items[0][values]
        return promise, counts, groups

    def _reached_of(self, new: NewRows, low: int, high: int) -> Float64s:
        """For each row how much of a stretch of the other stream's time its partners may lie in, 0 to 1."""
        least, most = self._config.low, self._config.high
        if new.port == 1:
            least, most = (None if most is None else -most), (None if least is None else -least)
        begin = np.full(new.run.times.size, low) if least is None else np.maximum(new.run.times + least, low)
        end = np.full(new.run.times.size, high) if most is None else np.minimum(new.run.times + most, high)
        reached: Float64s = np.maximum(end - begin + 1, 0) / (high - low + 1)
        return reached

    def _zones(self, side: int) -> Iterator[tuple[int, int, int, list[Run]]]:
        """The runs of one side by the zone they lie in: its number, its granularity, and how many rows it has had."""
        promise = self._promising.promises[side]
        views = [] if promise is None else promise.zones(self._keepers()[side])
        runs = self._held[side]
        if not views:
            yield from ((run.low // self._promising.width, 1, run.rows, [run]) for run in runs)
            return
        starts = [v.start for v in views]
        places = np.maximum(np.searchsorted(starts, [r.low for r in runs], "right") - 1, 0)
        for place in np.unique(places).tolist():
            view = views[place]
            rows = int(view.counts.sum())
            yield view.number, view.level, rows, [r for r, at in zip(runs, places, strict=True) if at == place]

    def _push(self, entries: list[_Entries], slot: int) -> None:
        if not entries:
            return
        promise, counts, groups, expected = (
            np.concatenate([getattr(e, name) for e in entries]) for name in ("promise", "counts", "groups", "expected")
        )
        scores = scored(self._promising.preference, promise, counts, groups, slot)
        at = 0
        for entry in entries:
            self._regions[self._named] = entry.region
            self._bytes += entry.region.bytes
            part = slice(at, at + entry.rows.size)
            numbers = np.full(entry.rows.size, self._named)
            self.promises.push(
                entry.zone, entry.level, scores[part], expected[part], {"region": numbers, "row": entry.rows}
            )
            self._named += 1
            at += entry.rows.size

    def _probe(self, taken: Taken) -> Iterator[Message]:
        """Look rows up in the zones they were to be looked up in: the pairs, as one batch."""
        regions, rows = taken.columns["region"], taken.columns["row"]
        order = np.argsort(regions, kind="stable")
        cuts = np.flatnonzero(np.diff(regions[order])) + 1
        frames: list[pl.DataFrame] = []
        for part in np.split(order, cuts):
            number = int(regions[part[0]])
            region = self._regions[number]
            wanted = np.zeros(region.new.run.times.size, np.bool_)
            wanted[rows[part]] = True
            new = _some(region.new, wanted)
            for message in self._meet(new, region.runs):
                if isinstance(message, Batch):
                    frames.append(message.frame)
                else:
                    yield message
            self._done(number, part.size)
        self.promises.brought(taken, sum(f.height for f in frames))
        if frames:
            yield Batch(together(frames))

    def _done(self, number: int, probes: int) -> None:
        """Probes of a region don't wait any more."""
        region = self._regions[number]
        region.left -= probes
        if not region.left:
            self._bytes -= region.bytes
            del self._regions[number]

    def _merge(self) -> None:
        """Make runs of one zone that has collapsed fewer: a look-up goes through all of them."""
        for side in (0, 1):
            held: list[Run] = []
            for _, level, _, runs in self._zones(side):
                for run in runs:
                    if level > 1 and held and held[-1].rows < _MERGED * run.rows and held[-1] in runs:
                        held[-1] = held[-1].append(run)
                        runs = [*runs, held[-1]]
                    else:
                        held.append(run)
            self._held[side][:] = held

    def _report(self) -> None:
        for table, held in zip(self.synopses, self._held, strict=True):
            table.holds(sum(run.bytes for run in held))
            table.extra["rows"] = sum(run.rows for run in held)
        self.control.holds(sum(t.bytes for t in self.synopses) + self.promises.bytes + self._bytes)
        self.control.extra["probes"] = self.promises.probes
        self.control.extra["probes_left"] = self.promises.left

    def check(self) -> None:
        """Raise AssertionError where an invariant is broken."""
        assert self.promises.left == sum(region.left for region in self._regions.values())
        for held in self._held:
            for run in held:
                run.check()


def _some(new: NewRows, wanted: Bools) -> NewRows:
    """Some of the rows, at least one."""
    run = new.run.only(wanted)
    assert run is not None
    return NewRows(new.port, run, new.matched[wanted])


__all__ = ["PromisingJoin", "PromisingJoinConfig"]
