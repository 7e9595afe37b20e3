"""`postgresql://`: a table of a PostgreSQL database. A commit is a transaction that notes its number, so none is done twice."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

import polars as pl

from jupyter_stream.core.address import CREDENTIALS
from jupyter_stream.core.postgresql_connection import IN_CONFIG, IN_UTC, PORT, settings
from jupyter_stream.errors import SinkError
from jupyter_stream.sinks.database import COMMITS, by_halves, check_columns, listed, quoted, table_of
from jupyter_stream.sinks.flat import flat
from jupyter_stream.sinks.protocol import Sink, SinkConnector, SinkUnreachable, Target
from jupyter_stream.sinks.server import Server, missing

_EXAMPLE: Final = "postgresql://me@localhost:5432/answers?table=hot"
_ROWS: Final = "jupyter_stream_rows"
"""The table, for this session alone, that holds rows and keys on their way."""
_NOT_LET_IN: Final = ("authentication failed", "no password supplied", "does not exist", "no pg_hba.conf entry")
"""What the server says to those whom it will not let in."""


class PostgresqlSink:
    """A table, made when there is none. Raises `SinkError` when it is made where no table is named, or without `psycopg`."""

    def __init__(self, target: Target) -> None:
        try:
            import psycopg
        except ImportError:
            raise missing("postgresql", "psycopg", "postgresql") from None
        self._psycopg: Any = psycopg
        server = Server.of(target, _EXAMPLE, IN_CONFIG)
        self._at = server.at(PORT)
        self._settings = settings(server.address, server.config)
        table, schema = table_of(target, _EXAMPLE.partition("?")[0]), target.options.get("schema")
        self._table = f"{quoted(schema)}.{quoted(table)}" if schema else quoted(table)
        self._target = target
        self._names: dict[str, str] = {}
        self._connection: Any = None
        self._asked: int | None = None  # the commit of which nobody knows what came
        self._done = False

    # -- connections -------------------------------------------------------------------------------------------------

    def check(self) -> None:
        """Look at the table's columns."""
        try:
            connection = self._connected()
        except SinkUnreachable as away:
            if any(words in str(away) for words in _NOT_LET_IN):
                raise SinkError(f"{str(away).rstrip('.')}.", hint="Look at the address and at config.") from None
            raise
        try:
            self._look(connection)
        finally:
            connection.close()

    def _connected(self) -> Any:
        try:
            connection = self._psycopg.connect(**self._settings)
            connection.execute(IN_UTC)
            connection.commit()
            return connection
        except self._psycopg.Error as error:
            raise self._raised(error) from None

    def _look(self, connection: Any) -> bool:
        """Find the spelling of the table's columns. Returns whether there is a table."""
        select = (
            "SELECT attname FROM pg_attribute WHERE attrelid = to_regclass(%s) AND attnum > 0 AND NOT attisdropped "
            "ORDER BY attnum"
        )
        there = [name for (name,) in connection.execute(select, [self._table]).fetchall()]
        check_columns(self._table, there, self._target.schema)
        by_lower = {name.lower(): name for name in there}
        self._names = {n: n if n in there else by_lower.get(n.lower(), n) for n in self._target.schema.names}
        return bool(there)

    def _begun(self) -> Any:
        """The transaction under way, begun where there is none; with the table."""
        if self._connection is None:
            self._connection = self._connected()
            if self._asked is not None:
                last = self._noted(self._connection)
                self._done = last is not None and last[0] >= self._asked
            if not self._look(self._connection):
                self._make(self._connection)
        return self._connection

    def _make(self, connection: Any) -> None:
        target = self._target
        declared = ", ".join(f"{quoted(f.name)} {_type(f.dtype)}" for f in target.schema)
        connection.execute(f"CREATE TABLE {self._table} ({declared})")
        if target.key:
            connection.execute(f"CREATE INDEX ON {self._table} ({listed(target.key)})")

    # -- rows --------------------------------------------------------------------------------------------------------

    def append(self, rows: pl.DataFrame) -> pl.DataFrame | None:
        """Copy rows in."""
        return self._do(lambda connection: self._each(connection, rows, lambda some: self._copied(connection, some)))

    def replace(self, rows: pl.DataFrame) -> pl.DataFrame | None:
        """Delete all rows, and copy the new ones in."""

        def write(connection: Any) -> pl.DataFrame | None:
            connection.execute(f"DELETE FROM {self._table}")
            return self._each(connection, rows, lambda some: self._copied(connection, some))

        return self._do(write)

    def upsert(self, rows: pl.DataFrame, gone: pl.DataFrame) -> pl.DataFrame | None:
        """Delete the rows whose keys are gone, update those whose keys are there, and insert the others."""
        key = self._target.key

        def write(connection: Any) -> pl.DataFrame | None:
            for some in _by_nulls(gone, key):
                self._staged(connection, some)
                same = self._same(some)
                connection.execute(f"DELETE FROM {self._table} t USING {_ROWS} s WHERE {same}")
            return self._each(connection, rows, lambda some: self._put(connection, some))

        return self._do(write)

    def _put(self, connection: Any, rows: pl.DataFrame) -> None:
        others = [self._name(c) for c in rows.columns if c not in self._target.key]
        names = listed(self._name(c) for c in rows.columns)
        for some in _by_nulls(rows, self._target.key):
            self._staged(connection, some)
            same = self._same(some)
            if others:
                values = ", ".join(f"{quoted(c)} = s.{quoted(c)}" for c in others)
                connection.execute(f"UPDATE {self._table} t SET {values} FROM {_ROWS} s WHERE {same}")
            connection.execute(
                f"INSERT INTO {self._table} ({names}) SELECT {names} FROM {_ROWS} s "
                f"WHERE NOT EXISTS (SELECT 1 FROM {self._table} t WHERE {same})"
            )

    def _same(self, rows: pl.DataFrame) -> str:
        """What makes a row `t` of the table have the key of `s`. Only `=` can be looked up in an index."""
        pairs = [(quoted(self._name(c)), rows.get_column(c).null_count()) for c in self._target.key]
        return " AND ".join(f"t.{c} {'IS NOT DISTINCT FROM' if nulls else '='} s.{c}" for c, nulls in pairs)

    def _staged(self, connection: Any, rows: pl.DataFrame) -> None:
        """Have rows where SQL can read them, in the table's own types."""
        names = listed(self._name(c) for c in rows.columns)
        connection.execute(f"DROP TABLE IF EXISTS {_ROWS}")
        connection.execute(
            f"CREATE TEMPORARY TABLE {_ROWS} ON COMMIT DROP AS SELECT {names} FROM {self._table} WITH NO DATA"
        )
        self._copied(connection, rows, _ROWS)
        connection.execute(f"ANALYZE {_ROWS}")

    def _copied(self, connection: Any, rows: pl.DataFrame, table: str | None = None) -> None:
        names = listed(self._name(c) for c in rows.columns)
        with (
            connection.cursor() as cursor,
            cursor.copy(f"COPY {table or self._table} ({names}) FROM STDIN (FORMAT csv)") as copy,
        ):
            copy.write(as_csv(rows))

    def _name(self, column: str) -> str:
        return self._names.get(column, column)

    def _each(self, connection: Any, rows: pl.DataFrame, write: Callable[[pl.DataFrame], None]) -> pl.DataFrame | None:
        """Write rows, those apart that the database refuses: each try can be taken back alone."""

        def attempt(some: pl.DataFrame) -> None:
            with connection.transaction():
                write(some)

        return by_halves(rows, attempt, (self._psycopg.DataError, self._psycopg.IntegrityError))

    def _do(self, work: Callable[[Any], pl.DataFrame | None]) -> pl.DataFrame | None:
        try:
            connection = self._begun()
            return None if self._done else work(connection)
        except self._psycopg.Error as error:
            raise self._raised(error) from None

    # -- commits -----------------------------------------------------------------------------------------------------

    def commit(self, number: int, position: str) -> None:
        """End the transaction, its number and the position in it."""
        try:
            connection = self._begun()
            if not self._done:
                connection.execute(
                    f"CREATE TABLE IF NOT EXISTS {COMMITS} (writer TEXT PRIMARY KEY, number BIGINT, position TEXT)"
                )
                connection.execute(
                    f"INSERT INTO {COMMITS} VALUES (%s, %s, %s) ON CONFLICT (writer) "
                    "DO UPDATE SET number = excluded.number, position = excluded.position",
                    [self._target.writer, number, position],
                )
                self._asked = number
            connection.commit()
        except self._psycopg.Error as error:
            raise self._raised(error) from None
        self._asked, self._done = None, False

    def committed(self) -> tuple[int, str] | None:
        """What the table of commits says."""
        connection = self._connected()
        try:
            return self._noted(connection)
        except self._psycopg.Error as error:
            raise self._raised(error) from None
        finally:
            connection.close()

    def _noted(self, connection: Any) -> tuple[int, str] | None:
        if connection.execute("SELECT to_regclass(%s)", [COMMITS]).fetchone()[0] is None:
            return None
        select = f"SELECT number, position FROM {COMMITS} WHERE writer = %s"
        found: tuple[int, str] | None = connection.execute(select, [self._target.writer]).fetchone()
        return found

    def abort(self) -> None:
        """Give the transaction up."""
        self.close()

    def close(self) -> None:
        """Let go of the server; what isn't committed is gone."""
        connection, self._connection = self._connection, None
        self._done = False
        if connection is not None:
            connection.close()

    def _raised(self, error: Exception) -> Exception:
        """What is raised for an error of the library: only a mistake in what is asked for ends the query."""
        first = str(error).strip().partition("\n")[0]
        if isinstance(error, self._psycopg.ProgrammingError | self._psycopg.NotSupportedError):
            return SinkError(f"PostgreSQL at {self._at} says: {first}.", hint="Look at the table and its rights.")
        return SinkUnreachable(f"PostgreSQL at {self._at} can't be written to: {first}")


