"""The summary of a stream: where rows come in, and where queries ask for regions, estimates and rows (promising-tuples paper §3).

Any number of queries share one: what a query has had so far is its own business (`promising`), a summary only numbers its rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from jupyter_stream.core.messages import TS, Int64s, ints
from jupyter_stream.summaries.granularities import Granularities
from jupyter_stream.summaries.hashing import bucket_of, items_of, prefix_of
from jupyter_stream.summaries.kept_rows import Matches
from jupyter_stream.summaries.protocol import Float64s, Items, Measure
from jupyter_stream.summaries.pyramid import Pyramid
from jupyter_stream.summaries.spec import SummarySpec
from jupyter_stream.summaries.zone import Zone

_STEPS: Final = 16
"""Pieces a batch is cut into at most, to look for changes of behaviour between them."""


@dataclass(frozen=True, slots=True)
class ZoneView:
    """A zone as a query sees it.

    Attributes:
        number: its name, good until it is freed, even after it has collapsed into another one.
        level: its granularity, 1 for the newest.
        start: microseconds. The oldest zone holds earlier rows, too.
        end: exclusive; `MAX_TIME` for the newest one.
        counts: rows per value bucket, shape (buckets,).
    """

    number: int
    level: int
    start: int
    end: int
    counts: Int64s


@dataclass(frozen=True, slots=True)
class Arrival:
    """Rows of a batch that went to one zone.

    Attributes:
        zone: its number.
        counts: how many went to each value bucket, shape (buckets,).
        since: the arrival numbers of the whole batch begin there.
        until: and end there, exclusive.
        low: the earliest of these rows' times, microseconds.
        high: just after the latest. No other arrival of the batch has times between `low` and `high`.
    """

    zone: int
    counts: Int64s
    since: int
    until: int
    low: int
    high: int


class StreamSummary:
    """Zones, cells and rows of one stream.

    Args:
        spec: what the statement says.
        keep_rows: whether rows can be asked for, too, or estimates only.
    """

    def __init__(self, spec: SummarySpec, keep_rows: bool = True) -> None:
        self.spec = spec
        self.keeps_rows = keep_rows
        self.seq = 0
        """The arrival number of the next row; rows are numbered from 0 as they come."""
        self.gone = 0
        """Rows left out since they came after their zone was freed."""
        self._zones = Granularities(spec)
        self._pyramids = tuple(Pyramid() for _ in range(spec.depth))

    @property
    def bytes(self) -> int:
        """Bytes of the summaries, never above `spec.bytes`."""
        return sum(z.sketch.bytes for z in self._zones.zones) + sum(p.bytes for p in self._pyramids)

    @property
    def row_bytes(self) -> int:
        """Bytes of the rows kept, with what finds them."""
        return sum(z.kept.bytes for z in self._zones.zones)

    @property
    def rows(self) -> int:
        """Rows kept."""
        return sum(z.kept.rows for z in self._zones.zones)

    def insert(self, frame: pl.DataFrame, items: Items | None = None) -> tuple[Arrival, ...]:
        """Take in a batch: its rows have `$ts` and the summary's columns, in any order of time. Returns where they went.

        Args:
            frame: the rows; all of its columns are kept.
            items: `items_of` the summary's columns, where the caller has them already; shape (rows,).
        """
        ts = ints(frame.get_column(TS))
        if items is None:
            items = items_of([frame.get_column(c) for c in self.spec.columns])
        since = self.seq
        self.seq += ts.size
        rows = _Rows(np.arange(ts.size), ts, items, self._values(frame))
        if self.keeps_rows:
            rows = rows.at(np.argsort(prefix_of(items), kind="stable"))
        zones = self._zones
        if ts.size and int(ts.min()) < zones.kept_from:
            alive = np.flatnonzero(ts >= zones.kept_from)
            self.gone += ts.size - alive.size
            rows = rows.at(alive)
        if not rows.ts.size:
            return ()
        arrivals: list[Arrival] = []

        def take_before(zone: Zone, end: int) -> None:
            """Give a zone its rows."""
            nonlocal rows
            before = rows.ts < end
            if before.any():
                taken = rows if before.all() else rows.at(np.flatnonzero(before))
                arrivals.append(self._take(zone, frame, taken, since))
                rows = rows.at(np.flatnonzero(~before))

        low, high = int(rows.ts.min()), int(rows.ts.max())
        if not zones.zones:
            zones.begin(max(low, high - self.spec.granularity) // zones.atom * zones.atom)
        for zone, end in [(z, zones.end(i)) for i, z in enumerate(zones.zones[:-1])][zones.place(low) :]:
            take_before(zone, end)
        if rows.ts.size:  # in the newest zone, piece by piece: where it has to end, the next one begins
            low = int(rows.ts.min())
            atom = zones.atom * max(1, -(-(high - low + 1) // (zones.atom * _STEPS)))
        while rows.ts.size:
            at = int(rows.ts.min()) // atom * atom
            if at >= zones.longest(zones.zones[-1]):
                zones.end_newest(at)
            place = zones.place(int(rows.ts.min()))
            zone = zones.zones[place]
            take_before(zone, min(at + atom, zones.end(place)))
            if zone is zones.zones[-1] and zone.drifts():
                zones.end_newest(at + atom)
        return tuple(arrivals)

    def advance(self, clock: int, keep_from: int | None = None) -> None:
        """Time has come to `clock`: collapse what got too old for its granularity, free what no window reaches.

        Args:
            clock: microseconds, the punctuation of the stream.
            keep_from: rows from there on may still be asked for, whatever the granularities reach; what lies before and fills a
                zone is freed. Unless given: `clock` minus `spec.reach(spec.depth)`.
        """
        before = [z.number for z in self._zones.zones]
        self._zones.advance(clock, keep_from)
        if before != [z.number for z in self._zones.zones]:
            for pyramid in self._pyramids:  # sums over zones that are no more
                pyramid.forget()

    # -- questions -------------------------------------------------------------------------------------------------------------

    def zones(self, low: int | None = None, high: int | None = None) -> tuple[ZoneView, ...]:
        """The zones that may hold rows with `low <= ts < high`, oldest first."""
        found = []
        for place, zone in enumerate(self._zones.zones):
            end = self._zones.end(place)
            if (low is None or end > low) and (high is None or zone.start < high or place == 0):
                found.append(ZoneView(zone.number, zone.level, zone.start, end, zone.sketch.counts))
        return tuple(found)

    def cells(self) -> pl.DataFrame:
        """Every cell as a row: `granularity`, `zone_start`, `zone_end` (microseconds), `bucket`, `rows`; oldest zones first."""
        zones, buckets = self._zones.zones, self.spec.buckets
        ends = [z.start for z in zones[1:]] + [z.high + 1 for z in zones[-1:]]
        columns = {"granularity": [z.level for z in zones], "zone_start": [z.start for z in zones], "zone_end": ends}
        frame = {name: np.repeat(np.array(values, np.int64), buckets) for name, values in columns.items()}
        counts = np.concatenate([z.sketch.counts for z in zones]) if zones else np.zeros(0, np.int64)
        return pl.DataFrame({**frame, "bucket": np.tile(np.arange(buckets), len(zones)), "rows": counts})

    def estimate(self, zone: int, items: Items, measure: Measure = "count", column: int = 0) -> Float64s:
        """Of each item in a zone: about how many rows, or a measure of a measured column; shape (items,).

        Raises KeyError where the zone was freed.
        """
        return self._zone(zone).sketch.estimate(bucket_of(items, self.spec.buckets), items, measure, column)

    def estimates(
        self, items: Items, low: int | None = None, high: int | None = None
    ) -> tuple[Int64s, Int64s, Float64s]:
        """Of each item in each zone that may hold rows with `low <= ts < high`, about how many rows; top-down, by the pyramids.

        Returns:
            The zones' numbers, shape (zones,), their granularities, shape (zones,), and counts, shape (zones, items).
        """
        numbers, levels, found = [], [], []
        wanted = {view.number for view in self.zones(low, high)}
        for level in range(self.spec.depth, 0, -1):
            zones = [z for z in self._zones.level(level) if z.number in wanted]
            numbers += [z.number for z in zones]
            levels += [level] * len(zones)
            found.append(self._pyramids[level - 1].estimate(zones, items))
        return np.array(numbers, np.int64), np.array(levels, np.int64), np.concatenate(found)

    def typical(self, zone: int, buckets: Int64s) -> Float64s:
        """What `Count` is of a row in each of these cells of a zone, on average over its rows; shape of the buckets."""
        sketch = self._zone(zone).sketch
        counts = np.maximum(sketch.counts[buckets], 1).astype(np.float64)
        if not sketch.share:
            return counts
        return np.clip(sketch.confidence()[buckets] / sketch.share / counts, 1.0, counts)

    def cell(
        self, zone: int, bucket: int, since: int = 0, until: int | None = None, span: tuple[int, int] | None = None
    ) -> tuple[pl.DataFrame, Int64s]:
        """The rows of a cell and their arrival numbers.

        Args:
            zone: its number.
            bucket: the value bucket.
            since: arrival numbers from there.
            until: to there (exclusive), or to the newest.
            span: only rows with times `span[0] <= ts < span[1]`: those of the zone as it was before it collapsed or grew.
        """
        frame, seq = self._zone(zone).kept.cell(bucket, self.spec.buckets, since, until)
        if span is not None and seq.size:
            ts = ints(frame.get_column(TS))
            inside = (ts >= span[0]) & (ts < span[1])
            if not inside.all():
                places = np.flatnonzero(inside)
                frame, seq = frame[pl.Series(places)], seq[places]
        return frame, seq

    def match(self, zone: int, items: Items, until: int | None = None) -> Matches:
        """The rows of a zone whose item is one of these (repeated ones too), of arrival numbers below `until`.

        Equal hashes are nearly always equal values: compare the columns where it has to be exact.
        """
        return self._zone(zone).kept.match(items, until)

    def holds(self, zone: int) -> bool:
        """Whether what that zone held is still held."""
        return self._zones.now(zone) is not None

    def level_of(self, zone: int) -> int:
        """The granularity of a zone by now. Raises KeyError where it was freed."""
        return self._zone(zone).level

    def check(self) -> None:
        """Raise AssertionError where an invariant is broken."""
        self._zones.check()
        for level, pyramid in enumerate(self._pyramids, 1):
            pyramid.check(self._zones.level(level))
        assert self.bytes <= self.spec.bytes
        zones = self._zones
        for place, zone in enumerate(zones.zones):
            zone.kept.check()
            assert not self.keeps_rows or int(zone.sketch.counts.sum()) == zone.kept.rows
            for bucket in np.flatnonzero(zone.sketch.counts) if self.keeps_rows else ():
                frame, seq = zone.kept.cell(int(bucket), self.spec.buckets)
                assert seq.size == zone.sketch.counts[bucket]
                ts = ints(frame.get_column(TS))
                assert place == 0 or (ts >= zone.start).all()
                assert (ts < zones.end(place)).all()

    # -- rows to zones ---------------------------------------------------------------------------------------------------------

    def _zone(self, number: int) -> Zone:
        found = self._zones.now(number)
        for zone in self._zones.zones:
            if zone.number == found:
                return zone
        raise KeyError(number)

    def _values(self, frame: pl.DataFrame) -> Float64s:
        if not self.spec.measured:
            return np.zeros((0, frame.height))
        columns = [frame.get_column(c).cast(pl.Float64).to_numpy() for c in self.spec.measured]
        return np.stack([np.asarray(c, dtype=np.float64) for c in columns])

    def _take(self, zone: Zone, frame: pl.DataFrame, rows: _Rows, since: int) -> Arrival:
        cells = bucket_of(rows.items, self.spec.buckets)
        zone.sketch.summarize(cells, rows.items, rows.values)
        if self.keeps_rows:
            zone.kept.keep(frame, rows.place, rows.items, since + rows.place)
        low, high = int(rows.ts.min()), int(rows.ts.max())
        zone.high = max(zone.high, high)
        zone.version += 1
        return Arrival(zone.number, np.bincount(cells, minlength=self.spec.buckets), since, self.seq, low, high + 1)


@dataclass(frozen=True, slots=True)
class _Rows:
    """Rows of a batch on their way to their zones, in the order of their items' prefixes."""

    place: Int64s
    ts: Int64s
    items: Items
    values: Float64s

    def at(self, places: Int64s) -> _Rows:
        values = self.values[:, places] if len(self.values) else np.zeros((0, places.size))
        return _Rows(self.place.take(places), self.ts.take(places), self.items.take(places), values)
