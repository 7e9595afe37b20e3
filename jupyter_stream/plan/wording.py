"""Columns that users have not named, in their words: EXPLAIN shows `count(*)`, not the name it has inside."""

from __future__ import annotations

import re
from dataclasses import replace

from jupyter_stream.aggregates.user.distinct import DistinctProgram
from jupyter_stream.aggregates.user.rows import HELD, ROWS
from jupyter_stream.core.messages import ROW, TS, WINDOW_END, WINDOW_ID, WINDOW_START
from jupyter_stream.functions.expression import Call, Expr, Literal, columns, fold, show
from jupyter_stream.plan.logical import (
    Aggregate,
    AggregateCall,
    ExtentRows,
    Over,
    Plan,
    Project,
    Scan,
    Union,
    WindowCall,
    WindowFunctions,
    walk,
)
from jupyter_stream.plan.relations import PART, staggered

_INNER = re.compile(r"\$\w+")
_SYSTEM = (WINDOW_START, WINDOW_END, WINDOW_ID)
_SAID = {**{name: name[1:] for name in _SYSTEM}, ROW: "row_num", "$extent": "rows", ROWS: "rows", HELD: "rows"}


def in_words(text: str, plan: Plan) -> str:
    """A text about a plan's node, with every inner column as what it stands for below that node."""
    return _said(text, plan.inputs)


def items_in_words(plan: Project) -> str:
    """What a projection computes."""
    said, several = [], staggered(plan)
    for name, expr in plan.items:
        if several and name == WINDOW_START[1:] and _is_by_instant(expr):
            said.append(name)  # it is that of the longest window which looks at the instant
            continue
        meant = in_words(_bare(_plain(expr) if several else expr), plan)
        said.append(meant if name.startswith("$") or meant == name else f"{meant} AS {name}")
    return ", ".join(said)


def step_in_words(title: str, plan: Plan) -> str:
    """What a step does for a plan's node, as whoever wrote the query would say it; `title` is its own word for it."""
    if isinstance(plan, Project) and title.startswith("project "):
        return plan.words or f"project {items_in_words(plan)}"
    return in_words(title, plan)


def call_in_words(call: AggregateCall, plan: Aggregate | Over) -> str:
    """An aggregate of a node; of one that puts answers of several windows together, what it is an answer of."""
    put_together = None if isinstance(plan, Over) else _of_part(call, plan)
    if put_together is not None:
        return put_together
    program = next((c.program for c in plan.user if c.column == call.name), None)
    if program is None:
        name, distinct, arguments = call.function, call.distinct, [*map(_bare, call.args), *map(str, call.parameters)]
        listed = ", ".join(arguments) or "*"
    else:
        name, distinct = program.name, isinstance(program, DistinctProgram)
        # its rows begin with their number, and may end with it as well
        listed = ", ".join(map(_bare, call.args[1 : len(call.args) - program.numbered]))
    where = "" if call.where is None else f" FILTER (WHERE {_bare(call.where)})"
    return _said(f"{name}({'DISTINCT ' if distinct else ''}{listed}){where}", plan.inputs)


def function_in_words(call: WindowCall, plan: WindowFunctions) -> str:
    """A window function, or an aggregate over a frame: `rank() OVER (ORDER BY sum(v) DESC)`."""
    if call.aggregate is None:
        numbers = [str(call.number)] if call.function in ("lag", "lead", "nth_value", "ntile") else []
        said = f"{call.function}({', '.join([*map(_bare, call.args), *numbers])})"
    else:
        arguments = ", ".join(map(_bare, call.aggregate.args)) or "*"
        said = f"{call.aggregate.function}({'DISTINCT ' if call.aggregate.distinct else ''}{arguments})"
    parts = [f"PARTITION BY {', '.join(plan.partition)}"] if plan.partition else []
    if plan.order:
        keys = ", ".join(f"{key.column} DESC" if key.descending else key.column for key in plan.order)
        parts.append(f"ORDER BY {keys}")
    return _said(f"{said} OVER ({' '.join(parts)})", plan.inputs)


def _of_part(call: AggregateCall, plan: Aggregate) -> str | None:
    """The aggregate of one of several windows, where answers of these are put together by instant; None for any other."""
    condition = call.where
    if not isinstance(plan.input, Union) or not isinstance(condition, Call) or PART not in columns(condition):
        return None
    at = next(arg.value for arg in condition.args if isinstance(arg, Literal))
    below = walk(plan.input.parts[at]) if isinstance(at, int) else ()
    for node in (n for n in below if isinstance(n, Aggregate)):
        for window, calls in node.by_window:
            for own in calls:
                if own.name == call.name:
                    return f"{call_in_words(own, node)} {window}"
    return None


def _plain(expr: Expr) -> Expr:
    """An expression over answers of several windows, without what these are at instants that aren't theirs."""

    def plain(found: Expr, args: tuple[Expr, ...]) -> Expr:
        if not isinstance(found, Call):
            return found
        return args[2] if _is_by_instant(found) else replace(found, args=args)

    return fold(expr, plain)


def _is_by_instant(expr: Expr) -> bool:
    """Whether an expression depends on the instants that a window looks at."""
    if not isinstance(expr, Call) or (expr.function, len(expr.args)) != ("case", 3) or TS not in columns(expr.args[0]):
        return False
    rest = expr.args[0].args[0] if isinstance(expr.args[0], Call) else None
    return isinstance(rest, Call) and rest.function == "pmod"


def _said(text: str, below: tuple[Plan, ...]) -> str:
    return _INNER.sub(lambda found: _meant(found.group(), below), text)


def _meant(column: str, below: tuple[Plan, ...]) -> str:
    if column in _SAID:
        return _SAID[column]
    if column.startswith("$number"):
        return "ROW_NUMBER()"
    for plan in below:
        if column == TS and isinstance(plan, Aggregate):
            return "window_time"
        if column == TS and isinstance(plan, Scan):
            return plan.stream.time.column or "current_time"
        if isinstance(plan, ExtentRows) and column in plan.schema.names:
            gathered = next(call for call in plan.input.aggregates if call.name == plan.column)
            return _said(_bare(gathered.args[plan.schema.names.index(column)]), plan.input.inputs)
        if isinstance(plan, Aggregate | Over):
            for call in plan.calls:
                if call.name == column:
                    return call_in_words(call, plan) + (f" {plan.window}" if isinstance(plan, Over) else "")
        if isinstance(plan, WindowFunctions):
            own = next((call for call in plan.calls if call.name == column), None)
            if own is not None:
                return function_in_words(own, plan)
        named = plan.keys if isinstance(plan, Aggregate) else plan.items if isinstance(plan, Project) else ()
        for name, expr in named:
            if name == column:
                return _said(_bare(expr), plan.inputs)
        if (meant := _meant(column, plan.inputs)) != column:
            return meant
    return column


def _bare(expr: Expr) -> str:
    """An expression without brackets around the whole of it."""
    text = show(expr)
    depth = 0
    for i, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if not depth and i < len(text) - 1:
            return text
    return text[1:-1] if text.startswith("(") else text


__all__ = ["call_in_words", "in_words", "items_in_words", "step_in_words"]
