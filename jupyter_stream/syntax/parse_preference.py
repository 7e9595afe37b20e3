"""CREATE SUMMARY and WITH PREFERENCE, as written [promising-tuples, Figures 3 and 6]. Not for what their names mean."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Final, Literal

from sqlglot import TokenType

from jupyter_stream.syntax.diagnose import nearest
from jupyter_stream.syntax.nodes import Node
from jupyter_stream.syntax.parse_expression import ExpressionParser
from jupyter_stream.syntax.parse_window import duration
from jupyter_stream.syntax.query_syntax import PreferenceClause
from jupyter_stream.syntax.source_text import Span
from jupyter_stream.syntax.syntax import CreateSummary

_SUMMARY: Final = "Write CREATE SUMMARY name ON stream (column) WITH GRANULARITY 1 MINUTE AND COLLAPSE (4, 3)."
_PREFERENCE: Final = "Write WITH PREFERENCE DESC SUMMARY.Estimate.Count(column)."
_ESTIMATES: Final = "Write SUMMARY.Estimate.Count, Sum, Min or Max, and the column in parentheses."
_ORDERS: Final[tuple[Literal["desc", "asc", "weighted"], ...]] = ("desc", "asc", "weighted")
_MOST: Final = 1_000
"""Greatest rate and depth: the oldest granularity would be too long: COLLAPSE multiplies it too often otherwise."""


def parse_summary(p: ExpressionParser, common: dict[str, Any]) -> CreateSummary:
    """Take what follows CREATE SUMMARY: `name ON stream (columns) WITH GRANULARITY d AND COLLAPSE (rate, depth)`."""
    if p.word("IF"):
        if not p.sign(TokenType.NOT):
            p.fail("NOT EXISTS is missing here")
        p.expect("EXISTS")
    name = p.name("the summary")
    p.expect("ON", hint=_SUMMARY)
    stream = p.stream_name("a stream")
    p.expect_sign(TokenType.L_PAREN, "(", _SUMMARY)
    columns = [p.name("a column")]
    while p.sign(TokenType.COMMA):
        columns.append(p.name("a column"))
    p.expect_sign(TokenType.R_PAREN, ")", "Write names of columns only, with commas between them.")
    if p.peek("USING"):
        p.fail("USING must come at the end", hint="Write ... AND COLLAPSE (4, 3) USING count_sketch.")
    p.expect("WITH", hint=_SUMMARY)
    p.expect("GRANULARITY", hint=_SUMMARY)
    at = p.here
    granularity = duration(p, "Write GRANULARITY 1 MINUTE.")
    granularity_span = p.since(at)
    p.expect("AND", hint=_SUMMARY)
    p.expect("COLLAPSE", hint=_SUMMARY)
    p.expect_sign(TokenType.L_PAREN, "(", "Write COLLAPSE (4, 3).")
    rate = _whole(p, 2, "the rate of COLLAPSE must be a whole number, at least 2")
    p.expect_sign(TokenType.COMMA, ",", "Write COLLAPSE (4, 3): the rate, then the depth.")
    depth = _whole(p, 1, "the depth of COLLAPSE must be a whole number, at least 1")
    p.expect_sign(TokenType.R_PAREN, ")")
    kind = p.name("a kind of summary") if p.word("USING") else None
    return CreateSummary(
        name=name, stream=stream, columns=tuple(columns), granularity=granularity, granularity_span=granularity_span,
        rate=rate, depth=depth, kind=kind, **common,
    )  # fmt: skip


def _whole(p: ExpressionParser, least: int, otherwise: str) -> int:
    at = p.here
    value = getattr(p.expression("a number"), "value", None)
    if type(value) is not int or not least <= value <= _MOST:
        p.fail(
            otherwise,
            p.since(at),
            "Write COLLAPSE (4, 3): three granularities, each 4 times as long as the one before.",
        )
    return value


def parse_preference(p: ExpressionParser) -> PreferenceClause | None:
    """Take `WITH PREFERENCE [DESC | ASC | WEIGHTED] expr, ... [FADE FACTOR f] [WINDOW d]`, if it comes next."""
    start = p.here
    others = p.peek("WITH", "PREFERENCE") or p.peek("WITH", "TOLERANCE")
    if p.peek("WITH") and p.next.kind == TokenType.VAR and not others:
        p.advance()
        meant = nearest(p.curr.text, ["PREFERENCE", "TOLERANCE"])
        p.fail(f"{meant or 'PREFERENCE'} is missing here", hint=f"Did you mean {meant}?" if meant else _PREFERENCE)
    if not p.word("WITH", "PREFERENCE"):
        return None
    order: Literal["desc", "asc", "weighted"] = next((o for o in _ORDERS if p.word(o.upper())), "desc")
    if p.at_end or p.peek("FADE") or p.peek("WINDOW") or p.peek("EMIT"):
        p.fail("an expression is missing after WITH PREFERENCE", hint=_PREFERENCE)
    if p.comes(TokenType.VAR) and p.next.kind == TokenType.VAR:
        meant = nearest(p.curr.text, [o.upper() for o in _ORDERS])
        p.fail(
            "DESC, ASC or WEIGHTED is expected here",
            p.here,
            f"Did you mean {meant}?" if meant is not None else _PREFERENCE,
        )
    items = [_item(p)]
    while p.sign(TokenType.COMMA):
        items.append(_item(p))
    fade, window, window_span = 1.0, None, None
    seen: set[str] = set()
    while p.peek("FADE") or p.peek("WINDOW"):
        at = p.here
        word = p.curr.text.upper()
        if word in seen:
            p.fail(f"{word} appears twice", at, "Remove one of the two.")
        seen.add(word)
        p.advance()
        if word == "FADE":
            p.expect("FACTOR", hint="Write FADE FACTOR 0.8.")
            fade = _fade(p)
        else:
            window = duration(p, "Write WINDOW 1 MINUTE.")
            window_span = p.since(at)
    return PreferenceClause(order, tuple(items), fade, window, window_span, p.since(start))


def _item(p: ExpressionParser) -> tuple[Node, Span]:
    at = p.here
    node = p.expression("an expression")
    if p.comes(TokenType.L_PAREN):
        p.fail("there is no such estimate of a summary", p.since(at), _ESTIMATES)
    return node, p.since(at)


def _fade(p: ExpressionParser) -> float:
    """A number above 0 and up to 1; `80%` is 0.8."""
    at = p.here
    if p.at_end:
        p.fail("a number is missing here", hint="Write FADE FACTOR 0.8.")
    if p.comes(TokenType.NUMBER) and p.next.kind == TokenType.MOD:
        value: object = float(p.curr.text) / 100
        p.advance(2)
    else:
        negative = p.sign(TokenType.DASH)
        value = getattr(p.expression("a number"), "value", None)
        if negative and isinstance(value, int | float | Decimal):
            value = -value
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal) or not 0 < value <= 1:
        p.fail(
            "a fade factor must be more than 0 and at most 1",
            p.since(at),
            "Write FADE FACTOR 0.8: each granularity then counts 0.8 of the next newer one. With 1 all count the same.",
        )
    return float(value)


def refuse_inside(p: ExpressionParser) -> None:
    """Say that a preference belongs to the whole query."""
    if p.peek("WITH", "PREFERENCE"):
        p.fail(
            "WITH PREFERENCE must come at the end of the whole query, not in a part of it", hint="Move it to the end."
        )


__all__ = ["parse_preference", "parse_summary", "refuse_inside"]
