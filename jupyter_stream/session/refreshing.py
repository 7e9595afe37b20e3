"""Tables whose source is read again and again: a thread for each, which tells what has changed. Not for what a change means."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import polars as pl

from jupyter_stream.core import threads
from jupyter_stream.core.table import TableRows
from jupyter_stream.errors import SourceError
from jupyter_stream.plan.catalog import StreamDef
from jupyter_stream.session import tables

_LOOK: Final = 1.0
"""Seconds between looks whether a table is still there, where it is read less often."""


class Refreshing:
    """Reads them, until nobody has use for them.

    Args:
        wanted: whether a table is still declared, or looked into.
        changed: told of a table's new rows.
    """

    def __init__(self, wanted: Callable[[TableRows], bool], changed: Callable[[TableRows, pl.DataFrame], None]) -> None:
        self._wanted = wanted
        self._changed = changed
        self._closed = threads.Event()

    def begin(self, entry: StreamDef, source: object) -> None:
        """Read a table's source again whenever its time has come."""
        table, every = entry.table, entry.refresh
        assert table is not None and every is not None

        def run() -> None:
            while self._waited(table, every / 1e6):
                self._read(entry, table, source)

        def died(error: BaseException | None) -> None:
            table.trouble = f"{entry.name}: its source is not read any more ({error!r}). Declare it again."

        threads.begin(f"jupyter-stream refreshes {entry.name}", run, died)

    def close(self) -> None:
        """Read none any more."""
        self._closed.set()

    def _waited(self, table: TableRows, seconds: float) -> bool:
        """Let that time pass. Returns whether the table is still wanted then."""
        while seconds > 0:
            if self._closed.wait(min(seconds, _LOOK)) or not self._wanted(table):
                return False
            seconds -= _LOOK
        return True

    def _read(self, entry: StreamDef, table: TableRows, source: object) -> None:
        try:
            rows, _ = tables.read(table.schema, source, self._closed)  # type: ignore[arg-type]  # what the table was declared with
        except SourceError as error:
            table.trouble = f"{entry.name}: {error.message} Its rows stay as they were; they are read again later."
            return
        table.trouble = None
        if not self._closed.is_set() and not rows.equals(table.frame):
            self._changed(table, rows)


__all__ = ["Refreshing"]
