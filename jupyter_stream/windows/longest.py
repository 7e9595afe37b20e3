"""Which of several windows is the longest."""

from __future__ import annotations

import math
from collections.abc import Sequence

from jupyter_stream.windows.protocol import Window


def longest(windows: Sequence[Window]) -> Window:
    """The window that holds a row the longest, the first of several; a landmark is longest of all."""
    return max(windows, key=length_of)


def length_of(window: Window) -> float:
    """How long a window holds a row, to compare it with others."""
    return math.inf if window.length is None else window.length
