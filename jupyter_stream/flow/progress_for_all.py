"""Progress for all keys, where a query's groups are not the keys that punctuations speak for (window-queries thesis §2.3).

What is promised of one key makes no answer over rows of several keys final; so a row that broke such a promise only is not late.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from jupyter_stream.core.messages import BROKEN, BROKEN_BY_ALL, LATE_ID, TS, Batch, Message
from jupyter_stream.flow.protocol import Stateless


class ForAll(Stateless):
    """Judges late rows by what was promised for all keys; group-wise punctuations end here."""

    def __init__(self, key: str) -> None:
        super().__init__(f"promises for all, whatever {key}")

    def on_batch(self, port: int, batch: Batch) -> Iterator[Message]:
        """Take the mark off rows that are late for their key only."""
        frame = batch.frame
        if BROKEN_BY_ALL in frame.columns:
            late = pl.col(BROKEN).is_not_null() & (pl.col(TS) < pl.col(BROKEN_BY_ALL))
            if frame.select(late.any()).item():
                marks = (pl.when(late).then(BROKEN_BY_ALL).alias(BROKEN), pl.when(late).then(LATE_ID).alias(LATE_ID))
                frame = frame.with_columns(*marks).drop(BROKEN_BY_ALL)
            else:
                frame = frame.drop(BROKEN, BROKEN_BY_ALL, LATE_ID)
        yield batch.with_frame(frame)
