"""SELECT: its clauses and what stands in FROM, as written. Not for what names mean."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Literal

from sqlglot import TokenType

from jupyter_stream.language.diagnose import did_you_mean, nearest
from jupyter_stream.language.nodes import FunctionCall, Node
from jupyter_stream.language.parse_expression import ExpressionParser
from jupyter_stream.language.parse_join import parse_joins
from jupyter_stream.language.parse_literal import STOP_WORDS
from jupyter_stream.language.parse_preference import parse_preference, refuse_inside
from jupyter_stream.language.parse_row_number import order_item
from jupyter_stream.language.parse_window import amount, duration, parse_over, parse_window
from jupyter_stream.language.query_syntax import (
    Amount,
    EmitClause,
    FromItem,
    Ordering,
    OrderItem,
    PreferenceClause,
    QueryBody,
    SampleClause,
    SelectBody,
    SelectItem,
    SetBody,
    StreamRef,
    SubqueryRef,
    UnionRef,
    WindowClause,
)
from jupyter_stream.language.reader import CLAUSE_WORDS
from jupyter_stream.language.source_text import Name, Span

_OPERATORS = ("ISTREAM", "DSTREAM", "RSTREAM")
_SETS: dict[str, Literal["union", "except", "intersect"]] = {
    "UNION": "union",
    "∪": "union",
    "EXCEPT": "except",
    "MINUS": "except",
    "INTERSECT": "intersect",
}
_NOT_YET = {
    "WINDOW": "the WINDOW clause",
    "LATERAL": "LATERAL",
    "PIVOT": "PIVOT",
    "SORT": "SORT BY",
    "CLUSTER": "CLUSTER BY",
    "DISTRIBUTE": "DISTRIBUTE BY",
}


def parse_query(p: ExpressionParser) -> tuple[QueryBody, PreferenceClause | None, EmitClause | None]:
    """Take a whole query: `[WITH ...] SELECT ... [UNION ALL SELECT ...] [WITH PREFERENCE ...] [EMIT ...]`."""
    p.with_bodies = {}
    if p.word("WITH"):
        _with(p)
    body = parse_body(p)
    preference = parse_preference(p)
    return body, preference, _emit(p)


def parse_body(p: ExpressionParser) -> QueryBody:
    """Take SELECTs put together by UNION, EXCEPT and INTERSECT, which binds closest."""
    first = _intersection(p)
    while p.comes(TokenType.UNION, TokenType.EXCEPT) or p.peek("MINUS"):
        first = _set(p, first, _intersection)
    order = _ordering(p)
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
            p.fail("ON goes with EXCEPT ALL only")
        on = _on(p)
    right = take(p)
    parts: tuple[QueryBody, ...] = (left, right)
    if kind == "union" and every and isinstance(left, SetBody) and left.kind == "union" and left.all:
        parts = (*left.parts, right)
    return SetBody(kind, parts, every, operator, left.span.to(right.span), on)


def _on(p: ExpressionParser) -> tuple[Name, ...]:
    p.advance()
    p.expect_sign(TokenType.L_PAREN, "(", "Write EXCEPT ALL ON (srcIP) SELECT ....")
    names = [p.name("a column")]
    while p.sign(TokenType.COMMA):
        names.append(p.name("a column"))
    p.expect_sign(TokenType.R_PAREN, ")")
    return tuple(names)


def _with(p: ExpressionParser) -> None:
    """WITH name AS (SELECT ...), ...: each name stands for its SELECT from there on."""
    if p.peek("PREFERENCE"):
        p.fail("WITH PREFERENCE stands at the end of a query", p.behind)
    while True:
        name = p.name("a subquery")
        if not p.sign(TokenType.ALIAS):
            p.fail("AS is missing here", hint="Write WITH name AS (SELECT ...) SELECT ... FROM name.")
        p.expect_sign(TokenType.L_PAREN, "(")
        p.with_bodies[name.text.lower()] = parse_body(p)
        p.expect_sign(TokenType.R_PAREN, ")")
        if not p.sign(TokenType.COMMA):
            return


def _select_or_parenthesis(p: ExpressionParser) -> QueryBody:
    if p.sign(TokenType.L_PAREN):
        body = parse_body(p)
        _no_emit(p)
        p.expect_sign(TokenType.R_PAREN, ")")
        return body
    if not p.comes(TokenType.SELECT):
        word = p.curr.text if p.curr else ""
        p.fail("SELECT is missing here", hint=did_you_mean(word, ("SELECT",)))
    return _select(p)


def _select(p: ExpressionParser) -> SelectBody:
    start = p.here
    p.advance()
    operator = _operator(p)
    distinct = p.behind if p.sign(TokenType.DISTINCT) else None
    if distinct is None and p.peek("ALL") and p.next.kind not in (TokenType.COMMA, TokenType.FROM):
        p.advance()
    items = _items(p)
    if not p.comes(TokenType.FROM):
        if p.at_end or p.comes(TokenType.R_PAREN):
            p.fail("FROM is missing here", hint="Say which stream the rows come from: SELECT ... FROM stream.")
        p.unexpected(("FROM", *CLAUSE_WORDS))
    p.advance()
    source = _from(p)
    where = _condition(p, TokenType.WHERE)
    group_by, group_all = _group_by(p)
    having = _condition(p, TokenType.HAVING)
    if where is None and p.comes(TokenType.WHERE):
        p.fail("WHERE stands before GROUP BY", hint="Or use HAVING, for a condition on aggregates.")
    if p.comes(TokenType.GROUP_BY):
        p.fail("GROUP BY stands before HAVING")
    qualify = p.expression("a condition") if p.word("QUALIFY") else None
    _refuse_rest(p)
    return SelectBody(
        select=start, operator=operator, distinct=distinct, items=items, source=source, where=where, group_by=group_by,
        group_all=group_all, having=having, span=p.since(start), qualify=qualify,
    )  # fmt: skip


def _operator(p: ExpressionParser) -> Name | None:
    for word in _OPERATORS:
        if p.peek(word) and p.next and p.next.kind not in (TokenType.COMMA, TokenType.FROM, TokenType.ALIAS):
            p.advance()
            return Name(word, p.behind)
    return None


def _items(p: ExpressionParser) -> tuple[SelectItem, ...]:
    items: list[SelectItem] = []
    while True:
        start, first = p.here, p.index
        if p.comes(TokenType.FROM) and not items:
            p.fail("the select list is missing here", hint="Name columns, or write *.")
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
        return p.name(what)
    if p.comes(TokenType.IDENTIFIER) or (p.comes(TokenType.VAR) and p.curr.text.upper() not in STOP_WORDS):
        return p.name(what)
    return None


# -- FROM


def _from(p: ExpressionParser) -> FromItem:
    return parse_joins(p, _union)


def _union(p: ExpressionParser) -> FromItem:
    """One item, or several with UNION between them (a bag union, thesis Q1-2 and Q6-8)."""
    parts = [_item(p)]
    while p.comes(TokenType.UNION) and not _select_follows(p):
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
    """Whether the UNION that comes next puts whole SELECTs together, rather than streams in FROM."""
    at = p.index + 1
    kinds = [t.kind for t in p.tokens[at : at + 2]]
    if kinds and p.tokens[at].text.upper() == "ALL":
        kinds = kinds[1:]
    return bool(kinds) and kinds[0] == TokenType.SELECT


def _item(p: ExpressionParser) -> FromItem:
    start = p.here
    item: FromItem
    if p.sign(TokenType.L_PAREN):
        item = _in_parentheses(p, start)
    elif p.comes(TokenType.SELECT):
        p.fail("a SELECT in FROM stands in parentheses", hint="Write FROM (SELECT ...) AS name.")
    else:
        item = _named(p, start)
    window, alias, sample = item.window, item.alias, item.sample
    for _ in range(3):
        if p.peek("SAMPLE") or p.peek("TABLESAMPLE"):
            if sample is not None:
                p.fail("a stream is sampled once", hint="Take one of the two away, or nest a SELECT.")
            sample = _sample(p)
        elif p.window_ahead() or p.comes(TokenType.L_BRACKET):
            if window is not None:
                p.fail("a stream has one window", hint="Take one of the two away, or nest a SELECT.")
            window = parse_window(p)
        elif alias is None or p.comes(TokenType.ALIAS):
            alias = _alias(p, "this part of FROM") or alias
    if p.comes(TokenType.L_BRACKET):
        p.fail("a stream has one window", hint="Take one of the two away, or nest a SELECT.")
    return replace(item, window=window, alias=alias, sample=sample, span=p.since(start))


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
            "a percentage belongs here, more than 0 and up to 100", p.since(at), "Write SAMPLE(10), for one row in ten."
        )
    p.word("PERCENT")
    p.expect_sign(TokenType.R_PAREN, ")", "Write SAMPLE(10), for one row in ten.")
    return SampleClause(float(percent), p.since(start))


def _in_parentheses(p: ExpressionParser, start: Span) -> FromItem:
    if p.comes(TokenType.SELECT) or _set_follows(p):
        body = parse_body(p)
        _no_emit(p)
        item: FromItem = SubqueryRef(body, None, None, p.since(start))
    else:
        item = parse_joins(p, _union)
    p.expect_sign(TokenType.R_PAREN, ")", "A ( in FROM isn't closed." if p.at_end else None)
    return item


def _set_follows(p: ExpressionParser) -> bool:
    """Whether SELECTs in parentheses come, with a set operation behind the first."""
    at = p.index
    depth = 0
    for number, token in enumerate(p.tokens[at:]):
        if token.kind == TokenType.L_PAREN:
            depth += 1
        elif token.kind == TokenType.R_PAREN:
            depth -= 1
        elif depth == 0 or (number == depth and token.kind != TokenType.SELECT):
            return False
        if depth == 0:
            behind = p.tokens[at + number + 1 : at + number + 2]
            sets = (TokenType.UNION, TokenType.EXCEPT, TokenType.INTERSECT)
            return bool(behind) and (behind[0].kind in sets or behind[0].text.upper() == "MINUS")
    return False


def _named(p: ExpressionParser, start: Span) -> FromItem:
    name = p.stream_name("a stream")
    if p.comes(TokenType.DOT):
        p.fail("streams have plain names, without a schema before them", p.here)
    if p.comes(TokenType.L_PAREN):
        return _function(p, name, start)
    body = p.with_bodies.get(name.text.lower())
    if body is not None:
        return SubqueryRef(body, None, name, name.span)
    return StreamRef(name, None, None, None, name.span)


def _function(p: ExpressionParser, name: Name, start: Span) -> FromItem:
    """`late(s)`, `errors(s)`, and the windows of Flink: `TUMBLE(s, ts, INTERVAL '1' MINUTE)`."""
    p.advance()
    lower = name.text.lower()
    if lower in ("late", "errors"):
        inner = p.name("a stream")
        p.expect_sign(TokenType.R_PAREN, ")")
        return StreamRef(inner, "late" if lower == "late" else "errors", None, None, p.since(start))
    if lower == "table":
        item = _named(p, p.here)
        p.expect_sign(TokenType.R_PAREN, ")")
        return item
    if lower in ("tumble", "hop", "session"):
        return _window_function(p, lower, start)
    if lower == "cumulate":
        p.unsupported("CUMULATE", name.span, "Use a landmark window: [RANGE ALL SLIDE 1 HOUR].")
    if any(p.peek(word) for word in ("RANGE", "ROWS", "NOW", "PARTITION", "SESSION", "SLIDE")):
        p.fail("a window stands in square brackets", p.behind, f"Write {name.text} [{p.curr.text} ...].")
    hint = did_you_mean(name.text, ("late", "errors", "TUMBLE", "HOP", "SESSION"), "functions in FROM")
    raise p.failure(f"there is no function called {name.text} in FROM", name.span, hint)


def _window_function(p: ExpressionParser, function: str, start: Span) -> FromItem:
    p.word("TABLE")
    item: FromItem
    if p.sign(TokenType.L_PAREN):
        item = _in_parentheses(p, p.behind)
    else:
        stream = p.name("a stream")
        item = _with_or_stream(p, stream)
    p.expect_sign(TokenType.COMMA, ",", f"Write {function.upper()}(stream, ts, INTERVAL '10' MINUTE).")
    described = p.word("DESCRIPTOR") and p.sign(TokenType.L_PAREN)
    on = p.name("the time column")
    if described:
        p.expect_sign(TokenType.R_PAREN, ")")
    lengths: list[Amount] = []
    while p.sign(TokenType.COMMA):
        at = p.here
        taken = amount(p, "Write INTERVAL '10' MINUTE.")
        if taken.kind != "time":
            p.fail("a length of time belongs here", p.since(at), "Write INTERVAL '10' MINUTE.")
        lengths.append(taken)
    wanted = {"tumble": 1, "session": 1, "hop": 2}[function]
    if len(lengths) != wanted:
        shown = {
            "tumble": "TUMBLE(stream, ts, INTERVAL '10' MINUTE)",
            "session": "SESSION(stream, ts, INTERVAL '30' MINUTE)",
            "hop": "HOP(stream, ts, INTERVAL '1' MINUTE, INTERVAL '10' MINUTE), the slide first",
        }[function]
        p.fail(
            f"{function.upper()} takes {wanted} length{'s' * (wanted > 1)} of time", p.since(start), f"Write {shown}."
        )
    p.expect_sign(TokenType.R_PAREN, ")")
    span = p.since(start)
    if function == "session":
        clause = WindowClause(span, session=lengths[0], on=on)
    else:
        clause = WindowClause(span, range=lengths[-1], slide=lengths[0], on=on, starts=True)
    return replace(item, window=clause, span=span)


def _with_or_stream(p: ExpressionParser, name: Name) -> FromItem:
    body = p.with_bodies.get(name.text.lower())
    if body is not None:
        return SubqueryRef(body, None, name, name.span)
    return StreamRef(name, None, None, None, name.span)


# -- the other clauses


def _condition(p: ExpressionParser, kind: TokenType) -> Node | None:
    if not p.sign(kind):
        return None
    return p.expression("a condition")


def _group_by(p: ExpressionParser) -> tuple[tuple[Node, ...], bool]:
    if not p.comes(TokenType.GROUP_BY):
        return (), False
    word = p.curr.text.upper()
    p.advance()
    if word == "GROUP":
        if p.comes(TokenType.DASH):
            p.advance()
        p.expect("BY", hint="Write GROUP BY.")
    if p.peek("ALL") and (not p.next or p.next.kind in (TokenType.HAVING, TokenType.R_PAREN)):
        p.advance()
        return (), True
    keys = [_group_key(p)]
    while p.sign(TokenType.COMMA):
        keys.append(_group_key(p))
    return tuple(keys), False


def _group_key(p: ExpressionParser) -> Node:
    start = p.here
    key = p.expression("a grouping column")
    if (isinstance(key, FunctionCall) and key.name.text.upper() in ("ROLLUP", "CUBE")) or p.peek("SETS"):
        p.unsupported("ROLLUP, CUBE or GROUPING SETS", p.since(start))
    return key


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
    if not items and limit is None and not offset:
        return None
    return Ordering(tuple(items), limit, offset, p.since(start))


def _count(p: ExpressionParser, example: str) -> int:
    at = p.here
    taken = p.expression("a number of rows")
    value = getattr(taken, "value", None)
    if type(value) is not int or value < 0:
        p.fail("a number of rows belongs here", p.since(at), f"Write {example}.")
    return value


def _refuse_rest(p: ExpressionParser) -> None:
    for word, clause in _NOT_YET.items():
        if p.peek(word):
            hint = "Write it behind OVER: sum(x) OVER (ROWS 10 PRECEDING); or behind the stream: FROM stream [RANGE 10 MINUTES]."
            p.unsupported(clause, hint=hint if word == "WINDOW" else None)


def _emit(p: ExpressionParser) -> EmitClause | None:
    start = p.here
    if not p.word("EMIT"):
        return None
    if p.word("FINAL"):
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
    if p.peek("EMIT"):
        p.fail("EMIT stands at the end of the whole query, not in a subquery")
