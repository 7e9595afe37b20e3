"""`[ROWS n SLIDE m]`, `[PARTITION BY a, b ROWS n SLIDE m WHERE pred]`: extents of rows by their numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tests.oracle.predicates import Predicate


@dataclass(frozen=True)
class RowExtents:
    """Extent k holds the rows numbered k * slide - rows < number <= k * slide, within each partition.

    Attributes:
        rows: in an extent.
        slide: rows from extent to extent.
        partition: columns of PARTITION BY.
        where: the window's own filter, before rows are numbered.
        paper: spelled as the thesis has it.
    """

    rows: int
    slide: int
    partition: tuple[str, ...] = ()
    where: Predicate | None = None
    paper: bool = False

    @property
    def clause(self) -> str:
        """The window as written behind a stream."""
        by = ", ".join(self.partition)
        if self.paper:
            return f"[RANGE {self.rows} rows, SLIDE {self.slide} rows, WA row-num{', PA ' + by if by else ''}]"
        where = f" WHERE {self.where.sql()}" if self.where else ""
        return f"[{f'PARTITION BY {by} ' if by else ''}ROWS {self.rows} SLIDE {self.slide}{where}]"

    def extents(self, count: int) -> Iterator[tuple[int, int, int]]:
        """Number, first and last row of every extent that holds some of `count` rows, up to the first that reaches the last."""
        k = 1
        while (k - 1) * self.slide < count:
            first, last = max(1, k * self.slide - self.rows + 1), min(k * self.slide, count)
            if first <= last:
                yield k, first, last
            k += 1
