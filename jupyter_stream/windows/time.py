"""Windows over time whose instants are multiples of SLIDE: sliding, tumbling and landmark.

Extents as in window-queries thesis §5.2 (Eq. 5.1-5.3 and 5.7-5.9), with the convention of our language: the extent
ending at e, a multiple of the slide from the origin, holds e - range <= ts < e; a landmark's holds ts < e.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

from jupyter_stream.core.time import show, show_duration


@dataclass(frozen=True, slots=True)
class TimeWindow:
    """`[RANGE d SLIDE s]`, `[RANGE d TUMBLING]`, `[RANGE ALL SLIDE s]`.

    Attributes:
        range: length of an extent in microseconds, None for a landmark (RANGE ALL).
        slide: distance between extents' ends, microseconds.
        origin: a time that is an extent's end; the others are multiples of the slide away from it.
        on: the windowing attribute, where it is not the stream's own.
        starts: True for the spellings of Flink and Spark (TUMBLE, HOP, window()), whose extents start, rather than end,
            at multiples of the slide. Only differs where the range is no multiple of the slide.
    """

    range: int | None
    slide: int
    origin: int = 0
    on: str | None = None
    starts: bool = False

    @property
    def phase(self) -> int:
        """Ends of extents are `phase + k * slide`, 0 <= phase < slide."""
        shift = self.range if self.starts and self.range is not None else 0
        return (self.origin + shift) % self.slide

    @property
    def pane(self) -> int:
        """Length of a pane: every extent is a whole number of panes (thesis §6.2, Paned-WID)."""
        return self.slide if self.range is None else gcd(self.range, self.slide)

    def __str__(self) -> str:
        head = "RANGE ALL" if self.range is None else f"RANGE {show_duration(self.range).upper()}"
        tail = " TUMBLING" if self.range == self.slide else f" SLIDE {show_duration(self.slide).upper()}"
        on = f" ON {self.on}" if self.on else ""
        origin = f" ORIGIN '{show(self.origin)}'" if self.origin else ""
        return f"[{head}{tail}{on}{origin}]"
