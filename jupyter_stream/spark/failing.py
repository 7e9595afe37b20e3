"""Expressions that some rows fail on, which would end a Spark query."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from jupyter_stream.core.schema import TIMESTAMP
from jupyter_stream.functions import Call, Column, Expr, Literal, compile_kernel
from jupyter_stream.plan.logical import Filter, Join, Lookup, Plan

Joined = TypeVar("Joined", Join, Lookup)


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


def filtered(plan: Joined) -> Plan:
    """An inner join whose condition can fail on a row becomes a filter of the joined rows."""
    if plan.kind != "inner" or plan.residual is None or not condition_can_fail(plan.residual):
        return plan
    return Filter(replace(plan, residual=None), plan.residual, plan.schema)
