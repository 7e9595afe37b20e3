"""UNION, EXCEPT and INTERSECT between SELECTs, DISTINCT, and the turns between streams and relations."""

from __future__ import annotations

from jupyter_stream import functions
from jupyter_stream.binding.as_relation import UNBOUNDED, Lives, OfNewest, lived, net, relation_of, unites_joins
from jupyter_stream.binding.bind_from import as_schema, union_of
from jupyter_stream.core.schema import Field, Schema
from jupyter_stream.errors import UnsupportedError
from jupyter_stream.plan.lifetimes import holds_join
from jupyter_stream.plan.logical import (
    Aggregate,
    Alive,
    BagKind,
    Bags,
    Distinct,
    Join,
    Plan,
    StreamKind,
    ToStream,
    walk,
)
from jupyter_stream.plan.relations import by_arrival, extents_of, is_relation, is_view, only_tables, staggered
from jupyter_stream.syntax.diagnose import did_you_mean
from jupyter_stream.syntax.query_syntax import SetBody
from jupyter_stream.syntax.source_text import Name, SourceText, Span
from jupyter_stream.windows import LifetimeWindow

_AT_ITS_END = LifetimeWindow(1)
"""The life of an extent's rows: they are compared with those of the other part's extents that end when theirs does."""


def bind_set(body: SetBody, parts: list[tuple[Plan, Lives]], source: SourceText) -> tuple[Plan, Lives]:
    """A set operation, with the lifetimes its rows keep.

    Raises:
        QueryError: the parts don't go together, or would have to be remembered for ever.
    """
    if body.kind != "union" or not body.all:
        parts = [(p, _AT_ITS_END if _scheduled(p) else lifetime) for p, lifetime in parts]
    if body.kind == "union":
        return _union(body, parts, source)
    for plan, lifetime in parts:
        bounded = is_relation(plan) or holds_join(plan) or lifetime is not None or only_tables(plan)
        looks = extents_of(plan)
        if not bounded and looks is not None:
            raise source.error(
                f"{body.operator.text} compares extents that end at the same time, and those of {looks} end with rows",
                body.operator.span,
                "Give both parts a SLIDE over time, [RANGE 5 MINUTES SLIDE 1 MINUTE], or none: [RANGE 5 MINUTES], [ROWS 100].",
            )
        if not bounded:
            raise source.error(
                f"{body.operator.text} of streams without windows would have to remember every row for ever",
                body.operator.span,
                "Give each part a window: SELECT ... FROM stream [RANGE 5 MINUTES]; [RANGE UNBOUNDED] if you mean it.",
            )
    plans = [relation_of(plan, lifetime, source, body.operator.span) for plan, lifetime in parts]
    if body.on:
        on = tuple(_compared(name, plans[0], plans[1], source) for name in body.on)
        return Bags("except all", (plans[0], plans[1]), plans[0].schema, on), None
    schema = common_schema(plans, body, source)
    kind: BagKind = {
        ("except", True): "except all",
        ("except", False): "except",
        ("intersect", True): "intersect all",
        ("intersect", False): "intersect",
    }[body.kind, body.all]  # type: ignore[assignment]  # the table has just these
    return Bags(kind, tuple(as_schema(plan, schema) for plan in plans), schema), None


def _union(body: SetBody, parts: list[tuple[Plan, Lives]], source: SourceText) -> tuple[Plan, Lives]:
    windows = {window for _, window in parts}
    plans = [plan for plan, _ in parts]
    rows = any(isinstance(window, OfNewest) for window in windows)
    alike = (
        len(windows) == 1
        and not rows
        and not any(is_relation(p) for p in plans)
        and len({holds_join(p) for p in plans}) == 1
    )
    if not alike:
        plans = [relation_of(plan, window, source, body.operator.span) for plan, window in parts]
    united = union_of(plans, source, body.operator.span)
    window = windows.pop() if alike else None
    if body.all:
        return united, window
    return distinct(united, window, source, body.operator.span), None


