"""Further functions of numbers: counts of bits, the gamma function, buckets, cutting digits off, remainders of fractions."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
import polars as pl

from jupyter_stream.core.schema import type_name
from jupyter_stream.functions.binding import admit, constant, count, numeric, takes
from jupyter_stream.functions.casts import cast
from jupyter_stream.functions.elementwise import divided, elementwise
from jupyter_stream.functions.expression import Call, Expr, Literal
from jupyter_stream.functions.function import BadArguments, Bind, Compiled, Failure, Function, strict
from jupyter_stream.functions.rows import by_numpy, row
from jupyter_stream.functions.types import BIGINT, BOOLEAN, DOUBLE, INT, RANGES, is_integral

_FACTORIALS: Final = tuple(math.factorial(n) for n in range(21))
_ROUND_OFF: Final = 22
"""The greatest power of ten that a DOUBLE holds exactly."""


def _bind_truncate(args: tuple[Expr, ...]) -> Expr:
    count("truncate", args, 1, 2)
    value = numeric("truncate", 0, args[0])
    scale = constant("truncate", 1, cast(args[1], INT)) if len(args) == 2 else Literal(0, INT)
    if isinstance(scale.value, int):
        scale = Literal(max(-_ROUND_OFF, min(_ROUND_OFF, scale.value)), INT)
    return Call("truncate", (value, scale), value.dtype)


def _truncate(call: Call, value: pl.Expr, _: pl.Expr) -> pl.Expr:
    assert isinstance(call.args[1], Literal)
    scale = call.args[1].value
    if not isinstance(scale, int):
        return pl.lit(None, dtype=call.dtype)
    if is_integral(call.dtype):
        if scale >= 0:
            return value
        unit = pl.lit(10**-scale, dtype=pl.Int128)
        wide = value.cast(pl.Int128)
        rest = pl.when(wide < 0).then(0 - (0 - wide) % unit).otherwise(wide % unit)
        return (wide - rest).cast(call.dtype)
    power = 10.0 ** abs(scale)
    wide = value.cast(DOUBLE)
    size = wide.abs() * power if scale >= 0 else divided(wide.abs(), power)
    below = size.floor()
    # 0.29 * 100 is less than 29: the digits shown count
    next_one = divided(below + 1, power) if scale >= 0 else (below + 1) * power
    below = pl.when(next_one <= wide.abs()).then(below + 1).otherwise(below)
    made = divided(below, power) if scale >= 0 else below * power
    made = pl.when(wide < 0).then(-made).otherwise(made)
    return pl.when((size < 2.0**52) & wide.is_finite()).then(made).otherwise(wide).cast(call.dtype)


def _truncate_on_spark(call: Call, args: tuple[str, ...]) -> str:
    assert isinstance(call.args[1], Literal)
    (x, _), scale = args, call.args[1].value
    if not isinstance(scale, int):
        return f"CAST(NULL AS {type_name(call.dtype)})"
    if is_integral(call.dtype):
        return x if scale >= 0 else f"CAST({x} - CAST({x} AS DECIMAL(38,0)) % {10**-scale} AS {type_name(call.dtype)})"
    power, name = f"{10.0 ** abs(scale)!r}D", type_name(call.dtype)
    wide = f"abs(CAST({x} AS DOUBLE))"
    by, back = ("*", "/") if scale >= 0 else ("/", "*")
    size = f"({wide} {by} {power})"
    above = f"((floor({size}) + 1) {back} {power})"
    made = f"((floor({size}) + CASE WHEN {above} <= {wide} THEN 1 ELSE 0 END) {back} {power})"
    signed = f"CASE WHEN {x} < 0 THEN -{made} ELSE {made} END"
    return (
        f"CAST(CASE WHEN {size} < 4503599627370496D THEN {signed} ELSE {x} END AS {name})"  # beyond 2^52 all is whole
    )


def _bit_count(args: tuple[Expr, ...]) -> Expr:
    count("bit_count", args, 1, 1)
    value = admit(args[0])
    if value.dtype == BOOLEAN:
        return Call("bit_count", (cast(value, BIGINT),), INT)
    if not is_integral(value.dtype):
        raise BadArguments(f"bit_count takes an integer or a BOOLEAN, not {type_name(value.dtype)}")
    return Call("bit_count", (cast(value, BIGINT),), INT)


def _bind_getbit(name: str) -> Bind:
    def bind(args: tuple[Expr, ...]) -> Expr:
        count(name, args, 2, 2)
        value = admit(args[0])
        if not is_integral(value.dtype):
            raise BadArguments(f"{name} takes an integer and a place, not {type_name(value.dtype)}")
        return Call("getbit", (value, cast(args[1], INT)), pl.Int8())

    return bind


def _getbit(call: Call, value: pl.Expr, place: pl.Expr) -> Compiled:
    bits = RANGES[call.args[0].dtype][1].bit_length() + 1
    made = elementwise(lambda v, p: (v >> np.clip(p, 0, 63)) & 1, BIGINT, value.cast(BIGINT), place.cast(BIGINT))
    wrong = value.is_not_null() & ~place.is_between(0, bits - 1)
    failure = Failure(wrong, f"the places of bits here are 0 to {bits - 1}")
    return Compiled(made.cast(pl.Int8), (failure,))


def _width_bucket(value: Any, low: Any, high: Any, number: Any) -> Any:
    up = low < high
    inside = np.where(up, (value - low) / (high - low), (low - value) / (low - high))
    scaled = np.minimum(number * inside, 9.2e18)
    bucket = np.nan_to_num(scaled, nan=0.0, posinf=0.0, neginf=0.0).astype(np.int64) + 1
    before = np.where(up, value < low, value > low)
    after = np.where(up, value >= high, value <= high)
    valid = (
        (number > 0) & (number < 2**63 - 1) & ~np.isnan(value) & (low != high) & np.isfinite(low) & np.isfinite(high)
    )
    return np.where(before, 0, np.where(after, np.minimum(number, 2**63 - 2) + 1, bucket)), valid


def _factorial(call: Call, n: pl.Expr) -> pl.Expr:
    known = pl.lit(pl.Series(_FACTORIALS, dtype=BIGINT)).gather(n.clip(0, 20))
    return pl.when(n.is_between(0, 20)).then(known)


def _remainder(a: Any, b: Any) -> Any:
    return np.fmod(a, b)


def _bind_plain(name: str) -> Bind:
    def bind(args: tuple[Expr, ...]) -> Expr:
        count(name, args, 1, 1)
        return numeric(name, 0, args[0])

    return bind


def _even(x: Any) -> Any:
    return np.copysign(np.ceil(np.abs(x) / 2) * 2, x)


_EVEN_ON_SPARK: Final = (
    "(CASE WHEN abs({0}) < 4503599627370496D THEN sign({0}) * ceil(abs({0}) / 2D) * 2D ELSE {0} END)"
)


FUNCTIONS: Final = (
    Function(
        "truncate", "truncate(number[, digits])",
        "Cut off after so many digits behind the point (before it, if negative), towards 0.", "truncate(-2.678, 2) = -2.67",
        _bind_truncate, strict(_truncate), _truncate_on_spark,
    ),
    row(
        "bit_count(integer) -> INT", "How many bits are 1, of 64.", "bit_count(7) = 3", _bit_count,
        strict(lambda call, x: x.bitwise_count_ones().cast(INT)),
    ),
    row(
        "getbit(integer, place) -> TINYINT", "The bit at a place, from 0 for the lowest; an error where there is none.",
        "getbit(5, 2) = 1", _bind_getbit("getbit"), strict(_getbit),
    ),
    row(
        "bit_get(integer, place) -> TINYINT", "The bit at a place, as getbit.", "bit_get(5, 1) = 0", _bind_getbit("bit_get"),
    ),
    row(
        "width_bucket(value, low, high, number) -> BIGINT",
        "In which of so many equal parts of low to high it lies, from 1; 0 before them, number + 1 behind them.",
        "width_bucket(5.3, 0.2, 10.6, 5) = 3", takes("width_bucket", DOUBLE, DOUBLE, DOUBLE, BIGINT, result=BIGINT),
        by_numpy(BIGINT, _width_bucket),
    ),
    row(
        "factorial(n) -> BIGINT", "1 * 2 * ... * n; NULL below 0 and above 20.", "factorial(5) = 120",
        takes("factorial", INT, result=BIGINT), strict(_factorial),
    ),
    row("positive(number)", "The number itself.", "positive(-5) = -5", _bind_plain("positive")),
    Function(
        "even", "even(number) -> DOUBLE", "The next even whole number away from 0.", "even(2.5) = 4.0",
        takes("even", DOUBLE, result=DOUBLE), by_numpy(DOUBLE, _even), _EVEN_ON_SPARK,
    ),
    Function(
        "fdiv", "fdiv(a, b) -> DOUBLE", "Quotient as IEEE 754 has it: by 0 infinite, or NaN.", "fdiv(7, 2) = 3.5",
        takes("fdiv", DOUBLE, DOUBLE, result=DOUBLE), by_numpy(DOUBLE, np.divide),
        "(CASE WHEN {1} = 0D THEN CASE WHEN {0} = 0D OR isnan({0}) THEN CAST('NaN' AS DOUBLE)"
        " WHEN ({0} > 0D) = (CAST({1} AS STRING) = '0.0') THEN CAST('Infinity' AS DOUBLE)"
        " WHEN {0} IS NOT NULL THEN CAST('-Infinity' AS DOUBLE) END ELSE {0} / {1} END)",
    ),
    Function(
        "fmod", "fmod(a, b) -> DOUBLE", "Remainder of fractions, with the sign of a; of 0 it is NaN.", "fmod(7.5, 2) = 1.5",
        takes("fmod", DOUBLE, DOUBLE, result=DOUBLE), by_numpy(DOUBLE, _remainder),
        "(CASE WHEN {1} = 0D THEN {0} * CAST('NaN' AS DOUBLE) ELSE {0} % {1} END)",
    ),
)  # fmt: skip
