"""Operators on numbers, times and intervals: `+ - * / % div`, with ANSI overflow. Not the functions of `maths`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import polars as pl

from jupyter_stream.core.schema import INTERVAL, TIMESTAMP, type_name
from jupyter_stream.functions import calendar, decimals
from jupyter_stream.functions.binding import admit, count, numeric
from jupyter_stream.functions.casts import cast
from jupyter_stream.functions.elementwise import divided, elementwise
from jupyter_stream.functions.expression import Call, Expr, Literal
from jupyter_stream.functions.function import (
    BadArguments,
    Bind,
    Compiled,
    Failure,
    Function,
    Kernel,
    guarded,
    inherited,
    names_of,
    strict,
)
from jupyter_stream.functions.types import (
    BIGINT,
    DATE,
    DOUBLE,
    INT,
    RANGES,
    SMALLINT,
    STRING,
    TINYINT,
    VOID,
    as_decimal,
    common_type,
    is_integral,
    is_numeric,
)

_ZERO: Final = "division by zero"
_NOTHING: Final = pl.lit(0)
_LOWEST, _HIGHEST = (pl.lit(x, dtype=pl.Int128) for x in RANGES[BIGINT])
"""Made once: a literal takes longer to make than what compares with it."""


def _overflow(call: Call) -> str:
    return f"{type_name(call.dtype)} overflow in {call.function}"


def _misfit(name: str, args: tuple[Expr, ...]) -> BadArguments:
    return BadArguments(f"{name} can't take {names_of([a.dtype for a in args])}")


def _numbers(name: str, args: tuple[Expr, ...]) -> tuple[Expr, ...]:
    common = common_type(a.dtype for a in args)
    if common in (VOID, STRING):
        common = DOUBLE
    if common is None or not is_numeric(common):
        raise _misfit(name, args)
    return tuple(cast(a, common) for a in args)


def _whole_days(expr: Expr) -> int | None:
    """Days of an interval literal that is a whole number of them."""
    micros = _literal(expr) if expr.dtype == INTERVAL else None
    return None if micros is None or micros % calendar.DAY else micros // calendar.DAY


def _of_decimals(name: str, args: tuple[Expr, ...]) -> Expr | None:
    """The call where DECIMALs are computed with each other or with integers, and the result has a DECIMAL's digits."""
    if not any(isinstance(a.dtype, pl.Decimal) for a in args):
        return None
    wide = [as_decimal(a.dtype) for a in args]
    one, other = wide
    dtype = None if one is None or other is None else decimals.result_of(name, one, other)
    if one is None or other is None or dtype is None:
        return None
    return Call(name, (cast(args[0], one), cast(args[1], other)), dtype)


def _bind_sum(name: str) -> Bind:
    def bind(args: tuple[Expr, ...]) -> Expr:
        count(name, args, 2, 2)
        exact = _of_decimals(name, args)
        if exact is not None:
            return exact
        a, b = (admit(x) for x in args)
        if name == "+" and b.dtype in (DATE, TIMESTAMP):
            a, b = b, a
        if a.dtype in (DATE, TIMESTAMP):
            return _bind_moved(name, a, b)
        if STRING in (a.dtype, b.dtype) and INTERVAL in (a.dtype, b.dtype):
            a, b = (b, a) if a.dtype == INTERVAL else (a, b)
            return cast(Call(name, (cast(a, TIMESTAMP), b), TIMESTAMP), STRING)
        if name == "-" and b.dtype in (DATE, TIMESTAMP) and a.dtype in (STRING, VOID):
            return _bind_moved(name, cast(a, b.dtype), b)
        if INTERVAL in (a.dtype, b.dtype) and all(x.dtype in (INTERVAL, VOID) for x in (a, b)):
            return Call(name, (cast(a, INTERVAL), cast(b, INTERVAL)), INTERVAL)
        made = _numbers(name, (a, b))
        return Call(name, made, made[0].dtype)

    return bind


def _bind_moved(name: str, time: Expr, by: Expr) -> Expr:
    """A date or timestamp and what is added to it, or subtracted."""
    if name == "-" and by.dtype in (DATE, TIMESTAMP, STRING):
        wanted = time.dtype if by.dtype in (time.dtype, STRING) else TIMESTAMP
        return Call(name, (cast(time, wanted), cast(by, wanted)), INTERVAL)
    if by.dtype == VOID:
        by = cast(by, INT if time.dtype == DATE else INTERVAL)
    if time.dtype == DATE and (days := _whole_days(by)) is not None:
        by = Literal(days, INT)
    if time.dtype == DATE and is_integral(by.dtype):
        return Call(name, (time, cast(by, INT)), DATE)
    if by.dtype == INTERVAL:
        return Call(name, (cast(time, TIMESTAMP), by), TIMESTAMP)
    raise _misfit(name, (time, by))


