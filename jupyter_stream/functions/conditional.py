"""Boolean operators and choices. Lazy as in Spark: only the branch that is taken can fail."""

from __future__ import annotations

from typing import Final

import polars as pl

from jupyter_stream.functions.binding import condition, count, together
from jupyter_stream.functions.casts import cast
from jupyter_stream.functions.comparison import FUNCTIONS as COMPARISONS
from jupyter_stream.functions.expression import Call, Expr, Literal
from jupyter_stream.functions.function import BadArguments, Bind, Compiled, Failure, Function, eager, guarded
from jupyter_stream.functions.types import BOOLEAN, VOID

_AT_ONCE: Final = 16
"""Branches in one call; what comes after them is another, in their ELSE: each failure of a branch asks for all before it."""

_EQUAL: Final = next(f for f in COMPARISONS if f.name == "=")


def _bind_logic(name: str) -> Bind:
    def bind(args: tuple[Expr, ...]) -> Expr:
        count(name, args, 2)
        made = condition(name, args[0])
        for arg in args[1:]:
            made = Call(name, (made, condition(name, arg)), BOOLEAN)
        return made

    return bind


def _and(call: Call, parts: tuple[Compiled, ...]) -> Compiled:
    a, b = parts
    return Compiled(a.value & b.value, a.failures + guarded(a.value.fill_null(True), b.failures))


def _or(call: Call, parts: tuple[Compiled, ...]) -> Compiled:
    a, b = parts
    return Compiled(a.value | b.value, a.failures + guarded(~a.value.fill_null(False), b.failures))


def _bind_not(args: tuple[Expr, ...]) -> Expr:
    count("not", args, 1, 1)
    return Call("not", (condition("not", args[0]),), BOOLEAN)


def _bind_case(args: tuple[Expr, ...]) -> Expr:
    """Takes condition, value, condition, value, ... and perhaps a value for else; gives one always."""
    count("case", args, 2)
    if len(args) % 2 == 0:
        args = (*args, Literal(None, VOID))
    conditions = [condition("CASE WHEN", c) for c in args[:-1:2]]
    values = together("CASE", (*args[1:-1:2], args[-1]))
    pairs = [x for pair in zip(conditions, values[:-1], strict=True) for x in pair]
    made = values[-1]
    for start in reversed(range(0, len(pairs), 2 * _AT_ONCE)):
        made = Call("case", (*pairs[start : start + 2 * _AT_ONCE], made), made.dtype)
    return made


def _case(call: Call, parts: tuple[Compiled, ...]) -> Compiled:
    failures: list[Failure] = []
    value = parts[-1].value
    for test, branch in zip(reversed(parts[:-1:2]), reversed(parts[1:-1:2]), strict=True):
        value = pl.when(test.value).then(branch.value).otherwise(value)
    open_: pl.Expr | None = None  # rows no condition so far was true for; None for all
    for i in range(0, len(parts) - 1, 2):
        test, branch = parts[i], parts[i + 1]
        failures.extend(test.failures if open_ is None else guarded(open_, test.failures))
        taken = test.value.fill_null(False)
        failures.extend(guarded(taken if open_ is None else open_ & taken, branch.failures))
        open_ = ~taken if open_ is None else open_ & ~taken
    failures.extend(guarded(open_, parts[-1].failures) if open_ is not None else ())
    return Compiled(value, tuple(failures))


def _spark_case(call: Call, args: tuple[str, ...]) -> str:
    whens = " ".join(f"WHEN {c} THEN {v}" for c, v in zip(args[:-1:2], args[1:-1:2], strict=True))
    return f"(CASE {whens} ELSE {args[-1]} END)"


def _bind_if(args: tuple[Expr, ...]) -> Expr:
    count("if", args, 3, 3)
    return _bind_case(args)


