"""Joins with the one row that goes for a row: the nearest before it (ASOF), or what a table held at its time.

FROM a ASOF JOIN b ON b.k = a.k AND a.ts >= b.ts                     -- streams, by their times
FROM a JOIN b FOR SYSTEM_TIME AS OF a.ts ON b.k = a.k
FROM a [NOW] JOIN (SELECT * FROM b QUALIFY ROW_NUMBER() OVER (PARTITION BY k ORDER BY ts DESC) = 1) b ON b.k = a.k

FROM a ASOF LEFT JOIN t ON t.k = a.k AND a.n > t.n                   -- tables, by any column
FROM a LEFT JOIN LATERAL (SELECT * FROM t WHERE t.k = a.k AND a.n > t.n ORDER BY t.n DESC LIMIT 1) t

FROM a JOIN t FOR SYSTEM_TIME AS OF a.ts ON t.k = a.k                -- a table or a view, which is looked up at the row's time
FROM a JOIN t ON t.k = a.k
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import reduce
from typing import TypeAlias

import polars as pl

from jupyter_stream.binding.bind_join import living
from jupyter_stream.binding.scope import Scope
from jupyter_stream.core.messages import TS
from jupyter_stream.errors import UnsupportedError
from jupyter_stream.functions import Column
from jupyter_stream.plan.lifetimes import holds_join
from jupyter_stream.plan.relations import is_relation, only_tables
from jupyter_stream.syntax.nodes import (
    ColumnRef,
    Constant,
    FunctionCall,
    Node,
    Operation,
    RowNumber,
    Star,
    conjuncts,
)
from jupyter_stream.syntax.query_syntax import (
    FromItem,
    JoinRef,
    Ordering,
    OrderItem,
    SelectBody,
    SelectItem,
    StreamRef,
    SubqueryRef,
    WindowClause,
)
from jupyter_stream.syntax.source_text import Name, SourceText, Span

Bind: TypeAlias = Callable[[FromItem], Scope]
_TURNED = {">=": "<=", ">": "<", "<=": ">=", "<": ">"}
_NOW = frozenset(("proctime", "now", "current_timestamp", "localtimestamp"))
_USAGE = "Write FROM a ASOF JOIN b ON a.k = b.k AND a.ts >= b.ts."


def is_asof(item: JoinRef) -> bool:
    """Whether a join is with one row that goes for a row."""
    return item.asof is not None or _as_of(item.parts[1]) is not None


def written_plainly(item: JoinRef, source: SourceText, bind: Bind) -> JoinRef:
    """Such a join in other words.

    Raises:
        QueryError: the condition doesn't say which row is meant.
        UnsupportedError: a kind of join, or an order of two streams, that isn't available.
    """
    if item.kind not in ("inner", "left"):
        raise source.error(
            f"a {item.kind} join can't be ASOF, nor FOR SYSTEM_TIME AS OF",
            item.span,
            "Write ASOF JOIN, or ASOF LEFT JOIN to keep rows without a partner.",
            UnsupportedError,
        )
    left_item, right_item = item.parts
    left, right = bind(left_item), bind(_without_as_of(right_item))
    right = right if only_tables(left.plan) else living(right)
    if item.asof is None:
        return _at_time(item, left, right, source)
    item = _with_on(item, left_item, right_item, source)
    found = _nearest(item, left, right, source)
    if only_tables(right.plan):
        return _lateral(item, found, left, source)
    at = (left.find(found.left.name.text), right.find(found.right.name.text))
    times = all(_is_time(scope, column) for scope, column in zip((left, right), at, strict=True))
    if not times or found.comparison != ">=":
        raise source.error(
            "of two streams an ASOF join takes the newest row up to the time of a row",
            found.span,
            "Compare their times: ASOF JOIN b ON a.k = b.k AND a.ts >= b.ts.",
            UnsupportedError,
        )
    return _of_newest(item, [part for part in conjuncts(item.on) if part is not found.node], found.right, left, source)


def _as_of(item: FromItem) -> Node | None:
    return item.as_of if isinstance(item, StreamRef | SubqueryRef) else None


def _without_as_of(item: FromItem) -> FromItem:
    return replace(item, as_of=None) if isinstance(item, StreamRef | SubqueryRef) else item


def _is_time(scope: Scope, column: object) -> bool:
    return isinstance(column, Column) and column.name in (TS, scope.time.column)


# -- FOR SYSTEM_TIME AS OF


def _at_time(item: JoinRef, left: Scope, right: Scope, source: SourceText) -> JoinRef:
    """A look-up at the time of each row: of a table it is one as it is, of a stream it is the newest row of each key."""
    right_item = item.parts[1]
    at = _as_of(right_item)
    assert at is not None
    _check_time(at, left, source)
    plain = replace(item, parts=(item.parts[0], _without_as_of(right_item)))
    if only_tables(right.plan):
        return plain
    if is_relation(right.plan):
        return replace(plain, parts=(_at_once(item.parts[0], left), plain.parts[1]))
    time = right.time.column
    if time is None:
        raise source.error(
            "this input has no column with its time, by which its newest row is known",
            right_item.span,
            "Select the time along, or join with a table.",
        )
    return _of_newest(plain, list(conjuncts(item.on)), ColumnRef(Name(time, at.span), None, at.span), left, source)


def _check_time(at: Node, left: Scope, source: SourceText) -> None:
    """Raise where a row isn't looked up for at its own time."""
    if isinstance(at, FunctionCall) and at.name.text.lower() in _NOW:
        return
    if isinstance(at, ColumnRef):
        known = at.qualifier is not None and at.qualifier.text.lower() in left.qualifiers
        found = left.find(at.name.text, at.qualifier.text if at.qualifier is not None and known else None)
        if at.name.text.lower() in _NOW or _is_time(left, found) or only_tables(left.plan):
            return
    time = left.time.column or left.time.pseudo
    raise source.error(
        "rows are looked up for at their own time",
        at.span,
        f"Write FOR SYSTEM_TIME AS OF {time}." if time else "Leave FOR SYSTEM_TIME AS OF out.",
    )


