"""Expressions as Python functions of one row, for what takes rows one by one: the bodies of user-defined aggregates.

The values are those of `compile_kernel`. What has no line in the tables below goes through the kernel itself, on a frame of
one row, which takes some 100 µs rather than a few hundred ns. Not for batches.
"""

from __future__ import annotations

import datetime as dt
import math
import operator
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

import polars as pl

from jupyter_stream.core.schema import INTERVAL, TIMESTAMP, type_name
from jupyter_stream.functions.expression import Call, Column, Expr, Literal, columns, substitute, walk
from jupyter_stream.functions.hashing import hashed
from jupyter_stream.functions.kernel import compile_kernel
from jupyter_stream.functions.own import OwnName
from jupyter_stream.functions.python import PythonFunction
from jupyter_stream.functions.steps import with_steps
from jupyter_stream.functions.types import BIGINT, BOOLEAN, DOUBLE, RANGES, STRING, VOID, is_integral

Env: TypeAlias = list[Any]
"""What an expression may read, place by place."""
Scalar: TypeAlias = Callable[[Env], Any]
"""An expression's value in an environment. Raises `RowError`."""

_MOST_LEVELS: Final = 200
"""Levels of calls up to which an expression is functions that call one another; what is deeper goes through the kernel."""


class RowError(ArithmeticError):
    """An expression has no value for these arguments (overflow, bad cast, division by zero); the message says why."""


def compile_scalar(expr: Expr, places: Mapping[str, int | Scalar]) -> Scalar:
    """An expression as a function of an environment.

    Args:
        expr: what to compute. Values are as Polars gives them: int, float, str, bool, datetime, date, timedelta, None.
        places: for each column it reads the index in the environment, or a function that gives the value.

    Raises:
        KeyError: it reads a column that has no place.
    """
    return _through_kernel(expr, places) if _is_deep(expr) else _compiled(expr, places)


def _is_deep(expr: Expr) -> bool:
    """Whether calls stand inside one another deeper than Python's own calls may."""
    level: list[Expr] = [expr]
    for _ in range(_MOST_LEVELS):
        level = list({id(arg): arg for part in level if isinstance(part, Call) for arg in part.args}.values())
        if not level:
            return False
    return True


def _compiled(expr: Expr, places: Mapping[str, int | Scalar]) -> Scalar:
    if isinstance(expr, Literal):
        value = expr.value
        if isinstance(value, dt.datetime) and value.tzinfo is not None:
            value = value.astimezone(dt.UTC).replace(tzinfo=None)
        return lambda env: value
    if isinstance(expr, Column):
        place = places[expr.name]
        return operator.itemgetter(place) if isinstance(place, int) else place
    own = _python(expr)
    if own is not None:
        return _called(own, expr, [_compiled(a, places) for a in expr.args])
    make = _OWN.get(expr.function)
    made = None if make is None else make(expr, [_compiled(a, places) for a in expr.args])
    return made if made is not None else _through_kernel(expr, places)


def _python(expr: Call) -> PythonFunction | None:
    """The user's own function it calls, if that is one."""
    if not isinstance(expr.function, OwnName):
        return None
    return expr.function.owner if isinstance(expr.function.owner, PythonFunction) else None


def _called(own: PythonFunction, call: Call, args: list[Scalar]) -> Scalar:
    def run(env: Env) -> Any:
        value, reason = own.one([f(env) for f in args], call.dtype)
        if reason is not None:
            raise RowError(reason)
        return value

    return run


def _through_kernel(expr: Expr, places: Mapping[str, int | Scalar]) -> Scalar:
    names = sorted(columns(expr))
    types = {e.name: e.dtype for e in _columns(expr)}
    inputs = [compile_scalar(Column(n, types[n]), places) for n in names]
    renamed = substitute(expr, {n: Column(f"{i}", types[n]) for i, n in enumerate(names)})
    compiled = compile_kernel(renamed)
    steps = compiled.steps
    schema = {f"{i}": types[n] for i, n in enumerate(names)} or {"none": pl.Boolean()}
    selected = [compiled.value.alias("value"), *(f.condition.alias(f"{i}") for i, f in enumerate(compiled.failures))]

    def run(env: Env) -> Any:
        row = [f(env) for f in inputs] or [None]
        found = with_steps(pl.DataFrame([row], schema=schema, orient="row"), steps, selected).select(selected)
        for i, failure in enumerate(compiled.failures):
            if found.item(0, i + 1):
                raise RowError(failure.reason)
        try:
            return found.item(0, 0)
        except (ValueError, OverflowError):
            raise RowError("a time is beyond the years 1 to 9999") from None

    return run


