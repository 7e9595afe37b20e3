"""A plan that makes each row from one row of a stream, as steps on the rows of its source. Not for what keeps rows."""

from __future__ import annotations

from jupyter_stream.plan.catalog import Step, StreamDef
from jupyter_stream.plan.logical import Plan, streams


def steps_of(plan: Plan) -> tuple[StreamDef, tuple[Step, ...]] | None:
    """The stream that is read, and what becomes of its source's rows; None where rows are put together, or of a table."""
    above: tuple[Step, ...] = ()
    while (steps := plan.steps) is not None:
        above = (*steps, *above)
        (plan,) = plan.inputs
    read = () if plan.inputs else streams(plan)
    if not read or read[0].table is not None:
        return None
    return read[0], (*read[0].steps, *above)
