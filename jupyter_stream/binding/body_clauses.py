"""Clauses of a SELECT in the body of an aggregate: what stands behind its tables, what `*` is, and what can't be said there."""

from __future__ import annotations

from jupyter_stream.binding.bind_expression import holds_aggregate
from jupyter_stream.binding.body_names import Level
from jupyter_stream.core.schema import Field, Schema
from jupyter_stream.errors import UnsupportedError
from jupyter_stream.functions import Column, Expr
from jupyter_stream.syntax.diagnose import did_you_mean
from jupyter_stream.syntax.nodes import ColumnRef, Constant, Node, Star
from jupyter_stream.syntax.query_syntax import FromItem, JoinRef, SelectBody
from jupyter_stream.syntax.source_text import Name, SourceText


def refuse_clauses(body: SelectBody, source: SourceText) -> None:
    """Raise for what a SELECT in a body can't have, with what to write instead."""
    if body.operator is not None:
        raise source.error("the body of an aggregate can read tables only, not streams", body.operator.span)
    if len(body.grouping_sets) > 1:
        raise source.error(
            "ROLLUP, CUBE and GROUPING SETS aren't available in the body of an aggregate",
            body.group_by[0].span.to(body.group_by[-1].span),
            "Write a SELECT for each grouping: SELECT a, sum(n) FROM t GROUP BY a UNION ALL SELECT NULL, sum(n) FROM t.",
            UnsupportedError,
        )
    if body.qualify is not None or body.distinct_on:
        place = body.distinct_on[0] if body.qualify is None else body.qualify
        raise source.error(
            "QUALIFY and DISTINCT ON aren't available in the body of an aggregate",
            place.span,
            "Compare with a SELECT: WHERE n = (SELECT max(o.n) FROM t AS o WHERE o.k = t.k).",
            UnsupportedError,
        )


def refuse_clauses_of_item(item: FromItem, source: SourceText) -> None:
    """Raise for what can't stand behind a table, a SELECT or a join in FROM."""
    if item.window is not None:
        raise source.error("a window needs a stream, and this is a table", item.window.span, "Remove the window.")
    if item.sample is not None:
        raise source.error(
            "SAMPLE isn't available in the body of an aggregate",
            item.sample.span,
            "Write WHERE rand() < 0.1.",
            UnsupportedError,
        )
    if isinstance(item, JoinRef) and (item.alias is not None or item.columns):
        raise source.error(
            "a join can't have a name in the body of an aggregate",
            item.columns[0].span if item.alias is None else item.alias.span,
            "Name its tables, or write FROM (SELECT a, b FROM t JOIN u ON ...) AS q.",
            UnsupportedError,
        )


def grouping_keys(body: SelectBody, level: Level, source: SourceText) -> list[Node]:
    """What rows are grouped by: columns, select items by number or name, with ALL those without an aggregate in them.

    Raises:
        QueryError: an item that there isn't, or one with an aggregate in it.
    """
    if body.group_all:
        return [i.expression for i in body.items if not holds_aggregate(i.expression)]
    nodes = body.grouping_sets[0] if body.grouping_sets else body.group_by
    return [_selected(node, body, level, source) for node in nodes]


def _selected(node: Node, body: SelectBody, level: Level, source: SourceText) -> Node:
    """What an expression of GROUP BY stands for: a number or a name that no table has is that of a select item."""
    found = node
    if isinstance(node, Constant) and type(node.value) is int:
        if not 1 <= node.value <= len(body.items):
            raise source.error(
                f"there is no select item number {node.value}", node.span, f"There are {len(body.items)}."
            )
        found = body.items[node.value - 1].expression
    elif isinstance(node, ColumnRef) and node.qualifier is None:
        name = node.name.text.lower()
        if all(table.schema.find(name) is None for table, _, _ in level.reads):
            named = (i.expression for i in body.items if i.alias is not None and i.alias.text.lower() == name)
            found = next(named, node)
    if found is not node and holds_aggregate(found):
        raise source.error(
            "an aggregate can't be a grouping column",
            node.span,
            "Group by columns or expressions without aggregates.",
        )
    return found


def under_names(schema: Schema, names: tuple[Name, ...], source: SourceText) -> Schema:
    """A table's columns under the names behind it: `t AS q (a, b)`; the others keep theirs.

    Raises:
        QueryError: more names than columns, or two equal ones.
    """
    if len(names) > len(schema):
        plural = "s" * (len(schema) != 1)
        raise source.error(
            f"{len(names)} names for {len(schema)} column{plural}", names[len(schema)].span.to(names[-1].span)
        )
    shown = [*(n.text for n in names), *schema.names[len(names) :]]
    for name in reversed(names):
        if [n.lower() for n in shown].count(name.text.lower()) > 1:
            raise source.error(f"two columns are called {name.text}", name.span, "Give one of them another name.")
    return Schema(tuple(Field(n, f.dtype) for n, f in zip(shown, schema, strict=True)))


def columns_of_star(star: Star, level: Level, source: SourceText) -> list[tuple[str, Expr]]:
    """What `*` and `t.*` select: a column of USING once, where it first stands.

    Raises:
        QueryError: no such table, or no such column behind EXCEPT.
    """
    qualifier = None if star.qualifier is None else star.qualifier.text.lower()
    reads = [r for r in level.reads if qualifier in (None, r[1])]
    if star.qualifier is not None and not reads:
        hint = did_you_mean(star.qualifier.text, [q for _, q, _ in level.reads], "tables")
        raise source.error(f"{star.qualifier.text} isn't in FROM", star.qualifier.span, hint)
    names = [f.name for table, _, _ in reads for f in table.schema]
    for name in star.without:
        if name.text.lower() not in {n.lower() for n in names}:
            raise source.error(
                f"* has no column called {name.text}", name.span, f"The columns are {', '.join(dict.fromkeys(names))}."
            )
    left_out = {name.text.lower() for name in star.without}
    items: list[tuple[str, Expr]] = []
    for table, _, read in reads:
        for i, field in enumerate(table.schema):
            column: Expr = Column(f"#{read.place + i}", field.dtype)
            if qualifier is None:
                column = level.merged.get(f"#{read.place + i}", column)
            if field.name.lower() not in left_out and column not in [e for _, e in items]:
                items.append((field.name, column))
    return items


__all__ = ["columns_of_star", "grouping_keys", "refuse_clauses", "refuse_clauses_of_item", "under_names"]
