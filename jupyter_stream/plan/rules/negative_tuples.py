"""Every window as changes, every join and DISTINCT over changes: the plan the negative-tuple approach runs (§2.3.1).

pairs of s [RANGE d] and t [RANGE d], each with its end
the pairs of the rows alive in s [RANGE d] and those alive in t [RANGE d], change by change
"""

from __future__ import annotations

from dataclasses import replace

from jupyter_stream.plan.logical import Alive, Distinct, Join, Plan, Project, RelationJoin
from jupyter_stream.plan.relations import is_relation
from jupyter_stream.plan.rules.common import meets_by_windows, narrowed, plain
from jupyter_stream.windows import LifetimeWindow

_UNBOUNDED = LifetimeWindow(None, written=False)


def negative_tuples(plan: Plan) -> Plan | None:
    """The node over changes; None where it is already, or can't be."""
    match plan:
        case Distinct(lives=False) if not is_relation(plan.input):
            rows = Alive(plan.input, plan.window, plan.input.schema, ends=plan.ends)
            return replace(plan, input=rows, window=_UNBOUNDED, ends=False)
        case Alive(ends=True):
            return _changes(plan.input)
    return None


def _changes(plan: Plan) -> Plan | None:
    """What gives joined rows, as changes: the columns above the join say which it needs."""
    if not isinstance(plan, Project):
        return None
    names, below = plain(plan), plan.input
    if names is None:
        return None
    if not isinstance(below, Join) or not meets_by_windows(below):
        return None
    join = narrowed(below, {c.name for c in names.values()})
    if join is None:
        return None
    left, right = (
        Alive(part, window.lifetime, part.schema)
        for part, window in zip(join.inputs, join.windows, strict=True)
        if window.lifetime is not None
    )
    return replace(
        plan,
        input=RelationJoin(left, right, "inner", join.keys, join.residual, join.right_names, join.schema),
    )


__all__ = ["negative_tuples"]
