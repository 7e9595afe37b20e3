"""What a row of the function table is, and what its kernel gives. Not for any particular function."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import polars as pl

from jupyter_stream.core.schema import type_name
from jupyter_stream.functions.expression import Call, Expr

MOST_TEXT: Final = 1_000_000
"""Characters a text may have that a function makes longer than what it was given."""
TOO_LONG: Final = f"a text may not be made longer than {MOST_TEXT:,} characters"


class UnknownFunction(ValueError):
    """No function of that name.

    Attributes:
        name: as written.
        suggestion: the name that was probably meant, if any.
    """

    def __init__(self, name: str, suggestion: str | None) -> None:
        super().__init__(f"there is no function {name}")
        self.name = name
        self.suggestion = suggestion


class BadArguments(ValueError):
    """A function or an aggregate was given what it doesn't take: `message` says what it takes."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


@dataclass(frozen=True, slots=True)
class Failure:
    """Rows an expression can't be computed for.

    Attributes:
        condition: true on those rows, never NULL. Of length 1 where the expression has no columns (Polars broadcasts it).
        reason: why, for people.
        said: why, row by row, where that differs.
    """

    condition: pl.Expr
    reason: str
    said: pl.Expr | None = None


class ComputedStep(ABC):
    """A column that isn't computed by Polars.

    Attributes:
        name: of the column.
        args: what it is computed of.
    """

    name: str
    args: tuple[pl.Expr, ...]

    @abstractmethod
    def __call__(self, frame: pl.DataFrame) -> pl.DataFrame:
        """The frame with the column."""


Step: TypeAlias = tuple[pl.Expr, ...] | ComputedStep


@dataclass(frozen=True, slots=True)
class Compiled:
    """An expression for Polars.

    Attributes:
        value: never raises; its value is unspecified on rows that fail.
        failures: rows that fail and why, the first that holds being the one Spark would raise; empty if no row can.
        steps: columns that the two read beside the frame's own, or what adds them to a frame; each group may read those
            before it (`with_steps`).
    """

    value: pl.Expr
    failures: tuple[Failure, ...] = ()
    steps: tuple[Step, ...] = ()


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
        only_here: whether a call has no Spark SQL that gives the same: its query then runs as the kernel's operators there.
    """

    name: str
    signature: str
    description: str
    example: str
    bind: Bind
    kernel: Kernel | None = None
    spark: Spark | None = None
    only_here: Callable[[Call], bool] = lambda call: False


def guarded(guard: pl.Expr, failures: Sequence[Failure]) -> tuple[Failure, ...]:
    """The failures, on the rows where `guard` is true only."""
    return tuple(Failure(guard & f.condition, f.reason, f.said) for f in failures)


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
