"""Arithmetic on the time axis, which ends: what lies beyond an end is that end, and minus and plus infinity stay what they are.

Whoever adds a length of time to times does it here, since plain 64 bit numbers begin anew behind their last. Not for
numbers of extents or rows.
"""

from __future__ import annotations

from typing import overload

import numpy as np

from jupyter_stream.core.messages import Int64s
from jupyter_stream.core.time import MAX_TIME, MIN_TIME


@overload
def plus(times: int, span: int) -> int: ...


@overload
def plus(times: Int64s, span: int) -> Int64s: ...


def plus(times: int | Int64s, span: int) -> int | Int64s:
    """Times so many microseconds later, or earlier where `span` is negative.

    Args:
        times: microseconds, one or many; `MIN_TIME` and `MAX_TIME` stay.
        span: microseconds, from `-MAX_TIME` to `MAX_TIME`.

    Returns:
        As many, from `MIN_TIME` to `MAX_TIME`.
    """
    if not isinstance(times, np.ndarray):
        return times if times in (MIN_TIME, MAX_TIME) else min(max(times + span, MIN_TIME), MAX_TIME)
    if span >= 0:
        moved: Int64s = np.minimum(times, MAX_TIME - span)  # `MAX_TIME` comes out as itself
        moved += span
        infinite = times == MIN_TIME
    else:
        moved = np.maximum(times, MIN_TIME - span)
        moved += span
        infinite = times == MAX_TIME
    if infinite.any():
        moved[infinite] = times[infinite]
    return moved


def between(later: Int64s, earlier: Int64s) -> Int64s:
    """How much later times are than others, microseconds; as much as 64 bits hold where it is more, of either sign."""
    apart: Int64s = later - earlier
    beyond = ((later ^ earlier) & (later ^ apart)) < 0
    if beyond.any():
        apart[beyond] = np.where(later[beyond] < 0, MIN_TIME, MAX_TIME)
    return apart


__all__ = ["between", "plus"]
