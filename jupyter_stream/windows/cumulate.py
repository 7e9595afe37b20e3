"""Extents that grow: within each RANGE from its beginning, one more SLIDE at a time, as CUMULATE of Flink SQL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from jupyter_stream.core.messages import Int64s
from jupyter_stream.core.time import show, show_duration
from jupyter_stream.functions.expression import Expr
from jupyter_stream.windows.on_spark import CUMULATE, ON_EXPRESSION, WindowOnSpark
from jupyter_stream.windows.time import TimeWindow


@dataclass(frozen=True, slots=True)
class CumulateWindow(TimeWindow):
    """`[RANGE d SLIDE s CUMULATE]`: the extent ending at e starts at the last multiple of d from the origin before e.

    With a day and an hour: from midnight to one, from midnight to two, ..., the whole day; then the next day begins. A pane is a
    slide long, and RANGE is a whole number of slides.
    """

    spark_forms: ClassVar[tuple[WindowOnSpark, ...]] = (CUMULATE, ON_EXPRESSION)
    even: ClassVar[bool] = False
    word: ClassVar[str | None] = "CUMULATE"

    @classmethod
    def of(cls, range: int | None, slide: int, origin: int, on: str | None, starts: bool) -> Self:
        if range is None or range % slide:
            d, s = "RANGE 1 DAY" if range is None else f"RANGE {show_duration(range)}", show_duration(slide)
            raise ValueError(f"CUMULATE needs a RANGE that is a whole number of slides, and {d} is none of {s}")
        return cls(range, slide, origin, on)

    def _begin(self, extents: Int64s) -> Int64s:
        """The first pane of the range that each extent is in."""
        first = (self.origin - self.phase) // self.slide
        return extents - 1 - (extents - 1 - first) % self.slides

    def first_pane(self, k: int) -> int:
        return int(self._begin(np.array([k]))[0])

    def first_panes(self, extents: Int64s) -> Int64s:
        return self._begin(extents)

    def last_extent(self, pane: int) -> int:
        return self.first_pane(pane + 1) + self.slides

    def bounds(self, extents: Int64s) -> tuple[Int64s, Int64s]:
        return self.ends(self._begin(extents)), self.ends(extents)

    def extents_of(self, ts: Int64s) -> tuple[Int64s, Int64s]:
        first = self.pane(ts) + 1
        return first, self._begin(first) + self.slides

    def on_spark(self, keys: Sequence[Expr], on_column: bool) -> WindowOnSpark:
        return CUMULATE if on_column else ON_EXPRESSION

    def __str__(self) -> str:
        assert self.range is not None
        on = f" ON {self.on}" if self.on else ""
        origin = f" ORIGIN '{show(self.origin)}'" if self.origin else ""
        return f"[RANGE {show_duration(self.range).upper()} SLIDE {show_duration(self.slide).upper()} CUMULATE{on}{origin}]"
