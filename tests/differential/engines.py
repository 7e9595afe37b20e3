"""Runs a drawn query here and in DuckDB. Not for what is drawn, nor for how answers compare."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import duckdb
import polars as pl

from jupyter_stream import Query, Session
from jupyter_stream.errors import StreamError
from tests.differential.rows import COLUMNS, LATENESS, NAMES, TYPES, Rows, pieces

PATIENCE = 200
_DUCKDB = {"int": "BIGINT", "text": "VARCHAR", "real": "DOUBLE"}


class Failed(Exception):
    """A query that was taken and then failed, didn't end, or refused rows."""


def declarations(rows: Rows, tables: bool) -> Iterator[str]:
    """CREATE of `a`, `b` and `c`, as tables or as streams that are late by up to `LATENESS`."""
    for name in NAMES:
        if tables:
            yield f"CREATE TABLE {name} ({COLUMNS}) SOURCE 'frame://{name}'"
        else:
            yield (f"CREATE STREAM {name} ({COLUMNS}, WATERMARK FOR ts AS ts - {LATENESS}) SOURCE 'python://{name}'")


def sources(rows: Rows, tables: bool) -> dict[str, Any]:
    """What the notebook has: frames, or makers of their batches."""
    frames = {name: rows.frame(name) for name in NAMES}
    if tables:
        return dict(frames)

    def batches(frame: pl.DataFrame) -> Callable[[], Iterable[pl.DataFrame]]:
        return lambda: iter(pieces(frame, rows.batch))

    return {name: batches(frame) for name, frame in frames.items()}


def ask(rows: Rows, text: str, tables: bool) -> tuple[pl.DataFrame, pl.DataFrame | None]:
    """The answer of this engine, and the change log of a view.

    Raises:
        QueryError: it refuses the query.
        Failed: it took it, and then failed.
    """
    with Session(sources(rows, tables)) as session:
        for declaration in declarations(rows, tables):
            session.execute(declaration)
        try:
            (query,) = session.execute(text)
        except StreamError:
            raise
        except BaseException as error:  # a panic of Polars is no Exception
            if isinstance(error, KeyboardInterrupt):
                raise
            raise Failed(f"{type(error).__name__}: {error}") from error
        assert isinstance(query, Query)
        try:
            ended = query.wait(PATIENCE)
        except StreamError as error:
            raise Failed(str(error)) from error
        if not ended:
            raise Failed("it doesn't end")
        found = query.to_polars()
        errors = query.errors
        if (errors if isinstance(errors, pl.DataFrame) else errors.to_polars()).height:
            raise Failed("rows went to errors")
        log = query.changes() if text.startswith("CREATE VIEW") else None
        if log is not None and not isinstance(log, pl.DataFrame):
            log = pl.DataFrame(log)
        return found, log


@functools.cache
def database() -> duckdb.DuckDBPyConnection:
    """A DuckDB with empty tables `a`, `b` and `c`; NULLs go where Spark has them."""
    made = duckdb.connect()
    made.execute("SET default_null_order = 'nulls_first_on_asc_last_on_desc'")
    made.execute("SET threads = 1")
    for name in NAMES:
        made.execute(f"CREATE TABLE {name} ({', '.join(f'{n} {_DUCKDB[t]}' for n, t in TYPES.items())})")
    return made


def fill(rows: Rows) -> duckdb.DuckDBPyConnection:
    """The DuckDB with these rows in its tables."""
    made = database()
    for name in NAMES:
        made.execute(f"DELETE FROM {name}")
        if rows.tables[name]:
            made.execute(f"INSERT INTO {name} VALUES " + ", ".join(_values(row) for row in rows.tables[name]))
    return made


def _values(row: tuple[object, ...]) -> str:
    return "(" + ", ".join("NULL" if v is None else repr(v) for v in row) + ")"
