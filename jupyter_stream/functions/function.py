"""What a row of the function table is, and what its kernel gives. Not for any particular function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import polars as pl

from jupyter_stream.core.schema import type_name
from jupyter_stream.functions.expression import Call, Expr


class UnknownFunction(ValueError):
    """No function of that name.

    Attributes:
        name: as written.
        suggestions: names that look like it, the nearest first.
    """

    def __init__(self, name: str, suggestions: tuple[str, ...]) -> None:
        super().__init__(f"there is no function {name}")
        self.name = name
        self.suggestions = suggestions


class BadArguments(ValueError):
    """A function was given what it doesn't take: `message` says what it takes."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


@dataclass(frozen=True, slots=True)
class Failure:
    """Rows an expression can't be computed for.

    Attributes:
        condition: true on those rows, never NULL. Of length 1 where the expression has no columns (Polars broadcasts it).
        reason: why, for people.
    """

    condition: pl.Expr
    reason: str


@dataclass(frozen=True, slots=True)
class Compiled:
    """An expression for Polars.

    Attributes:
        value: never raises; its value is unspecified on rows that fail.
        failures: rows that fail and why, the first that holds being the one Spark would raise; empty if no row can.
    """

    value: pl.Expr
    failures: tuple[Failure, ...] = ()


Bind: TypeAlias = Callable[[tuple[Expr, ...]], Expr]
Kernel: TypeAlias = Callable[[Call, tuple[Compiled, ...]], Compiled]
Spark: TypeAlias = str | Callable[[Call, tuple[str, ...]], str]


@dataclass(frozen=True, slots=True)
class Function:
    """A row of the table.

    Attributes:
        name: in lower case, as a query writes it.
        signature: for people, such as `substring(string, position[, length]) -> STRING`.
        description: one line.
        example: an expression and its value.
        bind: the type rule: coerces arguments and says the result's type, or writes the call in terms of other functions.
        kernel: the Polars expression; None for a function that `bind` always writes in terms of others.
        spark: a format string over the arguments' Spark SQL, or a function that gives it; None with `kernel`.
    """

    name: str
    signature: str
    description: str
    example: str
    bind: Bind
    kernel: Kernel | None = None
    spark: Spark | None = None


def guarded(guard: pl.Expr, failures: Sequence[Failure]) -> tuple[Failure, ...]:
    """The failures, on the rows where `guard` is true only."""
    return tuple(Failure(guard & f.condition, f.reason) for f in failures)


def inherited(parts: Sequence[Compiled]) -> tuple[Failure, ...]:
    """Failures of arguments that Spark evaluates from left to right, up to the first NULL."""
    found: list[Failure] = []
    for i, part in enumerate(parts):
        failures = part.failures
        for earlier in parts[:i] if failures else ():
            failures = guarded(earlier.value.is_not_null(), failures)
        found.extend(failures)
    return tuple(found)


def strict(compute: Callable[..., pl.Expr | Compiled]) -> Kernel:
    """A kernel from `compute(call, *values)` for a function that is NULL when an argument is.

    `compute` gives the value, or a `Compiled` with the failures of its own.
    """

    def kernel(call: Call, parts: tuple[Compiled, ...]) -> Compiled:
        made = compute(call, *(p.value for p in parts))
        failures = inherited(parts)
        return (
            Compiled(made.value, failures + made.failures) if isinstance(made, Compiled) else Compiled(made, failures)
        )

    return kernel


def eager(compute: Callable[..., pl.Expr | Compiled]) -> Kernel:
    """A kernel as `strict` makes, for a function that has all its arguments evaluated, whichever are NULL."""

    def kernel(call: Call, parts: tuple[Compiled, ...]) -> Compiled:
        made = compute(call, *(p.value for p in parts))
        failures = tuple(f for p in parts for f in p.failures)
        return (
            Compiled(made.value, failures + made.failures) if isinstance(made, Compiled) else Compiled(made, failures)
        )

    return kernel


def names_of(types: Sequence[pl.DataType]) -> str:
    """Types for a message: `BIGINT and STRING`."""
    shown = [type_name(t) for t in types]
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)
