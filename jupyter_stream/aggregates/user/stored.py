"""Tables of the session in a body: read as they are when a row is taken, written in the order rows are taken in.

Its rows look like a list of tuples, as those of a body's own tables are; whoever looks into the table is told of a change.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass
from typing import Any

import polars as pl

from jupyter_stream.aggregates.user.body import Body
from jupyter_stream.aggregates.user.protocol import Program
from jupyter_stream.core.table import TableRows


def tables_of(program: Program) -> dict[str, bool]:
    """Tables of the session that an aggregate and those inside it look into, by name: whether it writes them."""
    found: dict[str, bool] = {}
    for body in _bodies(program):
        for name in body.stored_names:
            found[name] = found.get(name, False) or name in body.writes
    return found


def _bodies(part: object) -> Iterator[Body]:
    """The body of an aggregate, and those of the aggregates that are called in it."""
    if isinstance(part, Body):
        yield part
    if isinstance(part, tuple):
        for inner in part:
            yield from _bodies(inner)
    elif is_dataclass(part) and type(part).__module__ == Body.__module__:
        for field in fields(part):
            yield from _bodies(getattr(part, field.name))
    else:  # an aggregate, or one of rows that differ
        yield from _bodies(getattr(part, "body", None) or getattr(part, "program", ()))


class StoredRows:
    """The rows of one table.

    Args:
        table: the table.
    """

    def __init__(self, table: TableRows) -> None:
        self._table = table
        self._frame: pl.DataFrame | None = None
        self._rows: list[tuple[Any, ...]] = []

    def _now(self) -> list[tuple[Any, ...]]:
        frame = self._table.frame
        if frame is not self._frame:
            self._frame, self._rows = frame, frame.rows()
        return self._rows

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return iter(self._now())

    def __len__(self) -> int:
        return len(self._now())

    def __setitem__(self, whole: slice, rows: Iterable[tuple[Any, ...]]) -> None:
        kept = list(rows)
        if kept != self._now():
            self._write(kept, lambda before: self._made(kept))

    def extend(self, rows: Iterable[tuple[Any, ...]]) -> None:
        """Rows more."""
        new = list(rows)
        if new:
            self._write([*self._now(), *new], lambda before: pl.concat([before, self._made(new)]))

    def clear(self) -> None:
        """No row any more."""
        self[:] = []

    def _made(self, rows: list[tuple[Any, ...]]) -> pl.DataFrame:
        return pl.DataFrame(rows, schema={f.name: f.dtype for f in self._table.schema}, orient="row")

    def _write(self, rows: list[tuple[Any, ...]], make: Any) -> None:
        _, self._frame = self._table.change(make)
        self._rows = rows
        self._table.changed()


__all__ = ["StoredRows", "tables_of"]
