"""Calls of user-defined aggregates: which version serves which window, and how it is run there (ESL, §5 and figure 2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from jupyter_stream import aggregates
from jupyter_stream.aggregates.user import HELD, ROWS, Declared, How, Program, UserAggregate, UserCall, held_type
from jupyter_stream.aggregates.user.python import ArrayProgram
from jupyter_stream.aggregates.user.rows import answer_type
from jupyter_stream.core.messages import ROW
from jupyter_stream.core.schema import Field, Schema, type_name
from jupyter_stream.errors import UnsupportedError
from jupyter_stream.functions import Column, Expr, Literal
from jupyter_stream.functions.casts import coerce
from jupyter_stream.functions.types import instance
from jupyter_stream.language.nodes import FunctionCall, Star
from jupyter_stream.language.scope import Scope, is_windowed
from jupyter_stream.plan.logical import AggregateCall, Over, Plan
from jupyter_stream.plan.relations import is_relation
from jupyter_stream.windows import LifetimeWindow, OverWindow, TimeWindow, Window

if TYPE_CHECKING:
    from jupyter_stream.language.bind_aggregate import Grouping


def version_for(found: Declared, window: Window | OverWindow) -> UserAggregate | None:
    """The version that serves a window; None where a built-in aggregate of that name does."""
    if _unwindowed(window):
        # there is no window version for ever; what a built-in aggregate is to a window version, its base is (ESL, example 11)
        if found.base is None and aggregates.find(found.name) is not None and not isinstance(window, OverWindow):
            return None
        return found.base or found.window
    if _is_sliding(window) or isinstance(window, OverWindow | LifetimeWindow):
        return found.window or found.base
    return found.base or found.window


def bind_user_call(grouping: Grouping, call: FunctionCall, version: UserAggregate, where: Expr | None) -> Expr:
    """The column of an aggregate's answer; equal calls share one.

    Raises:
        QueryError: arguments it doesn't take, or a window that never ends under one that waits for the end.
    """
    window = grouping.window
    source = grouping.source
    if call.distinct:
        raise source.error("DISTINCT doesn't go with a user-defined aggregate", call.span, None, UnsupportedError)
    nodes = [a for a in call.args if not isinstance(a, Star)]
    if len(nodes) < len(call.args):
        raise source.error("* goes with count only", call.span, f"It is called {version.signature}.")
    args = [grouping.argument(node) for node in nodes]
    hint = f"It is called {version.signature}."
    try:
        program = version.program([a.dtype for a in args])
        if len(program.arguments) != len(args):
            count = len(program.arguments)
            raise aggregates.BadArguments(f"{version.name} takes {count} argument{'s' * (count != 1)}, not {len(args)}")
    except aggregates.BadArguments as bad:
        raise source.error(str(bad), call.span, hint) from None
    cast = []
    for i, (arg, dtype, node) in enumerate(zip(args, program.arguments, nodes, strict=True)):
        made = coerce(arg, dtype) if arg.dtype != dtype else arg
        if made is None:
            raise source.error(
                f"argument {i + 1} of {version.name} is {type_name(dtype)}, not {type_name(arg.dtype)}",
                node.span,
                f"Write CAST(... AS {type_name(dtype)}).",
            )
        cast.append(made)
    if _unwindowed(window) and not isinstance(window, OverWindow) and program.blocking:
        raise source.error(
            f"{version.name} has a TERMINATE, which waits for the end of a window, and this stream has no end",
            call.span,
            "Write a window: FROM stream [RANGE 10 MINUTES SLIDE 1 MINUTE], or "
            f"{version.name}(...) OVER (RANGE 10 MINUTES PRECEDING).",
        )
    if isinstance(program, ArrayProgram) and isinstance(window, OverWindow) and _unwindowed(window):
        raise source.error(
            f"{version.name} takes whole arrays, and this window never lets a row go",
            call.span,
            "Write OVER (RANGE 10 MINUTES PRECEDING), or give the class iterate and terminate.",
        )
    key = (id(program), tuple(cast), where)
    known = grouping.user_columns.get(key)
    if known is not None:
        return known
    name = grouping.next_name()
    made_call = _call(version, program, name, window)
    number: Expr = Column(ROW, pl.Int64()) if has_numbers(grouping.scope) else Literal(0, pl.Int64())
    held = isinstance(window, TimeWindow)
    aggregate = AggregateCall(
        HELD if held else ROWS, (number, *cast), name,
        answer_type(program.dtype) if held else held_type(program.arguments), False, where,
        (made_call,) if held else (),
    )  # fmt: skip
    grouping.user_place = call.span
    grouping.calls.append(aggregate)
    grouping.user.append(made_call)
    column = Column(name, program.dtype)
    grouping.user_columns[key] = column
    return column


def _call(version: UserAggregate, program: Program, name: str, window: Window | OverWindow) -> UserCall:
    how: How = "recomputed"
    combine: Program | None = None
    if isinstance(program, ArrayProgram) and not isinstance(window, TimeWindow):
        pass
    elif _unwindowed(window) or (isinstance(window, TimeWindow) and window.range is None):
        how = "running" if not isinstance(program, ArrayProgram) else "paned" if program.merges else "recomputed"
    elif _is_sliding(window) and isinstance(program, ArrayProgram):
        how = "paned" if program.merges else "recomputed"
    elif _is_sliding(window):
        combine = _combining(version, program)
        how = "paned" if combine is not None else "delta" if program.expires else "recomputed"
    elif isinstance(window, OverWindow):
        how = "delta" if program.expires else "recomputed"
    return UserCall(program, name, how, program.dtype, combine)


def _combining(version: UserAggregate, program: Program) -> Program | None:
    """What is run over the answers of panes: the same aggregate, if it is ALGEBRAIC and takes what it gives (ESL, §5.1)."""
    if not version.algebraic:
        return None
    gives = [program.dtype]
    if isinstance(program.dtype, pl.Struct) and len(program.arguments) > 1:
        gives = [instance(f.dtype) for f in program.dtype.fields]
    return program if list(program.arguments) == gives else None


def has_numbers(scope: Scope) -> bool:
    """Whether the rows have arrival numbers, which tell those of one time apart."""
    return not (is_windowed(scope.plan) or is_relation(scope.plan)) and scope.joined is None


def _is_sliding(window: Window | OverWindow) -> bool:
    """Whether rows are in several extents."""
    return isinstance(window, TimeWindow) and window.slides > 1


def _unwindowed(window: Window | OverWindow) -> bool:
    if isinstance(window, OverWindow):
        return window.rows is None and window.range is None
    return isinstance(window, LifetimeWindow) and window.range is None


def running(grouping: Grouping) -> bool:
    """Whether this is a user's aggregate on a bare stream: a stream of what it returns.

    Raises:
        UnsupportedError: built-in aggregates, which are relations there, stand beside it.
    """
    if not grouping.user or not (isinstance(grouping.window, LifetimeWindow) and grouping.window.range is None):
        return False
    if is_relation(grouping.scope.plan):
        raise grouping.source.error(
            "a user-defined aggregate over a relation that changes isn't available without a window",
            grouping.user_place,
            "Write FROM (SELECT ISTREAM ...), or a window.",
            UnsupportedError,
        )
    if len(grouping.user) < len(grouping.calls):
        raise grouping.source.error(
            "without a window, built-in aggregates are a relation, and what a user-defined one returns is a stream",
            grouping.user_place,
            "Write one query for each, or a window: FROM stream [RANGE 10 MINUTES SLIDE 1 MINUTE].",
            UnsupportedError,
        )
    return True


def running_plan(grouping: Grouping, keys: Sequence[tuple[str, Expr]]) -> tuple[Over, dict[str, Expr]]:
    """Rows with what each made the aggregates return, and what its columns of groups are over them."""
    below = grouping.scope.plan
    window = OverWindow(None, None, tuple(expr for _, expr in keys), 1, None, False)
    schema = Schema((*below.schema.fields, *grouping.fields))
    return Over(below, window, tuple(grouping.calls), schema, tuple(grouping.user), True), dict(keys)


def over_plan(below: Plan, window: OverWindow, grouping: Grouping) -> Plan:
    """The rows below with the aggregates of one OVER window: built-in ones first, then the user's."""
    own = {c.column for c in grouping.user}
    builtin = tuple(c for c in grouping.calls if c.name not in own)
    user = tuple(c for c in grouping.calls if c.name in own)
    if builtin and user and window.on_expiry:
        raise grouping.source.error(
            "built-in aggregates don't go with a user-defined one under ACTIVE EXPIRATION",
            grouping.user_place,
            "Write one query for each.",
            UnsupportedError,
        )
    if builtin:
        # what chooses among the rows does so once, at the top
        kept = replace(window, every=1, slot=None) if user else window
        fields = tuple(Field(c.name, c.dtype) for c in builtin)
        below = Over(below, kept, builtin, Schema((*below.schema.fields, *fields)))
    if user:
        fields = tuple(f for f in grouping.fields if f.name in own)
        below = Over(below, window, user, Schema((*below.schema.fields, *fields)), tuple(grouping.user))
    return below


__all__ = ["bind_user_call", "has_numbers", "over_plan", "running", "running_plan", "version_for"]
