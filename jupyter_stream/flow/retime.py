"""`ON col`: rows progress on another column than the stream's own, of which so much is promised as it may be behind that."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from jupyter_stream.arrays.rows import frame_of, rows_if
from jupyter_stream.core.axis import plus
from jupyter_stream.core.messages import (
    BROKEN,
    BROKEN_BY_ALL,
    LATE_ID,
    TS,
    Batch,
    Failed,
    Message,
    PairPunctuation,
    Punctuation,
    ints,
)
from jupyter_stream.core.time import MAX_TIME, MIN_TIME
from jupyter_stream.flow.protocol import Stateless

_LATE = (BROKEN, BROKEN_BY_ALL, LATE_ID)


class Retime(Stateless):
    """Takes `$ts` from `column`. A NULL there is an error of the row.

    Args:
        column: a time, or an integer.
        behind: by how many microseconds at most it is less than the row's time; None where nothing says so.
        pair: which side of a join below it is a time of (0 or 1), and by how much at most it is less than the time of that
            side's row; None where it is none.
    """

    def __init__(self, column: str, behind: int | None = None, pair: tuple[int, int] | None = None) -> None:
        super().__init__(f"time from {column}")
        self._column, self._behind, self._pair = column, behind, pair
        self._said = MIN_TIME

    def on_batch(self, port: int, batch: Batch) -> Iterator[Message]:
        """Set the time."""
        frame = batch.frame
        missing = frame.get_column(self._column).is_null()
        if missing.any():
            bad = rows_if(frame, missing)
            yield Failed.all(bad, f"{self._column} is NULL, and the window is on it")
            frame = rows_if(frame, ~missing)
        times = pl.Series(TS, ints(frame.get_column(self._column)))
        columns = (times if c.name == TS else c for c in frame.get_columns() if c.name not in _LATE)
        yield batch.with_frame(frame_of(list(columns)))

    def on_punctuation(self, port: int, punctuation: Punctuation) -> Iterator[Message]:
        """What it says of the column; the end of the input says all."""
        value = punctuation.value
        if value != MAX_TIME:
            if self._behind is None:
                return
            value = plus(value, -self._behind)
        yield from self._say(value)

    def on_pair_punctuation(self, punctuation: PairPunctuation) -> Iterator[Message]:
        """What it says of the column's side of the join."""
        if self._pair is not None:
            side, behind = self._pair
            value = punctuation.values[side]
            yield from self._say(plus(value, -behind))

    def _say(self, value: int) -> Iterator[Message]:
        if value > self._said:
            self._said = self.control.low_watermark = value
            yield Punctuation(value)
