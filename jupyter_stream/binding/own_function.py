"""Functions of one's own: `@jupyter_stream.function` in Python, and CREATE FUNCTION, whose expression stands in for its calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar, overload

import polars as pl

from jupyter_stream import aggregates, functions
from jupyter_stream.aggregates.user import declared
from jupyter_stream.binding.bind_expression import ExpressionBinder
from jupyter_stream.core.schema import type_name
from jupyter_stream.errors import QueryError
from jupyter_stream.functions import Column, Expr
from jupyter_stream.functions.binding import argument, count
from jupyter_stream.functions.expression import substitute
from jupyter_stream.functions.own import PYTHON
from jupyter_stream.functions.python import PythonFunction
from jupyter_stream.syntax.nodes import FunctionCall, Node, walk
from jupyter_stream.syntax.source_text import Name
from jupyter_stream.syntax.syntax import CreateFunction

Made = TypeVar("Made", bound=Callable[..., Any])


@overload
def function(made: Made, /) -> Made: ...


@overload
def function(
    *,
    name: str | None = None,
    arguments: Sequence[object] | None = None,
    returns: object = None,
    vectorised: bool | None = None,
) -> Callable[[Made], Made]: ...


def function(
    made: Any = None,
    /,
    *,
    name: str | None = None,
    arguments: Sequence[object] | None = None,
    returns: object = None,
    vectorised: bool | None = None,
) -> Any:
    """Register a function that queries can call, under its name in any case.

    Args:
        made: the function, where the decorator stands without arguments.
        name: another name than the function's.
        arguments: types of the arguments: SQL names, Python, NumPy or Polars types, None for any. Default: annotations, else any.
        returns: type of the result. Default: the annotation, else what a trial on two rows gives.
        vectorised: whether it is called with arrays of many rows. Default: whether a parameter is annotated as an array.

    Raises:
        TypeError: it is no function, or a type is none.
        QueryError: the name is that of a built-in function or aggregate, or of an aggregate of one's own.
    """

    def register(found: Any) -> Any:
        called = str(name or getattr(found, "__name__", ""))
        taken = name_taken(called)
        if taken is not None:
            raise QueryError(taken, hint="Give it another name: @jupyter_stream.function(name='my_name').")
        PYTHON[called.lower()] = PythonFunction(found, called, arguments, returns, vectorised)
        return found

    return register if made is None else register(made)


def name_taken(name: str) -> str | None:
    """What is wrong with a name for a function of one's own, if anything is."""
    lower = name.lower()
    if not name.isidentifier():
        return f"{name!r} can't be the name of a function"
    if functions.has(lower):
        return f"{name} is a built-in function"
    if declared(lower) is not None:
        return f"{name} is an aggregate of your own"
    return f"{name} is a built-in aggregate" if aggregates.find(lower) is not None else None


class SqlFunction:
    """CREATE FUNCTION: a call of it is its expression, with the arguments in the place of the parameters.

    Args:
        statement: as parsed. Where all its types are written it is bound at once, so that mistakes are told at once.

    Raises:
        QueryError: a mistake in it.
    """

    def __init__(self, statement: CreateFunction) -> None:
        self.statement = statement
        self.name = statement.name.text
        self.text = statement.text
        taken = name_taken(self.name)
        if taken is not None:
            raise statement.source.error(taken, statement.name.span, "Give the function another name.")
        self._types = [p.dtype for p in statement.parameters]
        for part in walk(statement.expression):
            if isinstance(part, FunctionCall) and part.name.text.lower() == self.name.lower():
                raise statement.source.error("a function can't call itself", part.span, "Write an aggregate instead.")
        if None not in self._types:
            self._bound([t for t in self._types if t is not None])
        shown = (p.name.text + ("" if p.dtype is None else f" {type_name(p.dtype)}") for p in statement.parameters)
        gives = "" if statement.returns is None else f" -> {type_name(statement.returns)}"
        self.signature = f"{self.name}({', '.join(shown)}){gives}"
        written = " ".join(statement.source.slice(statement.expression.span).split())
        self.description = f"Function of yours in SQL: {written}"

    def bind(self, args: Sequence[Expr]) -> Expr:
        """The expression for these arguments. Raises `BadArguments`, or `QueryError` for a mistake in the expression."""
        count(self.name, tuple(args), len(self._types), len(self._types))
        given = [argument(self.name, i, a, t) for i, (a, t) in enumerate(zip(args, self._types, strict=True))]
        bound = self._bound([a.dtype for a in given])
        return substitute(bound, {_place(i): a for i, a in enumerate(given)})

    def _bound(self, types: Sequence[pl.DataType]) -> Expr:
        statement = self.statement
        bound = ExpressionBinder(statement.source, _Parameters(statement, types)).bind(statement.expression)
        if statement.returns is None or bound.dtype == statement.returns:
            return bound
        try:
            return functions.cast(bound, statement.returns)
        except functions.BadArguments as bad:
            shown = type_name(statement.returns)
            raise statement.source.error(
                f"{self.name} is {shown}: {bad.message}", statement.expression.span, f"Write CAST(... AS {shown})."
            ) from None


def _place(number: int) -> str:
    return f"$parameter{number}"


class _Parameters:
    """Names of a function's expression."""

    def __init__(self, statement: CreateFunction, types: Sequence[pl.DataType]) -> None:
        self._statement = statement
        self._names = [p.name.text for p in statement.parameters]
        self._types = types

    def column(self, name: Name, qualifier: Name | None) -> Expr | None:
        """A parameter."""
        if qualifier is not None:
            return None
        found = [i for i, n in enumerate(self._names) if n.lower() == name.text.lower()]
        return Column(_place(found[0]), self._types[found[0]]) if found else None

    def known(self) -> tuple[str, ...]:
        """The parameters."""
        return tuple(self._names)

    def pseudo(self) -> tuple[str, ...]:
        """Nothing else."""
        return ()

    def aggregate(self, call: FunctionCall) -> Expr:
        """None may stand here."""
        raise self._statement.source.error(
            "a function is computed of one row, and this is an aggregate",
            call.span,
            "Pass the aggregate to the function: f(sum(x)). Or write CREATE AGGREGATE.",
        )

    def special(self, node: Node) -> Expr | None:
        """Nothing means anything else here."""
        return None


__all__ = ["SqlFunction", "function", "name_taken"]
