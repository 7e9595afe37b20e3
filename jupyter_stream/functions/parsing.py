"""Numbers, dates and timestamps out of text, as CAST reads them. Patterns given by a query are in `formats`.

The usual spellings (`2024-02-29`, `2024-02-29 12:34:56.789`, with `T` or a final `Z`) are read from their bytes, the others
part by part with a regular expression, which takes ten times as long.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import polars as pl

from jupyter_stream.core.schema import TIMESTAMP
from jupyter_stream.functions import calendar
from jupyter_stream.functions.elementwise import stepwise
from jupyter_stream.functions.types import BIGINT, DATE, is_integral

BLANKS: Final = "".join(map(chr, range(0x21))) + "\x7f"
"""What Spark drops around a string that is to become a number or a time."""

_NUMBER: Final = r"^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[dDfF]?$"
_DATE: Final = r"([+-]?[0-9]{4,7})(?:-([0-9]{1,2})(?:-([0-9]{1,2})"
_ANY_DATE: Final = rf"(?s)^{_DATE}(?:[ T].*)?)?)?$"
_ZONE: Final = r"(Z|UTC|GMT|UT|(?:UTC|GMT|UT)?[+-][0-9]{1,2}(?::?[0-9]{2}(?::?[0-9]{2})?)?)?"
_CLOCK: Final = rf"([0-9]{{1,2}})(?::([0-9]{{1,2}})(?::([0-9]{{1,2}})(?:\.([0-9]*))? ?{_ZONE})?)?"
_ANY_TIMESTAMP: Final = rf"^{_DATE}(?:[ T]{_CLOCK})?)?)?$"

_USUAL_DATE: Final = "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
_USUAL_TIMESTAMP: Final = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?Z?$"


def parsed(text: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    """The number, date or timestamp a string says, else NULL."""
    return stepwise(lambda series: _parsed(series, dtype), dtype, text)


def _parsed(text: pl.Series, dtype: pl.DataType) -> pl.Series:
    usual, unusual = _READERS.get(dtype, (_numbers, _any_numbers))
    made = usual(text, dtype)
    rest = (made.is_null() & text.is_not_null()).arg_true()
    if len(rest):
        made.scatter(rest, unusual(text.gather(rest).str.strip_chars(BLANKS), dtype))
    return made


def _numbers(text: pl.Series, dtype: pl.DataType) -> pl.Series:
    made = text.cast(dtype, strict=False)  # takes less than Spark does and, but for +nan, nothing else
    return made if is_integral(dtype) else made.set(made.is_nan(), None)


def _any_numbers(text: pl.Series, dtype: pl.DataType) -> pl.Series:
    if is_integral(dtype):
        return text.cast(dtype, strict=False)
    number = pl.when(text.str.contains(_NUMBER)).then(text.str.replace("[dDfF]$", "").cast(dtype, strict=False))
    word = text.str.to_lowercase()
    infinite = pl.when(word.is_in(("inf", "+inf", "infinity", "+infinity"))).then(float("inf"))
    below = infinite.when(word.is_in(("-inf", "-infinity"))).then(float("-inf"))
    special = below.when((word == "nan") | text.is_in(("+NaN", "-NaN"))).then(float("nan"))
    return pl.select(pl.coalesce(number, special.cast(dtype))).to_series()


def _dates(text: pl.Series, dtype: pl.DataType) -> pl.Series:
    usual = text.str.contains(_USUAL_DATE).fill_null(False)
    days = calendar.days_from_civil(*_civil(_bytes(text.filter(usual), 10)))
    return _spread(usual, *days).cast(pl.Int32, strict=False).cast(dtype)


def _any_dates(text: pl.Series, dtype: pl.DataType) -> pl.Series:
    part = text.str.extract_groups(_ANY_DATE).struct.unnest()
    numbers = part.select(number("1", None), number("2", 1), number("3", 1))
    return numbers.select(calendar.date_or_null(calendar.days(pl.col("1"), pl.col("2"), pl.col("3")))).to_series()


def _timestamps(text: pl.Series, dtype: pl.DataType) -> pl.Series:
    usual = text.str.contains(_USUAL_TIMESTAMP).fill_null(False)
    data = _bytes(text.filter(usual).str.strip_suffix("Z").str.pad_end(26, "0"), 26)
    days, valid = calendar.days_from_civil(*_civil(data))
    hour, minute, second = (_digits(data, at, 2) for at in (11, 14, 17))
    micros = days * calendar.DAY + (hour * 3600 + minute * 60 + second) * calendar.SECOND + _digits(data, 20, 6)
    return _spread(usual, micros, valid & (hour < 24) & (minute < 60) & (second < 60)).cast(dtype)


def _any_timestamps(text: pl.Series, dtype: pl.DataType) -> pl.Series:
    part = text.str.extract_groups(_ANY_TIMESTAMP).struct.unnest()
    made = part.select(
        number("1", None), number("2", 1), number("3", 1), number("4", 0), number("5", 0), number("6", 0),
        fraction=number("7", 0, pl.col("7").str.head(6).str.pad_end(6, "0")),
        zone=offset(pl.col("8")),
    ).with_columns(
        days=calendar.days(pl.col("1"), pl.col("2"), pl.col("3")),
        seconds=pl.col("4") * 3600 + pl.col("5") * 60 + pl.col("6") - pl.col("zone"),
    )  # fmt: skip
    clock = (pl.col("4") < 24) & (pl.col("5") < 60) & (pl.col("6") < 60)
    whole = calendar.timestamp(pl.col("days"), pl.col("seconds"), pl.col("fraction"))
    return made.select(pl.when(clock).then(whole)).to_series()


def _spread(usual: pl.Series, value: Any, valid: Any) -> pl.Series:
    """Values of the usual texts, where valid, each at its place among NULLs."""
    found = pl.Series(value, dtype=BIGINT).zip_with(pl.Series(valid, dtype=pl.Boolean), pl.Series([None], dtype=BIGINT))
    if usual.all():
        return found
    spread = pl.repeat(None, len(usual), dtype=BIGINT, eager=True)
    spread.scatter(usual.arg_true(), found)
    return spread


_READERS: Final[dict[pl.DataType, tuple[Callable[[pl.Series, pl.DataType], pl.Series], ...]]] = {
    DATE: (_dates, _any_dates),
    TIMESTAMP: (_timestamps, _any_timestamps),
}
"""How the usual spellings of a type are read, and how the others."""


def _bytes(text: pl.Series, width: int) -> Any:
    """ASCII texts of one width as an array of digits' values, a row each."""
    packed = "".join(text.to_list()).encode() if len(text) < 8 else text.str.join("").item().encode()
    return (np.frombuffer(packed, dtype=np.uint8) - ord("0")).reshape(-1, width)


