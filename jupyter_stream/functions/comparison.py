"""Comparisons: `= <> < <= > >= <=>`, IN, BETWEEN, greatest and least, tests for NULL and NaN.

NaN equals NaN and is greater than every other number, as in Spark; Polars has the same order.
"""

from __future__ import annotations

from typing import Final

import polars as pl

from jupyter_stream.core.schema import type_name
from jupyter_stream.functions.binding import count, numeric, together
from jupyter_stream.functions.casts import cast
from jupyter_stream.functions.expression import Call, Expr, Literal, columns
from jupyter_stream.functions.function import BadArguments, Bind, Compiled, Function, eager, guarded, strict
from jupyter_stream.functions.types import ATOMIC, BOOLEAN, DOUBLE, FLOAT, VOID

_MIRRORED: Final = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<=", "<=>": "<=>"}
_AT_ONCE: Final = 16
"""Items that are no constants in one call: each failure of an item asks for all before it."""


def _bind(name: str) -> Bind:
    def bind(args: tuple[Expr, ...]) -> Expr:
        count(name, args, 2, 2)
        a, b = _comparable(name, args)
        return Call(name, (a, b), BOOLEAN)

    return bind


def _comparable(name: str, args: tuple[Expr, ...]) -> tuple[Expr, ...]:
    made = together(name, args)
    if made[0].dtype not in (*ATOMIC, VOID) and not isinstance(made[0].dtype, pl.Decimal):
        raise BadArguments(f"{name} can't compare {type_name(made[0].dtype)}")
    # Polars has no kernels for columns of type NULL.
    return tuple(cast(a, BOOLEAN) for a in made) if made[0].dtype == VOID else made


def _between(args: tuple[Expr, ...]) -> Expr:
    count("between", args, 3, 3)
    value, low, high = args
    return Call("and", (_bind(">=")((value, low)), _bind("<=")((value, high))), BOOLEAN)


def _in(args: tuple[Expr, ...]) -> Expr:
    count("in", args, 2)
    value, *items = _comparable("in", args)
    if all(isinstance(item, Literal) for item in items):
        return Call("in", (value, *items), BOOLEAN)
    made: Expr | None = None
    for start in range(0, len(items), _AT_ONCE):
        part = Call("in", (value, *items[start : start + _AT_ONCE]), BOOLEAN)
        made = part if made is None else Call("or", (made, part), BOOLEAN)
    assert made is not None
    return made


def among_constants(call: Call) -> bool:
    """Whether what IN asks for is constants, which are looked for at once: not numbers with a point, of which two are zero."""
    return call.args[0].dtype not in (FLOAT, DOUBLE) and all(isinstance(a, Literal) for a in call.args[1:])


def _is_among(call: Call, parts: tuple[Compiled, ...]) -> Compiled:
    value, *items = parts
    if among_constants(call):
        given = [a.value for a in call.args[1:] if isinstance(a, Literal)]
        if isinstance(call.args[1].dtype, pl.List) and isinstance(given[0], tuple):  # many, as one
            given = list(given[0])
        known = [v for v in given if v is not None]
        found = value.value.is_in(pl.Series(known, dtype=call.args[0].dtype).implode()) if known else pl.lit(False)
        if len(known) < len(given):
            found = pl.when(found).then(True)
        return Compiled(pl.when(value.value.is_not_null()).then(found), value.failures)
    failures = list(value.failures)
    found = pl.lit(False)
    for item in items:
        # An item is looked at when there is a value and no item before it was equal.
        failures.extend(guarded(value.value.is_not_null() & found.not_().fill_null(True), item.failures))
        found = found | _compare("=", call.args[0], value.value, item.value)
    return Compiled(pl.when(value.value.is_not_null()).then(found), tuple(failures))


def _bind_most(name: str) -> Bind:
    def bind(args: tuple[Expr, ...]) -> Expr:
        count(name, args, 2)
        made = _comparable(name, args) if any(a.dtype != VOID for a in args) else args
        return Call(name, made, made[0].dtype)

    return bind


def _most(call: Call, *values: pl.Expr) -> pl.Expr:
    if call.function == "least":
        return pl.min_horizontal(*values)
    most = pl.max_horizontal(*values)
    if call.dtype in (FLOAT, DOUBLE):  # the greatest is NaN, which this kernel leaves out
        return (
            pl.when(pl.any_horizontal(*(v.is_nan() for v in values)))
            .then(float("nan"))
            .otherwise(most)
            .cast(call.dtype)
        )
    return most


def _bind_null_test(name: str) -> Bind:
    def bind(args: tuple[Expr, ...]) -> Expr:
        count(name, args, 1, 1)
        return Call(name, args, BOOLEAN)

    return bind


def _bind_isnan(args: tuple[Expr, ...]) -> Expr:
    count("isnan", args, 1, 1)
    return Call("isnan", (numeric("isnan", 0, args[0]),), BOOLEAN)


def _is_nan(call: Call, value: pl.Expr) -> pl.Expr:
    return value.is_nan().fill_null(False) if call.args[0].dtype in (FLOAT, DOUBLE) else pl.lit(False)


