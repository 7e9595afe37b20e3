"""Columns that users have not named, in their words: EXPLAIN shows `count(*)`, not the name it has inside."""

from __future__ import annotations

import re

from jupyter_stream.core.messages import WINDOW_END, WINDOW_ID, WINDOW_START
from jupyter_stream.functions.expression import Expr, show
from jupyter_stream.plan.logical import Aggregate, AggregateCall, ExtentRows, Plan, Project

_INNER = re.compile(r"\$\w+")
_SYSTEM = (WINDOW_START, WINDOW_END, WINDOW_ID)


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


def _said(text: str, below: tuple[Plan, ...]) -> str:
    return _INNER.sub(lambda found: _meant(found.group(), below), text)


def _meant(column: str, below: tuple[Plan, ...]) -> str:
    if column in _SYSTEM:
        return column[1:]
    if column.startswith("$number"):
        return "ROW_NUMBER()"
    if column == "$extent":
        return "rows"
    for plan in below:
        if isinstance(plan, ExtentRows) and column in plan.schema.names:
            gathered = next(call for call in plan.input.aggregates if call.name == plan.column)
            return _said(_bare(gathered.args[plan.schema.names.index(column)]), plan.input.inputs)
        if isinstance(plan, Aggregate):
            for call in plan.aggregates:
                if call.name == column:
                    return _said(_call(call), plan.inputs)
        named = plan.keys if isinstance(plan, Aggregate) else plan.items if isinstance(plan, Project) else ()
        for name, expr in named:
            if name == column:
                return _said(_bare(expr), plan.inputs)
        if (meant := _meant(column, plan.inputs)) != column:
            return meant
    return column


def _call(call: AggregateCall) -> str:
    arguments = ", ".join([*(_bare(a) for a in call.args), *(str(p) for p in call.parameters)]) or "*"
    where = "" if call.where is None else f" FILTER (WHERE {_bare(call.where)})"
    return f"{call.function}({'DISTINCT ' if call.distinct else ''}{arguments}){where}"


def _bare(expr: Expr) -> str:
    """An expression without brackets around the whole of it."""
    text = show(expr)
    depth = 0
    for i, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if not depth and i < len(text) - 1:
            return text
    return text[1:-1] if text.startswith("(") else text


__all__ = ["in_words", "items_in_words"]
