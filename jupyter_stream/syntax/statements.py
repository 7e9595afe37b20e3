"""A cell's text as statements. The one way in from text; what names mean is worked out by `bind_*`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

from sqlglot import TokenType

from jupyter_stream.syntax.diagnose import did_you_mean
from jupyter_stream.syntax.nesting import room
from jupyter_stream.syntax.parameters import HALVES, Parameters
from jupyter_stream.syntax.parse_aggregate import parse_aggregate
from jupyter_stream.syntax.parse_create import parse_create
from jupyter_stream.syntax.parse_expression import ExpressionParser
from jupyter_stream.syntax.parse_query import operator_follows, parse_body, parse_query
from jupyter_stream.syntax.parse_table import parse_delete, parse_insert, parse_update
from jupyter_stream.syntax.parse_tolerance import parse_target
from jupyter_stream.syntax.parse_window import parse_over, parse_window
from jupyter_stream.syntax.script import Piece, cut
from jupyter_stream.syntax.source_text import SourceText, Span
from jupyter_stream.syntax.syntax import (
    ApproximateQuery,
    Describe,
    DescribeAggregate,
    DescribeFunctions,
    DescribeSink,
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
    "CREATE FUNCTION",
    "CREATE SUMMARY",
    "CREATE SINK",
    "INSERT",
    "DELETE",
    "UPDATE",
    "SHOW",
    "DESCRIBE",
    "DROP",
    "EXPLAIN",
    "APPROXIMATE",
    "WITH",
)
_NOT_YET = ("MERGE", "ALTER", "TRUNCATE")
_SHOWN = (
    "STREAMS",
    "QUERIES",
    "TABLES",
    "VIEWS",
    "SOURCES",
    "SINKS",
    "FUNCTIONS",
    "AGGREGATES",
    "SUMMARIES",
    "SCHEDULERS",
)

MOST_CHARACTERS = 1_000_000
"""Characters a cell may have."""


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
    _check_text(source)
    with room():
        return tuple(_one(piece, source, parameters) for piece in cut(source))


def _check_text(source: SourceText) -> None:
    """Raise for what is too long to be read, and for halves of characters, which no text in UTF-8 can hold."""
    if len(source.text) > MOST_CHARACTERS:
        raise source.error(
            f"this cell has {len(source.text):,} characters, and the most is {MOST_CHARACTERS:,}",
            Span(0, 1),
            "Put data into a frame or a file: SOURCE 'frame://name'. Pass a long list by name: x IN :names.",
        )
    half = HALVES.search(source.text)
    if half is not None:
        shown = f"U+{ord(half[0]):04X}"
        raise source.error(f"{shown} is half of a character", Span(half.start(), half.end()), "Type it again.")


def _one(piece: Piece, source: SourceText, parameters: Parameters) -> Statement:
    common = {"source": source, "span": piece.span, "text": source.text[piece.span.start : piece.span.end]}

    try:
        p = ExpressionParser(piece, source, parameters, parse_body, parse_window, parse_over)
        if p.at_end:
            raise source.error(
                "this isn't a statement", piece.span, "Write SELECT ..., CREATE STREAM ... or SHOW STREAMS."
            )
        statement: Statement = _statement(p, common)
    except RecursionError:  # where the caller has used up what there is
        raise source.error("this is nested too deeply to be read", piece.span, "Split it into subqueries.") from None
    if not p.at_end:
        p.unexpected()
    return statement


def _statement(p: ExpressionParser, common: dict[str, Any]) -> Any:
    if p.comes(TokenType.SELECT, TokenType.L_PAREN) or p.peek("WITH") or p.values_ahead() or operator_follows(p):
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
    if p.peek("APPROXIMATE"):
        return _approximate(p, common)
    word = p.curr.text
    if word.upper() in _NOT_YET:
        p.unsupported(word.upper())
    if word.startswith("%"):
        p.fail("a magic needs a cell of its own", hint="Move this line to another cell.")
    raise p.failure(f"no statement begins with {word}", hint=did_you_mean(word, FIRST_WORDS, "statements"))


def _select(p: ExpressionParser, common: dict[str, Any]) -> Select:
    return Select(**parse_query(p)._asdict(), **common)


def _approximate(p: ExpressionParser, common: dict[str, Any]) -> Any:
    """`APPROXIMATE SELECT ... TO size`, or `APPROXIMATE QUERY name TO size`."""
    if p.next.text.upper() == "QUERY":
        p.advance(2)
        return ApproximateQuery(name=p.name("a query"), target=parse_target(p), **common)
    return _approximate_select(p, common)


def _approximate_select(p: ExpressionParser, common: dict[str, Any]) -> Select:
    p.advance()
    if not (p.comes(TokenType.SELECT, TokenType.L_PAREN) or p.peek("WITH") or operator_follows(p)):
        hint = "Write APPROXIMATE SELECT ... TO '100 MB', or APPROXIMATE QUERY name TO '100 MB'."
        p.fail("SELECT or QUERY is missing here", hint=hint)
    return Select(**parse_query(p)._asdict(), target=parse_target(p), **common)


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
    if p.peek("SINK") and p.next:
        p.advance()
        return DescribeSink(name=p.name("a sink"), **common)
    p.word("STREAM") or p.word("TABLE")
    name = p.stream_name("a stream")
    if name.text.lower() in ("late", "errors") and p.sign(TokenType.L_PAREN):
        inner = p.name("a stream")
        p.expect_sign(TokenType.R_PAREN, ")")
        return Describe(name=inner, function=cast(Any, name.text.lower()), **common)
    return Describe(name=name, **common)


def _drop(p: ExpressionParser, common: dict[str, Any]) -> Any:
    kinds = ("STREAM", "TABLE", "VIEW", "QUERY", "AGGREGATE", "FUNCTION", "SUMMARY", "SINK")
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
    if p.peek("APPROXIMATE") and p.next:
        select = _approximate_select(p, common)
    elif p.comes(TokenType.SELECT, TokenType.L_PAREN) or p.peek("WITH"):
        select = _select(p, common)
    if select is not None:
        span = p.since(start)
        select = replace(select, span=span, text=p.source.text[span.start : span.end])
    else:
        name = p.name("a query, or a SELECT,")
    engine = "kernel"
    if p.word("ON"):
        if not (p.word("SPARK") or p.word("KERNEL")):
            p.fail("SPARK or KERNEL is missing here")
        engine = p.prev.text.lower()
    return Explain(select=select, name=name, engine=cast(Any, engine), **common)
