"""OVER in an order of its own: the SELECT without its window functions, and these apart, above it.

    SELECT k, x - avg(x) OVER (PARTITION BY k ORDER BY y) AS d FROM t WHERE x > 0
    SELECT k, d = $v0 - $w0 of (SELECT k, 0 AS $place0_d, x AS $v0, k AS $v1, y AS $v2 FROM t WHERE x > 0)

`$w0` is the window function, whose argument, partition and order are columns by then. What goes by a stream's own time, and looks
back only, isn't rewritten: it is answered row by row (`bind_over`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import polars as pl

from jupyter_stream import aggregates
from jupyter_stream.aggregates.user import declared
from jupyter_stream.binding.bind_expression import is_aggregate_call
from jupyter_stream.binding.scope import Scope
from jupyter_stream.plan.relations import only_tables
from jupyter_stream.syntax.nodes import (
    ColumnRef,
    Constant,
    FunctionCall,
    Node,
    Operation,
    RowNumber,
    Star,
    conjuncts,
    rewritten,
    walk,
)
from jupyter_stream.syntax.query_syntax import SelectBody, SelectItem, WindowClause
from jupyter_stream.syntax.source_text import Name, Span

ONLY_OVER = ("rank", "dense_rank", "percent_rank", "cume_dist", "ntile", "lead", "nth_value")
"""Functions that are nothing without OVER, and that no row of a stream can be given for good when it comes."""
NEIGHBOURS = ("lead", "lag", "nth_value", "first_value", "last_value", "first", "last", "any_value")


@dataclass(frozen=True)
class SeparatedSelect:
    """A SELECT whose window functions stand apart.

    Attributes:
        body: what is below them: of items with some zeros in their places, all they read selected along.
        calls: the window functions, each once; `$w0` is the first.
        shown: by the beginning of the name of a zero, the item that stands there.
        conditions: those above them, of QUALIFY and WHERE.
        implied: columns to order by where nothing is said, of what looks at neighbours: the stream's time.
    """

    body: SelectBody
    calls: tuple[FunctionCall, ...]
    shown: dict[str, SelectItem]
    conditions: tuple[Node, ...]
    implied: ColumnRef | None


def written_over(body: SelectBody) -> list[FunctionCall | RowNumber]:
    """The window functions of a SELECT, in the order written."""
    nodes = [i.expression for i in body.items] + ([] if body.qualify is None else [body.qualify])
    return [part for node in nodes for part in walk(node) if _is_over(part)]  # type: ignore[misc]  # `_is_over` says so


def _is_over(node: Node) -> bool:
    if isinstance(node, FunctionCall):
        return node.window is not None and node.window.over
    return isinstance(node, RowNumber)


def any_order(body: SelectBody, scope: Scope, found: Iterable[FunctionCall | RowNumber]) -> bool:
    """Whether some window function can't be answered row by row as a stream's rows come."""
    found = list(found)
    calls = [call for call in found if isinstance(call, FunctionCall)]
    if not calls:
        whole = {id(item.expression) for item in body.items}
        inside = any(isinstance(n, RowNumber) and id(n) not in whole for i in body.items for n in walk(i.expression))
        return bool(found) and (inside or body.distinct is not None)
    aggregated = _aggregated(body)
    return any(_any_order(call, scope, aggregated) for call in calls)


def _aggregated(body: SelectBody) -> bool:
    if body.group_by or body.group_all:
        return True
    nodes = [i.expression for i in body.items]
    for call in written_over(body):
        nodes += [*call.args, *_below_over(call.window)] if isinstance(call, FunctionCall) and call.window else []
    return any(is_aggregate_call(part) and not _is_over(part) for node in nodes for part in walk(node))


def _below_over(clause: WindowClause) -> Iterator[Node]:
    yield from clause.partitions
    for item in clause.order:
        yield item.expression


def _any_order(call: FunctionCall, scope: Scope, aggregated: bool) -> bool:
    clause, name = call.window, call.name.text.lower()
    assert clause is not None
    if name in ONLY_OVER or aggregated:
        return True
    if clause.slide is not None or clause.active_expiration or clause.session is not None or clause.landmark:
        return False
    if clause.by or (clause.frame is not None and clause.range is None and not clause.unbounded):
        return True
    framed = clause.range is not None or clause.unbounded or clause.now
    if only_tables(scope.plan):
        return bool(clause.order) or not (framed or name == "lag" or declared(name) is not None)
    if clause.order and not _by_time(clause, scope):
        return True
    windowed = scope.window is not None and not scope.window.keeps_all
    return windowed and (bool(clause.order) or not framed)


def _by_time(clause: WindowClause, scope: Scope) -> bool:
    """Whether it is ordered by the time of the stream, the earliest first."""
    (key, *others), time = clause.order, scope.time
    if others or key.descending or not isinstance(key.expression, ColumnRef):
        return False
    return key.expression.name.text.lower() in {n.lower() for n in (time.column, time.pseudo) if n} | time.names


def goes_by_time(call: FunctionCall, scope: Scope) -> bool:
    """Whether a window function is over a stream's rows in the order of their times."""
    clause = call.window
    assert clause is not None
    if not clause.order:
        return call.name.text.lower() in NEIGHBOURS
    return _by_time(clause, scope)


