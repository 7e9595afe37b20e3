"""The summary of a stream: where rows come in, and where queries ask for regions and estimates (promising-tuples paper §3).

Any number of queries share one: what a query has had so far, and the rows it may still look at, are its own business.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import gcd
from typing import Final

import numpy as np
import polars as pl

from jupyter_stream.arrays.order import order_of
from jupyter_stream.core.messages import TS, Int64s, ints
from jupyter_stream.summaries.granularities import Granularities
from jupyter_stream.summaries.hashing import bucket_of, items_of
from jupyter_stream.summaries.protocol import Float64s, Items, Measure
from jupyter_stream.summaries.pyramid import Pyramid
from jupyter_stream.summaries.spec import SummarySpec
from jupyter_stream.summaries.zone import Zone

_STEPS: Final = 16
"""Pieces a batch is cut into at most, to look for changes of behaviour between them, and"""
_PIECE: Final = 256
"""the fewest rows of one that say anything of it."""


@dataclass(frozen=True, slots=True)
class Zones:
    """Zones as a query sees them, oldest first: arrays of one shape (zones,).

    Attributes:
        numbers: their names, good until they are freed or have collapsed into another one.
        levels: their granularities, 1 for the newest.
        starts: microseconds. The oldest zone holds earlier rows, too; each ends where the next one starts.
        rows: how many rows each has had.
    """

    numbers: Int64s
    levels: Int64s
    starts: Int64s
    rows: Int64s


class StreamSummary:
    """Zones and cells of one stream.

    Args:
        spec: what the statement says.
    """

    def __init__(self, spec: SummarySpec) -> None:
        self.spec = spec
        self.came = 0
        """Rows that ever came."""
        self.gone = 0
        """Rows left out since they came after their zone was freed."""
        self._zones = Granularities(spec)
        self._pyramids = tuple(Pyramid() for _ in range(spec.depth))

    @property
    def bytes(self) -> int:
        """Bytes of the summaries, never above `spec.bytes`."""
        return sum(z.sketch.bytes for z in self._zones.zones) + sum(p.bytes for p in self._pyramids)

    def insert(self, frame: pl.DataFrame) -> None:
        """Take in a batch: its rows have `$ts` and the summary's columns, in any order of time."""
        ts = ints(frame.get_column(TS))
        items = items_of([frame.get_column(c) for c in self.spec.columns])
        self.came += ts.size
        rows = _BatchRows(items, self._values(frame))
        zones = self._zones
        if ts.size and int(ts.min()) < zones.kept_from:
            alive = np.flatnonzero(ts >= zones.kept_from)
            self.gone += ts.size - alive.size
            rows, ts = rows.at(alive), ts.take(alive)
        if not ts.size:
            return
        low, high = int(ts.min()), int(ts.max())
        if not zones.zones:
            zones.begin(max(low, high - self.spec.granularity) // zones.atom * zones.atom)
        # all zones begin at multiples of this: rows stand by it, so that those of a zone are a slice
        unit = gcd(zones.atom, self.spec.granularity)
        units = ts // unit
        if (units[1:] < units[:-1]).any():
            order = order_of(units)
            rows, units = rows.at(order), units.take(order)
        at = 0

        def take_before(zone: Zone, end: int) -> None:
            """Give a zone its rows."""
            nonlocal at
            stop = units.size if end > high else int(np.searchsorted(units, end // unit))
            if stop > at:
                self._take(zone, rows.part(at, stop), min(high, (int(units[stop - 1]) + 1) * unit - 1))
                at = stop

        for zone, end in [(z, zones.end(i)) for i, z in enumerate(zones.zones[:-1])][zones.place(low) :]:
            take_before(zone, end)
        if at < units.size:  # in the newest zone, piece by piece: where it has to end, the next one begins
            pieces = min(_STEPS, 1 + (units.size - at) // _PIECE)
            atom = zones.atom * max(1, -(-(high - int(units[at]) * unit + 1) // (zones.atom * pieces)))
        while at < units.size:
            least = int(units[at]) * unit
            if least // zones.atom * zones.atom >= zones.longest(zones.zones[-1]):
                zones.end_newest(least // zones.atom * zones.atom)
            place = zones.place(least)
            zone = zones.zones[place]
            newest = place == len(zones.zones) - 1
            step = (least // atom + 1) * atom
            end = (
                min(step, zones.longest(zone))
                if newest and least < zones.longest(zone)
                else min(step, zones.end(place))
            )
            take_before(zone, end)
            if newest and zone.drifts():
                zones.end_newest(end)

    def advance(self, clock: int, keep_from: int | None = None) -> None:
        """Time has come to `clock`: collapse what got too old for its granularity, free what no window reaches.

        Args:
            clock: microseconds, the punctuation of the stream.
            keep_from: rows from there on may still be asked for, whatever the granularities reach; what lies before and fills a
                zone is freed. Unless given: `clock` minus `spec.span(spec.depth)`.
        """
        before = [z.number for z in self._zones.zones]
        self._zones.advance(clock, keep_from)
        if before != [z.number for z in self._zones.zones]:
            for pyramid in self._pyramids:  # sums over zones that are no more
                pyramid.forget()

    # -- questions -------------------------------------------------------------------------------------------------------------

    def zones(self, low: int | None = None, high: int | None = None) -> Zones:
        """The zones that may hold rows with `low <= ts < high`, oldest first."""
        begin, end = self._places(low, high)
        zones = self._zones.zones[begin:end]
        numbers = np.array([(z.number, z.level, z.start, z.rows) for z in zones], np.int64).reshape(-1, 4)
        return Zones(*numbers.T)

    def _places(self, low: int | None, high: int | None) -> tuple[int, int]:
        """The first of the zones that may hold rows with `low <= ts < high`, and one after the last."""
        zones = self._zones
        if not zones.zones:
            return 0, 0
        return 0 if low is None else zones.place(low), len(zones.zones) if high is None else zones.place(high - 1) + 1

    def _levels(self, begin: int, end: int) -> Iterator[tuple[int, Pyramid, list[Zone], int, int]]:
        """Zones `begin` to `end` by granularity: how many come before, its pyramid, all its zones, from which to which it is."""
        at = 0
        for level in range(self.spec.depth, 0, -1):
            zones = self._zones.level(level)
            first, last = max(begin - at, 0), min(end - at, len(zones))
            if first < last:
                yield at + first - begin, self._pyramids[level - 1], zones, first, last
            at += len(zones)

    def cells(self) -> pl.DataFrame:
        """Every cell as a row: `granularity`, `zone_start`, `zone_end` (microseconds), `bucket`, `rows`; oldest zones first."""
        zones, buckets = self._zones.zones, self.spec.buckets
        ends = [z.start for z in zones[1:]] + [z.high + 1 for z in zones[-1:]]
        columns = {"granularity": [z.level for z in zones], "zone_start": [z.start for z in zones], "zone_end": ends}
        frame = {name: np.repeat(np.array(values, np.int64), buckets) for name, values in columns.items()}
        counts = np.concatenate([z.sketch.counts for z in zones]) if zones else np.zeros(0, np.int64)
        return pl.DataFrame({**frame, "bucket": np.tile(np.arange(buckets), len(zones)), "rows": counts})

    def counts(self, items: Items, low: int | None = None, high: int | None = None) -> Float64s:
        """Of each item in each of `zones(low, high)`, about how many rows; top-down, by the pyramids. Shape (zones, items)."""
        begin, end = self._places(low, high)
        counts = np.zeros((end - begin, items.size))
        places = self._where(items)
        for at, pyramid, of, first, last in self._levels(begin, end):
            counts[at : at + last - first] = pyramid.estimate(of, places, first, last)
        return counts

    def total(self, items: Items, low: int | None = None, high: int | None = None) -> Float64s:
        """Of each item, about how many rows in all zones that may hold rows with `low <= ts < high`; from the pyramids' tops."""
        places = self._where(items)
        counts: Float64s = np.zeros(items.size)
        for _, pyramid, of, first, last in self._levels(*self._places(low, high)):
            counts += pyramid.total(of, places, first, last)
        return counts

    def _where(self, items: Items) -> Int64s:
        cells = bucket_of(items, self.spec.buckets)
        zones = self._zones.zones
        return zones[0].sketch.places(cells, items) if zones else np.zeros((1, items.size), np.int64)

    def measured(self, zones: Int64s, items: Items, measure: Measure, column: int) -> Float64s:
        """Of each item in each of these zones, by their numbers, a measure of a measured column; shape (zones, items)."""
        cells = bucket_of(items, self.spec.buckets)
        found = [self._zone(z).sketch.estimate(cells, items, measure, column) for z in zones.tolist()]
        return np.stack(found) if found else np.zeros((0, items.size))

    def check(self) -> None:
        """Raise AssertionError where an invariant is broken."""
        self._zones.check()
        for level, pyramid in enumerate(self._pyramids, 1):
            pyramid.check(self._zones.level(level))
        assert self.bytes <= self.spec.bytes
        zones = self._zones
        assert sum(z.rows for z in zones.zones) <= self.came - self.gone
        assert all(int(z.sketch.counts.sum()) == z.rows for z in zones.zones)

    # -- rows to zones ---------------------------------------------------------------------------------------------------------

    def _zone(self, number: int) -> Zone:
        return next(z for z in self._zones.zones if z.number == number)

    def _values(self, frame: pl.DataFrame) -> Float64s:
        if not self.spec.measured:
            return np.zeros((0, frame.height))
        columns = [frame.get_column(c).cast(pl.Float64).to_numpy() for c in self.spec.measured]
        return np.stack([np.asarray(c, dtype=np.float64) for c in columns])

    def _take(self, zone: Zone, rows: _BatchRows, high: int) -> None:
        zone.sketch.summarize(bucket_of(rows.items, self.spec.buckets), rows.items, rows.values)
        zone.high = max(zone.high, high)
        zone.rows += rows.items.size
        zone.version += 1


@dataclass(frozen=True, slots=True)
class _BatchRows:
    """Rows of a batch on their way to their zones."""

    items: Items
    values: Float64s

    def part(self, begin: int, end: int) -> _BatchRows:
        """Those next to each other."""
        return _BatchRows(self.items[begin:end], self.values[:, begin:end])

    def at(self, places: Int64s) -> _BatchRows:
        values = self.values[:, places] if len(self.values) else np.zeros((0, places.size))
        return _BatchRows(self.items.take(places), values)
