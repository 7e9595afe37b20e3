"""The SELECTs of a statement, from what is written to logical plans.

Shape of a plan: FROM, Filter for WHERE, Aggregate if it is an aggregate query, Filter for HAVING, Project to the select list.
"""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from jupyter_stream.binding import bind_scalar, bind_subquery
from jupyter_stream.binding.as_relation import Lives, OfNewest, by_time, newest, newest_of, relation_of, unites_joins
from jupyter_stream.binding.bind_aggregate import WINDOW_COLUMNS, Grouping, InputNames
from jupyter_stream.binding.bind_expression import ExpressionBinder, holds_aggregate
from jupyter_stream.binding.bind_extents import AUTOMATIC, distinct_of_extents, extent_rows, of_extents
from jupyter_stream.binding.bind_from import bind_from
from jupyter_stream.binding.bind_group_values import GroupValues
from jupyter_stream.binding.bind_order import ordered, with_keys, without_keys
from jupyter_stream.binding.bind_over import OverNames
from jupyter_stream.binding.bind_row_number import HIDDEN, limited, numbered, numbers
from jupyter_stream.binding.bind_sets import (
    bind_set,
    distinct,
    stream_of,
)
from jupyter_stream.binding.bind_several import parted, stacked, start_of
from jupyter_stream.binding.bind_user_call import running, running_plan
from jupyter_stream.binding.counted import counts_rows
from jupyter_stream.binding.forms.dependent_join import OuterQuery
from jupyter_stream.binding.forms.grouping_sets import united
from jupyter_stream.binding.forms.memberships import with_counts
from jupyter_stream.binding.forms.on_to_where import with_where
from jupyter_stream.binding.forms.over_any_order import any_order, written_over
from jupyter_stream.binding.join_conditions import absorb
from jupyter_stream.binding.join_extents import about_extent
from jupyter_stream.binding.join_windows import check_bounds, retimed
from jupyter_stream.binding.scope import NO_NUMBERS, Scope
from jupyter_stream.binding.select_frames import framed
from jupyter_stream.binding.select_list import SelectItems, schema_of, starred
from jupyter_stream.binding.window_calls import window_call
from jupyter_stream.core.messages import ROW, WINDOW_START
from jupyter_stream.core.schema import Field, Schema
from jupyter_stream.errors import QueryError, UnsupportedError
from jupyter_stream.functions import Column, Expr, Literal
from jupyter_stream.functions.expression import columns, substitute, walk
from jupyter_stream.plan import logical
from jupyter_stream.plan.catalog import Catalog
from jupyter_stream.plan.lifetimes import holds_join, unbounded, whole_lives
from jupyter_stream.plan.logical import (
    Aggregate,
    Filter,
    Join,
    Lookup,
    Plan,
    Project,
    StreamKind,
    under,
)
from jupyter_stream.plan.relations import answered, extents_of, is_relation, only_tables, staggered
from jupyter_stream.syntax.nodes import ColumnRef, Constant, FunctionCall, Node, Star, ValueList
from jupyter_stream.syntax.nodes import walk as parts_of
from jupyter_stream.syntax.query_syntax import (
    FromItem,
    Ordering,
    QueryBody,
    SelectBody,
    SelectItem,
    SetBody,
    SubqueryRef,
    WindowClause,
)
from jupyter_stream.syntax.source_text import Name, SourceText, Span
from jupyter_stream.windows import Window


