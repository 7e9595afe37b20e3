"""`IN (SELECT ...)`, `EXISTS (SELECT ...)` and their negations in WHERE: semi and anti joins, or look-ups in a table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from jupyter_stream import functions
from jupyter_stream.binding.as_relation import Lives, lived
from jupyter_stream.binding.bind_aggregate import InputNames
from jupyter_stream.binding.bind_expression import ExpressionBinder
from jupyter_stream.binding.bind_join import (
    in_extents,
    joined,
    living,
    relational,
    relations_joined,
    slide_of_join,
    table_of,
)
from jupyter_stream.binding.forms.dependent_join import OuterQuery, depends
from jupyter_stream.binding.forms.memberships import condition_with_counts, is_plain, select_tested
from jupyter_stream.binding.join_conditions import matched, matching, take, with_keys
from jupyter_stream.binding.join_instants import at_instants, with_lifetimes
from jupyter_stream.binding.join_windows import bounds_of, check_input
from jupyter_stream.binding.scope import Scope
from jupyter_stream.binding.select_list import starred
from jupyter_stream.binding.select_tables import as_table
from jupyter_stream.errors import QueryError
from jupyter_stream.functions import Column, Expr, Literal
from jupyter_stream.functions.expression import substitute
from jupyter_stream.functions.types import BIGINT
from jupyter_stream.plan.logical import Join, Lookup, Plan, RelationJoin
from jupyter_stream.plan.relations import only_tables
from jupyter_stream.plan.time_columns import time_columns
from jupyter_stream.syntax.nodes import Node, Operation, Outer, Star, Subselect, conjuncts, walk
from jupyter_stream.syntax.query_syntax import FromItem, JoinKind, JoinRef, QueryBody, SelectBody, SubqueryRef
from jupyter_stream.syntax.source_text import Name, SourceText

BindBody = Callable[[QueryBody], tuple[Plan, Lives]]
BindFrom = Callable[[FromItem], Scope]


@dataclass(frozen=True)
class Membership:
    """A condition on rows of another query.

    Attributes:
        node: where it stands.
        body: the other query.
        value: what is looked for, with IN; None with EXISTS.
        negated: with NOT.
    """

    node: Node
    body: QueryBody
    value: Node | None
    negated: bool


def split(where: Node | None) -> tuple[Node | None, list[Membership], list[Node]]:
    """WHERE without its conditions on other queries; those on their rows, and those on values that they stand for."""
    kept: Node | None = None
    found: list[Membership] = []
    valued: list[Node] = []
    for part in conjuncts(where):
        membership = _membership(part)
        if membership is not None:
            found.append(membership)
        elif any(isinstance(node, Subselect) for node in walk(part)):
            valued.append(part)
        else:
            kept = part if kept is None else Operation("and", (kept, part), kept.span.to(part.span))
    return kept, found, valued


def _membership(node: Node) -> Membership | None:
    inner, negated = node, False
    while isinstance(inner, Operation) and inner.function == "not":
        inner, negated = inner.args[0], not negated
    body = select_tested(inner)
    if body is None:
        return None
    return Membership(inner, body, inner.args[0] if isinstance(inner, Operation) else None, negated)


class _Nested(InputNames):
    """Names inside: columns of the inner FROM, and behind them those of the outer one."""

    def __init__(self, inner: Scope, outer: Scope, renamed: dict[str, Column], source: SourceText) -> None:
        super().__init__(outer, source, "WHERE")
        self._inner = InputNames(inner, source, "WHERE")
        self._renamed = renamed

    def column(self, name: Name, qualifier: Name | None) -> Expr | None:
        """A column of the inner FROM as the join calls it, or one of the outer."""
        inner = self._inner.scope
        if qualifier is None or qualifier.text.lower() in inner.qualifiers:
            found = self._inner.column(name, qualifier)
            if found is not None or qualifier is not None:
                return None if found is None else substitute(found, dict(self._renamed))
        return super().column(name, qualifier)

    def special(self, node: Node) -> Expr | None:
        """What is of the outer query alone."""
        if isinstance(node, Outer):
            return ExpressionBinder(self.source, InputNames(self.scope, self.source, self.clause)).bind(node.inner)
        return super().special(node)

    def known(self) -> tuple[str, ...]:
        """Columns of both."""
        return (*self._inner.known(), *super().known())


def apply(scope: Scope, found: Membership, source: SourceText, bind_body: BindBody, bind_from: BindFrom) -> Scope:
    """FROM after a condition on another query.

    Raises:
        QueryError: windows that don't go together, a wrong condition.
    """
    right, where, item = _inner(found, source, bind_body, bind_from)
    value = None
    if found.value is not None:
        value = ExpressionBinder(source, InputNames(scope, source, "WHERE")).bind(found.value)
    kinds: JoinKind = "anti" if found.negated else "semi"
    part = _place(found)
    if table_of(scope) is None or table_of(right) is None:  # tables and views only are answered once, as they are
        scope, right = living(scope), living(right)
        scope, right = as_table(scope, right, part.parts[0], source), as_table(right, scope, part.parts[1], source)
        scope, right = in_extents(scope), in_extents(right)
    looks = slide_of_join(scope, right, part, source) if scope.schedule is not None else None
    if looks is not None:
        scope, right = with_lifetimes(scope), with_lifetimes(right)
    elif table_of(scope) is None and table_of(right) is None and not relational(scope, right):
        for each in (scope, right):
            check_input(each, part, source)
    if table_of(scope) is not None and table_of(right) is None and not only_tables(right.plan):
        raise source.error(
            "a query over a table alone can't have a subquery over a stream",
            found.node.span,
            "Read the stream in the outer query, and the table in the subquery.",
        )
    conditions: list[tuple[list[tuple[Expr, Expr]], bool]] = [([], True)]
    if value is not None:
        assert item is not None
        common = functions.common_type([value.dtype, item.dtype])
        if common is None:
            raise source.error("the types of the two sides of IN have nothing in common", found.node.span, "Cast one.")
        one = Literal(1, BIGINT)
        equal = (functions.cast(value, common), functions.cast(item, common))
        conditions = [([equal], True)]
        if found.negated:
            # NULL is neither in nor not in: a NULL inside, or a NULL looked for in what isn't empty, lets no row pass
            if not _is_time(item, right):
                conditions.append(([(one, _if_null(item))], False))
            if not _is_time(value, scope):
                conditions.append(([(_if_null(value), one)], False))
    for keys, _ in conditions:
        scope = _joined_once(scope, right, kinds, keys, where, part, source, looks is not None)
    return scope if looks is None else at_instants(scope, looks)


def _is_time(expr: Expr, scope: Scope) -> bool:
    """Whether it is the time of a row, or a column about its extent, which is never NULL."""
    apart = time_columns(scope.plan).get(expr.name) if isinstance(expr, Column) else None
    return apart is not None and not apart.nullable


def _if_null(expr: Expr) -> Expr:
    return functions.resolve("if", [functions.resolve("is_null", [expr]), Literal(1, BIGINT), Literal(None, BIGINT)])


def _place(found: Membership) -> JoinRef:
    """A JOIN in the place of the condition, for its errors."""
    other = SubqueryRef(found.body, None, None, found.node.span)
    return JoinRef("semi", (other, other), None, (), found.node.span)


def _is_simple(body: QueryBody) -> bool:
    """Whether it is the rows of FROM for which WHERE is true, and no more."""
    if not isinstance(body, SelectBody) or not is_plain(body):
        return False
    nodes = [*(item.expression for item in body.items), *([] if body.where is None else [body.where])]
    return not any(isinstance(part, Subselect) for node in nodes for part in walk(node))


def as_value(found: Membership, around: OuterQuery, source: SourceText, bind_from: BindFrom) -> Node | None:
    """A condition on another query as one on a count, where that query names columns of this one other than in its WHERE.

    None where it doesn't.
    """
    if isinstance(found.body, SelectBody) and _is_simple(found.body):
        try:
            bind_from(found.body.source)
        except QueryError:
            pass
        else:
            items = replace(found.body, where=None)
            if found.value is None or not depends(items, around, found.node.span, source, bind_from):
                return None
    if not depends(found.body, around, found.node.span, source, bind_from):
        return None
    made = Operation("not", (found.node,), found.node.span) if found.negated else found.node
    return condition_with_counts(made, source)


def _inner(
    found: Membership, source: SourceText, bind_body: BindBody, bind_from: BindFrom
) -> tuple[Scope, Node | None, Expr | None]:
    """The other query's rows, its condition (which may name outer columns), and the column IN compares."""
    body = found.body
    if not _is_simple(body):
        plan, lifetime = lived(*bind_body(body))
        right, where = Scope(plan, (), lifetime), None
        count = len(plan.schema)
        if isinstance(body, SelectBody) and not any(isinstance(i.expression, Star) for i in body.items):
            count = len(body.items)  # window_start and window_end, which come first unasked, are not compared
        last = plan.schema.fields[-count]
        item: Expr | None = Column(last.name, last.dtype)
    else:
        assert isinstance(body, SelectBody)
        right, where = bind_from(body.source), body.where
        count, item = len(body.items), None
        if found.value is not None and count == 1:
            (only,) = body.items
            if isinstance(only.expression, Star):
                shown = starred(right, only.expression, source)
                count, item = len(shown), shown[0][1]
            else:
                item = ExpressionBinder(source, InputNames(right, source, "the select list")).bind(only.expression)
    if found.value is not None and count != 1:
        raise source.error(
            f"IN needs a subquery of one column, and this one has {count}", body.span, "Write x IN (SELECT y FROM ...)."
        )
    return right, where, item


