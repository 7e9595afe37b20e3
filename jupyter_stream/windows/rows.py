"""Windows over arrival numbers: `[ROWS n]`, `[ROWS n SLIDE m]`, `[PARTITION BY a, b ROWS n SLIDE m WHERE pred]`.

Thesis §5.2 (tuple-based and partitioned windows): arrival numbers are a progressing attribute of their own, so no row is
ever late for one of these.
"""

from __future__ import annotations

from dataclasses import dataclass

from jupyter_stream.functions.expression import Expr, show


@dataclass(frozen=True, slots=True)
class RowWindow:
    """Extent k holds the rows numbered `k*slide - rows < row_num <= k*slide`, from 1, within each partition.

    Attributes:
        rows: rows in an extent.
        slide: rows between extents' ends; None for `[ROWS n]`: the newest n rows, a lifetime and no instants.
        partition: (name, expression) of PARTITION BY; empty without.
        where: the filter of a partitioned window, applied before rows are numbered.
    """

    rows: int
    slide: int | None = None
    partition: tuple[tuple[str, Expr], ...] = ()
    where: Expr | None = None
    on: str | None = None

    def __str__(self) -> str:
        by = f"PARTITION BY {', '.join(n for n, _ in self.partition)} " if self.partition else ""
        slide = "" if self.slide is None else f" SLIDE {self.slide}"
        where = "" if self.where is None else f" WHERE {show(self.where)}"
        return f"[{by}ROWS {self.rows}{slide}{where}]"