# -- the newest row of each key


def _of_newest(item: JoinRef, conditions: list[Node], time: ColumnRef, left: Scope, source: SourceText) -> JoinRef:
    """The rows of the left stream, each at its time, with the newest row of each key there."""
    left_item, right_item = item.parts
    alias = right_item.alias or (right_item.name if isinstance(right_item, StreamRef) else None)
    if alias is None:
        raise source.error("this input needs a name", right_item.span, "Write (SELECT ...) AS b.")
    keys = tuple(key for part in conditions for key in _keys_of(part, alias))
    if not keys:
        place = item.on.span if item.on is not None else item.span
        raise source.error("which rows belong together must be said by = here", place, _USAGE)
    span = right_item.span
    order = (OrderItem(time, "", True, False, span),)
    first: Node = Operation("=", (RowNumber(keys, order, span), Constant(1, pl.Int32(), span)), span)
    every = SelectItem(Star(None, span), None, "*", span)
    body = SelectBody(span, None, None, (every,), right_item, None, (), False, None, span, qualify=first)
    newest = SubqueryRef(body, None, alias, span)
    on = reduce(lambda one, other: Operation("and", (one, other), one.span), conditions)
    return replace(item, parts=(_at_once(left_item, left), newest), on=on, asof=None)


def _keys_of(part: Node, alias: Name) -> list[ColumnRef]:
    """The right side's columns that a condition says are equal to something."""
    if not isinstance(part, Operation) or part.function != "=":
        return []
    named = [arg for arg in part.args if isinstance(arg, ColumnRef) and arg.qualifier is not None]
    return [arg for arg in named if arg.qualifier is not None and arg.qualifier.text.lower() == alias.text.lower()]


