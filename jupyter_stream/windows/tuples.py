"""Slide-by-tuple windows: one extent per row, or per n-th row. Forward-context aware in the words of thesis §6.1.2."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from jupyter_stream.core.messages import WINDOW_END, WINDOW_START
from jupyter_stream.core.time import show_duration
from jupyter_stream.windows.on_spark import TUPLES, WindowOnSpark
from jupyter_stream.windows.protocol import Window


@dataclass(frozen=True, slots=True)
class TupleWindow(Window):
    """`[RANGE d SLIDE 1 ROW]`, `[RANGE d SLIDE n ROWS]`, `[RANGE d SLIDE n ROWS BY RANK]`.

    The extent of row r holds the rows with `r.ts - range < ts <= r.ts` (thesis Eq. 5.10 to 5.17).

    Attributes:
        range: microseconds.
        every: one extent per so many rows: those whose number is a multiple of it.
        by_rank: rows are numbered in the order of their times (ties by arrival) rather than in the order they arrive.
        on: the windowing attribute, where it is not the stream's own.
    """

    range: int
    every: int = 1
    by_rank: bool = False
    on: str | None = None

    spark_forms: ClassVar[tuple[WindowOnSpark, ...]] = (TUPLES,)

    @property
    def counts_arrivals(self) -> bool:
        return self.every > 1 and not self.by_rank

    @property
    def length(self) -> int:
        return self.range

    @property
    def instants(self) -> tuple[object, ...]:
        return ("rows", self.every, self.by_rank, self.on)

    @property
    def edges(self) -> Mapping[str, tuple[int | None, int]]:
        return {WINDOW_END: (0, 0), WINDOW_START: (-self.range, -self.range)}

    def unlike(self, other: Window) -> tuple[str, str]:
        if not isinstance(other, TupleWindow):
            return Window.unlike(self, other)
        return (
            f"extents of {self} and {other} don't end with the same rows, so their answers can't be put into one row",
            "Give them the same SLIDE: avg(x) [RANGE 1 MINUTE SLIDE 1 ROW], avg(x) [RANGE 1 HOUR SLIDE 1 ROW].",
        )

    @property
    def span(self) -> int:
        return self.range

    def by_own_time(self) -> TupleWindow:
        return replace(self, on=None)

    def __str__(self) -> str:
        rows = "1 ROW" if self.every == 1 else f"{self.every} ROWS"
        rank = " BY RANK" if self.by_rank else ""
        on = f" ON {self.on}" if self.on else ""
        return f"[RANGE {show_duration(self.range).upper()} SLIDE {rows}{rank}{on}]"
