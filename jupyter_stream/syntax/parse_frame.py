"""`ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING`: SQL's frames, behind OVER. Which can be had is decided when they are bound."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Final

from sqlglot import TokenType

from jupyter_stream.core.schema import INTERVAL
from jupyter_stream.core.time import unit
from jupyter_stream.errors import QueryError
from jupyter_stream.syntax.durations import microseconds
from jupyter_stream.syntax.nodes import ColumnRef, Constant, Node
from jupyter_stream.syntax.parse_row_number import partition_items
from jupyter_stream.syntax.query_syntax import FrameClause, FrameEnd

if TYPE_CHECKING:
    from jupyter_stream.syntax.parse_expression import ExpressionParser

FRAME_UNITS: Final = ("ROWS", "RANGE", "GROUPS")
_USAGE = "Write ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING, for example."


def parse_frame(p: ExpressionParser) -> FrameClause | None:
    """Take a frame; None, with nothing taken, where what comes isn't one in SQL's words.

    Raises:
        QueryError: it is one, and ends before it begins, or has no second end.
    """
    start, begin = p.here, p.index
    unit_word = p.curr.text.lower()
    p.advance()
    between = p.sign(TokenType.BETWEEN)
    low = _end(p)
    if low is None:
        if unit_word == "groups":
            p.fail("PRECEDING, FOLLOWING or CURRENT ROW is missing here", hint=_USAGE)
        p.index = begin
        return None
    high = FrameEnd(0, None, False, low.span)
    if between:
        if not p.sign(TokenType.AND):
            p.fail("AND is missing here", hint=_USAGE)
        found = _end(p)
        if found is None:
            p.fail("PRECEDING, FOLLOWING or CURRENT ROW is missing here", hint=_USAGE)
        high = found
    _check(p, low, high, unit_word)
    _exclude(p)
    return FrameClause(unit_word, low, high, p.since(start))


def preceding_only(frame: FrameClause) -> bool:
    """Whether it is one that windows of streams have as well: so many rows or so much time up to the current row."""
    if frame.unit == "groups" or frame.low.sign >= 0 or frame.high.sign or frame.high.unbounded:
        return False
    distance = frame.low.distance
    if distance is None:
        return True
    if not isinstance(distance, Constant):
        return False
    return distance.value != 0 if frame.unit == "rows" else distance.dtype == INTERVAL


def columns_only(p: ExpressionParser) -> bool:
    """Whether PARTITION BY, which comes next, has columns alone."""
    begin = p.index
    p.advance()
    p.word("BY")
    try:
        items = partition_items(p)
    except QueryError:
        return True  # it is read again, and says what is wrong
    finally:
        p.index = begin
    return all(isinstance(item, ColumnRef) for item in items)


def _end(p: ExpressionParser) -> FrameEnd | None:
    """Take one end of a frame; None for what is none."""
    start = p.here
    if p.word("CURRENT", "ROW"):
        return FrameEnd(0, None, False, p.since(start))
    if p.word("UNBOUNDED"):
        sign = _sign(p)
        return None if sign is None else FrameEnd(sign, None, True, p.since(start))
    distance = _distance(p)
    sign = None if distance is None else _sign(p)
    return None if sign is None else FrameEnd(sign, distance, False, p.since(start))


def _sign(p: ExpressionParser) -> int | None:
    if p.word("PRECEDING"):
        return -1
    return 1 if p.word("FOLLOWING") else None


def _distance(p: ExpressionParser) -> Node | None:
    start = p.here
    if p.comes(TokenType.NUMBER, TokenType.STRING) and p.next.kind == TokenType.VAR:
        micros = unit(p.next.text)
        if micros is not None:
            total = microseconds(p.curr.text.replace("_", ""), micros)
            p.advance(2)
            return None if total is None else Constant(dt.timedelta(microseconds=total), INTERVAL, p.since(start))
    try:
        return p.operand_of("a distance")
    except QueryError:
        return None


def _check(p: ExpressionParser, low: FrameEnd, high: FrameEnd, unit_word: str) -> None:
    shown = unit_word.upper()
    if low.unbounded and low.sign > 0:
        p.fail("a frame can't begin with UNBOUNDED FOLLOWING", low.span, f"Write {shown} BETWEEN CURRENT ROW AND ....")
    if high.unbounded and high.sign < 0:
        p.fail("a frame can't end with UNBOUNDED PRECEDING", high.span, f"Write {shown} BETWEEN ... AND CURRENT ROW.")
    if low.sign > high.sign:
        written = p.source.slice(low.span)
        hint = f"Write {shown} BETWEEN CURRENT ROW AND {written}."
        p.fail("this frame ends before it begins", low.span, hint if low.sign > 0 else _USAGE)


def _exclude(p: ExpressionParser) -> None:
    start = p.here
    if not p.word("EXCLUDE") or p.word("NO", "OTHERS"):
        return
    p.advance()
    p.unsupported(
        "EXCLUDE of a frame",
        p.since(start),
        "Leave it out, and take the row's own value away from the answer: sum(x) OVER (...) - x.",
    )


__all__ = ["FRAME_UNITS", "columns_only", "parse_frame", "preceding_only"]
