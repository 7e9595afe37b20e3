"""CAST and TRY_CAST: how each type becomes each other. Which casts are allowed is said in `types`.

Strings are read as Spark reads them: blanks and control characters around are dropped; a date is `y-m-d`, a timestamp
`y-m-d h:m:s.f` with an optional zone (`Z`, `UTC`, `GMT`, `+hh:mm`; named zones are not read), each part but the year
optional from the right.
"""

from __future__ import annotations

from typing import Final

import polars as pl

from jupyter_stream.core.schema import INTERVAL, TIMESTAMP, type_name
from jupyter_stream.functions import calendar, types
from jupyter_stream.functions.elementwise import divided
from jupyter_stream.functions.expression import Call, Expr, Literal
from jupyter_stream.functions.function import BadArguments, Compiled, Failure, Function, strict
from jupyter_stream.functions.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    RANGES,
    STRING,
    VOID,
    is_integral,
    is_numeric,
)

BLANKS: Final = "".join(map(chr, range(0x21))) + "\x7f"
"""What Spark drops around a string that is to become a number or a time."""

_NUMBER: Final = r"^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[dDfF]?$"
_TRUE: Final = ("t", "true", "y", "yes", "1")
_FALSE: Final = ("f", "false", "n", "no", "0")


def cast(expr: Expr, dtype: pl.DataType, try_: bool = False) -> Expr:
    """The expression as another type. Rows that can't be cast fail, or are NULL with `try_`.

    Raises:
        BadArguments: if no value of its type can be cast to that type.
    """
    source = expr.dtype
    if source == dtype:
        return expr
    if isinstance(expr, Literal):
        if expr.value is None and types.castable(source, dtype):
            return Literal(None, dtype)
        # Not folding but typing: an integer literal is written the same in every wider type.
        if isinstance(expr.value, int) and is_integral(source):
            if is_integral(dtype) and RANGES[dtype][0] <= expr.value <= RANGES[dtype][1]:
                return Literal(expr.value, dtype)
            if dtype == DOUBLE and abs(expr.value) <= 2**53:
                return Literal(float(expr.value), dtype)
    own = types.admitted(source)
    if own != source:
        return cast(Call("cast", (expr,), own), dtype, try_)
    if not types.castable(source, dtype):
        raise BadArguments(f"{type_name(source)} can't be cast to {type_name(dtype)}")
    return Call("try_cast" if try_ else "cast", (expr,), dtype)


def coerce(expr: Expr, dtype: pl.DataType) -> Expr | None:
    """The expression where `dtype` is wanted, None if its type can't stand there."""
    source = types.admitted(expr.dtype)
    return cast(expr, dtype) if types.implicitly(source, dtype) else None


