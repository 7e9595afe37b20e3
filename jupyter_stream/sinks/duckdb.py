"""`duckdb://`: a table of a DuckDB database. A commit is a transaction, and the file is free for others between commits."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import polars as pl

from jupyter_stream.errors import SinkError
from jupyter_stream.sinks.database import COMMITS, by_halves, check_columns, listed, quoted, table_of
from jupyter_stream.sinks.protocol import Sink, SinkConnector, SinkUnreachable, Target

_ROWS: Final = "jupyter_stream_rows"
"""What a frame is called while SQL reads it."""


class DuckdbSink:
    """A table, made when there is none. Raises `SinkError` when it is made where no table is named, or without `duckdb`."""

    def __init__(self, target: Target) -> None:
        try:
            import duckdb
        except ImportError:
            raise SinkError(
                "duckdb:// needs the duckdb package.", hint="Install it: pip install 'jupyter-stream[duckdb]'."
            ) from None
        if not target.path.strip("/"):
            raise SinkError("duckdb:// names no file.", hint="Write TO 'duckdb://answers.duckdb'.")
        self._duckdb: Any = duckdb
        self._at = Path(target.path).expanduser().absolute()
        self._table = table_of(target, "duckdb://answers.duckdb")
        self._target = target
        self._connection: Any = None

    def check(self) -> None:
        """Look at the table's columns."""
        if self._at.exists():
            connection = self._connected()
            try:
                check_columns(self._table, self._columns(connection), self._target.schema)
            finally:
                connection.close()

    def _connected(self) -> Any:
        try:
            return self._duckdb.connect(str(self._at))
        except self._duckdb.Error as error:
            first = str(error).partition("\n")[0]
            if "not a valid DuckDB" in first:
                raise SinkError(f"{self._at} is no DuckDB database.", hint="Name another file.") from None
            raise SinkUnreachable(f"{self._at} can't be written to: {first}") from None

    def _columns(self, connection: Any) -> list[str]:
        found = connection.execute(
            "SELECT column_name FROM duckdb_columns() WHERE table_name = ? AND NOT internal ORDER BY column_index",
            [self._table],
        ).fetchall()
        return [name for (name,) in found]

    def append(self, rows: pl.DataFrame) -> pl.DataFrame | None:
        """Insert rows."""
        return self._do(rows, lambda connection: None)

    def upsert(self, rows: pl.DataFrame, gone: pl.DataFrame) -> pl.DataFrame | None:
        """Delete the rows of all keys, and insert the new ones."""
        key = self._target.key
        same = " AND ".join(f"t.{quoted(c)} IS NOT DISTINCT FROM k.{quoted(c)}" for c in key)
        keys = pl.concat([rows.select(key), gone.select(key)])

        def before(connection: Any) -> None:
            connection.register(_ROWS, _held(keys))
            connection.execute(f"DELETE FROM {quoted(self._table)} t USING {_ROWS} k WHERE {same}")

        return self._do(rows, before)

    def replace(self, rows: pl.DataFrame) -> pl.DataFrame | None:
        """Delete all rows, and insert the new ones."""
        return self._do(rows, lambda connection: connection.execute(f"DELETE FROM {quoted(self._table)}"))

    def _do(self, rows: pl.DataFrame, before: Any) -> pl.DataFrame | None:
        """A refused row ends its transaction: which rows are refused is found out in transactions of their own first."""
        refusals = (
            self._duckdb.ConstraintException,
            self._duckdb.ConversionException,
            self._duckdb.OutOfRangeException,
        )
        good: list[pl.DataFrame] = []

        def attempt(some: pl.DataFrame) -> None:
            self.close()
            self._begun()
            before(self._connection)
            self._insert(pl.concat([*good, some]))
            good.append(some)

        self._begun()
        with self._trying():
            try:
                before(self._connection)
                self._insert(rows)
                return None
            except refusals:
                refused = by_halves(rows, attempt, refusals)
            self.close()
            self._begun()
            before(self._connection)
            self._insert(pl.concat([rows.clear(), *good]))
            return refused

    @contextmanager
    def _trying(self) -> Iterator[None]:
        """What fails for want of a disk, of memory or of a lock is tried again."""
        duckdb = self._duckdb
        try:
            yield
        except (duckdb.IOException, duckdb.OutOfMemoryException, duckdb.TransactionException) as error:
            raise SinkUnreachable(f"{self._at} can't be written to: {error}") from None

    def _insert(self, rows: pl.DataFrame) -> None:
        names = listed(rows.columns)
        self._connection.register(_ROWS, _held(rows))
        self._connection.execute(f"INSERT INTO {quoted(self._table)} ({names}) SELECT {names} FROM {_ROWS}")

    def _begun(self) -> None:
        """See that a transaction is under way, and that the table is there."""
        if self._connection is not None:
            return
        self._connection = self._connected()
        with self._trying():
            self._connection.execute("BEGIN")
            if not self._columns(self._connection):
                self._connection.register(_ROWS, _held(self._target.schema.empty()))
                self._connection.execute(f"CREATE TABLE {quoted(self._table)} AS SELECT * FROM {_ROWS}")

    def commit(self, number: int, position: str) -> None:
        """End the transaction, the position in it."""
        self._begun()
        with self._trying():
            if position:
                self._connection.execute(
                    f"CREATE TABLE IF NOT EXISTS {COMMITS} (writer VARCHAR PRIMARY KEY, number BIGINT, position VARCHAR)"
                )
                said = [self._target.writer, number, position]
                self._connection.execute(f"INSERT OR REPLACE INTO {COMMITS} VALUES (?, ?, ?)", said)
            self._connection.execute("COMMIT")
        self.close()

    def committed(self) -> tuple[int, str] | None:
        """What the table of positions says."""
        if not self._at.exists():
            return None
        connection = self._connected()
        try:
            select = f"SELECT number, position FROM {COMMITS} WHERE writer = ?"
            found: tuple[int, str] | None = connection.execute(select, [self._target.writer]).fetchone()
            return found
        except self._duckdb.CatalogException:  # no position was kept yet
            return None
        finally:
            connection.close()

    def abort(self) -> None:
        """Give the transaction up."""
        self.close()

    def close(self) -> None:
        """Let go of the file; what isn't committed is gone."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


def _held(frame: pl.DataFrame) -> Any:
    """Rows for DuckDB, as an Arrow table; a column that has no type as text."""
    return frame.with_columns(pl.col(pl.Null).cast(pl.String)).to_arrow()


def _open(target: Target) -> Sink:
    return DuckdbSink(target)


DUCKDB: Final = SinkConnector(
    scheme="duckdb",
    example="duckdb://answers.duckdb?table=hot",
    options={"table": "the table, made where there is none; its name is the sink's unless it says otherwise"},
    modes=("upsert", "append", "changes", "replace"),
    promise="exactly once",
    how="a commit is a transaction, and the position is kept in it",
    open=_open,
)
"""The connector of `duckdb://`."""
