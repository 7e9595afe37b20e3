"""Which joins a FOREIGN KEY speaks of: those of the stream that declares it with the one it refers to (CIDR paper §4.1).

A row's partner comes at most k after it. So the join bounds the difference of times by k on that side: a row without a partner
is known to be alone when the other stream has got k past it, rather than when its window ends: it has broken the constraint then.
"""

from __future__ import annotations

from dataclasses import dataclass

from jupyter_stream.functions.expression import Column, Expr
from jupyter_stream.plan.catalog import References, StreamDef
from jupyter_stream.plan.logical import Derived, Filter, Join, Plan, Project, Sample, Scan, under


@dataclass(frozen=True)
class Referring:
    """An input of a join whose rows refer to the other's.

    Attributes:
        port: 0 for the left one, 1 for the right one.
        constraint: what it declares.
        stream: the name of the stream that declares it.
    """

    port: int
    constraint: References
    stream: str


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
                        return Referring(port, constraint, stream.name)
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


def judged(plan: Join) -> Referring | None:
    """The FOREIGN KEY that rows without a partner in this join have broken; None where the join can't tell.

    It can where it looks for all a row may refer to: rows of the other stream that are alive in its window, left out by no
    condition, up to k after the row.
    """
    found = referring(plan)
    if found is None or len(found.constraint.columns) != len(plan.keys) or not _whole(plan.inputs[1 - found.port]):
        return None
    if plan.kind in ("semi", "anti") and found.port == 1:
        return None  # left rows are kept for one partner only
    if plan.kind != "inner" and plan.residual is not None:
        return None
    theirs = plan.windows[1 - found.port]
    if theirs.sliding:
        return None
    before, after = (plan.low, plan.high) if found.port == 0 else _turned(plan.low, plan.high)
    alive = None if theirs.span is None else 1 - theirs.span
    return found if before == alive and (after is None or after >= found.constraint.within) else None


def _turned(low: int | None, high: int | None) -> tuple[int | None, int | None]:
    """Bounds of a difference, as bounds of the opposite one."""
    return None if high is None else -high, None if low is None else -low


def _whole(plan: Plan) -> bool:
    """Whether these are all rows of a stream."""
    return isinstance(under(plan, Derived, Project), Scan)


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


__all__ = ["Referring", "bounds", "judged", "referring"]
