"""Conditions of joins: equal keys, bounds on the difference of times, filters of one input, and what is left over."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from jupyter_stream import functions
from jupyter_stream.core.messages import TS
from jupyter_stream.functions import Call, Column, Expr
from jupyter_stream.functions.expression import columns, conjuncts, substitute
from jupyter_stream.plan.logical import Alive, Filter, Join, Lookup, Plan, Project, RelationJoin, ToStream, Unnest
from jupyter_stream.plan.time_columns import difference, linear, time_columns

_COMPARISONS = {"<": (None, -1), "<=": (None, 0), ">": (1, None), ">=": (0, None), "=": (0, 0)}
"""What `difference op 0` says of the least and the greatest difference."""


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
    if isinstance(plan, Unnest) or (isinstance(plan, Project) and _adds_only(plan)):
        below = plan.input
        own = {n for n in below.schema.names if plan.origin(n) == n}
        parts = conjuncts(where)
        before = all_of([p for p in parts if columns(p) and columns(p) <= own])
        after = all_of([p for p in parts if not (columns(p) and columns(p) <= own)])
        if before is not None:
            plan = replace(plan, input=absorb(below, before))
        return plan if after is None else Filter(plan, after, plan.schema)
    if (isinstance(plan, Alive) and plan.ends) or (isinstance(plan, ToStream) and plan.looks is not None):
        below = absorb(plan.input, where)
        if not isinstance(below, Filter):  # it is the conditions of the join that is looked at
            return replace(plan, input=below)
    return Filter(plan, where, plan.schema)


def _adds_only(plan: Project) -> bool:
    """Whether it is the rows below with more columns, as those of a LATERAL SELECT."""
    below = plan.input.schema.names
    return len(below) < len(plan.items) and all(plan.origin(name) == name for name in below)


def take(join: Join, condition: Expr, into_inputs: bool) -> Join:
    """Conditions of an inner join go where they cost least; those of an outer one only decide who is a partner."""
    left, right = join.left, join.right
    keys = list(join.keys)
    low, high = join.low, join.high
    rest: list[Expr] = [] if join.residual is None else [join.residual]
    own = {f.name for f in left.schema}
    back = {n: Column(f.name, f.dtype) for n, f in zip(join.right_names, right.schema, strict=True)}
    times = _Times(join)
    of_left: list[Expr] = []
    of_right: list[Expr] = []
    settled: set[tuple[int | None, int | None]] = set()  # bounds that a key stands for
    for part in conjuncts(condition):
        named = columns(part)
        if named == {TS} and equal_to_itself(part):
            continue  # window_start of both rows of a tumbling join
        bound = times.difference(part)
        if bound is not None:
            low, high = _tighter(low, bound.low, max), _tighter(high, bound.high, min)
        if named and named <= own and into_inputs:
            of_left.append(part)
        elif named and named <= set(back) and into_inputs:
            of_right.append(substitute(part, dict(back)))
        elif bound is not None and bound.all and (bound.low, bound.high) in settled:
            continue  # window_end after window_start: equal times are looked at already
        elif (pair := equal_pair(part, own, back)) is not None:
            keys.append(pair)
            if bound is not None and bound.all:
                settled.add((bound.low, bound.high))
        else:
            rest.append(part)
    left, right = _with(left, of_left), _with(right, of_right)
    return replace(join, left=left, right=right, keys=tuple(keys), residual=all_of(rest), low=low, high=high)


def _with(plan: Plan, parts: list[Expr]) -> Plan:
    """A plan with conditions, at once: there may be thousands, and a node for each would be as many levels."""
    condition = all_of(parts)
    return plan if condition is None else absorb(plan, condition)


def equal_to_itself(part: Expr) -> bool:
    """Whether it says that something is equal to itself, which is true unless it is NULL."""
    return isinstance(part, Call) and part.function == "=" and part.args[0] == part.args[1]


def with_keys(join: Join, keys: list[tuple[Expr, Expr]]) -> Join:
    """A join of rows that are equal in more: pairs of expressions, one over the left rows, one over the right ones."""
    there = {f.name: Column(n, f.dtype) for n, f in zip(join.right_names, join.right.schema, strict=True)}
    equal = [functions.resolve("=", [one, substitute(other, dict(there))]) for one, other in keys]
    condition = all_of(equal)
    return join if condition is None else take(join, condition, into_inputs=False)


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
class _Difference:
    """What a comparison says of right time minus left time.

    Attributes:
        low: the least, None for no bound.
        high: the greatest.
        all: whether it says nothing else: who knows the times knows whether it holds.
    """

    low: int | None
    high: int | None
    all: bool


class _Times:
    """The columns of both sides that say something of their rows' times."""

    def __init__(self, join: Join) -> None:
        own = {f.name for f in join.left.schema}
        names = dict(zip((f.name for f in join.right.schema), join.right_names, strict=True))
        self._left = {n: apart for n, apart in time_columns(join.left).items() if n in own}
        self._right = {names[n]: apart for n, apart in time_columns(join.right).items() if n in names}

    def difference(self, part: Expr) -> _Difference | None:
        """What a condition says; None if it isn't about the two times."""
        if not isinstance(part, Call) or part.function not in _COMPARISONS or len(part.args) != 2:
            return None
        one, other = (linear(arg) for arg in part.args)
        if one is None or other is None:
            return None
        sum_ = one.minus(other)  # compared with 0
        lefts = {n: c for n, c in sum_.columns.items() if n in self._left}
        rights = {n: c for n, c in sum_.columns.items() if n in self._right}
        if len(sum_.columns) != 2 or sorted([*lefts.values(), *rights.values()]) != [-1, 1] or not (lefts and rights):
            return None
        least, most = _COMPARISONS[part.function]
        ((left, _),), ((right, sign),) = lefts.items(), rights.items()
        if sign < 0:  # left - right + constant
            least, most = None if most is None else -most, None if least is None else -least
        at = sum_.constant * sign
        apart = self._left[left], self._right[right]
        low, high = difference(*apart, None if least is None else least - at, None if most is None else most - at)
        return _Difference(low, high, apart[0].exact and apart[1].exact)


__all__ = ["absorb", "all_of", "conjuncts", "matched", "matching", "take", "with_keys"]
