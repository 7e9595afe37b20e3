"""DECIMAL(p, s) as CAST makes it of other types, what CAST makes of it, and its sums, differences and products.

All is rounded HALF_UP, as Spark rounds: halves away from zero. Polars rounds them to the even neighbour, and a DOUBLE by its
binary value, where Spark takes the decimal number that is shown: so units (the number times 10^s) are computed here, in 128 bits.
"""

from __future__ import annotations

import functools
import unicodedata
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Final

import numpy as np
import polars as pl

from jupyter_stream.functions.elementwise import calling, stepwise
from jupyter_stream.functions.types import BIGINT, DOUBLE, MOST_DIGITS, STRING

_INT128: Final = pl.Int128()
_BLANKS: Final = "".join(map(chr, range(0x21)))
_NUMBER: Final = r"^(?<sign>[+-]?)(?<whole>[0-9]*)(?:\.(?<rest>[0-9]*))?(?:[eE](?<e>[+-]?[0-9]+))?$"
_EXACT_POWERS: Final = 22
"""Powers of ten that a DOUBLE holds exactly."""
_SURE_BELOW: Final = 2.0**45
"""Units of a DOUBLE below this have a fraction precise enough to tell nearly all from a half."""
_EXACT_DIGITS: Final = 15
"""Digits of a number whose units a DOUBLE holds exactly."""


def from_double(value: pl.Expr, dtype: pl.Decimal) -> pl.Expr:
    """A DOUBLE's shortest decimal number, rounded; NULL where it is beyond the range, infinite or NaN."""
    return stepwise(lambda values: _decimal(_units_of_doubles(values, dtype), dtype), dtype, value)


def from_text(value: pl.Expr, dtype: pl.Decimal) -> pl.Expr:
    """The number a text says (`12.345`, `1e3`), rounded; NULL where it says none or is beyond the range."""
    return stepwise(lambda texts: _of_texts(texts, dtype), dtype, value)


def from_decimal(value: pl.Expr, source: pl.Decimal, dtype: pl.Decimal) -> pl.Expr:
    """The number with other digits, rounded; NULL where it is beyond the range."""
    if dtype.scale >= source.scale:
        return value.cast(dtype, strict=False)
    return stepwise(lambda values: _decimal(_fewer_digits(values, source.scale - dtype.scale), dtype), dtype, value)


def from_integer(value: pl.Expr, dtype: pl.Decimal) -> pl.Expr:
    """The number; NULL where it is beyond the range."""
    return value.cast(BIGINT).cast(dtype, strict=False)


def to_fraction(value: pl.Expr, source: pl.Decimal, dtype: pl.DataType) -> pl.Expr:
    """The nearest DOUBLE or FLOAT."""
    if source.precision <= _EXACT_DIGITS and dtype == DOUBLE:
        return value.cast(DOUBLE)
    return value.cast(STRING).cast(dtype, strict=False)


def to_micros(value: pl.Expr, source: pl.Decimal) -> pl.Expr:
    """The number of seconds as microseconds, cut off towards zero; NULL where they are beyond BIGINT.

    Args:
        value: of at most 30 digits: their product with a million has at most 38.
        source: its type.
    """
    scale = source.scale

    def micros(values: pl.Series) -> pl.Series:
        units = values.to_physical().cast(_INT128)
        if scale <= 6:
            return (units * _power(6 - scale)).cast(BIGINT, strict=False)
        size = _size(units) // _power(scale - 6)
        return _signed(size, units < 0).cast(BIGINT, strict=False)

    return stepwise(micros, BIGINT, value)


def result_of(name: str, a: pl.Decimal, b: pl.Decimal) -> pl.Decimal | None:
    """The type of a sum, a difference or a product, which holds all there can be; None where that has too many digits."""
    if name == "*":
        digits, scale = a.precision + b.precision + 1, a.scale + b.scale
    else:
        scale = max(a.scale, b.scale)
        digits = max(a.precision - a.scale, b.precision - b.scale) + scale + 1
    return pl.Decimal(digits, scale) if digits <= MOST_DIGITS else None


def computed(name: str, one: pl.Expr, other: pl.Expr, dtype: pl.Decimal) -> pl.Expr:
    """The sum, difference or product of two DECIMALs, of the type that `result_of` gives: exact."""

    def units(columns: Sequence[pl.Series]) -> pl.Series:
        scales = [c.dtype.scale for c in columns]  # type: ignore[attr-defined]  # all are DECIMALs
        a, b = (c.to_physical().cast(_INT128) for c in columns)
        if name == "*":
            return _decimal(a * b, dtype).alias(columns[0].name)
        a, b = (u * _power(dtype.scale - scale) for u, scale in zip((a, b), scales, strict=True))
        return _decimal(a + b if name == "+" else a - b, dtype).alias(columns[0].name)

    return calling((one, other), units, dtype)


def _power(exponent: int) -> pl.Series:
    return pl.Series([10**exponent], dtype=_INT128)


def _size(units: pl.Series) -> pl.Series:
    return _signed(units, units < 0)


