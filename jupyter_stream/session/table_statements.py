"""What a session does with statements about tables: CREATE TABLE, INSERT, DELETE, UPDATE. Not for how rows are changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager

import polars as pl

from jupyter_stream import binding, functions, syntax
from jupyter_stream.binding.bind_table import LATENT
from jupyter_stream.binding.create import OpenSourceFunction
from jupyter_stream.core.counting import counted
from jupyter_stream.core.table import TableRows
from jupyter_stream.engine.engine import Engine
from jupyter_stream.engine.pipeline import Pipeline
from jupyter_stream.functions import Expr, Literal
from jupyter_stream.functions.expression import Column
from jupyter_stream.graph.recursions import work_out_recursions
from jupyter_stream.plan.catalog import Catalog, StreamDef
from jupyter_stream.plan.logical import BoundQuery, streams
from jupyter_stream.session import tables
from jupyter_stream.session.query import Message, Query
from jupyter_stream.session.refreshing import Refreshing
from jupyter_stream.session.tables_of import tables_of
from jupyter_stream.sources.table import TableSource
from jupyter_stream.syntax.source_text import Span

_ALL = 2**62
"""How many rows of a SELECT a table takes."""


class TableStatements:
    """Runs them against a session's catalog.

    Args:
        catalog: what is declared.
        engine: answers the SELECTs.
        queries: the session's queries, which are told of changes.
        open_source: how a URI is opened.
        lock: the lock that statements take.
    """

    def __init__(
        self,
        catalog: Catalog,
        engine: Engine,
        queries: Mapping[str, Query],
        open_source: OpenSourceFunction,
        lock: Callable[[], AbstractContextManager[object]],
    ) -> None:
        self._catalog = catalog
        self._engine = engine
        self._queries = queries
        self._open = open_source
        self._lock = lock
        self._refreshing = Refreshing(self._wanted, self._refreshed)

    def create(self, statement: syntax.CreateTable | syntax.CreateTableAs) -> Message:
        """Declare a table with the rows of its source or of its SELECT.

        Raises:
            QueryError: a mistake in it; nothing is declared.
        """
        refused, uri, refresh, source = 0, "", None, None
        if isinstance(statement, syntax.CreateTableAs):
            bound = binding.bind_table_as(statement, self._catalog)
            schema = bound.plan.schema
            rows = TableRows(schema, self._answered(bound).select(schema.names))
        else:
            declared = binding.bind_table(statement, self._open)
            schema, source, refresh, uri = declared.schema, declared.source, declared.refresh, statement.uri or ""
            frame, refused = (schema.empty(), 0) if source is None else tables.read(schema, source)
            rows = TableRows(schema, frame)
        rows.tell = self._tell_later
        name = statement.name.text
        entry = StreamDef(
            name,
            schema,
            LATENT,
            uri,
            TableSource(rows),
            text=statement.text,
            refresh=refresh,
            table=rows,
            retroactive=statement.retroactive,
        )
        former = self._catalog.find(name)
        self._catalog.add(entry)
        if refresh is not None:
            self._refreshing.begin(entry, source)
        verb = "declared" if former is None else "declared again; queries that already run use the earlier one"
        bad = f" {refused} records could not be used." if refused else ""
        return Message(
            f"Table {name} {verb}: {counted(len(schema), 'column')}, {counted(rows.frame.height, 'row')}.{bad}"
        )

    def _answered(self, bound: BoundQuery) -> pl.DataFrame:
        """The answer of a query over tables and views, which is given once."""
        work_out_recursions(bound.plan)
        pipeline = Pipeline("insert", bound, _ALL, self._engine.missed, self._engine.failed, {})
        self._engine.launch([pipeline])
        pipeline.done.wait()
        return pipeline.results.frame()

    def change(self, statement: syntax.TableChange) -> Message:
        """INSERT, DELETE, UPDATE: the table, and the running queries that look into it.

        Raises:
            QueryError: a mistake in it; nothing is changed.
        """
        written: list[tuple[Expr, Span]] = []
        try:
            match statement:
                case syntax.Insert():
                    table, names, rows = binding.bind_values(statement, self._catalog)
                    for row, nodes in zip(rows, statement.rows, strict=True):
                        spans = dict(zip(names, (n.span for n in nodes), strict=True))
                        written.extend(
                            (e, spans[c]) for e, c in zip(row, table.schema.names, strict=True) if c in spans
                        )
                    given = statement.select is None
                    new = tables.values(rows, table.schema) if given else self._selected(statement, table, names)
                    count, verb = tables.insert(table, new), "inserted into"
                case syntax.Delete():
                    table, where = binding.bind_where(statement, self._catalog)
                    count, verb = tables.delete(table, where), "deleted from"
                case syntax.Update():
                    table, where = binding.bind_where(statement, self._catalog)
                    assignments = binding.bind_assignments(statement, self._catalog)
                    given_values = [node for _, node in statement.assignments]
                    written.extend((e, n.span) for e, n in zip(assignments.values(), given_values, strict=True))
                    count, verb = tables.update(table, assignments, where), "changed in"
        except tables.ValueRefused as bad:
            condition = None if isinstance(statement, syntax.Insert) else statement.where
            place = statement.span if condition is None else condition.span
            place = next((span for expr, span in written if expr is bad.expr), place)
            raise statement.source.error(bad.message, place) from None
        self._tell(table)
        return Message(f"{counted(count, 'row')} {verb} {statement.table.text}.")

    def _tell(self, table: TableRows) -> None:
        pipelines = [q._pipeline for q in list(self._queries.values())]
        self._engine.tell(pipelines, lambda pipeline: tables.tell(table, [pipeline]))

    def _tell_later(self, table: TableRows) -> None:
        """The same, not waiting: an aggregate that writes the table is at work, perhaps in the engine's thread."""
        pipelines = [q._pipeline for q in list(self._queries.values())]
        self._engine.tell(pipelines, lambda pipeline: tables.tell(table, [pipeline]), waits=False)

    def _refreshed(self, table: TableRows, rows: pl.DataFrame) -> None:
        """A table's source holds other rows now. As a statement would, it waits for the statement under way."""
        with self._lock():
            table.change(lambda _: rows)
            self._tell(table)

    def _wanted(self, table: TableRows) -> bool:
        """Whether a table is still declared, or a running query looks into it."""
        if any(isinstance(e, StreamDef) and e.table is table for e in list(self._catalog)):
            return True
        runs = [q._pipeline for q in list(self._queries.values())]
        return any(isinstance(r, Pipeline) and r.running and any(t is table for t in tables_of(r)) for r in runs)

    def close(self) -> None:
        """Read no table's source any more."""
        self._refreshing.close()

    def _selected(self, statement: syntax.Insert, table: TableRows, names: tuple[str, ...]) -> pl.DataFrame:
        """The rows of INSERT INTO ... SELECT, which reads tables only."""
        assert statement.select is not None
        for clause, what in ((statement.select.preference, "WITH PREFERENCE"), (statement.select.emit, "EMIT")):
            if clause is not None:
                raise statement.source.error(
                    f"an INSERT into a table runs once and can't have {what}", clause.span, "Leave it out."
                )
        if statement.options:
            span = statement.options[0].name.span
            raise statement.source.error("a table takes no options", span, "Leave WITH (...) out.")
        bound = binding.bind_query(statement.select, self._catalog)
        reads = next((s.name for s in streams(bound.plan) if s.table is None), None)
        if reads is not None:
            raise statement.source.error(
                f"{reads} is a stream: an INSERT into a table would never end",
                statement.select.span,
                "An INSERT into a table can read tables only. Write the answers of a stream to a sink: "
                "INSERT INTO 'file://answers/' SELECT ....",
            )
        if len(bound.shown) != len(names):
            raise statement.source.error(
                f"{len(bound.shown)} columns for {len(names)}",
                statement.select.span,
                f"They are {', '.join(names)}.",
            )
        given = self._answered(bound)
        columns = dict(zip(names, bound.shown, strict=True))
        try:
            casts = [
                functions.cast(Column(columns[f.name].name, columns[f.name].dtype), f.dtype)
                if f.name in columns
                else Literal(None, f.dtype)
                for f in table.schema
            ]
            return tables.selected(casts, given, table.schema)
        except (functions.BadArguments, tables.ValueRefused) as bad:
            raise statement.source.error(bad.message, statement.select.span) from None
