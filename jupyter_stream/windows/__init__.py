"""One window per file: which extents, which lifetimes, when final, its Spark form. Knows nothing of syntax or operators."""

from jupyter_stream.windows.lifetime import LifetimeWindow
from jupyter_stream.windows.protocol import Window
from jupyter_stream.windows.time import TimeWindow

__all__ = ["WINDOWS", "LifetimeWindow", "TimeWindow", "Window"]

WINDOWS = (TimeWindow, LifetimeWindow)
