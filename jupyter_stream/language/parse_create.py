"""CREATE STREAM as written: columns, watermark, order, source and options. Not for whether they fit together."""

from __future__ import annotations

from typing import Any

from sqlglot import TokenType

from jupyter_stream.language.diagnose import did_you_mean
from jupyter_stream.language.parse_aggregate import aggregate_follows, parse_aggregate
from jupyter_stream.language.parse_constraint import constraint_follows, parse_constraint
from jupyter_stream.language.parse_expression import ExpressionParser
from jupyter_stream.language.parse_preference import parse_summary, refuse_inside
from jupyter_stream.language.parse_query import parse_body
from jupyter_stream.language.parse_type import parse_type
from jupyter_stream.language.parse_window import duration
from jupyter_stream.language.source_text import Name, Span
from jupyter_stream.language.syntax import ColumnDef, ConstraintClause, Option, WatermarkClause

_CLAUSES = ("ORDER BY", "WATERMARK FOR", "SOURCE", "WITH", "AS")
_KINDS = ("STREAM", "TABLE", "VIEW", "AGGREGATE", "SUMMARY")
_WORDS = "words behind CREATE"
_WATERMARK = "Write WATERMARK FOR ts AS ts - INTERVAL 5 SECONDS."


def parse_create(p: ExpressionParser, common: dict[str, Any]) -> Any:
    """Take what follows CREATE. `common` is what every statement has."""
    from jupyter_stream.language.syntax import CreateStream, CreateStreamAs, CreateTable, CreateTableAs, CreateView

    if p.comes(TokenType.OR):
        p.advance()
        p.expect("REPLACE")
    if aggregate_follows(p):
        return parse_aggregate(p, common)
    if p.word("SUMMARY"):
        return parse_summary(p, common)
    retroactive = p.word("RETROACTIVE")
    table = p.word("TABLE")
    if retroactive and not table:
        p.fail("TABLE is missing here", hint="Tables are retroactive, streams are not.")
    view = not table and p.word("VIEW")
    if not table and not view and not p.word("STREAM"):
        word = p.curr.text if p.curr else ""
        p.fail("STREAM is missing here", hint=did_you_mean(word, _KINDS, _WORDS))
    if p.comes(TokenType.IN) or p.peek("IF"):
        p.advance()
        if not p.sign(TokenType.NOT):
            p.fail("NOT EXISTS is missing here")
        p.expect("EXISTS")
        common = {**common, "unless_exists": True}
    name = p.stream_name("the table" if table else "the view" if view else "the stream")
    names: list[tuple[Name, Any]] | None = None
    watermark: WatermarkClause | None = None
    constraints: tuple[ConstraintClause, ...] = ()
    if p.sign(TokenType.L_PAREN):
        names, watermark, constraints = _columns(p)
    if constraints and (table or view or p.comes(TokenType.ALIAS)):
        what = "table" if table else "view" if view else "derived stream"
        p.fail(
            f"a {what} has no order of arrival to be constrained",
            constraints[0].span,
            "Declare the constraint of the stream with the SOURCE.",
        )
    if p.sign(TokenType.ALIAS):
        columns = None
        kind = "table" if table else "view" if view else "derived stream"
        if watermark is not None:
            p.fail(
                f"a {kind} progresses as its SELECT does", watermark.span, "Declare it of the stream with the SOURCE."
            )
        if names is not None:
            for column, dtype in names:
                if dtype is not None:
                    p.fail(
                        f"the columns of a {kind} have the types of its SELECT",
                        column.span,
                        "Leave the type out.",
                    )
            columns = tuple(column for column, _ in names)
        if p.peek("WITH"):
            p.unsupported(f"WITH in a {kind}")
        start = p.here
        body = parse_body(p)
        if view:
            refuse_inside(p)
            if p.peek("EMIT"):
                p.fail("a view always shows the present state", hint="Leave EMIT out.")
            return CreateView(name=name, columns=columns, body=body, **common)
        if table:
            if p.peek("EMIT"):
                p.fail("a table is filled once, with the final answer", hint="Leave EMIT out.")
            return CreateTableAs(name=name, columns=columns, body=body, retroactive=retroactive, **common)
        refuse_inside(p)
        if p.peek("EMIT"):
            p.fail("a derived stream holds final answers", hint="Write EMIT in the query that reads it.")
        return CreateStreamAs(
            name=name, columns=columns, body=body, query_text=p.source.slice(p.since(start)), **common
        )
    if view:
        p.fail("AS is missing here", hint=f"Write CREATE VIEW {name.text} AS SELECT ....")
    order_by: Name | None = None
    uri: str | None = None
    uri_span = name.span
    options: tuple[Option, ...] = ()
    seen: set[str] = set()
    while not p.at_end:
        at = p.here
        clause = _clause(p, table=table)
        if clause in seen:
            p.fail(f"{clause} stands twice", at)
        seen.add(clause)
        if clause == "ORDER BY":
            order_by = p.name("the time column")
            if p.peek("DESC"):
                p.fail("time goes up", hint="Leave DESC out.")
            p.word("ASC")
        elif clause == "WATERMARK FOR":
            if watermark is not None:
                p.fail("a stream has one watermark", at)
            watermark = _watermark(p, at)
        elif clause == "SOURCE":
            uri, uri_span = _text(p, "the source, such as 'file://bids.jsonl',")
            if "{{" in uri:
                p.fail(
                    "a parameter isn't filled in inside quotes",
                    uri_span,
                    "Write SOURCE {{ expression }}, the whole address.",
                )
        else:
            options = _options(p)
    if table and (order_by is not None or watermark is not None):
        at = order_by.span if order_by is not None else name.span
        p.fail("a table has no time to progress on", at, "Take ORDER BY and WATERMARK away.")
    if uri is None and not (table and names is not None):
        p.fail("SOURCE is missing", hint="Say where the rows come from, such as SOURCE 'frame://df'.")
    columns_ = None
    if names is not None:
        for column, dtype in names:
            if dtype is None:
                p.fail(
                    f"the type of {column.text} is missing", column.span, f"Write {column.text} DOUBLE, for example."
                )
        columns_ = tuple(ColumnDef(column, dtype) for column, dtype in names)
    if table:
        return CreateTable(
            name=name, columns=columns_, uri=uri, uri_span=uri_span, options=options, retroactive=retroactive, **common
        )
    assert uri is not None
    return CreateStream(
        name=name, columns=columns_, watermark=watermark, order_by=order_by, uri=uri, uri_span=uri_span, options=options,
        constraints=constraints, **common,
    )  # fmt: skip


