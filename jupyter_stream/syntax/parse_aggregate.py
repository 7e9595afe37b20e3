"""User-defined aggregates as written: CREATE AGGREGATE with its tables and states [esl]. Not for what names mean."""

from __future__ import annotations

from typing import Any

import polars as pl
from sqlglot import TokenType

from jupyter_stream.syntax.diagnose import did_you_mean
from jupyter_stream.syntax.nodes import Node
from jupyter_stream.syntax.parse_expression import ExpressionParser
from jupyter_stream.syntax.parse_query import parse_body
from jupyter_stream.syntax.parse_table import parse_delete, parse_update
from jupyter_stream.syntax.parse_type import parse_type
from jupyter_stream.syntax.source_text import Name, Span
from jupyter_stream.syntax.syntax import (
    BodyDelete,
    BodyInsert,
    BodyStatement,
    BodyTable,
    BodyUpdate,
    CreateAggregate,
    TypedName,
)

STATES = ("INITIALIZE", "ITERATE", "TERMINATE", "EXPIRE")
_STATEMENTS = ("INSERT", "UPDATE", "DELETE")
_USAGE = "Write CREATE AGGREGATE f (x DOUBLE) : DOUBLE { TABLE t (a DOUBLE); INITIALIZE : { } ITERATE : { } TERMINATE : { } }."
_VALUES = "Write INSERT INTO RETURN VALUES (x), or INSERT INTO RETURN SELECT a FROM t."


def aggregate_follows(p: ExpressionParser) -> bool:
    """Whether `[ALGEBRAIC] [WINDOW] AGGREGATE` comes next."""
    return p.peek("AGGREGATE") or p.peek("ALGEBRAIC") or p.peek("WINDOW", "AGGREGATE")


def parse_aggregate(p: ExpressionParser, common: dict[str, Any]) -> CreateAggregate:
    """Take what follows CREATE. `common` is what every statement has."""
    algebraic = p.word("ALGEBRAIC")
    window = p.word("WINDOW")
    p.expect("AGGREGATE")
    name = p.name("an aggregate")
    p.expect_sign(TokenType.L_PAREN, "(", _USAGE)
    parameters = () if p.comes(TokenType.R_PAREN) else typed(p, "a parameter")
    p.expect_sign(TokenType.R_PAREN, ")")
    returns = _returns(p) if p.sign(TokenType.COLON) else None
    references = _references(p)
    p.expect_sign(TokenType.L_BRACE, "{", _USAGE)
    p.in_body = True
    tables: list[BodyTable] = []
    while p.peek("TABLE"):
        tables.append(_table(p))
    states: dict[str, tuple[BodyStatement, ...]] = {}
    places: dict[str, Span] = {}
    while not p.sign(TokenType.R_BRACE):
        _states(p, states, places)
    return CreateAggregate(
        algebraic=algebraic, window=window, name=name, parameters=parameters, returns=returns, tables=tuple(tables),
        states=states, places=places, references=references, **common,
    )  # fmt: skip


def _references(p: ExpressionParser) -> tuple[Name, ...]:
    """`REFERENCES a, b`: tables of the session that the aggregate may write."""
    if not p.word("REFERENCES"):
        return ()
    names = [p.name("a table")]
    while p.sign(TokenType.COMMA):
        names.append(p.name("a table"))
    return tuple(names)


def typed(p: ExpressionParser, what: str) -> tuple[TypedName, ...]:
    """Names, each with its type or without."""
    found: list[TypedName] = []
    while True:
        name = p.name(what)
        if any(t.name.text.lower() == name.text.lower() for t in found):
            p.fail(f"{name.text} appears twice", name.span, "Give one of them another name.")
        dtype = None if p.comes(TokenType.COMMA, TokenType.R_PAREN) else parse_type(p)
        found.append(TypedName(name, dtype))
        if not p.sign(TokenType.COMMA):
            return tuple(found)


def _returns(p: ExpressionParser) -> pl.DataType:
    """A type, or `(a INT, b DOUBLE)` for several columns: a STRUCT."""
    if not p.sign(TokenType.L_PAREN):
        return parse_type(p)
    columns = typed(p, "a column")
    p.expect_sign(TokenType.R_PAREN, ")")
    for column in columns:
        if column.dtype is None:
            p.fail(
                f"the type of {column.name.text} is missing",
                column.name.span,
                f"Write {column.name.text} DOUBLE, for example.",
            )
    return pl.Struct([pl.Field(c.name.text, c.dtype) for c in columns if c.dtype is not None])


