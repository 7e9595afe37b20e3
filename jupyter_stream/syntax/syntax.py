"""Statements as written, before names are resolved. Frozen, with places."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import polars as pl

from jupyter_stream.syntax.nodes import Node
from jupyter_stream.syntax.query_syntax import (
    EmitClause,
    PreferenceClause,
    QueryBody,
    TargetClause,
    ToleranceClause,
    streams_in,
)
from jupyter_stream.syntax.source_text import Name, SourceText, Span


@dataclass(frozen=True, eq=False, kw_only=True)
class _Statement:
    """What every statement has.

    Attributes:
        source: the whole cell, for errors.
        span: where the statement is.
        text: the statement as typed.
    """

    source: SourceText
    span: Span
    text: str

    @property
    def line(self) -> int:
        """The line it begins on."""
        return self.source.line_and_column(self.span.start)[0]


@dataclass(frozen=True, eq=False, kw_only=True)
class Declaration(_Statement):
    """CREATE of a stream, a table, a view or a sink.

    Attributes:
        name: what is declared.
        unless_exists: with IF NOT EXISTS, whatever has the name already stays.
    """

    name: Name
    unless_exists: bool = False


@dataclass(frozen=True, slots=True)
class ColumnDef:
    """A declared column."""

    name: Name
    dtype: pl.DataType


@dataclass(frozen=True, slots=True)
class ComputedDef:
    """`name AS expression` among the columns: computed from those of the source.

    Attributes:
        name: its name.
        expression: as written.
        place: before which of the other columns it stands.
    """

    name: Name
    expression: Node
    place: int


@dataclass(frozen=True, slots=True)
class WatermarkClause:
    """WATERMARK FOR column AS column - delay (microseconds). `path` is the field it names, `meta.ts`, where it is no column."""

    column: Name
    delay: int
    span: Span
    path: Node | None = None


@dataclass(frozen=True, slots=True)
class ClusteredClause:
    """CONSTRAINT CLUSTERED (column) WITHIN `rows` ROWS."""

    column: Name
    rows: int
    span: Span


@dataclass(frozen=True, slots=True)
class OrderedClause:
    """CONSTRAINT ORDERED (column) WITHIN so many rows, or microseconds."""

    column: Name
    within: int
    in_rows: bool
    span: Span


@dataclass(frozen=True, slots=True)
class ReferenceClause:
    """FOREIGN KEY (columns) REFERENCES stream [(theirs)] WITHIN `within` (microseconds)."""

    columns: tuple[Name, ...]
    stream: Name
    theirs: tuple[Name, ...] | None
    within: int
    span: Span


ConstraintClause = ClusteredClause | OrderedClause | ReferenceClause


@dataclass(frozen=True, slots=True)
class WithOption:
    """One option of WITH. The name is in lower case."""

    name: Name
    value: str
    value_span: Span


@dataclass(frozen=True, eq=False, kw_only=True)
class CreateStream(Declaration):
    """CREATE STREAM name (...) ORDER BY ... SOURCE ... WHERE ... WITH (...). `order_path` is as `WatermarkClause.path`."""

    columns: tuple[ColumnDef, ...] | None
    watermark: WatermarkClause | None
    order_by: Name | None
    uri: str
    uri_span: Span
    options: tuple[WithOption, ...]
    constraints: tuple[ConstraintClause, ...] = ()
    order_path: Node | None = None
    computed: tuple[ComputedDef, ...] = ()
    where: Node | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class CreateStreamAs(Declaration):
    """CREATE STREAM name [(columns)] [ORDER BY time] AS SELECT ... [WATERMARK FOR ...]."""

    columns: tuple[Name, ...] | None
    body: QueryBody
    query_text: str
    order_by: Name | None = None
    watermark: WatermarkClause | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class CreateView(Declaration):
    """CREATE VIEW name [(columns)] AS SELECT ...."""

    columns: tuple[Name, ...] | None
    body: QueryBody


@dataclass(frozen=True, eq=False, kw_only=True)
class CreateTable(Declaration):
    """CREATE [RETROACTIVE] TABLE name (...) [SOURCE ... [WITH ...]]; without SOURCE it is empty."""

    columns: tuple[ColumnDef, ...] | None
    uri: str | None
    uri_span: Span
    options: tuple[WithOption, ...]
    retroactive: bool = False


@dataclass(frozen=True, eq=False, kw_only=True)
class CreateTableAs(Declaration):
    """CREATE [RETROACTIVE] TABLE name [(columns)] AS SELECT ...."""

    columns: tuple[Name, ...] | None
    body: QueryBody
    retroactive: bool = False


@dataclass(frozen=True, eq=False, kw_only=True)
class CreateSink(Declaration):
    """CREATE SINK name [(columns)] TO 'uri' [WITH (...)]."""

    columns: tuple[ColumnDef, ...] | None
    uri: str
    uri_span: Span
    options: tuple[WithOption, ...]


@dataclass(frozen=True, eq=False, kw_only=True)
class Insert(_Statement):
    """INSERT INTO table [(columns)] VALUES (...), ... or [WITH (...)] SELECT ...: one of `rows` and `select`.

    Attributes:
        table: a table, or a sink; what was written where it is an address.
        uri: the address; None for a name.
        options: of a sink.
    """

    table: Name
    columns: tuple[Name, ...] | None
    rows: tuple[tuple[Node, ...], ...]
    select: Select | None
    uri: str | None = None
    options: tuple[WithOption, ...] = ()


@dataclass(frozen=True, eq=False, kw_only=True)
class Delete(_Statement):
    """DELETE FROM table [WHERE ...]."""

    table: Name
    where: Node | None


@dataclass(frozen=True, eq=False, kw_only=True)
class Update(_Statement):
    """UPDATE table SET column = value, ... [WHERE ...]."""

    table: Name
    assignments: tuple[tuple[Name, Node], ...]
    where: Node | None


@dataclass(frozen=True, eq=False)
class BodyInsert:
    """INSERT INTO table [(columns)] VALUES (...), ... [WHERE ...] or SELECT ..., in an aggregate's body.

    Attributes:
        table: RETURN, or one of the body's tables.
        rows: of VALUES.
        where: behind VALUES.
        select: one of `rows` and `select`.
        span: where it stands.
    """

    table: Name
    columns: tuple[Name, ...] | None
    rows: tuple[tuple[Node, ...], ...]
    where: Node | None
    select: QueryBody | None
    span: Span


@dataclass(frozen=True, eq=False)
class BodyUpdate:
    """UPDATE table SET column = value, ... [WHERE ...], in an aggregate's body."""

    table: Name
    assignments: tuple[tuple[Name, Node], ...]
    where: Node | None
    span: Span


