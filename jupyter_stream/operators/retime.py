"""`ON col`: rows progress on another column than the stream's own, of which nothing is promised until the input ends."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from jupyter_stream.core.messages import BROKEN, BROKEN_BY_ALL, LATE_ID, TS, Batch, Failed, Message, Punctuation, ints
from jupyter_stream.core.time import MAX_TIME
from jupyter_stream.operators.protocol import Stateless


class Retime(Stateless):
    """Takes `$ts` from `column`. A NULL there is an error of the row."""

    def __init__(self, column: str) -> None:
        super().__init__(f"time from {column}")
        self._column = column

    def on_batch(self, port: int, batch: Batch) -> Iterator[Message]:
        """Set the time."""
        frame = batch.frame
        missing = frame.get_column(self._column).is_null()
        if missing.any():
            bad = frame.filter(missing)
            yield Failed(bad, pl.Series([f"{self._column} is NULL, and the window is on it"] * bad.height))
            frame = frame.filter(~missing)
        frame = frame.drop(BROKEN, BROKEN_BY_ALL, LATE_ID, strict=False)
        yield batch.with_frame(frame.with_columns(pl.Series(TS, ints(frame.get_column(self._column)))))

    def on_punctuation(self, port: int, punctuation: Punctuation) -> Iterator[Message]:
        """Only the end of the input says anything about another column."""
        if punctuation.value == MAX_TIME:
            self.control.low_watermark = MAX_TIME
            yield punctuation
