"""`SELECT DISTINCT ON (k) ...`: of the rows of each k the first by ORDER BY.

SELECT DISTINCT ON (k) k, n FROM t ORDER BY k, n DESC
SELECT k, n FROM t QUALIFY ROW_NUMBER() OVER (PARTITION BY k ORDER BY n DESC) = 1 ORDER BY k, n DESC
"""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from jupyter_stream.syntax.nodes import ColumnRef, Constant, Node, Operation, RowNumber
from jupyter_stream.syntax.query_syntax import Ordering, OrderItem, QueryBody, SelectBody, SelectItem


def first_of_each(body: QueryBody, order: Ordering | None) -> QueryBody:
    """A SELECT with DISTINCT ON, in other words; any other as it is.

    Args:
        body: as written.
        order: ORDER BY and LIMIT behind it, which stay there.
    """
    if not isinstance(body, SelectBody) or not body.distinct_on:
        return body
    keys = tuple(_meant(key, body.items) for key in body.distinct_on)
    by = () if order is None else tuple(replace(k, expression=_meant(k.expression, body.items)) for k in order.items)
    by = tuple(key for key in by if key.expression not in keys)
    by = by or tuple(OrderItem(key, "", False, False, key.span) for key in keys)
    span = keys[0].span
    first: Node = Operation("=", (RowNumber(keys, by, span), Constant(1, pl.Int32(), span)), span)
    qualify = first if body.qualify is None else Operation("and", (body.qualify, first), span)
    return replace(body, distinct_on=(), qualify=qualify)


def _meant(node: Node, items: tuple[SelectItem, ...]) -> Node:
    """A key that is the number or the name of a select item as what that is."""
    if isinstance(node, Constant) and type(node.value) is int and 1 <= node.value <= len(items):
        return items[node.value - 1].expression
    if isinstance(node, ColumnRef) and node.qualifier is None:
        for item in items:
            if item.alias is not None and item.alias.text.lower() == node.name.text.lower():
                return item.expression
    return node


__all__ = ["first_of_each"]
