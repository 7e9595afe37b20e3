"""Columns that users have not named, in their words: EXPLAIN shows `count(*)`, not the name it has inside."""

from __future__ import annotations

import re

from jupyter_stream.aggregates.user.rows import HELD, ROWS
from jupyter_stream.core.messages import ROW, TS, WINDOW_END, WINDOW_ID, WINDOW_START
from jupyter_stream.functions.expression import Expr, show
from jupyter_stream.plan.logical import Aggregate, AggregateCall, ExtentRows, Over, Plan, Project, Scan

_INNER = re.compile(r"\$\w+")
_SYSTEM = (WINDOW_START, WINDOW_END, WINDOW_ID)
_SAID = {**{name: name[1:] for name in _SYSTEM}, ROW: "row_num", "$extent": "rows", ROWS: "rows", HELD: "rows"}


def in_words(text: str, plan: Plan) -> str:
    """A text about a plan's node, with every inner column as what it stands for below that node."""
    return _said(text, plan.inputs)


def items_in_words(plan: Project) -> str:
    """What a projection computes."""
    said = []
    for name, expr in plan.items:
        meant = in_words(_bare(expr), plan)
        said.append(meant if name.startswith("$") or meant == name else f"{meant} AS {name}")
    return ", ".join(said)


def call_in_words(call: AggregateCall, plan: Aggregate | Over) -> str:
    """An aggregate of a node."""
    program = next((c.program.name for c in plan.user if c.column == call.name), None)
    # the rows of a user-defined one begin with their number
    args = call.args if program is None else call.args[1:]
    arguments = [*map(_bare, args), *(str(p) for p in call.parameters if program is None)]
    listed = ", ".join(arguments) or ("*" if program is None else "")
    where = "" if call.where is None else f" FILTER (WHERE {_bare(call.where)})"
    return _said(f"{program or call.function}({'DISTINCT ' if call.distinct else ''}{listed}){where}", plan.inputs)


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
            for call in plan.calls if isinstance(plan, Aggregate) else plan.aggregates:
                if call.name == column:
                    return call_in_words(call, plan) + (f" {plan.window}" if isinstance(plan, Over) else "")
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


__all__ = ["call_in_words", "in_words", "items_in_words"]
