"""SELECT: its clauses and what stands in FROM, as written. Not for what names mean."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Final, Literal, NamedTuple

from sqlglot import TokenType

from jupyter_stream.core.table import ONE_ROW
from jupyter_stream.syntax.diagnose import did_you_mean, nearest
from jupyter_stream.syntax.distinct_on import first_of_each
from jupyter_stream.syntax.named_windows import put_in_place
from jupyter_stream.syntax.nesting import MOST_COLUMNS
from jupyter_stream.syntax.nodes import ColumnRef, FunctionCall, Lambda, Node, Star, walk
from jupyter_stream.syntax.parse_expression import ExpressionParser, WithBody
from jupyter_stream.syntax.parse_grouping import parse_grouping
from jupyter_stream.syntax.parse_items import MAKERS, items_into_from, lateral_ahead, makes_rows, parse_items
from jupyter_stream.syntax.parse_join import parse_joins
from jupyter_stream.syntax.parse_literal import STOP_WORDS
from jupyter_stream.syntax.parse_preference import parse_preference, refuse_inside
from jupyter_stream.syntax.parse_row_number import order_item
from jupyter_stream.syntax.parse_tolerance import parse_tolerance, target_ahead
from jupyter_stream.syntax.parse_tolerance import refuse_inside as refuse_tolerance_inside
from jupyter_stream.syntax.parse_values import parse_values
from jupyter_stream.syntax.parse_window import duration, parse_over, parse_window
from jupyter_stream.syntax.query_syntax import (
    EmitClause,
    FromItem,
    Ordering,
    OrderItem,
    PreferenceClause,
    QueryBody,
    RecursiveRef,
    SampleClause,
    SelectBody,
    SelectItem,
    SetBody,
    StreamRef,
    SubqueryRef,
    ToleranceClause,
    UnionRef,
    WindowClause,
    streams_in,
)
from jupyter_stream.syntax.reader import CLAUSE_WORDS
from jupyter_stream.syntax.source_text import Name, Span
from jupyter_stream.syntax.table_windows import table_window
from jupyter_stream.windows import BY_WORD

_WIDE = "Write * for all columns of a stream. What is computed can be an ARRAY: array(a, b, c) AS values."
_OPERATORS = ("ISTREAM", "DSTREAM", "RSTREAM")
_SETS: dict[str, Literal["union", "except", "intersect"]] = {
    "UNION": "union",
    "∪": "union",
    "EXCEPT": "except",
    "MINUS": "except",
    "INTERSECT": "intersect",
}
_NOT_YET = {
    "LATERAL": "LATERAL",
    "PIVOT": "PIVOT",
    "SORT": "SORT BY",
    "CLUSTER": "CLUSTER BY",
    "DISTRIBUTE": "DISTRIBUTE BY",
}
_READS_FILES: Final = re.compile(r"(?:read|scan)_(?:csv|parquet|json|ndjson|text|files?)(?:_auto)?|parquet_scan")
"""What other systems call the functions that read files."""


class WholeQuery(NamedTuple):
    """A query with the clauses that are about it as a whole."""

    body: QueryBody
    preference: PreferenceClause | None
    tolerance: ToleranceClause | None
    emit: EmitClause | None


def parse_query(p: ExpressionParser) -> WholeQuery:
    """Take a whole query: `[WITH ...] SELECT ... [UNION SELECT ...] [WITH PREFERENCE ...] [WITH TOLERANCE ...] [EMIT ...]`."""
    p.with_bodies = {}
    for word in ("PREFERENCE", "TOLERANCE"):
        if p.peek("WITH", word):
            p.fail(f"WITH {word} must come at the end of a query", p.here, "Move it to the end.")
    body = parse_body(p)
    tolerance = parse_tolerance(p)
    preference = parse_preference(p)
    tolerance = tolerance or parse_tolerance(p)
    emit = _emit(p)
    return WholeQuery(body, preference, tolerance or parse_tolerance(p), emit)


def parse_body(p: ExpressionParser) -> QueryBody:
    """Take SELECTs put together by UNION, EXCEPT and INTERSECT, which binds closest; WITH before them is theirs alone."""
    outer = p.with_bodies
    if p.word("WITH"):
        p.with_bodies = dict(outer)
        _with(p)
    body = _united_selects(p)
    p.with_bodies = outer
    return body


def _united_selects(p: ExpressionParser) -> QueryBody:
    first = _intersection(p)
    while p.comes(TokenType.UNION, TokenType.EXCEPT) or p.peek("MINUS"):
        first = _set(p, first, _intersection)
    order = _ordering(p)
    first = first_of_each(first, order)
    return first if order is None else replace(first, order=order)


def _intersection(p: ExpressionParser) -> QueryBody:
    first = _select_or_parenthesis(p)
    while p.comes(TokenType.INTERSECT):
        first = _set(p, first, _select_or_parenthesis)
    return first


def _set(p: ExpressionParser, left: QueryBody, take: Callable[[ExpressionParser], QueryBody]) -> QueryBody:
    operator = Name(p.curr.text.upper(), p.here)
    p.advance()
    kind = _SETS[operator.text]
    every = p.word("ALL")
    if not every:
        p.sign(TokenType.DISTINCT)
    on: tuple[Name, ...] = ()
    if p.peek("ON"):
        if kind != "except" or not every:
            p.fail("ON can be used with EXCEPT ALL only")
        on = _on(p)
    right = take(p)
    if kind == "union" and p.prev.kind == TokenType.R_PAREN and p.comes(TokenType.ALIAS, TokenType.L_BRACKET):
        p.fail(
            "a SELECT of a UNION can't have a name or a window of its own here",
            hint="Put the whole UNION into FROM, in parentheses: SELECT ... FROM (a UNION (SELECT ...)) AS name.",
        )
    left, right = first_of_each(left, None), first_of_each(right, None)
    parts: tuple[QueryBody, ...] = (left, right)
    if kind == "union" and every and isinstance(left, SetBody) and left.kind == "union" and left.all:
        parts = (*left.parts, right)
    return SetBody(kind, parts, every, operator, left.span.to(right.span), on)


def _on(p: ExpressionParser) -> tuple[Name, ...]:
    """The columns, each once however often it is written."""
    p.advance()
    p.expect_sign(TokenType.L_PAREN, "(", "Write EXCEPT ALL ON (srcIP) SELECT ....")
    names = [p.name("a column")]
    while p.sign(TokenType.COMMA):
        names.append(p.name("a column"))
    p.expect_sign(TokenType.R_PAREN, ")")
    first: dict[str, Name] = {}
    for name in names:
        first.setdefault(name.text.lower(), name)
    return tuple(first.values())


def _with(p: ExpressionParser) -> None:
    """WITH name AS (SELECT ...), ...: each name stands for its SELECT from there on."""
    recursive = p.peek("RECURSIVE") and p.next.kind in (TokenType.VAR, TokenType.IDENTIFIER) and p.word("RECURSIVE")
    while True:
        name = p.name("a subquery")
        columns = _column_names(p) if p.comes(TokenType.L_PAREN) and p.next.kind != TokenType.SELECT else ()
        if not p.sign(TokenType.ALIAS):
            p.fail("AS is missing here", hint="Write WITH name AS (SELECT ...) SELECT ... FROM name.")
        p.expect_sign(TokenType.L_PAREN, "(")
        p.with_bodies[name.text.lower()] = _recursive(p, name, columns) if recursive else (parse_body(p), columns)
        p.expect_sign(TokenType.R_PAREN, ")")
        if not p.sign(TokenType.COMMA):
            return


def _recursive(p: ExpressionParser, name: Name, columns: tuple[Name, ...]) -> WithBody:
    """The SELECT of a name of WITH RECURSIVE, which may read itself behind UNION."""
    work = f"(round of {name.text} {name.span.start})"
    key = name.text.lower()
    p.with_bodies[key] = work
    body = parse_body(p)
    parts = body.parts if isinstance(body, SetBody) and body.kind == "union" else (body,)
    reading = [work in streams_in(part) for part in parts]
    if not any(reading):
        return body, columns
    if reading[0] or not isinstance(body, SetBody) or len(parts) < 2:
        p.fail(
            f"{name.text} reads itself, and nothing says what it begins with",
            name.span,
            f"Write WITH RECURSIVE {name.text} AS (SELECT ... UNION ALL SELECT ... FROM {name.text} ...).",
        )
    if body.order is not None:
        p.fail(
            "ORDER BY and LIMIT can't be used in a SELECT that reads itself", body.order.span, "Write them behind WITH."
        )
    first = next(at for at, reads in enumerate(reading) if reads)
    base, step = (
        some[0] if len(some) == 1 else SetBody("union", some, True, body.operator, some[0].span.to(some[-1].span))
        for some in (parts[:first], parts[first:])
    )
    return RecursiveRef(name, base, step, work, not body.all, None, name, name.span, columns=columns)


def _select_or_parenthesis(p: ExpressionParser) -> QueryBody:
    if p.sign(TokenType.L_PAREN):
        body = parse_body(p)
        _no_emit(p)
        p.expect_sign(TokenType.R_PAREN, ")")
        return body
    if operator_follows(p):
        return _operated(p)
    if p.values_ahead():
        return parse_values(p)
    if not p.comes(TokenType.SELECT):
        word = p.curr.text if p.curr else ""
        p.fail("SELECT is missing here", hint=did_you_mean(word, ("SELECT",)))
    return _select(p)


def operator_follows(p: ExpressionParser) -> bool:
    """Whether `Istream(SELECT ...)` comes next, as CQL writes it; the same with DSTREAM and RSTREAM."""
    return any(p.peek(word) for word in _OPERATORS) and [p.next.kind, p.token(2).kind] in (
        [TokenType.L_PAREN, TokenType.SELECT],
        [TokenType.L_PAREN, TokenType.L_PAREN],
    )


def _operated(p: ExpressionParser) -> QueryBody:
    """`Istream(SELECT ...)`: what is in the parentheses, with the word in its SELECT where it is one."""
    start = p.here
    operator = Name(p.curr.text.upper(), start)
    p.advance(2)
    body = parse_body(p)
    _no_emit(p)
    p.expect_sign(TokenType.R_PAREN, ")", "The SELECT isn't closed.")
    if isinstance(body, SelectBody) and body.operator is None:
        return replace(body, operator=operator)
    whole = p.since(start)
    every = SelectItem(Star(None, whole), None, "*", whole)
    inner = SubqueryRef(body, None, None, whole)
    return SelectBody(
        select=start, operator=operator, distinct=None, items=(every,), source=inner, where=None, group_by=(),
        group_all=False, having=None, span=whole,
    )  # fmt: skip


def _select(p: ExpressionParser) -> SelectBody:
    p.selects()
    put_in_place(p)
    start = p.here
    p.advance()
    operator = _operator(p)
    distinct = p.prev_span if p.sign(TokenType.DISTINCT) else None
    first_of = _distinct_on(p) if distinct is not None else ()
    distinct = None if first_of else distinct
    if distinct is None and p.peek("ALL") and p.next.kind not in (TokenType.COMMA, TokenType.FROM):
        p.advance()
    items = _items(p)
    source = _from(p) if p.sign(TokenType.FROM) else _nothing(p, items)
    items, source = items_into_from(p, items, source)
    where = _condition(p, TokenType.WHERE)
    grouped = parse_grouping(p)
    having = _condition(p, TokenType.HAVING)
    if where is None and p.comes(TokenType.WHERE):
        p.fail("WHERE must come before GROUP BY", hint="For a condition on aggregates use HAVING.")
    if p.comes(TokenType.GROUP_BY):
        p.fail("GROUP BY must come before HAVING")
    qualify = p.expression("a condition") if p.word("QUALIFY") else None
    _refuse_rest(p)
    return SelectBody(
        select=start, operator=operator, distinct=distinct, items=items, source=source, where=where, group_by=grouped.keys,
        group_all=grouped.all, having=having, span=p.since(start), qualify=qualify, grouping_sets=grouped.sets,
        distinct_on=first_of,
    )  # fmt: skip


def _distinct_on(p: ExpressionParser) -> tuple[Node, ...]:
    """`ON (a, b)` behind DISTINCT."""
    if not p.peek("ON") or p.next.kind != TokenType.L_PAREN:
        return ()
    p.advance(2)
    keys = [p.expression("a column")]
    while p.sign(TokenType.COMMA):
        keys.append(p.expression("a column"))
    p.close()
    return tuple(keys)


def _operator(p: ExpressionParser) -> Name | None:
    for word in _OPERATORS:
        if p.peek(word) and p.next and p.next.kind not in (TokenType.COMMA, TokenType.FROM, TokenType.ALIAS):
            p.advance()
            return Name(word, p.prev_span)
    return None


def _items(p: ExpressionParser) -> tuple[SelectItem, ...]:
    items: list[SelectItem] = []
    while True:
        start, first = p.here, p.index
        if p.comes(TokenType.FROM) and not items:
            p.fail("the select list is missing here", hint="Name columns, or write *.")
        if len(items) == MOST_COLUMNS:
            p.fail(f"this is column {MOST_COLUMNS + 1:,}, and a select list may have {MOST_COLUMNS:,}", hint=_WIDE)
        expression = p.expression("an expression")
        span = p.since(start)
        window = expression.window if isinstance(expression, FunctionCall) else None
        text = p.text_since(first, window.span if window is not None else None)
        if window is not None and window.over:
            text = text[: -len("OVER")].rstrip()
        alias = _alias(p)
        if alias is not None and p.peek("OVER") and isinstance(expression, FunctionCall) and window is None:
            p.advance()  # ESL's example 15 has the window behind the name
            expression = replace(expression, window=parse_over(p))
        items.append(SelectItem(expression, alias, text, span))
        if not p.sign(TokenType.COMMA):
            return tuple(items)


def _alias(p: ExpressionParser, what: str = "a column") -> Name | None:
    """AS name, or a name that can't be the beginning of a clause."""
    if p.sign(TokenType.ALIAS):
        ends = p.next.kind in (None, TokenType.COMMA, TokenType.FROM, TokenType.R_PAREN, TokenType.SEMICOLON)
        return p.any_name(what) if ends and what == "a column" else p.name(what)
    free = p.comes(TokenType.VAR) and p.curr.text.upper() not in STOP_WORDS and not target_ahead(p)
    return p.name(what) if free or p.comes(TokenType.IDENTIFIER) else None


