"""`(SELECT avg(x) FROM ...)` as a value: a join with the one row that SELECT has at each instant.

Where it names columns of the query around it, in equalities, it is a join with an aggregate grouped by what these are equal to.
In WHERE, in arguments of aggregates and in a select list without them it is asked of each row of FROM; in HAVING and beside
aggregates of each group, of the extents of a window with SLIDE just before they end.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial

from jupyter_stream.binding.bind_aggregate import InputNames
from jupyter_stream.binding.bind_expression import ExpressionBinder, is_aggregate_call
from jupyter_stream.binding.bind_join import bind_join
from jupyter_stream.binding.forms.dependent_join import OuterQuery
from jupyter_stream.binding.join_conditions import absorb
from jupyter_stream.binding.scalar_select import BindBody, BindFrom, inner_of
from jupyter_stream.binding.scope import JoinedColumn, Scope
from jupyter_stream.plan.logical import (
    VALUE,
)
from jupyter_stream.syntax.nodes import (
    ColumnRef,
    Constant,
    Node,
    Operation,
    Subselect,
    walk,
)
from jupyter_stream.syntax.query_syntax import (
    FromItem,
    JoinKind,
    JoinRef,
    SelectBody,
    SubqueryRef,
)
from jupyter_stream.syntax.source_text import Name, SourceText

_ARITHMETIC = frozenset({"+", "-", "*", "neg"})
_COMPARISONS = frozenset({"=", "<>", "<", "<=", ">", ">="})


def values(node: Node) -> list[Subselect]:
    """The SELECTs in an expression that stand for values."""
    return [part for part in walk(node) if isinstance(part, Subselect)]


def values_of_rows(body: SelectBody, groups: Sequence[Node] | None) -> list[Subselect]:
    """The SELECTs that stand for values of each row of FROM, but for those of WHERE.

    Args:
        body: the SELECT they are in.
        groups: what an aggregate query is grouped by; None for a query without aggregates.
    """
    nodes = [item.expression for item in body.items]
    nodes += [] if body.having is None else [body.having]
    if groups is None:
        return [value for node in nodes for value in values(node)]
    inside = [part for node in nodes for part in walk(node) if is_aggregate_call(part)]
    return [value for node in (*groups, *inside) for value in values(node)]


def with_row_values(
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
        around = OuterQuery(item, replace(scope, joined=shown))
        inner = inner_of(each, name, source, bind_body, bind_from, around)
        join = JoinRef(inner.kind(kind), (item, place_of(each)), None, (), each.span, value=True)
        names = InputNames(scope, source, "a scalar subquery")
        others = [ExpressionBinder(source, names).bind(pair.outer) for pair in inner.pairs]
        scope = bind_join(join, source, partial(either, item, scope, inner.scope))
        scope = replace(scope, plan=inner.joined(scope.plan, others))
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
    scope = with_row_values(scope, item, values(condition), source, bind_body, bind_from, kind)
    bound = ExpressionBinder(source, InputNames(scope, source, "WHERE")).condition(condition, "WHERE")
    return replace(scope, plan=absorb(scope.plan, bound))


def place_of(each: Subselect) -> SubqueryRef:
    """It as an input of a join."""
    return SubqueryRef(each.body, None, None, each.span)


def either(item: FromItem, outer: Scope, inner: Scope, part: FromItem) -> Scope:
    """What the two inputs of the join are."""
    return outer if part is item else inner


def _never_true_of_null(condition: Node) -> bool:
    """Whether a condition isn't true where any of its SELECTs has no row."""

    def strict(node: Node) -> bool:
        return isinstance(node, Operation) and node.function in _ARITHMETIC

    if not isinstance(condition, Operation) or condition.function not in _COMPARISONS:
        return False
    return all(
        strict(node) or isinstance(node, ColumnRef | Constant | Subselect)
        for arg in condition.args
        for node in walk(arg)
    )


__all__ = ["apply", "either", "place_of", "values", "values_of_rows", "with_row_values"]
