"""Aggregates called in the body of another: built-in ones as in a query, those of users by their base version."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from jupyter_stream import aggregates, functions
from jupyter_stream.aggregates.user import UserAggregate, declared
from jupyter_stream.aggregates.user.body import Folded
from jupyter_stream.aggregates.user.distinct import distinct_of
from jupyter_stream.aggregates.user.protocol import check_count
from jupyter_stream.functions import Column, Expr
from jupyter_stream.functions.binding import constant
from jupyter_stream.syntax.inner_order import with_nulls_left_out
from jupyter_stream.syntax.nodes import FunctionCall, Star

if TYPE_CHECKING:
    from jupyter_stream.binding.body_names import GroupedNames


def bind_called(names: GroupedNames, call: FunctionCall) -> Column:
    """The column of an aggregate's answer over the rows selected.

    Raises:
        QueryError: there is no such aggregate, or it takes no such arguments.
    """
    source = names.body.source
    if call.window is not None:
        raise source.error("the tables of an aggregate can't have windows", call.window.span, "Remove the window.")
    version = _version(names, call)
    if version is not None:
        return _of_ones_own(names, version, with_nulls_left_out(call, None))
    function = aggregates.find(call.name.text)
    if function is None:
        itself = call.name.text.lower() == names.body.statement.name.text.lower()
        hint = "An aggregate can't call itself." if itself else None
        raise source.error(f"there is no aggregate called {call.name.text} for tables", call.span, hint)
    return _built_in(names, function, with_nulls_left_out(call, function.name))


def _version(names: GroupedNames, call: FunctionCall) -> UserAggregate | None:
    """The version of a user's aggregate that is called; None for a built-in one.

    No version calls itself: what the base version is to one for windows, a built-in aggregate is to the base (ESL, example 11).
    """
    own, statement = declared(call.name.text), names.body.statement
    if own is None:
        return None
    if call.name.text.lower() == statement.name.text.lower():
        return own.base if statement.windowed else None
    return own.base or own.window


def _of_ones_own(names: GroupedNames, version: UserAggregate, call: FunctionCall) -> Column:
    body, usage = names.body, f"Usage: {version.signature}."
    if call.order:
        raise body.source.error(
            f"{call.name.text} takes its rows in the order in which they are read, so ORDER BY can't stand in it",
            call.order[0].span,
            "Put the rows in order before: FROM (SELECT a FROM t ORDER BY a) AS q.",
        )
    if any(isinstance(arg, Star) for arg in call.args):
        raise body.source.error("* can be used with count only", call.span, usage)
    args, where = _bound(names, call)
    try:
        program = version.program([a.dtype for a in args])
        check_count(version.name, len(program.arguments), len(args))
    except aggregates.BadArguments as bad:
        raise body.source.error(str(bad), call.span, usage) from None
    cast = tuple(
        body.cast(a, t, "the argument", n.span) for a, t, n in zip(args, program.arguments, call.args, strict=True)
    )
    program = distinct_of(program) if call.distinct else program
    place, column = body.place(program.dtype)
    names.folded.append(Folded("", cast, False, where, place, program.dtype, program))
    return column


def _built_in(names: GroupedNames, function: aggregates.AggregateFunction, call: FunctionCall) -> Column:
    source = names.body.source
    if len(call.args) == 1 and isinstance(call.args[0], Star):
        if function.name != "count" or call.distinct:
            raise source.error("* can be used with count only", call.span, f"Name a column: {function.name}(x).")
        call = replace(call, args=())
    elif not call.args:
        raise source.error(f"{function.name} needs an argument", call.span, f"Usage: {function.signature}.")
    keys = [names.body.binder(names.level, "an aggregate").bind(item.expression) for item in call.order]
    ordered = aggregates.ordered(function.name) if keys else None
    if keys and ordered is None and function.by_time:
        raise source.error(
            f"{function.name} has an order of its own", call.order[0].span, "Write first(x ORDER BY y), or array_agg."
        )
    args, where = _bound(names, call)
    try:
        made = _folded(function, call, args, where)
        if ordered is not None:
            made = _in_order(made, ordered, keys, call)
    except functions.BadArguments as bad:
        raise source.error(str(bad), call.span, f"Usage: {(ordered or function).signature}.") from None
    place, column = names.body.place(made.dtype)
    names.folded.append(replace(made, place=place))
    return column


def _bound(names: GroupedNames, call: FunctionCall) -> tuple[list[Expr], Expr | None]:
    """The arguments and FILTER, over the rows selected."""
    binder = names.body.binder(names.level, "an aggregate")
    args = [binder.bind(node) for node in call.args]
    return args, None if call.where is None else binder.condition(call.where, "FILTER")


def _folded(
    function: aggregates.AggregateFunction, call: FunctionCall, args: Sequence[Expr], where: Expr | None
) -> Folded:
    """The aggregate, which has no place yet. Raises `BadArguments`."""
    types, dtype = function.resolve(tuple(a.dtype for a in args), call.distinct) if args else ((), pl.Int64())
    args = [functions.cast(a, t) for a, t in zip(args, types, strict=True)]
    parameters: tuple[object, ...] = ()
    if function.constant_from is not None:
        rest = enumerate(args[function.constant_from :], function.constant_from)
        parameters = tuple(constant(function.name, i, a).value for i, a in rest)
        args = args[: function.constant_from]
    if args:
        function.form([a.dtype for a in args], call.distinct, parameters)
    if function.name == "count_if":
        args, where = [], args[0] if where is None else functions.resolve("and", [where, args[0]])
    name = aggregates.KEPT_AS.get(function.name, function.name)
    return Folded(name, tuple(args), call.distinct, where, 0, dtype, parameters=parameters)


def _in_order(made: Folded, ordered: aggregates.AggregateFunction, keys: Sequence[Expr], call: FunctionCall) -> Folded:
    """The aggregate by keys: they stand behind its argument. Raises `BadArguments` for what can't be ordered."""
    args = (made.args[0], *keys)
    ordered.resolve([a.dtype for a in args], made.distinct)
    separator = made.parameters or (("",) if made.function == "string_agg" else ())
    directions = ((item.descending, item.nulls_last) for item in call.order)
    return replace(made, function=ordered.name, args=args, parameters=(*separator, *directions))


__all__ = ["bind_called"]
