"""The rows of a table: what it holds now, and who is told when that changes. Any thread."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Final

import polars as pl

from jupyter_stream.core.schema import Schema

ONE_ROW: Final = "(one row)"
"""What a SELECT without FROM reads: a table of one row, whose name nobody can write."""


class TableRows:
    """A bag of rows that statements change as a whole.

    Args:
        schema: its columns.
        frame: what it holds at first.

    Attributes:
        trouble: what keeps it from being read anew, a sentence; None while all is well.
        tell: called when it was changed by who can't tell the queries that look into it.
    """

    def __init__(self, schema: Schema, frame: pl.DataFrame) -> None:
        self.schema = schema
        self.trouble: str | None = None
        self.tell: Callable[[TableRows], None] | None = None
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

    def changed(self) -> None:
        """Have those told who look into it."""
        if self.tell is not None:
            self.tell(self)

    def hold(self, frame: pl.DataFrame) -> None:
        """Replace what it holds."""
        with self._lock:
            self._frame = frame

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


class RecursiveRows(SelectedRows):
    """What WITH RECURSIVE makes of tables: of the rows of each round the next ones, until there are no more.

    Args:
        name: as it is called.
        schema: its columns.
        plan: the bound plan of the first round, over tables only.
        step: that of any other, which reads `work`.
        work: the rows of the round before.
        distinct: whether a row that was there already is left out.
        of: the tables it is made of, without `work`.
        refused: the error with a place, for a sentence that says what is wrong.
    """

    def __init__(
        self,
        name: str,
        schema: Schema,
        plan: object,
        step: object,
        work: TableRows,
        distinct: bool,
        of: Sequence[TableRows],
        refused: Callable[[str, str], Exception],
    ) -> None:
        super().__init__(schema, plan, of)
        self.name = name
        self.step = step
        self.work = work
        self.distinct = distinct
        self.refused = refused


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
