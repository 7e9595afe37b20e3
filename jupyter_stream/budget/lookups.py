"""Where new rows of one side of a join can look for partners, and what that promises (promising-tuples paper §4.1.2).

A lookup is of all of a slot's rows with one key, in one time zone of the other stream. Not for which of them are made, and when.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl

from jupyter_stream.arrays.rows import rows_at
from jupyter_stream.arrays.runs import run_starts
from jupyter_stream.budget.probed_rows import ProbedRows, looked_up
from jupyter_stream.budget.promises import UNKNOWN, Promise, sampled, scored
from jupyter_stream.budget.time_slots import SummaryKeeper
from jupyter_stream.core.axis import between, plus
from jupyter_stream.core.messages import Int64s
from jupyter_stream.core.time import MAX_TIME, MIN_TIME
from jupyter_stream.joins.runs import Run
from jupyter_stream.plan.preference import Preference
from jupyter_stream.summaries.hashing import mixed
from jupyter_stream.summaries.protocol import Float64s, Items


@dataclass(frozen=True, slots=True)
class RowZones:
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
class Entries:
    """Lookups before they are put in order: arrays of one shape (entries,).

    Attributes:
        columns: `first` of the rows that look, and how `many`; `low` and `high`, one after the last, of those they look
            through; `$found`, how many pairs that brings, of a few, `UNKNOWN` of the others.
        probes: rows that look, in how much they may find.
        promise: what the preference says.
        counts: how many rows of the value the zone has, about.
        groups: the values' hashes.
        expected: how many pairs it may bring.
        fade: of the zone's granularity.
        own: number of the first of all rows that look.
        other: number of the first row that they look through.
    """

    columns: dict[str, Int64s]
    probes: Float64s
    promise: Float64s
    counts: Float64s
    groups: Items
    expected: Float64s
    fade: Float64s
    own: int
    other: int

    def scores(self, preference: Preference | None, round_: int) -> Float64s:
        """The highest are made first."""
        return scored(preference, self.promise, self.counts, self.groups, round_) * self.fade


class Lookups:
    """Finds them.

    Args:
        preference: what comes first; None for a uniform sample.
        low: least right time minus left time, None for no bound.
        high: the greatest.
        near: the same two where rows may come together that are further apart, None where none do.
        promises: by the side looked into, what its summaries say of the values of rows of the other side; None without.
        own: by side, what its summaries say of the values of its own rows; None without.
        rows: of both sides.
        keepers: of both streams' summaries.
    """

    def __init__(
        self,
        preference: Preference | None,
        low: int | None,
        high: int | None,
        near: tuple[int | None, int | None],
        promises: tuple[Promise | None, Promise | None],
        own: tuple[Promise | None, Promise | None],
        rows: tuple[ProbedRows, ProbedRows],
        keepers: Callable[[], tuple[SummaryKeeper, SummaryKeeper]],
    ) -> None:
        self._preference = preference
        self._bounds = (
            (low, high),
            (_negative(high), _negative(low)),
        )  # partner's time minus own, by the side that looks
        self._near = near
        self._promises = promises
        self._own = own
        self._rows = rows
        self._keepers = keepers

    def of(self, port: int, run: Run, width: int, seed: int) -> Entries | None:
        """Lookups of new rows, which are kept from now on; None where they have nothing to look for.

        A lookup is of all of a slot's rows with one key, but of a single row where a fair sample is wanted: of each value a part.

        Args:
            port: their side.
            run: themselves, of one slot or several.
            width: of a slot, microseconds.
            seed: by which a few of the lookups are made beforehand, to tell what the others bring.
        """
        own = self._rows[port]
        first = own.came
        run, begins = own.add(run, width)
        zones = self._zones(port, run)
        if not zones.first.size:
            return None
        reached = self._reached_of(port, run, zones)
        theirs, mine = self._promises[1 - port], self._own[port]
        values = rows_at(run.frame, begins) if begins.size < run.rows else run.frame
        sizes = np.diff(begins, append=run.rows)
        which = np.repeat(np.arange(begins.size), sizes)
        preference = self._preference
        if preference is not None and preference.order != "weighted":  # all rows of a key together
            near = np.add.reduceat(reached > 0, begins, axis=1, dtype=np.float64)
            share = np.add.reduceat(reached, begins, axis=1)
            at, many, which = begins, sizes, np.arange(begins.size)
        else:
            near, share = (reached > 0).astype(np.float64), reached
            at, many = np.arange(run.rows), np.ones(run.rows, np.int64)
        promise, counts, items = self._worth(port, values, zones, theirs, mine)
        zone, unit = np.nonzero(near)
        if not zone.size:
            return None
        value = which[unit]
        size = zone.size
        columns = {
            "first": (at + first)[unit],
            "many": many[unit],
            "low": zones.first[zone],
            "high": zones.end[zone],
        }
        groups = items[value]
        if theirs is None and mine is None:
            numbers = (columns["first"] - first).astype(np.uint64)
            groups = mixed(numbers + (zones.first[zone].astype(np.uint64) << np.uint64(32)) + np.uint64(port << 63))
        sample = sampled(size, seed)
        columns["$found"] = np.full(size, UNKNOWN)
        columns["$found"][sample] = self._would_find(port, {name: c[sample] for name, c in columns.items()})
        fade: Float64s = np.ones(size) if preference is None else np.power(preference.fade, zones.level[zone] - 1.0)
        found = counts[zone, value]
        expected = found * share[zone, unit] * zones.share[zone]
        probes, promised = near[zone, unit], promise[zone, value]
        if preference is not None and preference.order == "desc":  # of a zone partly out of reach a probe finds a part
            promised = promised * (share[zone, unit] / probes * zones.share[zone])
        return Entries(columns, probes, promised, found, groups, expected, fade, first, int(zones.first[0]))

    def _would_find(self, port: int, lookups: dict[str, Int64s]) -> Int64s:
        """How many pairs lookups of the newest rows will bring, as far as keys and times say."""
        own = self._rows[port].segments[-1]
        first, many, low, high = (lookups[name] for name in ("first", "many", "low", "high"))
        found = np.zeros(first.size, np.int64)
        least, most = self._near
        for held in self._rows[1 - port].segments:
            for which, mine, theirs in looked_up(own, first, many, held, low, high):
                apart = between(held.run.times.take(theirs), own.run.times.take(mine))
                apart = apart if port == 0 else -apart
                near = np.ones(which.size, np.bool_) if least is None else apart >= least
                if most is not None:
                    near &= apart <= most
                found += np.bincount(which[near], minlength=found.size)
        return found

    def _worth(
        self, port: int, values: pl.DataFrame, zones: RowZones, theirs: Promise | None, own: Promise | None
    ) -> tuple[Float64s, Float64s, Items]:
        """What looking up values in zones promises, how many rows it may find there, both of shape (zones, values); their hashes.

        The preference speaks of what is found: estimates are the other stream's. Where it says nothing of that stream, and of the
        rarest, they are those of all time, of the row's own stream too: a value frequent there makes no rare answer.
        """
        keepers = self._keepers()
        shape = (zones.first.size, values.height)
        promise, counts, items = np.ones(shape), np.ones(shape), np.zeros(values.height, np.uint64)
        rarest = self._preference is not None and self._preference.order == "asc"
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

    def _reached_of(self, port: int, run: Run, zones: RowZones) -> Float64s:
        """For each zone and row how much of the zone's time the row's partners may lie in, 0 to 1; shape (zones, rows)."""
        least, most = self._bounds[port]
        low, high = zones.low[:, None], zones.high[:, None]
        begin = low if least is None else np.maximum(plus(run.times, least), low)
        end = high if most is None else np.minimum(plus(run.times, most), high)
        return np.broadcast_to(np.maximum(end - begin + 1, 0) / (high - low + 1), (zones.low.size, run.rows))

    def _zones(self, port: int, run: Run) -> RowZones:
        """Where rows may find partners among the rows that the other side has had."""
        least, most = self._bounds[port]
        side = 1 - port
        low, high = (
            MIN_TIME if least is None else plus(run.low, least),
            MAX_TIME if most is None else plus(run.high, most),
        )
        slots = self._rows[side].slots_within(low, high)
        numbers = np.array([(s.first, s.end, s.low, s.high) for s in slots], np.int64).reshape(-1, 4)
        first, end, lows, highs = numbers.T
        promise = self._promises[side]
        if promise is None or not slots:
            one = np.ones(len(slots), np.int64)
            return RowZones(first, end, lows, highs, one, -one, -one, one.astype(np.float64))
        known = promise.zones(self._keepers()[side])
        many = known.starts.size
        place = np.maximum(np.searchsorted(known.starts, lows, "right") - 1, 0)
        begins = run_starts(place)
        ends = np.append(begins[1:], place.size) - 1
        first, end, place = first[begins], end[ends], place[begins]
        low_of, high_of = np.minimum.reduceat(lows, begins), np.maximum.reduceat(highs, begins)
        last = np.maximum(np.searchsorted(known.starts, high_of, "right") - 1, place)  # a zone may end within a slot
        held = np.concatenate([[0], np.cumsum(known.rows)])
        share = np.minimum(1.0, (end - first) / np.maximum(held[last + 1] - held[place], 1))
        return RowZones(first, end, low_of, high_of, known.levels[place], place - many, last - many, share)


def together(entries: list[Entries]) -> Entries:
    """At least one, as one."""
    if len(entries) == 1:
        return entries[0]
    arrays = {
        name: np.concatenate([getattr(e, name) for e in entries])
        for name in ("probes", "promise", "counts", "groups", "expected", "fade")
    }
    columns = {name: np.concatenate([e.columns[name] for e in entries]) for name in entries[0].columns}
    return Entries(columns, **arrays, own=entries[0].own, other=entries[0].other)


def _negative(bound: int | None) -> int | None:
    return None if bound is None else -bound


def _sums(by_zone: Float64s, zones: RowZones) -> Float64s:
    """What is known of the summary's zones, for each of the stretches."""
    found = by_zone[zones.place]
    for more in np.flatnonzero(zones.last > zones.place).tolist():
        end = int(zones.last[more]) + 1
        found[more] = by_zone[int(zones.place[more]) : end if end else None].sum(axis=0)
    return found


__all__ = ["Entries", "Lookups", "RowZones", "together"]
