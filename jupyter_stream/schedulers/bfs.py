"""Policy: breadth first. An operator takes all that waits before the next works (`stream-mill-timestamps`)."""

from __future__ import annotations

from typing import ClassVar

from jupyter_stream.schedulers.next_operator import Walk, backtrack, encore, forward
from jupyter_stream.schedulers.protocol import STEP_ROWS, Scheduler, WorkOrder


class BreadthFirst(Scheduler):
    """Encore, else forward, else backtrack."""

    name: ClassVar[str] = "bfs"
    description: ClassVar[str] = (
        "breadth first: an operator takes all that waits before the next one works, else backtrack (Stream Mill)"
    )

    def order(self) -> WorkOrder:
        """By these rules."""
        return Walk((encore, forward, backtrack), STEP_ROWS)