# -- FROM

_BEHIND_ITEMS = (
    TokenType.R_PAREN, TokenType.R_BRACE, TokenType.SEMICOLON, TokenType.WHERE, TokenType.HAVING, TokenType.UNION,
    TokenType.EXCEPT, TokenType.INTERSECT, TokenType.ORDER_BY,
)  # fmt: skip


def _nothing(p: ExpressionParser, items: tuple[SelectItem, ...]) -> FromItem:
    """No FROM: a SELECT of values, which has one row. In a body of an aggregate values are parameters, too."""
    ends = p.at_end or p.comes(*_BEHIND_ITEMS) or any(p.peek(word) for word in ("MINUS", "LIMIT", "EMIT"))
    if not ends:
        p.unexpected(("FROM", *CLAUSE_WORDS))
    nodes = [n for item in items for n in walk(item.expression)]
    lambdas = [n for n in nodes if isinstance(n, Lambda)]
    named = [n for n in nodes if _names_rows(n) and not any(one.names(n) for one in lambdas)]
    counted = [
        n for i in items for n in walk(i.expression) if isinstance(n, FunctionCall) and Star in map(type, n.args)
    ]
    if not p.in_body and not p.in_lateral and len(named) > len(counted):
        p.fail("FROM is missing here", hint="Say which stream the rows come from: SELECT ... FROM stream.")
    return StreamRef(Name(ONE_ROW, p.prev_span), None, None, None, p.prev_span)


