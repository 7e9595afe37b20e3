"""A SELECT that stands for a value, as a relation: its value, and by what it is matched with the rows around it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import polars as pl

from jupyter_stream import aggregates, functions
from jupyter_stream.binding.as_relation import Lives, lived
from jupyter_stream.binding.bind_expression import holds_aggregate, is_aggregate_call
from jupyter_stream.binding.forms.dependent_join import OuterQuery, dependent, depends
from jupyter_stream.binding.forms.memberships import is_plain
from jupyter_stream.binding.join_conditions import matched, matching, take
from jupyter_stream.binding.of_nothing import of_nothing
from jupyter_stream.binding.scope import Scope
from jupyter_stream.binding.select_list import schema_of
from jupyter_stream.core.table import ViewRows
from jupyter_stream.errors import QueryError, UnsupportedError
from jupyter_stream.functions import Column, Expr, Literal
from jupyter_stream.functions.types import BIGINT, VOID
from jupyter_stream.plan.logical import (
    Aggregate,
    Alive,
    Derived,
    Filter,
    Join,
    Lookup,
    Plan,
    Project,
    RelationJoin,
    Scan,
    Top,
    ToStream,
)
from jupyter_stream.plan.logical import walk as nodes_of
from jupyter_stream.syntax.nodes import (
    ColumnRef,
    Constant,
    FunctionCall,
    Node,
    Operation,
    Outer,
    Star,
    Subselect,
    conjuncts,
    rewritten,
    walk,
)
from jupyter_stream.syntax.query_syntax import (
    FromItem,
    JoinKind,
    QueryBody,
    SelectBody,
    SelectItem,
    SetBody,
    SubqueryRef,
)
from jupyter_stream.syntax.source_text import Name, SourceText, Span

BindBody: TypeAlias = Callable[[QueryBody], tuple[Plan, Lives]]
BindFrom: TypeAlias = Callable[[FromItem], Scope]

_NULL: Expr = Literal(None, VOID)
_SEVERAL = "a scalar subquery must have one row, and this one has several"
_LISTS = frozenset({"collect_list", "heavy_hitters", "approx_top_k", "topk", "topkdistinct"})


@dataclass(frozen=True)
class Pair:
    """What a SELECT that stands for a value is of: a column of it equals something of the query around it.

    Attributes:
        outer: that, as written.
        column: the SELECT's column.
        nulls: whether NULL equals NULL.
    """

    outer: Node
    column: str
    nulls: bool = False

    def equal(self, outer: Expr, column: Expr) -> Expr:
        """The condition, as a pair of equal keys as far as possible."""
        least = _LEAST.get(type(column.dtype))
        if not self.nulls:
            return functions.resolve("=", [outer, column])
        if least is None:
            return functions.resolve("<=>", [outer, column])
        filled = [functions.resolve("coalesce", [side, Literal(least, column.dtype)]) for side in (outer, column)]
        both = functions.resolve("=", [functions.resolve("is_null", [side]) for side in (outer, column)])
        return functions.resolve("and", [functions.resolve("=", filled), both])


_LEAST: Mapping[type[pl.DataType], object] = {
    **dict.fromkeys((pl.Int8, pl.Int16, pl.Int32, pl.Int64), 0),
    **dict.fromkeys((pl.Float32, pl.Float64), 0.0),
    pl.String: "",
    pl.Boolean: False,
    pl.Datetime: dt.datetime(1970, 1, 1),
    pl.Date: dt.date(1970, 1, 1),
}
"""What stands for NULL in a key; a second one tells them apart."""


@dataclass(frozen=True)
class Inner:
    """A SELECT that stands for a value.

    Attributes:
        scope: its rows.
        value: what it stands for, over these.
        pairs: which of its rows go with which row around it.
        always: whether it has a value over no rows too, though nothing is in the relation.
    """

    scope: Scope
    value: Expr
    pairs: tuple[Pair, ...]
    always: bool

    def kind(self, wanted: JoinKind) -> JoinKind:
        """How it is joined."""
        return "left" if self.always else wanted

    def joined(self, plan: Plan, others: Sequence[Expr]) -> Plan:
        """The join with it, and which of its rows are meant.

        Args:
            plan: the join without conditions.
            others: what the pairs name of the query around it.
        """
        if isinstance(plan, ToStream | Alive):
            return replace(plan, input=self.joined(plan.input, others))
        if not self.pairs:
            return plan
        assert isinstance(plan, RelationJoin | Lookup | Join)
        # several SELECTs may stand at one place, and their columns have one name
        there = {f.name: Column(n, f.dtype) for n, f in zip(plan.right_names, self.scope.schema, strict=True)}
        for pair, other in zip(self.pairs, others, strict=True):
            equal = pair.equal(other, there[pair.column])
            if isinstance(plan, Join):
                plan = take(plan, equal, into_inputs=plan.kind == "inner")
            else:
                plan = matched(plan, equal) if isinstance(plan, Lookup) else matching(plan, equal)
        return plan


@dataclass(frozen=True)
class _Prepared:
    """A SELECT on its way to being one of a value.

    Attributes:
        body: its text, with the columns of the pairs.
        pairs: see `Inner`.
        nothing: its value over no rows.
        counted: whether a column says how many rows it has.
    """

    body: QueryBody
    pairs: tuple[Pair, ...]
    nothing: Expr = _NULL
    counted: bool = False


def inner_of(
    each: Subselect, name: Name, source: SourceText, bind_body: BindBody, bind_from: BindFrom, around: OuterQuery
) -> Inner:
    """A SELECT that stands for a value, under that name.

    Args:
        each: the SELECT.
        name: the column of its value.
        source: the cell.
        bind_body: how a SELECT is bound.
        bind_from: how FROM of one is.
        around: the query around it.

    Raises:
        QueryError: it may give several columns, or has a SLIDE.
        UnsupportedError: it depends on the query around it in a way that isn't available.
    """
    found = _prepared(each, name, source, bind_from, around)
    plan, lifetime = lived(*bind_body(found.body))
    if not found.pairs and not found.counted and not _one_row(plan):
        found = replace(found, body=_single(each.body, name, source), counted=True)
        plan, lifetime = lived(*bind_body(found.body))
    there, rows = f"{name.text} is there", f"{name.text} rows"
    own = {there, rows, *(pair.column for pair in found.pairs)}
    shown = [f for f in plan.schema if f.name not in own]
    if any(n.window.sliding for n in nodes_of(plan) if isinstance(n, Aggregate)):
        raise source.error(
            "a scalar subquery needs a value at any time, and this one has values only where its extents end",
            each.span,
            "Leave SLIDE out: [RANGE 1 MINUTE].",
        )
    if len(shown) != 1:
        raise _several_columns(len(shown), each.span, source)
    if shown[0].name != name.text and found.nothing == _NULL:
        kept = [f for f in plan.schema if f.name in own]
        items = ((name.text, Column(shown[0].name, shown[0].dtype)), *((f.name, Column(f.name, f.dtype)) for f in kept))
        plan = Project(plan, items, schema_of(items))
    value: Expr = Column(name.text, shown[0].dtype)
    if found.nothing != _NULL:
        missing = functions.resolve("is_null", [Column(there, BIGINT)])
        value = functions.resolve("if", [missing, functions.cast(found.nothing, value.dtype), value])
    if found.counted:
        several = functions.resolve(">", [Column(rows, BIGINT), Literal(1, BIGINT)])
        failure = functions.resolve("raise_error", [Literal(_SEVERAL, pl.String())])
        value = functions.resolve("if", [several, failure, value])
    return Inner(Scope(plan, (name.text,), lifetime), value, found.pairs, found.nothing != _NULL)


def _several_columns(count: int, place: Span, source: SourceText) -> QueryError:
    return source.error(
        f"a scalar subquery must have one column, and this one has {count}", place, "Write (SELECT max(x) FROM ...)."
    )


def _prepared(each: Subselect, name: Name, source: SourceText, bind_from: BindFrom, around: OuterQuery) -> _Prepared:
    body = each.body
    if isinstance(body, SelectBody) and not any(isinstance(i.expression, Star) for i in body.items):
        if len(body.items) != 1:
            raise _several_columns(len(body.items), each.span, source)
        if not body.grouping_sets:
            body = replace(body, items=(replace(body.items[0], alias=name),))
    named = depends(body, around, each.span, source, bind_from)
    counted = named and not _gives_one(body)
    if counted:
        body = _single(body, name, source)
    nothing = _NULL
    if isinstance(body, SelectBody) and not counted and len(body.items) == 1:
        body, nothing = _with_nothing(body, source)
    equal = None
    if named and isinstance(body, SelectBody):
        equal = _by_equality(body, name, bind_from, around)
    if equal is not None:
        body, pairs = equal
    elif named:
        if not counted:
            _check_nothing(body, source, bind_from)
        freed = dependent(body, around, each.span, source, bind_from)
        assert freed is not None
        body, pairs = freed.body, tuple(Pair(outer, column, nulls=True) for outer, column in freed.pairs)
    else:
        pairs = ()
    if nothing != _NULL and isinstance(body, SelectBody):
        there = Name(f"{name.text} is there", each.span)
        body = replace(body, items=(*body.items, SelectItem(Constant(1, BIGINT, there.span), there, "", there.span)))
    return _Prepared(body, pairs, nothing, counted)


def _check_nothing(body: QueryBody, source: SourceText, bind_from: BindFrom) -> None:
    """Raise where a value over no rows would have to be computed for each row of the query around it."""
    if not isinstance(body, SelectBody) or len(body.items) != 1 or body.group_by:
        return
    item = body.items[0].expression
    called = [n.name.text.lower() for n in walk(item) if isinstance(n, FunctionCall)]
    if not any(aggregates.of_nothing(name) is not None or name in _LISTS for name in called):
        return
    inner = _own_rows(body, bind_from)
    if (
        _names_outside(item, inner)
        or (body.having is not None and _names_outside(body.having, inner))
        or set(called) & _LISTS
    ):
        raise source.error(
            "this scalar subquery has a value even without rows, which isn't available with columns of the outer query",
            item.span,
            "Write only the aggregate in it, (SELECT count(*) FROM ...), and calculate outside.",
            UnsupportedError,
        )


def _names_outside(node: Node, inner: Scope | None) -> bool:
    """Whether a column of the query around it is named outside of aggregates; where FROM isn't known, any column."""
    around = rewritten(node, lambda part: Constant(None, VOID, part.span) if is_aggregate_call(part) else None)
    if inner is None:
        return any(isinstance(part, ColumnRef | Outer) for part in walk(around))
    return _names_outer(around, inner)


