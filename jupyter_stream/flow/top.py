"""ORDER BY ... LIMIT n: of each extent, and of rows as they come. As a live top-n of a relation: `top_of_relation`.

Rows that the keys leave equal are told apart by their other columns, so that the answer doesn't depend on the order of arrival.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import polars as pl

from jupyter_stream.arrays.rows import earliest, shown
from jupyter_stream.core.messages import (
    TS,
    WINDOW_END,
    WINDOW_ID,
    WINDOW_PART,
    WINDOW_START,
    Batch,
    Message,
    Punctuation,
)
from jupyter_stream.flow.protocol import Recall, Stateless
from jupyter_stream.plan.logical import Top

_BOUNDS = (WINDOW_START, WINDOW_END)
_OF_ROWS = (*_BOUNDS, WINDOW_ID, WINDOW_PART)
"""What tells extents of row numbers apart: those of several partitions may have the same bounds, and the last of one may."""


def named(plan: Top) -> str:
    """For EXPLAIN."""
    if not plan.order and plan.partition == plan.schema.names:
        return "distinct rows"
    keys = ", ".join(f"{k.column}{' DESC' if k.descending else ''}" for k in plan.order)
    by = f" BY {', '.join(plan.partition)}" if plan.partition else ""
    count = ("" if plan.limit is None else f" LIMIT {plan.limit}") + (f" OFFSET {plan.offset}" if plan.offset else "")
    return f"order by {keys}{count}{by}" if keys else count.strip().lower()


class Order:
    """How rows are sorted, and which places are wanted."""

    def __init__(self, plan: Top) -> None:
        keys = {k.column for k in plan.order}
        rest = [f.name for f in plan.input.schema if f.name not in keys and not f.dtype.is_nested()]
        self.by = [*(k.column for k in plan.order), *rest]
        self.descending = [*(k.descending for k in plan.order), *(False for _ in rest)]
        self.nulls_last = [*(k.nulls_last for k in plan.order), *(False for _ in rest)]
        self.offset = plan.offset
        self.number = plan.number
        self.end = None if plan.limit is None else plan.limit + plan.offset

    def sort(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Rows in order."""
        return rows.sort(self.by, descending=self.descending, nulls_last=self.nulls_last, maintain_order=True)

    def numbered(self, rows: pl.DataFrame, place: pl.Expr) -> pl.DataFrame:
        """Rows with their places, from 0, as numbers from 1 where these are wanted."""
        if self.number is None:
            return rows
        return rows.with_columns((place + 1).cast(pl.Int64).alias(self.number))


class TopOfExtents(Stateless):
    """The first rows of each extent, in order. Keeps those of extents that are not over, and no others."""

    def __init__(self, plan: Top) -> None:
        super().__init__(named(plan))
        self._order = Order(plan)
        self._by = list(plan.partition)
        self._kept: pl.DataFrame | None = None

    def head(self, most: int) -> pl.DataFrame:
        """The first rows of extents that are still open."""
        return shown([] if self._kept is None else [self._kept], most)

    def on_batch(self, port: int, batch: Batch) -> Iterator[Message]:
        """Keep what is among the first so far."""
        rows = batch.frame if self._kept is None else pl.concat([self._kept, batch.frame])
        if batch.provisional is not None:
            yield batch.with_frame(self.first(batch.frame, self._order.offset, given=True))
            return
        self._kept = self.first(rows, 0)
        self.control.holds(int(self._kept.estimated_size()))

    def first(self, rows: pl.DataFrame, offset: int, given: bool = False) -> pl.DataFrame:
        """The rows of each extent up to the last wanted place, from the offset on; numbered where they are `given`."""
        known = _OF_ROWS if WINDOW_PART in rows.columns else _BOUNDS
        extent: list[str] = [c for c in known if c in rows.columns] or [TS]
        place = pl.int_range(pl.len()).over([*extent, *self._by])
        end = pl.lit(True) if self._order.end is None else place < self._order.end
        rows = self._order.sort(rows)
        if given:
            rows = self._order.numbered(rows, place)
        return rows.filter(end & (place >= offset)).sort(*extent, maintain_order=True)

    def on_punctuation(self, port: int, punctuation: Punctuation) -> Iterator[Message]:
        """Give the extents that are over."""
        if self._kept is not None:
            over = self._kept.get_column(TS) < punctuation.value
            if over.any():
                rows = self.first(self._kept.filter(over), self._order.offset, given=True)
                self._kept = self._kept.filter(~over)
                self.control.holds(int(self._kept.estimated_size()))
                if rows.height:
                    yield Batch(rows)
        yield from super().on_punctuation(port, punctuation)

    def recalls(self) -> Recall | None:
        """The rows of extents that are not over."""
        return Recall(earliest([] if self._kept is None else [self._kept]))


class Limit(Stateless):
    """The first rows that come, and no more; or all but the first."""

    def __init__(self, plan: Top) -> None:
        super().__init__(named(plan))
        self._skip = plan.offset
        self._left = sys.maxsize if plan.limit is None else plan.limit

    def on_batch(self, port: int, batch: Batch) -> Iterator[Message]:
        """Count."""
        rows = batch.frame[self._skip : self._skip + self._left]
        self._skip = max(0, self._skip - batch.rows)
        self._left -= rows.height
        if rows.height:
            yield batch.with_frame(rows)


__all__ = ["Limit", "Order", "TopOfExtents", "named"]
