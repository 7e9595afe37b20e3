"""Selections go down: below DISTINCT, set operations, unions, projections and joins, towards the streams (§5.4.2, rule 1).

    SELECT * FROM (SELECT DISTINCT k, n FROM s [RANGE d]) WHERE n > 1
    SELECT DISTINCT k, n FROM s [RANGE d] WHERE n > 1

Only what can't fail is moved, so that the same rows are reported in `errors`.
"""

from __future__ import annotations

from dataclasses import replace

from jupyter_stream.functions.expression import Column, Expr, columns, conjuncts, substitute
from jupyter_stream.plan.logical import (
    Alive,
    Bags,
    Distinct,
    Filter,
    Join,
    Plan,
    Project,
    RelationJoin,
    TableRelation,
    Union,
)
from jupyter_stream.plan.rules.common import all_of, filtered, moves, plain, renamed


def push_selections(plan: Plan) -> Plan | None:
    """The plan with a selection further down; None if there is none to move."""
    if isinstance(plan, Join | RelationJoin) and plan.kind == "inner" and plan.residual is not None:
        return _out_of_condition(plan, tuple(conjuncts(plan.residual)))
    if not isinstance(plan, Filter):
        return None
    parts = conjuncts(plan.predicate)
    movable = [p for p in parts if moves(p)]
    if not movable:
        return None
    below, moved = _below(plan.input, movable)
    if not moved:
        return None
    there = set(moved)
    return filtered(below, [p for p in parts if p not in there])


def _out_of_condition(plan: Join | RelationJoin, parts: tuple[Expr, ...]) -> Plan | None:
    """A join without the part of its condition that is on one side only."""
    below, moved = _joined(plan, [p for p in parts if moves(p)])
    there = set(moved)
    rest = [p for p in parts if p not in there]
    if not moved or not isinstance(below, Join | RelationJoin):
        return None
    return replace(below, residual=all_of(rest) if rest else None)


def _below(plan: Plan, parts: list[Expr]) -> tuple[Plan, list[Expr]]:
    """The plan with conditions on its inputs, and those that could be put there."""
    match plan:
        case Distinct(lives=False) | Alive():
            return replace(plan, input=filtered(plan.input, parts)), parts
        case Project():
            names = plain(plan)
            if names is None:
                return plan, []
            inside = [substitute(p, dict(names)) for p in parts]
            return replace(plan, input=filtered(plan.input, inside)), parts
        case Union() | Bags(on=()):
            names_of = plan.schema.names
            sides = tuple(filtered(one, [renamed(p, names_of, one) for p in parts]) for one in plan.parts)
            return replace(plan, parts=sides), parts
        case Bags():
            return _compared(plan, parts)
        case Join(kind="inner") | RelationJoin(kind="inner"):
            return _joined(plan, parts)
    return plan, []


def _compared(plan: Bags, parts: list[Expr]) -> tuple[Plan, list[Expr]]:
    """EXCEPT ALL ON: a condition on the columns compared takes out a value on both sides or on neither."""
    there = dict(plan.on)
    moved = [p for p in parts if columns(p) <= set(there)]
    if not moved:
        return plan, []
    left, right = plan.parts
    types = {f.name: f.dtype for f in right.schema}
    names = {a: Column(b, types[b]) for a, b in there.items()}
    if any(types[b] != f.dtype for a, b in plan.on for f in left.schema if f.name == a):
        return plan, []
    sides = (filtered(left, moved), filtered(right, [substitute(p, dict(names)) for p in moved]))
    return replace(plan, parts=sides), moved


def _joined(plan: Join | RelationJoin, parts: list[Expr]) -> tuple[Plan, list[Expr]]:
    lefts = set(plan.left.schema.names)
    own = {n: Column(f.name, f.dtype) for n, f in zip(plan.right_names, plan.right.schema, strict=True)}
    on_left = [p for p in parts if columns(p) <= lefts and not isinstance(plan.left, TableRelation)]
    on_right = [p for p in parts if columns(p) <= set(own) and not isinstance(plan.right, TableRelation)]
    there = set(on_left)
    on_right = [p for p in on_right if p not in there]
    if not on_left and not on_right:
        return plan, []
    right = filtered(plan.right, [substitute(p, dict(own)) for p in on_right])
    return replace(plan, left=filtered(plan.left, on_left), right=right), [*on_left, *on_right]


__all__ = ["push_selections"]
