"""A time zone: a stretch of the time axis and the sketch of its cells."""

from __future__ import annotations

from typing import Final

from jupyter_stream.summaries.protocol import Sketch

DRIFT: Final = 0.3
"""How far the chance that two rows are equal may move before the behaviour of the stream counts as another."""
ENOUGH: Final = 1_000
"""Rows before that chance says anything."""


class Zone:
    """A zone.

    Attributes:
        number: its own for ever.
        start: microseconds; it holds rows from there to the start of the zone after it.
        level: its granularity, 1 for the newest.
        sketch: the summary of its cells.
        rows: how many it has had.
        high: none of its rows is later, microseconds.
        version: changes whenever the sketch does.
    """

    __slots__ = ("_chance", "high", "level", "number", "rows", "sketch", "start", "version")

    def __init__(self, number: int, start: int, sketch: Sketch) -> None:
        self.number = number
        self.start = start
        self.level = 1
        self.rows = 0
        self.sketch = sketch
        self.high = start
        self.version = 0
        self._chance: float | None = None

    def take_over(self, other: Zone) -> None:
        """COLLAPSE (paper §3.5): what another zone has taken in is this one's from now on."""
        self.sketch.add(other.sketch)
        self.rows += other.rows
        self.high = max(self.high, other.high)
        self.version += 1

    def drifts(self) -> bool:
        """Whether the stream behaves otherwise than when the zone began (paper §3.3), by the confidence of the sketch.

        The variance of an estimate, `share * F2`, gives the chance that two rows of the zone are equal; of a steady stream it
        stays, whatever the number of rows. Another skew moves it, and so do other frequent items.
        """
        rows = float(self.rows)
        if self.sketch.share == 0 or rows < ENOUGH:
            return False
        chance = (float(self.sketch.confidence().sum()) / self.sketch.share - rows) / (rows * (rows - 1))
        if self._chance is None:
            self._chance = chance
            return False
        return abs(chance - self._chance) > DRIFT * max(self._chance, 1 / rows)
