"""`(SELECT avg(x) FROM ...)` as a value: a join with the one row that SELECT has at each instant.

Where it names columns of the query around it, in equalities, it is a join with an aggregate grouped by what these are equal to.
In WHERE, in arguments of aggregates and in a select list without them it is asked of each row of FROM; in HAVING and beside
aggregates of each group, of the extents of a window with SLIDE just before they end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

from jupyter_stream import functions
from jupyter_stream.core.table import ViewRows
from jupyter_stream.errors import UnsupportedError
from jupyter_stream.functions import Column, Expr, Literal
from jupyter_stream.functions.types import BIGINT
from jupyter_stream.language.as_relation import Lives, lived
from jupyter_stream.language.bind_aggregate import InputNames
from jupyter_stream.language.bind_expression import ExpressionBinder, holds_aggregate, is_aggregate_call
from jupyter_stream.language.bind_join import bind_join
from jupyter_stream.language.join_conditions import absorb
from jupyter_stream.language.nodes import (
    ColumnRef,
    Constant,
    FunctionCall,
    Node,
    Operation,
    Star,
    Subselect,
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

VALUE = "(value)"
"""What columns begin with that nobody can name."""
_COMPARISONS = frozenset({"=", "<>", "<", "<=", ">", ">="})
_ARITHMETIC = frozenset({"+", "-", "*", "neg"})
_COUNTS = frozenset({"count", "approx_count_distinct"})
_LISTS = frozenset({"collect_list", "heavy_hitters", "approx_top_k"})


def values(node: Node) -> list[Subselect]:
    """The SELECTs in an expression that stand for values."""
    return [part for part in walk(node) if isinstance(part, Subselect)]


def asked_of_rows(body: SelectBody, groups: Sequence[Node] | None, source: SourceText) -> list[Subselect]:
    """The SELECTs that stand for values of each row of FROM, but for those of WHERE.

    Args:
        body: the SELECT they are in.
        groups: what an aggregate query is grouped by; None for a query without aggregates.
        source: the cell.

    Raises:
        UnsupportedError: IN or EXISTS with a SELECT, outside of WHERE.
    """
    nodes = [item.expression for item in body.items]
    nodes += [] if body.having is None else [body.having]
    for node in (*nodes, *body.group_by):
        _check_no_membership(node, source)
    if groups is None:
        return [value for node in nodes for value in values(node)]
    inside = [part for node in nodes for part in walk(node) if is_aggregate_call(part)]
    return [value for node in (*groups, *inside) for value in values(node)]


def _check_no_membership(node: Node, source: SourceText) -> None:
    for part in walk(node):
        name = part.name.text.lower() if isinstance(part, FunctionCall) else getattr(part, "function", "")
        if name in ("in", "exists") and any(isinstance(arg, Subselect) for arg in getattr(part, "args", ())):
            raise source.error(
                "IN and EXISTS with a SELECT stand in WHERE",
                part.span,
                "Elsewhere count the rows: (SELECT count(*) FROM t [RANGE 5 MINUTES] WHERE t.k = s.k) > 0.",
                UnsupportedError,
            )


def beside_rows(
    scope: Scope,
    item: FromItem,
    found: Iterable[Subselect],
    source: SourceText,
    bind_body: BindBody,
    bind_from: BindFrom,
    kind: JoinKind = "left",
) -> Scope:
    """FROM, as written in `item`, with the values of SELECTs beside each row: expressions find them, `*` doesn't show them.

    Args:
        scope: FROM as it is so far.
        item: as written.
        found: the SELECTs.
        source: the cell.
        bind_body: how a SELECT is bound.
        bind_from: how FROM of one is.
        kind: `inner` where a row without a value isn't wanted.

    Raises:
        QueryError: one may give several rows, or columns.
        UnsupportedError: one that depends on the row in another way than by equality.
    """
    shown = scope.joined or tuple(JoinedColumn(scope.qualifiers, f.name, f.name) for f in scope.schema)
    qualifiers, known = scope.qualifiers, dict(scope.values)
    for each in found:
        if each in known:
            continue
        name = Name(f"{VALUE}{len(scope.schema)}_0", each.span)
        inner = inner_of(each, name, source, bind_body, bind_from)
        join = JoinRef(inner.kind(kind), (item, place_of(each)), inner.on(name), (), each.span, value=True)
        scope = bind_join(join, source, partial(either, item, scope, inner.scope))
        known[each] = inner.value
    return replace(scope, qualifiers=qualifiers, joined=shown, values=known)


def apply(
    scope: Scope, item: FromItem, condition: Node, source: SourceText, bind_body: BindBody, bind_from: BindFrom
) -> Scope:
    """FROM, as written in `item`, after a condition that holds SELECTs as values.

    Raises:
        QueryError: one may give several rows, or columns.
        UnsupportedError: one that depends on the row in another way than by equality.
    """
    kind: JoinKind = "inner" if _never_true_of_null(condition) else "left"
    scope = beside_rows(scope, item, values(condition), source, bind_body, bind_from, kind)
    bound = ExpressionBinder(source, InputNames(scope, source, "WHERE")).condition(condition, "WHERE")
    return replace(scope, plan=absorb(scope.plan, bound))


def place_of(each: Subselect) -> SubqueryRef:
    """It as an input of a join."""
    return SubqueryRef(each.body, None, None, each.span)


@dataclass(frozen=True)
class Inner:
    """A SELECT that stands for a value.

    Attributes:
        scope: its rows.
        value: what it stands for, over these.
        pairs: (what of the query around it is equal to, which of its own columns).
        counts: whether it counts rows: of none there are 0, though nothing is in the relation.
    """

    scope: Scope
    value: Expr
    pairs: tuple[tuple[Node, str], ...]
    counts: bool

    def kind(self, wanted: JoinKind) -> JoinKind:
        """How it is joined."""
        return "left" if self.counts else wanted

    def on(self, name: Name) -> Node | None:
        """What is equal, as a condition; None if nothing is."""
        return _all([Operation("=", (o, ColumnRef(Name(c, o.span), name, o.span)), o.span) for o, c in self.pairs])


def inner_of(each: Subselect, name: Name, source: SourceText, bind_body: BindBody, bind_from: BindFrom) -> Inner:
    """A SELECT that stands for a value, under that name.

    Raises:
        QueryError: it may give several rows, or columns, or has a SLIDE.
        UnsupportedError: it depends on the query around it in another way than by equality.
    """
    body, counts = each.body, False
    pairs: tuple[tuple[Node, str], ...] = ()
    if isinstance(body, SelectBody):
        if len(body.items) == 1 and not isinstance(body.items[0].expression, Star):
            (item,) = body.items
            counts = _counts(item.expression) and not body.group_by and body.having is None
            body = replace(body, items=(replace(item, alias=name),))
        if body.where is not None and not body.group_by and not body.group_all:
            body, pairs = _uncorrelated(body, bind_from(body.source), name, source)
    plan, lifetime = lived(*bind_body(body))
    own = {column for _, column in pairs}
    shown = [f for f in plan.schema if f.name not in own]
    if any(slides(n.window) for n in nodes_of(plan) if isinstance(n, Aggregate)):
        raise source.error(
            "a SELECT that stands for a value has one at every instant, and this one only where extents end",
            each.span,
            "Leave SLIDE out: [RANGE 1 MINUTE].",
        )
    if len(shown) != 1:
        raise source.error(f"a SELECT that stands for a value has one column, and this one {len(shown)}", each.span)
    if not pairs and not _one_row(plan):
        raise source.error(
            "a SELECT that stands for a value has one row, and this one may have several",
            each.span,
            "Aggregate: (SELECT max(x) FROM ...); or ask with IN, or join with it.",
        )
    if shown[0].name != name.text:
        items = ((name.text, Column(shown[0].name, shown[0].dtype)),)
        plan = Project(plan, items, schema_of(items))
    value: Expr = Column(name.text, shown[0].dtype)
    if counts:
        value = functions.resolve("coalesce", [value, Literal(0, BIGINT)])
    return Inner(Scope(plan, (name.text,), lifetime), value, pairs, counts)


def _counts(node: Node) -> bool:
    return isinstance(node, FunctionCall) and node.name.text.lower() in _COUNTS


def _uncorrelated(
    body: SelectBody, inner: Scope, name: Name, source: SourceText
) -> tuple[SelectBody, tuple[tuple[Node, str], ...]]:
    """A SELECT without what its WHERE says of columns of the query around it, and that."""
    kept: list[Node] = []
    pairs: list[tuple[Node, Node]] = []
    for part in conjuncts(body.where):
        if not any(_is_outer(node, inner) for node in walk(part)):
            kept.append(part)
            continue
        pair = part.args if isinstance(part, Operation) and part.function == "=" else ()
        own = [side for side in pair if not any(_is_outer(node, inner) for node in walk(side))]
        others = [side for side in pair if side not in own and not any(_isinner_of(n, inner) for n in walk(side))]
        if len(own) != 1 or len(others) != 1:
            raise source.error(
                "a SELECT that stands for a value takes columns of the query around it in equalities only",
                part.span,
                "Write WHERE inner_column = outer_column; or join, FROM a JOIN (SELECT ... GROUP BY k) b ON ....",
                UnsupportedError,
            )
        pairs.append((own[0], others[0]))
    if not pairs:
        return body, ()
    (item,) = body.items
    if not holds_aggregate(item.expression):
        raise source.error(
            "a SELECT that stands for a value has one row, and this one may have several",
            body.span,
            "Aggregate: (SELECT max(x) FROM ...); or join with it.",
        )
    of_nothing = {n.name.text.lower() for n in walk(item.expression) if isinstance(n, FunctionCall)}
    if not _counts(item.expression) and of_nothing & (_COUNTS | _LISTS):
        raise source.error(
            "this value of no rows isn't NULL, and a grouped aggregate has no row for them",
            item.span,
            "Take the count alone, (SELECT count(*) FROM ...), and reckon with it outside.",
            UnsupportedError,
        )
    columns = [f"{name.text} = {i}" for i in range(len(pairs))]
    keys = [
        SelectItem(own, Name(column, own.span), "", own.span) for (own, _), column in zip(pairs, columns, strict=True)
    ]
    by = tuple(own for own, _ in pairs)
    body = replace(body, items=(item, *keys), where=_all(kept), group_by=by)
    return body, tuple((other, column) for (_, other), column in zip(pairs, columns, strict=True))


def _isinner_of(node: Node, inner: Scope) -> bool:
    """Whether it is a column of the SELECT's own FROM."""
    if not isinstance(node, ColumnRef):
        return False
    if node.qualifier is None:
        return inner.has(node.name.text)
    return node.qualifier.text.lower() in inner.qualifiers or inner.has(node.qualifier.text)  # a field of a STRUCT


def _is_outer(node: Node, inner: Scope) -> bool:
    return isinstance(node, ColumnRef) and not _isinner_of(node, inner)


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


def either(item: FromItem, outer: Scope, inner: Scope, part: FromItem) -> Scope:
    """What the two inputs of the join are."""
    return outer if part is item else inner


__all__ = ["VALUE", "Inner", "apply", "asked_of_rows", "beside_rows", "either", "inner_of", "place_of", "values"]
