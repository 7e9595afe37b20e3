"""`(SELECT avg(x) FROM ...)` as a value in WHERE: a join with the one row that SELECT has at each instant.

Where it names columns of the query around it, in equalities, it is a join with an aggregate grouped by what these are equal to.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

from jupyter_stream.core.table import ViewRows
from jupyter_stream.errors import UnsupportedError
from jupyter_stream.functions import Column
from jupyter_stream.functions.types import BIGINT
from jupyter_stream.language.as_relation import Lives, lived
from jupyter_stream.language.bind_aggregate import InputNames
from jupyter_stream.language.bind_expression import ExpressionBinder, holds_aggregate
from jupyter_stream.language.bind_join import bind_join
from jupyter_stream.language.join_conditions import absorb
from jupyter_stream.language.nodes import (
    CastTo,
    ColumnRef,
    Constant,
    FieldOf,
    FunctionCall,
    ItemOf,
    Node,
    Operation,
    Star,
    Subselect,
    ValueList,
    conjuncts,
    walk,
)
from jupyter_stream.language.query_syntax import (
    FromItem,
    JoinKind,
    JoinRef,
    QueryBody,
    SelectBody,
    SelectItem,
    SubqueryRef,
)
from jupyter_stream.language.scope import JoinedColumn, Scope
from jupyter_stream.language.select_list import schema_of
from jupyter_stream.language.source_text import Name, SourceText
from jupyter_stream.plan.logical import Aggregate, Derived, Filter, Plan, Project, Scan, Top
from jupyter_stream.plan.logical import walk as nodes_of
from jupyter_stream.plan.relations import slides

BindBody: TypeAlias = Callable[[QueryBody], tuple[Plan, Lives]]
BindFrom: TypeAlias = Callable[[FromItem], Scope]

_VALUE, _EQUAL = "(value)", "(equal)"
"""What columns are called that nobody can name."""
_COMPARISONS = frozenset({"=", "<>", "<", "<=", ">", ">="})
_ARITHMETIC = frozenset({"+", "-", "*", "neg"})
_COUNTS = frozenset({"count", "approx_count_distinct"})
_LISTS = frozenset({"collect_list", "heavy_hitters", "approx_top_k"})


def values(condition: Node) -> list[Subselect]:
    """The SELECTs in a condition that stand for values."""
    return [node for node in walk(condition) if isinstance(node, Subselect)]


def apply(
    scope: Scope, item: FromItem, condition: Node, source: SourceText, bind_body: BindBody, bind_from: BindFrom
) -> Scope:
    """FROM, as written in `item`, after a condition that holds SELECTs as values.

    Raises:
        QueryError: one may give several rows, or columns.
        UnsupportedError: one that depends on the row in another way than by equality, or reads a table beside a stream.
    """
    shown = scope.joined or tuple(JoinedColumn(scope.qualifiers, f.name, f.name) for f in scope.schema)
    found: dict[Node, Node] = {}
    kind: JoinKind = "inner" if _never_true_of_null(condition) else "left"
    for number, each in enumerate(values(condition)):
        if each in found:
            continue
        name = Name(f"{_VALUE}{len(scope.schema)}_{number}", each.span)
        inner = _inner(each, name, source, bind_body, bind_from)
        # a count of nothing is 0, though nothing is in the relation
        sides = (item, SubqueryRef(each.body, None, None, each.span))
        join = JoinRef("left" if inner.counts else kind, sides, inner.on, (), each.span, value=True)
        scope = bind_join(join, source, partial(_bound, item, scope, inner.scope))
        value: Node = ColumnRef(Name(_VALUE, each.span), name, each.span)
        if inner.counts:
            value = FunctionCall(Name("coalesce", each.span), (value, Constant(0, BIGINT, each.span)), each.span)
        found[each] = value
    names = InputNames(scope, source, "WHERE")
    bound = ExpressionBinder(source, names).condition(_replaced(condition, found), "WHERE")
    columns = tuple(c for c in scope.joined or () if not any(q.startswith(_VALUE) for q in c.qualifiers))
    assert len(columns) == len(shown)
    return replace(scope, plan=absorb(scope.plan, bound), joined=columns)


@dataclass(frozen=True)
class _Inner:
    """A SELECT that stands for a value.

    Attributes:
        scope: its rows.
        on: what is equal to columns of the query around it; None if nothing is.
        counts: whether it counts rows that are equal in that.
    """

    scope: Scope
    on: Node | None
    counts: bool


def _inner(each: Subselect, name: Name, source: SourceText, bind_body: BindBody, bind_from: BindFrom) -> _Inner:
    body, on, counts = each.body, None, False
    if isinstance(body, SelectBody):
        if len(body.items) == 1 and not isinstance(body.items[0].expression, Star):
            (item,) = body.items
            body = replace(body, items=(replace(item, alias=Name(_VALUE, item.span)),))
        if body.where is not None and not body.group_by and not body.group_all:
            body, on, counts = _uncorrelated(body, bind_from(body.source), name, source)
    plan, lifetime = lived(*bind_body(body))
    shown = [f for f in plan.schema if not f.name.startswith(_EQUAL)]
    if any(slides(n.window) for n in nodes_of(plan) if isinstance(n, Aggregate)):
        raise source.error(
            "a SELECT that stands for a value has one at every instant, and this one only where extents end",
            each.span,
            "Leave SLIDE out: [RANGE 1 MINUTE].",
        )
    if len(shown) != 1:
        raise source.error(f"a SELECT that stands for a value has one column, and this one {len(shown)}", each.span)
    if on is None and not _one_row(plan):
        raise source.error(
            "a SELECT that stands for a value has one row, and this one may have several",
            each.span,
            "Aggregate: (SELECT max(x) FROM ...); or ask with IN, or join with it.",
        )
    if shown[0].name != _VALUE:
        items = ((_VALUE, Column(shown[0].name, shown[0].dtype)),)
        plan = Project(plan, items, schema_of(items))
    return _Inner(Scope(plan, (name.text,), lifetime), on, counts)


def _uncorrelated(
    body: SelectBody, inner: Scope, name: Name, source: SourceText
) -> tuple[SelectBody, Node | None, bool]:
    """A SELECT without what its WHERE says of columns of the query around it; that; whether its value is a count."""
    kept: list[Node] = []
    pairs: list[tuple[Node, Node]] = []
    for part in conjuncts(body.where):
        if not any(_is_outer(node, inner) for node in walk(part)):
            kept.append(part)
            continue
        pair = part.args if isinstance(part, Operation) and part.function == "=" else ()
        own = [side for side in pair if not any(_is_outer(node, inner) for node in walk(side))]
        others = [side for side in pair if side not in own and not any(_is_inner(n, inner) for n in walk(side))]
        if len(own) != 1 or len(others) != 1:
            raise source.error(
                "a SELECT that stands for a value takes columns of the query around it in equalities only",
                part.span,
                "Write WHERE inner_column = outer_column; or join, FROM a JOIN (SELECT ... GROUP BY k) b ON ....",
                UnsupportedError,
            )
        pairs.append((own[0], others[0]))
    if not pairs:
        return body, None, False
    (item,) = body.items
    if not holds_aggregate(item.expression):
        raise source.error(
            "a SELECT that stands for a value has one row, and this one may have several",
            body.span,
            "Aggregate: (SELECT max(x) FROM ...); or join with it.",
        )
    counts = isinstance(item.expression, FunctionCall) and item.expression.name.text.lower() in _COUNTS
    of_nothing = {n.name.text.lower() for n in walk(item.expression) if isinstance(n, FunctionCall)}
    if not counts and of_nothing & (_COUNTS | _LISTS):
        raise source.error(
            "this value of no rows isn't NULL, and a grouped aggregate has no row for them",
            item.span,
            "Take the count alone, (SELECT count(*) FROM ...), and reckon with it outside.",
            UnsupportedError,
        )
    keys = [SelectItem(own, Name(f"{_EQUAL}{i}", own.span), "", own.span) for i, (own, _) in enumerate(pairs)]
    equal: list[Node] = [
        Operation("=", (other, ColumnRef(Name(f"{_EQUAL}{i}", own.span), name, own.span)), own.span)
        for i, (own, other) in enumerate(pairs)
    ]
    by = tuple(own for own, _ in pairs)
    return replace(body, items=(item, *keys), where=_all(kept), group_by=by), _all(equal), counts


def _is_inner(node: Node, inner: Scope) -> bool:
    """Whether it is a column of the SELECT's own FROM."""
    if not isinstance(node, ColumnRef):
        return False
    if node.qualifier is None:
        return inner.has(node.name.text)
    return node.qualifier.text.lower() in inner.qualifiers or inner.has(node.qualifier.text)  # a field of a STRUCT


