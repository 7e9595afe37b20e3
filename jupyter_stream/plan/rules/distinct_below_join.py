"""DISTINCT goes below a join of windows, whose state then holds each value once (§5.4.2, rule 2).

    SELECT DISTINCT l.k, r.n FROM s [RANGE d] l, t [RANGE d] r WHERE l.k = r.k
    SELECT l.k, r.n FROM (SELECT DISTINCT k FROM s [RANGE d]) l, (SELECT DISTINCT k, n FROM t [RANGE d]) r WHERE l.k = r.k

What the join of distinct rows gives is made distinct again, unless all their columns are given.
"""

from __future__ import annotations

from dataclasses import replace

from jupyter_stream.plan.cost import cost
from jupyter_stream.plan.logical import Distinct, Join, Plan, Project
from jupyter_stream.plan.rates import Rates
from jupyter_stream.plan.rules.common import meets_by_windows, narrowed, plain


def distinct_below_join(plan: Plan, rates: Rates) -> Plan | None:
    """The plan with DISTINCT on both sides of the join; None where that can't be done or costs more."""
    if not (isinstance(plan, Distinct) and plan.ends and isinstance(plan.input, Project)):
        return None
    project, join = plan.input, plan.input.input
    names = plain(project)
    if names is None or not isinstance(join, Join) or not meets_by_windows(join):
        return None
    below = narrowed(join, {c.name for c in names.values()})
    if below is None or not all(side.schema.fields for side in below.inputs):
        return None  # a side of which no column is given has no values to be distinct
    below = replace(below, left=_distinct(below, 0), right=_distinct(below, 1))
    pushed = replace(plan, input=replace(project, input=below))
    return pushed if cost(pushed, rates) < cost(plan, rates) else None


def _distinct(join: Join, port: int) -> Distinct:
    part, lifetime = join.inputs[port], join.windows[port].lifetime
    assert lifetime is not None
    return Distinct(part, lifetime, part.schema, lives=True)


__all__ = ["distinct_below_join"]
