"""The windows and joins of a plan, which keep rows on Spark: which is outermost, what is above and below, what they read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

from jupyter_stream.core.messages import TS
from jupyter_stream.functions.expression import Expr, columns
from jupyter_stream.plan.logical import Aggregate, AggregateCall, Join, Lookup, Plan, Sample, Scan, walk
from jupyter_stream.spark.aggregates import AGGREGATES, may_overflow
from jupyter_stream.spark.failing import can_fail
from jupyter_stream.windows import Window

Stage: TypeAlias = Aggregate | Join
"""A node that keeps rows."""


def outermost(plan: Plan) -> Stage | None:
    """The window or join whose answers are the query's own, None if there is none."""
    while _passed(plan):
        plan = plan.inputs[0]
    return plan if isinstance(plan, Stage) else None


def finished_here(plan: Plan) -> bool:
    """Whether what stands above the outermost window or join is done as its answers arrive, not on Spark.

    So it is where that can fail on an answer, which would end a Spark query, and for ungrouped ones, whose empty extents are
    filled in first.
    """
    stage = outermost(plan)
    if stage is None:
        return False
    if has_empty_extents(stage) or any(map(may_overflow, _calls(stage))):
        return True
    return any(can_fail(e) for node in above(plan) for e in node.expressions)


def above(plan: Plan) -> list[Plan]:
    """The nodes above the outermost window or join, outermost first; all down to it or to a union, if there is none."""
    found: list[Plan] = []
    while _passed(plan):
        found.append(plan)
        plan = plan.inputs[0]
    return found


def _passed(plan: Plan) -> bool:
    """Whether rows pass a node one by one on Spark, too."""
    return plan.row_by_row and not isinstance(plan, Sample)


def below(plan: Plan) -> Iterator[Plan]:
    """All nodes below one."""
    for part in plan.inputs:
        yield from walk(part)


def window_of(plan: Plan | None) -> Window | None:
    """The window of a windowed aggregate, None for other nodes."""
    return plan.window if isinstance(plan, Aggregate) else None


def windows_below(plan: Plan) -> bool:
    """Whether there are windows below a node."""
    return any(window_of(n) is not None for n in below(plan))


def unbounded(plan: Plan) -> bool:
    """Whether it is a join for whose pairs nothing bounds how far their times may be apart."""
    return isinstance(plan, Join) and (plan.low is None or plan.high is None)


def has_empty_extents(plan: Plan) -> bool:
    """Whether it is a window that has an answer for extents without rows."""
    return isinstance(plan, Aggregate) and not plan.keys and plan.window.schedule is not None


def looked_up_here(nodes: Iterable[Plan], inputs: Iterable[Expr]) -> bool:
    """Whether the way of a stream's rows to a window or join is ours: what comes after a look-up in a table can fail.

    Args:
        nodes: the way, the stream's end first.
        inputs: what the window or join computes of each row.
    """
    after = False
    for node in nodes:
        if after and any(can_fail(e) for e in node.expressions):
            return True
        after |= isinstance(node, Lookup)
    return after and any(can_fail(e) for e in inputs)


def stage_inputs(stage: Stage, port: int) -> list[Expr]:
    """What a window or join computes of each row of an input."""
    return [pair[port] for pair in stage.keys] if isinstance(stage, Join) else list(stage.expressions)


def on_column(plan: Plan | None) -> str | None:
    """The stream's own column that a window's ON names; None if it is computed, or the stream's time is read beside it."""
    window = window_of(plan)
    if plan is None or window is None:
        return None
    name, plan = window.on, plan.inputs[0]
    while _passed(plan) and name is not None:
        name = None if any(TS in columns(e) for e in plan.expressions) else plan.origin(name)
        plan = plan.inputs[0]
    return name if isinstance(plan, Scan) else None


def ordered(plan: Plan) -> bool:
    """Whether it has aggregates that go by arrival."""
    return any(AGGREGATES[c.function].ordered for c in _calls(plan) if c.function in AGGREGATES)


def _calls(plan: Plan) -> tuple[AggregateCall, ...]:
    return plan.aggregates if isinstance(plan, Aggregate) else ()
