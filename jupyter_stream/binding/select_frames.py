"""A SELECT with window functions in an order of their own: at every instant of a relation, or of each extent."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from jupyter_stream.binding.as_relation import Lives, relation_of
from jupyter_stream.binding.bind_aggregate import InputNames
from jupyter_stream.binding.bind_expression import ExpressionBinder
from jupyter_stream.binding.bind_extents import distinct_of_extents
from jupyter_stream.binding.bind_frames import Frames
from jupyter_stream.binding.bind_sets import distinct
from jupyter_stream.binding.forms.over_any_order import SeparatedSelect, goes_by_time, separated, written_over
from jupyter_stream.binding.scope import Scope
from jupyter_stream.binding.select_list import schema_of
from jupyter_stream.errors import QueryError, UnsupportedError
from jupyter_stream.functions import Column, Expr
from jupyter_stream.plan.logical import Filter, Plan, Project
from jupyter_stream.plan.relations import extents_of, is_relation, only_tables
from jupyter_stream.syntax.nodes import FunctionCall
from jupyter_stream.syntax.query_syntax import SelectBody
from jupyter_stream.syntax.source_text import Name, SourceText
from jupyter_stream.windows import Window


def framed(
    body: SelectBody,
    scope: Scope,
    source: SourceText,
    select: Callable[[SelectBody], tuple[Plan, Lives, Window | None]],
) -> tuple[Plan, Window | None]:
    """Its rows, and the window with SLIDE by which it looks, if it does.

    Args:
        body: as written.
        scope: what its FROM gives.
        source: the cell.
        select: binds a SELECT without window functions.

    Raises:
        QueryError: a mistake in one of them.
        UnsupportedError: it needs rows that are still to come of a stream without an end.
    """
    for call in written_over(body):
        said = _of_the_future(call, scope, source) if isinstance(call, FunctionCall) else None
        if said is not None:
            raise said
    found = separated(body, scope)
    plan, lifetime, looks = select(found.body)
    extents = extents_of(plan) is not None
    if not extents:
        plan = relation_of(plan, lifetime, source, found.calls[0].span)
    below, frames = plan, Frames(plan, source, found.implied)
    values = {f"$w{number}": frames.bind(call) for number, call in enumerate(found.calls)}
    plan = frames.plan()
    items = _items(below, plan, found, values, source)
    if found.conditions:
        names = _Above(plan, values, dict(items), source)
        for condition in found.conditions:
            predicate = ExpressionBinder(source, names).condition(condition, "QUALIFY")
            plan = Filter(plan, predicate, plan.schema)
    plan = Project(plan, items, schema_of(items))
    if body.distinct is not None:
        plan = distinct_of_extents(plan) if extents else distinct(plan, None, source, body.distinct)
    return plan, looks


def _items(
    below: Plan, plan: Plan, found: SeparatedSelect, values: Mapping[str, Expr], source: SourceText
) -> tuple[tuple[str, Expr], ...]:
    """The select list, names unique."""
    items: list[tuple[str, Expr]] = []
    binder = ExpressionBinder(source, _Above(plan, values, {}, source))
    plain = {f.name.lower() for f in below.schema if not f.name.startswith("$")}
    for field in below.schema:
        if field.name.startswith("$v"):
            continue
        mark = next((m for m in found.shown if field.name.startswith(m)), None)
        if mark is None:
            items.append((field.name, Column(field.name, field.dtype)))
            continue
        wanted = field.name.removeprefix(mark)
        taken, final, again = plain | {n.lower() for n, _ in items}, wanted, 2
        while final.lower() in taken:
            final, again = f"{wanted}_{again}", again + 1
        items.append((final, binder.bind(found.shown[mark].expression)))
    return tuple(items)


class _Above(InputNames):
    """Names above window functions: their columns, those selected along, and in conditions those of the result."""

    def __init__(self, plan: Plan, values: Mapping[str, Expr], items: Mapping[str, Expr], source: SourceText) -> None:
        super().__init__(Scope(plan, ()), source, "QUALIFY")
        self._values = values
        self._items = {name.lower(): expr for name, expr in items.items()}

    def column(self, name: Name, qualifier: Name | None) -> Expr | None:
        """A window function's value, a column of the result, or one selected along."""
        found = self._values.get(name.text) or self._items.get(name.text.lower())
        return found or super().column(name, None)


def _of_the_future(call: FunctionCall, scope: Scope, source: SourceText) -> QueryError | None:
    """The error for what would have to wait for later rows of a stream that has no end; None where it need not."""
    clause, name = call.window, call.name.text.lower()
    assert clause is not None
    bounded = scope.window is not None and (scope.window.written or not scope.window.keeps_all)
    endless = not bounded and not only_tables(scope.plan) and not is_relation(scope.plan)
    if not endless or extents_of(scope.plan) is not None or not goes_by_time(call, scope):
        return None
    frame = clause.frame
    if name != "lead" and (frame is None or frame.high.sign <= 0):
        return None
    what = "lead looks" if name == "lead" else "FOLLOWING looks"
    return source.error(
        f"{what} at later rows, which a stream without an end doesn't have yet",
        call.name.span if name == "lead" or frame is None else frame.high.span,
        "Look back instead, lag(x) OVER (PARTITION BY k ORDER BY ts); or say how long rows count, FROM stream [RANGE 1 HOUR], "
        "or [RANGE UNBOUNDED] for answers that are revised as rows come.",
        UnsupportedError,
    )


__all__ = ["framed"]
