"""Constraints in the column list of CREATE STREAM: CLUSTERED, ORDERED and FOREIGN KEY, each WITHIN its k."""

from __future__ import annotations

from sqlglot import TokenType

from jupyter_stream.core.time import unit
from jupyter_stream.syntax.parse_expression import ExpressionParser
from jupyter_stream.syntax.parse_window import amount
from jupyter_stream.syntax.source_text import Name, Span
from jupyter_stream.syntax.syntax import ClusteredClause, ConstraintClause, OrderedClause, ReferenceClause

CLUSTERED = "Write CONSTRAINT CLUSTERED (orderID) WITHIN 10 ROWS."
ORDERED = "Write CONSTRAINT ORDERED (ts) WITHIN 5 SECONDS, or WITHIN 10 ROWS."
REFERENCE = "Write FOREIGN KEY (orderID) REFERENCES Orders WITHIN 5 SECONDS."
KINDS = ("CLUSTERED", "ORDERED", "FOREIGN KEY")
_NOT_OURS = ("PRIMARY", "UNIQUE", "CHECK")


def constraint_follows(p: ExpressionParser) -> bool:
    """Whether a constraint comes next rather than a column."""
    if p.peek("CONSTRAINT") and p.next.kind in (TokenType.VAR, TokenType.IDENTIFIER):
        return not _is_type(p)
    if (p.peek("CLUSTERED") or p.peek("ORDERED")) and p.next.kind == TokenType.L_PAREN:
        return True
    return p.peek("FOREIGN", "KEY") or any(p.peek(word) and not _is_type(p) and _kind(p) for word in _NOT_OURS)


def _kind(p: ExpressionParser) -> bool:
    return p.next.kind in (TokenType.VAR, TokenType.L_PAREN)


def _is_type(p: ExpressionParser) -> bool:
    from jupyter_stream.core.schema import sql_type

    return sql_type(p.next.text) is not None


def parse_constraint(p: ExpressionParser) -> ConstraintClause:
    """Take `[CONSTRAINT [name]] CLUSTERED (c) WITHIN k ROWS`, and the other two."""
    start = p.here
    if p.word("CONSTRAINT") and not _kind_follows(p) and p.next.kind != TokenType.L_PAREN:
        p.name("the constraint")
    if p.word("CLUSTERED"):
        column = _one_column(p, CLUSTERED)
        rows = _within(p, CLUSTERED)
        if rows[0] != "rows":
            p.fail("WITHIN of a CLUSTERED constraint takes a number of rows, not a length of time", rows[2], CLUSTERED)
        return ClusteredClause(column, rows[1], p.since(start))
    if p.word("ORDERED"):
        column = _one_column(p, ORDERED)
        kind, value, _ = _within(p, ORDERED)
        return OrderedClause(column, value, kind == "rows", p.since(start))
    if p.word("FOREIGN"):
        p.expect("KEY", hint=REFERENCE)
        columns = _columns(p, REFERENCE)
        p.expect("REFERENCES", hint=REFERENCE)
        stream = p.stream_name("the stream it refers to")
        theirs = _columns(p, REFERENCE) if p.comes(TokenType.L_PAREN) else None
        if theirs is not None and len(theirs) != len(columns):
            p.fail(
                f"the numbers of columns differ: {len(columns)} in FOREIGN KEY, {len(theirs)} in REFERENCES",
                theirs[0].span,
                REFERENCE,
            )
        kind, value, span = _within(p, REFERENCE)
        if kind == "rows":
            p.fail("WITHIN of a FOREIGN KEY takes a length of time, not a number of rows", span, REFERENCE)
        return ReferenceClause(columns, stream, theirs, value, p.since(start))
    for word in _NOT_OURS:
        if p.peek(word):
            p.unsupported(f"{word} in the column list", p.here, f"Constraints of streams are {', '.join(KINDS)}.")
    raise p.failure("CLUSTERED, ORDERED or FOREIGN KEY is missing here", hint=CLUSTERED)


def _kind_follows(p: ExpressionParser) -> bool:
    return any(p.peek(word) for word in ("CLUSTERED", "ORDERED", "FOREIGN", *_NOT_OURS))


def _columns(p: ExpressionParser, example: str) -> tuple[Name, ...]:
    p.expect_sign(TokenType.L_PAREN, "(", example)
    found = [p.name("a column")]
    while p.sign(TokenType.COMMA):
        found.append(p.name("a column"))
    p.expect_sign(TokenType.R_PAREN, ")", example)
    return tuple(found)


def _one_column(p: ExpressionParser, example: str) -> Name:
    columns = _columns(p, example)
    if len(columns) > 1:
        p.unsupported("a constraint over several columns", columns[1].span, example)
    return columns[0]


def _within(p: ExpressionParser, example: str) -> tuple[str, int, Span]:
    """`WITHIN k`: its unit (`rows` or `time`), the number of rows or microseconds, its place. It may be 0."""
    p.expect("WITHIN", hint=example)
    start = p.here
    if p.comes(TokenType.NUMBER) and p.curr.text == "0":
        p.advance()
        if p.word("ROWS") or p.word("ROW"):
            return "rows", 0, p.since(start)
        if p.comes(TokenType.VAR) and unit(p.curr.text) is not None:
            p.advance()
            return "time", 0, p.since(start)
        p.fail("ROWS or a unit of time is missing here", hint=example)
    taken = amount(p, example)
    if taken.kind == "bare":
        p.fail("ROWS or a unit of time is missing here", hint=example)
    return taken.kind, taken.value, taken.span
