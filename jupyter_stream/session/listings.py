"""What SHOW STREAMS, SHOW TABLES, SHOW SCHEDULERS, DESCRIBE and DESCRIBE FUNCTIONS list of what was declared."""

from __future__ import annotations

import polars as pl

from jupyter_stream import functions as scalar
from jupyter_stream.aggregates import AGGREGATES
from jupyter_stream.core.schema import type_name
from jupyter_stream.core.table import ViewRows
from jupyter_stream.engine.explain import promises, roles
from jupyter_stream.errors import QueryError
from jupyter_stream.plan.catalog import Catalog, Entry, StreamDef
from jupyter_stream.plan.logical import BoundQuery
from jupyter_stream.schedulers import SCHEDULERS
from jupyter_stream.secrets import hidden
from jupyter_stream.session import own_functions, user_aggregates
from jupyter_stream.session.query import Listing


def streams(catalog: Catalog) -> Listing:
    """Streams, derived ones among them: source, progress and columns."""
    rows = [
        (
            e.name,
            hidden(e.uri) if isinstance(e, StreamDef) else "derived",
            promises(e) if isinstance(e, StreamDef) else "",
            ", ".join(e.schema.names),
        )
        for e in catalog
        if not is_table(e)
    ]
    schema = {n: pl.String() for n in ("stream", "source", "progress", "columns")}
    return Listing("Streams", pl.DataFrame(rows, schema=schema, orient="row"))


def tables(catalog: Catalog, what: str) -> Listing:
    """Tables, or views, as `what` says."""
    views = what == "views"
    held = [e for e in catalog if isinstance(e, StreamDef) and e.table is not None]
    found = [e for e in held if isinstance(e.table, ViewRows) == views]
    rows = [
        (e.name, e.text if views else hidden(e.uri), e.table.frame.height if e.table else 0, ", ".join(e.schema.names))
        for e in found
    ]
    names = ("view", "statement") if views else ("table", "source")
    schema = {names[0]: pl.String(), names[1]: pl.String(), "rows": pl.Int64(), "columns": pl.String()}
    return Listing(what.capitalize(), pl.DataFrame(rows, schema=schema, orient="row"))


def schedulers(now: str) -> Listing:
    """Policies for who is served and works next, and which one the session goes by."""
    rows = [(s.name, s.description, "now" if s.named(now) is not None else "") for s in SCHEDULERS]
    schema = {n: pl.String() for n in ("scheduler", "description", "used")}
    return Listing("Schedulers", pl.DataFrame(rows, schema=schema, orient="row"))


def functions(catalog: Catalog, name: str | None = None) -> Listing:
    """Functions and aggregates, or the one of that name. Raises `QueryError` if there is none."""
    rows = [(d.name, d.signature, d.description, d.example) for d in scalar.describe()]
    rows += [(a.name, a.signature, a.description, a.example) for a in AGGREGATES]
    rows += user_aggregates.rows(catalog) + own_functions.rows(catalog)
    if name is not None:
        rows = [r for r in rows if r[0].lower() == name.lower()]
        if not rows:
            raise QueryError(f"there is no function called {name}")
    schema = {n: pl.String() for n in ("function", "signature", "description", "example")}
    return Listing("Functions", pl.DataFrame(sorted(rows), schema=schema, orient="row"))


def columns(entry: Entry) -> Listing:
    """Columns of a stream or table: name, type and role."""

    def role(column: str) -> str:
        if not isinstance(entry, StreamDef):
            return "event time" if isinstance(entry.query, BoundQuery) and column == entry.query.time_column else ""
        return "" if is_table(entry) else roles(entry, column)

    rows = [(f.name, type_name(f.dtype), role(f.name)) for f in entry.schema]
    return Listing(
        entry.name, pl.DataFrame(rows, schema={n: pl.String() for n in ("column", "type", "role")}, orient="row")
    )


def kind(entry: Entry) -> str:
    """What it is called: `view`, `table` or `stream`."""
    if isinstance(entry, StreamDef) and isinstance(entry.table, ViewRows):
        return "view"
    return "table" if is_table(entry) else "stream"


def is_table(entry: Entry) -> bool:
    """Whether it is a table or a view."""
    return isinstance(entry, StreamDef) and entry.table is not None
