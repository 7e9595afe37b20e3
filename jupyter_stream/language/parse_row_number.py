"""ROW_NUMBER() OVER (PARTITION BY ... ORDER BY ...), and the keys of ORDER BY anywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import TokenType

from jupyter_stream.language.nodes import Node, RowNumber
from jupyter_stream.language.source_text import Name

if TYPE_CHECKING:
    from jupyter_stream.language.parse_expression import ExpressionParser
    from jupyter_stream.language.query_syntax import OrderItem

_USAGE = "Write ROW_NUMBER() OVER (PARTITION BY k ORDER BY n DESC) <= 3."


def row_number(p: ExpressionParser, name: Name) -> RowNumber:
    """Take what follows `ROW_NUMBER(`."""
    p.expect_sign(TokenType.R_PAREN, ")", _USAGE)
    if not p.word("OVER"):
        p.fail("OVER is missing here", hint=_USAGE)
    p.expect_sign(TokenType.L_PAREN, "(", _USAGE)
    partition: list[Node] = []
    if p.comes(TokenType.PARTITION_BY) or p.peek("PARTITION"):
        p.advance()
        p.word("BY")
        partition.append(p.expression("a column to partition by"))
        while p.sign(TokenType.COMMA):
            partition.append(p.expression("a column to partition by"))
    if not p.comes(TokenType.ORDER_BY):
        p.fail("ORDER BY is missing here", hint=_USAGE)
    p.advance()
    p.word("BY")
    order = [order_item(p)]
    while p.sign(TokenType.COMMA):
        order.append(order_item(p))
    p.expect_sign(TokenType.R_PAREN, ")", "Rows are numbered from the first: leave frames out.")
    return RowNumber(tuple(partition), tuple(order), p.since(name.span))


def order_item(p: ExpressionParser) -> OrderItem:
    """Take one key of ORDER BY."""
    from jupyter_stream.language.query_syntax import OrderItem

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
