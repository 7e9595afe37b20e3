"""From a stream's rows to a relation: each row while it lives."""

from __future__ import annotations

from dataclasses import replace

from jupyter_stream.errors import UnsupportedError
from jupyter_stream.language.source_text import SourceText, Span
from jupyter_stream.plan.logical import Alive, Filter, Join, Plan, Project, RelationJoin, walk
from jupyter_stream.plan.relations import by_arrival, holds_join, is_relation
from jupyter_stream.windows import LifetimeWindow

UNBOUNDED = LifetimeWindow(None, written=False)


def relation_of(plan: Plan, lifetime: LifetimeWindow | None, source: SourceText, span: Span) -> Plan:
    """A plan's rows as a relation: each while it lives."""
    if by_arrival(plan):
        raise source.error(
            "a relation over the newest rows can't be taken further in this version", span, None, UnsupportedError
        )
    if is_relation(plan):
        return plan
    if holds_join(plan):
        joined = _at_every_instant(plan)
        if joined is not None:
            return joined
        check_inner(plan, source, span)
        return Alive(plan, UNBOUNDED, plan.schema, ends=True)
    if lifetime is not None and lifetime.on is not None:
        raise source.error("ON in a window without SLIDE isn't available in this version", span, None, UnsupportedError)
    return Alive(plan, lifetime or UNBOUNDED, plan.schema)


def _at_every_instant(plan: Plan) -> Plan | None:
    """An outer, semi or anti join of two streams as a join of relations; None for what is something else."""
    if isinstance(plan, Filter | Project):
        below = _at_every_instant(plan.input)
        return None if below is None else replace(plan, input=below)
    if not isinstance(plan, Join) or plan.kind == "inner" or any(holds_join(p) for p in plan.inputs):
        return None
    if not all(isinstance(w, LifetimeWindow) for w in plan.windows):
        return None
    left, right = (
        Alive(part, window, part.schema)
        for part, window in zip(plan.inputs, plan.windows, strict=True)
        if isinstance(window, LifetimeWindow)
    )
    return RelationJoin(left, right, plan.kind, plan.keys, plan.residual, plan.right_names, plan.schema)


def check_inner(plan: Plan, source: SourceText, span: Span) -> None:
    """Raise for the lifetimes of an outer join's padded rows, which are not one stretch."""
    kinds = {node.kind for node in walk(plan) if isinstance(node, Join)} - {"inner"}
    if kinds:
        raise source.error(
            f"a {kinds.pop()} join as a relation isn't available in this version",
            span,
            "As a stream it is: put a window with SLIDE around it, or leave the aggregate out.",
            UnsupportedError,
        )
