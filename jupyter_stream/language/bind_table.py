"""Tables, from what is written to declarations and expressions: CREATE TABLE, VALUES, SET, WHERE."""

from __future__ import annotations

import polars as pl

from jupyter_stream import functions
from jupyter_stream.core.schema import Schema, type_name
from jupyter_stream.core.table import TableRows, ViewRows
from jupyter_stream.functions import Expr, Literal
from jupyter_stream.language.bind_aggregate import InputNames
from jupyter_stream.language.bind_expression import ExpressionBinder
from jupyter_stream.language.create import OpenSourceFunction, bind_stream, declared_columns
from jupyter_stream.language.diagnose import did_you_mean
from jupyter_stream.language.nodes import Node
from jupyter_stream.language.scope import CURRENT_TIME, Scope
from jupyter_stream.language.source_text import Name, SourceText
from jupyter_stream.language.syntax import CreateStream, CreateTable, Delete, Insert, TableChange, Update
from jupyter_stream.plan.catalog import Catalog, OpenSource, StreamDef, TimeSpec, Watermark
from jupyter_stream.plan.logical import Scan

LATENT = TimeSpec("latent", CURRENT_TIME, Watermark(0, declared=False))
"""How the rows of a table are stamped where they are read as a stream."""


def bind_table(statement: CreateTable, open_source: OpenSourceFunction) -> tuple[Schema, OpenSource | None]:
    """The columns of a table, and where its rows come from; None for an empty one.

    Raises:
        QueryError: two columns of one name, a source that never ends.
        SourceError: what the URI names isn't there.
    """
    if statement.uri is None:
        schema = declared_columns(statement.columns, statement.source, False)
        assert schema is not None
        return schema, None
    as_stream = CreateStream(
        source=statement.source, span=statement.span, text=statement.text, name=statement.name, columns=statement.columns,
        watermark=None, order_by=None, uri=statement.uri, uri_span=statement.uri_span, options=statement.options,
    )  # fmt: skip
    stream = bind_stream(as_stream, open_source)
    if not stream.source.replayable:
        raise statement.source.error(
            "a table is read once, and this source goes on",
            statement.uri_span,
            "Declare it as a stream: CREATE STREAM.",
        )
    return stream.schema, stream.source


def _table(statement: TableChange, catalog: Catalog) -> tuple[StreamDef, TableRows]:
    name = statement.table
    entry = catalog.find(name.text)
    if isinstance(entry, StreamDef) and isinstance(entry.table, ViewRows):
        raise statement.source.error(
            f"{name.text} is a view: its rows follow from its SELECT", name.span, "Only tables are written to."
        )
    if isinstance(entry, StreamDef) and entry.table is not None:
        return entry, entry.table
    if entry is not None:
        raise statement.source.error(
            f"{name.text} is a stream: rows come from its source", name.span, "Only tables are written to."
        )
    tables = [e.name for e in catalog if isinstance(e, StreamDef) and e.table is not None]
    hint = did_you_mean(name.text, tables, "tables") if tables else "Declare it: CREATE TABLE name (a INT, ...)."
    raise statement.source.error(f"there is no table called {name.text}", name.span, hint)


class _NoNames(InputNames):
    """VALUES can name no column."""

    def column(self, name: Name, qualifier: Name | None) -> Expr | None:
        """None."""
        return None

    def known(self) -> tuple[str, ...]:
        """None."""
        return ()

    def pseudo(self) -> tuple[str, ...]:
        """None."""
        return ()


def _scope(stream: StreamDef) -> Scope:
    return Scope(Scan(stream, stream.schema), (stream.name.lower(),))


def target_columns(statement: Insert, schema: Schema) -> tuple[str, ...]:
    """The columns an INSERT gives values for, in the order it gives them."""
    if statement.columns is None:
        return schema.names
    found: list[str] = []
    for name in statement.columns:
        field = schema.find(name.text)
        if field is None:
            hint = did_you_mean(name.text, schema.names, "columns")
            raise statement.source.error(f"there is no column called {name.text}", name.span, hint)
        if field.name in found:
            raise statement.source.error(f"{field.name} stands twice", name.span)
        found.append(field.name)
    return tuple(found)


def bind_values(statement: Insert, catalog: Catalog) -> tuple[TableRows, tuple[str, ...], list[list[Expr]]]:
    """The table of an INSERT, the columns it names, and its rows as expressions of every column of the table.

    Raises:
        QueryError: no such table or column, a wrong number of values, a value of a wrong type.
    """
    stream, table = _table(statement, catalog)
    names = target_columns(statement, stream.schema)
    binder = ExpressionBinder(statement.source, _NoNames(_scope(stream), statement.source, "VALUES"))
    rows = []
    for written in statement.rows:
        if len(written) != len(names):
            raise statement.source.error(
                f"{len(written)} value{'s' * (len(written) != 1)} for {len(names)} column{'s' * (len(names) != 1)}",
                written[0].span.to(written[-1].span),
                f"The columns are {', '.join(names)}.",
            )
        given = dict(zip(names, written, strict=True))
        rows.append(
            [
                _cast(binder.bind(given[f.name]), f.dtype, f.name, given[f.name], statement.source)
                if f.name in given
                else Literal(None, f.dtype)
                for f in stream.schema
            ]
        )
    return table, names, rows


def _cast(expr: Expr, dtype: pl.DataType, column: str, node: Node, source: SourceText) -> Expr:
    try:
        return functions.cast(expr, dtype)
    except functions.BadArguments as bad:
        raise source.error(f"{column} is {type_name(dtype)}: {bad.message}", node.span) from None


def bind_where(statement: Delete | Update, catalog: Catalog) -> tuple[TableRows, Expr | None]:
    """The table of a DELETE or UPDATE, and which rows it is about; None for all.

    Raises:
        QueryError: no such table, a wrong condition.
    """
    stream, table = _table(statement, catalog)
    if statement.where is None:
        return table, None
    names = InputNames(_scope(stream), statement.source, "WHERE")
    return table, ExpressionBinder(statement.source, names).condition(statement.where, "WHERE")


def bind_assignments(statement: Update, catalog: Catalog) -> dict[str, Expr]:
    """New values by column.

    Raises:
        QueryError: no such column, a value of a wrong type.
    """
    stream, _ = _table(statement, catalog)
    binder = ExpressionBinder(statement.source, InputNames(_scope(stream), statement.source, "SET"))
    made: dict[str, Expr] = {}
    for name, node in statement.assignments:
        field = stream.schema.find(name.text)
        if field is None:
            hint = did_you_mean(name.text, stream.schema.names, "columns")
            raise statement.source.error(f"there is no column called {name.text}", name.span, hint)
        if field.name in made:
            raise statement.source.error(f"{field.name} is set twice", name.span)
        made[field.name] = _cast(binder.bind(node), field.dtype, field.name, node, statement.source)
    return made


__all__ = ["LATENT", "bind_assignments", "bind_table", "bind_values", "bind_where", "target_columns"]