def _is_outer(node: Node, inner: Scope) -> bool:
    return isinstance(node, ColumnRef) and not _is_inner(node, inner)


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


def _never_true_of_null(condition: Node) -> bool:
    """Whether a condition isn't true where any of its SELECTs has no row."""

    def strict(node: Node) -> bool:
        if isinstance(node, Operation):
            return node.function in _ARITHMETIC and all(map(strict, node.args))
        return isinstance(node, ColumnRef | Constant | Subselect)

    if not isinstance(condition, Operation) or condition.function not in _COMPARISONS:
        return False
    return all(map(strict, condition.args))


def _replaced(node: Node, by: dict[Node, Node]) -> Node:
    """An expression with others in the place of some of its parts."""
    if isinstance(node, Subselect):
        return by.get(node, node)
    match node:
        case Operation():
            return replace(node, args=tuple(_replaced(arg, by) for arg in node.args))
        case FunctionCall():
            return replace(node, args=tuple(_replaced(arg, by) for arg in node.args))
        case FieldOf() | CastTo():
            return replace(node, inner=_replaced(node.inner, by))
        case ItemOf():
            return replace(node, inner=_replaced(node.inner, by), index=_replaced(node.index, by))
        case ValueList():
            return replace(node, items=tuple(_replaced(item, by) for item in node.items))
    return node


def _bound(item: FromItem, outer: Scope, inner: Scope, part: FromItem) -> Scope:
    """What the two inputs of the join are."""
    return outer if part is item else inner


__all__ = ["apply", "values"]
