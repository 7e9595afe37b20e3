"""Conditions of joins: equal keys, bounds on the difference of times, filters of one input, and what is left over."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass, replace

from jupyter_stream import functions
from jupyter_stream.functions import Call, Column, Expr, Literal
from jupyter_stream.functions.expression import columns, substitute
from jupyter_stream.language.scope import time_of
from jupyter_stream.plan.logical import Alive, Filter, Join, Lookup, Plan, RelationJoin, ToStream

_COMPARISONS = {"<": (None, -1), "<=": (None, 0), ">": (1, None), ">=": (0, None), "=": (0, 0)}
"""What `difference op 0` says of the least and the greatest difference."""


def conjuncts(condition: Expr) -> list[Expr]:
    """The parts of a condition that all have to be true."""
    if isinstance(condition, Call) and condition.function == "and":
        return [part for arg in condition.args for part in conjuncts(arg)]
    return [condition]


def all_of(parts: list[Expr]) -> Expr | None:
    """The condition that all of them are true; None of none."""
    found: Expr | None = None
    for part in parts:
        found = part if found is None else functions.resolve("and", [found, part])
    return found


def absorb(plan: Plan, where: Expr) -> Plan:
    """A join with WHERE: for an inner join its conditions are the join's own, otherwise it filters the joined rows."""
    if isinstance(plan, Join) and plan.kind == "inner":
        return take(plan, where, into_inputs=True)
    if isinstance(plan, RelationJoin) and plan.kind == "inner":
        return matching(plan, where)
    if isinstance(plan, Lookup) and plan.kind == "inner":
        own = set(plan.input.schema.names)
        before = all_of([p for p in conjuncts(where) if columns(p) and columns(p) <= own])
        after = all_of([p for p in conjuncts(where) if not (columns(p) and columns(p) <= own)])
        if before is not None:
            plan = replace(plan, input=absorb(plan.input, before))
        return plan if after is None else matched(plan, after)
    if (isinstance(plan, Alive) and plan.ends) or (isinstance(plan, ToStream) and plan.looks is not None):
        below = absorb(plan.input, where)
        if not isinstance(below, Filter):  # it is the conditions of the join that is looked at
            return replace(plan, input=below)
    return Filter(plan, where, plan.schema)


def take(join: Join, condition: Expr, into_inputs: bool) -> Join:
    """Conditions of an inner join go where they cost least; those of an outer one only decide who is a partner."""
    left, right = join.left, join.right
    keys = list(join.keys)
    low, high = join.low, join.high
    rest: list[Expr] = [] if join.residual is None else [join.residual]
    own = {f.name for f in left.schema}
    back = {n: Column(f.name, f.dtype) for n, f in zip(join.right_names, right.schema, strict=True)}
    times = _times(join)
    for part in conjuncts(condition):
        named = columns(part)
        bound = _difference(part, times)
        if bound is not None:
            low, high = _tighter(low, bound[0], max), _tighter(high, bound[1], min)
        if named and named <= own and into_inputs:
            left = absorb(left, part)
        elif named and named <= set(back) and into_inputs:
            right = absorb(right, substitute(part, dict(back)))
        elif (pair := equal_pair(part, own, back)) is not None and bound is None:
            keys.append(pair)
        else:
            rest.append(part)
    return replace(join, left=left, right=right, keys=tuple(keys), residual=all_of(rest), low=low, high=high)


def matched(lookup_: Lookup, condition: Expr) -> Lookup:
    """A look-up with a condition: equal keys, and a rest."""
    back = {n: Column(f.name, f.dtype) for n, f in zip(lookup_.right_names, lookup_.table.schema, strict=True)}
    keys, rest = keys_and_rest(condition, set(lookup_.input.schema.names), back)
    return replace(lookup_, keys=lookup_.keys + keys, residual=_both(lookup_.residual, rest))