class Binder:
    """Binds the SELECTs of one statement.

    Args:
        source: where they are written.
        catalog: what names mean.
        live: whether views are what their SELECTs define, which changes: in a view over views.
    """

    def __init__(self, source: SourceText, catalog: Catalog, live: bool = False) -> None:
        self._live = live
        self.source = source
        self.catalog = catalog
        self._joined: list[tuple[Plan, Span]] = []  # what FROM held, inner ones first, and where

    def check(self, plan: Plan) -> None:
        """Raise if the whole, in the end, holds a join that would have to keep rows for ever without being told to.

        As a relation a join may have no such need: there joined rows live as long as what they are joined of.
        """
        if unbounded(plan):
            for part, span in self._joined:
                check_bounds(part, self.source, span)

    def body(self, body: QueryBody, view: bool = False) -> tuple[Plan, Lives]:
        """A SELECT, or several with set operations between them; with the lifetimes its rows keep.

        Args:
            body: as written.
            view: whether it defines a view, whose rows can be sorted.
        """
        if isinstance(body, SelectBody) and body.grouping_sets:
            written, scope = body, self._from(body.source)
            body = united(written, scope, lambda key: self._selected(key, written, scope), self.source)
        if isinstance(body, SelectBody) and body.operator is not None and _counted(body.order):
            return self._stream_of_first(body, body.operator)
        plan, lifetime = self._unordered(body)
        if body.order is None:
            return plan, lifetime
        if not isinstance(body, SelectBody):
            return ordered(plan, lifetime, body.order, _shown_items(body), self.source, view), None
        wider = with_keys(body, plan)
        if wider is not None and wider.order is not None:
            plan, lifetime = self._unordered(wider)
            return without_keys(ordered(plan, lifetime, wider.order, wider.items, self.source, view)), None
        return ordered(plan, lifetime, body.order, _shown_items(body), self.source, view), None

    def _stream_of_first(self, body: SelectBody, operator: Name) -> tuple[Plan, Lives]:
        """ISTREAM, DSTREAM or RSTREAM of the first rows: the word is outermost, and speaks of what is left by LIMIT."""
        plan, lifetime = self.body(replace(body, operator=None))
        return self._streamed(operator, plan, lifetime, extents_of(plan)), None

    def _unordered(self, body: QueryBody) -> tuple[Plan, Lives]:
        if isinstance(body, SetBody):
            return bind_set(body, [self.body(part) for part in body.parts], self.source)
        plan, lifetime, looks = self.select(body)
        if body.operator is None:
            return plan, lifetime
        return self._streamed(body.operator, plan, lifetime, looks), None

    def _streamed(self, operator: Name, plan: Plan, lifetime: Lives, looks: Window | None) -> Plan:
        """The operator's stream: of a relation, or of the extents of a window that looks."""
        kind: StreamKind = operator.text.lower()  # type: ignore[assignment]  # the parser knows just these
        if looks is not None and kind != "rstream" and staggered(plan):
            raise self.source.error(
                f"{kind.upper()} isn't available over windows with different SLIDEs",
                operator.span,
                "Give them the same SLIDE, or write one query for each window.",
                UnsupportedError,
            )
        if looks is not None:
            return of_extents(kind, plan, looks, self.source, operator.span)
        return stream_of(kind, plan, lifetime, self.source, operator.span)

    def _from(self, item: FromItem, counted: bool = False) -> Scope:
        return bind_from(item, self.catalog, self.source, self.body, self._live, counted)

    def select(self, body: SelectBody) -> tuple[Plan, Lives, Window | None]:
        """One SELECT, with the lifetimes its rows keep, and the window with SLIDE by which it looks, if it does."""
        over = written_over(body)
        if over:
            scope = self._from(body.source)
            if any_order(body, scope, over):
                made, looks = framed(body, scope, self.source, self._select)
                return made, None, looks
        found = numbers(body, self.source)
        if found is None:
            return self._select(body)
        plan, lifetime, looks = self._select(found.body)
        return numbered(plan, lifetime, found, self.source), None, looks

    def _select(self, body: SelectBody) -> tuple[Plan, Lives, Window | None]:
        body = with_where(body)
        scope = self._from(body.source, isinstance(body.source, SubqueryRef) and counts_rows(body))
        if scope.lifetime is not None and not holds_join(scope.plan) and not is_relation(scope.plan):
            scope = retimed(scope)
        aggregated = bool(body.group_by) or body.group_all
        nodes = [item.expression for item in body.items] + ([body.having] if body.having is not None else [])
        aggregated = aggregated or any(holds_aggregate(node) for node in nodes)
        if body.having is not None and not aggregated:
            raise self.source.error(
                "HAVING needs GROUP BY or an aggregate",
                body.having.span,
                "Put a condition on rows into WHERE.",
            )
        where: Expr | None = None
        body = with_counts(body, self.source)
        plain, memberships, valued = bind_subquery.split(body.where)
        if plain is not None:
            names = InputNames(scope, self.source, "WHERE")
            where = ExpressionBinder(self.source, names).condition(plain, "WHERE")
        if memberships or valued:
            if newest(scope.window) is not None:  # a window stands in FROM: rows are counted before WHERE
                scope = self._newest(scope, body)
            scope, where = scope if where is None else filtered(scope, where), None
            for found in memberships:
                counted = bind_subquery.as_value(found, OuterQuery(body.source, scope), self.source, self._from)
                if counted is not None:
                    valued.append(counted)
                    continue
                scope = bind_subquery.apply(scope, found, self.source, self.body, self._from)
            for condition in valued:
                scope = bind_scalar.apply(scope, body.source, condition, self.source, self.body, self._from)
        scope, where = self._with_row_values(body, scope, where, aggregated)
        grouped = aggregated or not self._takes_rows(body, scope)
        if aggregated or (body.distinct is not None and scope.sliding and grouped):
            plan = self._aggregate(body, scope, where, aggregated)
            looks = self._instants(plan)
            if aggregated and body.distinct is not None:
                each = distinct_of_extents(plan) if looks is not None else None
                plan = each or distinct(plan, None, self.source, body.distinct)
            return plan, None, looks
        if scope.sliding and not (holds_join(scope.plan) and scope.joined is not None):
            plan = extent_rows(body.items, scope, where, self.source)
            return plan if body.distinct is None else distinct_of_extents(plan), None, scope.window
        rows = scope
        if where is not None:
            scope = filtered(scope, where)
        self._joined.append((scope.plan, body.source.span))
        lifetime: Lives = scope.lifetime
        plan = self._project(body, scope)
        if newest(scope.window) is not None:
            lifetime = self._of_newest(body, rows, where)
        if body.distinct is not None:
            return distinct(plan, lifetime, self.source, body.distinct), None, None
        return plan, lifetime, None

    def _with_row_values(
        self, body: SelectBody, scope: Scope, where: Expr | None, aggregated: bool
    ) -> tuple[Scope, Expr | None]:
        """FROM with the SELECTs that stand for values of its rows, and what is left of WHERE."""
        groups = [self._selected(node, body, scope) for node in body.group_by] if aggregated else None
        if groups is not None and body.group_all:
            groups += [i.expression for i in body.items if not holds_aggregate(i.expression)]
        asked = bind_scalar.values_of_rows(body, groups)
        if not asked:
            return scope, where
        if newest(scope.window) is not None:
            scope = self._newest(scope, body)
        scope = scope if where is None else filtered(scope, where)
        return bind_scalar.with_row_values(scope, body.source, asked, self.source, self.body, self._from), None

    # -- without aggregates

    def _newest(self, scope: Scope, body: SelectBody) -> Scope:
        """FROM's newest rows as a relation."""
        window = newest(scope.window)
        assert window is not None
        plan = newest_of(scope.plan, window, self.source, body.source.span)
        return replace(scope, plan=plan, window=None)

    def _of_newest(self, body: SelectBody, scope: Scope, where: Expr | None) -> OfNewest:
        """A SELECT as a relation of the newest of FROM's rows."""
        try:
            if where is not None and body.where is not None and ROW in columns(where):
                raise self.source.error("the newest rows have no numbers to go by", body.where.span, NO_NUMBERS)
            scope = self._newest(scope, body)
            return OfNewest(self._project(body, scope if where is None else filtered(scope, where)))
        except QueryError as refused:
            return OfNewest(None, refused)

    def _project(self, body: SelectBody, scope: Scope) -> Plan:
        aliases: dict[str, Expr] = {}
        names = OverNames(scope, self.source, "the select list", aliases)
        binder = ExpressionBinder(self.source, names)
        items = SelectItems(self.source)
        for item in body.items:
            if isinstance(item.expression, Star):
                self._check_star(item, scope)
                for name, column in starred(scope, item.expression, self.source):
                    items.add(name, column, item, explicit=False)
                continue
            bound = binder.bind(item.expression)
            items.add_item(item, bound)
            if item.alias is not None:
                aliases[item.alias.text.lower()] = bound
        extent = [(n, e) for n in AUTOMATIC if (e := about_extent(scope, n)) is not None]
        items.put_first([(n, e) for n, e in extent if not items.holds(e)])
        made = items.made()
        if [(f.name, Column(f.name, f.dtype)) for f in scope.schema] == list(made):
            return scope.plan
        below = scope.plan
        if names.has_windows and is_relation(below):
            below = self._entering(below, body.source.span)
        return Project(names.plan(below), made, schema_of(made))

    def _entering(self, plan: Plan, span: Span) -> Plan:
        """A relation's rows in the order of their entering, which is what OVER looks back on."""
        if only_tables(plan):
            raise self.source.error(
                "OVER needs a stream: the rows of a table have no order",
                span,
                "Aggregate with GROUP BY, or read a stream.",
                UnsupportedError,
            )
        return stream_of("istream", by_time(plan, self.source, span), None, self.source, span)

    def _check_star(self, item: SelectItem, scope: Scope) -> None:
        node = item.expression
        if (
            isinstance(node, Star)
            and node.qualifier is not None
            and node.qualifier.text.lower() not in scope.qualifiers
        ):
            raise self.source.error(f"{node.qualifier.text} isn't in FROM", item.span)

    # -- with aggregates

    def _takes_rows(self, body: SelectBody, scope: Scope) -> bool:
        """Whether DISTINCT is over more than grouping columns and what is said of the extent: * or expressions of both."""
        return any(
            isinstance(part, Star)
            or (part is not i.expression and _plain(part) in WINDOW_COLUMNS and not scope.has(_plain(part)))
            for i in body.items
            for part in parts_of(i.expression)
        )

    def _aggregate(self, body: SelectBody, scope: Scope, where: Expr | None, grouped: bool) -> Plan:
        asked = GroupValues(self.source, self.body, self._from, OuterQuery(body.source, scope))
        grouping = Grouping(scope, self.source, group_values=asked)
        group_nodes, window_clauses = self._group_nodes(body, scope)
        nodes = [item.expression for item in body.items]
        grouping.take_window(nodes + ([body.having] if body.having is not None else []), window_clauses)
        rows, condition = grouping.scope.plan, where
        if where is not None and not grouping.window.counts_rows:
            grouping.scope, where = filtered(grouping.scope, where), None
        self._check_lifetimes(grouping, body)
        self._joined.append((grouping.scope.plan, body.source.span))
        self._keys(body, grouping, group_nodes, grouped)
        grouping.take_partition(own_sessions=bool(body.group_by) or body.group_all)
        items = self._select_items(body, grouping, scope)
        having = grouping.condition(body.having, "HAVING") if body.having is not None else None
        keys = self._named_keys(grouping, items)
        renames = {old: new for (old, _), (new, _) in zip(grouping.keys, keys, strict=True)}
        having = None if having is None else _rename(having, renames)
        made = tuple((name, _rename(expr, renames)) for name, expr in items.made())
        schema = Schema(tuple(Field(n, e.dtype) for n, e in keys) + grouping.fields)
        user = tuple(grouping.user)
        # rows are numbered before WHERE: a window stands in FROM
        by_window = grouping.by_window()
        (window, calls), *others = by_window
        plan: Plan = Aggregate(
            grouping.scope.plan, keys, calls, window, schema, where, self._ends(grouping), user, tuple(others)
        )
        if others and (not window.sliding or len({w.instants for w, _ in by_window}) > 1):
            parts = parted(grouping.scope.plan, rows, keys, by_window, condition)
            plan, shown = stacked(parts, self.source, body.source.span)
            if grouping.slides:
                shown[WINDOW_START] = start_of([w for w, _ in by_window], grouping.window_dtype)
            having = None if having is None else substitute(having, shown)
            made = tuple((name, substitute(expr, shown)) for name, expr in made)
        if asked.first is not None:
            if running(grouping):
                raise self.source.error(
                    "a scalar subquery can't be used with a user-defined aggregate that answers row by row in this version",
                    asked.first,
                    "Put the aggregate into a subquery: SELECT ... FROM (SELECT ...) [NOW].",
                    UnsupportedError,
                )
            return asked.answers(plan, made, having, grouping.slides, lambda e: _rename(e, renames))
        if running(grouping):
            plan, of_keys = running_plan(grouping, keys)
            having = None if having is None else substitute(having, of_keys)
            made = tuple((name, substitute(expr, of_keys)) for name, expr in made)
        if having is not None:
            plan = Filter(plan, having, plan.schema)
        return Project(plan, made, schema_of(made))

    def _select_items(self, body: SelectBody, grouping: Grouping, scope: Scope) -> SelectItems:
        """The select list over groups, with the extent's columns first where they weren't written."""
        items = SelectItems(self.source)
        named: set[str] = set()
        for item in body.items:
            if _is_star(item.expression):
                raise self.source.error(
                    "* can't be used in an aggregate query",
                    item.span,
                    "Name the grouping columns, and aggregate the others.",
                )
            if grouping.slides and self._is_window(item.expression, scope):
                for name in AUTOMATIC:
                    items.add(name, grouping.window_column(name), item, explicit=False)
                    named.add(name)
                continue
            before = grouping.bind_item(item.expression)
            bound = grouping.over_groups(before, item.expression)
            for name in AUTOMATIC:
                if grouping.slides and bound == grouping.window_column(name) and not _is_hidden(item):
                    named.add(name)
            items.add_item(item, bound)
            if item.alias is not None:
                grouping.aliases[item.alias.text.lower()] = before
        if grouping.slides:
            items.put_first([(n, grouping.window_column(n)) for n in AUTOMATIC if n not in named])
        return items

    def _check_lifetimes(self, grouping: Grouping, body: SelectBody) -> None:
        outer = any(isinstance(n, Join) and not whole_lives(n) for n in logical.walk(grouping.scope.plan))
        own = grouping.scope.window is None and not grouping.slides
        if (self._ends(grouping) and outer) or (own and unites_joins(grouping.scope.plan)):
            plan = relation_of(grouping.scope.plan, None, self.source, body.source.span)
            grouping.scope = replace(grouping.scope, plan=plan)
        if is_relation(grouping.scope.plan):
            plan = relation_of(grouping.scope.plan, None, self.source, body.source.span)
            grouping.scope = replace(grouping.scope, plan=plan)

    @staticmethod
    def _instants(plan: Plan) -> Window | None:
        """The window with SLIDE of an aggregate query."""
        plan = under(answered(plan), Project, Filter, Lookup)
        return plan.window if isinstance(plan, Aggregate) and plan.window.sliding else None

    @staticmethod
    def _ends(grouping: Grouping) -> bool:
        """Whether the rows' own lifetimes are what counts: joined rows', under no window of their own."""
        return grouping.scope.window is None and not grouping.slides and holds_join(grouping.scope.plan)

    def _group_nodes(self, body: SelectBody, scope: Scope) -> tuple[list[Node], list[WindowClause]]:
        """GROUP BY without what says the window: `window(ts, ...)`, TUMBLE(ts, ...), window_start and window_end.

        Where it holds nothing else, all rows of an extent are one group: there is none in an extent without rows.
        """
        kept: list[Node] = []
        clauses: list[WindowClause] = []
        extents: list[Node] = []
        for node in body.group_by:
            clause = window_call(node, self.source, scope)
            if clause is not None:
                clauses.append(clause)
                extents.append(node)
                continue
            lower = _plain(node)
            if lower in WINDOW_COLUMNS and not scope.has(lower):
                extents.append(node)
                continue  # in Flink's way: answers are per extent anyway
            if isinstance(node, ValueList) and not node.items:
                continue  # GROUP BY ()
            kept.append(node)
        if extents and not kept and not body.grouping_sets:
            kept = [Constant(True, pl.Boolean(), extents[0].span)]
        return kept, clauses

    def _is_window(self, node: Node, scope: Scope) -> bool:
        if _plain(node) == "window":
            return not scope.has("window")
        return isinstance(node, FunctionCall) and window_call(node, self.source, scope) is not None

    def _keys(self, body: SelectBody, grouping: Grouping, nodes: list[Node], grouped: bool) -> None:
        names = InputNames(grouping.scope, self.source, "GROUP BY")
        binder = ExpressionBinder(self.source, names)
        if body.group_all or not grouped:
            nodes = [i.expression for i in body.items if not holds_aggregate(i.expression)]
            nodes = [n for n in nodes if not self._about_extent(n, grouping)]
        for node in nodes:
            target = self._selected(node, body, grouping.scope) if body.group_by else node
            if target is not node and holds_aggregate(target):
                raise self.source.error(
                    "an aggregate can't be a grouping column",
                    node.span,
                    "Group by columns or expressions without aggregates.",
                )
            key = binder.bind(target)
            if isinstance(key, Literal) and not body.group_by:
                continue  # beside aggregates, of all rows: where there are none too
            if all(key != known for _, known in grouping.keys):
                grouping.keys.append((f"$key{len(grouping.keys)}", key))

    def _about_extent(self, node: Node, grouping: Grouping) -> bool:
        lower = _plain(node)
        return grouping.slides and lower in (*WINDOW_COLUMNS, "window") and not grouping.scope.has(lower)

    def _selected(self, node: Node, body: SelectBody, scope: Scope) -> Node:
        """What a grouping column stands for: an ordinal or an alias is the select item it names (as in Spark)."""
        if isinstance(node, Constant) and isinstance(node.value, int) and not isinstance(node.value, bool):
            place = node.span
            if not 1 <= node.value <= len(body.items):
                raise self.source.error(
                    f"there is no select item number {node.value}", place, f"There are {len(body.items)}."
                )
            return body.items[node.value - 1].expression
        lower = _plain(node)
        if lower and not scope.has(lower):
            for item in body.items:
                if item.alias is not None and item.alias.text.lower() == lower:
                    return item.expression
        return node

    def _named_keys(self, grouping: Grouping, items: SelectItems) -> tuple[tuple[str, Expr], ...]:
        """Keys under the names they are selected as, else under their own column's name, else numbered."""
        taken: set[str] = set()
        named = []
        for name, key in grouping.keys:
            selected = [n for n, e in items.made() if isinstance(e, Column) and e.name == name]
            wanted = (
                selected[0]
                if selected
                else key.name
                if isinstance(key, Column) and not key.name.startswith("$")
                else name
            )
            if wanted.lower() in taken:
                wanted = name
            taken.add(wanted.lower())
            named.append((wanted, key))
        return tuple(named)


