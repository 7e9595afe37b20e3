"""Calendar arithmetic on whole columns, in the proleptic Gregorian calendar and UTC. Not for SQL names and types (`time`).

Polars has most of it, but raises on invalid and far-away dates where a row should fail, so dates are made by arithmetic here and
are shown only between the years -262142 and 262141 (NULL beyond, as are their calendar fields).
"""

from __future__ import annotations

from typing import Final

import polars as pl

from jupyter_stream.core.schema import TIMESTAMP
from jupyter_stream.functions.types import BIGINT, DATE, INT, RANGES, STRING

SECOND: Final = 10**6
MINUTE: Final = 60 * SECOND
HOUR: Final = 60 * MINUTE
DAY: Final = 24 * HOUR

FAR: Final = 95_000_000
"""Days from the epoch up to which Polars can show a date (about 260,000 years)."""

_DATE: Final = r"([+-]?[0-9]{4,7})(?:-([0-9]{1,2})(?:-([0-9]{1,2})"
_ZONE: Final = r"(Z|UTC|GMT|UT|(?:UTC|GMT|UT)?[+-][0-9]{1,2}(?::?[0-9]{2}(?::?[0-9]{2})?)?)?"
_TIMESTAMP: Final = (
    rf"^{_DATE}(?:[ T]([0-9]{{1,2}})(?::([0-9]{{1,2}})(?::([0-9]{{1,2}})(?:\.([0-9]*))? ?{_ZONE})?)?)?)?)?$"
)


def micros(timestamp: pl.Expr) -> pl.Expr:
    """Microseconds since the epoch of a timestamp or interval."""
    return timestamp.cast(BIGINT)