def _names_rows(node: Node) -> bool:
    return isinstance(node, Star) or (isinstance(node, ColumnRef) and not node.may_be_call)


def _from(p: ExpressionParser) -> FromItem:
    return parse_joins(p, _union)


def _union(p: ExpressionParser) -> FromItem:
    """One item, or several with UNION between them (a bag union, thesis Q1-2 and Q6-8)."""
    return _united(p, _select_follows)


def _inner_union(p: ExpressionParser) -> FromItem:
    """The same in parentheses of their own, where `(SELECT ...)` can be a part: the SELECT around it can't go on there."""
    return _united(p, _bare_select_follows)


def _united(p: ExpressionParser, ends: Callable[[ExpressionParser], bool]) -> FromItem:
    parts = [_item(p)]
    while p.comes(TokenType.UNION) and not ends(p):
        p.advance()
        p.word("ALL")
        parts.append(_item(p))
    if len(parts) == 1:
        return parts[0]
    last, others = parts[-1], parts[:-1]
    window: WindowClause | None = None
    alias: Name | None = None
    if last.window is not None and all(q.window is None for q in others):
        window, last = last.window, replace(last, window=None)
    if last.alias is not None and all(q.alias is None for q in others):
        alias, last = last.alias, replace(last, alias=None)
    span = parts[0].span.to(parts[-1].span)
    return UnionRef((*others, last), window, alias, span)


