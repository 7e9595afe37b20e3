"""At which instants rows progress, where a plan alone says it: those at which extents end."""

from __future__ import annotations

from jupyter_stream.plan.logical import (
    Aggregate,
    ExtentRows,
    Join,
    Plan,
    Top,
    ToStream,
    Union,
    WindowFunctions,
)
from jupyter_stream.windows import Schedule, Window


def instants(plan: Plan) -> Schedule | None:
    """Rows progress a microsecond before these instants and never else; None where nothing says so."""
    match plan:
        case Top() | WindowFunctions() | ExtentRows():
            return instants(plan.input)
        case Aggregate():
            return plan.window.schedule
        case ToStream():
            return None if plan.looks is None else plan.looks.schedule
        case Union() | Join():
            each = {instants(part) for part in plan.inputs}
            return each.pop() if len(each) == 1 else None
    return instants(plan.inputs[0]) if plan.row_by_row else None


def one_instant_each(window: Window, below: Plan) -> bool:
    """Whether all rows of an extent come at one instant: extents don't overlap, and end where those below end."""
    return window.tumbling and instants(below) == window.schedule


__all__ = ["instants", "one_instant_each"]
