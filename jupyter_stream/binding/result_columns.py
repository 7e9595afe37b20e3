"""Which columns of a result are its time and which are keys, worked out from the plan: what a chart needs to know."""

from __future__ import annotations

from dataclasses import replace

from jupyter_stream.core.messages import TS, WINDOW_END
from jupyter_stream.functions import Column
from jupyter_stream.plan.logical import (
    ORDER_KEY,
    Aggregate,
    Alive,
    Bags,
    BoundQuery,
    Derived,
    Distinct,
    Emit,
    Filter,
    Join,
    Lookup,
    MatchRows,
    Newest,
    Over,
    Plan,
    Project,
    RelationJoin,
    Sample,
    Top,
    ToStream,
    Unnest,
    WindowFunctions,
    is_net,
    under_nets,
    way_down,
)
from jupyter_stream.plan.relations import is_relation
from jupyter_stream.plan.time_of import time_of


def query_of(plan: Plan, emit: Emit, text: str) -> BoundQuery:
    """A query with what its result's columns are for."""
    below = under_nets(plan)
    order = below.order if isinstance(below, Top) and is_relation(plan) else ()
    return BoundQuery(plan, emit, text, _time_column(plan), _key_columns(plan), is_relation(plan), order=order)


def keeping_keys(query: BoundQuery) -> BoundQuery:
    """A live query, with the keys of its ORDER BY that aren't selected: its state is sorted by them, and they aren't shown."""
    *nets, plan = way_down(query.plan, is_net)
    top = plan.input if isinstance(plan, Project) else None
    if not isinstance(top, Top) or not query.relation or not any(n.startswith(ORDER_KEY) for n in top.schema.names):
        return query
    kept: Plan = top
    for _ in nets:
        kept = Bags("net", (kept,), top.schema)
    return replace(query, plan=kept, order=top.order)


def _time_column(plan: Plan) -> str | None:
    """The result column that belongs on a time axis: window_end, else the progressing attribute if it is selected."""
    if isinstance(plan, Project):
        ends = [name for name, expr in plan.items if isinstance(expr, Column) and expr.name == WINDOW_END]
        if ends:
            return ends[0]
        below = (
            plan.input
            if isinstance(
                plan.input, Project | Filter | Derived | Lookup | RelationJoin | Alive | Top | WindowFunctions
            )
            else None
        )
        inner = _time_column(below) if below is not None else None
        for name, expr in plan.items:
            if inner is not None and isinstance(expr, Column) and expr.name == inner:
                return name
        aggregate = plan.input.input if isinstance(plan.input, Filter) else plan.input
        if isinstance(aggregate, Aggregate):
            time = time_of(aggregate.input)
            keys = {n for n, e in aggregate.keys if isinstance(e, Column) and e.name in (time.column, TS)}
            return next((n for n, e in plan.items if isinstance(e, Column) and e.name in keys), None)
    if isinstance(plan, Filter | Derived | Sample | Unnest | Top | WindowFunctions):
        return _time_column(plan.input)
    if isinstance(plan, RelationJoin) and plan.value:
        return _time_column(plan.left)
    if plan.inputs and not isinstance(plan, Project | Aggregate):
        columns = {_time_column(part) for part in plan.inputs}
        if len(columns) == 1:
            return columns.pop()
    return time_of(plan).column


def _key_columns(plan: Plan) -> tuple[str, ...]:
    if isinstance(
        plan, Filter | Derived | Sample | Unnest | Alive | Newest | Distinct | ToStream | Top | WindowFunctions
    ):
        return _key_columns(plan.input)
    if isinstance(plan, Bags) or (isinstance(plan, RelationJoin) and plan.value):
        return _key_columns(plan.inputs[0])
    if isinstance(plan, Aggregate):
        return tuple(name for name, _ in plan.keys)
    if isinstance(plan, Join):
        right = set(_key_columns(plan.right))
        renamed = (n for n, f in zip(plan.right_names, plan.right.schema, strict=True) if f.name in right)
        return tuple(n for n in (*_key_columns(plan.left), *renamed) if plan.schema.find(n) is not None)
    if isinstance(plan, Lookup):
        return tuple(n for n in _key_columns(plan.input) if plan.schema.find(n) is not None)
    if isinstance(plan, MatchRows):
        return tuple(e.name for e in plan.partition if isinstance(e, Column) and plan.origin(e.name) is not None)
    if isinstance(plan, Over):
        return tuple(
            dict.fromkeys(
                [*_key_columns(plan.input), *(e.name for e in plan.window.partition if isinstance(e, Column))]
            )
        )
    if isinstance(plan, Project):
        below = set(_key_columns(plan.input))
        return tuple(name for name, expr in plan.items if isinstance(expr, Column) and expr.name in below)
    return ()
