"""What several rules need to know of expressions and nodes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache

from jupyter_stream.core.schema import Schema
from jupyter_stream.functions import compile_kernel
from jupyter_stream.functions.expression import Call, Column, Expr, columns, substitute
from jupyter_stream.plan.logical import (
    Derived,
    Filter,
    Join,
    Lookup,
    Plan,
    Project,
    Sample,
    Scan,
    Union,
    Unnest,
    walk,
)


def all_of(parts: Sequence[Expr]) -> Expr:
    """AND of at least one condition."""
    found = parts[0]
    for part in parts[1:]:
        found = Call("and", (found, part), part.dtype)
    return found


def filtered(plan: Plan, parts: Sequence[Expr]) -> Plan:
    """A selection over a plan; the plan itself without conditions."""
    return Filter(plan, all_of(parts), plan.schema) if parts else plan


@lru_cache(maxsize=1024)
def moves(expr: Expr) -> bool:
    """Whether an expression can be computed somewhere else: it never fails, and depends on the row's columns alone."""
    return not compile_kernel(expr).failures and not any(c.startswith("$") for c in columns(expr))


def renamed(expr: Expr, before: Iterable[str], after: Plan | Sequence[Column]) -> Expr:
    """The expression with columns replaced by those at the same position."""
    there = [Column(f.name, f.dtype) for f in after.schema] if not isinstance(after, Sequence) else after
    return substitute(expr, dict(zip(before, there, strict=True)))


def plain(plan: Project) -> dict[str, Column] | None:
    """Which column each column of a projection is; None if it computes any."""
    found = {name: expr for name, expr in plan.items if isinstance(expr, Column) and not expr.name.startswith("$")}
    return found if len(found) == len(plan.items) else None


def is_stream(plan: Plan) -> bool:
    """Whether a plan's rows are those of streams, as they come, perhaps selected and changed one by one."""
    return all(isinstance(n, Scan | Filter | Project | Derived | Sample | Unnest | Lookup | Union) for n in walk(plan))


def meets_by_windows(join: Join) -> bool:
    """Whether two streams are joined by their lifetimes, and by nothing else about time."""
    left, right = join.windows
    if left.sliding or right.sliding or left.on or right.on:
        return False
    low = None if right.span is None else 1 - right.span
    high = None if left.span is None else left.span - 1
    return join.kind == "inner" and (join.low, join.high) == (low, high) and all(map(is_stream, join.inputs))


def narrowed(join: Join, wanted: set[str]) -> Join | None:
    """The join over the columns it needs to give the `wanted` ones; None if it reads system columns."""
    there = dict(zip(join.right_names, join.right.schema.names, strict=True))
    wanted = wanted | (columns(join.residual) if join.residual is not None else frozenset())
    lefts = wanted & set(join.left.schema.names)
    rights = {there[n] for n in wanted if n in there}
    for left_key, right_key in join.keys:
        lefts |= columns(left_key)
        rights |= columns(right_key)
    if any(n.startswith("$") for n in (*wanted, *lefts, *rights)):
        return None
    left, right = _only(join.left, lefts), _only(join.right, rights)
    joined = {own: name for name, own in there.items()}
    right_names = tuple(joined[n] for n in right.schema.names)
    fields = [join.joined.find(n) for n in (*left.schema.names, *right_names)]
    schema = Schema(tuple(f for f in fields if f is not None))
    return replace(join, left=left, right=right, right_names=right_names, schema=schema)


def _only(plan: Plan, wanted: set[str] | frozenset[str]) -> Plan:
    schema = Schema(tuple(f for f in plan.schema if f.name in wanted))
    return Project(plan, tuple((f.name, Column(f.name, f.dtype)) for f in schema), schema)