def _by_nulls(rows: pl.DataFrame, key: Iterable[str]) -> list[pl.DataFrame]:
    """Rows whose key has no NULL, and the others, those there are."""
    whole = pl.all_horizontal(pl.col(c).is_not_null() for c in key)
    return [some for some in (rows.filter(whole), rows.filter(~whole)) if some.height]


def as_csv(rows: pl.DataFrame) -> bytes:
    """Rows as COPY takes them: text in quotes, NULL without, bytes as digits, intervals in microseconds."""
    made = flat(
        rows.with_columns(
            pl.col(pl.Null).cast(pl.String),
            pl.selectors.duration().dt.total_microseconds().cast(pl.String) + " microseconds",
            *(("\\x" + pl.col(n).bin.encode("hex")).alias(n) for n, t in rows.schema.items() if t == pl.Binary),
            (pl.selectors.boolean() | pl.selectors.decimal()).cast(pl.String),
        )
    )
    return made.write_csv(include_header=False, quote_style="non_numeric").encode()


_TYPES: Final = {
    pl.Boolean: "BOOLEAN",
    pl.Int8: "SMALLINT",
    pl.Int16: "SMALLINT",
    pl.UInt8: "SMALLINT",
    pl.Int32: "INTEGER",
    pl.UInt16: "INTEGER",
    pl.Int64: "BIGINT",
    pl.UInt32: "BIGINT",
    pl.Float32: "REAL",
    pl.Float64: "DOUBLE PRECISION",
    pl.Binary: "BYTEA",
    pl.Date: "DATE",
    pl.Datetime: "TIMESTAMP",
    pl.Duration: "INTERVAL",
    pl.Time: "TIME",
}


def _type(dtype: pl.DataType) -> str:
    if isinstance(dtype, pl.Decimal):
        return f"NUMERIC({dtype.precision}, {dtype.scale})"
    if dtype.is_nested():
        return "JSONB"
    return "NUMERIC" if dtype.is_integer() and type(dtype) not in _TYPES else _TYPES.get(type(dtype), "TEXT")


def _open(target: Target) -> Sink:
    return PostgresqlSink(target)


POSTGRESQL: Final = SinkConnector(
    scheme="postgresql",
    also=("postgres",),
    example=_EXAMPLE,
    options={
        "table": "the table, made where there is none; its name is the sink's unless it says otherwise",
        "schema": "the schema the table is in, where that isn't the first of the search path",
        "config": CREDENTIALS,
    },
    modes=("upsert", "append", "changes", "replace"),
    promise="exactly once",
    how="a commit is a transaction, and its number and the position are kept in it",
    open=_open,
)
"""The connector of `postgresql://`."""
