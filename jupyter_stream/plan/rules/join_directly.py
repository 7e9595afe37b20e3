"""A join of relations whose rows end at known times is a join of rows with lifetimes: no negative rows (§5.4.3).

the pairs of (SELECT DISTINCT k FROM s [RANGE d]) and (SELECT DISTINCT k FROM t [RANGE d]), change by change
the same rows, each with its end, paired where their lifetimes meet
"""

from __future__ import annotations

from dataclasses import replace

from jupyter_stream.functions.expression import Column
from jupyter_stream.plan.cost import by_changes
from jupyter_stream.plan.logical import Alive, Bags, Distinct, Join, Plan, Project, RelationJoin
from jupyter_stream.plan.patterns import labelled
from jupyter_stream.plan.rates import Rates
from jupyter_stream.plan.rules.common import is_stream, plain
from jupyter_stream.windows import LifetimeWindow


def join_directly(plan: Plan, rates: Rates | None = None) -> Plan | None:
    """The join over lifetimes; None where it has to work on changes, or had better by the rates measured."""
    match plan:
        case Bags() if any(isinstance(p, Bags) and p.kind == "net" for p in plan.parts):  # they are taken together here
            parts = tuple(p.parts[0] if isinstance(p, Bags) and p.kind == "net" else p for p in plan.parts)
            return replace(plan, parts=parts)
        case Project(input=Alive(ends=True) as alive) if plain(plan) is not None:
            return replace(alive, input=replace(plan, input=alive.input), schema=plan.schema)
        case Project(input=Bags(kind="net") as net) if plain(plan) is not None:
            return Bags("net", (replace(plan, input=net.parts[0]),), plan.schema)
        case RelationJoin(kind="inner", residual=None) if all(_is_column(k) for pair in plan.keys for k in pair):
            return None if by_changes(plan, rates or Rates()) else _direct(plan)
    return None


def _is_column(key: object) -> bool:
    return isinstance(key, Column) and not key.name.startswith("$")


def _direct(plan: RelationJoin) -> Plan | None:
    found = [lifetimes(part) for part in plan.inputs]
    (left, longest), (right, other) = found
    if left is None or right is None or "STR" in (labelled(left).pattern, labelled(right).pattern):
        return None
    join = Join(
        left,
        right,
        "inner",
        plan.keys,
        None,
        None if other is None else 1 - other,
        None if longest is None else longest - 1,
        plan.right_names,
        plan.schema,
        (LifetimeWindow(longest), LifetimeWindow(other)),
    )
    return Bags("net", (Alive(join, LifetimeWindow(None, written=False), plan.schema, ends=True),), plan.schema)


def lifetimes(plan: Plan) -> tuple[Plan | None, int | None]:
    """A relation as rows with the ends of their lifetimes, and the longest of these; None for the first where that can't be."""
    match plan:
        case Alive(ends=False) if plan.window.on is None and is_stream(plan.input):
            return plan.input, plan.window.range
        case Distinct(ends=False, lives=False) if plan.window.on is None and is_stream(plan.input):
            return replace(plan, lives=True), plan.window.range
        case Project() if plain(plan) is not None:
            below, longest = lifetimes(plan.input)
            return (None if below is None else replace(plan, input=below)), longest
    return None, None


__all__ = ["join_directly", "lifetimes"]
