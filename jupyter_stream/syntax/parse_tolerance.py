"""WITH TOLERANCE (...) and what stands behind APPROXIMATE, as written (stream-manager §5). Not for what becomes of a plan."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Final, Literal

from sqlglot import TokenType

from jupyter_stream.core.memory import size_of
from jupyter_stream.syntax.diagnose import nearest
from jupyter_stream.syntax.parse_expression import ExpressionParser
from jupyter_stream.syntax.parse_window import duration
from jupyter_stream.syntax.query_syntax import TargetClause, ToleranceClause, TolerancePart
from jupyter_stream.syntax.source_text import Span

_TOLERANCE: Final = "Write WITH TOLERANCE (WINDOW AT LEAST 10 MINUTES, SAMPLE AT LEAST 20, ERROR AT MOST 5)."
_TARGET: Final = "Write TO '100 MB', TO 100000000 BYTES or TO 20% CPU."
_PARTS: Final = {"WINDOW": "LEAST", "SAMPLE": "LEAST", "ERROR": "MOST"}


def parse_tolerance(p: ExpressionParser) -> ToleranceClause | None:
    """Take `WITH TOLERANCE (WINDOW AT LEAST d, SAMPLE AT LEAST p, ERROR AT MOST e)`, if it comes next."""
    start = p.here
    if not p.word("WITH", "TOLERANCE"):
        return None
    p.expect_sign(TokenType.L_PAREN, "(", _TOLERANCE)
    if p.comes(TokenType.R_PAREN):
        p.fail("what may be given up is missing here", hint=_TOLERANCE)
    found: dict[str, TolerancePart] = {}
    while True:
        at = p.here
        word, value = _part(p)
        if word in found:
            p.fail(f"{word} appears twice", at, "Remove one of the two.")
        found[word] = TolerancePart(value, p.since(at))
        if not p.sign(TokenType.COMMA):
            break
    p.expect_sign(TokenType.R_PAREN, ")", None if p.at_end else "Write the parts with commas between them.")
    return ToleranceClause(found.get("WINDOW"), found.get("SAMPLE"), found.get("ERROR"), p.since(start))


def _part(p: ExpressionParser) -> tuple[str, float]:
    word = p.curr.text.upper()
    if word not in _PARTS:
        meant = None if p.at_end else nearest(p.curr.text, tuple(_PARTS))
        p.fail("WINDOW, SAMPLE or ERROR is missing here", hint=f"Did you mean {meant}?" if meant else _TOLERANCE)
    p.advance()
    bound = _PARTS[word]
    example = {"WINDOW": "WINDOW AT LEAST 10 MINUTES", "SAMPLE": "SAMPLE AT LEAST 20", "ERROR": "ERROR AT MOST 5"}[word]
    if not p.word("AT", bound):
        p.fail(f"AT {bound} is missing here", hint=f"Write {example}.")
    if word == "WINDOW":
        return word, duration(p, f"Write {example}.")
    what = "SAMPLE" if word == "SAMPLE" else "ERROR"
    return word, _percentage(p, f"{what} takes a percentage, more than 0 and at most 100", f"Write {example}.")


def _percentage(p: ExpressionParser, otherwise: str, example: str) -> float:
    """A number, with `%` or PERCENT behind it where somebody writes that."""
    at = p.here
    value = _number(p, lambda: p.fail(otherwise, at, example))
    if not p.sign(TokenType.MOD):
        p.word("PERCENT")
    if not 0 < value <= 100:
        p.fail(otherwise, p.since(at), example)
    return value


def _number(p: ExpressionParser, refuse: Callable[[], None]) -> float:
    if p.value_ahead():
        value = p.value()[1]
    elif p.comes(TokenType.NUMBER):
        p.advance()
        try:
            value = float(p.prev.text.replace("_", ""))
        except ValueError:
            value = None
    else:
        value = None
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        refuse()
        return 0.0
    return float(value)


def parse_target(p: ExpressionParser) -> TargetClause:
    """Take `TO '100 MB'`, `TO n BYTES` or `TO 20% CPU`, which an APPROXIMATE ends with."""
    p.expect("TO", hint=_TARGET)
    start = p.here
    if p.comes(TokenType.STRING, TokenType.RAW_STRING):
        p.advance()
        return _of_text(p, p.prev.text, p.prev_span)
    if p.value_ahead():
        _, value, span = p.value()
        if isinstance(value, str):
            return _of_text(p, value, span)
        p.index -= 1 if p.prev.kind == TokenType.PLACEHOLDER else 2
    amount = _number(p, lambda: p.fail("a size or a share of the processor is missing here", hint=_TARGET))
    kind: Literal["bytes", "cpu"]
    if p.sign(TokenType.MOD) or p.word("PERCENT"):
        p.expect("CPU", hint="Write TO 20% CPU.")
        kind = "cpu"
    else:
        p.expect("BYTES", hint=_TARGET)
        kind = "bytes"
    return _target(p, kind, amount, p.since(start))


def target_ahead(p: ExpressionParser) -> bool:
    """Whether `TO` comes next with an amount behind it, rather than an alias of that name."""
    amounts = (TokenType.STRING, TokenType.RAW_STRING, TokenType.NUMBER, TokenType.PLACEHOLDER, TokenType.COLON)
    return p.peek("TO") and p.next.kind in amounts


def _of_text(p: ExpressionParser, text: str, span: Span) -> TargetClause:
    share = text.upper().removesuffix("CPU").strip()
    if text.upper().endswith("CPU") and share.endswith("%"):
        try:
            return _target(p, "cpu", float(share[:-1]), span)
        except ValueError:
            pass
    size = size_of(text)
    if size is None:
        p.fail(f"'{text}' is neither a size nor a share of the processor", span, _TARGET)
    return _target(p, "bytes", size, span)


def _target(p: ExpressionParser, kind: Literal["bytes", "cpu"], amount: float, span: Span) -> TargetClause:
    if kind == "cpu" and not 0 < amount <= 100:
        p.fail("a share of the processor is more than 0% and at most 100%, of one core", span, "Write TO 20% CPU.")
    if kind == "bytes" and amount < 1:
        p.fail("nothing runs in less than a byte", span, _TARGET)
    return TargetClause(kind, amount / 100 if kind == "cpu" else amount, span)


def refuse_inside(p: ExpressionParser) -> None:
    """Say that a tolerance belongs to the whole query."""
    if p.peek("WITH", "TOLERANCE"):
        p.fail(
            "WITH TOLERANCE must come at the end of the whole query, not in a part of it", hint="Move it to the end."
        )


__all__ = ["parse_target", "parse_tolerance", "refuse_inside", "target_ahead"]
