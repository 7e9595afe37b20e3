"""Mathematical functions of numbers. Operators are in `arithmetic`, angles in `trigonometry`.

Transcendental functions come from the platform's library and may differ from Spark's in the last bits.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
import polars as pl

from jupyter_stream.core.schema import type_name
from jupyter_stream.functions.binding import admit, constant, count, numeric, takes, together
from jupyter_stream.functions.casts import cast, saturated
from jupyter_stream.functions.elementwise import divided
from jupyter_stream.functions.expression import Call, Expr, Literal
from jupyter_stream.functions.function import BadArguments, Bind, Compiled, Failure, Function, Kernel, strict
from jupyter_stream.functions.rows import alias, by_numpy, double
from jupyter_stream.functions.types import BIGINT, DOUBLE, FLOAT, INT, RANGES, STRING, VOID, is_integral


def _constant(name: str, value: float, description: str) -> Function:
    def bind(args: tuple[Expr, ...]) -> Expr:
        count(name, args, 0, 0)
        return Literal(value, DOUBLE)

    return Function(name, f"{name}() -> DOUBLE", description, f"{name}() = {value}", bind)


def _bind_whole(name: str) -> Bind:
    def bind(args: tuple[Expr, ...]) -> Expr:
        count(name, args, 1, 1)
        value = numeric(name, 0, args[0])
        return Call(name, (cast(value, BIGINT if is_integral(value.dtype) else DOUBLE),), BIGINT)

    return bind


def _whole(call: Call, value: pl.Expr) -> pl.Expr | Compiled:
    if call.args[0].dtype == BIGINT:
        return value
    made = value.ceil() if call.function == "ceil" else value.floor()
    return pl.when(made.is_nan()).then(pl.lit(0, dtype=BIGINT)).otherwise(saturated(made))  # as in Java


def _whole_on_spark(call: Call, args: tuple[str, ...]) -> str:
    """What is beyond BIGINT becomes its least or greatest, where Spark 4.3 fails and those before it do the same."""
    (value,), name = args, call.function
    if call.args[0].dtype == BIGINT:
        return f"{name}({value})"
    low, high = "(-9223372036854775807L - 1L)", "9223372036854775807L"
    beyond = (
        f"WHEN {value} >= 9.223372036854775807E18D THEN {high} WHEN {value} <= -9.223372036854775808E18D THEN {low}"
    )
    return f"CASE WHEN isnan({value}) THEN 0L {beyond} ELSE {name}({value}) END"


def _bind_round(name: str) -> Bind:
    def bind(args: tuple[Expr, ...]) -> Expr:
        count(name, args, 1, 2)
        value = numeric(name, 0, args[0])
        scale = constant(name, 1, cast(args[1], INT)) if len(args) == 2 else Literal(0, INT)
        return Call(name, (value, scale), value.dtype)

    return bind


def _round(call: Call, value: pl.Expr, _: pl.Expr) -> pl.Expr | Compiled:
    assert isinstance(call.args[1], Literal)
    scale, even = call.args[1].value, call.function == "bround"
    if not isinstance(scale, int):
        return pl.lit(None, dtype=call.dtype)
    if is_integral(call.dtype):
        return value if scale >= 0 else _round_integer(call, value, 10 ** min(-scale, 20), even)
    if abs(scale) > 22:  # beyond the powers of ten a DOUBLE holds exactly
        return value if scale > 0 else value * 0
    wide = value.cast(DOUBLE) if call.dtype != FLOAT else value.cast(STRING).cast(DOUBLE, strict=False)
    size = wide.abs()
    power = 10.0 ** abs(scale)
    scaled = size * power if scale >= 0 else divided(size, power)
    below = scaled.floor()
    # Spark rounds the decimal number that is shown, so 2.675 is a tie though its binary value lies below: a tie is
    # what the nearest double of (below + 1/2) / power is.
    half = divided(below + 0.5, power) if scale >= 0 else (below + 0.5) * power
    up = (size > half) | ((size == half) & (below % 2 == 1) if even else size == half)
    rounded = below + up.cast(DOUBLE)
    made = divided(rounded, power) if scale >= 0 else rounded * power
    made = pl.when(wide < 0).then(-made).otherwise(made)
    return pl.when((scaled < 2.0**52) & wide.is_finite()).then(made).otherwise(wide).cast(call.dtype)


def _round_integer(call: Call, value: pl.Expr, power: int, even: bool) -> Compiled:
    wide = value.cast(pl.Int128)
    size = pl.when(wide < 0).then(0 - wide).otherwise(wide)
    unit = pl.lit(power, dtype=pl.Int128)
    below, rest = size // unit, size % unit
    up = (2 * rest > unit) | ((2 * rest == unit) & (below % 2 == 1) if even else 2 * rest == unit)
    made = (below + up.cast(pl.Int128)) * unit
    made = pl.when(wide < 0).then(0 - made).otherwise(made)
    low, high = RANGES[call.dtype]
    failure = Failure((made < low) | (made > high), f"{type_name(call.dtype)} overflow in {call.function}")
    return Compiled(made.cast(call.dtype, strict=False), (failure,))


def _bind_log(args: tuple[Expr, ...]) -> Expr:
    count("log", args, 1, 2)
    if len(args) == 1:
        return takes("ln", DOUBLE, result=DOUBLE)(args)
    return takes("log", DOUBLE, DOUBLE, result=DOUBLE)(args)


def _log(call: Call, base: pl.Expr, value: pl.Expr) -> pl.Expr:
    return pl.when(~((base <= 0) | (value <= 0))).then(value.log() / base.log())


def _pow(a: Any, b: Any) -> Any:
    # C says 1 where Java says NaN: 1 to NaN, and 1 or -1 to infinity.
    unknown = np.isnan(b) | ((np.abs(a) == 1) & np.isinf(b))
    return np.where(unknown, np.nan, np.power(a, b))


def _bind_bits(name: str) -> Bind:
    def bind(args: tuple[Expr, ...]) -> Expr:
        count(name, args, 2, 2)
        a, b = together(name, args)
        if not is_integral(a.dtype):
            raise BadArguments(f"{name} takes integers, not {type_name(a.dtype)}")
        return Call(name, (a, b), a.dtype)

    return bind


def _bind_not(args: tuple[Expr, ...]) -> Expr:
    count("~", args, 1, 1)
    value = admit(args[0])
    if not is_integral(value.dtype):
        raise BadArguments(f"~ takes an integer, not {type_name(value.dtype)}")
    return Call("~", (value,), value.dtype)


def _bind_shift(name: str) -> Bind:
    def bind(args: tuple[Expr, ...]) -> Expr:
        count(name, args, 2, 2)
        value = admit(args[0])
        if not is_integral(value.dtype) and value.dtype not in (STRING, VOID):
            raise BadArguments(f"{name} takes an integer, not {type_name(value.dtype)}")
        value = cast(value, BIGINT if value.dtype == BIGINT else INT)
        return Call(name, (value, cast(args[1], INT)), value.dtype)

    return bind


def _shift(left: bool) -> Kernel:
    def kernel(call: Call, parts: tuple[Compiled, ...]) -> Compiled:
        bits, kind = (64, np.int64) if call.dtype == BIGINT else (32, np.int32)
        operate = np.left_shift if left else np.right_shift
        # Java takes the distance modulo the width.
        return by_numpy(call.dtype, lambda a, n: operate(a, n.astype(kind) & kind(bits - 1)))(call, parts)

    return kernel


_LN: Final = double("ln", "Natural logarithm; NULL from 0 down.", "ln(1) = 0.0", lambda x: x.log(), 0)
_POW: Final = Function(
    "pow", "pow(a, b) -> DOUBLE", "a to the power of b.", "pow(2, 10) = 1024.0",
    takes("pow", DOUBLE, DOUBLE, result=DOUBLE), by_numpy(DOUBLE, _pow), "pow({0}, {1})",
)  # fmt: skip
_SIGN: Final = double(
    "sign", "-1, 0 or 1.", "sign(-5) = -1.0", lambda x: pl.when(x.is_nan()).then(x).otherwise(x.sign())
)
_CEIL: Final = Function("ceil", "ceil(number) -> BIGINT", "Least integer not below.", "ceil(1.2) = 2",
                        _bind_whole("ceil"), strict(_whole), _whole_on_spark)  # fmt: skip

FUNCTIONS: Final = (
    _CEIL,
    alias("ceiling", _CEIL),
    Function(
        "floor", "floor(number) -> BIGINT", "Greatest integer not above.", "floor(1.8) = 1", _bind_whole("floor"),
        strict(_whole), _whole_on_spark,
    ),
    Function(
        "round", "round(number[, scale])",
        "Rounded to so many digits after the point (before it, if negative); ties away from 0.",
        "round(2.675, 2) = 2.68", _bind_round("round"), strict(_round), "round({0}, {1})",
    ),
    Function(
        "roundbankers", "roundbankers(number[, scale])", "Rounded as bround does.", "roundbankers(2.5) = 2.0",
        _bind_round("bround"),
    ),
    Function(
        "bround", "bround(number[, scale])", "Rounded as round does, but ties to the even digit.", "bround(2.5) = 2.0",
        _bind_round("bround"), strict(_round), "bround({0}, {1})",
    ),
    double(
        "rint", "Nearest integer, ties to the even one, as DOUBLE.", "rint(2.5) = 2.0",
        lambda x: x.round(0, mode="half_to_even"),
    ),
    _SIGN,
    alias("signum", _SIGN),
    double("sqrt", "Square root; NaN of a negative number.", "sqrt(9) = 3.0", lambda x: x.sqrt()),
    double("cbrt", "Cube root.", "cbrt(27) = 3.0", lambda x: x.cbrt()),
    double("exp", "e to the power of the number.", "exp(0) = 1.0", lambda x: x.exp()),
    Function(
        "expm1", "expm1(number) -> DOUBLE", "exp(x) - 1, exact near 0.", "expm1(0) = 0.0",
        takes("expm1", DOUBLE, result=DOUBLE), by_numpy(DOUBLE, np.expm1), "expm1({0})",
    ),
    _LN,
    Function(
        "log", "log([base, ]number) -> DOUBLE", "Logarithm, natural without a base; NULL from 0 down.",
        "log(2, 8) = 3.0", _bind_log, strict(_log), "log({0}, {1})",
    ),
    double("log10", "Decimal logarithm; NULL from 0 down.", "log10(100) = 2.0", lambda x: x.log10(), 0),
    double("log2", "Binary logarithm; NULL from 0 down.", "log2(8) = 3.0", lambda x: x.log(2), 0),
    double("log1p", "ln(1 + x), exact near 0; NULL from -1 down.", "log1p(0) = 0.0", lambda x: x.log1p(), -1),
    _POW,
    alias("power", _POW),
    double("degrees", "Radians in degrees.", "degrees(pi()) = 180.0", lambda x: x.degrees()),
    double("radians", "Degrees in radians.", "radians(180) = 3.141592653589793", lambda x: x.radians()),
    Function(
        "hypot", "hypot(a, b) -> DOUBLE", "sqrt(a * a + b * b).", "hypot(3, 4) = 5.0",
        takes("hypot", DOUBLE, DOUBLE, result=DOUBLE), by_numpy(DOUBLE, np.hypot), "hypot({0}, {1})",
    ),
    _constant("pi", math.pi, "The number pi."),
    _constant("e", math.e, "Euler's number."),
    Function(
        "&", "a & b", "Bitwise and.", "6 & 3 = 2", _bind_bits("&"), strict(lambda call, a, b: a & b), "({0} & {1})",
    ),
    Function(
        "|", "a | b", "Bitwise or.", "6 | 3 = 7", _bind_bits("|"), strict(lambda call, a, b: a | b), "({0} | {1})",
    ),
    Function(
        "^", "a ^ b", "Bitwise exclusive or.", "6 ^ 3 = 5", _bind_bits("^"), strict(lambda call, a, b: a ^ b),
        "({0} ^ {1})",
    ),
    Function("~", "~a", "Bitwise not.", "~0 = -1", _bind_not, strict(lambda call, a: -1 - a), "(~{0})"),
    Function(
        "shiftleft", "shiftleft(integer, bits)", "Shifted to the left; overflow is dropped.", "shiftleft(1, 4) = 16",
        _bind_shift("shiftleft"), _shift(left=True), "shiftleft({0}, {1})",
    ),
    Function(
        "shiftright", "shiftright(integer, bits)", "Shifted to the right, keeping the sign.", "shiftright(16, 4) = 1",
        _bind_shift("shiftright"), _shift(left=False), "shiftright({0}, {1})",
    ),
)  # fmt: skip