def _bind_product(args: tuple[Expr, ...]) -> Expr:
    count("*", args, 2, 2)
    exact = _of_decimals("*", args)
    if exact is not None:
        return exact
    a, b = (admit(x) for x in args)
    if b.dtype == INTERVAL:
        a, b = b, a
    if a.dtype == INTERVAL:
        if b.dtype == INTERVAL:
            raise _misfit("*", args)
        b = numeric("*", 1, b)
        return Call("*", (a, cast(b, BIGINT if is_integral(b.dtype) else DOUBLE)), INTERVAL)
    made = _numbers("*", (a, b))
    return Call("*", made, made[0].dtype)


def _bind_quotient(args: tuple[Expr, ...]) -> Expr:
    count("/", args, 2, 2)
    a, b = (admit(x) for x in args)
    if a.dtype == INTERVAL and b.dtype != INTERVAL:
        b = numeric("/", 1, b)
        return Call("/", (a, cast(b, BIGINT if is_integral(b.dtype) else DOUBLE)), INTERVAL)
    if not all(is_numeric(x.dtype) or x.dtype in (STRING, VOID) for x in (a, b)):
        raise _misfit("/", args)
    if STRING in (a.dtype, b.dtype) and any(is_integral(x.dtype) for x in (a, b)):
        a, b = _numbers("/", (a, b))  # a text beside a whole number is read as one, as under + and -
    return Call("/", (cast(a, DOUBLE), cast(b, DOUBLE)), DOUBLE)


def _bind_div(args: tuple[Expr, ...]) -> Expr:
    count("div", args, 2, 2)
    a, b = (admit(x) for x in args)
    if a.dtype == INTERVAL and b.dtype == INTERVAL:
        return Call("div", (a, b), BIGINT)
    for x in (a, b):
        if not is_integral(x.dtype) and x.dtype not in (STRING, VOID):
            raise BadArguments(f"div divides integers, not {type_name(x.dtype)}; write / for fractions")
    return Call("div", (cast(a, BIGINT), cast(b, BIGINT)), BIGINT)


def _bind_remainder(name: str) -> Bind:
    def bind(args: tuple[Expr, ...]) -> Expr:
        count(name, args, 2, 2)
        a, b = _numbers(name, tuple(admit(x) for x in args))
        return Call(name, (a, b), a.dtype)

    return bind


def _bind_sign(name: str) -> Bind:
    def bind(args: tuple[Expr, ...]) -> Expr:
        count(name, args, 1, 1)
        if isinstance(args[0].dtype, pl.Decimal):
            return Call(name, args, args[0].dtype)
        a = admit(args[0])
        a = a if a.dtype == INTERVAL else numeric(name, 0, a)
        return Call(name, (a,), a.dtype)

    return bind


def _narrow(call: Call, wide: pl.Expr) -> Compiled:
    """A result computed in a wider type, brought back to the call's own."""
    low, high = RANGES[call.dtype]
    return Compiled(wide.cast(call.dtype, strict=False), (Failure(~wide.is_between(low, high), _overflow(call)),))


def _literal(expr: Expr) -> int | None:
    """The integer or microseconds of a literal, None for anything else."""
    if not isinstance(expr, Literal) or expr.value is None or not (is_integral(expr.dtype) or expr.dtype == INTERVAL):
        return None
    if isinstance(expr.value, int):
        return expr.value  # a query may have thousands
    known: int = pl.select(pl.lit(expr.value, dtype=expr.dtype).cast(BIGINT)).item()
    return known


def _sum(call: Call, a: pl.Expr, b: pl.Expr) -> pl.Expr | Compiled:
    if isinstance(call.dtype, pl.Decimal):
        return decimals.computed(call.function, a, b, call.dtype)
    plus = call.function == "+"
    left, right = (x.dtype for x in call.args)
    if left == DATE and right == DATE:
        days = a.cast(INT).cast(BIGINT) - b.cast(INT).cast(BIGINT)
        most = RANGES[BIGINT][1] // calendar.DAY
        return Compiled((days * calendar.DAY).cast(INTERVAL), (Failure(days.abs() > most, _overflow(call)),))
    if left == DATE:  # Spark lets these wrap around
        return (a.cast(INT) + b if plus else a.cast(INT) - b).cast(DATE)
    if is_numeric(left) and not is_integral(left):
        return a + b if plus else a - b
    a, b = _wide(a, left), _wide(b, right)
    if left not in (BIGINT, TIMESTAMP, INTERVAL):
        return _narrow(call, a + b if plus else a - b)
    made = _sum64(a, b, 1 if plus else -1, _literal(call.args[1]), _overflow(call))
    return made if call.dtype == BIGINT else Compiled(made.value.cast(call.dtype), made.failures)


