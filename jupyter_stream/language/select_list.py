"""A select list while it is bound: names that are unique, and the schema they make. Not for expressions."""

from __future__ import annotations

from jupyter_stream.core.schema import Field, Schema
from jupyter_stream.functions import Column, Expr
from jupyter_stream.language.nodes import ColumnRef, FieldOf
from jupyter_stream.language.query_syntax import SelectItem
from jupyter_stream.language.source_text import SourceText


class Items:
    """A select list while it is bound: unique names, `$` left to the system."""

    def __init__(self, source: SourceText) -> None:
        self.source = source
        self._items: list[tuple[str, Expr, bool]] = []

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
        if explicit and any(n.lower() == name.lower() and e for n, _, e in self._items):
            assert item.alias is not None
            raise self.source.error(
                f"two result columns are called {name}", item.alias.span, "Give one of them another name."
            )
        self._items.append((name, bound, explicit))

    def put_first(self, items: list[tuple[str, Column]]) -> None:
        """Columns that come before all others, under just these names."""
        self._items[:0] = [(name, column, True) for name, column in items]

    def made(self) -> tuple[tuple[str, Expr], ...]:
        """The columns with unique names: those the user gave stay, others are numbered."""
        taken = {name.lower() for name, _, explicit in self._items if explicit}
        used: set[str] = set()
        made = []
        for name, expr, explicit in self._items:
            final, number = name, 2
            while final.lower() in used or (not explicit and final.lower() in taken):
                final, number = f"{name}_{number}", number + 1
            used.add(final.lower())
            made.append((final, expr))
        return tuple(made)


def schema_of(items: tuple[tuple[str, Expr], ...]) -> Schema:
    """The columns a select list makes."""
    return Schema(tuple(Field(name, expr.dtype) for name, expr in items))
