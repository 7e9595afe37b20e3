"""Which plans are relations, whose answers change, and which are streams, whose answers grow. Worked out from the plan alone."""

from __future__ import annotations

from jupyter_stream.plan.logical import (
    Aggregate,
    Alive,
    Bags,
    Distinct,
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
)
from jupyter_stream.windows import LifetimeWindow, RowWindow, Window


def slides(window: Window) -> bool:
    """Whether a window chooses the instants at which a query looks (it has a SLIDE)."""
    return not (isinstance(window, LifetimeWindow) or (isinstance(window, RowWindow) and window.slide is None))


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
    return any(is_view(part) for part in plan.inputs)


def holds_join(plan: Plan) -> bool:
    """Whether a plan's rows are joined ones, with lifetimes of their own."""
    return isinstance(plan, Join) or (isinstance(plan, Filter | Project | Sample | Lookup) and holds_join(plan.input))


def by_arrival(plan: Plan) -> bool:
    """Whether a relation changes in the order of arrival, as windows of rows do: there is no time it is final before."""
    match plan:
        case Aggregate():
            return isinstance(plan.window, RowWindow) and plan.window.slide is None
        case ToStream():
            return False
    return any(by_arrival(part) for part in plan.inputs)