@dataclass(frozen=True, eq=False)
class BodyDelete:
    """DELETE FROM table [WHERE ...], in an aggregate's body."""

    table: Name
    where: Node | None
    span: Span


BodyStatement: TypeAlias = BodyInsert | BodyUpdate | BodyDelete


@dataclass(frozen=True, slots=True)
class TypedName:
    """A parameter, a table's column or one of RETURN's; None where its type is left out."""

    name: Name
    dtype: pl.DataType | None


@dataclass(frozen=True, eq=False)
class BodyTable:
    """TABLE name (columns), in an aggregate's body."""

    name: Name
    columns: tuple[TypedName, ...]
    span: Span


INWINDOW: Final = "inwindow"
"""The table of an aggregate that holds the rows of its window, in lower case."""


@dataclass(frozen=True, eq=False, kw_only=True)
class CreateAggregate(_Statement):
    """CREATE [ALGEBRAIC] [WINDOW] AGGREGATE name (parameters) [: type] { ... } [esl].

    Attributes:
        algebraic, window: whether these words stand there.
        returns: the type behind the colon: one without a name, or several columns; None where it is left out.
        tables: TABLE declarations.
        states: INITIALIZE, ITERATE, TERMINATE and EXPIRE in lower case, with their statements; without those left out.
        places: where each state stands.
        references: tables of the session that it may write.
    """

    algebraic: bool
    window: bool
    name: Name
    parameters: tuple[TypedName, ...]
    returns: pl.DataType | None
    tables: tuple[BodyTable, ...]
    states: Mapping[str, tuple[BodyStatement, ...]]
    places: Mapping[str, Span]
    references: tuple[Name, ...] = ()

    @property
    def windowed(self) -> bool:
        """Whether it is a version for windows: declared as one, or written with what only windows have."""
        return self.window or "expire" in self.states or any(t.name.text.lower() == INWINDOW for t in self.tables)


