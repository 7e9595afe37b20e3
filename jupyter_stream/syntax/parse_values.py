"""VALUES in the place of a SELECT: rows written out are SELECTs without FROM, put together.

VALUES (1, 'a'), (2, 'b')
SELECT 1 AS col1, 'a' AS col2 UNION ALL SELECT 2 AS col1, 'b' AS col2
"""

from __future__ import annotations

from sqlglot import TokenType

from jupyter_stream.core.table import ONE_ROW
from jupyter_stream.syntax.nodes import ColumnRef, Node, Star, ValueList, walk
from jupyter_stream.syntax.parse_expression import ExpressionParser
from jupyter_stream.syntax.query_syntax import QueryBody, SelectBody, SelectItem, SetBody, StreamRef
from jupyter_stream.syntax.source_text import Name, Span

MOST_ROWS = 1_000
"""Rows VALUES may have in a query."""


def parse_values(p: ExpressionParser) -> QueryBody:
    """Take `VALUES (1, 'a'), (2, 'b')`; the columns are called col1, col2, ... as in Spark."""
    word = p.here
    p.advance()
    rows = [_row(p, word)]
    while p.sign(TokenType.COMMA):
        rows.append(_row(p, word))
        if len(rows[-1].items) != len(rows[0].items):
            p.fail(
                f"this row has another number of values than the first, which has {len(rows[0].items)}",
                rows[-1].span,
                "Write as many values in each row.",
            )
        if len(rows) > MOST_ROWS:
            p.fail(
                f"VALUES in a query has at most {MOST_ROWS:,} rows",
                rows[-1].span,
                "Put the rows into a table: CREATE TABLE t (a INT); INSERT INTO t VALUES ....",
            )
    if len(rows) == 1:
        return rows[0]
    return SetBody("union", tuple(rows), True, Name("VALUES", word), p.since(word))


def _row(p: ExpressionParser, word: Span) -> SelectBody:
    start = p.here
    taken = p.expression("a row")
    values: tuple[Node, ...] = taken.items if isinstance(taken, ValueList) else (taken,)
    named = next((n for value in values for n in walk(value) if isinstance(n, ColumnRef | Star)), None)
    if named is not None and not p.in_body:
        p.fail("VALUES takes values, not columns", named.span, "Write a text in quotes: VALUES ('a', 1).")
    items = tuple(
        SelectItem(value, Name(f"col{number}", value.span), f"col{number}", value.span)
        for number, value in enumerate(values, 1)
    )
    span = p.since(start)
    nothing = StreamRef(Name(ONE_ROW, span), None, None, None, span)
    return SelectBody(
        select=word, operator=None, distinct=None, items=items, source=nothing, where=None, group_by=(),
        group_all=False, having=None, span=span,
    )  # fmt: skip
