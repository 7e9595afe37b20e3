"""From a stream's rows to a relation: each row while it lives."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

from jupyter_stream.errors import UnsupportedError
from jupyter_stream.functions import Column
from jupyter_stream.language.query_syntax import WindowClause
from jupyter_stream.language.source_text import SourceText, Span
from jupyter_stream.plan.logical import (
    Aggregate,
    Alive,
    Bags,
    Derived,
    Distinct,
    Filter,
    Join,
    Newest,
    Plan,
    Project,
    RelationJoin,
    Sample,
    Scan,
    ToStream,
    Union,
    walk,
)
from jupyter_stream.plan.relations import by_arrival, holds_join, is_relation, unbounded
from jupyter_stream.plan.rules.common import with_inputs
from jupyter_stream.windows import LifetimeWindow, RowWindow, Window

UNBOUNDED = LifetimeWindow(None, written=False)


@dataclass(frozen=True)
class OfNewest:
    """What a SELECT over `[ROWS n]` or `[PARTITION BY k ROWS n]` is as a relation. As a stream it gives rows as they come.

    Attributes:
        made: of the newest of FROM's rows; None where these have no order of arrival.
        refused: what to say then.
    """

    made: Plan | None
    refused: UnsupportedError | None = None

    @property
    def relation(self) -> Plan:
        """The relation.

        Raises:
            UnsupportedError: nobody knows which rows are the newest.
        """
        if self.made is None:
            assert self.refused is not None
            raise self.refused
        return self.made


Lives: TypeAlias = LifetimeWindow | OfNewest | None
"""How long a SELECT's rows live, where no relation says so itself."""


def lived(plan: Plan, lives: Lives) -> tuple[Plan, LifetimeWindow | None]:
    """A SELECT's rows for what goes by their lifetimes."""
    return (lives.relation, None) if isinstance(lives, OfNewest) else (plan, lives)


def newest(window: Window | None) -> bool:
    """Whether a window is `[ROWS n]` or `[PARTITION BY k ROWS n]`."""
    return isinstance(window, RowWindow) and window.slide is None


def relation_of(plan: Plan, lifetime: Lives, source: SourceText, span: Span) -> Plan:
    """A plan's rows as a relation: each while it lives."""
    if by_arrival(plan):
        return by_time(plan, source, span)
    if is_relation(plan):
        return plan
    if isinstance(lifetime, OfNewest):
        return lifetime.relation
    if unites_joins(plan):
        return with_inputs(plan, [relation_of(part, lifetime, source, span) for part in plan.inputs])
    if holds_join(plan):
        joined = _at_every_instant(plan)
        if joined is not None:
            return joined
        check_inner(plan, source, span)
        return Alive(plan, UNBOUNDED, plan.schema, ends=True)
    if lifetime is not None and lifetime.on is not None:
        raise source.error(
            "ON in a window without SLIDE isn't available in this version",
            span,
            instead_of_on(lifetime.on),
            UnsupportedError,
        )
    return Alive(plan, lifetime or UNBOUNDED, plan.schema)


def instead_of_on(column: str) -> str:
    """What to write where a window without SLIDE can't be on another attribute than the stream's own."""
    return f"Write the window behind the stream: FROM stream [RANGE 10 MINUTES ON {column}]."


def by_time(plan: Plan, source: SourceText, span: Span) -> Plan:
    """A plan whose aggregates over the newest rows say what holds at each instant, where alone they say it row by row.

    What is above can look at instants only, and has to know when they are final: so these are the newest of the rows whose time
    has come, as in a join.
    """
    inputs = [by_time(part, source, span) for part in plan.inputs]
    if not (isinstance(plan, Aggregate) and isinstance(plan.window, RowWindow) and plan.window.slide is None):
        return with_inputs(plan, inputs) if inputs else plan
    if plan.user:
        raise source.error(
            f"at an instant, user-defined aggregates over {plan.window} aren't available in this version",
            span,
            f"Look at each row that arrives: [ROWS {plan.window.rows} SLIDE 1].",
            UnsupportedError,
        )
    (below,) = inputs
    rows = newest_of(below, plan.window, source, span)
    if plan.where is not None:
        rows = Filter(rows, plan.where, rows.schema)
    return replace(plan, input=rows, window=UNBOUNDED, where=None)


def entering(plan: Plan, clause: WindowClause, source: SourceText) -> Plan:
    """What a window goes over: a stream's rows, and of a relation those that enter it."""
    if clause.range is None or clause.range.kind != "rows":  # what counts rows needs no instants
        plan = by_time(plan, source, clause.span)
    return ToStream("istream", net(plan), plan.schema) if is_relation(plan) else plan


def net(plan: Plan) -> Plan:
    """A relation without changes that cancel out, such as those of columns that are not selected."""
    below, lossy = plan, False
    while isinstance(below, Project | Filter | Derived):
        if isinstance(below, Project):
            kept = {e.name for _, e in below.items if isinstance(e, Column)}
            lossy = lossy or not set(below.input.schema.names) <= kept
        below = below.input
    lossy = lossy or not isinstance(below, Aggregate | Distinct | Bags)
    return Bags("net", (plan,), plan.schema) if lossy and not by_arrival(plan) else plan


def unites_joins(plan: Plan) -> bool:
    """Whether a plan's rows are of a union, some of them joined ones: these have lifetimes of their own."""
    if isinstance(plan, Union):
        return any(holds_join(part) or unites_joins(part) for part in plan.parts)
    return isinstance(plan, Filter | Project) and unites_joins(plan.input)


def newest_of(plan: Plan, window: RowWindow, source: SourceText, span: Span) -> Plan:
    """The newest rows of a stream as a relation: at every instant those that arrived last of the rows whose time has come."""
    below = plan
    while isinstance(below, Filter | Project | Derived | Sample):
        below = below.input
    if not isinstance(below, Scan):
        raise source.error(
            f"rows of this input have no order of arrival, so {window} doesn't know which are the newest at an instant",
            span,
            "Put the window on a stream with a SOURCE, or give this input [RANGE 5 MINUTES].",
            UnsupportedError,
        )
    if window.where is not None:
        plan = Filter(plan, window.where, plan.schema)
    return Newest(plan, replace(window, where=None), plan.schema)


def _at_every_instant(plan: Plan) -> Plan | None:
    """A join of streams as a join of relations; None for what is something else, or has lifetimes as it is."""
    if isinstance(plan, Filter | Project):
        below = _at_every_instant(plan.input)
        return None if below is None else replace(plan, input=below)
    if not isinstance(plan, Join) or _has_lifetimes(plan):
        return None
    (left_plan, right_plan), (left_window, right_window) = plan.inputs, plan.windows
    left, right = _side(left_plan, left_window, plan.high), _side(right_plan, right_window, plan.low)
    if left is None or right is None:
        return None
    return RelationJoin(left, right, plan.kind, plan.keys, plan.residual, plan.right_names, plan.schema)


def _side(plan: Plan, window: Window, bound: int | None) -> Plan | None:
    """One side of such a join: rows that are joined ones themselves live as long as both their parts."""
    if not isinstance(window, LifetimeWindow):
        return None
    if not holds_join(plan):
        return Alive(plan, window, plan.schema) if bound is not None or window.written else None
    if window.written:
        return None
    return Alive(plan, UNBOUNDED, plan.schema, ends=True) if _has_lifetimes(plan) else _at_every_instant(plan)


def _has_lifetimes(plan: Plan) -> bool:
    """Whether joined rows live for one stretch, which the join of streams knows."""
    return not unbounded(plan) and all(node.kind == "inner" for node in walk(plan) if isinstance(node, Join))


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
