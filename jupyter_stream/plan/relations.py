"""Which plans are relations, whose answers change, and which are streams, whose answers grow. Worked out from the plan alone."""

from __future__ import annotations

from jupyter_stream.plan.logical import (
    Aggregate,
    Alive,
    Bags,
    Derived,
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
    Scan,
    TableRelation,
    Top,
    ToStream,
    Union,
    Unnest,
    WindowFunctions,
    streams,
    under,
    walk,
    way_down,
)
from jupyter_stream.windows import Window

_KEEPS_TIMES = (Filter, Project, Derived, Sample, Unnest, Lookup, Union, Join, Distinct)
"""Plans of streams whose rows have the times of those below."""

PART = "of window"
"""The column that says which of several windows an answer is of, where these are put together by instant and group."""


def staggered(plan: Plan) -> bool:
    """Whether a plan puts together answers of windows that look at different instants."""
    return any(
        isinstance(n, Aggregate) and n.window.sliding and n.input.schema.find(PART) is not None for n in walk(plan)
    )


def only_tables(plan: Plan) -> bool:
    """Whether a plan reads tables and no stream."""
    return all(stream.table is not None for stream in streams(plan))


def answered(plan: Plan) -> Plan:
    """The answers of extents, where a plan is these beside SELECTs that stand for values; otherwise the plan."""
    below = plan.input if isinstance(plan, ToStream) and plan.kind == "istream" else plan
    below = under(below, Project, Filter, Bags)
    if below is plan or not isinstance(below, RelationJoin) or not below.value:
        return plan
    below = way_down(below, lambda node: isinstance(node, RelationJoin) and node.value)[-1]
    return below.input if isinstance(below, Alive) and extents_of(below.input) is not None else plan


def extents_of(plan: Plan) -> Window | None:
    """The window with SLIDE that a SELECT is over, whose rows come extent by extent."""
    plan = under(answered(plan), Project, Filter, Unnest, Top, WindowFunctions, ExtentRows, Lookup)
    return plan.window if isinstance(plan, Aggregate) and plan.window.sliding else None


def by_extents(plan: Plan) -> bool:
    """Whether answers come extent by extent, and all are over when the input ends."""
    row_by_row = (Project, Filter, Unnest, Top, WindowFunctions, Bags)
    plan = way_down(plan, lambda node: isinstance(node, row_by_row) and extents_of(node) is None)[-1]
    return extents_of(plan) is not None or (isinstance(plan, ToStream) and plan.looks is not None)


def is_relation(plan: Plan) -> bool:
    """Whether a plan's rows are the changes of a relation."""
    match plan:
        case Aggregate():
            return not plan.window.sliding
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
            return not plan.window.sliding
        case ToStream():
            return False
        case Top() | WindowFunctions():
            return is_relation(plan)
        case TableRelation():
            return plan.table.retroactive
        case RelationJoin(value=True):
            return is_view(plan.left) or (isinstance(plan.right, TableRelation) and is_view(plan.right))
        case RelationJoin():
            # rows of a stream that look a live aggregate up are a stream; what a table revises may have been given before
            asked = (plan.left,) if plan.kind in ("semi", "anti") else plan.inputs
            of_streams = [part for part in asked if not only_tables(part)]
            return all(is_view(part) for part in of_streams) or any(_revised(part) for part in plan.inputs)
    return any(is_view(part) for part in plan.inputs)


def _revised(plan: Plan) -> bool:
    """Whether a retroactive table is among what a relation is made of."""
    if isinstance(plan, TableRelation):
        return plan.table.retroactive
    return not isinstance(plan, ToStream) and any(_revised(part) for part in plan.inputs)


def makers(plan: Plan) -> tuple[list[Plan], frozenset[str]]:
    """What makes the rows that a relation is of.

    Returns:
        The outermost parts of the plan whose rows have times of their own, as extents have; and the names of the streams
        whose rows come into the relation with the times they have there.
    """
    if isinstance(plan, Scan):
        return [], frozenset((plan.stream.name,))
    if not is_relation(plan) and not isinstance(plan, _KEEPS_TIMES):
        return [plan], frozenset()
    found, names = list[Plan](), frozenset[str]()
    for part in plan.inputs:
        below, read = makers(part)
        found, names = found + below, names | read
    return found, names


def by_arrival(plan: Plan) -> bool:
    """Whether a relation changes in the order of arrival, as windows of rows do: there is no time it is final before."""
    match plan:
        case Aggregate():
            return plan.window.counts_rows and not plan.window.sliding
        case ToStream():
            return False
    return any(by_arrival(part) for part in plan.inputs)
