"""`IN (SELECT ...)`, `EXISTS (SELECT ...)` and their negations in WHERE: semi and anti joins, or look-ups in a table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from jupyter_stream import functions
from jupyter_stream.functions import Column, Expr, Literal
from jupyter_stream.functions.expression import substitute
from jupyter_stream.functions.types import BIGINT
from jupyter_stream.language.as_relation import Lives, lived
from jupyter_stream.language.bind_aggregate import InputNames
from jupyter_stream.language.bind_expression import ExpressionBinder, holds_aggregate
from jupyter_stream.language.bind_join import joined, living, looking, relational, relations_joined, table_of
from jupyter_stream.language.join_conditions import matched, matching, take
from jupyter_stream.language.join_looks import looked, unlooked
from jupyter_stream.language.join_windows import bounds_of, check_input
from jupyter_stream.language.made_tables import as_table
from jupyter_stream.language.nodes import FunctionCall, Node, Operation, Star, Subselect, walk
from jupyter_stream.language.query_syntax import FromItem, JoinKind, JoinRef, QueryBody, SelectBody, SubqueryRef
from jupyter_stream.language.scope import Scope
from jupyter_stream.language.source_text import Name, SourceText
from jupyter_stream.plan.logical import Join, Lookup, Plan, RelationJoin
from jupyter_stream.windows import TimeWindow

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


def split(where: Node | None, source: SourceText) -> tuple[Node | None, list[Membership], list[Node]]:
    """WHERE without its conditions on other queries; those on their rows, and those on values that they stand for.

    Raises:
        QueryError: IN or EXISTS isn't simply joined to the rest with AND.
    """
    if where is None:
        return None, [], []
    if isinstance(where, Operation) and where.function == "and":
        kept: Node | None = None
        found: list[Membership] = []
        valued: list[Node] = []
        for arg in where.args:
            rest, more, others = split(arg, source)
            found += more
            valued += others
            if rest is not None:
                kept = rest if kept is None else replace(where, args=(kept, rest))
        return kept, found, valued
    membership = _membership(where)
    if membership is not None:
        return None, [membership], []
    nodes = list(walk(where))
    for node in nodes:
        inside = _membership(node)
        if inside is not None:
            raise source.error(
                "IN and EXISTS with a SELECT are joined to the rest of WHERE with AND",
                inside.node.span,
                "Or join with it: FROM a JOIN (SELECT ...) b ON ....",
            )
    if any(isinstance(node, Subselect) for node in nodes):
        return None, [], [where]
    return where, [], []


def _membership(node: Node) -> Membership | None:
    inner, negated = node, False
    while isinstance(inner, Operation) and inner.function == "not":
        inner, negated = inner.args[0], not negated
    if isinstance(inner, Operation) and inner.function == "in" and len(inner.args) == 2:
        value, other = inner.args
        if isinstance(other, Subselect):
            return Membership(inner, other.body, value, negated)
    if isinstance(inner, FunctionCall) and inner.name.text.lower() == "exists" and len(inner.args) == 1:
        (other,) = inner.args
        if isinstance(other, Subselect):
            return Membership(inner, other.body, None, negated)
    return None


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
    looks = looking(scope, right, part, source) if isinstance(scope.window, TimeWindow) else None
    if looks is not None:
        scope, right = unlooked(scope), unlooked(right)
    elif table_of(scope) is None and table_of(right) is None and not relational(scope, right):
        for each in (scope, right):
            check_input(each, part, source)
    if table_of(scope) is not None and table_of(right) is None:
        raise source.error(
            "a table can't wait for the rows of a stream", found.node.span, "Ask it the other way round."
        )
    conditions: list[tuple[list[tuple[Expr, Expr]], bool]] = [([], True)]
    if value is not None:
        assert item is not None
        common = functions.common_type([value.dtype, item.dtype])
        if common is None:
            raise source.error("the two sides of IN have types with nothing in common", found.node.span, "Cast one.")
        one = Literal(1, BIGINT)
        equal = (functions.cast(value, common), functions.cast(item, common))
        conditions = [([equal], True)]
        if found.negated:
            # NULL is neither in nor not in: a NULL inside, or a NULL looked for in what isn't empty, lets no row pass
            conditions += [([(one, _if_null(item))], False), ([(_if_null(value), one)], False)]
    for keys, _ in conditions:
        scope = _joined_once(scope, right, kinds, keys, where, part, source, looks is not None)
    return scope if looks is None else looked(scope, looks)


def _if_null(expr: Expr) -> Expr:
    return functions.resolve("if", [functions.resolve("is_null", [expr]), Literal(1, BIGINT), Literal(None, BIGINT)])


def _place(found: Membership) -> JoinRef:
    """A JOIN in the place of the condition, for its errors."""
    other = SubqueryRef(found.body, None, None, found.node.span)
    return JoinRef("semi", (other, other), None, (), found.node.span)


def _inner(
    found: Membership, source: SourceText, bind_body: BindBody, bind_from: BindFrom
) -> tuple[Scope, Node | None, Expr | None]:
    """The other query's rows, its condition (which may name outer columns), and the column IN compares."""
    body = found.body
    simple = isinstance(body, SelectBody) and not (
        body.group_by
        or body.group_all
        or body.having is not None
        or body.order is not None
        or body.operator is not None
        or any(holds_aggregate(i.expression) for i in body.items)
    )
    if not simple:
        plan, lifetime = lived(*bind_body(body))
        right, where = Scope(plan, (), lifetime), None
        item: Expr | None = Column(plan.schema.fields[0].name, plan.schema.fields[0].dtype)
        count = len(plan.schema)
    else:
        assert isinstance(body, SelectBody)
        right, where = bind_from(body.source), body.where
        count, item = len(body.items), None
        if found.value is not None and count == 1:
            (only,) = body.items
            if isinstance(only.expression, Star):
                count = len(right.schema)
                item = Column(right.schema.fields[0].name, right.schema.fields[0].dtype)
            else:
                item = ExpressionBinder(source, InputNames(right, source, "the select list")).bind(only.expression)
    if found.value is not None and count != 1:
        raise source.error(f"IN compares with one column, and this SELECT has {count}", body.span)
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
        pairs = keys if same is None else [same, *keys]
        plan = replace(made, keys=tuple(pairs))
        if condition is not None:
            plan = take(plan, condition, into_inputs=False)
    window = left.window if table is not None or isinstance(left.window, TimeWindow) else None
    return Scope(replace(plan, schema=left.schema), left.qualifiers, window, left.joined)


__all__ = ["Membership", "apply", "split"]
