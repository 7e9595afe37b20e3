"""`[RANGE d SLIDE 1 ROW]`, `[RANGE d SLIDE n ROWS]`, `[RANGE d SLIDE n ROWS BY RANK]`: extents by the rows that end them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TupleExtents:
    """Each row whose number is a multiple of `every` ends an extent.

    Attributes:
        range: microseconds.
        every: rows.
        by_rank: rows are numbered in the order of their times, ties as they came, rather than as they came.
        on: the windowing attribute, where it is not the stream's own.
        paper: whether `sql` spells it as the thesis does, behind the last aggregate.
    """

    range: int
    every: int = 1
    by_rank: bool = False
    on: str | None = None
    paper: bool = False

    def holds(self, end: int, ts: int) -> bool:
        """Whether the extent of a row with time `end` holds a row of that time."""
        return end - self.range < ts <= end

    def clause(self, length: str, time: str) -> str:
        """The window as it is written; `length` is RANGE in words."""
        rows = "ROW" if self.every == 1 else "ROWS"
        if self.paper:
            order = f"rank({self.on or time})" if self.by_rank else "row-num"
            return f"RANGE {length}, RATTR {self.on or time}, SLIDE {self.every} {rows.lower()}, SATTR {order}"
        rank = " BY RANK" if self.by_rank else ""
        return f"RANGE {length} SLIDE {self.every} {rows}{rank}{f' ON {self.on}' if self.on else ''}"