def _select_follows(p: ExpressionParser) -> bool:
    """Whether the UNION that comes next puts whole SELECTs together, rather than streams in FROM: in parentheses or not."""
    ahead = _union_words(p)
    while p.token(ahead).kind == TokenType.L_PAREN:
        ahead += 1
    return p.token(ahead).kind == TokenType.SELECT


def _bare_select_follows(p: ExpressionParser) -> bool:
    return p.token(_union_words(p)).kind == TokenType.SELECT


def _union_words(p: ExpressionParser) -> int:
    """How far ahead the second part of the UNION that comes next begins."""
    return 2 if p.token(1).text.upper() in ("ALL", "DISTINCT") else 1


def _item(p: ExpressionParser) -> FromItem:
    start = p.here
    item: FromItem
    if p.sign(TokenType.L_PAREN):
        item = _in_parentheses(p, start)
    elif p.values_ahead():
        item = SubqueryRef(parse_values(p), None, None, p.since(start))
    elif lateral_ahead(p):
        item = _lateral(p, start)
    elif p.comes(TokenType.SELECT):
        p.fail("a SELECT in FROM must be in parentheses", hint="Write FROM (SELECT ...) AS name.")
    else:
        item = _named(p, start)
    window, alias, sample, columns = item.window, item.alias, item.sample, item.columns
    given: Name | None = None
    as_of: Node | None = None
    for _ in range(4):
        if p.peek("SAMPLE") or p.peek("TABLESAMPLE"):
            if sample is not None:
                p.fail("a stream can have only one SAMPLE", hint="Remove one of the two, or put one into a subquery.")
            sample = _sample(p)
        elif p.word("FOR", "SYSTEM_TIME", "AS", "OF"):
            as_of = p.expression("a time")
        elif p.window_ahead() or p.comes(TokenType.L_BRACKET):
            if window is not None:
                p.fail("a stream can have only one window", hint="Remove one of the two, or put one into a subquery.")
            window = parse_window(p)
        elif given is None or p.comes(TokenType.ALIAS):
            given = _alias(p, "this part of FROM")
            if given is not None and p.comes(TokenType.L_PAREN):
                _refuse_misspelt(p, given)
                named = _column_names(p)
                columns = (*named, *columns[len(named) :])
            alias = given or alias
    if p.comes(TokenType.L_BRACKET):
        p.fail("a stream can have only one window", hint="Remove one of the two, or put one into a subquery.")
    item = replace(item, window=window, alias=alias, sample=sample, columns=columns, span=p.since(start))
    if as_of is None:
        return _matched(p, item, start)
    if not isinstance(item, StreamRef | SubqueryRef):
        p.fail("FOR SYSTEM_TIME AS OF goes behind a table, a view or a stream", as_of.span)
    return replace(item, as_of=as_of)


