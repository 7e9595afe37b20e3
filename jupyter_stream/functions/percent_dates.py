"""Dates and times by patterns with percent signs, as C, DuckDB and BigQuery have them: in terms of those with letters."""

from __future__ import annotations

from typing import Final

from jupyter_stream.functions import time
from jupyter_stream.functions.binding import argument, constant, count
from jupyter_stream.functions.casts import cast
from jupyter_stream.functions.expression import Expr, Literal
from jupyter_stream.functions.function import BadArguments, Bind, Function
from jupyter_stream.functions.types import DATE, STRING

_MEANT: Final = {
    "Y": "yyyy", "y": "yy", "m": "MM", "d": "dd", "e": "d", "H": "HH", "I": "hh", "M": "mm", "S": "ss", "f": "SSSSSS",
    "p": "a", "B": "MMMM", "b": "MMM", "h": "MMM", "A": "EEEE", "a": "EEE", "j": "DDD", "F": "yyyy-MM-dd",
    "T": "HH:mm:ss", "R": "HH:mm", "D": "MM/dd/yy", "g": "SSS",
}  # fmt: skip


def with_letters(pattern: str) -> str:
    """The pattern with letters for one with percent signs."""
    made, text, i = "", "", 0

    def said() -> str:
        return "'" + text.replace("'", "''") + "'" if text else ""

    while i < len(pattern):
        if pattern[i] != "%":
            text, i = text + pattern[i], i + 1
            continue
        code = pattern[i + 1 : i + 2]
        i += 2
        if code == "-" and pattern[i : i + 1] in "dmHIMS":
            made, text, i = made + said() + _MEANT[pattern[i]][0], "", i + 1
        elif code == "%":
            text += "%"
        elif code in _MEANT and code:
            made, text = made + said() + _MEANT[code], ""
        else:
            raise BadArguments(f"the pattern {pattern!r} has %{code}; there are %{', %'.join(_MEANT)}")
    return made + said()


def _bind(name: str, function: str, first: bool, date: bool) -> Bind:
    """Such a function; `first`: whether the pattern is its first argument; `date`: whether it gives a DATE."""
    of_table = {f.name: f for f in time.FUNCTIONS}[function]

    def bind(args: tuple[Expr, ...]) -> Expr:
        count(name, args, 2, 2)
        at = 0 if first else 1
        pattern = constant(name, at, argument(name, at, args[at], STRING))
        if pattern.value is None:
            return Literal(None, DATE if date else of_table.bind((args[1 - at], Literal("yyyy", STRING))).dtype)
        made = of_table.bind((args[1 - at], Literal(with_letters(str(pattern.value)), STRING)))
        return cast(made, DATE) if date else made

    return bind


def _row(signature: str, description: str, example: str, bind: Bind) -> Function:
    return Function(signature.partition("(")[0], signature, description, example, bind)


FUNCTIONS: Final = (
    _row(
        "strftime(time, pattern) -> STRING", "The time by a constant pattern with percent signs.",
        "strftime(DATE '2024-02-29', '%d.%m.%y') = '29.02.24'", _bind("strftime", "date_format", False, False),
    ),
    _row(
        "strptime(string, pattern) -> TIMESTAMP", "What a text says by a constant pattern with percent signs.",
        "strptime('29.02.2024', '%d.%m.%Y') = '2024-02-29 00:00:00'", _bind("strptime", "to_timestamp", False, False),
    ),
    _row(
        "format_date(pattern, date) -> STRING", "The date by a constant pattern with percent signs.",
        "format_date('%b %-d', DATE '2024-02-09') = 'Feb 9'", _bind("format_date", "date_format", True, False),
    ),
    _row(
        "format_timestamp(pattern, time) -> STRING", "The time by a constant pattern with percent signs.",
        "format_timestamp('%H:%M', TIMESTAMP '2024-02-29 12:34:56') = '12:34'",
        _bind("format_timestamp", "date_format", True, False),
    ),
    _row(
        "parse_date(pattern, string) -> DATE", "What a text says by a constant pattern with percent signs.",
        "parse_date('%Y-%j', '2024-060') = '2024-02-29'", _bind("parse_date", "to_timestamp", True, True),
    ),
    _row(
        "parse_timestamp(pattern, string) -> TIMESTAMP", "What a text says by a constant pattern with percent signs.",
        "parse_timestamp('%F %T', '2024-02-29 12:34:56') = '2024-02-29 12:34:56'",
        _bind("parse_timestamp", "to_timestamp", True, False),
    ),
)  # fmt: skip
