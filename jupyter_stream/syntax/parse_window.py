"""Window clauses as written: in brackets behind a stream or an aggregate, behind OVER, as TUMBLE, HOP and SESSION.

The parts of a window come in any order, with or without commas between them, in our words and in the papers'. What a window
means is decided when it is bound (`bind_window`); here are only the mistakes that need no knowledge of the stream.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

from sqlglot import TokenType

from jupyter_stream.core.schema import INTERVAL
from jupyter_stream.core.time import show_duration, unit
from jupyter_stream.syntax.durations import LONGEST, microseconds, parse_duration
from jupyter_stream.syntax.nodes import ColumnRef
from jupyter_stream.syntax.parameters import constant
from jupyter_stream.syntax.parse_expression import ExpressionParser
from jupyter_stream.syntax.parse_frame import FRAME_UNITS, columns_only, parse_frame, preceding_only
from jupyter_stream.syntax.parse_literal import WINDOW_WORDS
from jupyter_stream.syntax.parse_row_number import order_item, partition_items
from jupyter_stream.syntax.query_syntax import Amount, WindowClause
from jupyter_stream.syntax.source_text import Name, Span
from jupyter_stream.syntax.window_hints import EXAMPLE, OVER_EXAMPLE, instead_of
from jupyter_stream.windows import BY_WORD

_ROW_NUM = ("row_num", "rownum", "row-num")
_FOR_ALL = "For all rows so far, write RANGE ALL SLIDE 1 MINUTE, or RANGE UNBOUNDED."


def parse_window(p: ExpressionParser) -> WindowClause:
    """Take `[...]`."""
    start = p.here
    p.sign(TokenType.L_BRACKET)
    return _Parts(p, start, TokenType.R_BRACKET, "]").read()


def parse_over(p: ExpressionParser) -> WindowClause:
    """Take what follows OVER: `(PARTITION BY k ROWS 10 PRECEDING)`, or a window in brackets."""
    start = p.here
    if p.sign(TokenType.L_BRACKET):
        return _Parts(p, start, TokenType.R_BRACKET, "]", over=True).read()
    p.expect_sign(TokenType.L_PAREN, "(", "Write OVER (ROWS 10 PRECEDING).")
    return _Parts(p, start, TokenType.R_PAREN, ")", over=True).read()


def amount(p: ExpressionParser, example: str) -> Amount:
    """Take a length of time or a number of rows.

    Args:
        p: the parser.
        example: what it could have been, for errors.

    Raises:
        QueryError: there is none, or it isn't more than zero.
    """
    start = p.here
    negative = p.sign(TokenType.DASH)
    if p.comes(TokenType.INTERVAL):
        return _positive(p, _length(p, p.interval().value), "time", p.since(start), negative)
    if p.value_ahead():
        written, value, span = p.value()
        known, dtype = constant(value, p.source, span)
        if dtype == INTERVAL:
            return _positive(p, _length(p, known), "time", span, negative)
        if isinstance(known, str):
            return _from_text(p, known, span, negative)
        if isinstance(known, bool) or not isinstance(known, int | float):
            p.fail(
                f"{written} is neither a length of time nor a number",
                span,
                "Pass a timedelta, a text such as '5 minutes', or a number.",
            )
        number = str(known)
    elif p.comes(TokenType.STRING):
        text = p.curr.text
        p.advance()
        if unit_follows(p) and _is_number(text):
            number = text
        else:
            return _from_text(p, text, p.prev_span, negative)
    elif p.comes(TokenType.NUMBER):
        number = p.curr.text.replace("_", "")
        p.advance()
    else:
        p.fail("a length of time or a number of rows is missing here", hint=example)
    return _with_unit(p, number, start, negative)


def _with_unit(p: ExpressionParser, number: str, start: Span, negative: bool) -> Amount:
    """The amount whose number has been taken; its unit, if it has one, comes next."""
    if p.word("ROW") or p.word("ROWS"):
        return _positive(p, _whole(p, number, p.since(start)), "rows", p.since(start), negative)
    if unit_follows(p):
        micros = unit(p.curr.text)
        assert micros is not None
        p.advance()
        return _positive(p, microseconds(number, micros), "time", p.since(start), negative)
    if p.comes(TokenType.VAR) and p.curr.text.upper() not in WINDOW_WORDS | {
        "PRECEDING",
        "WHERE",
        "BY",
        "ACTIVE",
        "AND",
    }:
        if p.peek("FOLLOWING"):
            p.fail("FOLLOWING isn't expected in a window", hint=instead_of("FOLLOWING", over=False))
        raise p.bad_unit(number, p.since(start))
    if not _is_whole(number):
        return Amount("bare", 0, p.since(start))
    return _positive(p, _whole(p, number, p.since(start)), "bare", p.since(start), negative)


def unit_follows(p: ExpressionParser) -> bool:
    """Whether a unit of time comes next."""
    return p.comes(TokenType.VAR) and unit(p.curr.text) is not None


def duration(p: ExpressionParser, example: str) -> int:
    """Take a length of time, in microseconds."""
    taken = amount(p, example)
    if taken.kind == "time":
        return taken.value
    if taken.kind == "rows":
        p.fail("a length of time is expected here, not a number of rows", taken.span, example)
    raise p.bad_unit(p.source.slice(taken.span), taken.span)


def _from_text(p: ExpressionParser, text: str, span: Span, negative: bool) -> Amount:
    words = text.split()
    if len(words) == 2 and words[1].lower() in ("row", "rows"):
        return _positive(p, _whole(p, words[0], span), "rows", span, negative)
    negative = negative or text.strip().startswith("-")
    micros = parse_duration(text.strip().removeprefix("-").removeprefix("INTERVAL").removeprefix("interval"))
    if micros is None:
        if _is_number(text):
            raise p.bad_unit(text, span)
        p.fail(f"'{text}' is not a length of time", span, "Write '5 minutes', '30 seconds', ...")
    return _positive(p, micros, "time", span, negative)


def _positive(p: ExpressionParser, value: int | None, kind: Any, span: Span, negative: bool) -> Amount:
    if value is None or value >= LONGEST:
        if kind == "time":
            p.fail("this length of time is too long", span, _FOR_ALL)
        p.fail("this number of rows is too large", span, _FOR_ALL)
    if negative or value <= 0:
        hint = {"rows": "Write a number of rows such as 100."}.get(kind, "Write a length of time such as 1 MINUTE.")
        if not negative and kind != "rows" and _before(p, span) == "RANGE":
            hint = f"For the rows of one instant write [NOW]. {hint}"
        p.fail("this must be more than zero", span, hint)
    return Amount(kind, value, span)


def _before(p: ExpressionParser, span: Span) -> str:
    """The word before what was just taken."""
    return next((t.text.upper() for t in reversed(p.tokens[: p.index]) if t.span.end <= span.start), "")


def _length(p: ExpressionParser, value: object) -> int:
    assert isinstance(value, dt.timedelta)
    return value // dt.timedelta(microseconds=1)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _is_whole(text: str) -> bool:
    return _is_number(text) and float(text).is_integer()


def _whole(p: ExpressionParser, text: str, span: Span) -> int:
    if not _is_whole(text):
        p.fail(f"{text} is not a whole number of rows", span, "Write a number of rows such as 100.")
    return int(float(text))


class _Parts:
    """The parts of one window while they are read."""

    def __init__(
        self, p: ExpressionParser, start: Span, close: TokenType, close_shown: str, over: bool = False
    ) -> None:
        self.p = p
        self.start = start
        self.close = close
        self.close_shown = close_shown
        self.over = over
        self.seen: dict[str, Span] = {}
        self.got: dict[str, Any] = {}
        self.tumbling: Span | None = None

    def read(self) -> WindowClause:
        p = self.p
        while not p.sign(self.close):
            if p.at_end:
                p.fail(f"{self.close_shown} is missing here", hint=f"Close the window with {self.close_shown}.")
            if p.sign(TokenType.COMMA):
                continue
            self._part()
        self.span = p.since(self.start)
        self._check()
        return WindowClause(span=self.span, over=self.over, **self.got)

    def _part(self) -> None:
        p = self.p
        at = p.here
        if self.over and self._part_of_over(at):
            return
        for words, reader in _READERS:
            if p.word(*words):
                reader(self, at)
                return
        if p.comes(TokenType.WHERE):
            p.advance()
            if p.comes(self.close):
                p.fail("a condition is missing here", hint="Write [PARTITION BY k ROWS 100 WHERE x > 0].")
            self._set("where", p.expression("a condition"), at, "WHERE")
            return
        if p.comes(TokenType.ORDER_BY):
            p.advance()
            p.expect("BY")
            column = p.expression("a column")
            if not isinstance(column, ColumnRef):
                p.fail(
                    "a window's rows can only be ordered by their time",
                    column.span,
                    "Write ORDER BY and the time column.",
                )
            self._set("on", Name(column.name.text, column.span), at, "ORDER BY")
            p.word("ASC")
            return
        token = p.curr
        if token.kind in (TokenType.NUMBER, TokenType.STRING, TokenType.INTERVAL) or p.value_ahead():
            hint = OVER_EXAMPLE if self.over else EXAMPLE
            if (
                isinstance(self.got.get("range"), Amount)
                and self.got["range"].kind == "time"
                and list(self.got)[-1] == "range"
            ):
                hint = (
                    "Write one unit, or put the length of time in quotes: RANGE 90 MINUTES, RANGE '1 hour 30 minutes'."
                )
            p.fail("RANGE, ROWS or SLIDE is missing before this", hint=hint)
        if token.text.upper() == "BY" and "slide" in self.got:
            p.fail("BY isn't expected in a window", hint="Did you mean SLIDE 10 ROWS BY RANK?")
        self.p.fail(f"{token.text} isn't expected in a window", hint=instead_of(token.text, self.over))

    def _part_of_over(self, at: Span) -> bool:
        """Take a part that only OVER can have; False where none comes, or one that windows of streams have as well."""
        p = self.p
        if p.comes(TokenType.ORDER_BY) or p.peek("ORDER", "BY"):
            p.advance()
            p.word("BY")
            order = [order_item(p)]
            while p.sign(TokenType.COMMA):
                order.append(order_item(p))
            self._set("order", tuple(order), at, "ORDER BY")
            key = order[0].expression
            if isinstance(key, ColumnRef) and len(order) == 1 and not order[0].descending:
                self.got.setdefault("on", Name(key.name.text, key.span))
            return True
        if (p.comes(TokenType.PARTITION_BY) or p.peek("PARTITION")) and not columns_only(p):
            p.advance()
            p.word("BY")
            self._set("by", partition_items(p), at, "PARTITION BY")
            return True
        if not any(p.peek(unit) for unit in FRAME_UNITS):
            return False
        begin, frame = p.index, parse_frame(p)
        if frame is None:
            return False
        self._set("frame", frame, at, frame.unit.upper())
        if preceding_only(frame):
            p.index = begin
        return not preceding_only(frame)

    def _set(self, name: str, value: object, at: Span, word: str) -> None:
        if name in self.got:
            self.p.fail(f"{word} appears twice in this window", at, "Remove one of them.")
        self.got[name] = value
        self.seen[name] = self.p.since(at)

    # -- one reader for each part; the word is taken already

    def _range(self, at: Span) -> None:
        p = self.p
        if p.word("ALL"):
            self._set("landmark", True, at, "RANGE")
        elif p.word("UNBOUNDED"):
            self._set("unbounded", True, at, "RANGE")
        elif p.comes(TokenType.BETWEEN):
            self._between(at, "RANGE")
            return
        elif p.word("TUMBLING"):
            self.tumbling = p.prev_span
            self._set("range", amount(p, "Write RANGE TUMBLING 5 MINUTES."), at, "RANGE")
        else:
            self._set("range", amount(p, "Write RANGE 10 MINUTES."), at, "RANGE")
        p.word("PRECEDING")
        if p.comes(TokenType.AND):
            p.fail("BETWEEN is missing before the range", at, "Write RANGE 10 MINUTES PRECEDING.")

    def _between(self, at: Span, word: str) -> None:
        """SQL's long form of a frame, where it says what the short one does."""
        p = self.p
        p.advance()
        if p.word("UNBOUNDED"):
            self._all(at, word)
        else:
            taken = amount(p, f"Write {word} 10 PRECEDING.")
            self._set("range", self._rows(taken) if word == "ROWS" else taken, at, word)
        p.expect("PRECEDING")
        p.expect_sign(TokenType.AND, "AND")
        if not p.word("CURRENT", "ROW"):
            p.fail(
                "CURRENT ROW is missing here",
                hint="End the window with CURRENT ROW: later rows are not known yet.",
            )

    def _all(self, at: Span, word: str) -> None:
        """ROWS or RANGE UNBOUNDED. Only OVER tells them apart: in FROM both say that rows stay for ever."""
        self._set("unbounded", True, at, word)
        if self.over and word == "ROWS":
            self.got["peers"] = False

    def _rows(self, taken: Amount) -> Amount:
        if taken.kind == "time":
            shown = show_duration(taken.value).upper()
            self.p.fail("ROWS counts rows, and this is a length of time", taken.span, f"Did you mean RANGE {shown}?")
        if taken.value <= 0:
            self.p.fail("this is not a whole number of rows", taken.span, "Write ROWS 100.")
        return Amount("rows", taken.value, taken.span)

    def _read_rows(self, at: Span) -> None:
        p = self.p
        if p.peek("ALL"):
            p.fail(
                "a number of rows is missing here",
                hint="For all rows so far, write RANGE UNBOUNDED or RANGE ALL SLIDE 1 MINUTE.",
            )
        if p.word("UNBOUNDED"):
            self._all(at, "ROWS")
        elif p.comes(TokenType.BETWEEN):
            self._between(at, "ROWS")
            return
        else:
            self._set("range", self._rows(amount(p, "Write ROWS 100.")), at, "ROWS")
        p.word("PRECEDING")

    def _slide(self, at: Span) -> None:
        self._set("slide", amount(self.p, "Write SLIDE 1 MINUTE or SLIDE 10 ROWS."), at, "SLIDE")

    def _tumbling(self, at: Span) -> None:
        p = self.p
        if self.tumbling is not None:
            p.fail("TUMBLING appears twice in this window", at, "Remove one of them.")
        self.tumbling = at
        if "range" not in self.got and not p.comes(self.close, TokenType.COMMA):
            p.fail("RANGE is missing before TUMBLING", at, "Write [RANGE 5 MINUTES TUMBLING].")

    def _word(self, at: Span) -> None:
        self._set("word", self.p.source.slice(at).upper(), at, self.p.source.slice(at).upper())

    def _now(self, at: Span) -> None:
        self._set("now", True, at, "NOW")

    def _unbounded(self, at: Span) -> None:
        self._set("unbounded", True, at, "UNBOUNDED")
        self.p.word("PRECEDING")

    def _session(self, at: Span) -> None:
        p = self.p
        p.word("GAP")
        if p.comes(self.close):
            p.fail("the gap of the session is missing here", hint="Write [SESSION 30 MINUTES].")
        taken = amount(p, "Write SESSION 30 MINUTES.")
        if taken.kind == "rows":
            p.fail("the gap of a session must be a length of time", taken.span, "Write [SESSION 30 MINUTES].")
        if taken.kind == "bare":
            raise p.bad_unit(p.source.slice(taken.span), taken.span)
        self._set("session", taken, at, "SESSION")

    def _partition(self, at: Span) -> None:
        p = self.p
        wrapped = p.sign(TokenType.L_PAREN)
        part = any(p.peek(word) for word in ("ROWS", "RANGE", "SESSION")) and p.next.kind == TokenType.NUMBER
        if part or p.comes(self.close):
            p.fail("the name of a column is missing here", hint="Write [PARTITION BY k ROWS 100].")
        columns: list[ColumnRef] = [_attribute(p)]
        while p.comes(TokenType.COMMA) and (wrapped or p.next.text.upper() not in WINDOW_WORDS | {"WHERE"}):
            p.advance()
            columns.append(_attribute(p))
        if wrapped:
            p.expect_sign(TokenType.R_PAREN, ")")
        self._set("partition", tuple(columns), at, "PARTITION BY")

    def _on(self, at: Span) -> None:
        p = self.p
        start = p.here
        if p.comes(self.close):
            p.fail(
                "the name of a column is missing here",
                hint="Name a time column: [RANGE 10 MINUTES SLIDE 1 MINUTE ON sent].",
            )
        column = _attribute(p)
        self._set("on", Name(column.name.text, p.since(start)), at, "the windowing attribute")

    def _sattr(self, at: Span) -> None:
        p = self.p
        start = p.here
        if p.peek("RANK") and p.next.kind == TokenType.L_PAREN:
            p.advance(2)
            name = _attribute(p).name.text
            p.expect_sign(TokenType.R_PAREN, ")")
            self._set("by_rank", True, at, "SATTR")
        else:
            name = _attribute(p).name.text
        self._set("slide_on", Name(name, p.since(start)), at, "SATTR")

    def _by_rank(self, at: Span) -> None:
        self._set("by_rank", True, at, "BY RANK")

    def _origin(self, at: Span) -> None:
        self._set("origin", self.p.expression("a time, such as '2024-01-01 00:00:00',"), at, "ORIGIN")

    def _active_expiration(self, at: Span) -> None:
        self._set("active_expiration", True, at, "ACTIVE EXPIRATION")

    # -- what fits together

    def _check(self) -> None:
        self._check_shape()
        span = self._measured_range()
        self._check_slide(span)
        self._check_pace(span)
        self._check_partition(span)
        if "active_expiration" in self.got and not self.over:
            self.p.fail(
                "ACTIVE EXPIRATION can only be used in OVER",
                self.seen["active_expiration"],
                "Write sum(x) OVER (RANGE 5 MINUTES PRECEDING ACTIVE EXPIRATION).",
            )

    def _check_shape(self) -> None:
        p, got = self.p, self.got
        shapes = [n for n in ("range", "landmark", "unbounded", "now", "session") if n in got]
        if len(shapes) > 1:
            if "session" in shapes:
                p.fail("a session takes a gap and nothing else", self.seen[shapes[0]], "Write [SESSION 30 MINUTES].")
            p.fail("a window can have only one range", self.seen[shapes[1]], "Remove one of them.")
        if not shapes and not (self.over and got.keys() <= {"partition", "on", "by", "order", "frame"}):
            missing, hint = "RANGE or ROWS", OVER_EXAMPLE if self.over else EXAMPLE
            if "partition" in got:
                missing, hint = "ROWS", "Write [PARTITION BY k ROWS 100] or [PARTITION BY k ROWS 100 SLIDE 10]."
            elif "slide" in got or self.tumbling:
                missing = "RANGE"
            p.fail(f"{missing} is missing in this window", self.span, hint)
        if "session" in got and ("slide" in got or self.tumbling):
            where = self.seen.get("slide") or self.tumbling
            p.fail(
                "a session can't have a SLIDE: it ends when its gap has passed", where, "Write [SESSION 30 MINUTES]."
            )

    def _measured_range(self) -> Amount | None:
        """The range, in rows or in time; of rows where it is over `row_num`."""
        p, got = self.p, self.got
        span: Amount | None = got.get("range")
        on_rows = isinstance(got.get("on"), Name) and got["on"].text.lower() in _ROW_NUM
        if span is not None and span.kind == "bare":
            if not on_rows:
                shown = p.source.slice(span.span)
                hint = f"Write RANGE {shown} MINUTES for a length of time, ROWS {shown} for a number of rows."
                p.fail(f"RANGE {shown} has no unit", span.span, hint)
            span = got["range"] = Amount("rows", span.value, span.span)
        if on_rows:
            if span is not None and span.kind == "time":
                p.fail("a length of time can't be measured on row_num", got["on"].span, "Write ROWS n, or name a time.")
            if span is not None:
                del got["on"]
        return span

    def _check_pace(self, span: Amount | None) -> None:
        p, got = self.p, self.got
        if "word" in got and not (span and span.kind == "time" and got.get("slide") and got["slide"].kind == "time"):
            example = f"Write [RANGE 1 DAY SLIDE 1 HOUR {got['word']}]."
            p.fail(f"{got['word']} needs RANGE and SLIDE over time", self.seen["word"], example)
        if "landmark" in got and "slide" not in got:
            p.fail(
                "RANGE ALL needs a SLIDE",
                self.span,
                "Write [RANGE ALL SLIDE 1 MINUTE], or [RANGE UNBOUNDED] for an answer that changes with each row.",
            )
        if "origin" in got and (got.get("slide") is None or got["slide"].kind != "time"):
            hint = "Write a SLIDE too: [RANGE 1 DAY SLIDE 1 HOUR ORIGIN '2024-01-01 00:30:00']."
            if "slide" in got or (span is not None and span.kind == "rows"):
                hint = "Leave ORIGIN out: rows are counted from 1."
            p.fail("ORIGIN needs a SLIDE over time", self.seen["origin"], hint)

    def _check_partition(self, span: Amount | None) -> None:
        p, got = self.p, self.got
        if "where" in got and "partition" not in got:
            p.fail(
                "WHERE in a window needs PARTITION BY",
                self.seen["where"],
                "Put the condition into the WHERE of the query.",
            )
        if "partition" in got and not self.over and span is not None and span.kind == "time":
            p.fail(
                "PARTITION BY in a window needs ROWS or SESSION",
                self.seen["partition"],
                "Use GROUP BY instead: a window over time is the same for all groups.",
            )

    def _check_slide(self, span: Amount | None) -> None:
        p, got = self.p, self.got
        if self.tumbling is not None:
            if "slide" in got:
                p.fail(
                    "a tumbling window has no other SLIDE than its range",
                    self.seen["slide"],
                    "Remove SLIDE or TUMBLING.",
                )
            if span is None:
                p.fail("TUMBLING needs a RANGE", self.tumbling, "Write [RANGE 5 MINUTES TUMBLING].")
            got["slide"] = span
        slide: Amount | None = got.get("slide")
        slide_on: Name | None = got.get("slide_on")
        counts_rows = slide_on is not None and (slide_on.text.lower() in _ROW_NUM or got.get("by_rank"))
        if slide is not None and slide.kind == "bare":
            if not (counts_rows or self.over or (span is not None and span.kind == "rows")):
                shown = p.source.slice(slide.span)
                p.fail(
                    f"SLIDE {shown} has no unit",
                    slide.span,
                    f"Write SLIDE {shown} SECONDS or SLIDE {shown} ROWS.",
                )
            if slide.value <= 0:
                p.fail("this is not a whole number of rows", slide.span, "Write SLIDE 10 ROWS.")
            slide = got["slide"] = Amount("rows", slide.value, slide.span)
        if slide is not None:
            if "now" in got:
                p.fail("[NOW] can't have a SLIDE", self.seen["slide"], f"Write [NOW] alone, or {EXAMPLE[6:]}")
            if "unbounded" in got and not self.over:
                p.fail(
                    "RANGE UNBOUNDED can't have a SLIDE",
                    self.seen["slide"],
                    "Write RANGE ALL: [RANGE ALL SLIDE 1 MINUTE] answers for all rows so far, every minute.",
                )
            if span is not None and span.kind == "rows" and slide.kind == "time" and not self.over:
                p.fail("the SLIDE of a window of rows must be a number of rows", slide.span, "Write SLIDE 10 ROWS.")
        if counts_rows and slide is not None and slide.kind == "time":
            p.fail("SATTR here needs a SLIDE of rows, not of time", slide.span, "Write SLIDE 10 ROWS.")
        if got.get("by_rank") and (slide is None or slide.kind != "rows"):
            p.fail("BY RANK needs SLIDE n ROWS", self.span, "Write [RANGE 10 MINUTES SLIDE 10 ROWS BY RANK].")
        if counts_rows:
            got.pop("slide_on")