def _refuse_misspelt(p: ExpressionParser, alias: Name) -> None:
    """Raise where MATCH_RECOGNIZE was meant, and taken for a name with columns behind it."""
    ahead = p.next.kind == TokenType.ORDER_BY or p.next.text.upper() in ("PARTITION", "MEASURES", "PATTERN", "ORDER")
    if ahead and nearest(alias.text, ("MATCH_RECOGNIZE",)):
        p.fail(f"{alias.text} isn't a clause", alias.span, "Did you mean MATCH_RECOGNIZE?")


def _matched(p: ExpressionParser, item: FromItem, start: Span) -> FromItem:
    """An item with the MATCH_RECOGNIZE behind it, and a name and a window behind that."""
    if not p.peek("MATCH_RECOGNIZE"):
        return item
    from jupyter_stream.syntax.parse_match import parse_match  # not before a query has one

    found = parse_match(p, item, start)
    alias = _alias(p, "this part of FROM")
    columns = _column_names(p) if alias is not None and p.comes(TokenType.L_PAREN) else ()
    window = parse_window(p) if p.window_ahead() or p.comes(TokenType.L_BRACKET) else None
    alias = alias or _alias(p, "this part of FROM")
    return _matched(p, replace(found, alias=alias, columns=columns, window=window, span=p.since(start)), start)