def common_schema(plans: list[Plan], body: SetBody, source: SourceText) -> Schema:
    """The columns of a set operation: named as the left ones, with types that hold both."""
    left, right = (plan.schema for plan in plans)
    if len(left) != len(right):
        raise source.error(
            f"the parts of {body.operator.text} have {len(left)} and {len(right)} columns",
            body.operator.span,
            "Select the same columns from each part.",
        )
    fields = []
    for number, (one, other) in enumerate(zip(left, right, strict=True), 1):
        common = functions.common_type([one.dtype, other.dtype])
        if common is None:
            raise source.error(
                f"column {number} of {body.operator.text} is {one.name} on the left and {other.name} on the right,"
                " and these types have nothing in common",
                body.operator.span,
                "Columns are matched by position: reorder or cast one.",
            )
        fields.append(Field(one.name, common))
    return Schema(tuple(fields))


def _compared(name: Name, left: Plan, right: Plan, source: SourceText) -> tuple[str, str]:
    found = []
    for plan, side in ((left, "left"), (right, "right")):
        field = plan.schema.find(name.text)
        if field is None:
            hint = did_you_mean(name.text, plan.schema.names, "columns")
            raise source.error(f"the {side} SELECT has no column called {name.text}", name.span, hint)
        found.append(field)
    if found[0].dtype != found[1].dtype:
        raise source.error(f"{name.text} has one type on the left and another on the right", name.span, "Cast one.")
    return found[0].name, found[1].name


def distinct(plan: Plan, lifetime: Lives, source: SourceText, span: Span) -> Plan:
    """Each value once."""
    plan, lifetime = lived(plan, lifetime)
    if by_arrival(plan):
        plan = relation_of(plan, lifetime, source, span)
    if unites_joins(plan) or (holds_join(plan) and any(isinstance(n, Join) and n.kind != "inner" for n in walk(plan))):
        plan = relation_of(plan, lifetime, source, span)
    return Distinct(plan, lifetime or UNBOUNDED, plan.schema, holds_join(plan))


def stream_of(kind: StreamKind, plan: Plan, lifetime: Lives, source: SourceText, span: Span) -> Plan:
    """ISTREAM, DSTREAM or RSTREAM."""
    if kind == "istream" and not is_relation(plan):
        return plan  # its rows, as they come
    if by_arrival(plan) and kind != "rstream":
        return ToStream(kind, plan, plan.schema)
    return ToStream(kind, net(relation_of(plan, lifetime, source, span)), plan.schema)


def answer_of(plan: Plan) -> Plan:
    """What a query gives where nothing was said: a relation of aggregates as such, other relations as streams."""
    if not is_relation(plan):
        return plan
    if is_view(plan) or only_tables(plan):
        return net(plan)
    return ToStream("istream", net(plan), plan.schema)


def _scheduled(plan: Plan) -> bool:
    """Whether its rows come extent by extent, and extents end at instants that are known beforehand."""
    window = extents_of(plan)
    return window is not None and window.schedule is not None


def view_of(plan: Plan, lifetime: Lives, source: SourceText, span: Span) -> Plan:
    """CREATE VIEW makes any query a relation: of a window that slides, the answers of the extent that ended last."""
    if not is_relation(plan):
        if staggered(plan):
            raise source.error(
                "a view isn't available over windows with different SLIDEs",
                span,
                "Give them the same SLIDE, leave SLIDE out, or write one view for each window.",
                UnsupportedError,
            )
        schedules = (n.window.schedule for n in walk(plan) if isinstance(n, Aggregate))
        first = next((schedule for schedule in schedules if schedule is not None), None)
        if first is not None:
            return net(Alive(plan, LifetimeWindow(first.slide), plan.schema))
    return net(plan if by_arrival(plan) else relation_of(plan, lifetime, source, span))
