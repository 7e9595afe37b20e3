"""Round places on an axis and their words, for charts on paper; in a live page Bokeh finds its own."""

from __future__ import annotations

import datetime as dt
import math
from typing import Final

from jupyter_stream.views.picture import Axis

_SECONDS: Final = (
    1e-3, 2e-3, 5e-3, 1e-2, 2e-2, 5e-2, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200,
    10800, 21600, 43200, 86400, 172800, 604800, 1209600, 2592000, 7776000, 31536000,
)  # fmt: skip


_UNITS: Final = ((1e15, "P", 1e15), (1e12, "T", 1e12), (1e9, "G", 1e9), (1e6, "M", 1e6), (1e5, "k", 1e3))


def ticks(axis: Axis, about: int) -> list[tuple[float, str]]:
    """About so many places of an axis with what stands there; all categories while there is room."""
    if axis.kind == "category":
        every = max(1, math.ceil(len(axis.factors) / 40))
        return [(i + 0.5, f) for i, f in enumerate(axis.factors) if i % every == 0]
    width = (axis.high - axis.low) or 1.0
    if axis.kind == "time":
        step = next((s for s in _SECONDS if s * 1000 * about >= width), _SECONDS[-1]) * 1000
    else:
        rough = width / about
        power = 10.0 ** math.floor(math.log10(rough))
        step = power * next(m for m in (1, 2, 5, 10) if m * power >= rough)
    first = math.ceil(axis.low / step - 1e-9)
    places = [i * step for i in range(first, math.floor(axis.high / step + 1e-9) + 1)][: 4 * about]
    most = max((abs(p) for p in places), default=0.0)
    return [(p, _time(p, step) if axis.kind == "time" else _number(p, step, most)) for p in places]


def _time(millis: float, step: float) -> str:
    at = dt.datetime(1970, 1, 1) + dt.timedelta(milliseconds=millis)
    if step >= 86_400_000:
        return at.strftime("%b %d") if step < 2_592_000_000 else at.strftime("%b %Y")
    if step >= 60_000:
        return at.strftime("%H:%M") if (at.hour or at.minute) else at.strftime("%b %d")
    return at.strftime("%H:%M:%S") if step >= 1000 else at.strftime("%H:%M:%S.%f")[:-3]


def day(millis: float) -> str:
    """The date of a place on a time axis."""
    try:
        return (dt.datetime(1970, 1, 1) + dt.timedelta(milliseconds=millis)).strftime("%Y-%m-%d")
    except OverflowError:
        return ""


def _number(value: float, step: float, most: float) -> str:
    """A number of an axis whose largest is `most`, with its unit where that is large."""
    if not most:
        return "0"
    for size, unit, per in _UNITS:
        if size <= most < 1e18 and step >= most * 1e-5:
            decimals = max(0, -math.floor(math.log10(step / per) + 1e-9))
            return f"{value / per + 0.0:,.{decimals}f} {unit}" if value else "0"
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    return f"{value + 0.0:,.{min(decimals, 8)}f}"
