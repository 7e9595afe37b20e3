"""ORDER BY ... LIMIT n: of each extent where a window has a SLIDE, otherwise of what is there at every instant."""

from __future__ import annotations

from dataclasses import replace

from jupyter_stream.binding.as_relation import Lives, relation_of
from jupyter_stream.binding.scope import is_windowed
from jupyter_stream.binding.select_list import schema_of
from jupyter_stream.core.messages import WINDOW_END, WINDOW_START
from jupyter_stream.functions import Column
from jupyter_stream.plan.logical import (
    ORDER_KEY,
    Bags,
    Distinct,
    Filter,
    OrderKey,
    Plan,
    Project,
    Top,
    Union,
    streams,
)
from jupyter_stream.plan.relations import is_relation
from jupyter_stream.syntax.diagnose import did_you_mean
from jupyter_stream.syntax.nodes import ColumnRef, Constant, Star, walk
from jupyter_stream.syntax.query_syntax import Ordering, OrderItem, SelectBody, SelectItem
from jupyter_stream.syntax.source_text import Name, SourceText

_EXTENT = ("window_start", "window_end")


def with_keys(body: SelectBody, plan: Plan) -> SelectBody | None:
    """A SELECT that selects the keys of its ORDER BY as well; None where its plan, without them, has them all, or can't have."""
    ordering = body.order
    if ordering is None or body.distinct is not None or body.group_all:
        return None
    missing = [item for item in ordering.items if _found(item, plan, body.items) is None and _computed(item)]
    if not missing:
        return None
    names = {item: Name(f"{ORDER_KEY}{i})", item.span) for i, item in enumerate(missing)}
    hidden = tuple(SelectItem(item.expression, name, "", item.span) for item, name in names.items())
    by = tuple(
        replace(item, expression=ColumnRef(names[item], None, item.span)) if item in names else item
        for item in ordering.items
    )
    return replace(body, items=(*body.items, *hidden), order=replace(ordering, items=by))


def _computed(item: OrderItem) -> bool:
    return not isinstance(item.expression, Constant | Star)


def without_keys(plan: Plan) -> Plan:
    """The first rows without the keys that aren't selected."""
    items = tuple((f.name, Column(f.name, f.dtype)) for f in plan.schema if not f.name.startswith(ORDER_KEY))
    return plan if len(items) == len(plan.schema) else Project(plan, items, schema_of(items))


def ordered(
    plan: Plan,
    lifetime: Lives,
    ordering: Ordering,
    items: tuple[SelectItem, ...],
    source: SourceText,
    view: bool = False,
) -> Plan:
    """A query's rows, the first of them only; of a view, which is what is there, all of them, sorted.

    Raises:
        QueryError: a key that isn't in the result, or a stream that would have to be sorted without an end.
    """
    keys = tuple(_key(item, plan, items, source) for item in ordering.items)
    extents = is_windowed(plan) and not is_relation(plan)
    if keys and not extents:
        endless = any(s.table is None for s in streams(plan))
        if endless and ordering.limit is None and not is_relation(plan) and lifetime is None and not view:
            raise source.error(
                "a stream never ends, so it can't be sorted",
                ordering.span,
                "Add LIMIT 10, for a live top ten; or sort the rows so far: q.to_pandas().sort_values(...).",
            )
        plan = relation_of(plan, lifetime, source, ordering.span)
    return Top(plan, keys, ordering.limit, ordering.offset, plan.schema)


def _key(item: OrderItem, plan: Plan, items: tuple[SelectItem, ...], source: SourceText) -> OrderKey:
    return OrderKey(_column(item, plan, items, source), item.descending, item.nulls_last)


def _column(item: OrderItem, plan: Plan, items: tuple[SelectItem, ...], source: SourceText) -> str:
    node, names = item.expression, plan.schema.names
    found = _found(item, plan, items)
    if found is not None:
        return found
    if isinstance(node, Constant) and type(node.value) is int:
        raise source.error(f"there is no select item number {node.value}", item.span)
    hint = f"Select it, with a name: {item.text} AS x ... ORDER BY x."
    if isinstance(node, ColumnRef):
        hint = did_you_mean(node.name.text, names, "result columns") or hint
    raise source.error("ORDER BY takes columns of the result, and this is not one", item.span, hint)


def _found(item: OrderItem, plan: Plan, items: tuple[SelectItem, ...]) -> str | None:
    """The column of the result that a key is."""
    node, names = item.expression, plan.schema.names
    known = items and not any(isinstance(i.expression, Star) for i in items)
    before = len(names) - len(items)  # window_start and window_end, where nobody named them
    if isinstance(node, Constant) and type(node.value) is int:
        before = before if known else _window_columns(plan, items)
        return names[before + node.value - 1] if 1 <= node.value <= len(names) - before else None
    if isinstance(node, ColumnRef) and node.qualifier is None:
        field = plan.schema.find(node.name.text)
        if field is not None:
            return field.name
    if known:
        for number, selected in enumerate(items):
            if _plain(selected.text) == _plain(item.text):
                return names[before + number]
    if isinstance(node, ColumnRef):
        field = plan.schema.find(node.name.text)
        if field is not None and node.qualifier is not None:
            return field.name
    return None


def _window_columns(plan: Plan, items: tuple[SelectItem, ...]) -> int:
    """How many of window_start and window_end stand in front of what `*` and the other items show, without being asked for."""
    while not isinstance(plan, Project):
        if not isinstance(plan, Union | Distinct | Bags | Filter):
            return 0
        plan = plan.inputs[0]
    if not items:
        return 0
    named = {part.name.text.lower() for i in items for part in walk(i.expression) if isinstance(part, ColumnRef)}
    front = [(name, expr) for name, expr in plan.items[:2] if name in _EXTENT and name not in named]
    return sum(isinstance(expr, Column) and expr.name in (WINDOW_START, WINDOW_END) for _, expr in front)


def _plain(text: str) -> str:
    return "".join(text.split()).lower()
