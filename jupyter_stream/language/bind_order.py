"""ORDER BY ... LIMIT n: of each extent where a window has a SLIDE, otherwise of what is there at every instant."""

from __future__ import annotations

from jupyter_stream.language.as_relation import relation_of
from jupyter_stream.language.diagnose import did_you_mean
from jupyter_stream.language.nodes import ColumnRef, Constant, Star
from jupyter_stream.language.query_syntax import Ordering, OrderItem, SelectItem
from jupyter_stream.language.scope import is_windowed
from jupyter_stream.language.source_text import SourceText
from jupyter_stream.plan.logical import OrderKey, Plan, Top
from jupyter_stream.plan.relations import is_relation
from jupyter_stream.windows import LifetimeWindow


def ordered(
    plan: Plan,
    lifetime: LifetimeWindow | None,
    ordering: Ordering,
    items: tuple[SelectItem, ...],
    source: SourceText,
) -> Plan:
    """A query's rows, the first of them only.

    Raises:
        QueryError: a key that isn't in the result, or a stream that would have to be sorted without an end.
    """
    keys = tuple(_key(item, plan, items, source) for item in ordering.items)
    extents = is_windowed(plan) and not is_relation(plan)
    if keys and not extents:
        if ordering.limit is None and not is_relation(plan) and lifetime is None:
            raise source.error(
                "a stream never ends, so that it can't be sorted",
                ordering.span,
                "Add LIMIT 10, for a live top ten; or sort what has come: q.to_pandas().sort_values(...).",
            )
        plan = relation_of(plan, lifetime, source, ordering.span)
    return Top(plan, keys, ordering.limit, ordering.offset, plan.schema)


def _key(item: OrderItem, plan: Plan, items: tuple[SelectItem, ...], source: SourceText) -> OrderKey:
    return OrderKey(_column(item, plan, items, source), item.descending, item.nulls_last)


def _column(item: OrderItem, plan: Plan, items: tuple[SelectItem, ...], source: SourceText) -> str:
    node, names = item.expression, plan.schema.names
    known = items and not any(isinstance(i.expression, Star) for i in items)
    before = len(names) - len(items)  # window_start and window_end, where nobody named them
    if isinstance(node, Constant) and type(node.value) is int:
        if not known or not 1 <= node.value <= len(items):
            raise source.error(f"there is no select item number {node.value}", item.span)
        return names[before + node.value - 1]
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
    hint = f"Select it, with a name: {item.text} AS x ... ORDER BY x."
    if isinstance(node, ColumnRef):
        hint = did_you_mean(node.name.text, names, "result columns") or hint
    raise source.error("ORDER BY takes columns of the result, and this is none", item.span, hint)


def _plain(text: str) -> str:
    return "".join(text.split()).lower()
