"""`duckdb://file.duckdb?table=t`: a table of a DuckDB database, or the answer of a SELECT. The file is only read."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import Any, Final

import polars as pl

from jupyter_stream.core.schema import Schema
from jupyter_stream.errors import SourceError
from jupyter_stream.sources.broker import missing
from jupyter_stream.sources.database import OPTIONS, DatabaseSource
from jupyter_stream.sources.paths import absolute
from jupyter_stream.sources.protocol import BATCH_ROWS, Context, Source, SourceConnector

_CLOSING: Final = "Unique file handle conflict"


class DuckdbSource(DatabaseSource):
    """A table of a DuckDB database."""

    example = "duckdb://shop.duckdb?table=products"

    def connect(self, context: Context) -> None:
        """Find the file."""
        try:
            import duckdb
        except ImportError:
            raise missing("duckdb", "duckdb", "duckdb") from None
        self._duckdb: Any = duckdb
        if not self.path.strip("/"):
            raise SourceError("duckdb:// names no file.", hint=f"Write '{self.example}'.")
        self._at = absolute(self.path)
        if not self._at.is_file():
            raise SourceError(f"There is no file {self._at}.", hint="A relative path starts where the kernel runs.")

    def columns(self) -> Schema:
        """The columns with the types that DuckDB gives Arrow."""
        (frame,) = self._executed(f"SELECT * FROM {self.selected} LIMIT 0") or [pl.DataFrame()]
        return Schema.from_frame(frame)

    def rows(self, names: Iterable[str]) -> Iterator[pl.DataFrame]:
        """All rows. They are taken before the first is given: while a file is open, nobody else can write to it."""
        yield from self._executed(self.listed(names))

    def _executed(self, select: str) -> list[pl.DataFrame]:
        try:
            connection = self._connected()
            try:
                table = connection.sql(select).to_arrow_table(BATCH_ROWS)
            finally:
                connection.close()
        except self._duckdb.Error as error:
            raise SourceError(f"{self._at} can't be read: {str(error).partition(chr(10))[0]}.") from None
        found = pl.from_arrow(table)
        assert isinstance(found, pl.DataFrame)
        return list(found.iter_slices(BATCH_ROWS)) or [found]

    def _connected(self) -> Any:
        """A connection. Where another one of this process is just closing the file, DuckDB refuses for some milliseconds."""
        pauses = iter((0.01, 0.02, 0.05, 0.1, 0.2, 0.5))
        while True:
            try:
                try:
                    return self._duckdb.connect(str(self._at), read_only=True)
                except self._duckdb.ConnectionException:  # this process has it open to write, and may share that
                    return self._duckdb.connect(str(self._at))
            except self._duckdb.Error as error:
                pause = next(pauses, None) if _CLOSING in str(error) else None
                if pause is None:
                    raise
                time.sleep(pause)  # nobody tells when it is closed


def _open(context: Context) -> Source:
    return DuckdbSource(context)


DUCKDB: Final = SourceConnector(scheme="duckdb", example=DuckdbSource.example, options=OPTIONS, open=_open)
