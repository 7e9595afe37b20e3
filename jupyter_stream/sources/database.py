"""What sources in databases share: one table, or the rows of one SELECT, read whole whenever it is asked for.

They are for tables: the rows of a database have no order in which they arrived. Not for how a database is asked, which its
connector knows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from typing import ClassVar, Final

import polars as pl

from jupyter_stream.core.schema import Schema
from jupyter_stream.errors import SourceError
from jupyter_stream.sources.casting import TICKS, castable, stream_type
from jupyter_stream.sources.conform import check_castable, conform, match_names
from jupyter_stream.sources.options import check_known, choice, split_query
from jupyter_stream.sources.protocol import Chunk, Context, Request, wanted

OPTIONS: Final = {
    "table": "the table, or view, of the database",
    "query": "a SELECT in the database's own SQL, in the place of a table",
    "timestamp_unit": "what numbers in TIMESTAMP columns count since 1970: 's', 'ms', 'us' or 'ns'",
}
"""Options of every source in a database."""


def quoted(name: str) -> str:
    """A name as standard SQL writes it."""
    return '"' + name.replace('"', '""') + '"'


class DatabaseSource(ABC):
    """A table of a database, or the answer of a SELECT; each read is one statement, and gives what is there then.

    Args:
        context: what is to be opened.

    Attributes:
        options: the WITH options, those of the address among them.
        path: the address without them.

    Raises:
        SourceError: when it is made: neither a table nor a SELECT is named, or it isn't there, or its columns are others.
    """

    replayable = True
    for_tables = True
    units: Mapping[str, str]
    example: ClassVar[str]
    takes: ClassVar[Mapping[str, str]] = OPTIONS

    def __init__(self, context: Context) -> None:
        self.path, query = split_query(context.path) if context.path[:1] != "/" else _absolute(context.path)
        scheme = context.uri.partition("://")[0]
        check_known(query, self.takes, f"{scheme}://")
        self.options = {**context.options, **query}
        self.units = {}
        table, select = self.options.get("table", "").strip(), self.options.get("query", "").strip().rstrip(";")
        if bool(table) == bool(select):
            wrong = "names a table and a query" if table else "names no table"
            raise SourceError(
                f"'{scheme}://{self.path.rpartition('@')[2]}' {wrong}.",
                hint=f"Write '{self.example}', or WITH (query = 'SELECT ...').",
            )
        self.table, self.select = table, select
        unit = choice(self.options, "timestamp_unit", TICKS, "us")
        self.tick = TICKS[unit] if "timestamp_unit" in self.options else None
        self.where = f"the query at {scheme}://" if select else f"table {table}"
        self.connect(context)
        there = self.columns()
        if context.schema is None:
            self.schema = Schema.of((f.name, stream_type(f.dtype)) for f in there if f.name)
        else:
            self.schema = context.schema
        self._names = match_names(self.schema, there.names, self.where)

    @abstractmethod
    def connect(self, context: Context) -> None:
        """Look at the address. Raises `SourceError` for what can't be."""

    @abstractmethod
    def columns(self) -> Schema:
        """What the database has. Raises `SourceError` where it can't be asked."""

    @abstractmethod
    def rows(self, names: Iterable[str]) -> Iterator[pl.DataFrame]:
        """Those columns of all rows, in the types the database has, or as text. Raises `SourceError` where it can't be asked."""

    @property
    def selected(self) -> str:
        """What stands behind FROM."""
        return f"({self.select}) q" if self.select else quoted(self.table)

    def listed(self, names: Iterable[str]) -> str:
        """A SELECT of columns."""
        return f"SELECT {', '.join(map(quoted, names))} FROM {self.selected}"

    def read(self, request: Request) -> Iterator[Chunk]:
        """What the database holds now.

        Raises:
            SourceError: it can't be asked, or has other columns now.
        """
        fields = wanted(self.schema, request)
        names = [self._names[f.name] for f in fields]
        for frame in self.rows(names):
            if request.stop.is_set():
                return
            there = Schema.from_frame(frame)
            odd = [f for f in fields if not castable(as_read(frame.schema[self._names[f.name]]), f.dtype, self.tick)]
            check_castable(odd, there, self._names, self.tick, self.where)
            raw = pl.DataFrame([frame.get_column(self._names[f.name]).alias(f.name) for f in fields])
            yield conform(raw, fields, self.tick)


def as_read(dtype: pl.DataType) -> pl.DataType:
    """A type as it is cast: bytes may be text."""
    return pl.String() if isinstance(dtype, pl.Binary) else dtype


def _absolute(path: str) -> tuple[str, dict[str, str]]:
    """`/data/a.db?table=t`, the path as it is."""
    head, query = split_query(path)
    return "/" + head, query


__all__ = ["OPTIONS", "DatabaseSource", "as_read", "quoted"]
