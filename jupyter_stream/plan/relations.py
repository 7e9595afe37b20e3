"""Which plans are relations, whose answers change, and which are streams, whose answers grow. Worked out from the plan alone."""

from __future__ import annotations

from jupyter_stream.plan.logical import (
    Aggregate,
    Alive,
    Bags,
    Distinct,
    ExtentRows,
    Filter,
    Join,
    Lookup,
    Newest,
    Plan,
    Project,
    RelationJoin,
    Sample,
    TableRelation,
    Top,
    ToStream,
    streams,
    walk,
)
from jupyter_stream.windows import LifetimeWindow, RowWindow, TimeWindow, Window

PART = "of window"
"""The column that says which of several windows an answer is of, where these are put together by instant and group."""


def staggered(plan: Plan) -> bool:
    """Whether a plan puts together answers of windows that look at different instants."""
    return any(
        isinstance(n, Aggregate) and slides(n.window) and n.input.schema.find(PART) is not None for n in walk(plan)
    )


def slides(window: Window) -> bool:
    """Whether a window chooses the instants at which a query looks (it has a SLIDE)."""
    return not (isinstance(window, LifetimeWindow) or (isinstance(window, RowWindow) and window.slide is None))


def only_tables(plan: Plan) -> bool:
    """Whether a plan reads tables and no stream."""
    return all(stream.table is not None for stream in streams(plan))


def answered(plan: Plan) -> Plan:
    """The answers of extents, where a plan is these beside SELECTs that stand for values; otherwise the plan."""
    below = plan.input if isinstance(plan, ToStream) and plan.kind == "istream" else plan
    while isinstance(below, Project | Filter | Bags):
        below = below.inputs[0]
    if below is plan or not isinstance(below, RelationJoin) or not below.value:
        return plan
    while isinstance(below, RelationJoin) and below.value:
        below = below.left
    return below.input if isinstance(below, Alive) and extents_of(below.input) is not None else plan


def extents_of(plan: Plan) -> Window | None:
    """The window with SLIDE that a SELECT is over, whose rows come extent by extent."""
    plan = answered(plan)
    while isinstance(plan, Project | Filter | Top | ExtentRows | Lookup):
        plan = plan.input
    return plan.window if isinstance(plan, Aggregate) and slides(plan.window) else None


def by_extents(plan: Plan) -> bool:
    """Whether answers come extent by extent, and all are over when the input ends."""
    while isinstance(plan, Project | Filter | Top | Bags) and extents_of(plan) is None:
        plan = plan.inputs[0]
    return extents_of(plan) is not None or (isinstance(plan, ToStream) and plan.looks is not None)


def is_relation(plan: Plan) -> bool:
    """Whether a plan's rows are the changes of a relation."""
    match plan:
        case Aggregate():
            return not slides(plan.window)
        case Alive() | Newest() | Bags() | RelationJoin() | TableRelation():
            return True
        case Distinct():
            return not plan.lives
        case ToStream():
            return False
    return any(is_relation(part) for part in plan.inputs)


def is_view(plan: Plan) -> bool:
    """Whether a relation is to be shown as one: an aggregate without SLIDE is, a live top n, what a retroactive table revises.

    Other relations are streams of what enters.
    """
    match plan:
        case Aggregate():
            return not slides(plan.window)
        case ToStream():
            return False
        case Top():
            return is_relation(plan)
        case TableRelation():
            return plan.table.retroactive
        case RelationJoin(value=True):
            return is_view(plan.left) or (isinstance(plan.right, TableRelation) and is_view(plan.right))
    return any(is_view(part) for part in plan.inputs)


def holds_join(plan: Plan) -> bool:
    """Whether a plan's rows are joined ones, with lifetimes of their own."""
    return isinstance(plan, Join) or (isinstance(plan, Filter | Project | Sample | Lookup) and holds_join(plan.input))


def windows_below(plan: Plan) -> list[LifetimeWindow | TimeWindow]:
    """The windows of the streams that a join's rows are made of."""
    if not isinstance(plan, Join):
        return windows_below(plan.inputs[0])
    found: list[LifetimeWindow | TimeWindow] = []
    for child, window in zip(plan.inputs, plan.windows, strict=True):
        if holds_join(child):
            found += windows_below(child)
        else:
            assert isinstance(window, LifetimeWindow | TimeWindow)
            found.append(window)
    return found


def waits_for_ever(join: Join) -> str | None:
    """The input of a join of streams whose rows nothing lets go of, without having been told to keep them; None mostly."""
    bounds, which = (join.high, join.low), ("left", "right")
    for bound, window, child, name in zip(bounds, join.windows, join.inputs, which, strict=True):
        own = not holds_join(child) or (isinstance(window, LifetimeWindow) and window.written)
        windows = [window] if own else windows_below(child)
        if bound is None and not all(isinstance(w, LifetimeWindow) and _meant(w) for w in windows):
            return name
    return None


def _meant(window: LifetimeWindow) -> bool:
    """Whether it says how long rows live, be it for ever."""
    return window.written or window.range is not None


def unbounded(plan: Plan) -> bool:
    """Whether there is such a join."""
    return any(isinstance(node, Join) and waits_for_ever(node) is not None for node in walk(plan))


def by_arrival(plan: Plan) -> bool:
    """Whether a relation changes in the order of arrival, as windows of rows do: there is no time it is final before."""
    match plan:
        case Aggregate():
            return isinstance(plan.window, RowWindow) and plan.window.slide is None
        case ToStream():
            return False
    return any(by_arrival(part) for part in plan.inputs)
