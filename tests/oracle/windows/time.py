"""`[RANGE d SLIDE s]`, `[RANGE d TUMBLING]`, `[RANGE ALL SLIDE s]`, TUMBLE and HOP: extents by their ends."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal


@dataclass(frozen=True)
class TimeExtents:
    """Extents that end at multiples of the slide.

    Attributes:
        range: microseconds; None for a landmark.
        slide: microseconds.
        origin: an end (a start, where `starts`) from which multiples are counted; None for the epoch, unsaid.
        starts: extents start at multiples of the slide (Flink's and Spark's), rather than end there.
        on: the windowing attribute, where it is not the stream's own.
        spelling: which of the spellings of this window `sql` uses.
    """

    range: int | None
    slide: int
    origin: int | None = None
    starts: bool = False
    on: str | None = None
    spelling: Literal["bracket", "tumbling", "paper", "table function", "group by"] = "bracket"

    word: ClassVar[str] = ""
    """What is written behind SLIDE."""

    def start(self, end: int) -> int | None:
        return None if self.range is None else end - self.range

    def holds(self, end: int, ts: int) -> bool:
        """Whether the extent that ends at `end` holds a row of that time."""
        start = self.start(end)
        return ts < end and (start is None or start <= ts)

    def ends(self, after: int, until: int) -> Iterator[int]:
        """The ends e with after < e <= until."""
        mark = (self.origin or 0) + (self.range if self.starts and self.range is not None else 0)
        end = after + 1 + (mark - after - 1) % self.slide
        while end <= until:
            yield end
            end += self.slide