def _attribute(p: ExpressionParser) -> ColumnRef:
    """A column, qualified or not; `row-num`, as the papers write it, is `row_num`."""
    parts = [p.name("a column")]
    while p.sign(TokenType.DOT):
        parts.append(p.name("a column"))
    name = parts[-1]
    if name.text.lower() == "row" and p.comes(TokenType.DASH) and p.next.text.lower() == "num":
        p.advance(2)
        name = Name("row_num", p.since(name.span))
    return ColumnRef(name, parts[-2] if len(parts) > 1 else None, parts[0].span.to(name.span))


_READERS: tuple[tuple[tuple[str, ...], Callable[[_Parts, Span], None]], ...] = (
    (("RANGE",), _Parts._range),
    (("ROWS",), _Parts._read_rows),
    (("ROW",), _Parts._read_rows),
    (("SLIDE",), _Parts._slide),
    (("TUMBLING",), _Parts._tumbling),
    *(((word,), _Parts._word) for word in BY_WORD),
    (("NOW",), _Parts._now),
    (("UNBOUNDED",), _Parts._unbounded),
    (("SESSION",), _Parts._session),
    (("PARTITION", "BY"), _Parts._partition),
    (("PA",), _Parts._partition),
    (("ON",), _Parts._on),
    (("WA",), _Parts._on),
    (("WATTR",), _Parts._on),
    (("RATTR",), _Parts._on),
    (("SATTR",), _Parts._sattr),
    (("BY", "RANK"), _Parts._by_rank),
    (("ORIGIN",), _Parts._origin),
    (("ACTIVE", "EXPIRATION"), _Parts._active_expiration),
)
"""The parts a window can have, by the words they begin with."""
