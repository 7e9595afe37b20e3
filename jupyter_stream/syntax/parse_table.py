"""Tables as written: CREATE TABLE, INSERT, DELETE, UPDATE."""

from __future__ import annotations

from typing import Any

from sqlglot import TokenType

from jupyter_stream.syntax.nodes import Node
from jupyter_stream.syntax.parse_expression import ExpressionParser
from jupyter_stream.syntax.parse_options import parse_options, text_or_value
from jupyter_stream.syntax.parse_query import parse_query
from jupyter_stream.syntax.source_text import Name
from jupyter_stream.syntax.syntax import Delete, Insert, Select, Update, WithOption

_VALUES = "Write INSERT INTO t VALUES (1, 'a'), (2, 'b')."


def parse_insert(p: ExpressionParser, common: dict[str, Any]) -> Insert:
    """Take what follows INSERT."""
    p.expect("INTO", hint=_VALUES)
    uri: str | None = None
    options: tuple[WithOption, ...] = ()
    if p.comes(TokenType.STRING, TokenType.RAW_STRING) or p.value_ahead():
        uri, span = text_or_value(p, "the address, such as 'file://answers/',")
        table = Name(uri, span)
    else:
        p.word("TABLE")
        table = p.name("a table")
    columns: tuple[Name, ...] | None = None
    if p.comes(TokenType.L_PAREN) and p.next.kind != TokenType.SELECT:
        p.advance()
        names = [p.name("a column")]
        while p.sign(TokenType.COMMA):
            names.append(p.name("a column"))
        p.expect_sign(TokenType.R_PAREN, ")")
        columns = tuple(names)
    if p.peek("WITH") and p.next.kind == TokenType.L_PAREN:
        p.advance()
        options = parse_options(p)
    if p.comes(TokenType.SELECT, TokenType.L_PAREN) or p.peek("WITH"):
        start = p.here
        found = parse_query(p)
        span = p.since(start)
        inner = {**common, "span": span, "text": p.source.text[span.start : span.end]}
        select = Select(**found._asdict(), **inner)
        return Insert(table=table, columns=columns, rows=(), select=select, uri=uri, options=options, **common)
    if uri is not None or options:
        p.fail("SELECT is missing here", hint="Write INSERT INTO 'file://answers/' SELECT ....")
    if not p.word("VALUES"):
        p.fail("VALUES is missing here", hint=_VALUES)
    rows = [_row(p)]
    while p.sign(TokenType.COMMA):
        rows.append(_row(p))
    return Insert(table=table, columns=columns, rows=tuple(rows), select=None, **common)


def _row(p: ExpressionParser) -> tuple[Node, ...]:
    p.expect_sign(TokenType.L_PAREN, "(", _VALUES)
    values = [p.expression("a value")]
    while p.sign(TokenType.COMMA):
        values.append(p.expression("a value"))
    p.expect_sign(TokenType.R_PAREN, ")")
    return tuple(values)


def parse_delete(p: ExpressionParser, common: dict[str, Any]) -> Delete:
    """Take what follows DELETE."""
    if not p.sign(TokenType.FROM):
        p.fail("FROM is missing here", hint="Write DELETE FROM t WHERE k = 1.")
    table = p.name("a table")
    return Delete(table=table, where=_where(p), **common)


def parse_update(p: ExpressionParser, common: dict[str, Any]) -> Update:
    """Take what follows UPDATE."""
    table = p.name("a table")
    p.expect("SET", hint="Write UPDATE t SET x = x + 1 WHERE k = 1.")
    assignments = [_assignment(p)]
    while p.sign(TokenType.COMMA):
        assignments.append(_assignment(p))
    return Update(table=table, assignments=tuple(assignments), where=_where(p), **common)


def _assignment(p: ExpressionParser) -> tuple[Name, Node]:
    column = p.name("a column")
    p.expect_sign(TokenType.EQ, "=", "Write SET x = x + 1.")
    return column, p.expression("a value")


def _where(p: ExpressionParser) -> Node | None:
    return p.expression("a condition") if p.sign(TokenType.WHERE) else None
