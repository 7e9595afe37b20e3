"""Policy: depth first. Rows go on toward the output as soon as they are made (`stream-mill-timestamps`)."""

from __future__ import annotations

from typing import ClassVar

from jupyter_stream.schedulers.next_operator import Walk, backtrack, encore, forward
from jupyter_stream.schedulers.protocol import Scheduler, WorkOrder

AMOUNT = 2_048
"""Rows of a step: Stream Mill's is one tuple; here few enough that the first answers come soon."""


class DepthFirst(Scheduler):
    """Forward, else encore, else backtrack."""

    name: ClassVar[str] = "dfs"
    description: ClassVar[str] = (
        "depth first: what an operator makes goes on at once, else it takes more, else backtrack (Stream Mill)"
    )

    def order(self) -> WorkOrder:
        """By these rules."""
        return Walk((forward, encore, backtrack), AMOUNT)
