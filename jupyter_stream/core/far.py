"""Times as text however far out they are: Polars panics where it is to show a year it doesn't know, or to give Python one."""

from __future__ import annotations

from functools import reduce
from operator import and_
from typing import Any, Final

import polars as pl

_DAYS: Final = 95_000_000
"""Days from the epoch up to which Polars can show a date (about 260,000 years)."""
_TIMES: Final = (pl.Datetime, pl.Date)
_OF_PYTHON: Final = (-719_162, 2_932_896)
"""Days from the epoch to the first and the last that Python has: the years 1 to 9999."""
_LONGEST: Final = (-999_999_999, 999_999_998)
"""Whole days of the longest intervals that Python has."""


def _per_day(dtype: pl.DataType) -> int:
    if not isinstance(dtype, pl.Datetime | pl.Duration):
        return 1
    return 86_400 * {"ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}[dtype.time_unit]


def near(series: pl.Series, days: tuple[int, int] = (-_DAYS, _DAYS)) -> pl.Series:
    """Which of a column of times or dates Polars can show; missing ones, too.

    Args:
        series: the column.
        days: from the epoch, between which a time is near.
    """
    scale = _per_day(series.dtype)
    low, high = max(days[0] * scale, -(2**63)), min(days[1] * scale, 2**63 - 1)
    return series.to_physical().is_between(low, high).fill_null(True)


def pythonic(series: pl.Series) -> pl.Series:
    """A column whose values Python has; with numbers in the place of times and intervals if any of them is too far out."""
    return series if _all_near(series, _OF_PYTHON, _LONGEST) else series.cast(_physical(series.dtype, intervals=True))


def shown(series: pl.Series, form: str) -> pl.Series:
    """Times or dates by a format; those too far out as the number they are."""
    fits = near(series)
    if fits.all():
        return series.dt.to_string(form)
    text = series.set(~fits, None).dt.to_string(form)
    return text.zip_with(fits, series.to_physical().cast(pl.String))


def as_json(frame: pl.DataFrame) -> pl.Series:
    """Each row as a JSON object, `raw`; of a row with a time too far out to show, times are the numbers they are."""
    fits = [near(c) for c in frame.get_columns() if isinstance(c.dtype, _TIMES)]
    good = reduce(and_, fits, pl.repeat(True, frame.height, dtype=pl.Boolean, eager=True))
    frame = frame.with_columns(tame(c) for c in frame.get_columns() if c.dtype.is_nested())
    if good.all():
        return _encoded(frame)
    number = pl.int_range(frame.height, dtype=pl.Int64, eager=True)
    bad = frame.filter(~good)
    bad = bad.with_columns(_numbers(c) for c in bad.get_columns() if isinstance(c.dtype, _TIMES))
    raw = pl.concat([_encoded(frame.filter(good)), _encoded(bad)])
    return raw.gather(pl.concat([number.filter(good), number.filter(~good)]).arg_sort())


def tame(series: pl.Series) -> pl.Series:
    """A nested column that can be shown: with numbers in the place of times if any of them is too far out."""
    return series if _all_near(series) else _numbers(series)


def _encoded(frame: pl.DataFrame) -> pl.Series:
    if not frame.height:
        return pl.Series("raw", [], dtype=pl.String)
    if not frame.width:  # of an object without fields; Polars makes no struct of nothing
        return pl.Series("raw", ["{}"] * frame.height)
    frame = frame.with_columns(_without_bytes(c) for c in frame.get_columns() if _holds_bytes(c.dtype))
    return frame.select(pl.struct(pl.all()).struct.json_encode().alias("raw")).get_column("raw")


def _all_near(
    series: pl.Series, days: tuple[int, int] = (-_DAYS, _DAYS), longest: tuple[int, int] | None = None
) -> bool:
    """Whether all times anywhere in a column can be shown, and all intervals are no longer than that."""
    dtype = series.dtype
    if isinstance(dtype, _TIMES):
        return bool(near(series, days).all())
    if isinstance(dtype, pl.Duration):
        return longest is None or bool(near(series, longest).all())
    if isinstance(dtype, pl.Struct):
        return all(_all_near(series.struct.field(f.name), days, longest) for f in dtype.fields)
    if isinstance(dtype, pl.List | pl.Array):
        return _all_near(series.explode(), days, longest)
    return True


def _numbers(series: pl.Series) -> pl.Series:
    """The same with numbers in the place of all times."""
    return series.cast(_physical(series.dtype))


def _physical(dtype: Any, intervals: bool = False) -> pl.DataType:
    if isinstance(dtype, pl.Datetime) or (intervals and isinstance(dtype, pl.Duration)):
        return pl.Int64()
    if isinstance(dtype, pl.Date):
        return pl.Int32()
    if isinstance(dtype, pl.Struct):
        return pl.Struct([pl.Field(f.name, _physical(f.dtype, intervals)) for f in dtype.fields])
    if isinstance(dtype, pl.List):
        return pl.List(_physical(dtype.inner, intervals))
    if isinstance(dtype, pl.Array):
        return pl.Array(_physical(dtype.inner, intervals), dtype.size)
    found: pl.DataType = dtype  # Polars allows classes, which no column has
    return found


__all__ = ["as_json", "near", "pythonic", "shown", "tame"]


def _holds_bytes(dtype: object) -> bool:
    if isinstance(dtype, pl.List | pl.Array):
        return _holds_bytes(dtype.inner)
    if isinstance(dtype, pl.Struct):
        return any(_holds_bytes(f.dtype) for f in dtype.fields)
    return isinstance(dtype, pl.Binary) or dtype is pl.Binary


def _without_bytes(series: pl.Series) -> pl.Series:
    """Bytes in base64, which JSON has no form for; a nested column that holds some as text."""
    if isinstance(series.dtype, pl.Binary):
        return series.bin.encode("base64")
    texts = [None if value is None else str(value) for value in series.to_list()]
    return pl.Series(series.name, texts, dtype=pl.String)
