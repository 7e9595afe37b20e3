"""What windows become on Spark: rows of the reference's table, in its order. A new window may bring one of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class WindowOnSpark:
    """A row of the table.

    Attributes:
        name: the clause, as the reference names it.
        how: what it becomes.
        native: whether that is Spark's own; if not, a query with it runs as the kernel's operators, all of it.
    """

    name: str
    how: str
    native: bool = False


SLIDING: Final = WindowOnSpark(
    "[RANGE d SLIDE s], TUMBLING", "window(), with a start so that extents end at multiples of s", native=True
)
STARTING: Final = WindowOnSpark("TUMBLE, HOP, window()", "window()", native=True)
SESSION: Final = WindowOnSpark(
    "[SESSION gap]",
    "sessions of the kernel, by GROUP BY, since Spark's session_window drops late rows that an open session still takes",
)
SESSION_BY: Final = WindowOnSpark(
    "[SESSION] with its own PARTITION BY", "sessions of the kernel, by the window's PARTITION BY"
)
ON_COLUMN: Final = WindowOnSpark(
    "[... ON col]", "window() on that column; all extents close when the input ends", native=True
)
ON_EXPRESSION: Final = WindowOnSpark("[... ON expression]", "windows of the kernel")
OVER_SESSIONS: Final = WindowOnSpark("window over sessions", "windows of the kernel over its sessions")
CUMULATE: Final = WindowOnSpark("[RANGE d SLIDE s CUMULATE]", "window aggregate of the kernel, by GROUP BY")
LANDMARK: Final = WindowOnSpark("[RANGE ALL SLIDE s]", "window aggregate of the kernel, on one partition")
ROWS: Final = WindowOnSpark("[ROWS n SLIDE m]", "row windows of the kernel, by the window's PARTITION BY")
TUPLES: Final = WindowOnSpark("[RANGE d SLIDE 1 ROW]", "slide-by-tuple of the kernel, on one partition")
OVER: Final = WindowOnSpark("OVER (...)", "OVER of the kernel, by PARTITION BY")
NO_SLIDE: Final = WindowOnSpark(
    "no SLIDE", "a relation, kept by the kernel's operators; the handle shows it as it is now"
)

FORMS: Final = tuple(form for form in vars().values() if isinstance(form, WindowOnSpark))
"""Those above, in their order."""
