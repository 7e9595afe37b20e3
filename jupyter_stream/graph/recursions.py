"""The tables of WITH RECURSIVE that a query reads row by row, worked out when it starts. Looked up ones are where that begins."""

from __future__ import annotations

from jupyter_stream.core.table import RecursiveRows
from jupyter_stream.graph.graph import build
from jupyter_stream.graph.selected_tables import held
from jupyter_stream.plan.logical import Plan, Scan, walk


def work_out_recursions(plan: Plan) -> None:
    """Let each hold what it gives now.

    Raises:
        QueryError: one goes on for too long.
    """
    for node in walk(plan):
        rows = node.stream.table if isinstance(node, Scan) else None
        if isinstance(rows, RecursiveRows):
            rows.hold(held(rows, build))


__all__ = ["work_out_recursions"]
