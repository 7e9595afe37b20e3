"""FROM in the body of an aggregate: its tables and the session's, joins, SELECTs; and SELECTs put together by set operations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, Literal, Protocol

import polars as pl

from jupyter_stream import functions
from jupyter_stream.aggregates.user.body import (
    DERIVED,
    BodyOrder,
    DerivedRows,
    PairedRows,
    Read,
    SelectRows,
    SetRows,
    Source,
)
from jupyter_stream.binding.bind_expression import ExpressionBinder
from jupyter_stream.binding.body_clauses import refuse_clauses_of_item, under_names
from jupyter_stream.binding.body_names import Level, NamedTable
from jupyter_stream.core.schema import Field, Schema, type_name
from jupyter_stream.errors import UnsupportedError
from jupyter_stream.functions import Column, Expr
from jupyter_stream.functions.types import common_type
from jupyter_stream.syntax.nodes import ColumnRef, Constant
from jupyter_stream.syntax.query_syntax import (
    FromItem,
    ItemsRef,
    JoinKind,
    JoinRef,
    MatchRef,
    Ordering,
    QueryBody,
    RecursiveRef,
    SelectBody,
    SetBody,
    StreamRef,
    SubqueryRef,
    UnionRef,
    reads_nothing,
)
from jupyter_stream.syntax.source_text import Name, SourceText, Span

Named = list[tuple[str | None, Expr]]
"""Items with the names they have."""


_KINDS: Final[dict[JoinKind, Literal["inner", "left", "full"]]] = {
    "inner": "inner", "left": "left", "right": "left", "full": "full",
}  # fmt: skip


class BodyReader(Protocol):
    """The body that is being bound."""

    source: SourceText
    places: int

    def select(self, body: SelectBody, level: Level) -> tuple[SelectRows, Named]:
        """A SELECT, and its items."""

    def table(self, name: Name) -> NamedTable:
        """A table by its name."""

    def read(self, table: NamedTable) -> Read:
        """Places for the rows of a table."""

    def binder(self, level: Level, clause: str) -> ExpressionBinder:
        """Binds expressions of a statement."""

    def equal(self, pair: Sequence[Expr], span: Span) -> Expr:
        """Two values compared, as one type."""


def bind_source(body: BodyReader, item: FromItem, level: Level) -> Source | None:
    """What FROM reads, its columns added to the level; None for nothing.

    Raises:
        QueryError: an unknown table, one named twice.
        UnsupportedError: something a body can't read.
    """
    if reads_nothing(item):
        return None
    refuse_clauses_of_item(item, body.source)
    match item:
        case JoinRef():
            return _join(body, item, level)
        case SubqueryRef(lateral=False, as_of=None, unpacked=False):
            return _derived(body, item.body, item.alias, level, item)
        case StreamRef(function=None, as_of=None):
            table = body.table(item.name)
            read = body.read(table)
            named = replace(table, schema=under_names(table.schema, item.columns, body.source))
            _add(body, level, named, (item.alias or item.name).text.lower(), read, item)
            return read
    match item:
        case UnionRef():
            what = "streams"
        case SubqueryRef(unpacked=True):
            what = "TABLE(...)"
        case SubqueryRef() | StreamRef(function=None):
            what = "LATERAL and FOR SYSTEM_TIME"
        case RecursiveRef():
            what = "WITH RECURSIVE"
        case MatchRef():
            what = "MATCH_RECOGNIZE"
        case ItemsRef():
            what = f"{item.function}(...)"
        case StreamRef():
            what = f"{item.function}({item.name.text})"
    raise body.source.error(
        f"the body of an aggregate can't read {what}",
        item.span,
        "It reads tables, and SELECTs of them.",
        UnsupportedError,
    )


def _add(body: BodyReader, level: Level, table: NamedTable, qualifier: str, read: Read, item: FromItem) -> None:
    if qualifier and any(q == qualifier for _, q, _ in level.reads):
        raise body.source.error(
            f"{table.name} appears twice in FROM",
            item.span,
            "Give one of them another name: FROM t AS a, t AS b.",
        )
    level.reads.append((table, qualifier, read))


def _derived(body: BodyReader, query: QueryBody, alias: Name | None, level: Level, item: SubqueryRef) -> DerivedRows:
    made, items = bind_query(body, query, level.outer)
    schema = Schema(tuple(Field(n or f"col{i + 1}", e.dtype) for i, (n, e) in enumerate(items)))
    schema = under_names(schema, item.columns, body.source)
    called = alias.text if alias is not None else ""
    table = NamedTable(DERIVED, called or "this SELECT", schema)
    read = body.read(table)
    _add(body, level, table, called.lower(), read, item)
    return DerivedRows(made, read.place, read.width)


def _join(body: BodyReader, item: JoinRef, level: Level) -> PairedRows:
    if item.kind in ("semi", "anti") or item.natural is not None or item.asof is not None:
        raise body.source.error(
            "this join isn't available in the body of an aggregate",
            item.span,
            "Write JOIN ... ON, or a condition with EXISTS.",
            UnsupportedError,
        )
    sides = item.parts if item.kind != "right" else item.parts[::-1]
    begins, before = body.places, len(level.reads)
    left = bind_source(body, sides[0], level)
    first, between = body.places, len(level.reads)
    right = bind_source(body, sides[1], level)
    assert left is not None and right is not None
    end = body.places
    on = None
    if item.on is not None:
        on = body.binder(level, "ON").condition(item.on, "ON")
    for name in item.using:
        columns = [_column(body, name, level.reads[a:b]) for a, b in ((before, between), (between, None))]
        pair = [level.merged.get(column.name, column) for column in columns]
        same = body.equal(pair, name.span)
        on = same if on is None else functions.resolve("and", [on, same])
        level.using[name.text.lower()] = one = functions.resolve("coalesce", pair)
        among = [column for column, merged in level.merged.items() if merged in pair]
        level.merged |= dict.fromkeys([*among, *(column.name for column in columns)], one)
    if item.kind == "right":  # the columns of * stand as written
        level.reads[before:] = [*level.reads[between:], *level.reads[before:between]]
    return PairedRows(_KINDS[item.kind], left, right, on, begins, (first, end))


def _column(body: BodyReader, name: Name, reads: list[tuple[NamedTable, str, Read]]) -> Column:
    for table, _, read in reads:
        known = table.schema.find(name.text)
        if known is not None:
            return Column(f"#{read.place + table.schema.names.index(known.name)}", known.dtype)
    raise body.source.error(f"one of the tables has no column called {name.text}", name.span)


def bind_query(body: BodyReader, query: QueryBody, outer: Level | None) -> tuple[SelectRows | SetRows, Named]:
    """A SELECT, or several put together, and its items. Raises `QueryError` for parts of different columns."""
    if isinstance(query, SelectBody):
        return body.select(query, Level(outer=outer))
    made, items = _set(body, query, outer)
    if query.order is None:
        return made, items
    whole, read = _as_select(body, made, items, query.order)
    return whole, [(n, Column(f"#{read + i}", e.dtype)) for i, (n, e) in enumerate(items)]


def _set(body: BodyReader, query: SetBody, outer: Level | None) -> tuple[SetRows, Named]:
    if query.on:
        raise body.source.error(
            "EXCEPT ALL ON isn't available in the body of an aggregate", query.operator.span, None, UnsupportedError
        )
    made, items = bind_query(body, query.parts[0], outer)
    for part in query.parts[1:]:
        other, others = bind_query(body, part, outer)
        if len(others) != len(items):
            raise body.source.error(
                f"{query.operator.text} puts {len(items)} and {len(others)} columns together",
                query.operator.span,
                "Select the same columns in each part.",
            )
        types: list[pl.DataType] = []
        for i, ((_, a), (_, b)) in enumerate(zip(items, others, strict=True)):
            common = common_type([a.dtype, b.dtype])
            if common is None:
                raise body.source.error(
                    f"column {i + 1} of {query.operator.text} can't be {type_name(a.dtype)} and {type_name(b.dtype)}",
                    query.operator.span,
                    "Columns are matched by position: reorder or cast one.",
                )
            types.append(common)
        kept: SelectRows | SetRows = SetRows(query.kind, query.all, (_cast(made, types), _cast(other, types)))
        made, items = kept, [(n, Column("", t)) for (n, _), t in zip(items, types, strict=True)]
    assert isinstance(made, SetRows)
    return made, items


def _cast(query: SelectRows | SetRows, types: list[pl.DataType]) -> SelectRows | SetRows:
    if isinstance(query, SetRows):
        return replace(query, parts=tuple(_cast(part, types) for part in query.parts))
    return replace(query, items=tuple(functions.cast(e, t) for e, t in zip(query.items, types, strict=True)))


def _as_select(body: BodyReader, made: SetRows, items: Named, order: Ordering | None) -> tuple[SelectRows, int]:
    """A set operation as a SELECT of its rows, in an order; and the place of its first column."""
    schema = Schema(tuple(Field(n or f"col{i + 1}", e.dtype) for i, (n, e) in enumerate(items)))
    read = body.read(NamedTable(DERIVED, "", schema))
    columns = tuple(Column(f"#{read.place + i}", f.dtype) for i, f in enumerate(schema))
    ordered = None
    if order is not None:
        keys = []
        for item in order.items:
            node, key = item.expression, None
            if isinstance(node, Constant) and type(node.value) is int and 1 <= node.value <= len(columns):
                key = columns[node.value - 1]
            elif isinstance(node, ColumnRef) and schema.find(node.name.text) is not None:
                known = schema.find(node.name.text)
                key = columns[schema.names.index(known.name)] if known is not None else None
            if key is None:
                raise body.source.error(
                    "after a set operation, ORDER BY can only name a column of it",
                    item.span,
                    "Write its name or number.",
                )
            keys.append((key, item.descending, item.nulls_last))
        ordered = BodyOrder(tuple(keys), order.limit, order.offset)
    source = DerivedRows(made, read.place, read.width)
    return SelectRows((), None, (), (), False, None, columns, False, ordered, source), read.place


def select_of_set(body: BodyReader, query: SetBody, outer: Level | None) -> tuple[SelectRows, Named]:
    """A set operation as one SELECT, and its items."""
    made, items = _set(body, query, outer)
    whole, place = _as_select(body, made, items, query.order)
    return whole, [(n, Column(f"#{place + i}", e.dtype)) for i, (n, e) in enumerate(items)]


__all__ = ["bind_query", "bind_source", "select_of_set"]