def _gives_one(body: QueryBody) -> bool:
    """Whether it gives no more than one row for each row around it."""
    if body.order is not None and body.order.limit == 1:
        return True
    if isinstance(body, SetBody) or body.group_by or body.group_all or body.grouping_sets:
        return False
    return any(holds_aggregate(item.expression) for item in body.items)


def _single(body: QueryBody, name: Name, source: SourceText) -> SelectBody:
    """The one value of a SELECT that may have several rows, and how many there are.

    SELECT x FROM t WHERE t.k = s.k
    SELECT min(x), count(*) FROM t WHERE t.k = s.k
    """
    plain = isinstance(body, SelectBody) and body.distinct is None and is_plain(body)
    if plain and isinstance(body, SelectBody) and not isinstance(body.items[0].expression, Star):
        inner, value, where = body.source, body.items[0].expression, body.where
    else:
        column = Name(f"{name.text} of rows", name.span)
        inner = SubqueryRef(body, None, Name(f"{name.text} from", name.span), name.span, columns=(column,))
        value, where = ColumnRef(column, None, name.span), None
    made = FunctionCall(Name("min", name.span), (value,), name.span)
    rows = FunctionCall(Name("count", name.span), (Star(None, name.span),), name.span)
    items = (
        SelectItem(made, name, "", name.span),
        SelectItem(rows, Name(f"{name.text} rows", name.span), "", name.span),
    )
    return SelectBody(name.span, None, None, items, inner, where, (), False, None, body.span)


