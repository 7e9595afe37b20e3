"""What a session does with statements about tables: CREATE TABLE, INSERT, DELETE, UPDATE. Not for how rows are changed."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from jupyter_stream import functions, language, tables
from jupyter_stream.core.table import TableRows
from jupyter_stream.engine.engine import Engine
from jupyter_stream.engine.pipeline import Pipeline
from jupyter_stream.functions import Expr, Literal
from jupyter_stream.functions.expression import Column
from jupyter_stream.language.bind_table import LATENT
from jupyter_stream.language.create import OpenSourceFunction
from jupyter_stream.language.source_text import Span
from jupyter_stream.plan.catalog import Catalog, StreamDef
from jupyter_stream.plan.logical import Query as Plan
from jupyter_stream.plan.logical import streams
from jupyter_stream.query import Message, Query
from jupyter_stream.sources.table import TableSource

_ALL = 2**62
"""How many rows of a SELECT a table takes."""


class TableStatements:
    """Runs them against a session's catalog.

    Args:
        catalog: what is declared.
        engine: answers the SELECTs.
        queries: the session's queries, which are told of changes.
        open_source: how a URI is opened.
    """

    def __init__(
        self, catalog: Catalog, engine: Engine, queries: Mapping[str, Query], open_source: OpenSourceFunction
    ) -> None:
        self._catalog = catalog
        self._engine = engine
        self._queries = queries
        self._open = open_source

    def create(self, statement: language.CreateTable | language.CreateTableAs) -> Message:
        """Declare a table with the rows of its source or of its SELECT.

        Raises:
            QueryError: a mistake in it; nothing is declared.
        """
        refused, uri = 0, ""
        if isinstance(statement, language.CreateTableAs):
            bound = language.bind_table_as(statement, self._catalog)
            schema = bound.plan.schema
            rows = TableRows(schema, self._answered(bound).select(schema.names))
        else:
            schema, source = language.bind_table(statement, self._open)
            uri = statement.uri or ""
            rows, refused = tables.read(schema, source)
        name = statement.name.text
        entry = StreamDef(
            name,
            schema,
            LATENT,
            uri,
            TableSource(rows),
            text=statement.text,
            table=rows,
            retroactive=statement.retroactive,
        )
        former = self._catalog.find(name)
        self._catalog.add(entry)
        verb = "declared" if former is None else "declared anew; queries started before go on with the former one"
        bad = f" {refused} records could not be used." if refused else ""
        return Message(f"Table {name} {verb}: {len(schema)} columns, {rows.frame.height:,} rows.{bad}")

    def _answered(self, bound: Plan) -> pl.DataFrame:
        """The answer of a query over tables and views, which is given once."""
        pipeline = Pipeline("insert", bound, _ALL, self._engine.missed, self._engine.failed, {})
        self._engine.launch([pipeline])
        pipeline.done.wait()
        return pipeline.results.frame()

    def change(self, statement: language.TableChange) -> Message:
        """INSERT, DELETE, UPDATE: the table, and the running queries that look into it.

        Raises:
            QueryError: a mistake in it; nothing is changed.
        """
        written: list[tuple[Expr, Span]] = []
        try:
            match statement:
                case language.Insert():
                    table, names, rows = language.bind_values(statement, self._catalog)
                    for row, nodes in zip(rows, statement.rows, strict=True):
                        spans = dict(zip(names, (n.span for n in nodes), strict=True))
                        written.extend(
                            (e, spans[c]) for e, c in zip(row, table.schema.names, strict=True) if c in spans
                        )
                    given = statement.select is None
                    new = tables.values(rows, table.schema) if given else self._selected(statement, table, names)
                    count, verb = tables.insert(table, new), "inserted into"
                case language.Delete():
                    table, where = language.bind_where(statement, self._catalog)
                    count, verb = tables.delete(table, where), "deleted from"
                case language.Update():
                    table, where = language.bind_where(statement, self._catalog)
                    assignments = language.bind_assignments(statement, self._catalog)
                    given_values = [node for _, node in statement.assignments]
                    written.extend((e, n.span) for e, n in zip(assignments.values(), given_values, strict=True))
                    count, verb = tables.update(table, assignments, where), "changed in"
        except tables.Refused as bad:
            condition = None if isinstance(statement, language.Insert) else statement.where
            place = statement.span if condition is None else condition.span
            place = next((span for expr, span in written if expr is bad.expr), place)
            raise statement.source.error(bad.message, place) from None
        pipelines = [q._pipeline for q in self._queries.values()]
        self._engine.submit(lambda: tables.tell(table, pipelines)).result()
        return Message(f"{count:,} row{'' if count == 1 else 's'} {verb} {statement.table.text}.")

    def _selected(self, statement: language.Insert, table: TableRows, names: tuple[str, ...]) -> pl.DataFrame:
        """The rows of INSERT INTO ... SELECT, which reads tables only."""
        assert statement.select is not None
        bound = language.bind_query(statement.select, self._catalog)
        reads = next((s.name for s in streams(bound.plan) if s.table is None), None)
        if reads is not None:
            raise statement.source.error(
                f"{reads} is a stream: an INSERT would never end",
                statement.select.span,
                "INSERT reads tables. A view of a stream is kept by a query: q.to_polars().",
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
        except (functions.BadArguments, tables.Refused) as bad:
            raise statement.source.error(bad.message, statement.select.span) from None
