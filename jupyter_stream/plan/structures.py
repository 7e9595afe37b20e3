"""What each node of a plan keeps, in words, for EXPLAIN: the physical choice that follows from the update patterns (§5.3)."""

from __future__ import annotations

from collections.abc import Sequence

from jupyter_stream.plan.logical import Aggregate, Alive, Bags, Distinct, Join, RelationJoin, Top, WindowFunctions
from jupyter_stream.plan.patterns import Edge
from jupyter_stream.plan.relations import is_relation
from jupyter_stream.plan.upkeep import Maintenance


def kept(edge: Edge, maintenance: Maintenance, by_values: Sequence[bool] = ()) -> str | None:
    """The state of the node an edge leaves; None if there is none, or if it is not that of a relation.

    Args:
        edge: the edge.
        maintenance: how the state of relations is kept.
        by_values: of each side whose rows are kept by key, whether they are found by all their values as well.
    """
    plan = edge.plan
    partitions = f"{maintenance.partitions} expiry partition" + ("s" if maintenance.partitions > 1 else "")
    match plan:
        case Alive() if edge.pattern == "MON":
            return None
        case Alive(ends=True):
            return "rows, searched one after the other" if maintenance.upkeep == "direct" else partitions
        case Alive():
            return "first in, first out"
        case Distinct() if is_relation(plan.input):
            return "counts by value"
        case Distinct() if maintenance.upkeep == "upa" and edge.pattern != "MON":
            return f"output and youngest duplicate, {partitions}"
        case Distinct():
            return "its input and its output"
        case Join():
            return "rows by key, freed as time passes"
        case RelationJoin():
            return ("rows alive, by key" if plan.keys else "rows alive, searched one after the other") + _also(
                by_values
            )
        case Bags(kind="net"):
            return "counts by value" if maintenance.upkeep == "nt" else None
        case Bags(on=()):
            return "counts by value"
        case Bags():
            return "rows alive, by key" + _also(by_values)
        case Aggregate() if not plan.window.sliding:
            return "an answer for each group"
        case Top() if is_relation(plan):
            return "counts by value, the best in order"
        case WindowFunctions() if is_relation(plan):
            return "counts by value"
    return None


def _also(by_values: Sequence[bool]) -> str:
    """Which rows that are taken back are found by all their values, the others among those of their key."""
    sides = [side for side, also in zip(("left", "right"), by_values, strict=False) if also]
    if not sides:
        return ""
    return ", and by value" if len(sides) == len(by_values) else f", and {sides[0]} ones by value"


__all__ = ["kept"]
