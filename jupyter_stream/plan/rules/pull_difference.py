"""A bag difference goes up, above a join, where that spares the join negative rows and costs less (§5.4.2, rule 1).

    SELECT ... FROM (a EXCEPT ALL b) x JOIN c ON x.k = c.k
    (SELECT ... FROM a JOIN c) EXCEPT ALL (SELECT ... FROM b JOIN c)

Of whole rows only: max(0, l - r) * s = max(0, l * s - r * s) copies of a joined row, at every instant. EXCEPT ALL ON chooses
among left rows, and would choose others among joined ones.
"""

from __future__ import annotations

from dataclasses import replace

from jupyter_stream.functions.expression import Column
from jupyter_stream.plan.cost import cost
from jupyter_stream.plan.logical import Bags, Plan, Project, RelationJoin
from jupyter_stream.plan.patterns import labelled
from jupyter_stream.plan.rates import Rates


def pull_difference(plan: Plan, rates: Rates) -> Plan | None:
    """The plan with the difference on top; None where it stays."""
    if not isinstance(plan, RelationJoin) or plan.kind != "inner":
        return None
    for port, side in enumerate(plan.inputs):
        other = plan.inputs[1 - port]
        if not (isinstance(side, Bags) and side.kind == "except all" and not side.on):
            continue
        if labelled(other).pattern == "STR":
            continue
        pulled = _pulled(plan, port, side)
        if cost(pulled, rates) < cost(plan, rates):
            return pulled
    return None


def _pulled(plan: RelationJoin, port: int, difference: Bags) -> Bags:
    joins = []
    for part in difference.parts:
        items = tuple(
            (f.name, Column(own.name, own.dtype)) for f, own in zip(difference.schema, part.schema, strict=True)
        )
        same = part.schema == difference.schema
        named = part if same else Project(part, items, difference.schema)
        joins.append(replace(plan, left=named) if port == 0 else replace(plan, right=named))
    return Bags("except all", tuple(joins), plan.schema)


__all__ = ["pull_difference"]