def _bind_coalesce(name: str, least: int, most: int | None) -> Bind:
    def bind(args: tuple[Expr, ...]) -> Expr:
        count(name, args, least, most)
        *others, made = together(name, args)
        for start in reversed(range(0, len(others), _AT_ONCE)):
            made = Call("coalesce", (*others[start : start + _AT_ONCE], made), made.dtype)
        return made

    return bind


def _coalesce(call: Call, parts: tuple[Compiled, ...]) -> Compiled:
    failures = list(parts[0].failures)
    for i, part in enumerate(parts[1:], 1):
        if part.failures:
            unset = pl.all_horizontal(p.value.is_null() for p in parts[:i])
            failures.extend(guarded(unset, part.failures))
    return Compiled(pl.coalesce(*(p.value for p in parts)), tuple(failures))


def _bind_nvl2(args: tuple[Expr, ...]) -> Expr:
    count("nvl2", args, 3, 3)
    return _bind_case((Call("is_not_null", (args[0],), BOOLEAN), args[1], args[2]))


def _bind_nullif(args: tuple[Expr, ...]) -> Expr:
    count("nullif", args, 2, 2)
    return _bind_case((_EQUAL.bind(args), cast(Literal(None, VOID), args[0].dtype), args[0]))


def _bind_raise(args: tuple[Expr, ...]) -> Expr:
    count("raise_error", args, 1, 1)
    if not isinstance(args[0], Literal) or not isinstance(args[0].value, str):
        raise BadArguments("raise_error takes a text in quotes")
    return Call("raise_error", args, VOID)


def _raise(call: Call, text: pl.Expr) -> Compiled:
    (message,) = call.args
    assert isinstance(message, Literal)
    return Compiled(pl.lit(None), (Failure(pl.lit(True), str(message.value)),))


FUNCTIONS: Final = (
    Function(
        "raise_error", "raise_error(message)", "Fails: the row goes to the errors, with the message.",
        "if(1 > 2, raise_error('no'), 3) = 3", _bind_raise, eager(_raise), "raise_error({0})",
    ),
    Function(
        "and", "a AND b -> BOOLEAN", "Both; b isn't evaluated where a is false.", "true AND NULL is NULL",
        _bind_logic("and"), _and, "({0} AND {1})",
    ),
    Function(
        "or", "a OR b -> BOOLEAN", "Either; b isn't evaluated where a is true.", "true OR NULL is true",
        _bind_logic("or"), _or, "({0} OR {1})",
    ),
    Function(
        "not", "NOT a -> BOOLEAN", "The opposite; NULL of NULL.", "NOT false is true", _bind_not,
        eager(lambda call, a: ~a), "(NOT {0})",
    ),
    Function(
        "case", "CASE WHEN condition THEN value ... [ELSE value] END",
        "The value of the first condition that is true.", "CASE WHEN 1 > 2 THEN 'a' ELSE 'b' END = 'b'", _bind_case,
        _case, _spark_case,
    ),
    Function(
        "if", "if(condition, a, b)", "a where the condition is true, else b.", "if(1 > 2, 'a', 'b') = 'b'", _bind_if,
    ),
    Function(
        "coalesce", "coalesce(a, b, ...)", "The first that is not NULL.", "coalesce(NULL, 2) = 2",
        _bind_coalesce("coalesce", 1, None), _coalesce, lambda call, args: f"coalesce({', '.join(args)})",
    ),
    Function("nvl", "nvl(a, b)", "a, or b where a is NULL.", "nvl(NULL, 2) = 2", _bind_coalesce("nvl", 2, 2)),
    Function(
        "ifnull", "ifnull(a, b)", "a, or b where a is NULL.", "ifnull(NULL, 2) = 2", _bind_coalesce("ifnull", 2, 2),
    ),
    Function("nvl2", "nvl2(a, b, c)", "b where a is not NULL, else c.", "nvl2(NULL, 1, 2) = 2", _bind_nvl2),
    Function("nullif", "nullif(a, b)", "NULL where a equals b, else a.", "nullif(1, 1) = NULL", _bind_nullif),
)  # fmt: skip
