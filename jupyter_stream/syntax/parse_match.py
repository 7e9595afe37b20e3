"""`MATCH_RECOGNIZE (...)` behind what stands in FROM, as written. Not for what names mean.

FROM ticks MATCH_RECOGNIZE (
    PARTITION BY symbol ORDER BY ts
    MEASURES first(down.price) AS top, last(up.price) AS back
    ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW
    PATTERN (start down+ up+) WITHIN INTERVAL '1' HOUR
    DEFINE down AS price < PREV(price), up AS price > PREV(price)) AS m
"""

from __future__ import annotations

from itertools import permutations
from typing import Final

from sqlglot import TokenType

from jupyter_stream.core.row_pattern import (
    AfterMatch,
    PatternChoice,
    PatternRepeat,
    PatternSequence,
    PatternVariable,
    RowPattern,
)
from jupyter_stream.syntax.nodes import Node
from jupyter_stream.syntax.parse_expression import ExpressionParser
from jupyter_stream.syntax.parse_row_number import order_item, partition_items
from jupyter_stream.syntax.parse_window import duration
from jupyter_stream.syntax.query_syntax import FromItem, MatchClause, MatchRef, OrderItem, SelectItem
from jupyter_stream.syntax.source_text import Name, Span

_NAMES: Final = (TokenType.VAR, TokenType.IDENTIFIER)
_SKIP: Final = "Write AFTER MATCH SKIP PAST LAST ROW, SKIP TO NEXT ROW, SKIP TO FIRST a or SKIP TO LAST a."
_COUNTS: Final = "Write A{2}, A{2,5}, A{2,} or A{,5}."
_ORDER: Final = (
    "The clauses are PARTITION BY, ORDER BY, MEASURES, ONE ROW PER MATCH, AFTER MATCH, PATTERN, DEFINE, in this order."
)
_LATER: Final = ("PARTITION", "ORDER", "MEASURES", "ONE", "ALL", "AFTER", "PATTERN", "WITHIN", "SUBSET", "DEFINE")
_MOST_PERMUTED: Final = 6


def parse_match(p: ExpressionParser, item: FromItem, start: Span) -> MatchRef:
    """Take MATCH_RECOGNIZE, which comes next, behind an item of FROM."""
    word = p.here
    p.advance()
    p.expect_sign(TokenType.L_PAREN, "(", "Write MATCH_RECOGNIZE (ORDER BY ts MEASURES ... PATTERN (...) DEFINE ...).")
    partition = partition_items(p) if p.word("PARTITION", "BY") else ()
    order = _order(p)
    measures, finals = _measures(p)
    all_rows = _rows(p)
    after, named = _skip(p)
    pattern_at = p.here
    p.expect("PATTERN", hint=_ORDER)
    p.expect_sign(TokenType.L_PAREN, "(", "Write PATTERN (A B+ C).")
    used: list[Name] = []
    pattern = _choice(p, used, shown=True)
    p.close()
    pattern_span = p.since(pattern_at)
    within = duration(p, "Write WITHIN INTERVAL '1' HOUR.") if p.word("WITHIN") else None
    subsets = _subsets(p)
    definitions = _definitions(p)
    if not p.comes(TokenType.R_PAREN) and any(p.peek(w) for w in _LATER):
        p.fail(f"{p.curr.text.upper()} stands too late here", hint=_ORDER)
    p.close()
    clause = MatchClause(
        partition=partition, order=order, measures=measures, finals=finals, all_rows=all_rows, after=after,
        after_names=named, pattern=pattern, pattern_span=pattern_span, used=tuple(used), within=within, subsets=subsets,
        definitions=definitions, span=p.since(word), word=word,
    )  # fmt: skip
    return MatchRef(item, clause, None, None, p.since(start))


def _order(p: ExpressionParser) -> tuple[OrderItem, ...]:
    if not p.comes(TokenType.ORDER_BY) and not p.peek("ORDER"):
        return ()
    p.advance()
    p.word("BY")
    keys = [order_item(p)]
    while p.sign(TokenType.COMMA):
        keys.append(order_item(p))
    return tuple(keys)


