"""A SELECT that names columns of the query around it, as one that names none: of all the values these have there, at once.

SELECT n, (SELECT count(*) FROM t WHERE t.n < s.n) FROM s [RANGE 5 MINUTES]

SELECT n, coalesce(c, 0) FROM s [RANGE 5 MINUTES] LEFT JOIN
  (SELECT d.n, count(*) AS c FROM (SELECT DISTINCT n FROM s [RANGE 5 MINUTES]) d, t WHERE t.n < d.n GROUP BY d.n) v ON v.n <=> s.n

The values stand beside FROM of each SELECT in it that names them, and go along as columns to the outermost one: where one groups,
it groups by them, too; where one has LIMIT, it numbers within them.

Neumann and Kemper, Unnesting Arbitrary Queries (BTW 2015), section 3.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import reduce

import polars as pl

from jupyter_stream.binding.bind_expression import holds_aggregate, is_aggregate_call
from jupyter_stream.binding.scope import Scope
from jupyter_stream.core.table import ONE_ROW
from jupyter_stream.errors import QueryError, UnsupportedError
from jupyter_stream.functions.types import BIGINT
from jupyter_stream.syntax.nodes import (
    ColumnRef,
    Constant,
    FunctionCall,
    Node,
    Operation,
    Outer,
    RowNumber,
    Star,
    Subselect,
    conjuncts,
    rewritten,
    walk,
)
from jupyter_stream.syntax.query_syntax import (
    FromItem,
    ItemsRef,
    JoinRef,
    MatchRef,
    Ordering,
    OrderItem,
    QueryBody,
    RecursiveRef,
    SelectBody,
    SelectItem,
    SetBody,
    StreamRef,
    SubqueryRef,
    UnionRef,
)
from jupyter_stream.syntax.source_text import Name, SourceText, Span

BindFrom = Callable[[FromItem], Scope]


@dataclass(frozen=True)
class OuterQuery:
    """The query around a SELECT: FROM as written, and what it gives."""

    item: FromItem
    scope: Scope

    def has(self, node: ColumnRef) -> bool:
        """Whether a column is one of its."""
        if node.qualifier is None:
            return self.scope.has(node.name.text)
        return node.qualifier.text.lower() in self.scope.qualifiers or self.scope.has(node.qualifier.text)


def depends(body: QueryBody, around: OuterQuery, place: Span, source: SourceText, bind_from: BindFrom) -> bool:
    """Whether a SELECT names columns of the query around it; see `dependent`."""
    domain = _Domain(around, place, source)
    _Names(domain, source, bind_from).body(body)
    return bool(domain.columns)


@dataclass(frozen=True)
class Dependent:
    """A SELECT without names of the query around it.

    Attributes:
        body: it, with the columns of `pairs` behind its own.
        pairs: (what it named, the column that has its value).
    """

    body: QueryBody
    pairs: tuple[tuple[Node, str], ...]


def dependent(
    body: QueryBody, around: OuterQuery, place: Span, source: SourceText, bind_from: BindFrom
) -> Dependent | None:
    """A SELECT that names columns of the query around it; None for one that names none.

    Args:
        body: as written.
        around: the query around it.
        place: where it stands.
        source: the cell.
        bind_from: how FROM is bound.

    Raises:
        QueryError: a mistake in FROM.
        UnsupportedError: such a column stands where it can't.
    """
    domain = _Domain(around, place, source)
    names = _Names(domain, source, bind_from)
    names.body(body)  # finds what is named
    if not domain.columns:
        return None
    domain.whole = True
    made, _ = names.body(body, always=True)
    return Dependent(made, tuple((node, name.text) for node, name in domain.columns.items()))


class _Domain:
    """What is named of the query around, each once, and the distinct values of these there."""

    def __init__(self, around: OuterQuery, place: Span, source: SourceText) -> None:
        self.around = around
        self.whole = False  # whether all of its columns are known
        self._source = source
        self.place = place
        self.alias = Name(f"(outer {place.start})", place)
        self.columns: dict[Node, Name] = {}

    def column(self, node: Node) -> ColumnRef:
        """The column with its values.

        Raises:
            UnsupportedError: it holds arrays, which aren't compared.
        """
        scope = self.around.scope
        if isinstance(node, ColumnRef):
            of_it = (
                None
                if node.qualifier is None or node.qualifier.text.lower() not in scope.qualifiers
                else node.qualifier
            )
            found = scope.find(node.name.text, None if of_it is None else of_it.text)
            if found is not None and isinstance(found.dtype, pl.List):
                raise self._source.error(
                    "an array of the outer query can't be named in a subquery in this version",
                    node.span,
                    "Put its items into FROM: FROM t, UNNEST(t.items) AS i (item).",
                    UnsupportedError,
                )
        name = self.columns.setdefault(node, Name(f"{self.alias.text} {len(self.columns)}", node.span))
        return ColumnRef(name, self.alias, node.span)

    def refs(self) -> tuple[ColumnRef, ...]:
        """All its columns."""
        return tuple(ColumnRef(name, self.alias, name.span) for name in self.columns.values())

    def item(self) -> FromItem:
        """Its rows, as an item of FROM.

        Raises:
            UnsupportedError: one of its columns is an aggregate.
        """
        for node in self.columns if self.whole else ():
            if holds_aggregate(node):
                raise _refused("an aggregate of the outer query", node.span, self._source)
        items = tuple(SelectItem(node, name, "", name.span) for node, name in self.columns.items())
        place, source = self.place, _without_slide(self.around.item)
        body = SelectBody(place, None, place, items, source, None, (), False, None, place)
        return SubqueryRef(body, None, self.alias, place)


def _without_slide(item: FromItem) -> FromItem:
    """Rows by their lifetimes: just before an extent ends, those alive are its rows."""
    if isinstance(item, JoinRef):
        left, right = (_without_slide(part) for part in item.parts)
        item = replace(item, parts=(left, right))
    window = item.window
    return item if window is None or window.slide is None else replace(item, window=replace(window, slide=None))


class _Names:
    """Puts columns of the domain in the places of what is named of the query around."""

    def __init__(self, domain: _Domain, source: SourceText, bind_from: BindFrom) -> None:
        self._domain = domain
        self._source = source
        self._bind_from = bind_from
        self._used = 0
        self._rows_named = False  # whether arrays in FROM are of the domain

    def body(self, body: QueryBody, always: bool = False) -> tuple[QueryBody, bool]:
        """A SELECT, and whether it has the columns of the domain: where it names one of them, or `always`."""
        if isinstance(body, SelectBody):
            return self._select(body, always)
        made = [self.body(part, always) for part in body.parts]
        if not any(used for _, used in made):
            return body, False
        if body.order is not None and (body.order.limit is not None or body.order.offset):
            raise self._error("LIMIT behind a set operation", body.order.span)
        parts = tuple(self.body(part, always=True)[0] for part in body.parts)
        return replace(body, parts=parts, order=None), True

    def _select(self, body: SelectBody, always: bool) -> tuple[QueryBody, bool]:
        before, around = self._used, self._rows_named
        self._rows_named = False
        source, carried, more = self._from(body.source)
        whole = self._with_domain(source)
        scope = self._bind_from(whole)
        aliases = frozenset(i.alias.text.lower() for i in body.items if i.alias is not None)
        items = tuple(replace(i, expression=self._named(i.expression, (scope,))) for i in body.items)
        where = None if body.where is None else self._named(body.where, (scope,))
        group_by = tuple(self._named(n, (scope,), aliases) for n in body.group_by)
        sets = tuple(tuple(self._named(n, (scope,), aliases) for n in one) for one in body.grouping_sets)
        having = None if body.having is None else self._named(body.having, (scope,), aliases)
        order = None if body.order is None else self._order(body.order, scope, aliases)
        if self._used == before and not carried and not always:
            return body, False
        for part in (*carried, *more):
            where = part if where is None else Operation("and", (where, part), part.span)
        items = (*self._unstarred(items, scope), *(SelectItem(k, k.name, "", k.span) for k in self._domain.refs()))
        grouped = bool(group_by) or any(holds_aggregate(i.expression) for i in body.items)
        if grouped:
            group_by = (*group_by, *self._domain.refs())
            sets = tuple((*one, *self._domain.refs()) for one in sets)
        rows_named, self._rows_named = self._rows_named, around
        beside = JoinRef("inner", (self._domain.item(), source), None, (), body.source.span)
        source = whole if rows_named else beside
        made = replace(
            body,
            items=items,
            source=source,
            where=where,
            group_by=group_by,
            grouping_sets=sets,
            having=having,
            order=None,
        )
        return self._first(made, order, len(body.items)), True

    # -- FROM

    def _from(self, item: FromItem) -> tuple[FromItem, list[Node], list[Node]]:
        """An item of FROM; what says that its columns of the domain are those beside it; and conditions of its ON."""
        if isinstance(item, StreamRef | RecursiveRef | UnionRef | MatchRef):
            return item, [], []
        if isinstance(item, ItemsRef):
            return self._items(item, ()), [], []
        if isinstance(item, SubqueryRef):
            body, used = self.body(item.body)
            if not used:
                return item, [], []
            if self._alone(item.body):
                body = self._of_each(item.body)
            alias = item.alias or Name(f"(part {item.span.start})", item.span)
            same: list[Node] = [
                Operation("<=>", (key, ColumnRef(key.name, alias, key.span)), key.span) for key in self._domain.refs()
            ]
            return replace(item, body=body, alias=alias), same, []
        if isinstance(item.parts[1], ItemsRef):
            below, same, more = self._from(item.parts[0])
            rows = self._items(item.parts[1], (self._bind_from(self._with_domain(below)),))
            return replace(item, parts=(below, rows)), same, more
        found = [self._from(part) for part in item.parts]
        (left, ours, more), (right, theirs, others) = found
        made = replace(item, parts=(left, right))
        conditions = [*more, *others]
        if item.on is not None and item.kind == "inner":
            scope = self._bind_from(replace(made, on=None))
            kept: Node | None = None
            for part in conjuncts(item.on):
                before = self._used
                named = self._named(part, (scope,))
                if self._used != before:
                    conditions.append(named)
                else:
                    kept = part if kept is None else Operation("and", (kept, part), part.span)
            made = replace(made, on=kept)
        return made, [*ours, *theirs], conditions

    def _items(self, item: ItemsRef, scopes: tuple[Scope, ...]) -> ItemsRef:
        """Items of arrays, which may be of what is named."""
        before = self._used
        made = replace(item, args=tuple(self._named(arg, scopes) for arg in item.args))
        self._rows_named = self._rows_named or self._used != before
        return made

    def _with_domain(self, source: FromItem) -> FromItem:
        """FROM with the domain before it, where its arrays are of the domain."""
        if not self._rows_named:
            return source
        if isinstance(source, JoinRef) and isinstance(source.parts[1], ItemsRef):
            return replace(source, parts=(self._with_domain(source.parts[0]), source.parts[1]))
        return JoinRef("inner", (self._domain.item(), source), None, (), source.span)

    def _of_each(self, body: QueryBody) -> QueryBody:
        """An aggregate without GROUP BY, which has a row where FROM has none: of the values, joined with FROM if they can be.

        SELECT count(*) FROM t WHERE t.n < s.n
        SELECT count(*) FILTER (WHERE there IS NOT NULL), d.n
        FROM d LEFT JOIN (t CROSS JOIN (SELECT 1 AS there)) ON t.n < d.n GROUP BY d.n
        """
        scope = self._bind_from(body.source) if isinstance(body, SelectBody) else None
        conditions = [body.where] if isinstance(body, SelectBody) and body.where is not None else []
        if not isinstance(body, SelectBody) or any(isinstance(p, Subselect) for c in conditions for p in walk(c)):
            raise self._error("an aggregate without GROUP BY in FROM", body.span)
        assert scope is not None
        place = body.source.span
        there = Name(f"(there {place.start})", place)
        one = SelectItem(Constant(1, BIGINT, place), there, "", place)
        nothing = StreamRef(Name(ONE_ROW, place), None, None, None, place)
        marked = SelectBody(place, None, None, (one,), nothing, None, (), False, None, place)
        inner = JoinRef("inner", (body.source, SubqueryRef(marked, None, there, place)), None, (), place)
        on = self._named(conditions[0], (scope,)) if conditions else Constant(True, pl.Boolean(), place)
        source = JoinRef("left", (self._domain.item(), inner), on, (), place)

        def of_rows(node: Node) -> Node | None:
            if not is_aggregate_call(node) or not isinstance(node, FunctionCall):
                return None
            known: Node = Operation("is_not_null", (ColumnRef(there, there, node.span),), node.span)
            own = node.where
            return replace(node, where=known if own is None else Operation("and", (known, own), node.span))

        items = tuple(
            replace(i, expression=rewritten(self._named(i.expression, (scope,)), of_rows)) for i in body.items
        )
        having = None if body.having is None else rewritten(self._named(body.having, (scope,)), of_rows)
        refs = self._domain.refs()
        items = (*items, *(SelectItem(ref, ref.name, "", ref.span) for ref in refs))
        return replace(body, items=items, source=source, where=None, group_by=refs, having=having, order=None)

    @staticmethod
    def _alone(body: QueryBody) -> bool:
        """Whether it has a row where FROM has none."""
        while isinstance(body, SetBody):
            body = body.parts[0]
        return not body.group_by and not body.group_all and any(holds_aggregate(i.expression) for i in body.items)

    # -- expressions

    def _named(self, node: Node, scopes: tuple[Scope, ...], aliases: frozenset[str] = frozenset()) -> Node:
        def change(part: Node) -> Node | None:
            if isinstance(part, Outer):
                self._used += 1
                return self._domain.column(part.inner)
            if isinstance(part, ColumnRef):
                here = part.qualifier is None and part.name.text.lower() in aliases
                if here or any(_is_of(scope, part) for scope in scopes) or not self._domain.around.has(part):
                    return None
                self._used += 1
                return self._domain.column(part)
            if isinstance(part, Subselect):
                return replace(part, body=self._inside(part.body, scopes))
            if isinstance(part, FunctionCall) and part.where is not None:
                filtered = replace(part, where=self._named(part.where, scopes))
                return rewritten(filtered, lambda p: None if p is filtered else change(p))
            if isinstance(part, RowNumber):
                keys = tuple(self._named(key, scopes) for key in part.partition)
                order = tuple(replace(k, expression=self._named(k.expression, scopes)) for k in part.order)
                return replace(part, partition=keys, order=order)
            return None

        return rewritten(node, change)

    def _inside(self, body: QueryBody, scopes: tuple[Scope, ...]) -> QueryBody:
        """A SELECT in an expression: what it names two levels up is of the values beside the SELECT around it."""
        if isinstance(body, SetBody):
            return replace(body, parts=tuple(self._inside(part, scopes) for part in body.parts))
        source = body.source
        try:
            within = (self._bind_from(source), *scopes)
        except QueryError:  # it names what is around it, too
            if not isinstance(source, SubqueryRef):
                raise
            within = scopes
            source = replace(source, body=self._inside(source.body, scopes))
        aliases = frozenset(i.alias.text.lower() for i in body.items if i.alias is not None)
        return replace(
            body,
            source=source,
            items=tuple(replace(i, expression=self._named(i.expression, within)) for i in body.items),
            where=None if body.where is None else self._named(body.where, within),
            group_by=tuple(self._named(n, within, aliases) for n in body.group_by),
            having=None if body.having is None else self._named(body.having, within, aliases),
        )

    def _order(self, order: Ordering, scope: Scope, aliases: frozenset[str]) -> Ordering:
        items = tuple(replace(k, expression=self._named(k.expression, (scope,), aliases)) for k in order.items)
        return replace(order, items=items)

    def _unstarred(self, items: tuple[SelectItem, ...], scope: Scope) -> tuple[SelectItem, ...]:
        """`*` without the columns of the domain."""
        made: list[SelectItem] = []
        for item in items:
            star = item.expression
            if not isinstance(star, Star) or star.qualifier is not None:
                made.append(item)
                continue
            ours = tuple(n for n in self._domain.columns.values() if scope.has(n.text))
            if not scope.qualifiers:
                raise self._error("* of a subquery without a name", item.span)
            for qualifier in (q for q in scope.qualifiers if q != self._domain.alias.text):
                without = (*star.without, *ours)
                made.append(replace(item, expression=Star(Name(qualifier, item.span), item.span, without)))
        return tuple(made)

    # -- LIMIT

    def _first(self, body: SelectBody, order: Ordering | None, own: int) -> SelectBody:
        """The first rows for each value of the domain, where LIMIT is written."""
        if order is None or (order.limit is None and not order.offset):
            return body
        if body.distinct is not None or body.qualify is not None:
            raise self._error("LIMIT beside DISTINCT", order.span)
        keys = self._domain.refs()
        by = tuple(self._sorted_by(key, body.items[:own]) for key in order.items)
        by = by or tuple(OrderItem(key, "", False, False, key.span) for key in keys)
        number = RowNumber(keys, by, order.span)
        test: list[Node] = []
        if order.limit is not None:
            test.append(Operation("<=", (number, _number(order.limit + order.offset, order.span)), order.span))
        if order.offset:
            test.append(Operation(">", (number, _number(order.offset, order.span)), order.span))
        return replace(body, qualify=reduce(lambda a, b: Operation("and", (a, b), order.span), test))

    @staticmethod
    def _sorted_by(key: OrderItem, items: tuple[SelectItem, ...]) -> OrderItem:
        """A key that is the number or the name of a select item as what that is."""
        node = key.expression
        if isinstance(node, Constant) and type(node.value) is int and 1 <= node.value <= len(items):
            return replace(key, expression=items[node.value - 1].expression)
        if isinstance(node, ColumnRef) and node.qualifier is None:
            for item in items:
                if item.alias is not None and item.alias.text.lower() == node.name.text.lower():
                    return replace(key, expression=item.expression)
        return key

    def _error(self, what: str, place: Span) -> QueryError:
        return _refused(what, place, self._source)


def _refused(what: str, place: Span, source: SourceText) -> QueryError:
    return source.error(
        f"{what} can't be combined with columns of the outer query in this version",
        place,
        "Write a join: FROM a JOIN (SELECT k, ... GROUP BY k) b ON a.k = b.k.",
        UnsupportedError,
    )


def _number(value: int, span: Span) -> Constant:
    return Constant(value, BIGINT, span)


def _is_of(scope: Scope, node: ColumnRef) -> bool:
    if node.qualifier is None:
        return scope.has(node.name.text)
    return node.qualifier.text.lower() in scope.qualifiers or scope.has(node.qualifier.text)


__all__ = ["Dependent", "OuterQuery", "dependent", "depends"]
