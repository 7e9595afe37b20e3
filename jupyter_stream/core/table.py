"""The rows of a table: what it holds now, and who is told when that changes. Any thread."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

import polars as pl

from jupyter_stream.core.schema import Schema


class TableRows:
    """A bag of rows that statements change as a whole.

    Args:
        schema: its columns.
        frame: what it holds at first.
    """

    def __init__(self, schema: Schema, frame: pl.DataFrame) -> None:
        self.schema = schema
        self._frame = frame
        self._lock = threading.Lock()

    @property
    def frame(self) -> pl.DataFrame:
        """What it holds now."""
        with self._lock:
            return self._frame

    def follows(self, table: TableRows) -> bool:
        """Whether it changes when that table does."""
        return self is table

    def change(self, make: Callable[[pl.DataFrame], pl.DataFrame]) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Replace what it holds by what `make` makes of it; returns both."""
        with self._lock:
            before = self._frame
            self._frame = make(before)
            return before, self._frame


class SelectedRows(TableRows):
    """What a SELECT makes of tables, and nobody writes to. It holds nothing: who reads it works it out (`operators.selected`).

    Args:
        schema: its columns.
        plan: the bound plan, over tables only.
        of: these tables.
    """

    def __init__(self, schema: Schema, plan: object, of: Sequence[TableRows]) -> None:
        super().__init__(schema, schema.empty())
        self.plan = plan
        self.of = tuple(of)

    def follows(self, table: TableRows) -> bool:
        """Whether it is made of that table."""
        return any(part.follows(table) for part in self.of)


class ViewRows(TableRows):
    """The rows of a view: what a running query keeps up to date, and nobody writes to.

    Args:
        schema: its columns.
        read: gives what it holds now.
        plan: the bound plan that defines it, which streams are joined with.
    """

    def __init__(self, schema: Schema, read: Callable[[], pl.DataFrame], plan: object) -> None:
        super().__init__(schema, schema.empty())
        self.plan = plan
        self._read = read

    @property
    def frame(self) -> pl.DataFrame:
        """What it holds now."""
        return self._read()
