"""Tables of the session in a body: read as they are when a row is taken, written in the order rows are taken in.

Its rows look like a list of tuples, as those of a body's own tables are; whoever looks into the table is told of a change.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import polars as pl

from jupyter_stream.core.table import TableRows


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


__all__ = ["StoredRows"]