def _with_nothing(body: SelectBody, source: SourceText) -> tuple[SelectBody, Expr]:
    """A SELECT of one aggregate without groups, and its value over no rows. Where that isn't NULL, HAVING chooses between the
    value and NULL, so that a row that isn't there means no rows.
    """
    (item,) = body.items
    if not holds_aggregate(item.expression) or body.group_by or body.group_all:
        return body, _NULL
    nothing = of_nothing(item.expression, body.having, source)
    if nothing == _NULL or body.having is None:
        return body, nothing
    otherwise = Constant(None, VOID, item.span)
    chosen = Operation("case", (body.having, item.expression, otherwise), item.expression.span)
    return replace(body, items=(replace(item, expression=chosen),), having=None), nothing


def _by_equality(
    body: SelectBody, name: Name, bind_from: BindFrom, around: OuterQuery
) -> tuple[SelectBody, tuple[Pair, ...]] | None:
    """An aggregate without what its WHERE sets equal to columns of the query around it, grouped by that; None where it names
    these elsewhere, too.
    """
    values = [*(item.expression for item in body.items), *([] if body.having is None else [body.having])]
    if body.where is None or body.group_by or body.group_all or body.order is not None or body.distinct is not None:
        return None
    if any(isinstance(part, Subselect) for node in (*values, body.where) for part in walk(node)):
        return None
    if not holds_aggregate(body.items[0].expression):
        return None
    inner = _own_rows(body, bind_from)
    if inner is None or any(_names_outer(value, inner) for value in values):
        return None
    kept: list[Node] = []
    pairs: list[tuple[Node, Node]] = []
    for part in conjuncts(body.where):
        if not _names_outer(part, inner):
            kept.append(part)
            continue
        pair = part.args if isinstance(part, Operation) and part.function == "=" else ()
        own = [side for side in pair if not _names_outer(side, inner)]
        others = [side for side in pair if side not in own and not any(_is_inner(n, inner) for n in walk(side))]
        if len(own) != 1 or len(others) != 1:
            return None
        pairs.append((own[0], others[0]))
    called = {n.name.text.lower() for node in values for n in walk(node) if isinstance(n, FunctionCall)}
    if called & _LISTS:
        return None
    columns = [f"{name.text} = {i}" for i in range(len(pairs))]
    keys = [
        SelectItem(own, Name(column, own.span), "", own.span) for (own, _), column in zip(pairs, columns, strict=True)
    ]
    body = replace(body, items=(*body.items, *keys), where=_all(kept), group_by=tuple(own for own, _ in pairs))
    return body, tuple(Pair(other, column) for (_, other), column in zip(pairs, columns, strict=True))