def _measures(p: ExpressionParser) -> tuple[tuple[SelectItem, ...], frozenset[int]]:
    """The measures, and where the functions stand that have FINAL before them."""
    if not p.word("MEASURES"):
        return (), frozenset()
    finals = _without_moods(p)
    made: list[SelectItem] = []
    while True:
        start, first = p.here, p.index
        expression = p.expression("a measure")
        text, span = p.text_since(first), p.since(start)
        if not p.sign(TokenType.ALIAS) and not p.comes(*_NAMES):
            p.fail("the name of the measure is missing here", hint=f"Write {text} AS name.")
        made.append(SelectItem(expression, p.any_name("a measure"), text, span))
        if not p.sign(TokenType.COMMA):
            return tuple(made), finals


def _without_moods(p: ExpressionParser) -> frozenset[int]:
    """Take FINAL and RUNNING out from before the functions of the measures; where those with FINAL stand."""
    kept, finals, depth = list(p.tokens[: p.index]), set[int](), 0
    at = p.index
    while at < len(p.tokens):
        token = p.tokens[at]
        depth += (token.kind == TokenType.L_PAREN) - (token.kind == TokenType.R_PAREN)
        if depth < 0 or (depth == 0 and token.text.upper() == "PATTERN"):
            break
        called = at + 2 < len(p.tokens) and p.tokens[at + 2].kind == TokenType.L_PAREN
        if called and token.kind in _NAMES and token.text.upper() in ("FINAL", "RUNNING"):
            if token.text.upper() == "FINAL":
                finals.add(p.tokens[at + 1].span.start)
        else:
            kept.append(token)
        at += 1
    p.tokens = [*kept, *p.tokens[at:]]
    return frozenset(finals)


def _rows(p: ExpressionParser) -> bool:
    """Whether all rows of a match are given."""
    if p.word("ONE", "ROW", "PER", "MATCH"):
        return False
    if not p.word("ALL"):
        return False
    p.expect("ROWS", "PER", "MATCH", hint="Write ALL ROWS PER MATCH.")
    if p.peek("WITH", "UNMATCHED"):
        p.unsupported("WITH UNMATCHED ROWS", hint="Join the rows with the matches.")
    p.word("SHOW", "EMPTY", "MATCHES") or p.word("OMIT", "EMPTY", "MATCHES")  # there are no empty ones
    return True


def _skip(p: ExpressionParser) -> tuple[AfterMatch, Name | None]:
    if not p.word("AFTER"):
        return AfterMatch(), None
    p.expect("MATCH", hint=_SKIP)
    p.expect("SKIP", hint=_SKIP)
    if p.word("PAST"):
        p.expect("LAST", "ROW", hint=_SKIP)
        return AfterMatch(), None
    p.expect("TO", hint=_SKIP)
    if p.word("NEXT"):
        p.expect("ROW", hint=_SKIP)
        return AfterMatch("next row"), None
    first = p.word("FIRST")
    if not first:
        p.word("LAST")
    name = p.name("a variable of the pattern")
    return AfterMatch("first" if first else "last", (name.text,)), name


# -- the pattern


def _choice(p: ExpressionParser, used: list[Name], shown: bool) -> RowPattern:
    parts = [_sequence(p, used, shown)]
    while p.sign(TokenType.PIPE):
        parts.append(_sequence(p, used, shown))
    return parts[0] if len(parts) == 1 else PatternChoice(tuple(parts))


def _sequence(p: ExpressionParser, used: list[Name], shown: bool) -> RowPattern:
    parts: list[RowPattern] = []
    while not p.at_end and not p.comes(TokenType.R_PAREN, TokenType.PIPE, TokenType.DASH, TokenType.COMMA):
        parts.append(_repeated(p, _part(p, used, shown)))
    if not parts:
        p.fail("a variable is missing here", hint="Write PATTERN (A B+ C).")
    return parts[0] if len(parts) == 1 else PatternSequence(tuple(parts))