def _lateral(p: ExpressionParser, start: Span) -> FromItem:
    """LATERAL before a SELECT that names what stands before it, or before a function that makes rows."""
    p.advance()
    if p.sign(TokenType.L_PAREN):
        around, p.in_lateral = p.in_lateral, True
        item = _in_parentheses(p, start)
        p.in_lateral = around
        return replace(item, lateral=True) if isinstance(item, SubqueryRef) else item
    return _named(p, start)


def _column_names(p: ExpressionParser) -> tuple[Name, ...]:
    """Names of columns in parentheses, behind the name of what has them."""
    p.expect_sign(TokenType.L_PAREN, "(")
    names = [p.name("a column")]
    while p.sign(TokenType.COMMA):
        names.append(p.name("a column"))
    p.expect_sign(TokenType.R_PAREN, ")", "Write AS name (a, b), a name for each column.")
    return tuple(names)


def _sample(p: ExpressionParser) -> SampleClause:
    """`SAMPLE(10)`, with PERCENT where somebody brings it from elsewhere."""
    start = p.here
    p.advance()
    p.expect_sign(TokenType.L_PAREN, "(", "Write SAMPLE(10), for one row in ten.")
    at = p.here
    taken = p.expression("a percentage")
    percent = getattr(taken, "value", None)
    if isinstance(percent, bool) or not isinstance(percent, int | float | Decimal) or not 0 < percent <= 100:
        p.fail(
            "SAMPLE takes a percentage, more than 0 and at most 100",
            p.since(at),
            "Write SAMPLE(10), for one row in ten.",
        )
    p.word("PERCENT")
    p.expect_sign(TokenType.R_PAREN, ")", "Write SAMPLE(10), for one row in ten.")
    return SampleClause(float(percent), p.since(start))


def _in_parentheses(p: ExpressionParser, start: Span) -> FromItem:
    if p.select_ahead() or operator_follows(p) or _set_follows(p):
        body = parse_body(p)
        _no_emit(p)
        item: FromItem = SubqueryRef(body, None, None, p.since(start))
    else:
        item = parse_joins(p, _inner_union)
    p.expect_sign(TokenType.R_PAREN, ")", "A ( in FROM isn't closed." if p.at_end else None)
    return item


def _set_follows(p: ExpressionParser) -> bool:
    """Whether SELECTs in parentheses come, with a set operation behind the first."""
    closed, inside = p.places.closing.get(p.index), p.places.after_opening.get(p.index)
    if closed is None or inside is None or p.tokens[inside].kind != TokenType.SELECT:
        return False
    behind = p.token(closed + 1 - p.index)
    return behind.kind in (TokenType.UNION, TokenType.EXCEPT, TokenType.INTERSECT) or behind.text.upper() == "MINUS"


def _named(p: ExpressionParser, start: Span) -> FromItem:
    if operator_follows(p):
        return SubqueryRef(_operated(p), None, None, p.since(start))
    name = _stream_or_address(p)
    if p.comes(TokenType.DOT):
        p.fail(
            "a stream's name has no schema before it",
            p.here,
            "Write the name alone, or a file in quotes: FROM 'a.jsonl'.",
        )
    if p.comes(TokenType.L_PAREN):
        return _function(p, name, start)
    return _with_or_stream(p, name)


