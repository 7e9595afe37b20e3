"""`sqlite://`: a table of an SQLite database. A commit is a transaction, and the file is free for others between commits."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Final, TypeAlias

import polars as pl

from jupyter_stream.errors import SinkError
from jupyter_stream.sinks.database import COMMITS, by_halves, check_columns, listed, quoted, table_of
from jupyter_stream.sinks.flat import flat
from jupyter_stream.sinks.protocol import Sink, SinkConnector, SinkUnreachable, Target

_Work: TypeAlias = Callable[[sqlite3.Connection], "pl.DataFrame | None"]

_PATIENCE: Final = 1.0
"""Seconds to wait for a lock; the writer tries again later."""
_REFUSALS: Final = (sqlite3.IntegrityError, sqlite3.DataError, OverflowError)
"""What is raised of rows that the table doesn't take."""


class SqliteSink:
    """A table, made when there is none. Raises `SinkError` when it is made where no table is named."""

    def __init__(self, target: Target) -> None:
        if not target.path.strip("/"):
            raise SinkError("sqlite:// names no file.", hint="Write TO 'sqlite://answers.db'.")
        self._at = Path(target.path).expanduser().absolute()
        self._table = table_of(target, "sqlite://answers.db")
        self._schema = target.schema
        self._key = target.key
        self._writer = target.writer
        self._connection: sqlite3.Connection | None = None

    def check(self) -> None:
        """Look at the table's columns."""
        if not self._at.exists():
            return
        try:
            with closing(sqlite3.connect(self._at, timeout=_PATIENCE)) as connection:
                check_columns(self._table, _columns(connection, self._table), self._schema)
        except sqlite3.OperationalError as error:
            raise _away(self._at, error) from None
        except sqlite3.DatabaseError as error:
            raise SinkError(f"{self._at} is no SQLite database: {error}.", hint="Name another file.") from None

    def append(self, rows: pl.DataFrame) -> pl.DataFrame | None:
        """Insert rows."""
        return self._do(lambda connection: self._insert(connection, rows))

    def upsert(self, rows: pl.DataFrame, gone: pl.DataFrame) -> pl.DataFrame | None:
        """Delete the rows of all keys, and insert the new ones."""
        where = " AND ".join(f"{quoted(c)} IS ?" for c in self._key)
        keys = pl.concat([rows.select(self._key), gone.select(self._key)])

        def write(connection: sqlite3.Connection) -> pl.DataFrame | None:
            connection.executemany(f"DELETE FROM {quoted(self._table)} WHERE {where}", held(keys).rows())
            return self._insert(connection, rows)

        return self._do(write)

    def replace(self, rows: pl.DataFrame) -> pl.DataFrame | None:
        """Delete all rows, and insert the new ones."""

        def write(connection: sqlite3.Connection) -> pl.DataFrame | None:
            connection.execute(f"DELETE FROM {quoted(self._table)}")
            return self._insert(connection, rows)

        return self._do(write)

    def _insert(self, connection: sqlite3.Connection, rows: pl.DataFrame) -> pl.DataFrame | None:
        marks = ", ".join("?" * len(rows.columns))
        insert = f"INSERT INTO {quoted(self._table)} ({listed(rows.columns)}) VALUES ({marks})"

        def write(some: pl.DataFrame) -> None:
            connection.execute("SAVEPOINT some_rows")
            try:
                connection.executemany(insert, held(some).rows())
            except BaseException:
                connection.execute("ROLLBACK TO some_rows")
                raise
            finally:
                connection.execute("RELEASE some_rows")

        return by_halves(rows, write, _REFUSALS)

    def _do(self, work: _Work) -> pl.DataFrame | None:
        try:
            return work(self._begun())
        except sqlite3.OperationalError as error:
            raise _away(self._at, error) from None

    def _begun(self) -> sqlite3.Connection:
        """The transaction under way, begun where there is none; with the table."""
        if self._connection is None:
            connection = sqlite3.connect(self._at, timeout=_PATIENCE, isolation_level=None)
            self._connection = connection
            connection.execute("BEGIN IMMEDIATE")
            if not _columns(connection, self._table):
                declared = ", ".join(f"{quoted(f.name)} {_type(f.dtype)}" for f in self._schema)
                connection.execute(f"CREATE TABLE {quoted(self._table)} ({declared})")
                if self._key:
                    index = quoted(f"{self._table} by {', '.join(self._key)}")
                    connection.execute(f"CREATE INDEX {index} ON {quoted(self._table)} ({listed(self._key)})")
        return self._connection

    def commit(self, number: int, position: str) -> None:
        """End the transaction, the position in it."""
        try:
            connection = self._begun()
            if position:
                connection.execute(
                    f"CREATE TABLE IF NOT EXISTS {COMMITS} (writer TEXT PRIMARY KEY, number INTEGER, position TEXT)"
                )
                connection.execute(f"REPLACE INTO {COMMITS} VALUES (?, ?, ?)", (self._writer, number, position))
            connection.execute("COMMIT")
        except sqlite3.OperationalError as error:
            raise _away(self._at, error) from None
        self.close()

    def committed(self) -> tuple[int, str] | None:
        """What the table of positions says."""
        if not self._at.exists():
            return None
        try:
            with closing(sqlite3.connect(self._at, timeout=_PATIENCE)) as connection:
                if not _columns(connection, COMMITS):
                    return None
                select = f"SELECT number, position FROM {COMMITS} WHERE writer = ?"
                found: tuple[int, str] | None = connection.execute(select, (self._writer,)).fetchone()
                return found
        except sqlite3.OperationalError as error:
            raise _away(self._at, error) from None

    def abort(self) -> None:
        """Give the transaction up."""
        self.close()

    def close(self) -> None:
        """Let go of the file; what isn't committed is gone."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


def _columns(connection: sqlite3.Connection, table: str) -> list[str]:
    return [row[1] for row in connection.execute(f"PRAGMA table_info({quoted(table)})")]


def held(frame: pl.DataFrame) -> pl.DataFrame:
    """Rows as SQLite holds them: intervals in microseconds, DECIMALs and times as texts, lists and structs as JSON."""
    kept = {n: frame.get_column(n) for n, t in frame.schema.items() if isinstance(t, pl.Binary)}
    whole = {
        n: frame.get_column(n).dt.total_microseconds() for n, t in frame.schema.items() if isinstance(t, pl.Duration)
    }
    texts = {n: frame.get_column(n).cast(pl.String) for n, t in frame.schema.items() if isinstance(t, pl.Decimal)}
    rest = flat(frame.select(n for n in frame.columns if n not in {*kept, *whole, *texts}))
    found = {**kept, **whole, **texts, **{c.name: c for c in rest.get_columns()}}
    return pl.DataFrame([found[n] for n in frame.columns])


def _type(dtype: pl.DataType) -> str:
    if dtype.is_integer() or isinstance(dtype, pl.Boolean | pl.Duration):
        return "INTEGER"
    if dtype.is_float():
        return "REAL"
    return "BLOB" if isinstance(dtype, pl.Binary) else "TEXT"


def _away(at: Path, error: Exception) -> SinkUnreachable:
    return SinkUnreachable(f"{at} can't be written to: {error}")


def _open(target: Target) -> Sink:
    return SqliteSink(target)


SQLITE: Final = SinkConnector(
    scheme="sqlite",
    example="sqlite://answers.db?table=hot",
    options={"table": "the table, made where there is none; its name is the sink's unless it says otherwise"},
    modes=("upsert", "append", "changes", "replace"),
    promise="exactly once",
    how="a commit is a transaction, and the position is kept in it",
    open=_open,
)
"""The connector of `sqlite://`."""
