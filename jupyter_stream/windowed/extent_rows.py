"""The rows of each extent: lists of rows, as the window below gathered them, to rows.

Which extents there are, when they are final and who is late is the window's business, so that it serves every window, and
provisional answers too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl

from jupyter_stream.core.messages import Batch, Message
from jupyter_stream.flow.protocol import Stateless


class ExtentRowsOperator(Stateless):
    """As many rows as lists hold, each with its extent.

    Args:
        column: holds the lists.
        names: what the rows' columns are called.
    """

    def __init__(self, column: str, names: Sequence[str]) -> None:
        super().__init__("rows of each extent")
        self._column = column
        self._names = list(names)

    def on_batch(self, port: int, batch: Batch) -> Iterator[Message]:
        """Unfold; an extent without rows gives none."""
        held = batch.frame.get_column(self._column)
        lengths = held.list.len().fill_null(0).to_numpy()
        which = pl.Series(np.repeat(np.arange(lengths.size), lengths))
        extents = batch.frame.select(pl.selectors.starts_with("$").exclude(self._column))[which]
        rows = held.filter(pl.Series(lengths > 0)).explode().struct.unnest()
        rows.columns = self._names
        if rows.height or batch.tells:
            yield batch.with_frame(pl.concat([rows, extents], how="horizontal"))


__all__ = ["ExtentRowsOperator"]
