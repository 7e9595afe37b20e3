"""Whether a SELECT asks for the numbers of FROM's rows: by `row_num`, or by a window of rows behind an aggregate."""

from __future__ import annotations

from collections.abc import Iterator

from jupyter_stream.binding.scope import ROW_NUM
from jupyter_stream.syntax.nodes import ColumnRef, FunctionCall, Node, Subselect, walk
from jupyter_stream.syntax.query_syntax import QueryBody, SetBody


def counts_rows(body: QueryBody) -> bool:
    """Whether a number is asked for, also in a SELECT inside an expression, which may mean the rows outside."""
    return any(_counts(part) for node in _expressions(body) for part in walk(node))


def _counts(node: Node) -> bool:
    if isinstance(node, Subselect):
        return counts_rows(node.body)
    if isinstance(node, FunctionCall):
        return node.window is not None and node.window.counts
    return isinstance(node, ColumnRef) and node.name.text.lower() == ROW_NUM


def _expressions(body: QueryBody) -> Iterator[Node]:
    if isinstance(body, SetBody):
        for part in body.parts:
            yield from _expressions(part)
        return
    yield from (item.expression for item in body.items)
    yield from body.group_by
    yield from (key.expression for key in (body.order.items if body.order is not None else ()))
    yield from (part for part in (body.where, body.having, body.qualify) if part is not None)


__all__ = ["counts_rows"]
