"""The plan as Spark is to run it: the same meaning, with what would end a Spark query moved to where it can be caught."""

from __future__ import annotations

from dataclasses import replace

from jupyter_stream.core.schema import TIMESTAMP
from jupyter_stream.functions import Call, Column, Expr, Literal, compile_kernel
from jupyter_stream.plan.logical import (
    Aggregate,
    Alive,
    Bags,
    Derived,
    Distinct,
    ExtentChanges,
    ExtentRows,
    Filter,
    Join,
    Lookup,
    Newest,
    Over,
    Plan,
    Project,
    RelationJoin,
    Retimed,
    Sample,
    Scan,
    TableRelation,
    Top,
    ToStream,
    Union,
)


def normal(plan: Plan) -> Plan:
    """Conditions of inner joins that can fail on a row become filters of the joined rows."""
    match plan:
        case Scan() | TableRelation() | ExtentRows():
            return plan
        case Union(parts=parts) | Bags(parts=parts):
            return replace(plan, parts=tuple(normal(p) for p in parts))
        case RelationJoin(left=left, right=right):
            return replace(plan, left=normal(left), right=normal(right))
        case Join(left=left, right=right):
            return _guarded(replace(plan, left=normal(left), right=normal(right)))
        case Lookup():
            return _guarded(replace(plan, input=normal(plan.input)))
        case Filter() | Project() | Derived() | Retimed() | Sample() | Aggregate() | Over():
            return replace(plan, input=normal(plan.input))
        case Alive() | Newest() | Distinct() | ToStream() | Top() | ExtentChanges():
            return replace(plan, input=normal(plan.input))


def can_fail(expr: Expr) -> bool:
    """Whether there are rows it can't be computed for."""
    return bool(compile_kernel(expr).failures)


def condition_can_fail(condition: Expr | None) -> bool:
    """Whether there are rows it can't be computed for, but for times beyond the calendar plus some hours."""
    return condition is not None and can_fail(_without_shifts(condition))


def _without_shifts(expr: Expr) -> Expr:
    if not isinstance(expr, Call):
        return expr
    shifted = expr.function in ("+", "-") and expr.dtype == TIMESTAMP
    if shifted and isinstance(expr.args[0], Column) and isinstance(expr.args[1], Literal):
        return expr.args[0]
    return replace(expr, args=tuple(_without_shifts(a) for a in expr.args))


def _guarded(plan: Join | Lookup) -> Plan:
    if plan.kind != "inner" or plan.residual is None or not condition_can_fail(plan.residual):
        return plan
    return Filter(replace(plan, residual=None), plan.residual, plan.schema)
