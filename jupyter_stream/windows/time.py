"""Windows over time whose instants are multiples of SLIDE: sliding, tumbling and landmark.

Extents as in window-queries thesis §5.2 (Eq. 5.1-5.3 and 5.7-5.9), with the convention of our language: the extent
ending at e, a multiple of the slide from the origin, holds e - range <= ts < e; a landmark's holds ts < e.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Final, Self

import numpy as np

from jupyter_stream.core.messages import WINDOW_END, WINDOW_START, Int64s
from jupyter_stream.core.time import MAX_TIME, MIN_TIME, show, show_duration
from jupyter_stream.functions.expression import Expr
from jupyter_stream.windows.on_spark import LANDMARK, ON_COLUMN, ON_EXPRESSION, SLIDING, STARTING, WindowOnSpark
from jupyter_stream.windows.protocol import Late, Schedule, Window

FAR: Final = 2**63 - 1
"""An extent beyond all others: a landmark's last one."""


@dataclass(frozen=True, slots=True)
class TimeWindow(Window):
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

    # what follows from these; worked out once, since windows are asked for it for every batch and every extent
    phase: int = field(init=False, repr=False, compare=False)
    """Ends of extents are `phase + k * slide`, 0 <= phase < slide."""
    panes_per_slide: int = field(init=False, repr=False, compare=False)
    """1 where extents are whole slides long, else 2: one pane up to where extents start, one from there.

    The thesis cuts panes of length gcd(range, slide) (§6.2.1), of which there can be thousands; two unequal ones per
    slide have the same boundaries that matter.
    """
    slides: int = field(init=False, repr=False, compare=False)
    """How many slides an extent reaches into, its range over its slide rounded up; 0 for a landmark."""
    _schedule: Schedule = field(init=False, repr=False, compare=False)

    spark_forms: ClassVar[tuple[WindowOnSpark, ...]] = (SLIDING, STARTING, ON_COLUMN, ON_EXPRESSION, LANDMARK)
    even: ClassVar[bool] = True
    """Whether all extents are of one length, so that one holds the rows of the last `range` before its end."""
    word: ClassVar[str | None] = None
    """What is written behind RANGE d SLIDE s for it; None for none."""

    def __post_init__(self) -> None:
        """Work out what follows from what is said."""
        shift = self.range if self.starts and self.range is not None else 0
        phase, whole = (self.origin + shift) % self.slide, self.range is None or self.range % self.slide == 0
        found = {
            "phase": phase,
            "panes_per_slide": 1 if whole else 2,
            "slides": 0 if self.range is None else -(-self.range // self.slide),
            "_schedule": Schedule(phase, self.slide),
        }
        for name, value in found.items():
            object.__setattr__(self, name, value)  # frozen

    @classmethod
    def of(cls, range: int | None, slide: int, origin: int, on: str | None, starts: bool) -> Self:
        """The window, from what is written. Raises ValueError, with what to write instead, where these don't go together."""
        return cls(range, slide, origin, on, starts)

    @property
    def length(self) -> int | None:
        """From `window_start` to `window_end`, microseconds; None for a landmark, which has no start."""
        return None if self.range is None or self.earlier is None else self.range + self.earlier

    def shortened(self, to: int) -> TimeWindow | None:
        """Its extents end when they did, and hold the newest part of what they held."""
        if not self.even or self.range is None or not 1 <= to < self.range or self.earlier:
            return None
        return replace(self, range=to, origin=self.phase, starts=False)

    @property
    def overlapping(self) -> bool:
        return self.slides > 1

    @property
    def tumbling(self) -> bool:
        return self.range == self.slide

    @property
    def paned(self) -> bool:
        return True

    @property
    def schedule(self) -> Schedule:
        return self._schedule

    @property
    def ends_with_rows(self) -> bool:
        return False

    @property
    def instants(self) -> tuple[object, ...] | None:
        return ("time", self.slide, self.phase, self.on) if self.even else None

    @property
    def comparable(self) -> tuple[object, ...] | None:
        return ("time", self.on) if self.even else None

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
        return self.schedule.end(k)

    def closed(self, punctuation: int) -> int:
        """The last extent that is final at a punctuation: its end is not beyond it."""
        return self.schedule.closed(punctuation)

    def closed_each(self, punctuations: Int64s) -> Int64s:
        """The same for each of many punctuations."""
        return self.schedule.closed(punctuations)

    def final_from(self, punctuation: int) -> int:
        if punctuation in (MIN_TIME, MAX_TIME):
            return punctuation
        schedule = self.schedule
        return schedule.end(schedule.closed(punctuation))

    def ends_for(self, key: Expr) -> bool:
        return self.range is not None and self.even

    @property
    def key_outlives(self) -> int:
        return self.range or 0

    def ends(self, extents: Int64s) -> Int64s:
        """Where each of many extents ends, microseconds."""
        return self.schedule.end(extents)

    def bounds(self, extents: Int64s) -> tuple[Int64s | None, Int64s]:
        length, ends = self.length, self.ends(extents)
        return None if length is None else ends - length, ends

    def extents_of(self, ts: Int64s) -> tuple[Int64s, Int64s]:
        """The first and the last extent that hold each of many times; the last is less than the first where none does."""
        return self.extents_of_panes(self.pane(ts))

    def extents_of_panes(self, panes: Int64s) -> tuple[Int64s, Int64s]:
        """The first and the last extent that hold each of many panes; the last is less than the first where none does."""
        first = panes // self.panes_per_slide + 1
        if self.range is None:
            return first, np.full(panes.size, FAR)
        return first, panes + self.slides if self.panes_per_slide == 1 else (panes - 1) // 2 + self.slides

    def late(self, ts: Int64s, broken: Int64s, closed: int | None = None) -> Late:
        """What becomes of late rows: each is used in the extents that were open when it came, and in no other."""
        first, last = self.extents_of(ts)
        final = self.closed_each(broken)
        if closed is not None:
            np.maximum(final, closed, out=final)
        return Late(np.maximum(np.minimum(final, last) - first + 1, 0), final < last, final)

    def first_pane(self, k: int) -> int | None:
        """The first pane of extent k, None for a landmark."""
        if self.range is None:
            return None
        if self.panes_per_slide == 1:
            return k - self.slides
        return 2 * (k - self.slides) + 1

    def first_panes(self, extents: Int64s) -> Int64s | None:
        """The first pane of each of many extents, None for a landmark."""
        if self.range is None:
            return None
        first = extents - self.slides
        return first if self.panes_per_slide == 1 else 2 * first + 1

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

    @property
    def edges(self) -> Mapping[str, tuple[int | None, int]]:
        found: dict[str, tuple[int | None, int]] = {WINDOW_END: (1, 1)}
        if self.length is not None:
            found[WINDOW_START] = (1 - self.length, 1 - (self.length if self.even else self.slide))
        return found

    @property
    def held_before(self) -> int | None:
        return None if self.range is None else self.range - 1

    def on_spark(self, keys: Sequence[Expr], on_column: bool) -> WindowOnSpark:
        if self.range is None:
            return LANDMARK
        if self.on is not None:
            return ON_COLUMN if on_column else ON_EXPRESSION
        return STARTING if self.starts else SLIDING

    def spread_by(self, keys: Sequence[Expr]) -> Sequence[Expr]:
        if self.range is None or self.on is not None:  # the extents of a landmark end with the last row of all
            return ()
        return tuple(keys)

    @property
    def span(self) -> int | None:
        return self.range

    def by_own_time(self) -> TimeWindow:
        return replace(self, on=None)

    def __str__(self) -> str:
        head = "RANGE ALL" if self.length is None else f"RANGE {show_duration(self.length).upper()}"
        tail = " TUMBLING" if self.length == self.slide else f" SLIDE {show_duration(self.slide).upper()}"
        on = f" ON {self.on}" if self.on else ""
        origin = f" ORIGIN '{show(self.origin)}'" if self.origin else ""
        return f"[{head}{tail}{on}{origin}]"
