"""Which joins a FOREIGN KEY speaks of: those of the stream that declares it with the one it refers to (CIDR paper §4.1).

A row's partner comes at most k after it. So the join bounds the difference of times by k on that side: a row without a partner
is known to be alone when the other stream has got k past it, rather than when its window ends.
"""

from __future__ import annotations

from dataclasses import dataclass

from jupyter_stream.functions.expression import Column, Expr
from jupyter_stream.plan.catalog import References, StreamDef
from jupyter_stream.plan.logical import Derived, Filter, Join, Plan, Project, Sample, Scan


@dataclass(frozen=True)
class Referring:
    """An input of a join whose rows refer to the other's.

    Attributes:
        port: 0 for the left one, 1 for the right one.
        constraint: what it declares.
    """

    port: int
    constraint: References


def referring(plan: Join) -> Referring | None:
    """The FOREIGN KEY that a join follows, None if it follows none: all its columns are among the join's equal ones."""
    sides = [[_origin(part, pair[port]) for pair in plan.keys] for port, part in enumerate(plan.inputs)]
    for port in (0, 1):
        pairs = [(a, b) for a, b in zip(sides[port], sides[1 - port], strict=True) if a is not None and b is not None]
        for stream in {id(a[0]): a[0] for a, _ in pairs}.values():
            for constraint in stream.constraints:
                if isinstance(constraint, References):
                    equal = {(a[1], b[1]) for a, b in pairs if a[0] is stream and b[0].name == constraint.stream}
                    if set(zip(constraint.columns, constraint.theirs, strict=True)) <= equal:
                        return Referring(port, constraint)
    return None


def bounds(plan: Join) -> tuple[int | None, int | None]:
    """The least and greatest right time minus left time of pairs, by the join's windows and what it follows."""
    found = referring(plan)
    if found is None:
        return plan.low, plan.high
    within = found.constraint.within
    if found.port == 0:
        return plan.low, within if plan.high is None else min(plan.high, within)
    return -within if plan.low is None else max(plan.low, -within), plan.high


def _origin(plan: Plan, expr: Expr) -> tuple[StreamDef, str] | None:
    """The stream and column a column of these rows is of, where each row is one row of the stream with its time."""
    if not isinstance(expr, Column):
        return None
    match plan:
        case Scan(stream=stream):
            return (stream, expr.name) if stream.table is None else None
        case Filter() | Derived() | Sample():
            return _origin(plan.input, expr)
        case Project(items=items):
            below = next((e for name, e in items if name == expr.name), None)
            return None if below is None else _origin(plan.input, below)
    return None


__all__ = ["Referring", "bounds", "referring"]