def _clause(p: ExpressionParser, *, table: bool) -> str:
    if p.comes(TokenType.ORDER_BY):
        p.advance()
        p.expect("BY")
        return "ORDER BY"
    if p.word("WATERMARK", "FOR"):
        return "WATERMARK FOR"
    if p.word("SOURCE"):
        return "SOURCE"
    if p.word("WITH"):
        return "WITH"
    if p.peek("WATERMARK"):
        p.fail("FOR is missing after WATERMARK", hint=_WATERMARK)
    if p.comes(TokenType.SELECT):
        p.fail("AS is missing before SELECT", hint="Write CREATE STREAM name AS SELECT ....")
    if p.comes(TokenType.STRING):
        p.fail("SOURCE is missing before this", hint="Write SOURCE 'file://bids.jsonl'.")
    word = p.curr.text
    clauses, of = (_CLAUSES[2:], "clauses of CREATE TABLE") if table else (_CLAUSES, "clauses of CREATE STREAM")
    raise p.failure(f"{word} isn't expected here", hint=did_you_mean(word, clauses, of))


def _columns(
    p: ExpressionParser,
) -> tuple[list[tuple[Name, Any]] | None, WatermarkClause | None, tuple[ConstraintClause, ...]]:
    """The column list, its parenthesis open already; types may be missing (for AS SELECT).

    None for the columns where only the watermark or constraints stand in it: the source knows them.
    """
    columns: list[tuple[Name, Any]] = []
    constraints: list[ConstraintClause] = []
    watermark: WatermarkClause | None = None
    while True:
        at = p.here
        if p.word("WATERMARK", "FOR"):
            if watermark is not None:
                p.fail("a stream has one watermark", at)
            watermark = _watermark(p, at)
        elif constraint_follows(p):
            constraints.append(parse_constraint(p))
        else:
            name = p.name("a column")
            dtype = None if p.comes(TokenType.COMMA, TokenType.R_PAREN) or p.at_end else parse_type(p)
            columns.append((name, dtype))
            if p.comes(TokenType.NOT) or p.peek("COMMENT") or p.peek("DEFAULT") or p.peek("PRIMARY"):
                word = p.curr.text.upper()
                p.unsupported(f"{'NOT NULL' if word == 'NOT' else word} behind a column", p.here, "Leave it out.")
        if not p.sign(TokenType.COMMA):
            break
    if not p.sign(TokenType.R_PAREN):
        if p.comes(TokenType.VAR, TokenType.IDENTIFIER):
            p.fail(", or ) is missing here", hint="Columns are written name TYPE, name TYPE.")
        p.fail(") is missing here", hint="The list of columns isn't closed.")
    if not columns and watermark is None and not constraints:
        p.fail("the list of columns is empty", p.behind, "Leave it out if the source knows its own columns.")
    return columns or None, watermark, tuple(constraints)