def _bind_nanvl(args: tuple[Expr, ...]) -> Expr:
    count("nanvl", args, 2, 2)
    a, b = together("nanvl", tuple(numeric("nanvl", i, a) for i, a in enumerate(args)))
    wanted = a.dtype if a.dtype in (FLOAT, DOUBLE) else DOUBLE
    return Call("nanvl", (cast(a, wanted), cast(b, wanted)), wanted)


def _nanvl(call: Call, parts: tuple[Compiled, ...]) -> Compiled:
    first, second = parts
    nan = first.value.is_nan()
    value = pl.when(nan).then(second.value).otherwise(first.value)
    return Compiled(value, first.failures + guarded(nan, second.failures))


def _compare(name: str, left: Expr, a: pl.Expr, b: pl.Expr) -> pl.Expr:
    """The comparison, a constant behind: before a CASE of constants Polars gives one value for all rows."""
    if not columns(left):
        name, a, b = _MIRRORED[name], b, a
    return {"=": a.eq, "<>": a.ne, "<": a.lt, "<=": a.le, ">": a.gt, ">=": a.ge, "<=>": a.eq_missing}[name](b)


def _comparison(name: str, text: str, example: str) -> Function:
    def compute(call: Call, a: pl.Expr, b: pl.Expr) -> pl.Expr:
        return _compare(name, call.args[0], a, b)

    return Function(
        name, f"a {name} b -> BOOLEAN", text, example, _bind(name), strict(compute), f"({{0}} {name} {{1}})"
    )


FUNCTIONS: Final = (
    _comparison("=", "Equal; NULL where either is NULL. NaN equals NaN.", "1 = 1.0 is true"),
    Function("==", "a == b -> BOOLEAN", "Equal, as =.", "1 == 1 is true", _bind("=")),
    _comparison("<>", "Not equal.", "1 <> 2 is true"),
    Function("!=", "a != b -> BOOLEAN", "Not equal, as <>.", "1 != 2 is true", _bind("<>")),
    _comparison("<", "Less.", "1 < 2 is true"),
    _comparison("<=", "Less or equal.", "2 <= 2 is true"),
    _comparison(">", "Greater; NaN is the greatest number.", "2 > 1 is true"),
    _comparison(">=", "Greater or equal.", "2 >= 2 is true"),
    Function(
        "<=>", "a <=> b -> BOOLEAN", "Equal, where NULL equals NULL; never NULL itself.", "NULL <=> NULL is true",
        _bind("<=>"), eager(lambda call, a, b: _compare("<=>", call.args[0], a, b)), "({0} <=> {1})",
    ),
    Function(
        "between", "a BETWEEN low AND high -> BOOLEAN", "Whether low <= a <= high.", "2 BETWEEN 1 AND 3 is true",
        _between,
    ),
    Function(
        "in", "a IN (b, c, ...) -> BOOLEAN", "Whether a equals one of them; NULL if not and one of them is NULL.",
        "2 IN (1, 2) is true", _in, _is_among, lambda call, args: f"({args[0]} IN ({', '.join(args[1:])}))",
    ),
    Function(
        "greatest", "greatest(a, b, ...)", "The greatest that is not NULL.", "greatest(1, 3, NULL) = 3",
        _bind_most("greatest"), eager(_most), lambda call, args: f"greatest({', '.join(args)})",
    ),
    Function(
        "least", "least(a, b, ...)", "The least that is not NULL.", "least(1, 3, NULL) = 1", _bind_most("least"),
        eager(_most), lambda call, args: f"least({', '.join(args)})",
    ),
    Function(
        "is_null", "a IS NULL -> BOOLEAN", "Whether there is no value.", "NULL IS NULL is true",
        _bind_null_test("is_null"), eager(lambda call, a: a.is_null()), "({0} IS NULL)",
    ),
    Function(
        "isnull", "isnull(a) -> BOOLEAN", "Whether there is no value.", "isnull(NULL) is true",
        _bind_null_test("is_null"),
    ),
    Function(
        "is_not_null", "a IS NOT NULL -> BOOLEAN", "Whether there is a value.", "1 IS NOT NULL is true",
        _bind_null_test("is_not_null"), eager(lambda call, a: a.is_not_null()), "({0} IS NOT NULL)",
    ),
    Function(
        "isnotnull", "isnotnull(a) -> BOOLEAN", "Whether there is a value.", "isnotnull(1) is true",
        _bind_null_test("is_not_null"),
    ),
    Function(
        "isnan", "isnan(number) -> BOOLEAN", "Whether it is NaN; false for NULL.", "isnan(1) is false", _bind_isnan,
        eager(_is_nan), "isnan({0})",
    ),
    Function(
        "nanvl", "nanvl(a, b)", "a, or b where a is NaN.", "nanvl(CAST('NaN' AS DOUBLE), 0.0) = 0.0", _bind_nanvl,
        _nanvl, "nanvl({0}, {1})",
    ),
)  # fmt: skip
