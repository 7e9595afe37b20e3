"""Functions of dates and timestamps, in UTC. The arithmetic is in `calendar`, patterns are in `formats`.

Nothing here reads a clock: `clock` does, once for a statement.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import polars as pl

from jupyter_stream.core.schema import INTERVAL, TIMESTAMP, type_name
from jupyter_stream.functions import calendar, formats, spans
from jupyter_stream.functions.binding import admit, argument, constant, count, takes
from jupyter_stream.functions.casts import cast, saturated
from jupyter_stream.functions.elementwise import divided, elementwise
from jupyter_stream.functions.expression import Call, Expr, Literal
from jupyter_stream.functions.function import (
    BadArguments,
    Bind,
    Compiled,
    Failure,
    Function,
    Kernel,
    strict,
)
from jupyter_stream.functions.rows import row as _function
from jupyter_stream.functions.types import BIGINT, DATE, DOUBLE, INT, RANGES, STRING, VOID, implicitly, is_integral

_DAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


def _field(name: str, description: str, value: str, compute: Callable[[pl.Expr], pl.Expr]) -> Function:
    """A calendar field of a date."""
    bind = takes(name, DATE, result=INT)
    kernel = strict(lambda call, date: compute(date).cast(INT))
    return _function(f"{name}(date) -> INT", description, f"{name}(DATE '2024-02-29') = {value}", bind, kernel)


def _clock(name: str, description: str, value: str, unit: int, modulus: int) -> Function:
    """A field of the time of day."""
    bind = takes(name, TIMESTAMP, result=INT)
    kernel = strict(lambda call, ts: (calendar.micros(ts) // unit % modulus).cast(INT))
    return _function(
        f"{name}(timestamp) -> INT", description, f"{name}(TIMESTAMP '2024-02-29 12:34:56') = {value}", bind, kernel
    )


def _as(name: str, dtype: pl.DataType, letters: bool = True) -> Bind:
    """A cast that is written as a function, with a pattern if `letters`."""

    def bind(args: tuple[Expr, ...]) -> Expr:
        count(name, args, 1, 2 if letters else 1)
        value = admit(args[0])
        if not implicitly(value.dtype, dtype):
            raise BadArguments(f"{name} takes a string, a date or a timestamp, not {type_name(value.dtype)}")
        if len(args) == 1:
            return cast(value, dtype)
        pattern = _pattern(name, 1, args[1], formats.check_read)
        if value.dtype != STRING:
            return cast(value, dtype)
        return cast(Call("to_timestamp", (value, pattern), TIMESTAMP), dtype)

    return bind


def _pattern(name: str, index: int, expr: Expr, check: Callable[[str], None]) -> Literal:
    pattern = constant(name, index, argument(name, index, expr, STRING))
    if isinstance(pattern.value, str):
        check(pattern.value)
    return pattern


def _known(expr: Expr) -> str | None:
    assert isinstance(expr, Literal)
    return expr.value if isinstance(expr.value, str) else None


def _read(call: Call, text: pl.Expr, _: pl.Expr) -> pl.Expr | Compiled:
    pattern = _known(call.args[1])
    if pattern is None:
        return pl.lit(None, dtype=TIMESTAMP)
    made = formats.read(text, pattern)
    return Compiled(made, (Failure(made.is_null() & text.is_not_null(), f"the text is not written as {pattern}"),))


def _bind_date_format(args: tuple[Expr, ...]) -> Expr:
    count("date_format", args, 2, 2)
    pattern = _pattern("date_format", 1, args[1], formats.check_shown)
    return Call("date_format", (argument("date_format", 0, args[0], TIMESTAMP), pattern), STRING)


def _date_format(call: Call, ts: pl.Expr, _: pl.Expr) -> pl.Expr:
    pattern = _known(call.args[1])
    return pl.lit(None, dtype=STRING) if pattern is None else formats.show(ts, pattern)


def _bind_from_unixtime(args: tuple[Expr, ...]) -> Expr:
    count("from_unixtime", args, 1, 2)
    seconds = argument("from_unixtime", 0, args[0], BIGINT)
    pattern = args[1] if len(args) == 2 else Literal("yyyy-MM-dd HH:mm:ss", STRING)
    return _bind_date_format((Call("cast", (seconds,), TIMESTAMP), pattern))


def _bind_unix_timestamp(args: tuple[Expr, ...]) -> Expr:
    if not args:
        raise BadArguments("unix_timestamp() reads the clock, so a replay would differ; give it a timestamp")
    return Call("unix_timestamp", (_as("unix_timestamp", TIMESTAMP)(args),), BIGINT)


def _whole_seconds(call: Call, ts: pl.Expr) -> pl.Expr:
    """Rounded towards 1970, as Spark has it here; unix_seconds is rounded down."""
    micros = calendar.micros(ts)
    return (micros + pl.when(micros < 0).then(calendar.SECOND - 1).otherwise(0)) // calendar.SECOND


def _moved(name: str, sign: int) -> Bind:
    def bind(args: tuple[Expr, ...]) -> Expr:
        if sign > 0 and len(args) == 3:
            return spans.LATER(args)
        count(name, args, 2, 2 if sign < 0 else 3)
        date, days = argument(name, 0, args[0], DATE), argument(name, 1, args[1], INT)
        return Call("+" if sign > 0 else "-", (date, days), DATE)

    return bind


def _bind_datediff(name: str) -> Bind:
    def bind(args: tuple[Expr, ...]) -> Expr:
        count(name, args, 2, 3)
        return spans.BETWEEN(args) if len(args) == 3 else _DAYS_BETWEEN(args)

    return bind


def _days_between(call: Call, end: pl.Expr, start: pl.Expr) -> pl.Expr:
    return end.cast(INT) - start.cast(INT)


def _civil(date: pl.Expr) -> tuple[pl.Expr, pl.Expr, pl.Expr]:
    return date.dt.year().cast(BIGINT), date.dt.month().cast(BIGINT), date.dt.day().cast(BIGINT)


def _add_months(call: Call, date: pl.Expr, months: pl.Expr) -> Compiled:
    def compute(year: Any, month: Any, day: Any, more: Any) -> Any:
        total = year * 12 + month - 1 + more
        year, month = total // 12, total % 12 + 1
        return calendar.days_from_civil(year, month, np.minimum(day, calendar.month_length(year, month)))

    made = calendar.date_or_null(elementwise(compute, BIGINT, *_civil(date), months.cast(BIGINT)))
    beyond = made.is_null() & date.is_not_null() & months.is_not_null()
    return Compiled(made, (Failure(beyond, "the result doesn't fit into a DATE"),))


def _last_day(call: Call, date: pl.Expr) -> pl.Expr:
    def compute(year: Any, month: Any) -> Any:
        return calendar.days_from_civil(year, month, calendar.month_length(year, month))

    return calendar.date_or_null(elementwise(compute, BIGINT, *_civil(date)[:2]))


def _bind_next_day(args: tuple[Expr, ...]) -> Expr:
    count("next_day", args, 2, 2)
    day = constant("next_day", 1, argument("next_day", 1, args[1], STRING))
    full = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
    known = {w for f in full for w in (f, f[:3], f[:2])}
    if isinstance(day.value, str) and day.value.lower() not in known:
        raise BadArguments(f"next_day takes a day of the week such as 'Monday' or 'Mon', not {day.value!r}")
    return Call("next_day", (argument("next_day", 0, args[0], DATE), day), DATE)


def _next_day(call: Call, date: pl.Expr, _: pl.Expr) -> pl.Expr:
    known = _known(call.args[1])
    if known is None:
        return pl.lit(None, dtype=DATE)
    wanted = next(i for i, day in enumerate(_DAYS) if day[:2] == known.lower()[:2])
    days = date.cast(INT)
    return (days + 1 + (wanted - (days + 4)) % 7).cast(DATE)  # day 0 was a Thursday


def _make_date(call: Call, year: pl.Expr, month: pl.Expr, day: pl.Expr) -> Compiled:
    made = calendar.date_or_null(calendar.days(year, month, day))
    given = year.is_not_null() & month.is_not_null() & day.is_not_null()
    return Compiled(made, (Failure(made.is_null() & given, "there is no such date"),))


def _make_timestamp(call: Call, *parts: pl.Expr) -> Compiled:
    year, month, day, hour, minute, second = parts
    second = pl.when(second.is_finite()).then(second)  # as DECIMAL, which Spark makes of it, infinity and NaN are NULL
    micros = (second * 1e6).round(0, mode="half_away_from_zero").cast(BIGINT, strict=False)
    clock = hour.is_between(0, 23) & minute.is_between(0, 59) & micros.is_between(0, 60 * calendar.SECOND)
    seconds = hour.cast(BIGINT) * 3600 + minute.cast(BIGINT) * 60 + micros // calendar.SECOND
    days = calendar.days(year, month, day)
    made = pl.when(clock).then(calendar.timestamp(days, seconds, micros % calendar.SECOND))
    given = pl.all_horizontal(p.is_not_null() for p in (*parts[:5], second))
    return Compiled(made, (Failure(made.is_null() & given, "there is no such time"),))


def _floored(name: str, unit: int) -> Function:
    bind = takes(name, TIMESTAMP, result=BIGINT)
    what = {1: "Microseconds", 1000: "Milliseconds", calendar.SECOND: "Seconds"}[unit]
    kernel = strict(lambda call, ts: calendar.micros(ts) // unit if unit > 1 else calendar.micros(ts))
    value = {1: 1_500_000, 1000: 1500, calendar.SECOND: 1}[unit]
    example = f"{name}(TIMESTAMP '1970-01-01 00:00:01.5') = {value}"
    return _function(f"{name}(timestamp) -> BIGINT", f"{what} since 1970, rounded down.", example, bind, kernel)


def _bind_timestamp_seconds(args: tuple[Expr, ...]) -> Expr:
    count("timestamp_seconds", args, 1, 1)
    value = admit(args[0])
    value = cast(value, BIGINT if is_integral(value.dtype) or value.dtype == VOID else DOUBLE)
    return Call("timestamp_seconds", (value,), TIMESTAMP)


def _from_units(unit: int) -> Kernel:
    def compute(call: Call, value: pl.Expr) -> pl.Expr | Compiled:
        if call.args[0].dtype == DOUBLE:
            return pl.when(value.is_finite()).then(saturated(value * 1e6)).cast(TIMESTAMP)
        if unit == 1:
            return value.cast(TIMESTAMP)
        high = RANGES[BIGINT][1] // unit
        failure = Failure(~value.is_between(-high, high), f"BIGINT overflow in {call.function}")
        return Compiled((value * unit).cast(TIMESTAMP), (failure,))

    return strict(compute)


_SIZES: Final = {"DAY": calendar.DAY, "HOUR": calendar.HOUR, "MINUTE": calendar.MINUTE, "SECOND": calendar.SECOND,
                 "MILLISECOND": 1000, "MICROSECOND": 1}  # fmt: skip
_UNITS: Final = {
    **{unit: unit for unit in ("YEAR", "QUARTER", "MONTH", "WEEK", *_SIZES)},
    "YYYY": "YEAR", "YY": "YEAR", "MM": "MONTH", "MON": "MONTH", "DD": "DAY",
}  # fmt: skip


def _unit(name: str, index: int, expr: Expr, known: tuple[str, ...]) -> Literal:
    unit = constant(name, index, argument(name, index, expr, STRING))
    if isinstance(unit.value, str):
        word = _UNITS.get(unit.value.upper(), "")
        if word not in known:
            raise BadArguments(f"{name} can't round to {unit.value!r}; it can round to {', '.join(known)}")
        return Literal(word, STRING)
    return unit


def _bind_date_trunc(args: tuple[Expr, ...]) -> Expr:
    count("date_trunc", args, 2, 2)
    unit = _unit("date_trunc", 0, args[0], tuple(dict.fromkeys(_UNITS.values())))
    return Call("date_trunc", (unit, argument("date_trunc", 1, args[1], TIMESTAMP)), TIMESTAMP)


def _bind_timestamp_trunc(args: tuple[Expr, ...]) -> Expr:
    count("timestamp_trunc", args, 2, 2)
    return _bind_date_trunc((args[1], args[0]))


def _date_trunc(call: Call, _: pl.Expr, ts: pl.Expr) -> pl.Expr:
    unit = _known(call.args[0])
    if unit is None:
        return pl.lit(None, dtype=TIMESTAMP)
    if unit in _SIZES:
        micros = calendar.micros(ts)
        return (micros - micros % _SIZES[unit]).cast(TIMESTAMP)
    return (_first_day(calendar.date_of(ts), unit).cast(INT).cast(BIGINT) * calendar.DAY).cast(TIMESTAMP)


def _first_day(date: pl.Expr, unit: str) -> pl.Expr:
    days = date.cast(INT)
    if unit == "WEEK":
        return (days - (days + 3) % 7).cast(DATE)
    if unit == "MONTH":
        return (days - date.dt.day().cast(INT) + 1).cast(DATE)
    if unit == "YEAR":
        return (days - date.dt.ordinal_day().cast(INT) + 1).cast(DATE)
    first = elementwise(
        lambda year, month: calendar.days_from_civil(year, (month - 1) // 3 * 3 + 1, 1), BIGINT, *_civil(date)[:2]
    )
    return calendar.date_or_null(first)


def _bind_trunc(args: tuple[Expr, ...]) -> Expr:
    count("trunc", args, 2, 2)
    unit = _unit("trunc", 1, args[1], ("YEAR", "QUARTER", "MONTH", "WEEK"))
    return Call("trunc", (argument("trunc", 0, args[0], DATE), unit), DATE)


def _trunc(call: Call, date: pl.Expr, _: pl.Expr) -> pl.Expr:
    unit = _known(call.args[1])
    return pl.lit(None, dtype=DATE) if unit is None else _first_day(date, unit)


def _name_of(form: str) -> Kernel:
    return strict(lambda call, date: calendar.showable(date).dt.to_string(form))


def _seconds(call: Call, ts: pl.Expr) -> pl.Expr:
    return divided((calendar.micros(ts) % calendar.MINUTE).cast(DOUBLE), 1e6)


def _of_interval(field: str, interval: Expr) -> Expr:
    """A part of an interval: whole days, and what is left of the day, the hour, the minute."""
    if field not in _PARTS:
        raise BadArguments(f"an INTERVAL has no field {field}; it has {', '.join(_PARTS)}")
    return Call("extract", (Literal(field, STRING), interval), DOUBLE if field == "second" else INT)


def _extracted(call: Call, _: pl.Expr, value: pl.Expr) -> pl.Expr:
    if call.args[1].dtype != INTERVAL:
        return _seconds(call, value)
    assert isinstance(call.args[0], Literal)
    unit, above = _PARTS[str(call.args[0].value)]
    micros = calendar.micros(value)
    # towards zero, as Java divides
    left = micros if above is None else pl.when(micros < 0).then(-(-micros % above)).otherwise(micros % above)
    if unit == calendar.SECOND:
        return divided(left.cast(DOUBLE), 1e6)
    return pl.when(left < 0).then(-(-left // unit)).otherwise(left // unit).cast(INT)


def _extract_on_spark(call: Call, args: tuple[str, ...]) -> str:
    assert isinstance(call.args[0], Literal)
    kind = "DOUBLE" if call.dtype == DOUBLE else "INT"
    return f"CAST(extract({str(call.args[0].value).upper()} FROM {args[1]}) AS {kind})"


_PARTS: Final[dict[str, tuple[int, int | None]]] = {
    "day": (calendar.DAY, None),
    "hour": (calendar.HOUR, calendar.DAY),
    "minute": (calendar.MINUTE, calendar.HOUR),
    "second": (calendar.SECOND, calendar.MINUTE),
}
"""Of the fields of an interval, the unit, and what it is counted within; microseconds."""
_DATE_FIELDS: Final = (
    _field("year", "The year.", "2024", lambda d: d.dt.year()),
    _field("quarter", "The quarter, 1 to 4.", "1", lambda d: d.dt.quarter()),
    _field("month", "The month, 1 to 12.", "2", lambda d: d.dt.month()),
    _field("day", "The day of the month.", "29", lambda d: d.dt.day()),
    _field("dayofweek", "The day of the week, 1 for Sunday to 7.", "5", lambda d: (d.cast(INT) + 4) % 7 + 1),
    _field("weekday", "The day of the week, 0 for Monday to 6.", "3", lambda d: (d.cast(INT) + 3) % 7),
    _field("dayofyear", "The day of the year, 1 to 366.", "60", lambda d: d.dt.ordinal_day()),
    _field("weekofyear", "The week of the year by ISO 8601, from Monday.", "9", lambda d: d.dt.week()),
)
_CLOCK_FIELDS: Final = (
    _clock("hour", "The hour, 0 to 23.", "12", calendar.HOUR, 24),
    _clock("minute", "The minute, 0 to 59.", "34", calendar.MINUTE, 60),
    _clock("second", "The second, 0 to 59.", "56", calendar.SECOND, 60),
)
_BY_NAME: Final = {f.name: f for f in (*_DATE_FIELDS, *_CLOCK_FIELDS)}
_EXTRACTED: Final = {
    **{name: name for name in ("year", "quarter", "month", "day", "hour", "minute", "dayofweek")},
    **{name + "s": name for name in ("year", "month", "day", "hour", "minute")},
    "week": "weekofyear", "weeks": "weekofyear", "w": "weekofyear", "doy": "dayofyear", "dow": "dayofweek",
    "y": "year", "yr": "year", "qtr": "quarter", "mon": "month", "d": "day", "h": "hour", "min": "minute", "m": "minute",
}  # fmt: skip


_SECONDS: Final = ("second", "seconds", "s", "sec")


def _bind_extract(name: str) -> Bind:
    def bind(args: tuple[Expr, ...]) -> Expr:
        count(name, args, 2, 2)
        field = constant(name, 0, argument(name, 0, args[0], STRING))
        word = str(field.value).lower()
        if args[1].dtype == INTERVAL:
            return _of_interval("second" if word in _SECONDS else _EXTRACTED.get(word, word), args[1])
        if word in _SECONDS:
            return Call("extract", (Literal("second", STRING), argument(name, 1, args[1], TIMESTAMP)), DOUBLE)
        if word in ("dayofweek_iso", "dow_iso"):
            return Call("+", (_BY_NAME["weekday"].bind(args[1:]), Literal(1, INT)), INT)
        if word not in _EXTRACTED:
            raise BadArguments(
                f"{name} has no field {field.value}; it has {', '.join(dict.fromkeys(_EXTRACTED.values()))}, second"
            )
        return _BY_NAME[_EXTRACTED[word]].bind(args[1:])

    return bind


_TO_DATE: Final = _as("to_date", DATE)
_DAYS_BETWEEN: Final = takes("datediff", DATE, DATE, result=INT)
_TS: Final = "TIMESTAMP '2024-02-29 12:34:56'"

FUNCTIONS: Final = (
    *_DATE_FIELDS,
    *_CLOCK_FIELDS,
    _function(
        "dayofmonth(date) -> INT", "The day of the month, as day.", "dayofmonth(DATE '2024-02-29') = 29",
        _BY_NAME["day"].bind,
    ),
    _function(
        "dayname(date) -> STRING", "Mon to Sun.", "dayname(DATE '2024-02-29') = 'Thu'",
        takes("dayname", DATE, result=STRING), _name_of("%a"),
    ),
    _function(
        "monthname(date) -> STRING", "Jan to Dec.", "monthname(DATE '2024-02-29') = 'Feb'",
        takes("monthname", DATE, result=STRING), _name_of("%b"),
    ),
    _function(
        "extract(field FROM timestamp or interval)",
        "A field by its name; seconds with their fraction, as DOUBLE. Of an INTERVAL: DAY, HOUR, MINUTE, SECOND.",
        f"extract(HOUR FROM {_TS}) = 12", _bind_extract("extract"), strict(_extracted), _extract_on_spark,
    ),
    _function(
        "date_part(field, timestamp)", "A field by its name, as extract.", f"date_part('hour', {_TS}) = 12",
        _bind_extract("date_part"),
    ),
    Function(
        "timestamp_trunc", "timestamp_trunc(timestamp, unit) -> TIMESTAMP", "The start of its unit of time, as date_trunc.",
        f"timestamp_trunc({_TS}, HOUR) = '2024-02-29 12:00:00'", _bind_timestamp_trunc,
    ),
    _function(
        "date_trunc(unit, timestamp) -> TIMESTAMP",
        "Rounded down to a year, quarter, month, week (Monday), day, hour, ...",
        f"date_trunc('HOUR', {_TS}) = '2024-02-29 12:00:00'", _bind_date_trunc, strict(_date_trunc),
    ),
    _function(
        "trunc(date, unit) -> DATE", "Rounded down to a year, quarter, month or week (Monday).",
        "trunc(DATE '2024-02-29', 'MONTH') = '2024-02-01'", _bind_trunc, strict(_trunc),
    ),
    _function(
        "to_date(string[, pattern]) -> DATE", "A date from text; text that is none is an error of the row.",
        "to_date('29/02/2024', 'dd/MM/yyyy') = '2024-02-29'", _TO_DATE,
    ),
    _function(
        "date(value) -> DATE", "As CAST(value AS DATE).", "date('2024-02-29') = '2024-02-29'",
        _as("date", DATE, letters=False),
    ),
    _function(
        "to_timestamp(string[, pattern]) -> TIMESTAMP",
        "A timestamp from text; text that is none is an error of the row.",
        "to_timestamp('29/02/2024 12:34', 'dd/MM/yyyy HH:mm') = '2024-02-29 12:34:00'", _as("to_timestamp", TIMESTAMP),
        strict(_read),
    ),
    _function(
        "timestamp(value) -> TIMESTAMP", "As CAST(value AS TIMESTAMP).",
        "timestamp('2024-02-29') = '2024-02-29 00:00:00'", _as("timestamp", TIMESTAMP, letters=False),
    ),
    _function(
        "date_format(timestamp, pattern) -> STRING", "As text by a pattern such as yyyy-MM-dd HH:mm:ss.SSS.",
        f"date_format({_TS}, 'HH:mm') = '12:34'", _bind_date_format, strict(_date_format),
    ),
    _function(
        "date_add(date, days) -> DATE", "So many days later; or date_add(unit, number, timestamp), as timestampadd.",
        "date_add(DATE '2024-02-28', 1) = '2024-02-29'", _moved("date_add", 1),
    ),
    _function(
        "dateadd(date, days) -> DATE", "So many days later; or dateadd(unit, number, timestamp), as timestampadd.",
        "dateadd(DATE '2024-02-28', 1) = '2024-02-29'", _moved("dateadd", 1),
    ),
    _function(
        "date_sub(date, days) -> DATE", "So many days earlier.", "date_sub(DATE '2024-03-01', 1) = '2024-02-29'",
        _moved("date_sub", -1),
    ),
    _function(
        "datediff(end, start) -> INT", "Days from start to end; or datediff(unit, start, end), as timestampdiff.",
        "datediff(DATE '2024-03-01', DATE '2024-02-28') = 2", _bind_datediff("datediff"), strict(_days_between),
    ),
    _function(
        "date_diff(end, start) -> INT", "Days from start to end; or date_diff(unit, start, end), as timestampdiff.",
        "date_diff(DATE '2024-03-01', DATE '2024-02-28') = 2", _bind_datediff("date_diff"),
    ),
    _function(
        "add_months(date, months) -> DATE", "So many months later, at most the month's last day.",
        "add_months(DATE '2024-01-31', 1) = '2024-02-29'", takes("add_months", DATE, INT, result=DATE),
        strict(_add_months),
    ),
    _function(
        "last_day(date) -> DATE", "The last day of its month.", "last_day(DATE '2024-02-01') = '2024-02-29'",
        takes("last_day", DATE, result=DATE), strict(_last_day),
    ),
    _function(
        "next_day(date, day) -> DATE", "The first such day of the week after it.",
        "next_day(DATE '2024-02-29', 'Mon') = '2024-03-04'", _bind_next_day, strict(_next_day),
    ),
    _function(
        "make_date(year, month, day) -> DATE", "A date from its parts; an error if there is none.",
        "make_date(2024, 2, 29) = '2024-02-29'", takes("make_date", INT, INT, INT, result=DATE), strict(_make_date),
    ),
    _function(
        "make_timestamp(year, month, day, hour, minute, second) -> TIMESTAMP",
        "A timestamp from its parts; an error if there is none.",
        "make_timestamp(2024, 2, 29, 12, 34, 56.5) = '2024-02-29 12:34:56.5'",
        takes("make_timestamp", INT, INT, INT, INT, INT, DOUBLE, result=TIMESTAMP), strict(_make_timestamp),
    ),
    _floored("unix_seconds", calendar.SECOND),
    _floored("unix_millis", 1000),
    _floored("unix_micros", 1),
    _function(
        "unix_timestamp(value[, pattern]) -> BIGINT", "Seconds since 1970 of a timestamp, a date or text.",
        "unix_timestamp(TIMESTAMP '1970-01-01 00:01:00') = 60", _bind_unix_timestamp, strict(_whole_seconds),
    ),
    _function(
        "to_unix_timestamp(value[, pattern]) -> BIGINT", "Seconds since 1970, as unix_timestamp.",
        "to_unix_timestamp(TIMESTAMP '1970-01-01 00:01:00') = 60", _bind_unix_timestamp,
    ),
    _function(
        "unix_date(date) -> INT", "Days since 1970.", "unix_date(DATE '1970-01-02') = 1",
        takes("unix_date", DATE, result=INT), strict(lambda call, date: date.cast(INT)),
    ),
    _function(
        "date_from_unix_date(days) -> DATE", "The date so many days after 1970-01-01.",
        "date_from_unix_date(1) = '1970-01-02'", takes("date_from_unix_date", INT, result=DATE),
        strict(lambda call, days: days.cast(DATE)),
    ),
    _function(
        "timestamp_seconds(number) -> TIMESTAMP", "The timestamp so many seconds after 1970.",
        "timestamp_seconds(1.5) = '1970-01-01 00:00:01.5'", _bind_timestamp_seconds, _from_units(calendar.SECOND),
    ),
    _function(
        "timestamp_millis(number) -> TIMESTAMP", "The timestamp so many milliseconds after 1970.",
        "timestamp_millis(1500) = '1970-01-01 00:00:01.5'", takes("timestamp_millis", BIGINT, result=TIMESTAMP),
        _from_units(1000),
    ),
    _function(
        "timestamp_micros(number) -> TIMESTAMP", "The timestamp so many microseconds after 1970.",
        "timestamp_micros(1500000) = '1970-01-01 00:00:01.5'", takes("timestamp_micros", BIGINT, result=TIMESTAMP),
        _from_units(1),
    ),
    _function(
        "from_unixtime(seconds[, pattern]) -> STRING", "Seconds since 1970 as text, yyyy-MM-dd HH:mm:ss unless said.",
        "from_unixtime(0) = '1970-01-01 00:00:00'", _bind_from_unixtime,
    ),
)  # fmt: skip
