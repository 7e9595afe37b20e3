"""CAST and TRY_CAST: how each type becomes each other. Which casts are allowed is said in `types`.

Strings are read as Spark reads them: blanks and control characters around are dropped; a date is `y-m-d`, a timestamp
`y-m-d h:m:s.f` with an optional zone (`Z`, `UTC`, `GMT`, `+hh:mm`; named zones are not read), each part but the year
optional from the right.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Final

import polars as pl

from jupyter_stream.core.schema import INTERVAL, TIMESTAMP, type_name
from jupyter_stream.functions import calendar, decimals, parsing, types
from jupyter_stream.functions.elementwise import divided, stepwise
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
            if isinstance(dtype, pl.Decimal) and abs(expr.value) < 10 ** (dtype.precision - dtype.scale):
                return Literal(Decimal(expr.value), dtype)
    own = source if isinstance(source, pl.Decimal) else types.admitted(source)
    if own != source:
        return cast(Call("cast", (expr,), own), dtype, try_)
    if not types.castable(source, dtype):
        raise BadArguments(f"{type_name(source)} can't be cast to {type_name(dtype)}")
    between = _between(source, dtype)
    if between is not None:
        return cast(cast(expr, between, try_), dtype, try_)
    return Call("try_cast" if try_ else "cast", (expr,), dtype)


_OF_SECONDS: Final = (30, 16)
"""Digits of a DECIMAL, and those behind the point, that every TIMESTAMP's seconds have room in, and a million times them too."""


def _between(source: pl.DataType, target: pl.DataType) -> pl.DataType | None:
    """The type by way of which one becomes the other, None if none is needed."""
    if source == TIMESTAMP and isinstance(target, pl.Decimal):
        return DOUBLE
    if target == TIMESTAMP and isinstance(source, pl.Decimal) and source.precision > _OF_SECONDS[0]:
        return pl.Decimal(_OF_SECONDS[0], min(source.scale, _OF_SECONDS[1]))
    return None


def coerce(expr: Expr, dtype: pl.DataType) -> Expr | None:
    """The expression where `dtype` is wanted, None if its type can't stand there."""
    if expr.dtype == dtype:
        return expr
    source = types.admitted(expr.dtype)
    return cast(expr, dtype) if types.implicitly(source, dtype) else None


def _convert(call: Call, value: pl.Expr) -> Compiled:
    source, target = call.args[0].dtype, call.dtype
    reason = f"the value can't be cast to {type_name(target)}"
    if source == VOID:
        return Compiled(pl.lit(None, dtype=target))
    if isinstance(source, pl.Decimal):
        return _from_decimal(value, source, target, reason)
    if isinstance(target, pl.Decimal):
        made = _to_decimal(value, source, target)
        if source in (FLOAT, DOUBLE):  # of infinity and NaN Spark makes NULL
            return Compiled(made, (Failure(made.is_null() & value.is_finite(), reason),))
    elif source == STRING:
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


def _to_decimal(value: pl.Expr, source: pl.DataType, target: pl.Decimal) -> pl.Expr:
    if source == STRING:
        return decimals.from_text(value, target)
    if source in (FLOAT, DOUBLE):
        return decimals.from_double(value.cast(DOUBLE), target)
    return decimals.from_integer(value, target)


def _from_decimal(value: pl.Expr, source: pl.Decimal, target: pl.DataType, reason: str) -> Compiled:
    if target == STRING:
        return Compiled(value.cast(STRING))
    if target == BOOLEAN:
        return Compiled(value != pl.lit(Decimal(0), dtype=source))
    if target in (FLOAT, DOUBLE):
        return Compiled(decimals.to_fraction(value, source, target))
    if target == TIMESTAMP:
        made = decimals.to_micros(value, source).cast(TIMESTAMP)
    elif isinstance(target, pl.Decimal):
        made = decimals.from_decimal(value, source, target)
    else:
        made = value.cast(target, strict=False)
    return Compiled(made, (Failure(made.is_null() & value.is_not_null(), reason),))


def _on_spark(call: Call, args: tuple[str, ...]) -> str:
    source, target = call.args[0].dtype, call.dtype
    form = "TRY_CAST" if call.function == "try_cast" else "CAST"
    if isinstance(source, pl.Decimal) and target == TIMESTAMP:  # its own cast wraps around beyond BIGINT
        return f"timestamp_micros({form}({args[0]} * 1000000 AS BIGINT))"
    return f"{form}({args[0]} AS {types.spark_name(target)})"


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
    if target == BINARY:
        return text.cast(BINARY)
    if target == BOOLEAN:
        word = text.str.strip_chars(parsing.BLANKS).str.to_lowercase()
        return pl.when(word.is_in(_TRUE)).then(True).when(word.is_in(_FALSE)).then(False)
    return parsing.parsed(text, target)


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
    return stepwise(_show_fraction, STRING, value) if source in (FLOAT, DOUBLE) else value.cast(STRING)


def _show_fraction(value: pl.Series) -> pl.Series:
    """As Java shows it: `1.0E10`, `1.0E-5`, `Infinity`, and plain digits from 0.001 up to 10 million.

    The digits are the fewest that tell the number from its neighbours; Java before 19 sometimes has more.
    """
    c, size = pl.col, pl.col("value").abs()
    part = value.cast(STRING).str.extract_groups(r"^(?<sign>-?)(?<whole>[0-9]+)(?:\.(?<rest>[0-9]+))?(?:e(?<e>.*))?$")
    frame = part.struct.unnest().fill_null("").with_columns(value.alias("value"), digits=c("whole") + c("rest"))
    frame = frame.with_columns(c("digits").str.strip_chars_start("0"))
    exponent = c("e").cast(BIGINT, strict=False).fill_null(0)
    # The value is 0.digits times ten to this power.
    power = exponent + c("digits").str.len_chars().cast(BIGINT) - c("rest").str.len_chars().cast(BIGINT)
    frame = frame.with_columns(c("digits").str.strip_chars_end("0"), power=power)
    frame = frame.with_columns(point=c("power").clip(0, 7), zeros=pl.lit("00").str.head((-c("power")).clip(0, 2)))
    frame = frame.with_columns(
        before=c("digits").str.head(c("point")).str.pad_end(c("point"), "0"),
        after=c("zeros") + c("digits").str.slice(c("point")),
    )
    scientific = (c("digits").str.head(1), pl.lit("."), _or_zero(c("digits").str.slice(1)), pl.lit("E"), c("power") - 1)
    return frame.select(
        pl.when(c("value").is_null())
        .then(None)
        .when(c("value").is_nan())
        .then(pl.lit("NaN"))
        .when(c("value").is_infinite())
        .then(pl.when(c("value") > 0).then(pl.lit("Infinity")).otherwise(pl.lit("-Infinity")))
        .when((size == 0) | ((size >= 1e-3) & (size < 1e7)))
        .then(pl.concat_str([c("sign"), _or_zero(c("before")), pl.lit("."), _or_zero(c("after"))]))
        .otherwise(pl.concat_str([c("sign"), *scientific]))
    ).to_series()


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
        _only_with_type, strict(_convert), _on_spark,
    ),
    Function(
        "try_cast", "try_cast(value AS type) -> type", "The value as another type, NULL where it can't be cast.",
        "try_cast('x' AS INT) = NULL", _only_with_type, _tried, _on_spark,
    ),
)  # fmt: skip
