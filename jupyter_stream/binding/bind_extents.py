"""SELECT without aggregates over a window with SLIDE: the rows of each extent.

Items that say nothing of the extent are computed of each row once, before windows hold it, so that a row an item fails on
fails once.
"""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from jupyter_stream import aggregates
from jupyter_stream.aggregates.whole_rows import EXTENT
from jupyter_stream.binding.bind_aggregate import WINDOW_COLUMNS, Grouping
from jupyter_stream.binding.bind_expression import ExpressionBinder
from jupyter_stream.binding.bind_over import OverNames
from jupyter_stream.binding.join_conditions import absorb
from jupyter_stream.binding.scope import Scope
from jupyter_stream.binding.select_list import SelectItems, schema_of, starred
from jupyter_stream.core.messages import TS, WINDOW_END, WINDOW_ID, WINDOW_START
from jupyter_stream.core.schema import Field, Schema, type_name
from jupyter_stream.errors import UnsupportedError
from jupyter_stream.functions import Column, Expr, Literal
from jupyter_stream.functions.expression import columns, substitute, walk
from jupyter_stream.plan.logical import (
    Aggregate,
    AggregateCall,
    ExtentChanges,
    ExtentRows,
    Filter,
    Lookup,
    Plan,
    Project,
    StreamKind,
    Top,
    WindowFunctions,
    under,
)
from jupyter_stream.plan.relations import answered
from jupyter_stream.plan.time_of import window_dtype
from jupyter_stream.syntax.nodes import Node, Star
from jupyter_stream.syntax.query_syntax import SelectItem
from jupyter_stream.syntax.source_text import Name, SourceText, Span
from jupyter_stream.windows import Window

AUTOMATIC = ("window_start", "window_end")
"""The columns that come first where nobody named them."""
_ROWS = "$rows"
_TIME = "$extent_time"
_KEPT = "$kept"
_OF_EXTENTS = frozenset({WINDOW_START, WINDOW_END, WINDOW_ID, _TIME})


class ExtentNames(OverNames):
    """Names of a select list: the columns of FROM, and what can be said about the extent.

    Args:
        grouping: knows the window.
        source: the cell.
        aliases: as of `InputNames`.
    """

    def __init__(self, grouping: Grouping, source: SourceText, aliases: dict[str, Expr]) -> None:
        super().__init__(grouping.scope, source, "the select list", aliases)
        self._grouping = grouping

    def column(self, name: Name, qualifier: Name | None) -> Expr | None:
        """Something about the extent, a column of FROM, or an alias."""
        if qualifier is None and name.text.lower() in WINDOW_COLUMNS:
            return _kept_apart(self._grouping.window_column(name.text))
        return super().column(name, qualifier)

    def pseudo(self) -> tuple[str, ...]:
        """What can be said about the extent, the time and the row number."""
        return self._grouping.pseudo()

    def special(self, node: Node) -> Expr | None:
        """`window.start` and `window.end` of Spark, and values of SELECTs."""
        found = self._grouping.special(node)
        return _kept_apart(found) if isinstance(found, Column) else found


def _kept_apart(column: Column) -> Column:
    """The extent's time is the answer's own, and `$ts` of a row is the row's."""
    return Column(_TIME, column.dtype) if column.name == TS else column


def extent_rows(items: tuple[SelectItem, ...], scope: Scope, where: Expr | None, source: SourceText) -> Plan:
    """The rows of each extent of FROM's window.

    Raises:
        QueryError: a mistake in the select list.
    """
    grouping = Grouping(scope, source)
    if where is not None and not grouping.window.counts_rows:
        grouping.scope = replace(scope, plan=absorb(scope.plan, where))
        where = None
    grouping.take_partition()
    made = _items(items, grouping, source)
    taken: dict[Expr, str] = {}
    above: list[tuple[str, Expr]] = []
    for name, expr in made:
        read = columns(expr)
        if read and not read & _OF_EXTENTS:
            column = taken.setdefault(expr, f"$r{len(taken)}")
            above.append((name, Column(column, expr.dtype)))
            continue
        own: dict[str, Expr] = {}
        for part in walk(expr):
            if isinstance(part, Column) and part.name == _TIME:
                own[_TIME] = Column(TS, part.dtype)
            elif isinstance(part, Column) and part.name not in _OF_EXTENTS:
                own[part.name] = Column(taken.setdefault(part, f"$r{len(taken)}"), part.dtype)
        above.append((name, substitute(expr, own)))
    function = aggregates.find(EXTENT)
    assert function is not None
    args = tuple(taken) or (Literal(0, pl.Int64()),)
    names = tuple(taken.values()) or ("$r0",)
    _, held = function.resolve([a.dtype for a in args], False)
    call = AggregateCall(EXTENT, args, _ROWS, held)
    keys = tuple(grouping.keys)
    schema = Schema((*(Field(n, e.dtype) for n, e in keys), Field(_ROWS, held)))
    gathered = Aggregate(grouping.scope.plan, keys, (call,), grouping.window, schema, where)
    rows = ExtentRows(gathered, _ROWS, Schema(tuple(Field(n, a.dtype) for n, a in zip(names, args, strict=True))))
    return Project(rows, tuple(above), schema_of(tuple(above)))


