"""Bound expressions: what both engines translate. Names are resolved and types known; no text, no positions.

Everything that computes is a `Call` of a row of the function table, casts and CASE included, so that a back-end is a
table and one small visitor.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import polars as pl

from jupyter_stream.core.schema import type_name


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the operator's input, by its exact name (system columns such as `$ts` as well)."""

    name: str
    dtype: pl.DataType


@dataclass(frozen=True, slots=True, eq=False)
class Literal:
    """A constant. `value` is a Python value Polars takes for `dtype`: times are datetime, intervals timedelta.

    Equal constants are the same in any expression: 0.0 is not -0.0, and NaN is itself.
    """

    value: object
    dtype: pl.DataType

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Literal) and self.dtype == other.dtype and repr(self.value) == repr(other.value)

    def __hash__(self) -> int:
        return hash((repr(self.value), self.dtype))


@dataclass(frozen=True, slots=True)
class Call:
    """A function of the table applied to arguments (already cast to what it takes).

    Attributes:
        function: the table's name for it, in lower case: `+`, `and`, `case`, `cast`, `upper`, ...
            `case` takes condition, value, condition, value, ..., else.
            `cast` and `try_cast` take one argument; `dtype` says to what.
        args: the arguments.
        dtype: the result's type.
    """

    function: str
    args: tuple[Expr, ...]
    dtype: pl.DataType


Expr: TypeAlias = Column | Literal | Call


def walk(expr: Expr) -> Iterator[Expr]:
    """The expression and all below it, outermost first."""
    yield expr
    if isinstance(expr, Call):
        for arg in expr.args:
            yield from walk(arg)


def columns(expr: Expr) -> frozenset[str]:
    """Names of the columns it reads."""
    return frozenset(e.name for e in walk(expr) if isinstance(e, Column))


def substitute(expr: Expr, by_name: dict[str, Expr]) -> Expr:
    """The expression with columns replaced, those named in `by_name`."""
    if isinstance(expr, Column):
        return by_name.get(expr.name, expr)
    if isinstance(expr, Call):
        return Call(expr.function, tuple(substitute(a, by_name) for a in expr.args), expr.dtype)
    return expr


def show(expr: Expr) -> str:
    """The expression for people, as EXPLAIN prints it."""
    if isinstance(expr, Column):
        return expr.name
    if isinstance(expr, Literal):
        return f"'{expr.value}'" if isinstance(expr.value, str) else "NULL" if expr.value is None else str(expr.value)
    if expr.function == "cast":
        return f"cast({show(expr.args[0])} AS {type_name(expr.dtype)})"
    if not expr.function[0].isalpha() and len(expr.args) == 2:
        return f"({show(expr.args[0])} {expr.function} {show(expr.args[1])})"
    if expr.function in ("and", "or"):
        return "(" + f" {expr.function.upper()} ".join(show(a) for a in expr.args) + ")"
    return f"{expr.function}({', '.join(show(a) for a in expr.args)})"
