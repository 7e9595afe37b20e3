"""Window functions of each extent: its rows with their ranks, their neighbours, aggregates over their frames.

Keeps the rows of extents that are not over: any row may change the answers of all others of its partition.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from jupyter_stream.arrays.exact import BEYOND
from jupyter_stream.arrays.rows import bytes_of, earliest, shown
from jupyter_stream.core.messages import (
    TS,
    WINDOW_END,
    WINDOW_ID,
    WINDOW_PART,
    WINDOW_START,
    Batch,
    Failed,
    Message,
    Punctuation,
    ints,
)
from jupyter_stream.flow.protocol import Recall, Stateless
from jupyter_stream.partials.window_functions import RowFunctions
from jupyter_stream.plan.logical import WindowFunctions

_EXTENT = (WINDOW_START, WINDOW_END, WINDOW_ID, WINDOW_PART)
_NUMBER = "$number"


class WindowFunctionsOfExtents(Stateless):
    """Rows of each extent with a column for each call, once no row of it can come any more.

    Args:
        plan: what is computed.
        functions: the same, of rows at hand.
    """

    def __init__(self, plan: WindowFunctions, functions: RowFunctions) -> None:
        super().__init__("window functions")
        self._functions = functions
        self._by = list(plan.partition)
        self._kept: list[pl.DataFrame] = []

    def head(self, most: int) -> pl.DataFrame:
        """The rows of extents that are still open."""
        return shown(self._kept, most)

    def on_batch(self, port: int, batch: Batch) -> Iterator[Message]:
        """Keep rows; answer for those of open extents at once."""
        if batch.provisional is not None:
            rows, _ = self._answered(batch.frame)
            yield batch.with_frame(rows)
            return
        if batch.rows:
            self._kept.append(batch.frame)
            self.control.holds(bytes_of(self._kept))

    def on_punctuation(self, port: int, punctuation: Punctuation) -> Iterator[Message]:
        """Give the extents that are over."""
        if self._kept:
            rows = pl.concat(self._kept)
            over = rows.get_column(TS) < punctuation.value
            if over.any():
                rest = rows.filter(~over)
                self._kept = [rest] if rest.height else []
                self.control.holds(bytes_of(self._kept))
                given, bad = self._answered(rows.filter(over))
                if bad.height:
                    yield Failed.all(bad, BEYOND)
                if given.height:
                    yield Batch(given)
        yield from super().on_punctuation(port, punctuation)

    def _answered(self, rows: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Rows with the calls' columns, extent by extent; and those that have no answer."""
        extent = [c for c in _EXTENT if c in rows.columns] or [TS]
        by = [*extent, *self._by]
        numbers = rows.select(by).unique(maintain_order=True).with_row_index(_NUMBER)
        number = rows.select(by).join(numbers, on=by, how="left", nulls_equal=True, maintain_order="left")
        made = self._functions.answers(rows, ints(number.get_column(_NUMBER)))
        given = rows[pl.Series(made.order)].hstack(made.columns)
        bad = pl.Series(np.zeros(given.height, np.bool_) if made.beyond is None else made.beyond)
        return given.filter(~bad).sort(*extent, maintain_order=True), given.filter(bad).select(rows.columns)

    def recalls(self) -> Recall | None:
        """The rows of extents that are not over."""
        return Recall(earliest(self._kept))


__all__ = ["WindowFunctionsOfExtents"]