def _items(items: tuple[SelectItem, ...], grouping: Grouping, source: SourceText) -> tuple[tuple[str, Expr], ...]:
    aliases: dict[str, Expr] = {}
    binder = ExpressionBinder(source, ExtentNames(grouping, source, aliases))
    made = SelectItems(source)
    named: set[str] = set()
    for item in items:
        node = item.expression
        if isinstance(node, Star):
            qualifier = node.qualifier
            if qualifier is not None and qualifier.text.lower() not in grouping.scope.qualifiers:
                raise source.error(f"{qualifier.text} isn't in FROM", item.span)
            for name, column in starred(grouping.scope, node, source):
                made.add(name, column, item, explicit=False)
            continue
        bound = binder.bind(node)
        if item.alias is None or not item.alias.text.startswith("$"):  # those are selected along, and not shown
            named.update(n for n in AUTOMATIC if bound == grouping.window_column(n))
        made.add_item(item, bound)
        if item.alias is not None:
            aliases[item.alias.text.lower()] = bound
    made.put_first([(n, grouping.window_column(n)) for n in AUTOMATIC if n not in named])
    return made.made()


def distinct_of_extents(plan: Plan) -> Plan:
    """Each row once for each extent."""
    return Top(plan, (), 1, 0, plan.schema, plan.schema.names)


def of_extents(kind: StreamKind, plan: Plan, window: Window, source: SourceText, span: Span) -> Plan:
    """ISTREAM, DSTREAM or RSTREAM of a window with SLIDE: of what is there at the instants it looks at.

    Raises:
        UnsupportedError: lists, which can't be compared.
        QueryError: sessions, which share no rows.
    """
    if kind == "rstream":
        return plan  # all rows at each instant: so they come anyway
    word = kind.upper()
    if not window.successive:
        raise source.error(
            f"{word} compares each extent with the one before, and sessions share no rows",
            span,
            f"Leave {word} out: every row comes with its session.",
        )
    nested = next((f for f in plan.schema if f.dtype.is_nested()), None)
    if nested is not None:
        raise source.error(
            f"{word} compares rows, and {nested.name} is a {type_name(nested.dtype)}",
            span,
            "Select what can be compared: numbers, texts, times.",
            UnsupportedError,
        )
    if answered(plan) is not plan:
        raise source.error(
            f"{word} isn't available together with a scalar subquery",
            span,
            "Put the scalar subquery into an outer query: SELECT ... FROM (SELECT ISTREAM ...) [NOW] WHERE n > (SELECT ...).",
            UnsupportedError,
        )
    made, top = _select_list(plan)
    about = {
        n: e.name
        for n, e in made.items
        if isinstance(e, Column) and e.name in (WINDOW_START, WINDOW_END, WINDOW_ID) and plan.schema.find(n) is not None
    }
    if top is not None and window.ends_with_rows and (top.offset or not top.limit):
        raise source.error(
            f"{word} over {window} can't have OFFSET: extents without a row left couldn't be recognized",
            span,
            "Leave OFFSET out, or give the window a SLIDE of time.",
            UnsupportedError,
        )
    changes = ExtentChanges(kind, plan, window, tuple(about.items()), time_dtype(plan).is_integer(), plan.schema)
    return _successive(changes, made, source, span) if window.ends_with_rows else changes


def _select_list(plan: Plan) -> tuple[Project, Top | None]:
    """The select list that answers of extents were made by, and which of them are left."""
    top = plan.input if isinstance(plan, Project) and isinstance(plan.input, Top) else plan
    made = top.input if isinstance(top, Top) else plan
    assert isinstance(made, Project)
    return made, top if isinstance(top, Top) else None


def _with_hidden(plan: Plan, hidden: list[tuple[str, Expr]], extents: Plan) -> Plan:
    """Answers of `extents` with columns that are not shown, those of the first rows as well."""
    names = [name for name, _ in hidden]
    if isinstance(plan, Top):
        below = _with_hidden(plan.input, hidden, extents)
        return replace(plan, input=below, schema=below.schema, partition=plan.partition and (*plan.partition, *names))
    assert isinstance(plan, Project)
    if isinstance(plan.input, Top):
        extents = _with_hidden(plan.input, hidden, extents)
        hidden = [(name, Column(name, e.dtype)) for name, e in hidden]
    items = (*plan.items, *hidden)
    return Project(extents, items, schema_of(items))


def _successive(changes: ExtentChanges, made: Project, source: SourceText, span: Span) -> ExtentChanges:
    """Where extents aren't known by their times: all are asked for, with what says which come after each other."""
    having = made.input if isinstance(made.input, Filter) else None
    below = made.input if having is None else having.input
    if isinstance(below, Top | WindowFunctions):
        what = "ROW_NUMBER()" if isinstance(below, Top) else "a window function"
        raise source.error(
            f"{changes.kind.upper()} can't be combined with {what} over this window",
            span,
            "Give the window a SLIDE of time, or number the rows in a separate query.",
            UnsupportedError,
        )
    extents = under(below.input if isinstance(below, ExtentRows) else below, Lookup)
    assert isinstance(extents, Aggregate)
    window = extents.window
    hidden: list[tuple[str, Expr]] = [
        (f"$part{i}", Column(n, e.dtype))
        for i, (n, e) in enumerate(k for k in extents.keys if k[1] in window.partitioned_by)
    ]
    partition = tuple(name for name, _ in hidden)
    if having is not None and changes.input is not made:
        raise source.error(
            f"{changes.kind.upper()} over {window} can't have HAVING together with DISTINCT or LIMIT",
            span,
            "Leave DISTINCT out: each extent has a group once anyway. Or give the window a SLIDE of time.",
            UnsupportedError,
        )
    if having is not None:
        hidden.append((_KEPT, having.predicate))
    if not hidden:
        return changes
    plan = _with_hidden(changes.input, hidden, below)
    return replace(changes, input=plan, partition=partition, kept=None if having is None else _KEPT)


def time_dtype(plan: Plan) -> pl.DataType:
    """The type of the times of the extents that a select list is over."""
    while not isinstance(plan, Aggregate):
        (plan,) = plan.inputs
    return window_dtype(plan)
