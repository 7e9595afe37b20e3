"""A select list while it is bound: names that are unique, and the schema they make. Not for expressions."""

from __future__ import annotations

from collections.abc import Sequence

from jupyter_stream.binding.scope import Scope
from jupyter_stream.core.schema import Field, Schema
from jupyter_stream.functions import Column, Expr
from jupyter_stream.syntax.diagnose import did_you_mean
from jupyter_stream.syntax.nodes import ColumnRef, FieldOf, Star
from jupyter_stream.syntax.query_syntax import SelectItem
from jupyter_stream.syntax.source_text import SourceText


class SelectItems:
    """A select list while it is bound: unique names, `$` left to the system."""

    def __init__(self, source: SourceText) -> None:
        self.source = source
        self._items: list[tuple[str, Expr, bool]] = []
        self._explicit: set[str] = set()

    def add_item(self, item: SelectItem, bound: Expr) -> None:
        """An item under its alias, or under its column's name, or under its text."""
        if item.alias is not None:
            self.add(item.alias.text, bound, item, explicit=True)
            return
        node = item.expression
        name = item.text
        if isinstance(node, ColumnRef | FieldOf):
            name = node.name.text
            if isinstance(bound, Column) and bound.name.lower() == name.lower():
                name = bound.name  # as it was declared
        self.add(name, bound, item, explicit=False)

    def add(self, name: str, bound: Expr, item: SelectItem, explicit: bool) -> None:
        """Add a column; a name that is taken gets a number, unless the user gave it twice."""
        if explicit and name.lower() in self._explicit:
            assert item.alias is not None
            raise self.source.error(
                f"two result columns are called {name}", item.alias.span, "Give one of them another name."
            )
        if explicit:
            self._explicit.add(name.lower())
        self._items.append((name, bound, explicit))

    def holds(self, expr: Expr) -> bool:
        """Whether it is selected, under whatever name; what is selected along and not shown has a name of ours."""
        return any(known == expr and not name.startswith(("(", "$")) for name, known, _ in self._items)

    def put_first(self, items: Sequence[tuple[str, Expr]]) -> None:
        """Columns that come before all others, under just these names."""
        self._items[:0] = [(name, column, True) for name, column in items]
        self._explicit |= {name.lower() for name, _ in items}

    def made(self) -> tuple[tuple[str, Expr], ...]:
        """The columns with unique names: those the user gave stay, others are numbered."""
        taken = self._explicit
        used: set[str] = set()
        numbers: dict[str, int] = {}
        made = []
        for name, expr, explicit in self._items:
            final, number = name, numbers.get(name, 2)
            while final.lower() in used or (not explicit and final.lower() in taken):
                final, number = f"{name}_{number}", number + 1
            numbers[name] = number
            used.add(final.lower())
            made.append((final, expr))
        return tuple(made)


def starred(scope: Scope, star: Star, source: SourceText) -> list[tuple[str, Column]]:
    """The columns `*` stands for, without those of its EXCEPT.

    Raises:
        QueryError: one of these isn't among them, or nothing is left.
    """
    shown = scope.star(None if star.qualifier is None else star.qualifier.text)
    names = {name.lower() for name, _ in shown}
    for name in star.without:
        if name.text.lower() not in names:
            hint = did_you_mean(name.text, [n for n, _ in shown], "columns")
            raise source.error(f"* has no column called {name.text}", name.span, hint)
    left_out = {name.text.lower() for name in star.without}
    kept = [(name, column) for name, column in shown if name.lower() not in left_out]
    if star.without and not kept:
        raise source.error("no column is left of *", star.span, "Name fewer columns in EXCEPT.")
    return kept


def schema_of(items: tuple[tuple[str, Expr], ...]) -> Schema:
    """The columns a select list makes."""
    return Schema(tuple(Field(name, expr.dtype) for name, expr in items))
