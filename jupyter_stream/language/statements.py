"""A cell's text as statements. The one way in from text; what names mean is worked out by `bind_*`."""

from __future__ import annotations

from typing import Any, cast

from sqlglot import TokenType

from jupyter_stream.language.diagnose import did_you_mean
from jupyter_stream.language.parameters import Parameters
from jupyter_stream.language.parse_aggregate import parse_aggregate
from jupyter_stream.language.parse_create import parse_create
from jupyter_stream.language.parse_expression import ExpressionParser
from jupyter_stream.language.parse_query import parse_body, parse_query
from jupyter_stream.language.parse_table import parse_delete, parse_insert, parse_update
from jupyter_stream.language.parse_window import parse_over, parse_window
from jupyter_stream.language.script import Piece, cut
from jupyter_stream.language.source_text import SourceText
from jupyter_stream.language.syntax import (
    Describe,
    DescribeAggregate,
    DescribeFunctions,
    DescribeSummary,
    Drop,
    Explain,
    Select,
    Show,
    Statement,
)

FIRST_WORDS = (
    "SELECT",
    "CREATE STREAM",
    "CREATE TABLE",
    "CREATE AGGREGATE",
    "CREATE SUMMARY",
    "INSERT",
    "DELETE",
    "UPDATE",
    "SHOW",
    "DESCRIBE",
    "DROP",
    "EXPLAIN",
    "WITH",
)
_NOT_YET = ("MERGE", "ALTER", "TRUNCATE")
_SHOWN = ("STREAMS", "QUERIES", "TABLES", "VIEWS", "SOURCES", "FUNCTIONS", "AGGREGATES", "SUMMARIES")


def parse(text: str, parameters: Parameters = None, first_line: int = 1) -> tuple[Statement, ...]:
    """Split a cell into statements and parse each.

    Args:
        text: statements with `;` between them; `--` and `/* */` comments.
        parameters: values of `:name` and `{{ expression }}`, by name or from a function of the expression's text.
        first_line: number of the text's first line as the notebook shows it.

    Returns:
        The statements, in order; none for an empty text.

    Raises:
        QueryError: what is written isn't a statement; with line, column and, where it can be told, what was meant.
        UnsupportedError: a statement or clause that isn't available yet.
    """
    source = SourceText(text, first_line)
    return tuple(_one(piece, source, parameters) for piece in cut(source))


def _one(piece: Piece, source: SourceText, parameters: Parameters) -> Statement:
    common = {"source": source, "span": piece.span, "text": source.text[piece.span.start : piece.span.end]}

    try:
        p = ExpressionParser(piece, source, parameters, parse_body, parse_window, parse_over)
        if p.at_end:
            raise source.error("this isn't a statement", piece.span)
        statement: Statement = _statement(p, common)
    except RecursionError:
        raise source.error("this is nested too deeply to be read", piece.span, "Split it into subqueries.") from None
    if not p.at_end:
        p.unexpected()
    return statement


def _statement(p: ExpressionParser, common: dict[str, Any]) -> Any:
    if p.comes(TokenType.SELECT, TokenType.L_PAREN) or p.peek("WITH"):
        return _select(p, common)
    if p.word("CREATE"):
        return parse_create(p, common)
    if p.peek("AGGREGATE"):
        return parse_aggregate(p, common)  # the papers leave CREATE out once
    if p.word("INSERT"):
        return parse_insert(p, common)
    if p.word("DELETE"):
        return parse_delete(p, common)
    if p.word("UPDATE"):
        return parse_update(p, common)
    if p.word("SHOW"):
        return _show(p, common)
    if p.word("DESCRIBE") or p.word("DESC"):
        return _describe(p, common)
    if p.word("DROP"):
        return _drop(p, common)
    if p.word("EXPLAIN"):
        return _explain(p, common)
    word = p.curr.text
    if word.upper() in _NOT_YET:
        p.unsupported(word.upper())
    if word.startswith("%"):
        p.fail("magics stand in cells of their own", hint="Put this line into another cell.")
    raise p.failure(f"no statement begins with {word}", hint=did_you_mean(word, FIRST_WORDS, "statements"))


def _select(p: ExpressionParser, common: dict[str, Any]) -> Select:
    body, preference, emit = parse_query(p)
    return Select(body=body, emit=emit, preference=preference, **common)


def _show(p: ExpressionParser, common: dict[str, Any]) -> Any:
    word = p.curr.text.upper() if p.curr else ""
    if word not in _SHOWN:
        p.fail(
            "what to show is missing here" if p.at_end else f"there is nothing called {word} to show",
            hint=did_you_mean(word, _SHOWN, "words"),
        )
    p.advance()
    return Show(what=cast(Any, word.lower()), **common)


def _describe(p: ExpressionParser, common: dict[str, Any]) -> Any:
    if p.word("FUNCTIONS"):
        return DescribeFunctions(**common)
    if p.peek("FUNCTION") and p.next:
        p.advance()
        return DescribeFunctions(name=p.name("a function"), **common)
    if p.peek("AGGREGATE") and p.next:
        p.advance()
        return DescribeAggregate(name=p.name("an aggregate"), **common)
    if p.peek("SUMMARY") and p.next:
        p.advance()
        return DescribeSummary(name=p.name("a summary"), **common)
    p.word("STREAM") or p.word("TABLE")
    name = p.stream_name("a stream")
    if name.text.lower() in ("late", "errors") and p.sign(TokenType.L_PAREN):
        inner = p.name("a stream")
        p.expect_sign(TokenType.R_PAREN, ")")
        return Describe(name=inner, function=cast(Any, name.text.lower()), **common)
    return Describe(name=name, **common)


def _drop(p: ExpressionParser, common: dict[str, Any]) -> Any:
    kinds = ("STREAM", "TABLE", "VIEW", "QUERY", "AGGREGATE", "SUMMARY")
    word = p.curr.text.upper() if p.curr else ""
    if word not in kinds:
        p.fail("STREAM is missing here", hint=did_you_mean(word, kinds) or "Write DROP STREAM name.")
    p.advance()
    if_exists = p.word("IF", "EXISTS")
    return Drop(kind=cast(Any, word.lower()), name=p.stream_name("a stream"), if_exists=if_exists, **common)


def _explain(p: ExpressionParser, common: dict[str, Any]) -> Any:
    select: Select | None = None
    name = None
    start = p.here
    if p.comes(TokenType.SELECT, TokenType.L_PAREN) or p.peek("WITH"):
        body, preference, emit = parse_query(p)
        span = p.since(start)
        inner = {**common, "span": span, "text": p.source.text[span.start : span.end]}
        select = Select(body=body, emit=emit, preference=preference, **inner)
    else:
        name = p.name("a query, or a SELECT,")
    engine = "kernel"
    if p.word("ON"):
        if not (p.word("SPARK") or p.word("KERNEL")):
            p.fail("SPARK or KERNEL is missing here")
        engine = p.prev.text.lower()
    return Explain(select=select, name=name, engine=cast(Any, engine), **common)