def _joined_once(
    left: Scope,
    right: Scope,
    kind: JoinKind,
    keys: list[tuple[Expr, Expr]],
    where: Node | None,
    part: JoinRef,
    source: SourceText,
    at_every_instant: bool,
) -> Scope:
    item = replace(part, kind=kind)
    table = table_of(right)
    low = high = same = None
    of_relations = at_every_instant or relational(left, right)
    if table is None and not of_relations:
        low, high, same = bounds_of(left, right, item, source)
    made, _ = joined(left, right, item, low, high)
    renamed = {f.name: Column(n, f.dtype) for n, f in zip(made.right_names, right.schema, strict=True)}
    condition = None
    if where is not None:
        names = _Nested(right, left, renamed, source)
        condition = ExpressionBinder(source, names).condition(where, "WHERE")
    plan: Join | Lookup | RelationJoin
    if of_relations:
        relation = replace(relations_joined(made, left, right, item, source), keys=tuple(keys))
        plan = relation if condition is None else matching(relation, condition)
        return Scope(replace(plan, schema=left.schema), left.qualifiers, None, left.joined)
    if table is not None:
        plan = Lookup(left.plan, table, kind, tuple(keys), None, made.right_names, made.schema)
        if condition is not None:
            plan = matched(plan, condition)
    else:
        plan = with_keys(made if same is None else replace(made, keys=(same,)), keys)
        if condition is not None:
            plan = take(plan, condition, into_inputs=False)
    window = left.window if table is not None or left.sliding else None
    return Scope(replace(plan, schema=left.schema), left.qualifiers, window, left.joined)


__all__ = ["Membership", "apply", "as_value", "split"]