def _signed(size: pl.Series, negative: pl.Series) -> pl.Series:
    return (size * pl.Series([-1], dtype=_INT128)).zip_with(negative.fill_null(False), size)


def _decimal(units: pl.Series, dtype: pl.Decimal) -> pl.Series:
    """The units as a DECIMAL; NULL for those of more digits than it has."""
    if not dtype.scale:
        return units.cast(dtype, strict=False)
    whole = units.cast(pl.Decimal(MOST_DIGITS, 0), strict=False)
    unit = pl.lit(Decimal(1).scaleb(-dtype.scale), dtype=pl.Decimal(MOST_DIGITS, dtype.scale))
    made = whole.to_frame("units").select(pl.col("units") * unit)
    return made.to_series().cast(dtype, strict=False).alias(units.name)


def _fewer_digits(values: pl.Series, digits: int) -> pl.Series:
    """The units of numbers that lose digits behind the point."""
    units, power = values.to_physical().cast(_INT128), _power(digits)
    size = _size(units)
    below, rest = size // power, size % power
    return _signed(below + (rest >= _power(digits) // 2).cast(_INT128), units < 0)


def _units_of_doubles(values: pl.Series, dtype: pl.Decimal) -> pl.Series:
    if dtype.scale > _EXACT_POWERS:
        return _units_of_texts(values.cast(STRING), dtype)
    numbers = values.fill_null(0.0).to_numpy()
    with np.errstate(all="ignore"):
        scaled = np.abs(numbers) * 10.0**dtype.scale
        below = np.floor(scaled)
        # The shortest decimal number and the product differ by less than scaled / 2^52: farther from a half both round alike.
        sure = (scaled < _SURE_BELOW) & (np.abs(scaled - below - 0.5) > scaled * 2.0**-51)
        size: Any = np.where(sure, np.floor(scaled + 0.5), 0).astype(np.int64)
    units = pl.Series(values.name, np.where(numbers < 0, -size, size)).cast(_INT128)
    unsure = (~sure).nonzero()[0]
    if len(unsure):
        units = units.scatter(unsure, _units_of_texts(values.gather(unsure).cast(STRING), dtype))
    return units.set(values.is_null(), None) if values.null_count() else units


def _of_texts(text: pl.Series, dtype: pl.Decimal) -> pl.Series:
    """Plain numbers that need no rounding are read by Polars, the others by their digits, which takes ten times as long."""
    fraction = rf"(?:\.[0-9]{{1,{dtype.scale}}})?" if dtype.scale else ""
    usual = text.str.contains(rf"^-?[0-9]{{1,{max(1, dtype.precision - dtype.scale)}}}{fraction}$")
    made = text.set(~usual, None).cast(dtype, strict=False)
    rest = (~usual).fill_null(False).arg_true()
    if len(rest):
        made = made.scatter(rest, _decimal(_units_of_texts(text.gather(rest), dtype), dtype))
    return made


@functools.cache
def _digits_of_other_scripts() -> dict[str, str]:
    """Each digit that Java takes for one, and which it is."""
    odd = map(chr, range(0x80, 0x10000))
    return {c: f"{unicodedata.decimal(c)}" for c in odd if unicodedata.decimal(c, None) is not None}


def _units_of_texts(text: pl.Series, dtype: pl.Decimal) -> pl.Series:
    c = pl.col
    if text.str.contains(r"[^\x00-\x7F]").any():
        text = text.str.replace_many(_digits_of_other_scripts())
    part = text.str.strip_chars(_BLANKS).str.extract_groups(_NUMBER).struct.unnest()
    part = part.with_columns(c("whole").fill_null(""), c("rest").fill_null(""), missing=c("whole").is_null())
    exponent = pl.when(c("e").is_null()).then(0).otherwise(c("e").cast(pl.Int32, strict=False)).cast(BIGINT)
    part = part.with_columns(
        digits=(c("whole") + c("rest")).str.strip_chars_start("0"),
        missing=c("missing") | (c("whole") + c("rest") == "") | exponent.is_null(),
        exponent=exponent,
    )
    # The number is 0.digits times ten to this power; so many of its digits are before the point of its units.
    power = c("exponent") + c("digits").str.len_chars().cast(BIGINT) - c("rest").str.len_chars().cast(BIGINT)
    part = part.with_columns(count=power + dtype.scale, zero=c("digits") == "")
    count = c("count").clip(0, MOST_DIGITS)
    kept = c("digits").str.head(count).str.pad_end(count, "0").cast(_INT128, strict=False).fill_null(0)
    up = ((c("count") >= 0) & (c("digits").str.slice(count, 1) >= "5")).cast(_INT128)
    size = pl.when(c("zero")).then(0).when(c("count") <= dtype.precision).then(kept + up)
    units = pl.when(~c("missing")).then(size * pl.when(c("sign") == "-").then(-1).otherwise(1).cast(_INT128))
    return part.select(units.cast(_INT128)).to_series().alias(text.name)