def _counted(order: Ordering | None) -> bool:
    """Whether ORDER BY says which rows are the first, and LIMIT or OFFSET how many of them count."""
    return order is not None and bool(order.items) and (order.limit is not None or order.offset > 0)


def _shown_items(body: QueryBody) -> tuple[SelectItem, ...]:
    """The select list that names the columns, of SELECTs put together the first; () where it shows those of a subquery."""
    while isinstance(body, SetBody):
        body = body.parts[0]
    inner = isinstance(body.source, SubqueryRef) and body.source.window is None
    return () if inner and all(isinstance(i.expression, Star) for i in body.items) else body.items


def filtered(scope: Scope, where: Expr) -> Scope:
    """What FROM gives, after WHERE."""
    return replace(scope, plan=absorb(limited(scope.plan, where), where))


def _is_hidden(item: SelectItem) -> bool:
    return item.alias is not None and item.alias.text.startswith(HIDDEN)


def _is_star(node: Node) -> bool:
    return isinstance(node, Star)


def _plain(node: Node) -> str:
    """The name of a column that isn't qualified, in lower case; empty for anything else."""
    return node.name.text.lower() if isinstance(node, ColumnRef) and node.qualifier is None else ""


def _rename(expr: Expr, renames: dict[str, str]) -> Expr:
    columns: dict[str, Expr] = {}
    for part in walk(expr):
        if isinstance(part, Column) and part.name in renames:
            columns[part.name] = Column(renames[part.name], part.dtype)
    return substitute(expr, columns) if columns else expr
