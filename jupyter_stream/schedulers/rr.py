"""Policy: Stream Mill's round robin: as breadth first, but it gives control back where that backtracks."""

from __future__ import annotations

from typing import ClassVar

from jupyter_stream.schedulers.next_operator import Walk, encore, forward
from jupyter_stream.schedulers.protocol import STEP_ROWS, Scheduler, WorkOrder


class Exits(Scheduler):
    """Encore, else forward, else exit."""

    name: ClassVar[str] = "rr"
    description: ClassVar[str] = "as bfs, but it gives control back to the engine instead of backtracking (Stream Mill)"

    def order(self) -> WorkOrder:
        """By these rules."""
        return Walk((encore, forward), STEP_ROWS)
