"""`postgresql://host:port/database?table=t`: a table of a PostgreSQL database, or the answer of a SELECT, by COPY."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, Final

import polars as pl
import pyarrow as pa
from pyarrow import csv

from jupyter_stream.core import address
from jupyter_stream.core.address import CREDENTIALS, Address
from jupyter_stream.core.postgresql_connection import IN_CONFIG, IN_UTC, PORT, settings
from jupyter_stream.core.schema import TIMESTAMP, Schema
from jupyter_stream.errors import SourceError
from jupyter_stream.secrets import remember
from jupyter_stream.sources.broker import missing
from jupyter_stream.sources.database import OPTIONS, DatabaseSource, quoted
from jupyter_stream.sources.protocol import BATCH_ROWS, Context, Source, SourceConnector

_NULL: Final = r"\N"
"""NULL in what COPY gives; a text that is the same stands in quotes."""
_BYTEA: Final = 17
_WITH_ZONE: Final = 1184
_NUMERIC: Final = 1700
_TYPES: Final[dict[int, pl.DataType]] = {
    16: pl.Boolean(), _BYTEA: pl.Binary(), 20: pl.Int64(), 21: pl.Int16(), 23: pl.Int32(), 700: pl.Float32(),
    701: pl.Float64(), 1082: pl.Date(), 1114: TIMESTAMP, _WITH_ZONE: TIMESTAMP,
}  # fmt: skip
"""Types by their numbers in the catalog of every PostgreSQL; all others are read as text."""


class PostgresqlSource(DatabaseSource):
    """A table of a PostgreSQL database."""

    example = "postgresql://me@localhost:5432/shop?table=products"
    takes: ClassVar = {
        **OPTIONS,
        "schema": "the schema the table is in, where that isn't the first of the search path",
        "config": CREDENTIALS,
    }

    def connect(self, context: Context) -> None:
        """Take the address apart, and its credentials."""
        try:
            import psycopg
        except ImportError:
            raise missing("postgresql", "psycopg", "postgresql") from None
        self._psycopg: Any = psycopg
        found = Address.of(f"postgresql://{self.path}", self.example, _wrong)
        config = address.credentials(self.options.get("config"), context.namespace, IN_CONFIG, _wrong)
        for name, value in (("username", found.username), ("password", found.password)):
            if value:
                config.setdefault(name, value)
        remember(config.get("password"))
        if not found.host:
            raise SourceError("postgresql:// names no host.", hint=f"Write '{self.example}'.")
        self._at = found.at(PORT)
        self._settings = settings(found, config)
        self._types: dict[str, Any] = {}

    @property
    def selected(self) -> str:
        """What stands behind FROM."""
        schema = self.options.get("schema")
        return f"{quoted(schema)}.{quoted(self.table)}" if schema and self.table else super().selected

    def columns(self) -> Schema:
        """The columns as the server describes them. NUMERIC without a precision is DOUBLE, lists and composites are JSON."""
        with self._connected() as connection:
            found = connection.execute(f"SELECT * FROM {self.selected} LIMIT 0").description
            nested = connection.execute(
                "SELECT oid FROM pg_type WHERE oid = ANY(%s) AND typcategory IN ('A', 'C')",
                [[c.type_code for c in found]],
            ).fetchall()
        lists = {oid for (oid,) in nested}
        self._types = {c.name: "nested" if c.type_code in lists else c.type_code for c in found}
        return Schema.of((c.name, _type(c)) for c in found)

    def rows(self, names: Iterable[str]) -> Iterator[pl.DataFrame]:
        """All rows of one COPY, as text; bytes as they are."""
        wanted = list(names)
        shown = ", ".join(self._shown(name) for name in wanted)
        data = bytearray()
        with self._connected() as connection, connection.cursor() as cursor:
            copy = f"COPY (SELECT {shown} FROM {self.selected}) TO STDOUT (FORMAT csv, NULL '{_NULL}')"
            with cursor.copy(copy) as blocks:
                for block in blocks:
                    data += block
        if not data:
            return
        frame = _as_text(data, wanted)
        of_bytes = [name for name in wanted if self._types[name] == _BYTEA]
        yield from frame.with_columns(pl.col(of_bytes).str.decode("hex")).iter_slices(BATCH_ROWS)

    def _shown(self, name: str) -> str:
        column = quoted(name)
        ways = {_BYTEA: f"encode({column}, 'hex')", _WITH_ZONE: f"({column} AT TIME ZONE 'UTC')::text"}
        way = f"to_json({column})::text" if self._types[name] == "nested" else f"{column}::text"
        return ways.get(self._types[name], way)

    @contextmanager
    def _connected(self) -> Iterator[Any]:
        """A connection that only reads."""
        try:
            with self._psycopg.connect(**self._settings) as connection:
                connection.execute(IN_UTC)
                yield connection
        except self._psycopg.Error as error:
            first = str(error).strip().partition("\n")[0]
            raise SourceError(f"PostgreSQL at {self._at} says: {first}.") from None


def _type(column: Any) -> pl.DataType:
    if column.type_code == _NUMERIC:
        precise = (
            column.precision is not None and column.precision <= 38 and 0 <= (column.scale or 0) <= column.precision
        )
        return pl.Decimal(column.precision, column.scale or 0) if precise else pl.Float64()
    return _TYPES.get(column.type_code, pl.String())


def _as_text(data: bytearray, names: list[str]) -> pl.DataFrame:
    """Columns of text, of CSV as PostgreSQL writes it. (Arrow's reader tells a NULL from the same text in quotes.)"""
    table = csv.read_csv(
        pa.py_buffer(data),
        csv.ReadOptions(column_names=names, use_threads=False),
        csv.ParseOptions(newlines_in_values=True),
        csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.large_string()),
            null_values=[_NULL],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )
    found = pl.from_arrow(table)
    assert isinstance(found, pl.DataFrame)
    return found


def _wrong(message: str, hint: str | None) -> SourceError:
    return SourceError(message, hint=hint)


def _open(context: Context) -> Source:
    return PostgresqlSource(context)


POSTGRESQL: Final = SourceConnector(
    scheme="postgresql",
    also=("postgres",),
    example=PostgresqlSource.example,
    options=PostgresqlSource.takes,
    open=_open,
)
