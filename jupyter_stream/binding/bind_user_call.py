"""Calls of user-defined aggregates: which version serves which window, and how it is run there (ESL, §5 and figure 2)."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from jupyter_stream import aggregates, functions
from jupyter_stream.aggregates.user import (
    HELD,
    ROWS,
    Declared,
    How,
    Program,
    UserAggregate,
    UserCall,
    declared,
    held_type,
)
from jupyter_stream.aggregates.user.distinct import DistinctProgram, distinct_of
from jupyter_stream.aggregates.user.protocol import check_count
from jupyter_stream.aggregates.user.python import ArrayProgram
from jupyter_stream.aggregates.user.rows import answer_type
from jupyter_stream.aggregates.user.sql import SqlProgram
from jupyter_stream.binding.bind_rand import seed_of
from jupyter_stream.binding.scope import Scope, is_windowed
from jupyter_stream.core.messages import ROW
from jupyter_stream.core.schema import Field, Schema, type_name
from jupyter_stream.errors import UnsupportedError
from jupyter_stream.functions import Column, Expr, Literal
from jupyter_stream.functions.casts import coerce
from jupyter_stream.functions.types import STRING, instance
from jupyter_stream.plan.logical import AggregateCall, Over, Plan
from jupyter_stream.plan.relations import is_relation, only_tables
from jupyter_stream.syntax.nodes import FunctionCall, Star
from jupyter_stream.windows import OverWindow, Window

if TYPE_CHECKING:
    from jupyter_stream.binding.bind_aggregate import Grouping


def version_for(found: Declared, window: Window) -> UserAggregate | None:
    """The version that serves a window; None where a built-in aggregate of that name does."""
    if window.keeps_all:
        # there is no window version for ever; what a built-in aggregate is to a window version, its base is (ESL, example 11)
        if found.base is None and aggregates.find(found.name) is not None and not window.passes_rows:
            return None
        return found.base or found.window
    if window.overlapping:
        return found.window or found.base
    return found.base or found.window


def bind_user_call(grouping: Grouping, call: FunctionCall, version: UserAggregate, where: Expr | None) -> Expr:
    """The column of an aggregate's answer; equal calls share one.

    Raises:
        QueryError: arguments it doesn't take, or a window that never ends under one that waits for the end.
    """
    window = grouping.window
    program, cast = _arguments(grouping, call, version)
    if call.distinct:
        program = distinct_of(program)
    _refuse_without_end(program, call, version, grouping)
    _refuse_writing(program, call, window, grouping)
    key = (id(program), tuple(cast), where)
    known = grouping.user_columns.get(key)
    if known is not None:
        return known
    name = grouping.next_name()
    made_call = _call(version, program, name, window, _at_hand(grouping) and not window.passes_rows)
    # answers of panes have no numbers: over them chance begins anew with each
    made_call = replace(made_call, program=_by_rows(made_call.program, seed_of(grouping.scope.plan)))
    number: Expr = Column(ROW, pl.Int64()) if has_numbers(grouping.scope) else Literal(0, pl.Int64())
    if made_call.program.numbered:
        cast.append(_place_in_chance(grouping, number))
    held = window.paned
    aggregate = AggregateCall(
        HELD if held else ROWS, (number, *cast), name,
        answer_type(program.dtype) if held else held_type(made_call.program.arguments), False, where,
        (made_call,) if held else (),
    )  # fmt: skip
    grouping.user_place = call.span
    grouping.put(aggregate, window)
    grouping.user.append(made_call)
    column = Column(name, program.dtype)
    grouping.user_columns[key] = column
    return column


def _arguments(grouping: Grouping, call: FunctionCall, version: UserAggregate) -> tuple[Program, list[Expr]]:
    """The program for arguments of these types, and the arguments as it takes them."""
    source = grouping.source
    nodes = [a for a in call.args if not isinstance(a, Star)]
    if len(nodes) < len(call.args):
        raise source.error("* can be used with count only", call.span, f"Usage: {version.signature}.")
    args = [grouping.argument(node) for node in nodes]
    hint = f"Usage: {version.signature}."
    try:
        program = version.program([a.dtype for a in args])
        check_count(version.name, len(program.arguments), len(args))
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
    return program, cast


def _by_rows(program: Program, seed: int) -> Program:
    """A program whose chance, if there is any in it, goes by its rows and this seed."""
    if isinstance(program, DistinctProgram):
        return distinct_of(_by_rows(program.program, seed))
    return program.seeded(seed) if isinstance(program, SqlProgram) else program


def _place_in_chance(grouping: Grouping, number: Expr) -> Expr:
    """What tells the rows of one group from those of another: their numbers, or where they have none what they are grouped by."""
    if isinstance(number, Column):
        return number
    for _, key in grouping.keys:
        with suppress(functions.BadArguments):  # what has no text
            text = functions.resolve("coalesce", [functions.cast(key, STRING), Literal("", STRING)])
            number = functions.resolve("hash", [text, number])
    return number


def _refuse_without_end(program: Program, call: FunctionCall, version: UserAggregate, grouping: Grouping) -> None:
    """Raise where the aggregate waits for the end of a window that has none."""
    source, window = grouping.source, grouping.window
    if window.keeps_all and not window.passes_rows and program.blocking and not _at_hand(grouping):
        raise source.error(
            f"{version.name} has a TERMINATE, which waits for the end of a window, and this stream has no end",
            call.span,
            "Write a window: FROM stream [RANGE 10 MINUTES SLIDE 1 MINUTE], or "
            f"{version.name}(...) OVER (RANGE 10 MINUTES PRECEDING).",
        )
    if isinstance(program, ArrayProgram) and window.passes_rows and window.keeps_all:
        raise source.error(
            f"{version.name} takes whole arrays, and this window has no end",
            call.span,
            "Write OVER (RANGE 10 MINUTES PRECEDING), or give the class iterate and terminate.",
        )


def _refuse_writing(program: Program, call: FunctionCall, window: Window, grouping: Grouping) -> None:
    """Raise where an aggregate that writes tables of the session would be run more than once over a row."""
    writes = getattr(program, "writes", ())
    if not writes or (window.keeps_all and not window.passes_rows and not is_relation(grouping.scope.plan)):
        return
    raise grouping.source.error(
        f"{program.name} writes {' and '.join(writes)}, and windows run an aggregate anew over the same rows",
        call.span,
        "Call it on a stream without a window: it then takes each row once, in the order of time.",
        UnsupportedError,
    )


def _at_hand(grouping: Grouping) -> bool:
    """Whether all rows are there when it is asked: those of tables, or of an answer that changes and is answered anew."""
    return only_tables(grouping.scope.plan) or is_relation(grouping.scope.plan)


def _call(version: UserAggregate, program: Program, name: str, window: Window, at_hand: bool) -> UserCall:
    by_arrays = isinstance(program, ArrayProgram)
    landmark = window.paned and window.span is None
    tumbles = window.tumble > 1
    paned = tumbles or (window.paned and not landmark and window.overlapping)
    base = _paned_by(version, program) if paned and not by_arrays else None
    how: How = "recomputed"
    if isinstance(program, ArrayProgram):
        if program.merges and (paned or landmark):
            how = "paned"
        elif program.subtracts and window.passes_rows and not getattr(window, "on_expiry", False):
            how = "delta"
    elif base is not None:
        how = "paned"
    elif landmark or (window.keeps_all and not at_hand):
        how = "running"
    elif program.expires and ((window.paned and window.overlapping) or window.passes_rows):
        how = "delta"
    first, combine = (base, program) if base is not None else (program, None)
    return UserCall(first, name, how, program.dtype, combine, _words(how, program, window))


def _paned_by(version: UserAggregate, program: Program) -> Program | None:
    """What is run over the rows of a pane, so that the aggregate itself can be run over the answers (ESL, §5.1).

    The base version where there is one, else the same; None where it isn't ALGEBRAIC, or doesn't take what that gives.
    """
    if isinstance(program, DistinctProgram):
        return None
    known = declared(version.name)
    base = None if known is None else known.base
    if not (version.algebraic or (base is not None and base.algebraic)):
        return None
    made = program if base is None or base is version else base.program(program.arguments)
    gives = [made.dtype]
    if isinstance(made.dtype, pl.Struct) and len(program.arguments) > 1:
        gives = [instance(f.dtype) for f in made.dtype.fields]
    return made if list(program.arguments) == gives and made.arguments == program.arguments else None


def _words(how: How, program: Program, window: Window) -> str:
    """How a call is run, for EXPLAIN."""
    part = f"tumble of {window.tumble} rows" if window.tumble > 1 else "pane"
    if how == "paned" and isinstance(program, ArrayProgram):
        taken_back = program.subtracts and not window.passes_rows
        return f"paned: a partial result of each {part}, merged{' and subtracted again' if taken_back else ''}"
    if how == "paned":
        takes_back = ", EXPIRE for those that leave" if program.expires else ""
        return f"paned: an answer of each {part}, and {program.name} over those{takes_back}"
    if how == "delta":
        by = "subtract" if isinstance(program, ArrayProgram) else "EXPIRE"
        return f"delta: {by} takes back rows that leave"
    return "running: goes on from row to row" if how == "running" else "recomputed: over the rows of each window"


def has_numbers(scope: Scope) -> bool:
    """Whether the rows have arrival numbers, which tell those of one time apart."""
    return not (is_windowed(scope.plan) or is_relation(scope.plan)) and scope.joined is None


def running(grouping: Grouping) -> bool:
    """Whether this is a user's aggregate on a bare stream: a stream of what it returns.

    Raises:
        UnsupportedError: built-in aggregates, which are relations there, stand beside it.
    """
    if not grouping.user or not (grouping.window.keeps_all):
        return False
    if _at_hand(grouping):
        if all(not c.program.blocking for c in grouping.user) and len(grouping.user) == len(grouping.calls):
            return not is_relation(grouping.scope.plan)
        return False
    if is_relation(grouping.scope.plan):
        raise grouping.source.error(
            "a user-defined aggregate over a changing answer isn't available without a window",
            grouping.user_place,
            "Write FROM (SELECT ISTREAM ...), or a window.",
            UnsupportedError,
        )
    if len(grouping.user) < len(grouping.calls):
        raise grouping.source.error(
            "without a window, built-in and user-defined aggregates can't be used in one query",
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
            "built-in and user-defined aggregates can't be combined under ACTIVE EXPIRATION",
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
