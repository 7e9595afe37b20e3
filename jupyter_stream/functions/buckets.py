"""The start of the length of time that holds a timestamp: `time_bucket` of TimescaleDB and DuckDB, `date_bin` of PostgreSQL."""

from __future__ import annotations

import datetime as dt
from typing import Final

from jupyter_stream.core.schema import INTERVAL, TIMESTAMP
from jupyter_stream.core.time import parse_duration
from jupyter_stream.functions.binding import argument, constant, count
from jupyter_stream.functions.expression import Call, Expr, Literal
from jupyter_stream.functions.function import BadArguments, Bind, Function
from jupyter_stream.functions.types import BIGINT, STRING

_TS: Final = "TIMESTAMP '2024-02-29 12:34:56'"
_MONDAY: Final = 946_857_600_000_000
"""2000-01-03, from which TimescaleDB and DuckDB count weeks and whatever doesn't divide a day."""
_MONTHS: Final = {"month": 1, "mon": 1, "quarter": 3, "year": 12}
_TRUNCATED: Final = {1: "MONTH", 3: "QUARTER", 12: "YEAR"}


def _width(name: str, expr: Expr) -> int | str:
    """Microseconds; or the unit to which `date_trunc` rounds."""
    literal = constant(name, 0, expr if expr.dtype == INTERVAL else argument(name, 0, expr, STRING))
    value = literal.value
    if isinstance(value, dt.timedelta):
        value = value // dt.timedelta(microseconds=1)
    if isinstance(value, str):
        value = _months(value) or parse_duration(value.lower().removeprefix("interval").strip().strip("'"))
    if isinstance(value, str):
        return value
    if not isinstance(value, int) or value <= 0:
        raise BadArguments(f"{name} takes a length of time first: '10 minutes', or '1 month', '3 months', '1 year'")
    return value


def _months(text: str) -> str | None:
    words = text.lower().split()
    number, unit = ("1", *words) if len(words) == 1 else words if len(words) == 2 else ("", "")
    months = _MONTHS.get(unit.removesuffix("s"), 0) * (int(number) if number.isdigit() else 0)
    return _TRUNCATED.get(months)


def _binned(name: str, origin: int) -> Bind:
    def bind(args: tuple[Expr, ...]) -> Expr:
        count(name, args, 2, 3)
        width = _width(name, args[0])
        ts = argument(name, 1, args[1], TIMESTAMP)
        if isinstance(width, str):
            if len(args) == 3:
                raise BadArguments(f"{name} counts months from the first of January: leave the origin out")
            return Call("date_trunc", (Literal(width, STRING), ts), TIMESTAMP)
        micros = Call("unix_micros", (ts,), BIGINT)
        since = Call("-", (micros, Literal(_origin(name, args, origin), BIGINT)), BIGINT)
        into = Call("pmod", (since, Literal(width, BIGINT)), BIGINT)
        return Call("timestamp_micros", (Call("-", (micros, into), BIGINT),), TIMESTAMP)

    return bind


def _origin(name: str, args: tuple[Expr, ...], usual: int) -> int:
    """Microseconds from 1970 to the start of a bucket."""
    if len(args) < 3:
        return usual
    given = args[2]
    if given.dtype == STRING and isinstance(given, Literal) and "/" in str(given.value):
        raise BadArguments(f"{name} goes by UTC: leave '{given.value}' out")
    if given.dtype == INTERVAL:
        value = constant(name, 2, given).value
        return usual + (value // dt.timedelta(microseconds=1) if isinstance(value, dt.timedelta) else 0)
    value = constant(name, 2, argument(name, 2, given, TIMESTAMP)).value
    if not isinstance(value, dt.datetime):
        raise BadArguments(f"{name} takes a time as its origin, such as TIMESTAMP '2024-01-01'")
    return (value - dt.datetime(1970, 1, 1)) // dt.timedelta(microseconds=1)


FUNCTIONS: tuple[Function, ...] = (
    Function(
        "time_bucket",
        "time_bucket(length, timestamp[, origin or offset]) -> TIMESTAMP",
        "The start of its length of time; counted from Monday 2000-01-03, or from the origin.",
        f"time_bucket('15 minutes', {_TS}) = '2024-02-29 12:30:00'",
        _binned("time_bucket", _MONDAY),
    ),
    Function(
        "date_bin",
        "date_bin(length, timestamp[, origin]) -> TIMESTAMP",
        "The start of its length of time, counted from the origin.",
        f"date_bin('15 minutes', {_TS}, TIMESTAMP '2024-01-01 00:05:00') = '2024-02-29 12:20:00'",
        _binned("date_bin", 0),
    ),
)
