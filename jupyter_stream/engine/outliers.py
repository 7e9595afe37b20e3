"""Rows so far beyond all others that they would end the stream: one of year 9999 makes every later row late.

Judged row by row in order of arrival, so that batching changes nothing: a row is refused if it is further than `ahead` beyond
the clock (live streams), the newest row that was taken before it (replays that say so), or both (all others).
Only times of streams whose rows make their progress are judged,
and only times of the calendar: integers may count from anywhere.
"""

from __future__ import annotations

import time
from typing import Final, Literal, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from jupyter_stream.core.messages import Int64s
from jupyter_stream.core.time import MIN_TIME
from jupyter_stream.plan.catalog import Apart, Slack, StreamDef, Watermark

AheadOf: TypeAlias = Literal["clock", "rows", "both"]
NEVER: Final = 2**62
"""No time is beyond this."""


def allowed(stream: StreamDef) -> int | None:
    """Microseconds that a stream's rows may be ahead; None for any."""
    column = None if stream.time.column is None else stream.schema.find(stream.time.column)
    if stream.time.kind != "external" or column is None or not isinstance(column.dtype, pl.Datetime | pl.Date):
        return None
    return stream.time.ahead if isinstance(stream.time.progress, Watermark | Slack | Apart) else None


def horizon(ahead: int | None, of: AheadOf) -> int:
    """The time up to which no row is refused, whatever came before it."""
    if ahead is None:
        return NEVER
    return MIN_TIME if of == "rows" else min(NEVER, time.time_ns() // 1_000 + ahead)


def outliers(ts: Int64s, newest: int, ahead: int, beyond: int, of: AheadOf) -> NDArray[np.bool_]:
    """Which rows are too far ahead.

    Args:
        ts: times in order of arrival; `MIN_TIME` for rows that don't count.
        newest: of the rows taken before.
        ahead: how far rows may be ahead.
        beyond: up to here none is refused.
        of: of what they are ahead.
    """
    far = ts > beyond
    if of == "clock":
        return far
    if of == "rows":
        return _of_rows(ts, newest, ahead)
    before = np.maximum.accumulate(np.where(far, MIN_TIME, ts))
    wrong = far.copy()
    for at in np.flatnonzero(far).tolist():
        rest = max(newest, int(before[at]))
        if rest != MIN_TIME and int(ts[at]) - rest <= ahead:
            newest, wrong[at] = max(newest, int(ts[at])), False
    return wrong


def _of_rows(ts: Int64s, newest: int, ahead: int) -> NDArray[np.bool_]:
    """Rows further ahead than that of the newest taken before each; the first of all is taken."""
    wrong = np.zeros(ts.size, np.bool_)
    before = np.concatenate([[newest], np.maximum(np.maximum.accumulate(ts), newest)[:-1]])
    first = np.flatnonzero((before != MIN_TIME) & (ts != MIN_TIME) & (ts - before > ahead))
    if not first.size:
        return wrong
    at = int(first[0])  # up to here all are taken
    newest = int(before[at])
    for number, time_ in enumerate(ts[at:].tolist(), at):
        if time_ - newest > ahead:
            wrong[number] = True
        else:
            newest = max(newest, time_)
    return wrong
