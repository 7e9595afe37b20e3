"""Which zones there are: they tile the time axis, fine where new, coarse where old (promising-tuples paper §3.3, §3.5).

G1 covers the newest stretch; its zones end where the stream's behaviour changes, or after a while. What gets too old for a
granularity collapses into the next one, `rate` times as long, whose zones are as long as this granularity. Nothing here knows
rows' values.
"""

from __future__ import annotations

from bisect import bisect_right

from jupyter_stream.core.axis import plus
from jupyter_stream.core.time import MAX_TIME, MIN_TIME
from jupyter_stream.summaries.spec import ATOMS, LONGEST, MOST_FINE, SummarySpec
from jupyter_stream.summaries.zone import Zone


class Granularities:
    """Zones by time. Each reaches to the start of the next one, the first one back and the last one ahead for ever.

    Args:
        spec: what the statement says.
    """

    def __init__(self, spec: SummarySpec) -> None:
        self.spec = spec
        self.zones: list[Zone] = []
        self.clock = MIN_TIME
        self.kept_from = MIN_TIME
        """Start of the oldest zone once one was freed: rows before it have nowhere to go."""
        self.atom = spec.granularity // ATOMS
        self._numbers = 0

    def end_newest(self, at: int) -> None:
        """End the newest zone there, or after its last row where that is later, and begin another one."""
        self.begin(max(at, -(-(self.zones[-1].high + 1) // self.atom) * self.atom))

    def begin(self, at: int) -> None:
        """Begin a zone of G1, later than all others."""
        sketch = self.spec.kind.empty(self.spec.buckets, len(self.spec.measured))
        self.zones.append(Zone(self._numbers, at, sketch))
        self._numbers += 1
        while len(self.level(1)) > MOST_FINE:
            self._age(1)

    def place(self, ts: int) -> int:
        """Which of the zones a time lies in."""
        return max(0, bisect_right(self.zones, ts, key=lambda z: z.start) - 1)

    def end(self, place: int) -> int:
        """Where the zone of that place ends (exclusive)."""
        return self.zones[place + 1].start if place + 1 < len(self.zones) else MAX_TIME

    def longest(self, zone: Zone) -> int:
        """Where a zone of G1 ends at the latest: after `LONGEST` atoms, and where the next zone of G2 begins."""
        length = self.spec.granularity
        return min(zone.start // self.atom * self.atom + LONGEST * self.atom, (zone.start // length + 1) * length)

    def level(self, level: int) -> list[Zone]:
        """The zones of a granularity, oldest first."""
        return [z for z in self.zones if z.level == level]

    def advance(self, clock: int, keep_from: int | None) -> None:
        """Collapse what got too old for its granularity; free what lies before `keep_from` and before all granularities."""
        self.clock = max(self.clock, clock)
        if keep_from is None:
            keep_from = plus(self.clock, -self.spec.span(self.spec.depth))
        while len(self.zones) > 1 and self.zones[1].start <= keep_from:
            del self.zones[0]
            self.kept_from = self.zones[0].start
        for level in range(1, self.spec.depth):
            while (oldest := self._oldest(level)) is not None and self.end(oldest) <= self.clock - self.spec.span(
                level
            ):
                self._age(level)

    def _oldest(self, level: int) -> int | None:
        return next((i for i, z in enumerate(self.zones) if z.level == level), None)

    def _age(self, level: int) -> None:
        """Move the oldest zone of a granularity into the next one: into the zone there that it belongs to, or as a new one."""
        place = self._oldest(level)
        assert place is not None
        zone = self.zones[place]
        if level < self.spec.depth:
            zone.level = level + 1
            length = self.spec.length(level)
            before = self.zones[place - 1] if place else None
            if before is not None and before.level == level + 1 and before.start // length == zone.start // length:
                self._collapse(place)
            most = self.spec.rate + 2
            while len(self.level(level + 1)) > most:
                self._age(level + 1)
        else:
            self._collapse(place + 1)

    def _collapse(self, place: int) -> None:
        """Let the zone before take over the zone of that place."""
        zone = self.zones.pop(place)
        self.zones[place - 1].take_over(zone)

    def check(self) -> None:
        """Raise AssertionError where an invariant is broken."""
        starts = [z.start for z in self.zones]
        assert starts == sorted(set(starts))
        levels = [z.level for z in self.zones]
        assert levels == sorted(levels, reverse=True)
        assert len(self.zones) <= self.spec.zones
