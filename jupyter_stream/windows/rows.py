"""Windows over arrival numbers: `[ROWS n]`, `[ROWS n SLIDE m]`, `[PARTITION BY a, b ROWS n SLIDE m WHERE pred]`.

Thesis §5.2 (tuple-based and partitioned windows): arrival numbers are a progressing attribute of their own, so no row is
ever late for one of these.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from jupyter_stream.core.messages import Int64s
from jupyter_stream.core.time import MIN_TIME
from jupyter_stream.functions.expression import Expr, show
from jupyter_stream.windows.on_spark import NO_SLIDE, ROWS, WindowOnSpark
from jupyter_stream.windows.protocol import Window


@dataclass(frozen=True, slots=True)
class RowWindow(Window):
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

    spark_forms: ClassVar[tuple[WindowOnSpark, ...]] = (ROWS, NO_SLIDE)

    @property
    def sliding(self) -> bool:
        return self.slide is not None

    @property
    def newest(self) -> RowWindow | None:
        return self if self.slide is None else None

    @property
    def partitioned_by(self) -> tuple[Expr, ...]:
        return tuple(e for _, e in self.partition)

    @property
    def goes_by_time(self) -> bool:
        return False

    @property
    def counts_rows(self) -> bool:
        return True

    @property
    def counts_arrivals(self) -> bool:
        return True

    @property
    def length(self) -> int:
        return 0 if self.slide is None else self.rows

    @property
    def instants(self) -> tuple[object, ...]:
        return ("changes", self.on) if self.slide is None else ("numbers", self.slide, self.partition)

    @property
    def expressions(self) -> tuple[Expr, ...]:
        where = () if self.where is None else (self.where,)
        return (*self.partitioned_by, *where)

    def on_spark(self, keys: Sequence[Expr], on_column: bool) -> WindowOnSpark:
        return NO_SLIDE if self.slide is None else ROWS

    def spread_by(self, keys: Sequence[Expr]) -> Sequence[Expr]:
        return () if self.slide is None or self.on is not None else self.partitioned_by

    def unlike(self, other: Window) -> tuple[str, str]:
        if not isinstance(other, RowWindow) or self.slide is None or other.slide is None:
            return Window.unlike(self, other)
        return (
            f"extents of {self} and {other} don't end with the same rows, so their answers can't be put into one row",
            "Give them the same SLIDE and PARTITION BY: avg(x) [ROWS 10 SLIDE 5], avg(x) [ROWS 100 SLIDE 5].",
        )

    def final_from(self, punctuation: int) -> int:
        return MIN_TIME  # no row is late for a row number

    def bounds(self, extents: Int64s) -> tuple[Int64s, Int64s] | None:
        if self.slide is None:
            return None
        ends = extents * self.slide
        return np.maximum(ends - self.rows + 1, 1), ends

    def __str__(self) -> str:
        by = f"PARTITION BY {', '.join(n for n, _ in self.partition)} " if self.partition else ""
        slide = "" if self.slide is None else f" SLIDE {self.slide}"
        where = "" if self.where is None else f" WHERE {show(self.where)}"
        return f"[{by}ROWS {self.rows}{slide}{where}]"
