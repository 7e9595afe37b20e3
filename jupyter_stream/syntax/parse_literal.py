"""Literals as written: text, numbers with their suffixes, bytes, lengths of time. Not for those with a type before them."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping
from decimal import Decimal

import polars as pl
from sqlglot import TokenType

from jupyter_stream.core.schema import INTERVAL
from jupyter_stream.core.time import UNITS, unit
from jupyter_stream.errors import QueryError
from jupyter_stream.syntax.diagnose import did_you_mean
from jupyter_stream.syntax.durations import microseconds, parse_duration
from jupyter_stream.syntax.nodes import Constant, Months, Node, Operation
from jupyter_stream.syntax.parameters import constant
from jupyter_stream.syntax.reader import Reader
from jupyter_stream.syntax.source_text import Span

STOP_WORDS = frozenset((
    "ON", "USING", "LEFT", "RIGHT", "FULL", "INNER", "CROSS", "SEMI", "ANTI", "NATURAL", "WITH", "EMIT", "LIMIT", "OFFSET",
    "SAMPLE", "TABLESAMPLE", "WINDOW", "QUALIFY", "MINUS", "FETCH", "SORT", "CLUSTER", "DISTRIBUTE", "LATERAL", "PIVOT",
    "FOR", "ASOF", "WATERMARK", "MATCH_RECOGNIZE",
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
_CLOCK = ("DAY", "HOUR", "MINUTE", "SECOND")
_MOST = {"HOUR": 24, "MINUTE": 60, "SECOND": 60}
_PARTS = {"DAY": r"(\d+)", "HOUR": r"(\d+)", "MINUTE": r"(\d+)", "SECOND": r"(\d+(?:\.\d{1,9})?)"}
_CALENDAR_UNITS = ("MONTH", "MONTHS", "QUARTER", "QUARTERS", "YEAR", "YEARS")


_CALENDAR_PART = r"([+-]?\d{1,9})\s*(years?|quarters?|months?|weeks?|days?|hours?|minutes?|seconds?)"
_CALENDAR = re.compile(_CALENDAR_PART, re.IGNORECASE)


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
            self.fail(f"{token.text} is not a number", span)
        if not suffix:
            return Constant(*constant(value, self.source, span), span)
        self.advance()
        span = self.since(span)
        shown = f"{token.text}{following.text}"
        dtype = _NUMBER_SUFFIXES.get(suffix)
        if dtype is None:
            self.fail(
                f"{shown} is not a number and not a name",
                span,
                f"A name that begins with a digit is written `{shown}`.",
            )
        if dtype.is_float():
            return Constant(_float(text), dtype, span)
        if not isinstance(value, int):
            self.fail(f"{shown} is not a whole number", span, "Remove the letters after the number.")
        bits = 8 if dtype == pl.Int8() else 16 if dtype == pl.Int16() else 64
        if value >= 2 ** (bits - 1):
            self.fail(f"{token.text} doesn't fit into this type", span, "Remove the letters after the number.")
        return Constant(value, dtype, span)

    def months(self) -> Months | None:
        """Take `INTERVAL 1 YEAR 2 MONTHS` or `INTERVAL '1-2' YEAR TO MONTH`; None if an interval of another kind comes."""
        start, index, total, found = self.here, self.index, 0, False
        self.advance()
        while True:
            negative = not found and self.sign(TokenType.DASH)
            text, word = self.curr.text.strip(), self.next.text.upper().removesuffix("S")
            if not self.comes(TokenType.STRING, TokenType.NUMBER) or word not in ("YEAR", "MONTH"):
                break
            self.advance(2)
            several = word == "YEAR" and self.word("TO", "MONTH")
            both = re.fullmatch(r"([+-]?)(\d{1,9})-(\d{1,2})", text) if several else None
            whole = None if several else re.fullmatch(r"([+-]?)(\d{1,9})", text)
            if both is not None and int(both[3]) < 12:
                size, sign = 12 * int(both[2]) + int(both[3]), both[1]
            elif whole is not None:
                size, sign = int(whole[2]) * (12 if word == "YEAR" else 1), whole[1]
            else:
                self.fail(
                    f"'{text}' is not a number of years and months",
                    self.since(start),
                    "Write INTERVAL '1-2' YEAR TO MONTH.",
                )
            total += -size if negative != (sign == "-") else size
            found = True
        if not found:
            self.index = index
            return None
        if abs(total) >= 2**31:
            self.fail("this length of time is too long", self.since(start))
        return Months(total, self.since(start))

    def calendar_interval(self) -> Node | None:
        """Take `INTERVAL '1 month 2 days'` or `INTERVAL 1 MONTH 2 DAYS`: months and what is added to them; None for others."""
        start, index = self.here, self.index
        months = self.months()
        if months is not None:
            if not self.comes(TokenType.STRING, TokenType.NUMBER) or unit(self.next.text) is None:
                return months
            total = dt.timedelta(0)
            while (part := self._interval_part(start, first=False)) is not None:
                total += part
            span = self.since(start)
            return Operation("+", (months, Constant(total, INTERVAL, span)), span)
        self.advance()
        text = self.curr.text.strip() if self.comes(TokenType.STRING) else ""
        parts = _CALENDAR.findall(text)
        whole = re.fullmatch(rf"(?:{_CALENDAR_PART}\s*)+", text, re.IGNORECASE)
        units = [word.upper().removesuffix("S") for _, word in parts]
        if whole is None or not {"YEAR", "MONTH", "QUARTER"} & set(units):
            self.index = index
            return None
        self.advance()
        span = self.since(start)
        size = {"YEAR": 12, "QUARTER": 3, "MONTH": 1}
        count = sum(int(number) * size.get(word, 0) for (number, _), word in zip(parts, units, strict=True))
        lengths = [
            microseconds(n, unit(word) or 0) for (n, _), word in zip(parts, units, strict=True) if word not in size
        ]
        if abs(count) >= 2**31 or None in lengths:
            self.fail("this length of time is too long", span)
        found = Months(count, span)
        micros = sum(length for length in lengths if length is not None)
        if not micros:
            return found
        return Operation("+", (found, Constant(dt.timedelta(microseconds=micros), INTERVAL, span)), span)

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
        if micros is not None and self.next.text.upper() == "TO":
            size = self._several(text, start)
            return dt.timedelta(microseconds=-size if negative else size)
        count = _float(text)
        if count is None:
            whole = parse_duration(text.removeprefix("-").strip())
            if whole is None:
                hint = "Write INTERVAL '10' MINUTE or INTERVAL '10 minutes'."
                self.fail(f"'{text}' is not a length of time", self.since(start), hint)
            return dt.timedelta(microseconds=-whole if negative != text.startswith("-") else whole)
        if micros is None:
            raise self.bad_unit(text, self.since(start))
        self.advance()
        length = microseconds(text, micros)
        if length is None:
            self.fail("this length of time is too long", self.since(start))
        return dt.timedelta(microseconds=-length if negative else length)

    def _several(self, text: str, start: Span) -> int:
        """Microseconds of a text in several units, `'1 2:03' DAY TO MINUTE`: each but the first less than one of that before."""
        first = self.curr.text.upper()
        self.advance(2)
        last = self.curr.text.upper()
        self.advance()
        example = "Write INTERVAL '1 02:03:04.5' DAY TO SECOND, from a longer unit to a shorter one."
        if first not in _CLOCK or last not in _CLOCK or _CLOCK.index(first) >= _CLOCK.index(last):
            self.fail(f"{first} TO {last} is not an interval", self.since(start), example)
        units = _CLOCK[_CLOCK.index(first) : _CLOCK.index(last) + 1]
        form = "".join(
            ("" if i == 0 else " " if units[i - 1] == "DAY" else ":") + _PARTS[u] for i, u in enumerate(units)
        )
        found = re.fullmatch(f"([+-]?){form}", text)
        numbers = [] if found is None else [Decimal(part) for part in found.groups()[1:]]
        if found is None or any(n >= _MOST[u] for n, u in zip(numbers[1:], units[1:], strict=True)):
            self.fail(f"'{text}' is not an interval of {first} TO {last}", self.since(start), example)
        lengths = [microseconds(str(n), UNITS[u]) for n, u in zip(numbers, units, strict=True)]
        if None in lengths:
            self.fail("this length of time is too long", self.since(start))
        total = sum(length for length in lengths if length is not None)
        return -total if found[1] == "-" else total

    def bad_unit(self, number: str, span: Span) -> QueryError:
        """What is wrong where a number needs a unit of time and the word behind it, if any, is none."""
        token = self.curr
        if token.kind == TokenType.VAR and token.text.upper() in _CALENDAR_UNITS:
            return self.failure(
                "months, quarters and years differ in length",
                token.span,
                f"Write GROUP BY date_trunc('{token.text.lower().removesuffix('s')}', ts) without a window, or days: 30 DAYS.",
            )
        if token.kind == TokenType.VAR and token.text.upper() not in STOP_WORDS | WINDOW_WORDS | {"PRECEDING", "BY"}:
            names = [name.lower() + "s" for name in UNITS]
            hint = did_you_mean(token.text, names, "units of time")
            return self.failure(f"{token.text} is not a unit of time", token.span, hint)
        return self.failure(
            f"{number} has no unit",
            span,
            f"Write {number} SECONDS, {number} MINUTES, {number} HOURS, ...",
        )


def _float(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
