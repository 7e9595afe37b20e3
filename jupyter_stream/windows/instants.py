"""At which instants a window looks, to tell whether several can stand side by side; and which of them is the longest."""

from __future__ import annotations

import math
from collections.abc import Sequence

from jupyter_stream.windows.protocol import Window
from jupyter_stream.windows.time import TimeWindow
from jupyter_stream.windows.tuples import TupleWindow


def instants(window: Window) -> tuple[object, ...] | None:
    """What two windows have in common if they look at the same instants; None for windows that stand alone.

    Of such windows, the extents that end at an instant hold one another: the longer what the shorter does.
    """
    if isinstance(window, TimeWindow):
        return ("time", window.slide, window.phase, window.on)
    if isinstance(window, TupleWindow):
        return ("rows", window.every, window.by_rank, window.on)
    return None


def longest(windows: Sequence[Window]) -> Window:
    """The window with the longest range, the first of several; a landmark is longest of all."""
    return max(windows, key=_length)


def _length(window: Window) -> float:
    if isinstance(window, TimeWindow | TupleWindow):
        return math.inf if window.range is None else window.range
    return 0