def _watermark(p: ExpressionParser, at: Span) -> WatermarkClause:
    """`ts AS ts - INTERVAL d`, after WATERMARK FOR."""
    column = p.name("the time column")
    if not p.sign(TokenType.ALIAS):
        p.fail("AS is missing here", hint=_WATERMARK)
    again = p.name("the time column")
    if again.text.lower() != column.text.lower():
        p.fail(f"the watermark for {column.text} is worked out from {column.text}", again.span, _WATERMARK)
    delay = 0
    if p.sign(TokenType.DASH):
        if p.comes(TokenType.NUMBER) and p.curr.text.isdigit() and not _unit_behind_number(p):
            delay = int(p.curr.text)  # for times declared BIGINT, microseconds
            p.advance()
        elif p.comes(TokenType.INTERVAL) and _is_zero(p):
            p.interval()
        else:
            delay = duration(p, _WATERMARK)
    elif p.sign(TokenType.PLUS):
        p.fail("a watermark runs behind the newest row", p.behind, _WATERMARK)
    return WatermarkClause(column, delay, p.since(at))


def _unit_behind_number(p: ExpressionParser) -> bool:
    from jupyter_stream.core.time import unit

    return p.next.kind == TokenType.VAR and unit(p.next.text) is not None


def _is_zero(p: ExpressionParser) -> bool:
    return p.next.text.strip() in ("0", "0.0", "0 seconds", "0 second")


def _text(p: ExpressionParser, what: str) -> tuple[str, Span]:
    """A text in quotes, or a parameter that is one."""
    if p.value_ahead():
        written, value, span = p.value()
        if not isinstance(value, str) and not hasattr(value, "__fspath__"):
            p.fail(f"{written} is no text", span, f"{what} is written as a text.")
        return str(value), span
    if not p.comes(TokenType.STRING, TokenType.RAW_STRING):
        p.fail(f"{what.removesuffix(',')} is missing here", hint="It stands in quotes.")
    p.advance()
    return p.prev.text, p.behind


def _options(p: ExpressionParser) -> tuple[Option, ...]:
    p.expect_sign(TokenType.L_PAREN, "(", "Write WITH (format = 'json').")
    options: dict[str, Option] = {}
    while not p.comes(TokenType.R_PAREN):
        start = p.here
        if p.comes(TokenType.STRING):
            name = Name(p.curr.text, p.here)
            p.advance()
        else:
            name = p.option_name()
        while p.sign(TokenType.DOT):
            name = Name(f"{name.text}.{p.option_name().text}", p.since(start))
        p.expect_sign(TokenType.EQ, "=", f"Write {name.text} = 'value'.")
        value, span = _option_value(p)
        lower = name.text.lower()
        if lower in options:
            p.fail(f"the option {lower} stands twice", name.span)
        options[lower] = Option(Name(lower, name.span), value, span)
        if not p.sign(TokenType.COMMA):
            break
    p.expect_sign(TokenType.R_PAREN, ")", None if p.at_end else "Options are written name = 'value', name = 'value'.")
    return tuple(options.values())


def _option_value(p: ExpressionParser) -> tuple[str, Span]:
    start = p.here
    if p.value_ahead():
        _, value, span = p.value()
        return (str(value).lower() if isinstance(value, bool) else str(value)), span
    if p.comes(TokenType.TRUE, TokenType.FALSE):
        p.advance()
        return p.prev.text.lower(), p.behind
    negative = "-" if p.sign(TokenType.DASH) else ""
    if p.comes(TokenType.NUMBER):
        p.advance()
        return negative + p.prev.text, p.since(start)
    if p.comes(TokenType.STRING, TokenType.RAW_STRING):
        p.advance()
        return p.prev.text, p.behind
    raise p.failure(
        "the value of the option is missing here", hint="It stands in quotes, or is a number, true or false."
    )