def _at_once(item: FromItem, scope: Scope) -> FromItem:
    """Rows of a stream that are looked up for once, at their time, where no window says more."""
    if item.window is not None or scope.window is not None or holds_join(scope.plan) or only_tables(scope.plan):
        return item
    if isinstance(item, JoinRef):  # looked up in tables, or given windows
        return replace(item, parts=(_at_once(item.parts[0], scope), item.parts[1]))
    return replace(item, window=WindowClause(item.span, now=True))


# -- the nearest row


@dataclass(frozen=True)
class _Nearest:
    """The comparison of an ASOF join.

    Attributes:
        node: as written.
        left, right: the columns of the two inputs.
        comparison: what the left one is to the right one.
    """

    node: Node
    left: ColumnRef
    right: ColumnRef
    comparison: str

    @property
    def span(self) -> Span:
        """Where it stands."""
        return self.node.span


def _with_on(item: JoinRef, left: FromItem, right: FromItem, source: SourceText) -> JoinRef:
    """USING as ON: the last column is the one that is nearest."""
    if not item.using:
        if item.on is None:
            raise source.error("ON is missing here", item.span, _USAGE)
        return item
    names = [i.alias or (i.name if isinstance(i, StreamRef) else None) for i in (left, right)]
    if None in names:
        raise source.error("USING of an ASOF join needs names on both sides", item.span, _USAGE)
    parts: list[Node] = []
    for number, column in enumerate(item.using):
        sides = tuple(ColumnRef(column, name, column.span) for name in names)
        parts.append(Operation(">=" if number == len(item.using) - 1 else "=", sides, column.span))
    return replace(item, using=(), on=reduce(lambda a, b: Operation("and", (a, b), a.span), parts))


def _nearest(item: JoinRef, left: Scope, right: Scope, source: SourceText) -> _Nearest:
    found = [part for part in conjuncts(item.on) if isinstance(part, Operation) and part.function in _TURNED]
    if len(found) != 1 or not all(isinstance(arg, ColumnRef) for arg in found[0].args):
        place = found[1].span if len(found) > 1 else (item.on.span if item.on is not None else item.span)
        raise source.error("an ASOF join compares one column of each side by >=, >, <= or <", place, _USAGE)
    one, other = found[0].args
    assert isinstance(one, ColumnRef)
    assert isinstance(other, ColumnRef)
    comparison = found[0].function
    if _is_of(right, one) and _is_of(left, other) and not (_is_of(left, one) and _is_of(right, other)):
        one, other, comparison = other, one, _TURNED[comparison]
    if not (_is_of(left, one) and _is_of(right, other)):
        raise source.error("an ASOF join compares one column of each side by >=, >, <= or <", found[0].span, _USAGE)
    return _Nearest(found[0], one, other, comparison)


def _is_of(scope: Scope, column: ColumnRef) -> bool:
    if column.qualifier is None:
        return scope.has(column.name.text)
    return column.qualifier.text.lower() in scope.qualifiers


def _lateral(item: JoinRef, found: _Nearest, left: Scope, source: SourceText) -> JoinRef:
    """The first of a table's rows in the order of the column, of those that are far enough."""
    left_item, right_item = item.parts
    span = right_item.span
    alias = right_item.alias or (right_item.name if isinstance(right_item, StreamRef) else None)
    if alias is None:
        raise source.error("this input needs a name", span, "Write (SELECT ...) AS b.")
    every = SelectItem(Star(None, span), None, "*", span)
    backwards = found.comparison in (">=", ">")
    order = Ordering((OrderItem(found.right, "", backwards, True, span),), 1, 0, span)
    body = SelectBody(span, None, None, (every,), right_item, item.on, (), False, None, span, order=order)
    nearest = SubqueryRef(body, None, alias, span, lateral=True)
    return replace(item, parts=(_at_once(left_item, left), nearest), on=None, using=(), asof=None)


__all__ = ["is_asof", "written_plainly"]
