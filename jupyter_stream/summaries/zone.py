"""A time zone: a stretch of the time axis, the sketch of its cells, and its rows."""

from __future__ import annotations

from typing import Final

from jupyter_stream.summaries.kept_rows import KeptRows
from jupyter_stream.summaries.protocol import Sketch

DRIFT: Final = 0.3
"""How far the chance that two rows are equal may move before the behaviour of the stream counts as another."""
ENOUGH: Final = 1_000
"""Rows before that chance says anything."""


class Zone:
    """A zone.

    Attributes:
        number: its own for ever; what collapses into another zone is known there by `Granularities.now`.
        start: microseconds; it holds rows from there to the start of the zone after it.
        level: its granularity, 1 for the newest.
        sketch: the summary of its cells.
        kept: its rows.
        high: the latest time of a row of it, microseconds.
        version: changes whenever the sketch does.
    """

    __slots__ = ("_chance", "high", "kept", "level", "number", "sketch", "start", "version")

    def __init__(self, number: int, start: int, sketch: Sketch) -> None:
        self.number = number
        self.start = start
        self.level = 1
        self.sketch = sketch
        self.kept = KeptRows()
        self.high = start
        self.version = 0
        self._chance: float | None = None

    def take_over(self, other: Zone) -> None:
        """COLLAPSE (paper §3.5): what another zone has taken in and kept is this one's from now on."""
        self.sketch.add(other.sketch)
        self.kept.take_over(other.kept)
        self.high = max(self.high, other.high)
        self.version += 1

    def drifts(self) -> bool:
        """Whether the stream behaves otherwise than when the zone began (paper §3.3), by the confidence of the sketch.

        The variance of an estimate, `share * F2`, gives the chance that two rows of the zone are equal; of a steady stream it
        stays, whatever the number of rows. Another skew moves it, and so do other frequent items.
        """
        rows = float(self.sketch.counts.sum())
        if self.sketch.share == 0 or rows < ENOUGH:
            return False
        chance = (float(self.sketch.confidence().sum()) / self.sketch.share - rows) / (rows * (rows - 1))
        if self._chance is None:
            self._chance = chance
            return False
        return abs(chance - self._chance) > DRIFT * max(self._chance, 1 / rows)
