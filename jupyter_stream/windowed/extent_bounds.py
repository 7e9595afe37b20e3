"""The columns that say of an answer which extent of time it is of, and its own time."""

from __future__ import annotations

import polars as pl

from jupyter_stream.core.messages import TS, WINDOW_END, WINDOW_ID, WINDOW_START, Int64s
from jupyter_stream.windows import Window


def extent_bounds(
    window: Window, extents: Int64s, time: pl.DataType, wanted: frozenset[str] | None = None
) -> list[pl.Series]:
    """Where many extents start and end, and their numbers; then `$ts`, the last microsecond in each.

    Args:
        window: whose extents they are; over time.
        extents: their numbers.
        time: type of the windowing attribute.
        wanted: the columns that somebody reads, of which `$ts` is always one; None for all.
    """
    bounds = window.bounds(extents)
    assert bounds is not None
    starts, ends = bounds
    found = []
    if wanted is None or WINDOW_START in wanted:
        if starts is None:  # a landmark's extents have none
            found.append(pl.Series(WINDOW_START, [None], dtype=time).new_from_index(0, ends.size))
        else:
            found.append(pl.Series(WINDOW_START, starts).cast(time))
    if wanted is None or WINDOW_END in wanted:
        found.append(pl.Series(WINDOW_END, ends).cast(time))
    if wanted is None or WINDOW_ID in wanted:
        found.append(pl.Series(WINDOW_ID, extents))
    return [*found, pl.Series(TS, ends - 1)]


__all__ = ["extent_bounds"]
