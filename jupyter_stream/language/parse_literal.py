"""Literals as written: text, numbers with their suffixes, bytes, lengths of time. Not for those with a type before them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping

import polars as pl
from sqlglot import TokenType

from jupyter_stream.core.schema import INTERVAL
from jupyter_stream.core.time import UNITS, unit
from jupyter_stream.errors import QueryError
from jupyter_stream.language.diagnose import did_you_mean
from jupyter_stream.language.durations import microseconds, parse_duration
from jupyter_stream.language.nodes import Constant
from jupyter_stream.language.parameters import constant
from jupyter_stream.language.reader import Reader
from jupyter_stream.language.source_text import Span

STOP_WORDS = frozenset((
    "ON", "USING", "LEFT", "RIGHT", "FULL", "INNER", "CROSS", "SEMI", "ANTI", "NATURAL", "WITH", "EMIT", "LIMIT", "OFFSET",
    "SAMPLE", "TABLESAMPLE", "WINDOW", "QUALIFY", "MINUS", "SORT", "CLUSTER", "DISTRIBUTE", "LATERAL", "PIVOT",
))  # fmt: skip
"""Words that can be names, but not an alias without AS: a clause begins there."""

WINDOW_WORDS = frozenset((
    "RANGE", "ROWS", "ROW", "SLIDE", "TUMBLING", "NOW", "UNBOUNDED", "SESSION", "PARTITION", "ON", "WA", "WATTR", "RATTR",
    "SATTR", "PA", "ORIGIN",
))  # fmt: skip
"""Words a window in brackets can begin with."""

_NUMBER_SUFFIXES: Mapping[str, pl.DataType] = {
    "L": pl.Int64(),
    "S": pl.Int16(),
    "Y": pl.Int8(),
    "D": pl.Float64(),
    "F": pl.Float32(),
    "BD": pl.Float64(),
}
_CALENDAR_UNITS = ("MONTH", "MONTHS", "QUARTER", "QUARTERS", "YEAR", "YEARS")


class LiteralParser(Reader):
    """A reader that can take literals."""

    def literal(self, kind: TokenType) -> Constant:
        """The literal whose token, of that kind, is taken already."""
        token = self.prev
        if kind == TokenType.NUMBER:
            return self._number()
        if kind in (TokenType.STRING, TokenType.RAW_STRING):
            text = token.text
            while self.comes(TokenType.STRING, TokenType.RAW_STRING):
                self.advance()  # 'a' 'b' is 'ab', as in Spark
                text += self.prev.text
            return Constant(text, pl.String(), self.since(token.span))
        if kind == TokenType.HEX_STRING:
            digits = token.text if len(token.text) % 2 == 0 else f"0{token.text}"
            return Constant(bytes.fromhex(digits), pl.Binary(), token.span)
        if kind == TokenType.NULL:
            return Constant(None, pl.Null(), token.span)
        return Constant(kind == TokenType.TRUE, pl.Boolean(), token.span)

    def _number(self) -> Constant:
        token = self.prev
        text, span = token.text.replace("_", ""), token.span
        following = self.curr
        suffix = following.text.upper() if following.span.start == span.end and following.kind == TokenType.VAR else ""
        value: object = int(text) if text.isdigit() else _float(text)
        if value is None:
            self.fail(f"{token.text} is no number", span)
        if not suffix:
            return Constant(*constant(value, self.source, span), span)
        self.advance()
        span = self.since(span)
        shown = f"{token.text}{following.text}"
        dtype = _NUMBER_SUFFIXES.get(suffix)
        if dtype is None:
            self.fail(f"{shown} is neither a number nor a name", span)
        if dtype.is_float():
            return Constant(_float(text), dtype, span)
        if not isinstance(value, int):
            self.fail(f"{shown} is no whole number", span)
        bits = 8 if dtype == pl.Int8() else 16 if dtype == pl.Int16() else 64
        if value >= 2 ** (bits - 1):
            self.fail(f"{token.text} doesn't fit into this type", span)
        return Constant(value, dtype, span)

    def interval(self) -> Constant:
        """Take an INTERVAL literal: `INTERVAL '10' MINUTE`, `INTERVAL 10 MINUTES`, `INTERVAL '1 hour 30 minutes'`."""
        start = self.here
        self.advance()
        total = self._interval_part(start, first=True) or dt.timedelta(0)
        while (part := self._interval_part(start, first=False)) is not None:
            total += part
        return Constant(total, INTERVAL, self.since(start))

    def _interval_part(self, start: Span, first: bool) -> dt.timedelta | None:
        index = self.index
        negative = first and self.sign(TokenType.DASH)
        number: object = None
        if self.comes(TokenType.STRING, TokenType.NUMBER):
            number = self.curr.text
            self.advance()
        elif first and self.value_ahead():
            _, value, span = self.value()
            number, _ = constant(value, self.source, span)
            if isinstance(number, dt.timedelta):
                return -number if negative else number
        if number is None:
            if first:
                self.fail("the length of the INTERVAL is missing here", hint="Write INTERVAL 10 MINUTES.")
            return None
        micros = unit(self.curr.text) if self.comes(TokenType.VAR) else None
        if micros is None and not first:
            self.index = index  # the number belongs to what comes after the interval
            return None
        text = str(number).strip()
        count = _float(text)
        if count is None:
            whole = parse_duration(text.removeprefix("-").strip())
            if whole is None:
                hint = "Write INTERVAL '10' MINUTE or INTERVAL '10 minutes'."
                self.fail(f"'{text}' is no length of time", self.since(start), hint)
            return dt.timedelta(microseconds=-whole if negative != text.startswith("-") else whole)
        if micros is None:
            raise self.bad_unit(text, self.since(start))
        self.advance()
        if self.word("TO"):
            self.fail("intervals of several units are written one by one", hint="Write INTERVAL '1' DAY '2' HOURS.")
        length = microseconds(count, micros)
        if length is None:
            self.fail("this is too long", self.since(start))
        return dt.timedelta(microseconds=-length if negative else length)

    def bad_unit(self, number: str, span: Span) -> QueryError:
        """What is wrong where a number needs a unit of time and the word behind it, if any, is none."""
        token = self.curr
        if token.kind == TokenType.VAR and token.text.upper() in _CALENDAR_UNITS:
            return self.failure(
                "months, quarters and years differ in length", token.span, "Say it in days or weeks: 30 DAYS."
            )
        if token.kind == TokenType.VAR and token.text.upper() not in STOP_WORDS | WINDOW_WORDS | {"PRECEDING", "BY"}:
            names = [name.lower() + "s" for name in UNITS]
            hint = did_you_mean(token.text, names, "units of time")
            return self.failure(f"{token.text} is no unit of time", token.span, hint)
        return self.failure(
            f"{number} of what? The unit is missing",
            span,
            f"Write {number} SECONDS, {number} MINUTES, {number} HOURS, ...",
        )


def _float(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
