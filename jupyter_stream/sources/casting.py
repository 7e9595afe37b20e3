"""Casting one column from the type a source has to the type declared, strictly but without giving up at the first bad value.

A value that has no exact counterpart (`'abc'` as INT, 1.5 as INT, 300 as TINYINT) becomes NULL here, so that what is NULL
after and was not before is what failed. Not for casts in queries: those are the function table's.
"""

from __future__ import annotations

import datetime as dt
from typing import Final

import numpy as np
import polars as pl

from jupyter_stream.core.far import as_json
from jupyter_stream.core.instants import parse_instants
from jupyter_stream.core.schema import INTERVAL, TIMESTAMP
from jupyter_stream.core.time import parse_duration
from jupyter_stream.sources.nested import Faults, fitted, instance
from jupyter_stream.sources.utf8 import as_text

TICKS: Final = {"s": 1_000_000, "ms": 1_000, "us": 1, "ns": 0}
"""Values of the option `timestamp_unit`, as microseconds; 0 stands for nanoseconds."""

_TRUE: Final = ("true", "t", "yes", "y", "1")
_FALSE: Final = ("false", "f", "no", "n", "0")
_EXACT: Final = 2.0**63


_DAYS: Final = ((dt.date(1, 1, 1) - dt.date(1970, 1, 1)).days, (dt.date(9999, 12, 31) - dt.date(1970, 1, 1)).days)
_CALENDAR: Final = {pl.Date: _DAYS, pl.Datetime: (_DAYS[0] * 86_400_000_000, (_DAYS[1] + 1) * 86_400_000_000 - 1)}
"""The first and the last day of the years 1 to 9999, and the first and last microsecond; since 1970."""
_NAMED_DAYS: Final = 95_000_000
"""So many days before and after 1970 Polars can write: it panics beyond the year 262,142."""
_UNITS_OF_A_DAY: Final = {"ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}


def stream_type(dtype: pl.DataType) -> pl.DataType:
    """The declared type that suits a column of this type best: one that SQL has a name for."""
    if isinstance(dtype, pl.Datetime):
        return TIMESTAMP
    if isinstance(dtype, pl.Duration):
        return INTERVAL
    if isinstance(dtype, pl.List | pl.Array):
        return pl.List(stream_type(instance(dtype.inner)))
    if isinstance(dtype, pl.Struct):
        return pl.Struct([pl.Field(f.name, stream_type(instance(f.dtype))) for f in dtype.fields])
    if dtype.is_unsigned_integer():
        wider: dict[pl.DataType, pl.DataType] = {pl.UInt8(): pl.Int16(), pl.UInt16(): pl.Int32()}
        return wider.get(dtype, pl.Int64())
    if dtype in (pl.Boolean, pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.Float32, pl.Float64, pl.Binary, pl.Date):
        return dtype
    if isinstance(dtype, pl.Decimal):
        return dtype
    if dtype.is_float():
        return pl.Float32()
    return pl.Int64() if dtype.is_integer() else pl.String()


def castable(source: pl.DataType, target: pl.DataType, tick: int | None = None) -> bool:
    """Whether any value of one type can be one of the other.

    Args:
        source: the type a source has.
        target: the type declared.
        tick: what a number means as a time, one of `TICKS`; None when nobody said.
    """
    if source == target or isinstance(source, pl.Null) or isinstance(target, pl.String):
        return not isinstance(source, pl.Object)
    if isinstance(source, pl.String | pl.Categorical | pl.Enum):
        return True
    if isinstance(target, pl.Datetime):
        return isinstance(source, pl.Datetime | pl.Date) or (tick is not None and source.is_numeric())
    if isinstance(target, pl.Date):
        return isinstance(source, pl.Datetime)
    if isinstance(target, pl.Duration):
        return isinstance(source, pl.Duration)
    if target.is_numeric() or isinstance(target, pl.Boolean):
        return source.is_numeric() or isinstance(source, pl.Boolean)
    if isinstance(target, pl.List):
        return isinstance(source, pl.List | pl.Array)
    return isinstance(target, pl.Struct) and isinstance(source, pl.Struct)


def cast(values: pl.Series, target: pl.DataType, tick: int | None = None) -> pl.Series:
    """The column in the declared type; NULL where a value has no counterpart.

    Args:
        values: a column of a type `castable` says yes to.
        target: the type declared.
        tick: what a number means as a time, one of `TICKS`.
    """
    source = values.dtype
    if source == target:
        return values
    if isinstance(source, pl.Categorical | pl.Enum):
        return cast(values.cast(pl.String), target, tick)
    if isinstance(source, pl.String):
        return _of_calendar(_from_text(values, target, tick))
    if isinstance(source, pl.Binary):
        return cast(as_text(values), target, tick)
    if isinstance(target, pl.String) and isinstance(source, pl.Date | pl.Datetime | pl.Duration):
        return _written(values)
    if isinstance(target, pl.Datetime):
        return _of_calendar(_to_instant(values, tick))
    if isinstance(target, pl.Boolean) and source.is_numeric():
        return (values == 1).set(((values != 0) & (values != 1)).fill_null(False), None)
    if isinstance(source, pl.Boolean) and isinstance(target, pl.Decimal):
        return values.cast(pl.Int8).cast(target, strict=False)
    if target.is_integer() and (source.is_float() or isinstance(source, pl.Decimal)):
        fits = (values == values.floor()) & (values >= -_EXACT) & (values < _EXACT)
        return values.set(~fits.fill_null(False), None).cast(target, strict=False)
    if source.is_nested() or target.is_nested():
        return _nested(values, target, tick)
    return values.cast(target, strict=False)


def _written(values: pl.Series) -> pl.Series:
    """Times and lengths of time as text; of years that Polars has no name for the number that stands for them."""
    source = values.dtype
    if isinstance(source, pl.Duration):
        return values.dt.to_string("iso")
    day = _UNITS_OF_A_DAY[source.time_unit] if isinstance(source, pl.Datetime) else 1
    numbers = values.to_physical()
    most = min(_NAMED_DAYS * day, 2**63 - 1)
    named = numbers.is_between(-most, most)
    if named.all():
        return values.cast(pl.String)
    text = values.set(~named, None).cast(pl.String)
    return text.zip_with(named, numbers.cast(pl.String))


def _of_calendar(values: pl.Series) -> pl.Series:
    """Times and dates of the years 1 to 9999; others are NULL: the calendars of Python, pandas and SQL have none."""
    bounds = _CALENDAR.get(type(values.dtype))
    if bounds is None or not len(values):
        return values
    numbers = values.cast(pl.Int64)
    if _within(numbers, bounds):
        return values
    return values.set(~numbers.is_between(*bounds).fill_null(True), None)


def _within(numbers: pl.Series, bounds: tuple[int, int]) -> bool:
    """Whether integers lie within bounds, all but NULLs."""
    low, high = numbers.min(), numbers.max()
    return low is None or high is None or (bounds[0] <= int(low) and int(high) <= bounds[1])  # type: ignore[arg-type]  # of integers, these are some


def _to_instant(values: pl.Series, tick: int | None) -> pl.Series:
    source = values.dtype
    if isinstance(source, pl.Datetime):
        # Whole units only: from seconds and milliseconds the product may leave int64.
        if source.time_zone is not None:
            values = values.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
        if source.time_unit == "ms":
            return _scaled(values.to_physical(), 1_000)
        return values.cast(TIMESTAMP)
    if isinstance(source, pl.Date):
        return _scaled(values.to_physical(), 86_400_000_000)
    assert tick is not None, "castable() has said so"
    return _scaled(values, tick)


def _scaled(numbers: pl.Series, tick: int) -> pl.Series:
    if not numbers.dtype.is_integer():
        micros = numbers.cast(pl.Float64) * tick if tick else (numbers.cast(pl.Float64) / 1_000).floor()
        fits = micros.is_finite() & (micros >= -_EXACT) & (micros < _EXACT)
        return micros.round().set(~fits.fill_null(False), None).cast(pl.Int64).cast(TIMESTAMP)
    whole = numbers.cast(pl.Int64, strict=False)
    if not tick:
        return (whole // 1_000).cast(TIMESTAMP)
    limit = (2**63 - 1) // tick
    if not _within(whole, (-limit, limit)):
        beyond = (whole > limit) | (whole < -limit)
        whole = whole.set(beyond.fill_null(False), None)
    return (whole * tick).cast(TIMESTAMP)


def _from_text(text: pl.Series, target: pl.DataType, tick: int | None) -> pl.Series:
    if isinstance(target, pl.Datetime):
        return _text_to_instant(text, tick)
    if isinstance(target, pl.Date):
        return parse_instants(text).dt.date()
    if isinstance(target, pl.Boolean):
        word = text.str.strip_chars().str.to_lowercase()
        return (
            pl.select(pl.when(word.is_in(_TRUE)).then(True).when(word.is_in(_FALSE)).then(False).otherwise(None))
            .to_series()
            .alias(text.name)
        )
    if isinstance(target, pl.Duration):
        micros = {word: parse_duration(word) for word in text.drop_nulls().unique()}
        return text.replace_strict(micros, default=None, return_dtype=pl.Int64).cast(INTERVAL)
    if isinstance(target, pl.Binary):
        return text.cast(pl.Binary)
    if target.is_nested():
        return _nested(text, target, tick)
    return _text_to_number(text, target)


def _text_to_instant(text: pl.Series, tick: int | None) -> pl.Series:
    times = parse_instants(text)
    if tick is None or times.null_count() == text.null_count():
        return times
    word = text.str.strip_chars()
    whole = _scaled(word.cast(pl.Int64, strict=False), tick)
    fraction = _scaled(word.cast(pl.Float64, strict=False), tick)
    return pl.select(pl.coalesce(whole, fraction, times)).to_series().alias(text.name)


def _text_to_number(text: pl.Series, target: pl.DataType) -> pl.Series:
    numbers = text.cast(target, strict=False)
    if numbers.null_count() == text.null_count():
        return numbers
    # The rare spellings, for what failed only: spaces around, and 5.0 where a whole number was asked for.
    failed = (numbers.is_null() & text.is_not_null()).arg_true()
    again = text.gather(failed).str.strip_chars()
    second = again.cast(target, strict=False)
    if target.is_integer():
        second = pl.select(pl.coalesce(second, cast(again.cast(pl.Float64, strict=False), target))).to_series()
    return numbers.scatter(failed, second)


def _nested(values: pl.Series, target: pl.DataType, tick: int | None) -> pl.Series:
    if isinstance(target, pl.String):
        return _as_json(values)
    found, faults = cast_by_leaf(values, target, tick)
    if not faults:
        return found
    whole = np.ones(len(values), np.bool_)
    for fault in faults:
        whole[fault.rows] = False
    return pl.select(pl.when(pl.Series(whole)).then(found).otherwise(None).alias(values.name)).to_series()


def cast_by_leaf(values: pl.Series, target: pl.DataType, tick: int | None = None) -> tuple[pl.Series, list[Faults]]:
    """The column in the declared type; NULL in the parts of a value that have no counterpart, and where those are.

    Args:
        values: a column of a type `castable` says yes to.
        target: the type declared.
        tick: what a number means as a time, one of `TICKS`.
    """

    def leaf(part: pl.Series, dtype: pl.DataType) -> pl.Series:
        if not castable(part.dtype, dtype, tick):
            return pl.Series(part.name, [None] * len(part), dtype=dtype)
        return cast(part, dtype, tick)

    return fitted(values, target, leaf)


def _as_json(values: pl.Series) -> pl.Series:
    if isinstance(values.dtype, pl.Struct):
        return as_json(values.struct.unnest()).alias(values.name).set(values.is_null(), None)
    # Polars writes JSON for structs only; the brackets of a one-field struct are cut off again.
    text = as_json(values.to_frame("v")).str.slice(5).str.head(-1)
    return text.set(values.is_null(), None).alias(values.name)
