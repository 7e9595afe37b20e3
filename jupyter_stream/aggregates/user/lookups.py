"""Rows of a body's tables by the value of a column, where a condition asks for one: of `WHERE h = item % 13` no other is read.

An index is a dict from values to places in the table, oldest first. It is made when first asked for, takes in what INSERT adds,
and is forgotten where places or values change: a DELETE that finds rows, an UPDATE of its column. NULL is in none, since it
equals nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final, TypeAlias

from jupyter_stream.aggregates.user.body import Body, Read
from jupyter_stream.functions.expression import Call, Column, Expr, Literal, columns
from jupyter_stream.functions.python_lines import COMPARISONS, PythonLines
from jupyter_stream.functions.types import RANGES, STRING, is_integral

Index: TypeAlias = dict[object, list[int]]
Indexes: TypeAlias = dict[str, Index]
"""By name; what isn't there has to be made."""

_LOGIC: Final = frozenset((*COMPARISONS, "and", "or", "not", "is_null", "is_not_null"))
_MOST_PARTS: Final = 16
"""Parts of a condition that are looked at: whether they can fail is asked for each."""


def places(rows: Sequence[tuple[object, ...]], column: int) -> Index:
    """Where rows with each value of a column are."""
    found: Index = {}
    added(found, rows, len(rows), column)
    return found


def added(index: Index, rows: Sequence[tuple[object, ...]], count: int, column: int) -> None:
    """Take the last rows of a table into an index."""
    first = len(rows) - count
    for place, row in enumerate(rows[first:], first):
        if row[column] is not None:
            index.setdefault(row[column], []).append(place)


class RowLookups:
    """Writes the lines about indexes in a loop over rows.

    Args:
        body: whose tables they are of.
        source: where the lines go.
        known: tables and columns of which there are indexes.

    Attributes:
        asked: those that conditions ask for.
    """

    def __init__(self, body: Body, source: PythonLines, known: Collection[tuple[int, int]]) -> None:
        self._source = source
        self._tables = range(len(body.tables))
        self._known = sorted(known)
        self.asked: set[tuple[int, int]] = set()

    def begin(self) -> None:
        """Tables and indexes to variables."""
        for table in self._tables:
            self._source.line(f"t{table} = tables[{table}]")
        for table, column in self._known:
            name = _name(table, column)
            self._source.line(f"{name} = indexes.pop({name!r}, None)")  # a loop that is broken off leaves none behind

    def end(self) -> None:
        """Variables to indexes."""
        for table, column in self._known:
            name = _name(table, column)
            with self._source.block(f"if {name} is not None:"):
                self._source.line(f"indexes[{name!r}] = {name}")

    def sought(self, read: Read, parts: Sequence[Expr], own: set[str]) -> tuple[int, Expr, list[Expr]] | None:
        """The column rows are found by, the value it has to have, and the other parts of the condition; None for none.

        Rows that are not looked at must not be missed: no part may fail, or ask for a SELECT that may.

        Args:
            read: the rows.
            parts: the condition.
            own: columns whose values aren't known before.
        """
        if type(read) is not Read or read.table not in self._tables or len(parts) > _MOST_PARTS:
            return None
        if not all(map(_is_certain, parts)):
            return None
        for number, part in enumerate(parts):
            if isinstance(part, Call) and part.function == "=":
                for side, value in (part.args, part.args[::-1]):
                    column = _column(side, read)
                    if column is not None and not own & columns(value) and _same_kind(side, value):
                        return column, value, [*parts[:number], *parts[number + 1 :]]
        return None

    def found(self, table: int, column: int, value: str) -> str:
        """The places of rows with a value."""
        self.asked.add((table, column))
        name = _name(table, column)
        with self._source.block(f"if {name} is None:"):
            self._source.line(f"{name} = {self._source.constant(places)}(t{table}, {column})")
        return f"{name}.get({value}, ())"

    def insert(self, table: int, count: str) -> None:
        """A table has so many more rows."""
        for of, column in self._known:
            if of == table:
                name = _name(of, column)
                with self._source.block(f"if {name} is not None:"):
                    add = self._source.constant(added)
                    self._source.line(f"{add}({name}, t{table}, {count}, {column})")

    def forget(self, table: int, changed: Collection[int] | None = None) -> None:
        """Rows of a table have other places, or other values in some columns."""
        for of, column in self._known:
            if of == table and (changed is None or column in changed):
                self._source.line(f"{_name(of, column)} = None")


def _name(table: int, column: int) -> str:
    return f"by{table}_{column}"


def _column(expr: Expr, read: Read) -> int | None:
    """Which column of the rows it is, as it is or as a wider whole number."""
    if isinstance(expr, Call) and _widens(expr):
        expr = expr.args[0]
    if not isinstance(expr, Column) or not expr.name.startswith("#"):
        return None
    place = int(expr.name[1:]) - read.place
    return place if 0 <= place < read.width else None


def _same_kind(one: Expr, other: Expr) -> bool:
    """Whether their values are equal where Python says so."""
    return (is_integral(one.dtype) and is_integral(other.dtype)) or (one.dtype == STRING and other.dtype == STRING)


def _widens(call: Call) -> bool:
    if call.function != "cast" or not (is_integral(call.dtype) and is_integral(call.args[0].dtype)):
        return False
    (low, high), (least, most) = RANGES[call.dtype], RANGES[call.args[0].dtype]
    return low <= least and most <= high


def _is_certain(expr: Expr) -> bool:
    """Whether it has a value for every row, without a SELECT inside it. A stack: conditions are a thousand levels deep."""
    waiting = [expr]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Column):
            if part.name.startswith("@"):
                return False
        elif isinstance(part, Call):
            if part.function not in _LOGIC and not _widens(part) and not _divides(part):
                return False
            waiting += part.args
        elif not isinstance(part, Literal):
            return False
    return True


def _divides(call: Call) -> bool:
    """`div` or `%` of whole numbers by a constant that is greater than 0."""
    if call.function not in ("%", "div") or not all(is_integral(a.dtype) for a in call.args):
        return False
    below = call.args[1]
    return (
        isinstance(below, Literal) and type(below.value) is int and below.value > 0 and call.dtype == call.args[0].dtype
    )


__all__ = ["Index", "Indexes", "RowLookups", "added", "places"]