def _wide(value: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    """A value as a BIGINT: a cast that does nothing is for thousands of terms a tenth of the time they take to plan."""
    return value if dtype == BIGINT else value.cast(BIGINT)


def _difference_on_spark(call: Call, args: tuple[str, ...]) -> str:
    made = f"({args[0]} - {args[1]})"
    # of dates Spark makes an interval of days alone, which is written otherwise
    of_dates = all(a.dtype == DATE for a in call.args)
    return f"CAST({made} AS INTERVAL DAY TO SECOND)" if of_dates else made


def _sum64(a: pl.Expr, b: pl.Expr, sign: int, known: int | None, reason: str) -> Compiled:
    """`a + b` or `a - b` in 64 bits. `known` is b where it is a literal: one comparison tells then."""
    made = a + b if sign > 0 else a - b
    if known is not None:
        low, high = RANGES[BIGINT]
        change = sign * known
        condition = a > high - change if change > 0 else a < low - change
        return Compiled(made, (Failure(condition, reason),) if change else ())
    # Polars wraps around: the sum is then on the wrong side of a.
    condition = (b >= _NOTHING) ^ (made >= a if sign > 0 else made <= a)
    return Compiled(made, (Failure(condition, reason),))


def _product(call: Call, a: pl.Expr, b: pl.Expr) -> pl.Expr | Compiled:
    if isinstance(call.dtype, pl.Decimal):
        return decimals.computed("*", a, b, call.dtype)
    factor = call.args[1].dtype
    if call.dtype == INTERVAL and factor == DOUBLE:
        return _rounded_interval(call, a.cast(BIGINT).cast(DOUBLE) * b)
    if is_numeric(call.dtype) and not is_integral(call.dtype):
        return a * b
    a, b = _wide(a, call.args[0].dtype), _wide(b, factor)
    if call.dtype not in (BIGINT, INTERVAL):
        return _narrow(call, a * b)
    product = a * b if call.dtype == BIGINT else (a * b).cast(call.dtype)
    known = _literal(call.args[1])
    if known is not None:
        return Compiled(product, tuple(Failure(c, _overflow(call)) for c in _beyond(a, known)))
    # 128 bits hold every product; telling by dividing back takes as long.
    wide = a.cast(pl.Int128) * b.cast(pl.Int128)
    return Compiled(product, (Failure((wide > _HIGHEST) | (wide < _LOWEST), _overflow(call)),))


def _beyond(a: pl.Expr, factor: int) -> tuple[pl.Expr, ...]:
    """Where `a * factor` leaves 64 bits."""
    low, high = RANGES[BIGINT]
    if factor in (0, 1):
        return ()
    if factor > 0:
        return ((a > high // factor) | (a < -(-low // factor)),)
    below = a < -(high // -factor)
    return (below,) if factor == -1 else (below | (a > low // factor),)


def _rounded_interval(call: Call, micros: pl.Expr) -> Compiled:
    rounded = micros.round(0, mode="half_away_from_zero")
    inside = (rounded >= -(2.0**63)) & (rounded < 2.0**63) & micros.is_not_nan()
    return Compiled(rounded.cast(BIGINT, strict=False).cast(INTERVAL), (Failure(~inside, _overflow(call)),))


def _divisor_first(compute: Callable[..., Compiled]) -> Kernel:
    """Spark looks at the divisor first: if it is NULL the dividend isn't evaluated, and 0 fails only with a dividend.

    Not so where an interval is divided by a number.
    """

    def kernel(call: Call, parts: tuple[Compiled, ...]) -> Compiled:
        a, b = (p.value for p in parts)
        made = compute(call, a, b)
        divisor = call.args[1]
        own: tuple[Failure, ...] = ()
        if not (isinstance(divisor, Literal) and divisor.value):
            zero = (b.cast(BIGINT) if divisor.dtype == INTERVAL else b) == _NOTHING
            own = guarded(a.is_not_null(), (Failure(zero, _ZERO),))
        order = parts if call.dtype == INTERVAL else (parts[1], parts[0])
        return Compiled(made.value, inherited(order) + own + made.failures)

    return kernel


def _quotient(call: Call, a: pl.Expr, b: pl.Expr) -> Compiled:
    if call.dtype == DOUBLE:
        return Compiled(divided(a, b))
    micros = a.cast(BIGINT)
    if call.args[1].dtype == DOUBLE:
        return _rounded_interval(call, divided(micros.cast(DOUBLE), b))
    wide, by = micros.cast(pl.Int128), b.cast(pl.Int128)
    wide, by = (pl.when(x < 0).then(0 - x).otherwise(x) for x in (wide, by))
    size = (2 * wide + by) // (2 * by)  # HALF_UP
    made = pl.when((micros < 0) ^ (b < 0)).then(0 - size).otherwise(size).cast(BIGINT, strict=False)
    overflow = (micros == RANGES[BIGINT][0]) & (b == -1)
    return Compiled(made.cast(INTERVAL), (Failure(overflow, _overflow(call)),))


def _div(call: Call, a: pl.Expr, b: pl.Expr) -> Compiled:
    a, b = a.cast(BIGINT), b.cast(BIGINT)
    made = elementwise(lambda x, y: (x - np.fmod(x, y)) // y, BIGINT, a, b)  # towards zero, as in SQL
    if _literal(call.args[1]) not in (None, -1):
        return Compiled(made)
    return Compiled(made, (Failure((a == RANGES[BIGINT][0]) & (b == -1), _overflow(call)),))


def _remainder(call: Call, a: pl.Expr, b: pl.Expr) -> Compiled:
    # With the sign of a, and exact, as Java's; Polars has the sign of b, and a - b * floor(a / b) of fractions.
    if call.function == "%":
        return Compiled(elementwise(np.fmod, call.dtype, a, b))
    if is_integral(call.dtype) and (_literal(call.args[1]) or 0) > 0:
        return Compiled(a % b)  # which goes by an array at once, and is worked out once where it stands twice
    if call.dtype in (TINYINT, SMALLINT):  # Java computes them as INT
        return Compiled(elementwise(_pmod, INT, a.cast(INT), b.cast(INT)).cast(call.dtype, strict=False))
    return Compiled(elementwise(_pmod, call.dtype, a, b))


def _pmod(a: Any, b: Any) -> Any:
    rest = np.fmod(a, b)
    return np.where(rest < 0, np.fmod(rest + b, b), rest)


def _sign(call: Call, a: pl.Expr) -> pl.Expr | Compiled:
    turn: Callable[[pl.Expr], pl.Expr] = (lambda x: -x) if call.function == "neg" else (lambda x: x.abs())
    if call.dtype == INTERVAL:
        low = RANGES[BIGINT][0]
        return Compiled(turn(a.cast(BIGINT)).cast(INTERVAL), (Failure(a.cast(BIGINT) == low, _overflow(call)),))
    if not is_integral(call.dtype):
        return turn(a)
    return Compiled(turn(a), (Failure(a == RANGES[call.dtype][0], _overflow(call)),))


FUNCTIONS: Final = (
    Function(
        "+", "a + b -> the wider type", "Sum; also a date plus days, a timestamp or date plus an interval.",
        "1 + 2 = 3", _bind_sum("+"), strict(_sum), "({0} + {1})",
    ),
    Function(
        "-", "a - b -> the wider type", "Difference; of two dates or timestamps the INTERVAL between them.",
        "3 - 1 = 2", _bind_sum("-"), strict(_sum), _difference_on_spark,
    ),
    Function(
        "*", "a * b -> the wider type", "Product; also an interval times a number.", "2 * 3 = 6", _bind_product,
        strict(_product), "({0} * {1})",
    ),
    Function(
        "/", "a / b -> DOUBLE", "Quotient with its fraction; also an interval by a number. By 0 is an error.",
        "7 / 2 = 3.5", _bind_quotient, _divisor_first(_quotient), "({0} / {1})",
    ),
    Function(
        "div", "a div b -> BIGINT",
        "Quotient of integers, rounded towards 0; or how often an interval goes into another.", "7 div 2 = 3",
        _bind_div, _divisor_first(_div), "({0} div {1})",
    ),
    Function(
        "%", "a % b -> the wider type", "Remainder, with the sign of a.", "-7 % 3 = -1", _bind_remainder("%"),
        _divisor_first(_remainder), "({0} % {1})",
    ),
    Function(
        "mod", "mod(a, b) -> the wider type", "Remainder, with the sign of a.", "mod(-7, 3) = -1",
        _bind_remainder("%"),
    ),
    Function(
        "pmod", "pmod(a, b) -> the wider type", "Remainder that is not negative (for positive b).", "pmod(-7, 3) = 2",
        _bind_remainder("pmod"), _divisor_first(_remainder), "pmod({0}, {1})",
    ),
    Function("neg", "-a", "The number with the other sign.", "-(5) = -5", _bind_sign("neg"), strict(_sign), "(- {0})"),
    Function("negative", "negative(a)", "The number with the other sign.", "negative(5) = -5", _bind_sign("neg")),
    Function(
        "abs", "abs(a)", "The number without its sign.", "abs(-5) = 5", _bind_sign("abs"), strict(_sign), "abs({0})",
    ),
)  # fmt: skip
