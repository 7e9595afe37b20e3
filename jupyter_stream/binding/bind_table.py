"""Tables, from what is written to declarations and expressions: CREATE TABLE, VALUES, SET, WHERE."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from jupyter_stream import functions
from jupyter_stream.binding.bind_aggregate import InputNames
from jupyter_stream.binding.bind_expression import ExpressionBinder
from jupyter_stream.binding.create import OpenSourceFunction, bind_stream, declared_columns
from jupyter_stream.binding.scope import Scope
from jupyter_stream.core.schema import Schema, type_name
from jupyter_stream.core.table import TableRows, ViewRows
from jupyter_stream.functions import Expr, Literal
from jupyter_stream.plan.catalog import Catalog, OpenSource, StreamDef, TimeSpec, Watermark
from jupyter_stream.plan.logical import Scan
from jupyter_stream.plan.time_of import CURRENT_TIME
from jupyter_stream.syntax.diagnose import did_you_mean
from jupyter_stream.syntax.durations import parse_duration
from jupyter_stream.syntax.nodes import Node
from jupyter_stream.syntax.source_text import Name, SourceText
from jupyter_stream.syntax.syntax import CreateStream, CreateTable, Delete, Insert, TableChange, Update

REFRESH = "refresh"
"""The option that has a table's source read again and again."""
LATENT = TimeSpec("latent", CURRENT_TIME, Watermark(0, declared=False))
"""How the rows of a table are stamped where they are read as a stream."""


@dataclass(frozen=True, slots=True)
class BoundTable:
    """A declared table.

    Attributes:
        schema: its columns.
        source: where its rows come from; None for an empty one.
        refresh: microseconds from one reading to the next; None where it is read once.
    """

    schema: Schema
    source: OpenSource | None
    refresh: int | None = None


def bind_table(statement: CreateTable, open_source: OpenSourceFunction) -> BoundTable:
    """The columns of a table, and where its rows come from.

    Raises:
        QueryError: two columns of one name, a source that never ends, a time to refresh it that can't be.
        SourceError: what the URI names isn't there.
    """
    refresh = _refresh(statement)
    if statement.uri is None:
        schema = declared_columns(statement.columns, statement.source, False)
        assert schema is not None
        return BoundTable(schema, None)
    options = tuple(o for o in statement.options if o.name.text.lower() != REFRESH)
    as_stream = CreateStream(
        source=statement.source, span=statement.span, text=statement.text, name=statement.name, columns=statement.columns,
        watermark=None, order_by=None, uri=statement.uri, uri_span=statement.uri_span, options=options,
    )  # fmt: skip
    stream = bind_stream(as_stream, open_source)
    if not stream.source.replayable:
        raise statement.source.error(
            "a table is read as a whole, and this source is live",
            statement.uri_span,
            "Declare it as a stream: CREATE STREAM.",
        )
    return BoundTable(stream.schema, stream.source, refresh)


def _refresh(statement: CreateTable) -> int | None:
    option = next((o for o in statement.options if o.name.text.lower() == REFRESH), None)
    if option is None:
        return None
    if statement.uri is None:
        raise statement.source.error(
            "refresh is for a table with a SOURCE", option.name.span, "Leave it out, or name a source."
        )
    micros = parse_duration(option.value)
    if micros is None or micros <= 0:
        raise statement.source.error(
            "refresh takes a length of time", option.value_span, "Write refresh = '10 seconds'."
        )
    return micros


def _table(statement: TableChange, catalog: Catalog) -> tuple[StreamDef, TableRows]:
    name = statement.table
    entry = catalog.find(name.text)
    if isinstance(entry, StreamDef) and isinstance(entry.table, ViewRows):
        raise statement.source.error(
            f"{name.text} is a view, and can't be written to",
            name.span,
            "Name a table: CREATE TABLE name (a INT, ...).",
        )
    if isinstance(entry, StreamDef) and entry.refresh is not None:
        raise statement.source.error(
            f"{name.text} is read anew from its source again and again, which would undo this",
            name.span,
            "Change the rows there, or declare the table without refresh.",
        )
    if isinstance(entry, StreamDef) and entry.table is not None:
        return entry, entry.table
    if entry is not None:
        raise statement.source.error(
            f"{name.text} is a stream, and can't be written to",
            name.span,
            "Name a table: CREATE TABLE name (a INT, ...).",
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
            raise statement.source.error(f"{field.name} appears twice", name.span, "Remove one of the two.")
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
            raise statement.source.error(f"{field.name} is set twice", name.span, "Remove one of the two.")
        made[field.name] = _cast(binder.bind(node), field.dtype, field.name, node, statement.source)
    return made


__all__ = ["LATENT", "BoundTable", "bind_assignments", "bind_table", "bind_values", "bind_where", "target_columns"]