def _table(p: ExpressionParser) -> BodyTable:
    start = p.here
    p.advance()
    name = p.name("a table")
    if name.text.upper() == "RETURN":
        p.fail("RETURN can't be declared: it exists already, and its rows are the answer", name.span)
    p.expect_sign(TokenType.L_PAREN, "(", "Write TABLE state (tsum DOUBLE, cnt INT);")
    columns = typed(p, "a column")
    p.expect_sign(TokenType.R_PAREN, ")")
    span = p.since(start)
    p.expect_sign(TokenType.SEMICOLON, ";")
    return BodyTable(name, columns, span)


def _states(p: ExpressionParser, states: dict[str, tuple[BodyStatement, ...]], places: dict[str, Span]) -> None:
    """`INITIALIZE : ITERATE : { statements }`: one block may be that of several states."""
    named: list[str] = []
    while True:
        word = p.curr.text.upper() if p.curr else ""
        if word not in STATES:
            hint = did_you_mean(p.curr.text, STATES, "states") if p.curr and p.comes(TokenType.VAR) else None
            if p.at_end:
                p.fail("} is missing here", hint="Write the body of an aggregate between { and }.")
            if p.peek("TABLE"):
                p.fail(
                    "tables must be declared before INITIALIZE, ITERATE, TERMINATE and EXPIRE",
                    hint="Move it to the beginning of the body.",
                )
            p.fail("INITIALIZE, ITERATE, TERMINATE or EXPIRE is missing here", hint=hint or _USAGE)
        if word.lower() in states or word.lower() in named:
            p.fail(f"{word} appears twice", hint="Write all its statements in one place.")
        named.append(word.lower())
        places[word.lower()] = p.here
        p.advance()
        p.expect_sign(TokenType.COLON, ":", f"Write {word} : {{ ... }}")
        if p.sign(TokenType.L_BRACE):
            break
    statements: list[BodyStatement] = []
    while not p.sign(TokenType.R_BRACE):
        if p.sign(TokenType.SEMICOLON):
            continue
        statements.append(_statement(p))
        if not p.comes(TokenType.R_BRACE, TokenType.SEMICOLON):
            p.fail("; is missing here", hint="End each statement with ;.")
    for state in named:
        states[state] = tuple(statements)


def _statement(p: ExpressionParser) -> BodyStatement:
    start = p.here
    p.with_bodies = {}
    if p.word("INSERT"):
        return _insert(p, start)
    nothing: dict[str, Any] = {"source": p.source, "span": start, "text": ""}
    if p.word("UPDATE"):
        update = parse_update(p, nothing)
        return BodyUpdate(update.table, update.assignments, update.where, p.since(start))
    if p.word("DELETE"):
        delete = parse_delete(p, nothing)
        return BodyDelete(delete.table, delete.where, p.since(start))
    word = p.curr.text if p.curr else ""
    if p.at_end:
        p.fail("} is missing here", hint="Write the statements between { and }.")
    if p.comes(TokenType.SELECT):
        p.fail("a SELECT alone does nothing here", hint="Write INSERT INTO RETURN SELECT ....")
    raise p.failure(
        f"no statement in the body of an aggregate begins with {word}",
        hint=did_you_mean(word, _STATEMENTS, "statements") or f"They are {', '.join(_STATEMENTS)}.",
    )


def _insert(p: ExpressionParser, start: Span) -> BodyInsert:
    p.expect("INTO", hint=_VALUES)
    table = p.name("a table")
    columns: tuple[Name, ...] | None = None
    if p.comes(TokenType.L_PAREN) and p.next.kind != TokenType.SELECT:
        p.advance()
        names = [p.name("a column")]
        while p.sign(TokenType.COMMA):
            names.append(p.name("a column"))
        p.expect_sign(TokenType.R_PAREN, ")")
        columns = tuple(names)
    if p.comes(TokenType.SELECT, TokenType.L_PAREN) or p.peek("WITH"):
        return BodyInsert(table, columns, (), None, parse_body(p), p.since(start))
    if not p.word("VALUES"):
        p.fail("VALUES is missing here", hint=_VALUES)
    rows = [_row(p)]
    while p.sign(TokenType.COMMA):
        rows.append(_row(p))
    where = p.expression("a condition") if p.sign(TokenType.WHERE) else None
    return BodyInsert(table, columns, tuple(rows), where, None, p.since(start))


def _row(p: ExpressionParser) -> tuple[Node, ...]:
    p.expect_sign(TokenType.L_PAREN, "(", _VALUES)
    values = [p.expression("a value")]
    while p.sign(TokenType.COMMA):
        values.append(p.expression("a value"))
    p.expect_sign(TokenType.R_PAREN, ")")
    return tuple(values)
