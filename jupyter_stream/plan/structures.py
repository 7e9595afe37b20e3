"""What each node of a plan keeps, in words, for EXPLAIN: the physical choice that follows from the update patterns (§5.3)."""

from __future__ import annotations

from jupyter_stream.plan.logical import Aggregate, Alive, Bags, Distinct, Join, RelationJoin, Top
from jupyter_stream.plan.patterns import Edge
from jupyter_stream.plan.relations import is_relation, slides
from jupyter_stream.plan.upkeep import Maintenance


def kept(edge: Edge, maintenance: Maintenance) -> str | None:
    """The state of the node an edge leaves; None if there is none, or if it is not that of a relation."""
    plan = edge.plan
    partitions = f"{maintenance.partitions} expiry partition" + ("s" if maintenance.partitions > 1 else "")
    match plan:
        case Alive() if edge.pattern == "MON":
            return None
        case Alive(ends=True):
            return "rows looked through" if maintenance.upkeep == "direct" else partitions
        case Alive():
            return "first in, first out"
        case Distinct() if is_relation(plan.input):
            return "counts by value"
        case Distinct() if maintenance.upkeep == "upa" and edge.pattern != "MON":
            return f"output and youngest duplicate, {partitions}"
        case Distinct():
            return "input and output"
        case Join():
            return "rows by key, freed as time passes"
        case RelationJoin():
            return "rows alive, by key" if plan.keys else "rows alive, looked through"
        case Bags(kind="net"):
            return "counts by value" if maintenance.upkeep == "nt" else None
        case Bags(on=()):
            return "counts by value"
        case Bags():
            return "rows alive, by key"
        case Aggregate() if not slides(plan.window):
            return "answers by key"
        case Top() if is_relation(plan):
            return "counts by value, the best in order"
    return None


__all__ = ["kept"]
