"""Type rules that rows of the table share: how arguments are coerced and what type comes out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

import polars as pl

from jupyter_stream.core.schema import type_name
from jupyter_stream.functions import types
from jupyter_stream.functions.casts import cast, coerce
from jupyter_stream.functions.expression import Call, Expr, Literal, columns
from jupyter_stream.functions.function import BadArguments, Bind, names_of
from jupyter_stream.functions.types import BOOLEAN, DOUBLE, INT, STRING, VOID

Result: TypeAlias = pl.DataType | Callable[[tuple[Expr, ...]], pl.DataType]

ANY: Final = None
"""A parameter that takes any type."""


def takes(name: str, *parameters: pl.DataType | None, result: Result, optional: int = 0) -> Bind:
    """A fixed list of parameters, the last `optional` of which may be left out. `ANY` takes any type."""
    least = len(parameters) - optional

    def bind(args: tuple[Expr, ...]) -> Expr:
        count(name, args, least, len(parameters))
        given = tuple(argument(name, i, a, p) for i, (a, p) in enumerate(zip(args, parameters, strict=False)))
        return Call(name, given, result if isinstance(result, pl.DataType) else result(given))

    return bind


def count(name: str, args: tuple[Expr, ...], least: int, most: int | None = None) -> None:
    """Raise unless there are at least and at most so many arguments."""
    if len(args) < least or (most is not None and len(args) > most):
        wanted = f"at least {least}" if most is None else str(least) if least == most else f"{least} to {most}"
        plural = "" if wanted in ("1", "at least 1") else "s"
        raise BadArguments(f"{name} takes {wanted} argument{plural}, not {len(args)}")


def argument(name: str, index: int, expr: Expr, wanted: pl.DataType | None) -> Expr:
    """The argument as the wanted type."""
    if wanted is ANY:
        return admit(expr)
    made = coerce(expr, wanted)
    if made is None:
        which = f"argument {index + 1} of {name}"
        raise BadArguments(f"{which} must be {type_name(wanted)}, not {type_name(expr.dtype)}")
    return made


def admit(expr: Expr) -> Expr:
    """The expression as a type that expressions compute with."""
    return cast(expr, types.admitted(expr.dtype))


def numeric(name: str, index: int, expr: Expr) -> Expr:
    """A number as it is; a string or NULL as DOUBLE."""
    expr = admit(expr)
    if types.is_numeric(expr.dtype):
        return expr
    if expr.dtype in (STRING, VOID):
        return cast(expr, DOUBLE)
    raise BadArguments(f"argument {index + 1} of {name} must be a number, not {type_name(expr.dtype)}")


def together(name: str, args: tuple[Expr, ...]) -> tuple[Expr, ...]:
    """The arguments as their common type."""
    admitted = tuple(a if isinstance(a.dtype, pl.Decimal) else admit(a) for a in args)
    common = types.common_type(a.dtype for a in admitted)
    if common is None:
        raise BadArguments(f"{name} can't take {names_of([a.dtype for a in admitted])} together")
    return tuple(cast(a, common) for a in admitted)


def condition(name: str, expr: Expr) -> Expr:
    """A BOOLEAN argument."""
    made = coerce(expr, BOOLEAN)
    if made is None:
        raise BadArguments(f"{name} needs a BOOLEAN, not {type_name(expr.dtype)}")
    return made


def item_number(name: str, index: int, expr: Expr) -> Expr:
    """The number of an item, an INT. A constant is looked at once, when the query is planned, as Spark does.

    Raises:
        BadArguments: if it is a constant and no INT, whatever the other arguments are.
    """
    made = argument(name, index, expr, INT)
    if isinstance(made, Call) and not columns(made):
        constant(name, index, made)
    return made


def constant(name: str, index: int, expr: Expr) -> Literal:
    """An argument that must be a constant of the query, as a literal (its casts done).

    Raises:
        BadArguments: if it reads a column, or fails.
    """
    from jupyter_stream.functions.kernel import compile_kernel  # the kernel knows the table, the table these rules

    if isinstance(expr, Literal):
        return expr
    which = f"argument {index + 1} of {name}"
    if columns(expr):
        raise BadArguments(f"{which} must be a constant, not a column")
    made = compile_kernel(expr)
    for failure in made.failures:
        if pl.select(failure.condition).item():
            raise BadArguments(f"{which}: {failure.reason}")
    return Literal(pl.select(made.value).item(), expr.dtype)
