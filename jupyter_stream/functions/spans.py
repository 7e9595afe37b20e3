"""Whole units between two times, and times so many units later: `timestampdiff` and `timestampadd`, as Spark has them."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import polars as pl

from jupyter_stream.core.schema import TIMESTAMP
from jupyter_stream.functions import calendar
from jupyter_stream.functions.binding import argument, count
from jupyter_stream.functions.elementwise import elementwise
from jupyter_stream.functions.expression import Call, Expr, Literal
from jupyter_stream.functions.function import BadArguments, Bind, Compiled, Failure, Function, strict
from jupyter_stream.functions.types import BIGINT, DATE, INT, RANGES, STRING

_MICROS: Final = {
    "MICROSECOND": 1, "MILLISECOND": 1000, "SECOND": calendar.SECOND, "MINUTE": calendar.MINUTE, "HOUR": calendar.HOUR,
    "DAY": calendar.DAY, "WEEK": 7 * calendar.DAY,
}  # fmt: skip
_MONTHS: Final = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}
UNITS: Final = (*reversed(_MONTHS), *reversed(_MICROS))


def _bind(name: str, of: str, second: pl.DataType, result: pl.DataType) -> Bind:
    def bind(args: tuple[Expr, ...]) -> Expr:
        count(name, args, 3, 3)
        known = args[0].value if isinstance(args[0], Literal) else None
        unit = known.upper().removesuffix("S") if isinstance(known, str) else ""
        if unit not in UNITS:
            raise BadArguments(f"{name} takes a unit of time first: {', '.join(UNITS)}")
        given = (argument(name, 1, args[1], second), argument(name, 2, args[2], TIMESTAMP))
        return Call(of, (Literal(unit, STRING), *given), result)

    return bind


def _unit(call: Call) -> str:
    assert isinstance(call.args[0], Literal)
    return str(call.args[0].value)


def _civil(date: pl.Expr) -> tuple[pl.Expr, pl.Expr]:
    """The month, counted on from year 0, and the day in it."""
    return date.dt.year().cast(BIGINT) * 12 + date.dt.month().cast(BIGINT) - 1, date.dt.day().cast(BIGINT)


def _clock(ts: pl.Expr) -> pl.Expr:
    return calendar.micros(ts) % calendar.DAY


def _between(call: Call, _: pl.Expr, start: pl.Expr, end: pl.Expr) -> Compiled:
    unit = _unit(call)
    if unit in _MONTHS:
        first, last = calendar.days_of(start), calendar.days_of(end)
        behind = (last > first) & (_clock(end) < _clock(start))
        ahead = (last < first) & (_clock(end) > _clock(start))
        reached = (last - behind.cast(INT) + ahead.cast(INT)).cast(DATE)  # the last day that is whole
        parts = (*_civil(calendar.date_of(start)), *_civil(reached))
        return Compiled(elementwise(_whole_months(_MONTHS[unit]), BIGINT, *parts))
    wide = calendar.micros(end).cast(pl.Int128) - calendar.micros(start).cast(pl.Int128)
    size = pl.when(wide < 0).then(0 - wide).otherwise(wide) // pl.lit(_MICROS[unit], dtype=pl.Int128)
    made = pl.when(wide < 0).then(0 - size).otherwise(size)
    low, high = RANGES[BIGINT]
    failures = (
        () if _MICROS[unit] > 1 else (Failure(~made.is_between(low, high), f"BIGINT overflow in {call.function}"),)
    )
    return Compiled(made.cast(BIGINT, strict=False), failures)


def _whole_months(unit: int) -> Any:
    def compute(month: Any, day: Any, to_month: Any, to_day: Any) -> Any:
        days = (to_month - month) * 32 + to_day - day
        return np.sign(days) * (np.abs(days) // 32 // unit)

    return compute


def _later(call: Call, _: pl.Expr, number: pl.Expr, ts: pl.Expr) -> Compiled:
    unit = _unit(call)
    reason = "the result doesn't fit into a TIMESTAMP"
    if unit in _MICROS:
        wide = calendar.micros(ts).cast(pl.Int128) + number.cast(pl.Int128) * pl.lit(_MICROS[unit], dtype=pl.Int128)
        low, high = RANGES[BIGINT]
        return Compiled(
            wide.cast(BIGINT, strict=False).cast(TIMESTAMP), (Failure(~wide.is_between(low, high), reason),)
        )

    def compute(month: Any, day: Any, clock: Any, number: Any) -> Any:
        total = month + np.clip(number, -10_000_000, 10_000_000) * _MONTHS[unit]
        year, month = total // 12, total % 12 + 1
        days, _ = calendar.days_from_civil(year, month, np.minimum(day, calendar.month_length(year, month)))
        return days * calendar.DAY + clock, np.abs(days) < RANGES[BIGINT][1] // calendar.DAY

    made = elementwise(compute, BIGINT, *_civil(calendar.date_of(ts)), _clock(ts), number).cast(TIMESTAMP)
    return Compiled(made, (Failure(made.is_null() & ts.is_not_null() & number.is_not_null(), reason),))


def _on_spark(call: Call, args: tuple[str, ...]) -> str:
    return f"{call.function}({_unit(call)}, {args[1]}, {args[2]})"


BETWEEN: Final = _bind("timestampdiff", "timestampdiff", TIMESTAMP, BIGINT)
LATER: Final = _bind("timestampadd", "timestampadd", BIGINT, TIMESTAMP)

FUNCTIONS: Final = (
    Function(
        "timestampdiff", "timestampdiff(unit, start, end) -> BIGINT",
        "Whole units, such as MONTH or HOUR, from start to end; negative if end is before it.",
        "timestampdiff(MONTH, DATE '2024-01-31', DATE '2024-03-30') = 1", BETWEEN, strict(_between), _on_spark,
    ),
    Function(
        "timestampadd", "timestampadd(unit, number, timestamp) -> TIMESTAMP",
        "So many units, such as MONTH or HOUR, later; at most the month's last day.",
        "timestampadd(MONTH, 1, TIMESTAMP '2024-01-31 10:00:00') = '2024-02-29 10:00:00'", LATER, strict(_later), _on_spark,
    ),
)  # fmt: skip
