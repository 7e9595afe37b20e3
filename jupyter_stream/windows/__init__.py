"""One window per file: which extents, which lifetimes, when final, its Spark form. `WINDOWS` is all there is."""

from jupyter_stream.windows.cumulate import CumulateWindow
from jupyter_stream.windows.frame import UP_TO_PEERS, WHOLE_PARTITION, Frame
from jupyter_stream.windows.lifetime import LifetimeWindow
from jupyter_stream.windows.longest import length_of, longest
from jupyter_stream.windows.over import OverWindow
from jupyter_stream.windows.protocol import Late, Schedule, Window
from jupyter_stream.windows.rows import RowWindow
from jupyter_stream.windows.session import SessionWindow
from jupyter_stream.windows.time import TimeWindow
from jupyter_stream.windows.tuples import TupleWindow

__all__ = [
    "BY_WORD",
    "UP_TO_PEERS",
    "WHOLE_PARTITION",
    "WINDOWS",
    "CumulateWindow",
    "Frame",
    "Late",
    "LifetimeWindow",
    "OverWindow",
    "RowWindow",
    "Schedule",
    "SessionWindow",
    "TimeWindow",
    "TupleWindow",
    "Window",
    "length_of",
    "longest",
]

WINDOWS: tuple[type[Window], ...] = (
    TimeWindow,
    CumulateWindow,
    LifetimeWindow,
    RowWindow,
    TupleWindow,
    SessionWindow,
    OverWindow,
)
BY_WORD: dict[str, type[TimeWindow]] = {
    kind.word: kind for kind in WINDOWS if issubclass(kind, TimeWindow) and kind.word is not None
}
"""Windows over time that a word behind RANGE d SLIDE s chooses."""