@dataclass(frozen=True, eq=False, kw_only=True)
class CreateFunction(_Statement):
    """CREATE FUNCTION name (parameters) [: type] AS expression.

    Attributes:
        returns: the type of its values; None for the expression's own.
    """

    name: Name
    parameters: tuple[TypedName, ...]
    returns: pl.DataType | None
    expression: Node


@dataclass(frozen=True, eq=False, kw_only=True)
class Select(_Statement):
    """A query.

    Attributes:
        target: of APPROXIMATE SELECT, what it is to fit into.
    """

    body: QueryBody
    emit: EmitClause | None
    preference: PreferenceClause | None = None
    tolerance: ToleranceClause | None = None
    target: TargetClause | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class ApproximateQuery(_Statement):
    """APPROXIMATE QUERY name TO size: a query that is there, changed to fit."""

    name: Name
    target: TargetClause


@dataclass(frozen=True, eq=False, kw_only=True)
class CreateSummary(_Statement):
    """CREATE SUMMARY name ON stream (columns) WITH GRANULARITY d AND COLLAPSE (rate, depth) [USING kind].

    Attributes:
        granularity: the length of the newest granularity, microseconds.
        kind: how cells are summarised, as written; None for the default.
    """

    name: Name
    stream: Name
    columns: tuple[Name, ...]
    granularity: int
    granularity_span: Span
    rate: int
    depth: int
    kind: Name | None


@dataclass(frozen=True, eq=False, kw_only=True)
class Show(_Statement):
    """SHOW STREAMS, QUERIES, TABLES, VIEWS, SOURCES, SINKS, FUNCTIONS, AGGREGATES, SUMMARIES, SCHEDULERS: `what`, lower case."""

    what: Literal[
        "streams",
        "queries",
        "tables",
        "views",
        "sources",
        "sinks",
        "functions",
        "aggregates",
        "summaries",
        "schedulers",
    ]


@dataclass(frozen=True, eq=False, kw_only=True)
class Describe(_Statement):
    """DESCRIBE name; `function` for `late(name)` and `errors(name)`."""

    name: Name
    function: Literal["late", "errors"] | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class DescribeAggregate(_Statement):
    """DESCRIBE AGGREGATE name."""

    name: Name


@dataclass(frozen=True, eq=False, kw_only=True)
class DescribeSummary(_Statement):
    """DESCRIBE SUMMARY name."""

    name: Name


@dataclass(frozen=True, eq=False, kw_only=True)
class DescribeSink(_Statement):
    """DESCRIBE SINK name."""

    name: Name


@dataclass(frozen=True, eq=False, kw_only=True)
class DescribeFunctions(_Statement):
    """DESCRIBE FUNCTIONS, or DESCRIBE FUNCTION name."""

    name: Name | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class Drop(_Statement):
    """DROP STREAM [IF EXISTS] name."""

    kind: Literal["stream", "table", "view", "query", "aggregate", "function", "summary", "sink"]
    name: Name
    if_exists: bool


@dataclass(frozen=True, eq=False, kw_only=True)
class Explain(_Statement):
    """EXPLAIN SELECT ... [ON SPARK], or EXPLAIN name of a query."""

    select: Select | None
    name: Name | None
    engine: Literal["kernel", "spark"]


TableChange: TypeAlias = Insert | Delete | Update
Statement: TypeAlias = (
    ApproximateQuery
    | CreateStream
    | CreateStreamAs
    | CreateView
    | CreateTable
    | CreateTableAs
    | CreateAggregate
    | CreateFunction
    | CreateSummary
    | CreateSink
    | DescribeAggregate
    | DescribeSummary
    | DescribeSink
    | TableChange
    | Select
    | Show
    | Describe
    | DescribeFunctions
    | Drop
    | Explain
)


def stream_names(statement: Statement) -> tuple[str, ...]:
    """Names of the streams a statement reads, as written."""
    if isinstance(statement, Explain):
        return () if statement.select is None else stream_names(statement.select)
    if isinstance(statement, Insert):
        return () if statement.select is None else stream_names(statement.select)
    if isinstance(statement, Select | CreateStreamAs | CreateView | CreateTableAs):
        return tuple(dict.fromkeys(streams_in(statement.body)))
    return ()
