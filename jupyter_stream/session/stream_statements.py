"""CREATE STREAM, VIEW and AGGREGATE: what a session says of what it declares, and of what is there already."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from jupyter_stream import binding, syntax
from jupyter_stream.aggregates.user import Declared
from jupyter_stream.binding.bind_table import LATENT
from jupyter_stream.core.counting import counted
from jupyter_stream.core.table import TableRows, ViewRows
from jupyter_stream.engine.explain import promises
from jupyter_stream.plan.catalog import Catalog, Entry, StreamDef, Tells
from jupyter_stream.session import listings
from jupyter_stream.session.declared_time import about_time
from jupyter_stream.session.query import Message, Query, Result
from jupyter_stream.sources.table import TableSource

if TYPE_CHECKING:
    from jupyter_stream.session.session import Session

AGAIN = "declared again; queries that already run use the earlier one"


def declare(session: Session, entry: Entry) -> Message:
    """Put a stream into the catalog."""
    former = session.catalog.find(entry.name)
    session.catalog.add(entry)
    session.sides.forget(entry.name)
    said = f"Stream {entry.name} {'declared' if former is None else AGAIN}: {counted(len(entry.schema), 'column')}"
    if isinstance(entry, StreamDef):
        found = entry.source.notes if isinstance(entry.source, Tells) else ()
        told = [t for t in (*dict.fromkeys(found), about_time(entry)) if t]
        return Message(" ".join([f"{said}, {promises(entry)}.", *told]))
    return Message(f"{said}.")


def of_address(session: Session, name: str, uri: str) -> StreamDef:
    """A stream that only its name and the address of its rows declare."""
    quoted = name.replace("`", "``")
    (statement,) = syntax.parse(f"CREATE STREAM `{quoted}` SOURCE {{{{ uri }}}}", {"uri": uri})
    assert isinstance(statement, syntax.CreateStream)
    return replace(binding.bind_stream(statement, session.open_source, session.catalog), by_address=True)


def view_of(statement: syntax.CreateView, query: Query) -> StreamDef:
    """A view: a table of what its query's answer is."""
    plan = query._pipeline.query.plan
    rows = ViewRows(plan.schema, query.to_polars, plan)
    return StreamDef(statement.name.text, plan.schema, LATENT, "", TableSource(rows), text=statement.text, table=rows)


def create_aggregate(catalog: Catalog, statement: syntax.CreateAggregate) -> Message:
    """CREATE AGGREGATE: one version of it, beside another if there is one."""
    version = binding.SqlAggregate(statement, lambda name: _table(catalog, name))
    lower = version.name.lower()
    former = catalog.aggregates.get(lower)
    known = former if former is not None else Declared(version.name, None, None)
    catalog.aggregates[lower] = known.with_version(version)
    again = former is not None and any(v.windowed == version.windowed for v in former.versions)
    kind = "Window aggregate" if version.windowed else "Aggregate"
    return Message(f"{kind} {version.signature} {AGAIN if again else 'declared'}.")


def _table(catalog: Catalog, name: str) -> TableRows | None:
    """What a table of that name holds; None where there is none."""
    entry = catalog.find(name)
    return entry.table if isinstance(entry, StreamDef) else None


def kept_as_it_is(session: Session, statement: syntax.Statement) -> list[Result] | None:
    """What CREATE ... IF NOT EXISTS answers where the name is taken, a view's with its handle; None where there is more to do."""
    if not isinstance(statement, syntax.Declaration) or isinstance(statement, syntax.CreateSink):
        return None
    entry = session.catalog.find(statement.name.text) if statement.unless_exists else None
    if entry is None:
        return None
    query = session.queries.get(entry.name)
    said = Message(f"There is a {listings.kind(entry)} called {entry.name} already, and it is kept.")
    return [said] if query is None else [said, query]


__all__ = ["create_aggregate", "declare", "kept_as_it_is", "of_address", "view_of"]
