"""Slide-by-tuple windows: one extent per row, or per n-th row. Forward-context aware in the words of thesis §6.1.2."""

from __future__ import annotations

from dataclasses import dataclass

from jupyter_stream.core.time import show_duration


@dataclass(frozen=True, slots=True)
class TupleWindow:
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

    def __str__(self) -> str:
        rows = "1 ROW" if self.every == 1 else f"{self.every} ROWS"
        rank = " BY RANK" if self.by_rank else ""
        on = f" ON {self.on}" if self.on else ""
        return f"[RANGE {show_duration(self.range).upper()} SLIDE {rows}{rank}{on}]"