def days_of(timestamp: pl.Expr) -> pl.Expr:
    """Days since the epoch (INT) of a timestamp."""
    return (micros(timestamp) // DAY).cast(INT)


def date_of(timestamp: pl.Expr) -> pl.Expr:
    """The date of a timestamp."""
    return days_of(timestamp).cast(DATE)


def days_from_civil(year: pl.Expr, month: pl.Expr, day: pl.Expr) -> pl.Expr:
    """Days since the epoch (BIGINT) of a date; NULL where there is no such date.

    Howard Hinnant, chrono-Compatible Low-Level Date Algorithms, days_from_civil.
    """
    year, month, day = year.cast(BIGINT), month.cast(BIGINT), day.cast(BIGINT)
    from_march = year - (month <= 2).cast(BIGINT)
    era = from_march // 400
    year_of_era = from_march - era * 400
    day_of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    days = era * 146_097 + year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year - 719_468
    valid = month.is_between(1, 12) & (day >= 1) & (day <= month_length(year, month))
    return pl.when(valid).then(days)


def month_length(year: pl.Expr, month: pl.Expr) -> pl.Expr:
    """Days of a month."""
    leap = (year % 4 == 0) & ((year % 100 != 0) | (year % 400 == 0))
    return pl.when(month == 2).then(28 + leap.cast(BIGINT)).otherwise(30 + (month + month // 8) % 2)


def date_or_null(days: pl.Expr) -> pl.Expr:
    """A date from days since the epoch, NULL where they are beyond 32 bits."""
    return days.cast(INT, strict=False).cast(DATE)


def parse_date(text: pl.Expr) -> pl.Expr:
    """The date a trimmed string says, else NULL."""
    part = text.str.extract_groups(rf"(?s)^{_DATE}(?:[ T].*)?)?)?$").struct
    year, month, day = (_number(part.field(str(i)), default) for i, default in ((1, None), (2, 1), (3, 1)))
    return date_or_null(days_from_civil(year, month, day))


def parse_timestamp(text: pl.Expr) -> pl.Expr:
    """The timestamp a trimmed string says, else NULL."""
    part = text.str.extract_groups(_TIMESTAMP).struct
    year, month, day = (_number(part.field(str(i)), default) for i, default in ((1, None), (2, 1), (3, 1)))
    hour, minute, second = (_number(part.field(str(i)), 0) for i in (4, 5, 6))
    fraction = _number(part.field("7").str.head(6).str.pad_end(6, "0"), 0)
    zone = offset(part.field("8"))
    valid = (hour < 24) & (minute < 60) & (second < 60)
    days = days_from_civil(year, month, day)
    total = pl.when(valid).then(_timestamp(days, hour * 3600 + minute * 60 + second - zone, fraction))
    return total.cast(TIMESTAMP)


def make_timestamp(days: pl.Expr, seconds: pl.Expr, fraction: pl.Expr) -> pl.Expr:
    """The timestamp of a day, seconds and microseconds into it, NULL beyond 64 bits."""
    return _timestamp(days, seconds, fraction).cast(TIMESTAMP)


def from_seconds(seconds: pl.Expr) -> pl.Expr:
    """The timestamp so many seconds after the epoch; beyond the range, its end, as in Java."""
    low, high = RANGES[BIGINT]
    made = pl.when(seconds > high // SECOND).then(pl.lit(high)).when(seconds < -(high // SECOND)).then(pl.lit(low))
    return made.otherwise(seconds * SECOND).cast(TIMESTAMP)


def _timestamp(days: pl.Expr, seconds: pl.Expr, fraction: pl.Expr) -> pl.Expr:
    total = days * 86_400 + seconds
    limit = (2**63 - 1) // SECOND
    return pl.when(total.is_between(-limit, limit - 1)).then(total * SECOND + fraction)


def _number(text: pl.Expr, default: int | None) -> pl.Expr:
    number = text.cast(BIGINT, strict=False)
    return number if default is None else number.fill_null(default)


def offset(zone: pl.Expr) -> pl.Expr:
    """Seconds east of UTC that `+05:30`, `Z` and the like say; 0 of NULL."""
    part = zone.str.extract_groups(r"([+-])([0-9]{1,2}):?([0-9]{2})?:?([0-9]{2})?$").struct
    hours, minutes, seconds = (_number(part.field(str(i)), 0) for i in (2, 3, 4))
    size = hours * 3600 + minutes * 60 + seconds
    allowed = (minutes < 60) & (seconds < 60) & (size <= 18 * 3600)
    return pl.when(allowed).then(pl.when(part.field("1") == "-").then(-size).otherwise(size))


def showable(date: pl.Expr) -> pl.Expr:
    """The date, NULL where Polars can't show it."""
    return pl.when(date.cast(INT).is_between(-FAR, FAR)).then(date)


def show_date(date: pl.Expr) -> pl.Expr:
    """`2024-02-29`."""
    return showable(date).dt.to_string("%Y-%m-%d")


def show_timestamp(timestamp: pl.Expr) -> pl.Expr:
    """`2024-02-29 12:00:00.5`: a fraction only where there is one."""
    near = pl.when((micros(timestamp) // DAY).is_between(-FAR, FAR)).then(timestamp)
    return near.dt.to_string("%Y-%m-%d %H:%M:%S%.6f").str.replace(r"\.?0*$", "")


def show_interval(interval: pl.Expr) -> pl.Expr:
    """`INTERVAL '1 02:03:04.5' DAY TO SECOND`."""
    wide = micros(interval).cast(pl.Int128)  # the least interval has no absolute value in 64 bits
    size = pl.when(wide < 0).then(0 - wide).otherwise(wide)
    sign = pl.when(micros(interval) < 0).then(pl.lit("-")).otherwise(pl.lit(""))
    clock = (size % DAY).cast(BIGINT).cast(TIMESTAMP).dt.to_string("%H:%M:%S%.6f").str.replace(r"\.?0*$", "")
    text = [pl.lit("INTERVAL '"), sign, (size // DAY).cast(STRING), pl.lit(" "), clock, pl.lit("' DAY TO SECOND")]
    return pl.concat_str(text)