def _columns(expr: Expr) -> list[Column]:
    return [e for e in walk(expr) if isinstance(e, Column)]


# -- arithmetic

_NATIVE: Final = (DOUBLE, *RANGES, TIMESTAMP, INTERVAL)
"""Types Python computes with as the kernel does; DATE, FLOAT and mixtures of DATE go through the kernel."""


def _checked(call: Call, compute: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """The operation with its overflow told."""
    reason = f"{type_name(call.dtype)} overflow in {call.function}"
    if is_integral(call.dtype):
        low, high = RANGES[call.dtype]

        def bounded(a: Any, b: Any) -> Any:
            value = compute(a, b)
            if low <= value <= high:
                return value
            raise RowError(reason)

        return bounded
    if call.dtype == DOUBLE:
        return compute

    def of_times(a: Any, b: Any) -> Any:
        try:
            return compute(a, b)
        except OverflowError:
            raise RowError(reason) from None

    return of_times


def _strict(compute: Callable[[Any, Any], Any], left: Scalar, right: Scalar) -> Scalar:
    """NULL where either is."""

    def run(env: Env) -> Any:
        a = left(env)
        if a is None:
            return None
        b = right(env)
        return None if b is None else compute(a, b)

    return run


def _sum(call: Call, args: list[Scalar]) -> Scalar | None:
    if any(a.dtype not in _NATIVE for a in call.args) or call.dtype not in _NATIVE:
        return None
    compute = operator.add if call.function == "+" else operator.sub
    return _strict(_checked(call, compute), *args)


def _product(call: Call, args: list[Scalar]) -> Scalar | None:
    if call.dtype == DOUBLE or is_integral(call.dtype):
        return _strict(_checked(call, _times), *args)
    return None


def _times(a: Any, b: Any) -> Any:
    return a * b


def _quotient(call: Call, args: list[Scalar]) -> Scalar | None:
    if call.dtype != DOUBLE or any(a.dtype != DOUBLE for a in call.args):
        return None
    left, right = args

    def run(env: Env) -> Any:
        b = right(env)
        if b is None:
            return None
        a = left(env)
        if a is None:
            return None
        if b == 0:
            raise RowError("division by zero")
        return a / b

    return run


def _hash(call: Call, args: list[Scalar]) -> Scalar | None:
    return _strict(hashed, *args)


def _whole(call: Call, args: list[Scalar]) -> Scalar | None:
    """`div` and `%` of integers, which round towards zero."""
    if any(not is_integral(a.dtype) for a in call.args):
        return None
    left, right = args
    low, high = RANGES[call.dtype]
    quotient = call.function == "div"

    def run(env: Env) -> Any:
        b = right(env)
        if b is None:
            return None
        a = left(env)
        if a is None:
            return None
        if b == 0:
            raise RowError("division by zero")
        q = abs(a) // abs(b)
        q = -q if (a < 0) != (b < 0) else q
        value = q if quotient else a - q * b
        if low <= value <= high:
            return value
        raise RowError(f"{type_name(call.dtype)} overflow in {call.function}")

    return run


def _sign(call: Call, args: list[Scalar]) -> Scalar | None:
    if call.dtype != DOUBLE and not is_integral(call.dtype):
        return None
    (inner,) = args
    turn = operator.neg if call.function == "neg" else abs
    high = RANGES[call.dtype][1] if is_integral(call.dtype) else math.inf

    def run(env: Env) -> Any:
        a = inner(env)
        if a is None:
            return None
        value = turn(a)
        if value > high:
            raise RowError(f"{type_name(call.dtype)} overflow in {call.function}")
        return value

    return run


# -- comparisons; NaN equals NaN and is greater than every other number


def _nan_last(compute: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    def run(a: float, b: float) -> bool:
        if a != a or b != b:
            return compute(a != a, b != b)
        return compute(a, b)

    return run


_COMPARED: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "=": operator.eq, "<>": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


def _comparison(call: Call, args: list[Scalar]) -> Scalar | None:
    compute = _COMPARED[call.function]
    if any(a.dtype.is_float() for a in call.args):
        compute = _nan_last(compute)
    return _strict(compute, *args)


def _same(call: Call, args: list[Scalar]) -> Scalar | None:
    left, right = args
    equal = _nan_last(operator.eq) if any(a.dtype.is_float() for a in call.args) else operator.eq

    def run(env: Env) -> bool:
        a, b = left(env), right(env)
        return a is None and b is None if a is None or b is None else bool(equal(a, b))

    return run


def _in(call: Call, args: list[Scalar]) -> Scalar | None:
    value, *items = args
    equal = _nan_last(operator.eq) if any(a.dtype.is_float() for a in call.args) else operator.eq

    def run(env: Env) -> bool | None:
        a = value(env)
        if a is None:
            return None
        unknown = False
        for item in items:
            b = item(env)
            if b is None:
                unknown = True
            elif equal(a, b):
                return True
        return None if unknown else False

    return run


def _is_null(call: Call, args: list[Scalar]) -> Scalar | None:
    (inner,) = args
    if call.function == "is_null":
        return lambda env: inner(env) is None
    return lambda env: inner(env) is not None


def _most(call: Call, args: list[Scalar]) -> Scalar | None:
    if call.dtype.is_float():
        return None
    pick = min if call.function == "least" else max

    def run(env: Env) -> Any:
        return pick((v for f in args if (v := f(env)) is not None), default=None)

    return run


# -- logic and choices, lazy


def _and(call: Call, args: list[Scalar]) -> Scalar | None:
    left, right = args

    def run(env: Env) -> bool | None:
        a = left(env)
        if a is False:
            return False
        b = right(env)
        return False if b is False else None if a is None or b is None else True

    return run


def _or(call: Call, args: list[Scalar]) -> Scalar | None:
    left, right = args

    def run(env: Env) -> bool | None:
        a = left(env)
        if a is True:
            return True
        b = right(env)
        return True if b is True else None if a is None or b is None else False

    return run


def _not(call: Call, args: list[Scalar]) -> Scalar | None:
    (inner,) = args

    def run(env: Env) -> bool | None:
        a = inner(env)
        return None if a is None else not a

    return run


def _case(call: Call, args: list[Scalar]) -> Scalar | None:
    pairs = list(zip(args[:-1:2], args[1:-1:2], strict=True))
    otherwise = args[-1]

    def run(env: Env) -> Any:
        for test, value in pairs:
            if test(env):
                return value(env)
        return otherwise(env)

    return run


def _coalesce(call: Call, args: list[Scalar]) -> Scalar | None:
    def run(env: Env) -> Any:
        for f in args:
            value = f(env)
            if value is not None:
                return value
        return None

    return run


# -- casts


def _cast(call: Call, args: list[Scalar]) -> Scalar | None:
    source, target = call.args[0].dtype, call.dtype
    (inner,) = args
    if source in (VOID, target):
        return inner
    if target == DOUBLE and (is_integral(source) or source in (BOOLEAN, pl.Float32())):
        convert: Callable[[Any], Any] = float
    elif is_integral(target) and is_integral(source):
        low, high = RANGES[target]
        source_low, source_high = RANGES[source]
        if low <= source_low and source_high <= high:
            return inner
        convert = _within(low, high, target)
    elif is_integral(target) and source == BOOLEAN:
        convert = int
    elif target == STRING and is_integral(source):
        convert = str
    elif is_integral(target) and target != BIGINT and source == DOUBLE:
        convert = _truncated(*RANGES[target], target)
    else:
        return None  # DATE and TIMESTAMP, texts, FLOAT: the kernel knows how
    return lambda env: None if (value := inner(env)) is None else convert(value)


def _within(low: int, high: int, target: pl.DataType) -> Callable[[int], int]:
    def convert(value: int) -> int:
        if low <= value <= high:
            return value
        raise RowError(f"the value can't be cast to {type_name(target)}")

    return convert


def _truncated(low: int, high: int, target: pl.DataType) -> Callable[[float], int]:
    def convert(value: float) -> int:
        if math.isfinite(value) and low <= (whole := int(value)) <= high:
            return whole
        raise RowError(f"the value can't be cast to {type_name(target)}")

    return convert


_OWN: Final[Mapping[str, Callable[[Call, list[Scalar]], Scalar | None]]] = {
    "+": _sum, "-": _sum, "*": _product, "/": _quotient, "div": _whole, "%": _whole, "neg": _sign, "abs": _sign,
    **dict.fromkeys(_COMPARED, _comparison), "<=>": _same, "in": _in, "is_null": _is_null, "is_not_null": _is_null,
    "greatest": _most, "least": _most, "and": _and, "or": _or, "not": _not, "case": _case, "coalesce": _coalesce,
    "cast": _cast, "hash": _hash,
}  # fmt: skip
"""Functions with a line of their own; None from one of them leaves the call to the kernel."""

__all__ = ["Env", "RowError", "Scalar", "compile_scalar"]
