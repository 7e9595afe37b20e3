"""`try_` functions: NULL where the function without it fails. And what says the type of a value, or whether it is infinite."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import polars as pl

from jupyter_stream.functions import arithmetic, arrays, comparison, conditional, time
from jupyter_stream.functions.binding import count, numeric
from jupyter_stream.functions.casts import cast
from jupyter_stream.functions.expression import Call, Expr, Literal
from jupyter_stream.functions.function import Bind, Compiled, Failure, Function, Kernel, eager, guarded
from jupyter_stream.functions.rows import row
from jupyter_stream.functions.types import BOOLEAN, DOUBLE, STRING, VOID, is_numeric, spark_name

_BY_NAME: Final = {
    f.name: f
    for f in (*arithmetic.FUNCTIONS, *arrays.FUNCTIONS, *comparison.FUNCTIONS, *conditional.FUNCTIONS, *time.FUNCTIONS)
}


_OPERATORS: Final = ("+", "-", "*", "/", "%")
"""What gives NULL, too, where a text that is no number is computed with, as in Spark."""
_NO_ITEM: Final = "the items of an array count from 1, or from -1 at the end"


def _tried(of: Function) -> Kernel:
    """The kernel of the function with NULL where it fails.

    Failures of its arguments stay, in its order and up to the first NULL; but those of times and intervals that are
    computed with give NULL, too, as in Spark.
    """

    def kernel(call: Call, parts: tuple[Compiled, ...]) -> Compiled:
        assert of.kernel is not None
        plain = Call(of.name, call.args, call.dtype)
        alone = of.kernel(plain, tuple(Compiled(p.value) for p in parts))
        made = of.kernel(plain, _looked_at(of.name, parts))
        of_args = made.failures[: len(made.failures) - len(alone.failures)]  # they come first
        caught = alone.failures
        if of.name in _OPERATORS and not all(is_numeric(a.dtype) or isinstance(a.dtype, pl.Decimal) for a in call.args):
            caught, of_args = (*of_args, *caught), ()
        value = made.value
        for failure in caught:
            value = pl.when(failure.condition.fill_null(False)).then(None).otherwise(value)
        if of.name == "element_at":
            of_args += (Failure((parts[1].value == 0) & parts[0].value.is_not_null(), _NO_ITEM),)
        return Compiled(value, of_args)

    return kernel


def _looked_at(name: str, parts: tuple[Compiled, ...]) -> tuple[Compiled, ...]:
    """The arguments: nobody looks at what is divided by 0."""
    if name not in ("/", "%"):
        return parts
    dividend, divisor = parts
    return replace(dividend, failures=guarded(divisor.value != 0, dividend.failures)), divisor


def _tried_casts(expr: Expr, given: tuple[Expr, ...]) -> Expr:
    """The casts that the rules of a function put around what it was given, NULL where they fail."""
    if expr in given or not isinstance(expr, Call) or expr.function != "cast":
        return expr
    return Call("try_cast", tuple(_tried_casts(a, given) for a in expr.args), expr.dtype)


def _bind(name: str, of: Function) -> Bind:
    """The rules of the function; what it is written as without failing stays so."""

    def tried(made: Call, args: tuple[Expr, ...]) -> Call:
        casts = tuple(_tried_casts(a, args) for a in made.args) if of.name in _OPERATORS else made.args
        return Call(name, casts, made.dtype)

    def bind(args: tuple[Expr, ...]) -> Expr:
        made = of.bind(args)
        if of.name in _OPERATORS and any(a.dtype == VOID for a in args):
            return cast(Literal(None, VOID), made.dtype)  # the other side is tried as well
        if isinstance(made, Call) and made.function == of.name:
            return tried(made, args)
        if of.name in _OPERATORS and isinstance(made, Call) and made.function == "cast":
            (inner,) = made.args  # '2024-01-02' - INTERVAL 1 DAY is a time, written as a text
            if isinstance(inner, Call) and inner.function == of.name:
                return replace(made, args=(tried(inner, args),))
        if isinstance(made, Call) and made.function == "cast" and of.name in ("to_timestamp", "to_date"):
            return Call("try_cast", made.args, made.dtype)
        return made

    return bind


def _try(name: str, of: str, signature: str, description: str, example: str) -> Function:
    function = _BY_NAME[of]
    return row(signature, description, example, _bind(name, function), _tried(function))


def _bind_typeof(args: tuple[Expr, ...]) -> Expr:
    count("typeof", args, 1, 1)
    return Literal(spark_name(args[0].dtype).lower(), STRING)


def _bind_isinf(name: str) -> Bind:
    def bind(args: tuple[Expr, ...]) -> Expr:
        count(name, args, 1, 1)
        return Call("isinf", (cast(numeric(name, 0, args[0]), DOUBLE),), BOOLEAN)

    return bind


def _bind_div_null(args: tuple[Expr, ...]) -> Expr:
    count("div_null", args, 2, 2)
    zero = _BY_NAME["nullif"].bind((args[1], Literal(0, pl.Int32())))
    return _BY_NAME["/"].bind((args[0], zero))


FUNCTIONS: Final = (
    _try("try_add", "+", "try_add(a, b)", "Sum, NULL where it overflows.", "try_add(2147483647, 1) = NULL"),
    _try("try_subtract", "-", "try_subtract(a, b)", "Difference, NULL where it overflows.", "try_subtract(3, 1) = 2"),
    _try("try_multiply", "*", "try_multiply(a, b)", "Product, NULL where it overflows.", "try_multiply(2147483647, 2) = NULL"),
    _try("try_divide", "/", "try_divide(a, b)", "Quotient with its fraction, NULL where b is 0.", "try_divide(1, 0) = NULL"),
    _try("try_mod", "%", "try_mod(a, b)", "Remainder with the sign of a, NULL where b is 0.", "try_mod(7, 0) = NULL"),
    _try(
        "try_element_at", "element_at", "try_element_at(array, number)",
        "The n-th item, from the end if negative; NULL if there is none.", "try_element_at(array(1, 2), 3) = NULL",
    ),
    _try(
        "try_to_timestamp", "to_timestamp", "try_to_timestamp(string[, pattern]) -> TIMESTAMP",
        "A timestamp from text; NULL if it is none.", "try_to_timestamp('x') = NULL",
    ),
    _try(
        "try_make_timestamp", "make_timestamp",
        "try_make_timestamp(year, month, day, hour, minute, second) -> TIMESTAMP",
        "A timestamp from its parts; NULL if there is none.", "try_make_timestamp(2024, 2, 30, 0, 0, 0) = NULL",
    ),
    row(
        "div_null(a, b) -> DOUBLE", "Quotient with its fraction, NULL where b is 0.", "div_null(1, 0) = NULL", _bind_div_null,
    ),
    row("typeof(value) -> STRING", "The name of its type.", "typeof(1) = 'int'", _bind_typeof),
    Function(
        "isinf", "isinf(number) -> BOOLEAN", "Whether it is infinite; NULL of NULL.", "isinf(1) is false", _bind_isinf("isinf"),
        eager(lambda call, x: x.is_infinite()), "(abs({0}) = CAST('Infinity' AS DOUBLE))",
    ),
    row("is_inf(number) -> BOOLEAN", "Whether it is infinite, as isinf.", "is_inf(1) is false", _bind_isinf("is_inf")),
    row("is_nan(number) -> BOOLEAN", "Whether it is NaN, as isnan.", "is_nan(1) is false", _BY_NAME["isnan"].bind),
)  # fmt: skip
