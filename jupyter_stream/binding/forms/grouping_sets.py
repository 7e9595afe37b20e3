"""ROLLUP, CUBE and GROUPING SETS are a UNION ALL of groupings, NULL standing where a grouping is without a column.

SELECT a, b, sum(n), grouping(b) FROM s GROUP BY ROLLUP (a, b)

SELECT a, b, sum(n), 0 FROM s GROUP BY a, b
UNION ALL SELECT a, NULL, sum(n), 1 FROM s GROUP BY a
UNION ALL SELECT NULL, NULL, sum(n), 1 FROM s GROUP BY ()
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import polars as pl

from jupyter_stream.binding.bind_expression import is_aggregate_call
from jupyter_stream.binding.scope import Scope, lookup
from jupyter_stream.binding.window_calls import window_call
from jupyter_stream.functions import Column
from jupyter_stream.syntax.nodes import (
    ColumnRef,
    Constant,
    FunctionCall,
    Node,
    NullOf,
    RowNumber,
    Star,
    ValueList,
    rewritten,
    walk,
)
from jupyter_stream.syntax.query_syntax import QueryBody, SelectBody, SelectItem, SetBody, SubqueryRef
from jupyter_stream.syntax.source_text import Name, SourceText

_EXTENT = ("window_start", "window_end", "window_id", "window_time")


def united(body: SelectBody, scope: Scope, selected: Callable[[Node], Node], source: SourceText) -> QueryBody:
    """A SELECT for each grouping, put together.

    Args:
        body: as written, with grouping sets.
        scope: what FROM gives it.
        selected: what a grouping column stands for, which can be the number or the name of a select item.
        source: where it is written.

    Raises:
        QueryError: row numbers beside it, grouping() of anything but a grouping column, a grouping without its window.
    """
    numbers = [n for i in body.items for n in walk(i.expression) if isinstance(n, RowNumber)]
    if numbers or body.qualify is not None:
        raise source.error(
            "row numbers can't be used beside ROLLUP, CUBE and GROUPING SETS",
            numbers[0].span if numbers else body.span if body.qualify is None else body.qualify.span,
            "Put the grouping into a subquery in FROM: SELECT ... FROM (SELECT ... GROUP BY ROLLUP (a, b)).",
        )
    keys = [(key, selected(key)) for key in body.group_by]
    for key, _ in keys:
        if _is_window(key, scope, source) and any(key not in chosen for chosen in body.grouping_sets):
            raise source.error(
                "every grouping has to have this window: without it, it would be over all rows",
                key.span,
                "Write it before the groupings: GROUP BY window_start, ROLLUP (a, b).",
            )
    made = _Groupings(body, [key for _, key in keys if not _is_nothing(key)], scope, source)
    parts = tuple(made.one([selected(key) for key in chosen]) for chosen in body.grouping_sets)
    operator = Name("GROUP BY", body.group_by[0].span.to(body.group_by[-1].span))
    whole: QueryBody = parts[0]
    if len(parts) > 1:
        whole = SetBody("union", parts, True, operator, body.span)
    if body.distinct is None and body.operator is None:
        return replace(whole, order=body.order)
    star = SelectItem(Star(None, body.select), None, "*", body.select)
    return SelectBody(
        select=body.select, operator=body.operator, distinct=body.distinct, items=(star,),
        source=SubqueryRef(whole, None, None, body.span), where=None, group_by=(), group_all=False, having=None,
        span=body.span, order=body.order,
    )  # fmt: skip


def _is_nothing(key: Node) -> bool:
    return isinstance(key, ValueList) and not key.items


def _is_window(key: Node, scope: Scope, source: SourceText) -> bool:
    if isinstance(key, ColumnRef) and key.qualifier is None and not scope.has(key.name.text):
        return key.name.text.lower() in _EXTENT
    return window_call(key, source, scope) is not None


class _Groupings:
    """The SELECTs of one grouping each."""

    def __init__(self, body: SelectBody, keys: list[Node], scope: Scope, source: SourceText) -> None:
        self._body, self._scope, self._source = body, scope, source
        self._keys = [self._plain(key) for key in keys]

    def one(self, keys: list[Node]) -> SelectBody:
        """The SELECT with these grouping columns."""
        body, present = self._body, [self._plain(key) for key in keys]
        items = []
        for item in body.items:
            made = self._put(item.expression, present)
            alias = item.alias
            if alias is None and made != item.expression:
                column = isinstance(item.expression, ColumnRef)
                alias = Name(item.expression.name.text if column else item.text, item.span)  # type: ignore[union-attr]  # `column` says it is one
            items.append(replace(item, expression=made, alias=alias))
        having = None if body.having is None else self._put(body.having, present)
        group_by: tuple[Node, ...] = tuple(keys) or (ValueList((), body.span),)
        return replace(
            body, operator=None, distinct=None, items=tuple(items), group_by=group_by, having=having, order=None,
            grouping_sets=(),
        )  # fmt: skip

    def _put(self, node: Node, present: list[Node]) -> Node:
        """An expression over the groups, with NULL for grouping columns that these groups are without."""

        def change(part: Node) -> Node | None:
            if isinstance(part, FunctionCall) and part.name.text.lower() in ("grouping", "grouping_id"):
                return self._missing(part, present)
            if is_aggregate_call(part):
                return part
            plain = self._plain(part)
            if plain in present:
                return part
            return NullOf(part, part.span) if plain in self._keys else None

        return rewritten(node, change)

    def _missing(self, call: FunctionCall, present: list[Node]) -> Constant:
        """Grouping(a, b): of each column 0 where rows are grouped by it, 1 where not, as the bits of a number."""
        args = [self._plain(arg) for arg in call.args] or self._keys
        bits = 0
        for arg in args:
            if arg not in self._keys:
                raise self._source.error(
                    f"{call.name.text}() takes grouping columns, and this is none",
                    arg.span,
                    "Name a column of ROLLUP, CUBE or GROUPING SETS.",
                )
            bits = 2 * bits + (arg not in present)
        return Constant(bits, pl.Int64(), call.span)

    def _plain(self, node: Node) -> Node:
        """The expression with columns by the names FROM gives them, so that two that mean the same are equal."""

        def change(part: Node) -> Node | None:
            if not isinstance(part, ColumnRef):
                return None
            found = lookup(self._scope, part.name, part.qualifier, self._source)
            if not isinstance(found, Column):
                return ColumnRef(Name(part.name.text.lower(), part.name.span), part.qualifier, part.span)
            return ColumnRef(Name(f"({found.name})", part.name.span), None, part.span)

        return rewritten(node, change)
