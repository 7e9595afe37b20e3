"""From a bound logical plan to a streaming DataFrame, node by node; what has no translation was refused before (`preflight`).

A DataFrame on the way has the node's columns and, beside them, `$ts` (the progressing attribute, with its watermark),
`$broken` (the punctuation a late row broke) and `$row` (arrival number), as the kernel's batches have.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from jupyter_stream.core.messages import TS
from jupyter_stream.functions import Column
from jupyter_stream.plan.logical import Aggregate, Derived, Plan, Project
from jupyter_stream.spark.expressions import item, quoted
from jupyter_stream.spark.node_support import Around, Frame, OpenTable
from jupyter_stream.spark.nodes import SUPPORT
from jupyter_stream.spark.own_functions import register
from jupyter_stream.spark.stage import finished_here, outermost
from jupyter_stream.spark.windowed import grouped_rows

Given: TypeAlias = Callable[[Plan], Frame | None]
"""The rows of a node that come from outside, with their system columns and watermark; None for a node to be translated. Asked
once for every node that isn't below such a one, in the order written."""


def translate(plan: Plan, given: Given, table: OpenTable) -> Frame:
    """The DataFrame of a query: its result columns, or the outermost window's or join's if the rest is done as answers arrive.

    Args:
        plan: the root.
        given: gives the rows of each stream.
        table: gives the rows of each table.
    """
    stage = outermost(plan)
    if stage is not None and finished_here(plan):
        return _Translator(given, table).visit(stage, guarded=True)
    return _Translator(given, table).answers(plan)


def translate_whole(plan: Plan, given: Given, table: OpenTable) -> Frame:
    """The DataFrame of a query, all of it Spark's: a failing expression ends it, empty extents give no rows.

    Args:
        plan: the root.
        given: gives the rows of each stream.
        table: gives the rows of each table.
    """
    return _Translator(given, table).answers(plan)


class _Translator:
    def __init__(self, given: Given, table: OpenTable) -> None:
        self._given = given
        self._table = table

    def answers(self, plan: Plan) -> Frame:
        """The rows of the root, without system columns."""
        found = self._given(plan)
        if found is None and isinstance(plan, Derived):
            return self.answers(plan.input)
        if found is None and isinstance(plan, Project):
            below, read = plan.input, [(n, e.name) for n, e in plan.items if isinstance(e, Column) and e.name != TS]
            if isinstance(below, Aggregate) and len(read) == len(plan.items):  # one step less, see `grouped_rows`
                grouped, columns = grouped_rows(below, _known(below, self.visit(below.input)), guarded=False)
                return grouped.selectExpr(*(f"{columns[own]} AS {quoted(n)}" for n, own in read))
            return _known(plan, self.visit(below)).selectExpr(*(item(e, n) for n, e in plan.items))
        return (self._made(plan) if found is None else found).selectExpr(*(quoted(n) for n in plan.schema.names))

    def visit(self, plan: Plan, *, guarded: bool = False) -> Frame:
        """The rows of a node.

        Args:
            plan: the node.
            guarded: whether sums beyond BIGINT are to be told of rather than end the query.
        """
        found = self._given(plan)
        return self._made(plan, guarded=guarded) if found is None else found

    def _made(self, plan: Plan, *, guarded: bool = False) -> Frame:
        make = SUPPORT[type(plan)].translate
        assert make is not None, f"{type(plan).__name__} was not refused"
        return make(plan, [_known(plan, self.visit(part)) for part in plan.inputs], Around(self._table, guarded))


def _known(plan: Plan, below: Frame) -> Frame:
    """The rows below a node, whose session knows the functions of the user's own that it calls."""
    register(below, plan.expressions)
    return below