def _stream_or_address(p: ExpressionParser) -> Name:
    """A stream's name; or in quotes, where its rows come from: 'logs/*.jsonl', 'generate://packets'."""
    if not p.comes(TokenType.STRING):
        return p.stream_name("a stream")
    text = p.curr.text.strip()
    p.advance()
    if not text:
        p.fail("the address of the rows is missing here", p.prev_span, "Write FROM 'logs/a.jsonl', or a stream's name.")
    return Name(text, p.prev_span)


def _function(p: ExpressionParser, name: Name, start: Span) -> FromItem:
    """`late(s)`, `errors(s)`, and the windows of Flink: `TUMBLE(s, ts, INTERVAL '1' MINUTE)`."""
    p.advance()
    lower = name.text.lower()
    if makes_rows(lower):
        return parse_items(p, name, start)
    if lower in ("late", "errors"):
        inner = p.name("a stream")
        p.expect_sign(TokenType.R_PAREN, ")")
        return StreamRef(inner, "late" if lower == "late" else "errors", None, None, p.since(start))
    if lower == "table":
        item = (_table_function(p) if p.next.kind == TokenType.L_PAREN else None) or _named(p, p.here)
        p.expect_sign(TokenType.R_PAREN, ")")
        return item
    if lower in ("tumble", "hop", "session") or lower.upper() in BY_WORD:
        return _window_function(p, lower, start)
    if any(p.peek(word) for word in ("RANGE", "ROWS", "NOW", "PARTITION", "SESSION", "SLIDE")):
        p.fail("a window must be in square brackets", p.prev_span, f"Write {name.text} [{p.curr.text} ...].")
    if _READS_FILES.fullmatch(lower):
        given = p.curr.text if p.curr.kind == TokenType.STRING else "a.csv"
        p.fail(
            f"there is no function called {name.text} in FROM", name.span,
            f"A file stands there by its name: FROM '{given}'. Options go into CREATE STREAM s SOURCE 'file://...' WITH (...).",
        )  # fmt: skip
    hint = did_you_mean(
        name.text, ("late", "errors", "TUMBLE", "HOP", "SESSION", *BY_WORD, *MAKERS), "functions in FROM"
    )
    raise p.failure(f"there is no function called {name.text} in FROM", name.span, hint)


def _table_function(p: ExpressionParser) -> SubqueryRef | None:
    """`f(1, 2)` in TABLE: the rows an aggregate of one's own returns for these arguments; None for what else stands there."""
    start = p.here
    lower = p.curr.text.lower()
    if lower in ("late", "errors", "table", "tumble", "hop", "session") or lower.upper() in BY_WORD:
        return None
    call = p.expression("a call of an aggregate")
    span = p.since(start)
    if not isinstance(call, FunctionCall):
        p.fail("a call of an aggregate is expected here", span, "Write FROM TABLE(f(1)).")
    item = SelectItem(call, call.name, call.name.text, span)
    nothing = StreamRef(Name(ONE_ROW, span), None, None, None, span)
    body = SelectBody(span, None, None, (item,), nothing, None, (), False, None, span)
    return SubqueryRef(body, None, call.name, span, unpacked=True)


def _window_function(p: ExpressionParser, function: str, start: Span) -> FromItem:
    def rows() -> FromItem:
        bracketed = p.sign(TokenType.L_PAREN)
        return _in_parentheses(p, p.prev_span) if bracketed else _with_or_stream(p, _stream_or_address(p))

    return table_window(p, function, start, rows)


def _with_or_stream(p: ExpressionParser, name: Name) -> FromItem:
    known = p.with_bodies.get(name.text.lower())
    if isinstance(known, str):  # the rows of the round before
        return StreamRef(Name(known, name.span), None, None, name, name.span)
    if isinstance(known, RecursiveRef):
        return replace(known, alias=name, span=name.span)
    if known is not None:
        return SubqueryRef(known[0], None, name, name.span, columns=known[1])
    return StreamRef(name, None, None, None, name.span)


