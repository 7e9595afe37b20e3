"""SELECTs that stand for values in HAVING, and in the select list of an aggregate query: each is asked about every group.

Without SLIDE groups are a relation, and so is what they are beside. Answers of extents are there for the microsecond before
their extent ends, which is their time: so a value is of the rows alive then, as those of the extent are.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from jupyter_stream.binding.as_relation import net, relation_of
from jupyter_stream.binding.bind_join import bind_join, living, table_of
from jupyter_stream.binding.bind_scalar import either, place_of
from jupyter_stream.binding.forms.dependent_join import OuterQuery
from jupyter_stream.binding.scalar_select import BindBody, BindFrom, Inner, inner_of
from jupyter_stream.binding.scope import Scope
from jupyter_stream.binding.select_list import schema_of
from jupyter_stream.binding.select_tables import as_table
from jupyter_stream.core.messages import TS, WINDOW_END, WINDOW_ID, WINDOW_START
from jupyter_stream.functions import Column, Expr
from jupyter_stream.functions.expression import substitute, walk
from jupyter_stream.plan.logical import VALUE, Filter, Plan, Project, ToStream
from jupyter_stream.syntax.nodes import Node, Subselect
from jupyter_stream.syntax.query_syntax import JoinRef
from jupyter_stream.syntax.source_text import Name, SourceText, Span
from jupyter_stream.windows import LifetimeWindow

_AT_ITS_END = LifetimeWindow(1)
"""How long an extent's answer is there."""
_OF_EXTENTS = (WINDOW_START, WINDOW_END, WINDOW_ID, TS)


class GroupValues:
    """The values of one SELECT, found while its select list and HAVING are bound.

    Args:
        source: the cell.
        bind_body: how a SELECT is bound.
        bind_from: how FROM of one is.
        around: the query they stand in.
    """

    def __init__(self, source: SourceText, bind_body: BindBody, bind_from: BindFrom, around: OuterQuery) -> None:
        self._source, self._around = source, around
        self._bind_body, self._bind_from = bind_body, bind_from
        self._found: dict[Subselect, tuple[Inner, tuple[Expr, ...]]] = {}

    def value(self, node: Subselect, bind: Callable[[Node], Expr]) -> Expr:
        """What a SELECT stands for.

        Args:
            node: the SELECT.
            bind: for what it names of the query around it.
        """
        if node not in self._found:
            name = Name(f"{VALUE}{len(self._found)}", node.span)
            inner = inner_of(node, name, self._source, self._bind_body, self._bind_from, self._around)
            self._found[node] = inner, tuple(bind(pair.outer) for pair in inner.pairs)
        return self._found[node][0].value

    def is_value(self, column: str) -> bool:
        """Whether a column holds such a value."""
        return any(inner.scope.schema.find(column) is not None for inner, _ in self._found.values())

    @property
    def first(self) -> Span | None:
        """Where the first one stands; None if there are none."""
        return next((node.span for node in self._found), None)

    def answers(
        self,
        groups: Plan,
        items: tuple[tuple[str, Expr], ...],
        having: Expr | None,
        slides: bool,
        rename: Callable[[Expr], Expr],
    ) -> Plan:
        """The answers of the query.

        Args:
            groups: the aggregates, by group.
            items: the select list over these and the values.
            having: HAVING, likewise.
            slides: whether the groups are those of extents.
            rename: from the columns known when a value was bound to those of the groups.
        """
        lives: LifetimeWindow | None = None
        kept: dict[str, Expr] = {}
        found = list(self._found)
        if slides:
            looked_up = [node for node in found if self._looked_up(node, groups)]
            groups = self._joined(looked_up, groups, None, rename)  # which stay the answers they are
            found = [node for node in found if node not in looked_up]
        else:
            assert self.first is not None
            groups = relation_of(groups, None, self._source, self.first)
        if slides and found:
            lives = _AT_ITS_END
            groups, kept = _with_extents(groups, [*(e for _, e in items), *([] if having is None else [having])])
            items = tuple((name, substitute(expr, kept)) for name, expr in items)
            having = None if having is None else substitute(having, kept)
        plan = self._joined(found, groups, lives, lambda e: substitute(rename(e), kept))
        if having is not None:
            plan = Filter(plan, having, plan.schema)
        plan = Project(plan, items, schema_of(items))
        return ToStream("istream", net(plan), plan.schema) if lives is not None else plan

    def _looked_up(self, node: Subselect, groups: Plan) -> bool:
        """Whether a value is of tables, looked up at the time of each answer."""
        inner, _ = self._found[node]
        table = table_of(as_table(living(inner.scope), Scope(groups, ()), place_of(node), self._source))
        return table is not None and not table.retroactive

    def _joined(
        self, found: list[Subselect], groups: Plan, lives: LifetimeWindow | None, rename: Callable[[Expr], Expr]
    ) -> Plan:
        scope = Scope(groups, (), lives)
        for node in found:
            inner, others = self._found[node]
            item = place_of(node)
            join = JoinRef("left", (item, place_of(node)), None, (), node.span, value=True)
            scope = bind_join(join, self._source, partial(either, item, scope, inner.scope))
            plan = inner.joined(scope.plan, [rename(other) for other in others])
            scope = Scope(plan, (), scope.window)
        return scope.plan


def _with_extents(groups: Plan, exprs: list[Expr]) -> tuple[Plan, dict[str, Expr]]:
    """Answers of extents as rows: with what is said of an extent in columns of their own; and what is called otherwise there.

    What begins with $ goes through projections as it is, and is no column of a row that lives.
    """
    named = {p.name: p for e in exprs for p in walk(e) if isinstance(p, Column) and p.name in _OF_EXTENTS}
    own = [*(Column(f.name, f.dtype) for f in groups.schema), *named.values()]
    items = tuple((f"({c.name[1:]})" if c.name.startswith("$") else c.name, c) for c in own)
    kept: dict[str, Expr] = {c.name: Column(name, c.dtype) for name, c in items if name != c.name}
    return Project(groups, items, schema_of(items)), kept


__all__ = ["GroupValues"]