def matching(plan: RelationJoin, condition: Expr) -> RelationJoin:
    """A join of relations with a condition: equal keys, and a rest."""
    back = {n: Column(f.name, f.dtype) for n, f in zip(plan.right_names, plan.right.schema, strict=True)}
    keys, rest = keys_and_rest(condition, set(plan.left.schema.names), back)
    return replace(plan, keys=plan.keys + keys, residual=_both(plan.residual, rest))


def keys_and_rest(
    condition: Expr, own: set[str], back: dict[str, Column]
) -> tuple[tuple[tuple[Expr, Expr], ...], Expr | None]:
    """A condition as the pairs it sets equal, and what else it asks.

    Args:
        condition: over the joined rows.
        own: the left side's names.
        back: the right side's names among the joined ones, as that side's own columns.
    """
    keys: list[tuple[Expr, Expr]] = []
    rest: list[Expr] = []
    for part in conjuncts(condition):
        pair = equal_pair(part, own, back)
        if pair is not None:
            keys.append(pair)
        else:
            rest.append(part)
    return tuple(keys), all_of(rest)


def _both(one: Expr | None, other: Expr | None) -> Expr | None:
    return all_of([part for part in (one, other) if part is not None])


def _tighter(one: int | None, other: int | None, pick: Callable[[int, int], int]) -> int | None:
    if one is None or other is None:
        return one if other is None else other
    return pick(one, other)


def equal_pair(part: Expr, own: set[str], back: dict[str, Column]) -> tuple[Expr, Expr] | None:
    """`left expression = right expression`, either way round."""
    if not isinstance(part, Call) or part.function != "=" or len(part.args) != 2:
        return None
    for one, other in (part.args, part.args[::-1]):
        here, there = columns(one), columns(other)
        if here and there and here <= own and there <= set(back):
            return one, substitute(other, dict(back))
    return None


@dataclass(frozen=True)
class _Times:
    """What the two times are called in the joined row; None where no column holds one."""

    left: str | None
    right: str | None


def _times(join: Join) -> _Times:
    right = time_of(join.right).column
    names = dict(zip((f.name for f in join.right.schema), join.right_names, strict=True))
    return _Times(time_of(join.left).column, None if right is None else names[right])


def _difference(part: Expr, times: _Times) -> tuple[int | None, int | None] | None:
    """What a comparison says of right time minus left time: the least and the greatest; None if it isn't about that."""
    if not isinstance(part, Call) or part.function not in _COMPARISONS or len(part.args) != 2:
        return None
    one, other = (_linear(arg, times) for arg in part.args)
    if one is None or other is None:
        return None
    of_left, of_right, constant = (a - b for a, b in zip(one, other, strict=True))
    least, greatest = _COMPARISONS[part.function]
    if (of_left, of_right) == (-1, 1):  # right - left + constant op 0
        return (
            None if least is None else least - constant,
            None if greatest is None else greatest - constant,
        )
    if (of_left, of_right) == (1, -1):  # left - right + constant op 0
        return (
            None if greatest is None else constant - greatest,
            None if least is None else constant - least,
        )
    return None


def _linear(expr: Expr, times: _Times) -> tuple[int, int, int] | None:
    """`a * left time + b * right time + constant`, None for anything else."""
    if isinstance(expr, Column):
        if expr.name == times.left:
            return 1, 0, 0
        return (0, 1, 0) if expr.name == times.right else None
    if isinstance(expr, Literal):
        if isinstance(expr.value, dt.timedelta):
            return 0, 0, expr.value // dt.timedelta(microseconds=1)
        return (0, 0, expr.value) if type(expr.value) is int else None
    if expr.function in ("+", "-") and len(expr.args) == 2:
        one, other = (_linear(arg, times) for arg in expr.args)
        if one is None or other is None:
            return None
        sign = 1 if expr.function == "+" else -1
        return one[0] + sign * other[0], one[1] + sign * other[1], one[2] + sign * other[2]
    if expr.function == "cast" and expr.dtype.is_integer() and expr.args[0].dtype.is_integer():
        return _linear(expr.args[0], times)
    return None


__all__ = ["absorb", "all_of", "conjuncts", "matched", "matching", "take"]