def _convert(call: Call, value: pl.Expr) -> Compiled:
    source, target = call.args[0].dtype, call.dtype
    reason = f"the value can't be cast to {type_name(target)}"
    if source == VOID:
        return Compiled(pl.lit(None, dtype=target))
    if source == STRING:
        made = _from_string(value, target)
    elif target == STRING:
        return Compiled(_to_string(value, source))
    elif source == BOOLEAN or (is_integral(source) and is_numeric(target) and _widens(source, target)):
        return Compiled(value.cast(target))
    elif target == BOOLEAN:
        return Compiled(value != 0)
    elif target == TIMESTAMP and is_numeric(source):
        if is_integral(source):
            return Compiled(calendar.from_seconds(value.cast(BIGINT)))
        micros = value.cast(DOUBLE) * 1e6
        return Compiled(saturated(micros).cast(TIMESTAMP), (Failure(outside(micros), reason),))
    elif source == TIMESTAMP and is_numeric(target):
        if not is_integral(target):
            return Compiled(divided(value.cast(BIGINT).cast(DOUBLE), 1e6).cast(target))
        made = (value.cast(BIGINT) // 10**6).cast(target, strict=False)
    elif is_integral(target) and source in (FLOAT, DOUBLE):
        if target == BIGINT:
            return Compiled(saturated(value.cast(DOUBLE)), (Failure(outside(value), reason),))
        made = value.cast(target, strict=False)
    elif source == TIMESTAMP and target == DATE:
        return Compiled(calendar.days_of(value).cast(DATE))
    else:  # narrowing integers, DATE to TIMESTAMP, between FLOAT and DOUBLE, and types no query computes with
        made = value.cast(target, strict=False)
        if is_numeric(source) and not is_integral(source):
            return Compiled(made)
    return Compiled(made, (Failure(made.is_null() & value.is_not_null(), reason),))


def _widens(source: pl.DataType, target: pl.DataType) -> bool:
    return types.NUMERIC.index(source) <= types.NUMERIC.index(target)


def outside(value: pl.Expr) -> pl.Expr:
    """Whether a DOUBLE has no BIGINT: it is beyond the range, or NaN."""
    # 2^63 itself is let through and becomes 2^63 - 1, as in Java.
    return (value > 2.0**63) | (value < -(2.0**63)) | value.is_nan()


def saturated(value: pl.Expr) -> pl.Expr:
    """A DOUBLE as BIGINT; what is beyond becomes the least or greatest, as in Java. NaN is NULL."""
    low, high = RANGES[BIGINT]
    kept = pl.when(value >= 2.0**63).then(pl.lit(high)).when(value <= -(2.0**63)).then(pl.lit(low))
    return kept.otherwise(value.cast(BIGINT, strict=False))


def _from_string(text: pl.Expr, target: pl.DataType) -> pl.Expr:
    trimmed = text.str.strip_chars(BLANKS)
    if target == BINARY:
        return text.cast(BINARY)
    if target == DATE:
        return calendar.parse_date(trimmed)
    if target == TIMESTAMP:
        return calendar.parse_timestamp(trimmed)
    if is_integral(target):
        return trimmed.cast(target, strict=False)
    if target == BOOLEAN:
        lower = trimmed.str.to_lowercase()
        return pl.when(lower.is_in(_TRUE)).then(True).when(lower.is_in(_FALSE)).then(False)
    lower = trimmed.str.to_lowercase()
    digits = trimmed.str.strip_suffix("d").str.strip_suffix("D").str.strip_suffix("f").str.strip_suffix("F")
    number = pl.when(trimmed.str.contains(_NUMBER)).then(digits.cast(target, strict=False))
    infinite = lower.str.strip_chars_start("+-").is_in(("inf", "infinity")) & ~lower.str.contains(r"^[+-]{2}")
    sign = pl.when(lower.str.starts_with("-")).then(float("-inf")).otherwise(float("inf"))
    special = pl.when(infinite).then(sign).when(lower == "nan").then(float("nan"))
    return pl.coalesce(number, special.cast(target))


def _to_string(value: pl.Expr, source: pl.DataType) -> pl.Expr:
    if source == BOOLEAN:
        return pl.when(value).then(pl.lit("true")).when(value.is_not_null()).then(pl.lit("false"))
    if source == DATE:
        return calendar.show_date(value)
    if source == TIMESTAMP:
        return calendar.show_timestamp(value)
    if source == INTERVAL:
        return calendar.show_interval(value)
    if source == BINARY:
        return value.cast(STRING, strict=False)
    return _show_fraction(value) if source in (FLOAT, DOUBLE) else value.cast(STRING)


def _show_fraction(value: pl.Expr) -> pl.Expr:
    """As Java shows it: `1.0E10`, `1.0E-5`, `Infinity`, and plain digits from 0.001 up to 10 million.

    The digits are the fewest that tell the number from its neighbours; Java before 19 sometimes has more.
    """
    part = value.cast(STRING).str.extract_groups(r"^(-?)([0-9]+)(?:\.([0-9]+))?(?:e([+-]?[0-9]+))?$").struct
    sign, whole, fraction = (part.field(str(i)).fill_null("") for i in (1, 2, 3))
    exponent = part.field("4").cast(BIGINT, strict=False).fill_null(0)
    digits = (whole + fraction).str.strip_chars_start("0")
    # The value is 0.digits times ten to this power.
    power = exponent + digits.str.len_chars().cast(BIGINT) - fraction.str.len_chars().cast(BIGINT)
    digits = digits.str.strip_chars_end("0")
    point = power.clip(0, 7)
    before = digits.str.head(point).str.pad_end(point, "0")
    after = pl.concat_str([pl.lit("0").repeat_by((-power).clip(0, 2)).list.join(""), digits.str.slice(point)])
    scientific = [digits.str.head(1), pl.lit("."), _or_zero(digits.str.slice(1)), pl.lit("E"), (power - 1).cast(STRING)]
    size = value.abs()
    return (
        pl.when(value.is_null())
        .then(None)
        .when(value.is_nan())
        .then(pl.lit("NaN"))
        .when(value.is_infinite())
        .then(pl.when(value > 0).then(pl.lit("Infinity")).otherwise(pl.lit("-Infinity")))
        .when((value == 0) | ((size >= 1e-3) & (size < 1e7)))
        .then(pl.concat_str([sign, _or_zero(before), pl.lit("."), _or_zero(after)]))
        .otherwise(pl.concat_str([sign, *scientific]))
    )


def _or_zero(digits: pl.Expr) -> pl.Expr:
    return pl.when(digits == "").then(pl.lit("0")).otherwise(digits)


def _tried(call: Call, parts: tuple[Compiled, ...]) -> Compiled:
    made = _convert(call, parts[0].value)
    value = made.value
    for failure in made.failures:
        value = pl.when(failure.condition).then(None).otherwise(value)
    return Compiled(value, parts[0].failures)


def _only_with_type(args: tuple[Expr, ...]) -> Expr:
    raise BadArguments("write CAST(value AS type)")


FUNCTIONS: Final = (
    Function(
        "cast", "cast(value AS type) -> type",
        "The value as another type; a row that can't be cast is an error of the row.", "cast('12' AS INT) = 12",
        _only_with_type, strict(_convert), lambda call, args: f"CAST({args[0]} AS {types.spark_name(call.dtype)})",
    ),
    Function(
        "try_cast", "try_cast(value AS type) -> type", "The value as another type, NULL where it can't be cast.",
        "try_cast('x' AS INT) = NULL", _only_with_type, _tried, lambda call,
        args: f"TRY_CAST({args[0]} AS {types.spark_name(call.dtype)})",
    ),
)  # fmt: skip
