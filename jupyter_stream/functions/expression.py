"""Bound expressions: what both engines translate. Names are resolved and types known; no text, no positions.

Everything that computes is a `Call` of a row of the function table, casts and CASE included, so that a back-end is a
table and one small visitor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, TypeVar

import polars as pl

from jupyter_stream.core.schema import type_name

_T = TypeVar("_T")


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


@dataclass(frozen=True, slots=True, eq=False)
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
    _hash: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        # kept, so that neither this nor comparing goes through all levels: a sum may have thousands
        object.__setattr__(self, "_hash", hash((self.function, self.args, self.dtype)))

    def __reduce__(self) -> tuple[type[Call], tuple[str, tuple[Expr, ...], pl.DataType]]:
        """Pickled without the hash: that of a text is another one in another process."""
        return Call, (self.function, self.args, self.dtype)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        pairs: list[tuple[object, object]] = [(self, other)]
        while pairs:
            one, two = pairs.pop()
            if one is two:
                continue
            if not isinstance(one, Call) or not isinstance(two, Call):
                if isinstance(one, Call) or isinstance(two, Call) or one != two:
                    return False
            elif one._hash != two._hash or one._own() != two._own():
                return False
            else:
                pairs.extend(zip(one.args, two.args, strict=True))
        return True

    def _own(self) -> tuple[str, pl.DataType, int]:
        """What it says itself, without its arguments."""
        return self.function, self.dtype, len(self.args)


Expr: TypeAlias = Column | Literal | Call


@dataclass(frozen=True, slots=True)
class LambdaBody:
    """What a lambda gives, the value of a literal: its parameters and what it takes from around it are columns of its own.

    Attributes:
        parameters: the columns of its parameters.
        captured: the columns of what it takes from around it, which stands among the arguments of the call before it.
        body: over these columns.
    """

    parameters: tuple[Column, ...]
    captured: tuple[Column, ...]
    body: Expr

    def __str__(self) -> str:
        return self.in_words([c.name for c in self.captured])

    def in_words(self, around: Sequence[str]) -> str:
        """The lambda as it was written, from the words for what it takes from around it."""
        said = {column.name: _as_parameter(column.name) for column in self.parameters}
        names = ", ".join(said.values())
        said |= {column.name: words for column, words in zip(self.captured, around, strict=False)}
        body = fold(self.body, lambda e, args: said.get(e.name, e.name) if isinstance(e, Column) else in_words(e, args))
        return f"({names}) -> {body}" if len(self.parameters) > 1 else f"{names} -> {body}"


def walk(expr: Expr) -> Iterator[Expr]:
    """The expression and all below it, outermost first."""
    left = [expr]
    while left:
        found = left.pop()
        yield found
        if isinstance(found, Call):
            left.extend(reversed(found.args))


def fold(expr: Expr, make: Callable[[Expr, tuple[_T, ...]], _T]) -> _T:
    """What `make` gives for the expression, from what it gave for its arguments; however many levels there are.

    Args:
        expr: the expression.
        make: takes an expression and what was made of its arguments.
    """
    if not (isinstance(expr, Call) and expr.args):
        return make(expr, ())
    todo: list[tuple[Expr, bool]] = [(expr, False)]
    made: list[_T] = []
    while todo:
        found, below_is_done = todo.pop()
        if isinstance(found, Call) and found.args and not below_is_done:
            todo.append((found, True))
            todo.extend((arg, False) for arg in reversed(found.args))
            continue
        count = len(found.args) if isinstance(found, Call) else 0
        parts = tuple(made[len(made) - count :])
        del made[len(made) - count :]
        made.append(make(found, parts))
    return made[0]


def conjuncts(condition: Expr) -> list[Expr]:
    """What AND puts together."""
    found: list[Expr] = []
    left = [condition]
    while left:
        part = left.pop()
        if isinstance(part, Call) and part.function == "and":
            left.extend(reversed(part.args))
        else:
            found.append(part)
    return found


def columns(expr: Expr) -> frozenset[str]:
    """Names of the columns it reads."""
    if isinstance(expr, Column):
        return frozenset((expr.name,))
    return frozenset(e.name for e in walk(expr) if isinstance(e, Column))


def substitute(expr: Expr, by_name: dict[str, Expr]) -> Expr:
    """The expression with columns replaced, those named in `by_name`."""

    def replaced(found: Expr, args: tuple[Expr, ...]) -> Expr:
        if isinstance(found, Column):
            return by_name.get(found.name, found)
        return Call(found.function, args, found.dtype) if isinstance(found, Call) else found

    return fold(expr, replaced)


def show(expr: Expr) -> str:
    """The expression for people, as EXPLAIN prints it; of a very long one the beginning and the end."""
    return fold(expr, in_words)


_SHOWN = 2_000
"""Characters of an expression that are shown."""


def in_words(expr: Expr, args: tuple[str, ...]) -> str:
    """The expression for people, from its arguments' words."""
    text = _said(expr, args)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN // 2]} ... {text[-_SHOWN // 2 + 5 :]}"


def _as_parameter(column: str) -> str:
    """A lambda's parameter: `x`, of the column `$x 30` that it is inside."""
    return column[1:].partition(" ")[0] if column.startswith("$") else column


def _with_lambdas(call: Call, args: tuple[str, ...]) -> tuple[str, ...]:
    """Words for a call's arguments, those of a lambda in it and not before it."""
    said: list[str] = []
    for arg, words in zip(call.args, args, strict=True):
        if isinstance(arg, Literal) and isinstance(arg.value, LambdaBody):
            first = max(0, len(said) - len(arg.value.captured))
            said, around = said[:first], said[first:]
            said.append(arg.value.in_words(around))
        else:
            said.append(words)
    return tuple(said)


def _said(expr: Expr, args: tuple[str, ...]) -> str:
    if isinstance(expr, Column):
        return expr.name
    if isinstance(expr, Literal):
        return f"'{expr.value}'" if isinstance(expr.value, str) else "NULL" if expr.value is None else str(expr.value)
    args = _with_lambdas(expr, args)
    if expr.function == "cast":
        return f"cast({args[0]} AS {type_name(expr.dtype)})"
    if expr.function == "[]":
        return f"{args[0]}[{args[1]}]"
    if not expr.function[0].isalpha() and len(expr.args) == 2:
        return f"({args[0]} {expr.function} {args[1]})"
    if expr.function in ("and", "or"):
        return "(" + f" {expr.function.upper()} ".join(args) + ")"
    return f"{expr.function}({', '.join(args)})"