def separated(body: SelectBody, scope: Scope) -> SeparatedSelect:
    """A SELECT with its window functions above it."""
    return _Separation(body, scope).made()


class _Separation:
    def __init__(self, body: SelectBody, scope: Scope) -> None:
        self._body = body
        self._calls: dict[FunctionCall, Name] = {}
        self._along: dict[Node, str] = {}
        self._hidden: list[SelectItem] = []
        self._names: set[str] = set()
        time = scope.time.column or scope.time.pseudo
        place = body.source.span
        timed = time is not None and not _aggregated(body) and not only_tables(scope.plan)
        self._implied = ColumnRef(Name(time, place), None, place) if timed and time is not None else None

    def made(self) -> SeparatedSelect:
        items, shown = [], dict[str, SelectItem]()
        for number, item in enumerate(self._body.items):
            if not any(map(_is_over, walk(item.expression))):
                items.append(item)
                continue
            plain = item.text if not isinstance(item.expression, RowNumber) else "row_number"
            alias = plain if item.alias is None else item.alias.text
            mark = f"$place{number}_"
            zero = Constant(0, pl.Int64(), item.span)
            items.append(SelectItem(zero, Name(mark + alias, item.span), item.text, item.span))
            shown[mark] = replace(item, expression=self._above(item.expression))
        self._names = {item.alias.text.lower() for item in self._body.items if item.alias is not None}
        where, conditions = None, list[Node]()
        for part in conjuncts(self._body.where):
            if any(map(_is_over, walk(part))):
                conditions.append(part)
            else:
                where = part if where is None else Operation("and", (where, part), part.span)
        above = tuple(self._above(c) for c in (*conditions, *conjuncts(self._body.qualify)))
        calls = tuple(map(self._over_columns, list(self._calls)))
        body = replace(self._body, items=(*items, *self._hidden), where=where, qualify=None, distinct=None, order=None)
        implied = None if self._implied is None else self._column(self._implied)
        body = replace(body, items=(*items, *self._hidden))
        return SeparatedSelect(body, calls, shown, above, implied if isinstance(implied, ColumnRef) else None)

    def _above(self, node: Node) -> Node:
        """An expression over the window functions' columns, and those selected along."""

        def change(part: Node) -> Node | None:
            if isinstance(part, RowNumber):
                part = _numbered(part)
            if isinstance(part, FunctionCall) and _is_over(part):
                name = self._calls.setdefault(part, Name(f"$w{len(self._calls)}", part.span))
                return ColumnRef(name, None, part.span)
            if isinstance(part, Constant | Star) or self._is_alias(part):
                return part
            inside = any(_is_over(p) or self._is_alias(p) for p in walk(part))
            return None if inside else self._column(part)

        return rewritten(node, change)

    def _is_alias(self, node: Node) -> bool:
        return isinstance(node, ColumnRef) and node.qualifier is None and node.name.text.lower() in self._names

    def _column(self, node: Node) -> Node:
        """A part as a column that is selected along; a constant as it is."""
        if isinstance(node, Constant | Star):
            return node
        name = self._along.get(node)
        if name is None:
            name = self._along[node] = f"$v{len(self._along)}"
            self._hidden.append(SelectItem(node, Name(name, node.span), "", node.span))
        return ColumnRef(Name(name, node.span), None, node.span)

    def _over_columns(self, call: FunctionCall) -> FunctionCall:
        """A window function of nothing but columns and constants."""
        clause = call.window
        assert clause is not None
        by = tuple(self._column(node) for node in clause.partitions)
        order = tuple(replace(key, expression=self._column(key.expression)) for key in clause.order)
        inner = tuple(replace(key, expression=self._column(key.expression)) for key in call.order)
        where = None if call.where is None else self._column(call.where)
        args = tuple(map(self._column, call.args))
        return replace(call, args=args, where=where, order=inner, window=replace(clause, by=by, order=order))


def _numbered(node: RowNumber) -> FunctionCall:
    """ROW_NUMBER() as a call like any other."""
    place = Span(node.span.start, node.span.start + len("row_number"))
    clause = WindowClause(node.span, over=True, by=node.partition, order=node.order)
    return FunctionCall(Name("row_number", place), (), node.span, window=clause)


def is_window_function(name: str) -> bool:
    """Whether a call of that name with OVER behind it is no aggregate."""
    return name in (*ONLY_OVER, "lag", "row_number") or (name in NEIGHBOURS and aggregates.find(name) is not None)


__all__ = [
    "NEIGHBOURS",
    "ONLY_OVER",
    "SeparatedSelect",
    "any_order",
    "goes_by_time",
    "is_window_function",
    "separated",
    "written_over",
]
