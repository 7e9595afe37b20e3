"""Calendar arithmetic on whole columns, in the proleptic Gregorian calendar and UTC. Not for SQL names and types (`time`).

Polars has most of it, but raises on invalid and far-away dates where a row should fail, so dates are made by arithmetic here and
are shown only between the years -262142 and 262141 (NULL beyond, as are their calendar fields).
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import polars as pl

from jupyter_stream.core.schema import TIMESTAMP
from jupyter_stream.functions.elementwise import elementwise
from jupyter_stream.functions.types import BIGINT, DATE, INT, RANGES, STRING

SECOND: Final = 10**6
MINUTE: Final = 60 * SECOND
HOUR: Final = 60 * MINUTE
DAY: Final = 24 * HOUR

FAR: Final = 95_000_000
"""Days from the epoch up to which Polars can show a date (about 260,000 years)."""


def micros(timestamp: pl.Expr) -> pl.Expr:
    """Microseconds since the epoch of a timestamp or interval."""
    return timestamp.cast(BIGINT)


def days_of(timestamp: pl.Expr) -> pl.Expr:
    """Days since the epoch (INT) of a timestamp."""
    return (micros(timestamp) // DAY).cast(INT)


def date_of(timestamp: pl.Expr) -> pl.Expr:
    """The date of a timestamp."""
    return days_of(timestamp).cast(DATE)


def days_from_civil(year: Any, month: Any, day: Any) -> tuple[Any, Any]:
    """Days since the epoch of dates given as int64 arrays, and where there is such a date.

    Howard Hinnant, chrono-Compatible Low-Level Date Algorithms, days_from_civil.
    """
    valid = (month >= 1) & (month <= 12) & (day >= 1) & (day <= month_length(year, month))
    from_march = year - (month <= 2)
    era = from_march // 400
    year_of_era = from_march - era * 400
    day_of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return era * 146_097 + year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year - 719_468, valid


def month_length(year: Any, month: Any) -> Any:
    """Days of months given as int64 arrays."""
    leap = (year % 4 == 0) & ((year % 100 != 0) | (year % 400 == 0))
    return np.where(month == 2, 28 + leap, 30 + (month + month // 8) % 2)


def days(year: pl.Expr, month: pl.Expr, day: pl.Expr) -> pl.Expr:
    """Days since the epoch (BIGINT) of a date; NULL where there is no such date."""
    return elementwise(days_from_civil, BIGINT, *(x.cast(BIGINT) for x in (year, month, day)))


def date_or_null(days: pl.Expr) -> pl.Expr:
    """A date from days since the epoch, NULL where they are beyond 32 bits."""
    return days.cast(INT, strict=False).cast(DATE)


def timestamp(days: pl.Expr, seconds: pl.Expr, fraction: pl.Expr) -> pl.Expr:
    """The timestamp of a day, seconds and microseconds into it (all BIGINT), NULL beyond 64 bits."""

    def compute(days: Any, seconds: Any, fraction: Any) -> tuple[Any, Any]:
        total = days * 86_400 + seconds
        limit = (2**63 - 1) // SECOND
        return total * SECOND + fraction, (total >= -limit) & (total < limit)

    return elementwise(compute, BIGINT, days, seconds, fraction).cast(TIMESTAMP)


def from_seconds(seconds: pl.Expr) -> pl.Expr:
    """The timestamp so many seconds after the epoch; beyond the range, its end, as in Java."""
    low, high = RANGES[BIGINT]
    made = pl.when(seconds > high // SECOND).then(pl.lit(high)).when(seconds < -(high // SECOND)).then(pl.lit(low))
    return made.otherwise(seconds * SECOND).cast(TIMESTAMP)


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