def _own_rows(body: SelectBody, bind_from: BindFrom) -> Scope | None:
    """What FROM gives; None where it names columns of the query around it, too."""
    try:
        return bind_from(body.source)
    except QueryError:
        return None


def _names_outer(node: Node, inner: Scope) -> bool:
    return any(_is_outer(part, inner) for part in walk(node))


def _is_inner(node: Node, inner: Scope) -> bool:
    """Whether it is a column of the SELECT's own FROM."""
    if not isinstance(node, ColumnRef):
        return False
    if node.qualifier is None:
        return inner.has(node.name.text)
    return node.qualifier.text.lower() in inner.qualifiers or inner.has(node.qualifier.text)  # a field of a STRUCT


def _is_outer(node: Node, inner: Scope) -> bool:
    return isinstance(node, Outer) or (isinstance(node, ColumnRef) and not _is_inner(node, inner))


def _all(parts: list[Node]) -> Node | None:
    found: Node | None = None
    for part in parts:
        found = part if found is None else Operation("and", (found, part), part.span)
    return found


def _one_row(plan: Plan) -> bool:
    """Whether a plan has no more than one row at any time, as far as can be told."""
    match plan:
        case Aggregate():
            return not plan.keys
        case Top(limit=1, partition=()):
            return True
        case Project() | Filter() | Derived():
            return _one_row(plan.input)
        case Scan() if isinstance(plan.stream.table, ViewRows):
            return _one_row(plan.stream.table.plan)  # type: ignore[arg-type]  # core knows no plans
    return False


__all__ = ["BindBody", "BindFrom", "Inner", "inner_of"]
