"""Rows so far beyond all others that they would end the stream: one of year 9999 makes every later row late.

Judged row by row in order of arrival, so that batching changes nothing: a row is refused if it is further than `ahead` beyond
the clock and beyond the newest row that was taken before it. Only times of streams whose rows make their progress are judged,
and only times of the calendar: integers may count from anywhere.
"""

from __future__ import annotations

import time
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from jupyter_stream.core.messages import Int64s
from jupyter_stream.core.time import MIN_TIME
from jupyter_stream.plan.catalog import Apart, Slack, StreamDef, Watermark

NEVER: Final = 2**62
"""No time is beyond this."""


def allowed(stream: StreamDef) -> int | None:
    """Microseconds that a stream's rows may be ahead; None for any."""
    column = None if stream.time.column is None else stream.schema.find(stream.time.column)
    if stream.time.kind != "external" or column is None or not isinstance(column.dtype, pl.Datetime | pl.Date):
        return None
    return stream.time.ahead if isinstance(stream.time.progress, Watermark | Slack | Apart) else None


def horizon(ahead: int | None) -> int:
    """The time up to which no row is refused, whatever came before it."""
    return NEVER if ahead is None else min(NEVER, time.time_ns() // 1_000 + ahead)


def outliers(ts: Int64s, newest: int, ahead: int, beyond: int) -> NDArray[np.bool_]:
    """Which rows are too far ahead.

    Args:
        ts: times in order of arrival; `MIN_TIME` for rows that don't count.
        newest: of the rows taken before.
        ahead: how far rows may be ahead.
        beyond: up to here none is refused.
    """
    far = ts > beyond
    before = np.maximum.accumulate(np.where(far, MIN_TIME, ts))
    wrong = far.copy()
    for at in np.flatnonzero(far).tolist():
        rest = max(newest, int(before[at]))
        if rest != MIN_TIME and int(ts[at]) - rest <= ahead:
            newest, wrong[at] = max(newest, int(ts[at])), False
    return wrong