def _part(p: ExpressionParser, used: list[Name], shown: bool) -> RowPattern:
    if p.sign(TokenType.L_PAREN):
        inside = _choice(p, used, shown)
        p.close()
        return inside
    if p.comes(TokenType.L_BRACE) and p.next.kind == TokenType.DASH:
        p.advance(2)
        inside = _choice(p, used, shown=False)
        p.expect_sign(TokenType.DASH, "-}", "Write {- A B -}.")
        p.expect_sign(TokenType.R_BRACE, "-}", "Write {- A B -}.")
        return inside
    if p.peek("PERMUTE") and p.next.kind == TokenType.L_PAREN:
        return _permuted(p, used, shown)
    if p.comes(TokenType.CARET, TokenType.DOLLAR) or p.curr.text == "$":
        p.unsupported(f"{p.curr.text} in a pattern", hint="Say in DEFINE which row begins a match: PREV(x) IS NULL.")
    if not p.comes(*_NAMES):
        p.fail(
            f"{p.curr.text} isn't expected in a pattern",
            hint="A pattern has variables, ( ), |, and behind them *, +, ? or {2,5}.",
        )
    name = p.name("a variable of the pattern")
    first = next((known.text for known in used if known.text.lower() == name.text.lower()), name.text)
    used.append(name)
    return PatternVariable(first, shown)


def _permuted(p: ExpressionParser, used: list[Name], shown: bool) -> RowPattern:
    """PERMUTE(A, B): the parts in any order, the one written tried first."""
    start = p.here
    p.advance(2)
    parts = [_choice(p, used, shown)]
    while p.sign(TokenType.COMMA):
        parts.append(_choice(p, used, shown))
    p.close()
    if len(parts) > _MOST_PERMUTED:
        p.fail(f"PERMUTE takes {_MOST_PERMUTED} parts at most", p.since(start), "Match the rows with one variable.")
    return PatternChoice(tuple(PatternSequence(order) for order in permutations(parts)))


def _repeated(p: ExpressionParser, part: RowPattern) -> RowPattern:
    """A part with the quantifier behind it."""
    start = p.here
    low, high = 0, None
    if p.sign(TokenType.STAR):
        pass
    elif p.sign(TokenType.PLUS):
        low = 1
    elif p.sign(TokenType.PLACEHOLDER):
        high = 1
    elif p.comes(TokenType.L_BRACE) and p.next.kind != TokenType.DASH:
        p.advance()
        low, high = _counts(p, start)
    else:
        return part
    return PatternRepeat(part, low, high, greedy=not p.sign(TokenType.PLACEHOLDER))


def _counts(p: ExpressionParser, start: Span) -> tuple[int, int | None]:
    low = _count(p)
    if p.sign(TokenType.COMMA):
        high = _count(p)
    else:
        high = low
        if low is None:
            p.fail("a number of rows is missing here", hint=_COUNTS)
    p.expect_sign(TokenType.R_BRACE, "}", _COUNTS)
    if high is not None and ((low or 0) > high or high == 0):
        p.fail("the second number must be more than zero, and not less than the first", p.since(start), _COUNTS)
    return low or 0, high


def _count(p: ExpressionParser) -> int | None:
    if not p.comes(TokenType.NUMBER):
        return None
    text = p.curr.text
    if not text.isdigit():
        p.fail("a whole number is expected here", hint=_COUNTS)
    p.advance()
    return int(text)


# -- what the variables are


def _subsets(p: ExpressionParser) -> tuple[tuple[Name, tuple[Name, ...]], ...]:
    """SUBSET u = (a, b)."""
    found: list[tuple[Name, tuple[Name, ...]]] = []
    if not p.word("SUBSET"):
        return ()
    while True:
        name = p.name("a subset")
        p.expect_sign(TokenType.EQ, "=", "Write SUBSET u = (A, B).")
        p.expect_sign(TokenType.L_PAREN, "(", "Write SUBSET u = (A, B).")
        parts = [p.name("a variable of the pattern")]
        while p.sign(TokenType.COMMA):
            parts.append(p.name("a variable of the pattern"))
        p.close()
        found.append((name, tuple(parts)))
        if not p.sign(TokenType.COMMA):
            return tuple(found)


def _definitions(p: ExpressionParser) -> tuple[tuple[Name, Node], ...]:
    if not p.word("DEFINE"):
        return ()
    found: list[tuple[Name, Node]] = []
    while True:
        name = p.name("a variable of the pattern")
        if not p.sign(TokenType.ALIAS):
            p.fail("AS is missing here", hint=f"Write DEFINE {name.text} AS price > PREV(price).")
        found.append((name, p.expression("a condition")))
        if not p.sign(TokenType.COMMA):
            return tuple(found)


__all__ = ["parse_match"]
