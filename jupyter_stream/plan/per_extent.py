"""Aggregates of extents' answers whose groups are of one extent each: these are answers per extent themselves.

Such as `SELECT max(n), e FROM (SELECT count(*) AS n, window_end AS e FROM s [RANGE 1 MINUTE TUMBLING] GROUP BY k) GROUP BY e`.
All rows of a group come at one instant, so nothing changes later. As a relation it keeps its groups for ever; what enters it is
the same, so where only that is asked for, in a join or under a window, it is a stream that keeps nothing.
"""

from __future__ import annotations

from dataclasses import replace

from jupyter_stream.plan.instants import instants
from jupyter_stream.plan.logical import Aggregate, Plan
from jupyter_stream.plan.time_columns import apart_of, time_columns
from jupyter_stream.windows import TimeWindow


def per_extent(plan: Plan) -> Plan:
    """A plan with windows in place of such relations; the same plan where there are none."""
    if not plan.inputs:
        return plan
    plan = plan.with_inputs([per_extent(part) for part in plan.inputs])
    if not isinstance(plan, Aggregate) or plan.user or plan.other_windows or plan.ends or plan.where is not None:
        return plan
    found = instants(plan.input)
    if found is None or not plan.window.keeps_all or plan.window.on is not None:
        return plan
    below = time_columns(plan.input)
    keys = [apart_of(expr, below) for _, expr in plan.keys]
    if not any(apart is not None and apart.exact for apart in keys):
        return plan
    phase, slide = found
    return replace(plan, window=TimeWindow(slide, slide, phase))


__all__ = ["per_extent"]
