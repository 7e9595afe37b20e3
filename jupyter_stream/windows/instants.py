"""At which instants a window looks, to tell how several can stand in one query; and which of them is the longest."""

from __future__ import annotations

import math
from collections.abc import Sequence

from jupyter_stream.windows.lifetime import LifetimeWindow
from jupyter_stream.windows.protocol import Window
from jupyter_stream.windows.rows import RowWindow
from jupyter_stream.windows.time import TimeWindow
from jupyter_stream.windows.tuples import TupleWindow


def instants(window: Window) -> tuple[object, ...] | None:
    """What two windows have in common if they look at the same instants; None for windows that stand alone.

    Of such windows with SLIDE, the extents that end at an instant hold one another: the longer what the shorter does.
    """
    if isinstance(window, TimeWindow):
        return ("time", window.slide, window.phase, window.on)
    if isinstance(window, TupleWindow):
        return ("rows", window.every, window.by_rank, window.on)
    if isinstance(window, RowWindow) and window.slide is not None:
        return ("numbers", window.slide, window.partition)
    return changes(window)


def changes(window: Window) -> tuple[object, ...] | None:
    """The same for windows without SLIDE, which look whenever something changes."""
    if isinstance(window, LifetimeWindow) or (isinstance(window, RowWindow) and window.slide is None):
        return ("changes", window.on)
    return None


def comparable(window: Window) -> tuple[object, ...] | None:
    """What two windows have in common if answers of theirs can stand in one row, at the instants both look at."""
    return ("time", window.on) if isinstance(window, TimeWindow) else instants(window)


def longest(windows: Sequence[Window]) -> Window:
    """The window with the longest range, the first of several; a landmark is longest of all, the newest rows are shortest."""
    return max(windows, key=length)


def length(window: Window) -> float:
    """How long a window is, to compare it with others."""
    if isinstance(window, TimeWindow | TupleWindow | LifetimeWindow):
        return math.inf if window.range is None else window.range
    if isinstance(window, RowWindow) and window.slide is not None:
        return window.rows
    return 0
