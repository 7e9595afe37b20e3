"""Windows over time whose instants are multiples of SLIDE: sliding, tumbling and landmark.

Extents as in window-queries thesis §5.2 (Eq. 5.1-5.3 and 5.7-5.9), with the convention of our language: the extent
ending at e, a multiple of the slide from the origin, holds e - range <= ts < e; a landmark's holds ts < e.
"""

from __future__ import annotations

from dataclasses import dataclass

from jupyter_stream.core.messages import Int64s
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
        earlier: how much before that extents are said to start, None for at no time: rows of a join that has been looked
            at are in one extent each, and joined of rows of longer ones.
    """

    range: int | None
    slide: int
    origin: int = 0
    on: str | None = None
    starts: bool = False
    earlier: int | None = 0

    @property
    def length(self) -> int | None:
        """From `window_start` to `window_end`, microseconds; None for a landmark, which has no start."""
        return None if self.range is None or self.earlier is None else self.range + self.earlier

    @property
    def phase(self) -> int:
        """Ends of extents are `phase + k * slide`, 0 <= phase < slide."""
        shift = self.range if self.starts and self.range is not None else 0
        return (self.origin + shift) % self.slide

    @property
    def panes_per_slide(self) -> int:
        """1 where extents are whole slides long, else 2: one pane up to where extents start, one from there.

        The thesis cuts panes of length gcd(range, slide) (§6.2.1), of which there can be thousands; two unequal ones per
        slide have the same boundaries that matter.
        """
        return 1 if self.range is None or self.range % self.slide == 0 else 2

    @property
    def slides(self) -> int:
        """How many slides an extent reaches into, its range over its slide rounded up; 0 for a landmark."""
        return 0 if self.range is None else -(-self.range // self.slide)

    def pane(self, ts: Int64s) -> Int64s:
        """The number of the pane each time is in; panes of extent k are `first_pane(k) <= pane < panes_per_slide * k`."""
        offset = ts - self.phase if self.phase else ts
        whole = offset // self.slide
        if self.panes_per_slide == 1:
            return whole
        assert self.range is not None
        second = (offset - whole * self.slide) >= (-self.range) % self.slide
        return 2 * whole + second

    def pane_start(self, pane: int) -> int:
        """The first microsecond of a pane."""
        if self.panes_per_slide == 1:
            return self.phase + pane * self.slide
        assert self.range is not None
        return self.phase + pane // 2 * self.slide + (pane % 2) * ((-self.range) % self.slide)

    def pane_of(self, ts: int) -> int:
        """The pane of one time."""
        whole, rest = divmod(ts - self.phase, self.slide)
        if self.panes_per_slide == 1:
            return whole
        assert self.range is not None
        return 2 * whole + (rest >= (-self.range) % self.slide)

    def end(self, k: int) -> int:
        """Where extent k ends, microseconds."""
        return self.phase + k * self.slide

    def closed(self, punctuation: int) -> int:
        """The last extent that is final at a punctuation: its end is not beyond it."""
        return (punctuation - self.phase) // self.slide

    def closed_each(self, punctuations: Int64s) -> Int64s:
        """The same for each of many punctuations."""
        return (punctuations - self.phase) // self.slide

    def first_pane(self, k: int) -> int | None:
        """The first pane of extent k, None for a landmark."""
        if self.range is None:
            return None
        if self.panes_per_slide == 1:
            return k - self.slides
        return 2 * (k - self.slides) + 1

    def first_extent(self, pane: int) -> int:
        """The first extent that holds the pane (if any does: see `last_extent`)."""
        return pane // self.panes_per_slide + 1

    def last_extent(self, pane: int) -> int | None:
        """The last extent that holds the pane, None for a landmark; less than `first_extent` if none does."""
        if self.range is None:
            return None
        if self.panes_per_slide == 1:
            return pane + self.slides
        return (pane - 1) // 2 + self.slides

    def __str__(self) -> str:
        head = "RANGE ALL" if self.length is None else f"RANGE {show_duration(self.length).upper()}"
        tail = " TUMBLING" if self.length == self.slide else f" SLIDE {show_duration(self.slide).upper()}"
        on = f" ON {self.on}" if self.on else ""
        origin = f" ORIGIN '{show(self.origin)}'" if self.origin else ""
        return f"[{head}{tail}{on}{origin}]"