# -- the other clauses


def _condition(p: ExpressionParser, kind: TokenType) -> Node | None:
    if not p.sign(kind):
        return None
    return p.expression("a condition")


def _ordering(p: ExpressionParser) -> Ordering | None:
    """ORDER BY keys, LIMIT n, OFFSET m: behind a SELECT, or behind several put together."""
    start = p.here
    items: list[OrderItem] = []
    if p.comes(TokenType.ORDER_BY):
        p.advance()
        p.word("BY")
        items.append(order_item(p))
        while p.sign(TokenType.COMMA):
            items.append(order_item(p))
    limit: int | None = None
    offset = 0
    for _ in range(2):
        if p.word("LIMIT"):
            if not p.word("ALL"):
                limit = _count(p, "LIMIT 10")
        elif p.word("OFFSET"):
            offset = _count(p, "OFFSET 10")
            p.word("ROWS") or p.word("ROW")
        elif p.word("FETCH"):
            limit = _fetched(p)
    if not items and limit is None and not offset:
        return None
    return Ordering(tuple(items), limit, offset, p.since(start))


def _fetched(p: ExpressionParser) -> int:
    """Take what follows FETCH: `FIRST 5 ROWS ONLY`."""
    usage = "Write FETCH FIRST 10 ROWS ONLY, or LIMIT 10."
    if not (p.word("FIRST") or p.word("NEXT")):
        p.fail("FIRST is missing here", hint=usage)
    rows = 1 if p.peek("ROW") or p.peek("ROWS") else _count(p, "FETCH FIRST 10 ROWS ONLY")
    if not ((p.word("ROWS") or p.word("ROW")) and p.word("ONLY")):
        p.fail("ROWS ONLY is missing here", hint=usage)
    return rows


def _count(p: ExpressionParser, example: str) -> int:
    at = p.here
    taken = p.expression("a number of rows")
    value = getattr(taken, "value", None)
    if type(value) is not int or value < 0:
        p.fail("a number of rows is expected here", p.since(at), f"Write {example}.")
    return value


_OF_KSQL = {
    "TUMBLING": "[RANGE 1 MINUTE TUMBLING]", "HOPPING": "[RANGE 2 MINUTES SLIDE 1 MINUTE]", "SESSION": "[SESSION 5 MINUTES]",
}  # fmt: skip


def _refuse_rest(p: ExpressionParser) -> None:
    for word, clause in _NOT_YET.items():
        if p.peek(word):
            p.unsupported(clause)
    if p.peek("WINDOW"):
        hint = "Write WINDOW w AS (PARTITION BY k ROWS 9 PRECEDING), or a window after a stream: FROM s [RANGE 10 MINUTES]."
        if p.next.text.upper() in _OF_KSQL:
            hint = f"Write it after the stream: FROM s {_OF_KSQL[p.next.text.upper()]}."
        p.fail("a window and its name are missing here", hint=hint)


def _emit(p: ExpressionParser) -> EmitClause | None:
    start = p.here
    if not p.word("EMIT"):
        return None
    if p.word("FINAL") or p.word("ON", "WINDOW", "CLOSE") or p.word("AFTER", "WATERMARK"):
        return EmitClause("final", None, p.since(start))
    if p.word("CHANGES"):
        return EmitClause("changes", None, p.since(start))
    if p.word("EVERY"):
        interval = duration(p, "Write EMIT EVERY 10 SECONDS.")
        return EmitClause("every", interval, p.since(start))
    meant = nearest(p.curr.text, ("FINAL", "CHANGES", "EVERY")) if p.curr else None
    raise p.failure(
        "FINAL, CHANGES or EVERY is missing here",
        hint=f"Did you mean EMIT {meant}?" if meant else "Write EMIT FINAL, EMIT CHANGES or EMIT EVERY 10 SECONDS.",
    )


def _no_emit(p: ExpressionParser) -> None:
    refuse_inside(p)
    refuse_tolerance_inside(p)
    if p.peek("EMIT"):
        p.fail(
            "EMIT must come at the end of the whole query, not in a subquery",
            hint="Move EMIT to the end of the outer query.",
        )
