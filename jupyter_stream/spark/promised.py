"""What earlier runs of a query with a checkpoint promised of a stream that goes on.

Spark keeps its watermark in its checkpoint. Rows that come again make the same promises again; those of the clock, or of rows
that come no more, are noted here: or a row that is too late for them alone would be dropped by Spark without a word.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from jupyter_stream.core.messages import BROKEN, BROKEN_BY_ALL, LATE_ID, ROW, TS, Int64s, ints
from jupyter_stream.core.time import MIN_TIME


class Promised:
    """The promises of one stream, each with the number of rows it came after.

    Args:
        path: where those are noted that rows came after, by which the rows of an earlier run are judged when they come again.
        rows: how many rows earlier runs took.
        said: what they had promised in the end.
        again: whether these rows come again; if not, rows are numbered anew.
    """

    def __init__(self, path: Path, rows: int, said: int, *, again: bool) -> None:
        self._path = path
        found = [tuple(map(int, line.split())) for line in path.read_text().splitlines()] if path.exists() else []
        known = sorted([*found, (rows, said)]) if again else [(0, said)]
        self._after = np.array([after for after, _ in known], np.int64)
        self._values: Int64s = np.maximum.accumulate(np.array([value for _, value in known], np.int64))
        self._any = int(self._values[-1]) > MIN_TIME
        self._noted = max((value for _, value in found), default=MIN_TIME)
        if again and rows:  # the next run needs it, after more rows
            self.note(rows, said)

    def note(self, rows: int, value: int) -> None:
        """A row comes, after so many others and a promise that was not made by those."""
        if value > self._noted:
            self._noted = value
            with self._path.open("a") as file:
                file.write(f"{rows} {value}\n")

    def marked(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Rows with `$broken` and `$late` where they are late by what earlier runs promised before them.

        Args:
            frame: rows with `$ts` and `$row`.
        """
        if not self._any or not frame.height:
            return frame
        # promises that came after fewer rows than the row is the nth
        before = np.searchsorted(self._after, ints(frame.get_column(ROW)), "left")
        promised = np.concatenate([[MIN_TIME], self._values])[before]
        late = ints(frame.get_column(TS)) < promised
        if not late.any():
            return frame
        broke = [c for c in (BROKEN, BROKEN_BY_ALL) if c == BROKEN or c in frame.columns]
        known = frame
        if BROKEN not in frame.columns:
            known = frame.with_columns(pl.lit(None, pl.Int64).alias(c) for c in (BROKEN, LATE_ID))
        values, of = pl.Series(promised), pl.Series(late)
        return known.with_columns(
            *(pl.when(of).then(pl.max_horizontal(pl.col(c), values)).otherwise(pl.col(c)).alias(c) for c in broke),
            pl.when(of).then(pl.col(ROW)).otherwise(pl.col(LATE_ID)).alias(LATE_ID),
        )
