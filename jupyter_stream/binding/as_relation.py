"""From a stream's rows to a relation: each row while it lives."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

from jupyter_stream.errors import QueryError, UnsupportedError
from jupyter_stream.functions import Column
from jupyter_stream.plan.lifetimes import holds_join, unbounded, whole_lives
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
    down_to,
    under,
    walk,
)
from jupyter_stream.plan.per_extent import per_extent
from jupyter_stream.plan.relations import by_arrival, is_relation
from jupyter_stream.syntax.query_syntax import WindowClause
from jupyter_stream.syntax.source_text import SourceText, Span
from jupyter_stream.windows import LifetimeWindow, RowWindow, Window

UNBOUNDED = LifetimeWindow(None, written=False)


@dataclass(frozen=True)
class OfNewest:
    """What a SELECT over `[ROWS n]` or `[PARTITION BY k ROWS n]` is as a relation. As a stream it gives rows as they come.

    Attributes:
        made: of the newest of FROM's rows; None where these have no order of arrival, or their numbers are asked for.
        refused: what to say then.
    """

    made: Plan | None
    refused: QueryError | None = None

    @property
    def relation(self) -> Plan:
        """The relation.

        Raises:
            QueryError: nobody knows which rows are the newest; or their numbers are asked for.
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


def newest(window: Window | None) -> RowWindow | None:
    """The window where it is `[ROWS n]` or `[PARTITION BY k ROWS n]`; None for others."""
    return None if window is None else window.newest


def relation_of(plan: Plan, lifetime: Lives, source: SourceText, span: Span) -> Plan:
    """A plan's rows as a relation: each while it lives."""
    if by_arrival(plan):
        return by_time(plan, source, span)
    if is_relation(plan):
        return plan
    if isinstance(lifetime, OfNewest):
        return lifetime.relation
    if unites_joins(plan):
        return plan.with_inputs([relation_of(part, lifetime, source, span) for part in plan.inputs])
    if holds_join(plan):
        joined = _at_every_instant(plan)
        if joined is not None:
            return joined
        check_inner(plan, source, span)
        return Alive(plan, UNBOUNDED, plan.schema, ends=True)
    if lifetime is not None and lifetime.on is not None:
        raise source.error(
            "a window with ON isn't available without SLIDE in this version",
            span,
            instead_of_on(lifetime.on),
            UnsupportedError,
        )
    return Alive(plan, lifetime or UNBOUNDED, plan.schema)


def instead_of_on(column: str) -> str:
    """What to write where a window without SLIDE can't be on another attribute than the stream's own."""
    return f"Write the window after the stream: FROM stream [RANGE 10 MINUTES ON {column}]."


def by_time(plan: Plan, source: SourceText, span: Span) -> Plan:
    """A plan whose aggregates over the newest rows say what holds at each instant, where alone they say it row by row.

    What is above can look at instants only, and has to know when they are final: so these are the newest of the rows whose time
    has come, as in a join.
    """
    inputs = [by_time(part, source, span) for part in plan.inputs]
    window = plan.window.newest if isinstance(plan, Aggregate) else None
    if not isinstance(plan, Aggregate) or window is None:
        return plan.with_inputs(inputs) if inputs else plan
    if plan.user:
        raise source.error(
            f"here a user-defined aggregate can't have the window {window} in this version",
            span,
            f"Give it a SLIDE, for an answer at each row: [ROWS {window.rows} SLIDE 1].",
            UnsupportedError,
        )
    (below,) = inputs
    rows = newest_of(below, window, source, span)
    if plan.where is not None:
        rows = Filter(rows, plan.where, rows.schema)
    return replace(plan, input=rows, window=UNBOUNDED, where=None)


def entering(plan: Plan, clause: WindowClause, source: SourceText) -> Plan:
    """What a window goes over: a stream's rows, and of a relation those that enter it."""
    plan = per_extent(plan)
    if clause.range is None or clause.range.kind != "rows":  # what counts rows needs no instants
        plan = by_time(plan, source, clause.span)
    return ToStream("istream", net(plan), plan.schema) if is_relation(plan) else plan


def net(plan: Plan) -> Plan:
    """A relation without changes that cancel out, such as those of columns that are not selected."""
    *above, below = down_to(plan, Project, Filter, Derived)
    # a younger left row takes the place of an older one, which may be equal to it
    own = isinstance(below, Aggregate | Distinct | Bags) and not (isinstance(below, Bags) and below.on)
    lossy = not own or any(isinstance(node, Project) and _leaves_out(node) for node in above)
    return Bags("net", (plan,), plan.schema) if lossy and not by_arrival(plan) else plan


def _leaves_out(plan: Project) -> bool:
    """Whether a column of the rows below isn't among those selected."""
    kept = {e.name for _, e in plan.items if isinstance(e, Column)}
    return not set(plan.input.schema.names) <= kept


def unites_joins(plan: Plan) -> bool:
    """Whether a plan's rows are of a union, some of them joined ones: these have lifetimes of their own."""
    if isinstance(plan, Union):
        return any(holds_join(part) or unites_joins(part) for part in plan.parts)
    return isinstance(plan, Filter | Project) and unites_joins(plan.input)


def newest_of(plan: Plan, window: RowWindow, source: SourceText, span: Span) -> Plan:
    """The newest rows of a stream as a relation: at every instant those that arrived last of the rows whose time has come."""
    if not isinstance(under(plan, Filter, Project, Derived, Sample), Scan):
        raise source.error(
            f"rows of this input have no order of arrival, so {window} can't tell which are the newest",
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
    left, right = _input(left_plan, left_window, plan.high), _input(right_plan, right_window, plan.low)
    if left is None or right is None:
        return None
    return RelationJoin(left, right, plan.kind, plan.keys, plan.residual, plan.right_names, plan.schema)


def _input(plan: Plan, window: Window, bound: int | None) -> Plan | None:
    """One side of such a join: rows that are joined ones themselves live as long as both their parts."""
    if window.lifetime is None:
        return None
    if not holds_join(plan):
        return Alive(plan, window.lifetime, plan.schema) if bound is not None or window.written else None
    if window.written:
        return None
    return Alive(plan, UNBOUNDED, plan.schema, ends=True) if _has_lifetimes(plan) else _at_every_instant(plan)


def _has_lifetimes(plan: Plan) -> bool:
    """Whether joined rows live for one stretch, which the join of streams knows."""
    return not unbounded(plan) and all(whole_lives(node) for node in walk(plan) if isinstance(node, Join))


def check_inner(plan: Plan, source: SourceText, span: Span) -> None:
    """Raise for the lifetimes of an outer join's padded rows, which are not one stretch."""
    kinds = {node.kind for node in walk(plan) if isinstance(node, Join) and not whole_lives(node)}
    if kinds:
        raise source.error(
            f"a {kinds.pop()} join in a SELECT without SLIDE isn't available in this version",
            span,
            "Give the query a window with SLIDE, or leave the aggregate out.",
            UnsupportedError,
        )
