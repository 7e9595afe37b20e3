"""ROW_NUMBER() OVER (PARTITION BY ... ORDER BY ...), and the keys of ORDER BY anywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import TokenType

from jupyter_stream.syntax.nodes import Node, RowNumber, ValueList
from jupyter_stream.syntax.source_text import Name

if TYPE_CHECKING:
    from jupyter_stream.syntax.parse_expression import ExpressionParser
    from jupyter_stream.syntax.query_syntax import OrderItem

_USAGE = "Write ROW_NUMBER() OVER (PARTITION BY k ORDER BY n DESC) <= 3."


def row_number(p: ExpressionParser, name: Name) -> RowNumber:
    """Take what follows `ROW_NUMBER(`."""
    p.expect_sign(TokenType.R_PAREN, ")", _USAGE)
    if not p.word("OVER"):
        p.fail("OVER is missing here", hint=_USAGE)
    window = p.over()
    framed = window.frame.span if window.frame is not None else window.span
    if window.frame is not None or window.range is not None or window.unbounded:
        p.fail("ROW_NUMBER() counts from the first row of its partition", framed, "Leave the frame out.")
    return RowNumber(window.partitions, window.order, p.since(name.span))


def partition_items(p: ExpressionParser) -> tuple[Node, ...]:
    """Take the expressions of PARTITION BY; several may be in parentheses."""
    found = [p.expression("a column to partition by")]
    while p.sign(TokenType.COMMA):
        found.append(p.expression("a column to partition by"))
    first = found[0]
    return first.items if len(found) == 1 and isinstance(first, ValueList) else tuple(found)


def order_item(p: ExpressionParser) -> OrderItem:
    """Take one key of ORDER BY."""
    from jupyter_stream.syntax.query_syntax import OrderItem

    start, first = p.here, p.index
    expression = p.expression("a column to sort by")
    text = p.text_since(first, None)
    descending = p.word("DESC")
    if not descending:
        p.word("ASC")
    nulls_last = descending  # Spark's defaults
    if p.word("NULLS"):
        nulls_last = p.word("LAST")
        if not nulls_last and not p.word("FIRST"):
            p.fail("FIRST or LAST is missing here")
    return OrderItem(expression, text, descending, nulls_last, p.since(start))
