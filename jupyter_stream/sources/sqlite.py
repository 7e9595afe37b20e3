"""`sqlite://file.db?table=t`: a table of an SQLite database, or the answer of a SELECT. The file is only read."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from typing import Any, Final
from urllib.parse import quote

import polars as pl
import pyarrow as pa

from jupyter_stream.core.schema import TIMESTAMP, Schema
from jupyter_stream.errors import SourceError
from jupyter_stream.sources.casting import castable
from jupyter_stream.sources.database import OPTIONS, DatabaseSource, as_read, quoted
from jupyter_stream.sources.paths import absolute
from jupyter_stream.sources.protocol import BATCH_ROWS, Context, Source, SourceConnector

_PATIENCE: Final = 5.0
"""Seconds to wait for one who writes."""
_LOOKED_AT: Final = 1_000
"""Rows that tell the types of columns declared without one."""
_DECLARED: Final[tuple[tuple[str, pl.DataType], ...]] = (
    ("BOOL", pl.Boolean()), ("TIMESTAMP", TIMESTAMP), ("DATETIME", TIMESTAMP), ("DATE", pl.Date()), ("INT", pl.Int64()),
    ("CHAR", pl.String()), ("CLOB", pl.String()), ("TEXT", pl.String()), ("BLOB", pl.Binary()), ("REAL", pl.Float64()),
    ("FLOA", pl.Float64()), ("DOUB", pl.Float64()), ("NUMERIC", pl.Float64()), ("DECIMAL", pl.Float64()),
)  # fmt: skip
"""What words in a column's declared type mean, the first that is there; after SQLite's own rules of affinity."""


class SqliteSource(DatabaseSource):
    """A table of an SQLite database."""

    example = "sqlite://shop.db?table=products"

    def connect(self, context: Context) -> None:
        """Find the file."""
        if not self.path.strip("/"):
            raise SourceError("sqlite:// names no file.", hint=f"Write '{self.example}'.")
        self._at = absolute(self.path)
        if not self._at.is_file():
            raise SourceError(f"There is no file {self._at}.", hint="A relative path starts where the kernel runs.")

    def columns(self) -> Schema:
        """Columns as declared; those without a type have that of their values, and so have times that are numbers."""
        with closing(self._connected()) as connection:
            cursor = self._executed(connection, f"SELECT * FROM {self.selected} LIMIT {_LOOKED_AT}")
            names = [column[0] for column in cursor.description]
            first = _frame(names, cursor.fetchall())
            declared = {} if self.select else self._declared(connection)
        types = {name: declared.get(name) or _by_values(first.get_column(name)) for name in names}
        for name, dtype in types.items():
            if not castable(as_read(first.schema[name]), dtype, self.tick):
                types[name] = first.schema[name]
        return Schema.of(types.items())

    def rows(self, names: Iterable[str]) -> Iterator[pl.DataFrame]:
        """Rows, as one statement gives them."""
        wanted = list(names)
        with closing(self._connected()) as connection:
            cursor = self._executed(connection, self.listed(wanted))
            while some := cursor.fetchmany(BATCH_ROWS):
                yield _frame(wanted, some)

    def _connected(self) -> sqlite3.Connection:
        try:
            connection = sqlite3.connect(f"file:{quote(str(self._at))}?mode=ro", uri=True, timeout=_PATIENCE)
        except sqlite3.Error as error:
            raise SourceError(f"{self._at} can't be read: {error}.") from None
        connection.text_factory = bytes  # what is no UTF-8 is for `errors(name)`, and no reason to end
        return connection

    def _executed(self, connection: sqlite3.Connection, select: str) -> sqlite3.Cursor:
        try:
            return connection.execute(select)
        except (sqlite3.Error, sqlite3.Warning) as error:
            there = [name.decode() for (name,) in _tables(connection)] if "no such table" in str(error) else []
            hint = f"There are {', '.join(there)}." if there else None
            raise SourceError(f"{self._at} says: {error}.", hint=hint) from None

    def _declared(self, connection: sqlite3.Connection) -> dict[str, pl.DataType]:
        """The types of columns that are declared with one."""
        found = {}
        for _, name, declared, *_ in connection.execute(f"PRAGMA table_info({quoted(self.table)})"):
            dtype = next((t for word, t in _DECLARED if word in declared.decode().upper()), None)
            if dtype is not None:
                found[name.decode()] = dtype
        return found


def _tables(connection: sqlite3.Connection) -> list[Any]:
    try:
        return connection.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')").fetchall()
    except sqlite3.Error:
        return []


def _frame(names: list[str], rows: list[tuple[Any, ...]]) -> pl.DataFrame:
    columns = zip(*rows, strict=True) if rows else ((),) * len(names)
    return pl.DataFrame([_column(name, list(values)) for name, values in zip(names, columns, strict=True)])


def _column(name: str, values: list[Any]) -> pl.Series:
    """Values of one type, or of several as text: SQLite's columns may hold any."""
    try:
        return pl.Series(name, pa.array(values))
    except pa.ArrowException:
        texts = [v if v is None or isinstance(v, bytes) else str(v).encode() for v in values]
        return pl.Series(name, texts, dtype=pl.Binary)


def _by_values(values: pl.Series) -> pl.DataType:
    return pl.String() if values.dtype in (pl.Binary, pl.Null) else values.dtype


def _open(context: Context) -> Source:
    return SqliteSource(context)


SQLITE: Final = SourceConnector(scheme="sqlite", example=SqliteSource.example, options=OPTIONS, open=_open)
