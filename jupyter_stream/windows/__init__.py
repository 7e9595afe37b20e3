"""One window per file: which extents, which lifetimes, when final, its Spark form. `WINDOWS` is all there is."""

from jupyter_stream.windows.instants import changes, comparable, instants, length, longest
from jupyter_stream.windows.lifetime import LifetimeWindow
from jupyter_stream.windows.over import OverWindow
from jupyter_stream.windows.protocol import Window
from jupyter_stream.windows.rows import RowWindow
from jupyter_stream.windows.session import SessionWindow
from jupyter_stream.windows.time import TimeWindow
from jupyter_stream.windows.tuples import TupleWindow

__all__ = [
    "WINDOWS",
    "LifetimeWindow",
    "OverWindow",
    "RowWindow",
    "SessionWindow",
    "TimeWindow",
    "TupleWindow",
    "Window",
    "changes",
    "comparable",
    "instants",
    "length",
    "longest",
]

WINDOWS = (TimeWindow, LifetimeWindow, RowWindow, TupleWindow, SessionWindow, OverWindow)
