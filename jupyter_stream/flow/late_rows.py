"""Late rows, set apart where answers before a punctuation are final."""

from __future__ import annotations

import numpy as np
import polars as pl

from jupyter_stream.arrays.rows import rows_at, rows_where
from jupyter_stream.core.control import ControlTable
from jupyter_stream.core.messages import BROKEN, LATE_ID, TS, Missed, ints


def in_time(frame: pl.DataFrame, reached: int, control: ControlTable) -> tuple[pl.DataFrame, Missed | None]:
    """The rows that are not late, and what is told of the others.

    Args:
        frame: rows with `$ts`, and perhaps the punctuations they broke.
        reached: answers before this time are final.
        control: counts them.
    """
    late = ints(frame.get_column(TS)) < reached
    if BROKEN in frame.columns:
        late = late | (frame.get_column(TS) < frame.get_column(BROKEN)).fill_null(False).to_numpy()
    if not late.any():
        return frame, None
    missed = rows_where(frame, late)
    control.late_rows += missed.height
    told = Missed(ints(missed.get_column(LATE_ID).drop_nulls()), None) if LATE_ID in missed.columns else None
    return rows_at(frame, np.flatnonzero(~late)), told
