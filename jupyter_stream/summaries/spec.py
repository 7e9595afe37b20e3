"""What `CREATE SUMMARY ... WITH GRANULARITY d AND COLLAPSE (rate, depth)` says, and the memory it fixes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from jupyter_stream.summaries.protocol import SketchKind

BUCKETS: Final = 64
"""Value buckets. More of them tell items apart better and cost memory and time in proportion."""
ATOMS: Final = 8
"""G1's zones begin and end at multiples of its length / `ATOMS`."""
LONGEST: Final = 4
"""In atoms: a zone of G1 ends there even where the stream behaves as before (MAXLENGTH, paper §3.3)."""
MOST_FINE: Final = ATOMS + 4
"""Zones of G1, those ahead of the clock among them."""


@dataclass(frozen=True, slots=True)
class SummarySpec:
    """The statement, bound.

    Attributes:
        columns: the attributes; a row's item is their value, or the values of all together.
        granularity: the length of G1, microseconds.
        rate: how many times longer each granularity is than the one before, at least 2.
        depth: how many granularities, at least 1.
        kind: the summary kept of each cell.
        measured: numeric columns whose sum, minimum and maximum `aggregate` summaries keep.
        buckets: value buckets, a power of two of at most 1,024.
    """

    columns: tuple[str, ...]
    granularity: int
    rate: int
    depth: int
    kind: SketchKind
    measured: tuple[str, ...] = ()
    buckets: int = BUCKETS

    def __post_init__(self) -> None:
        if not self.columns:
            raise ValueError("a summary needs a column")
        if self.granularity < ATOMS:
            raise ValueError(f"a granularity has at least {ATOMS} microseconds")
        if self.rate < 2 or self.depth < 1:
            raise ValueError("COLLAPSE takes a rate of at least 2 and a depth of at least 1")
        if self.buckets not in {1 << bits for bits in range(11)}:
            raise ValueError("the number of buckets is a power of two of at most 1,024")

    def length(self, level: int) -> int:
        """How much time granularity `level` (1 to `depth`) covers, microseconds."""
        return int(self.granularity * self.rate ** (level - 1))

    def span(self, level: int) -> int:
        """How far back granularities 1 to `level` go, microseconds. `span(depth)` is what the summary spans."""
        return sum(self.length(i) for i in range(1, level + 1))

    @property
    def zones(self) -> int:
        """The most zones there ever are."""
        return MOST_FINE + (self.depth - 1) * (self.rate + 2)

    @property
    def bytes(self) -> int:
        """The most bytes the summaries take: each zone's, and as many again for the pyramids above them. Without the rows."""
        return 2 * self.zones * self.kind.bytes(self.buckets, len(self.measured))