def _digits(data: Any, at: int, width: int) -> Any:
    value = np.zeros(len(data), dtype=np.int64)
    for k in range(at, at + width):
        value = value * 10 + data[:, k]
    return value


def _civil(data: Any) -> tuple[Any, Any, Any]:
    return _digits(data, 0, 4), _digits(data, 5, 2), _digits(data, 8, 2)


def number(name: str, default: int | None, text: pl.Expr | None = None) -> pl.Expr:
    """A column of digits as a number; `default` where there are none."""
    made = (pl.col(name) if text is None else text).cast(BIGINT, strict=False)
    return made if default is None else made.fill_null(default)


def offset(zone: pl.Expr) -> pl.Expr:
    """Seconds east of UTC that `+05:30`, `Z` and the like say; 0 of NULL, NULL of what no zone has."""
    return stepwise(_offset, BIGINT, zone)


def _offset(zone: pl.Series) -> pl.Series:
    if not zone.str.contains("[+-]").any():
        return pl.Series(zone.name, np.zeros(len(zone), dtype=np.int64))
    part = zone.str.extract_groups(r"([+-])([0-9]{1,2}):?([0-9]{2})?:?([0-9]{2})?$").struct.unnest()
    made = part.select("1", number("2", 0), number("3", 0), number("4", 0))
    made = made.with_columns(size=pl.col("2") * 3600 + pl.col("3") * 60 + pl.col("4"))
    allowed = (pl.col("3") < 60) & (pl.col("4") < 60) & (pl.col("size") <= 18 * 3600)
    signed = pl.when(pl.col("1") == "-").then(-pl.col("size")).otherwise(pl.col("size"))
    return made.select(pl.when(allowed).then(signed)).to_series()
