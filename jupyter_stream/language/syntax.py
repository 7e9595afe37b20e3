"""What the text says, before names are resolved: statements, SELECTs, FROM items, window clauses. Frozen, with places."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import polars as pl

from jupyter_stream.language.nodes import ColumnRef, Node
from jupyter_stream.language.source_text import Name, SourceText, Span


@dataclass(frozen=True, slots=True)
class Amount:
    """A length of time or a number of rows.

    Attributes:
        kind: `time`: value is microseconds; `rows`: value is a number of rows; `bare`: a number without a unit.
        value: see `kind`.
        span: where it stands.
    """

    kind: Literal["time", "rows", "bare"]
    value: int
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class WindowClause:
    """A window as written, in any of the spellings. Equal to another that says the same in other places.

    Attributes:
        span: where it stands, brackets included.
        range: RANGE d or ROWS n; None for the forms without a length.
        landmark: RANGE ALL.
        unbounded: RANGE UNBOUNDED.
        now: NOW.
        slide: SLIDE; equal to `range` for TUMBLING.
        by_rank: SLIDE n ROWS BY RANK.
        session: the gap of SESSION.
        partition: PARTITION BY or PA.
        where: the filter of a partitioned window.
        on: the windowing attribute (ON, WA, WATTR, RATTR).
        slide_on: SATTR.
        origin: ORIGIN.
        active_expiration: ACTIVE EXPIRATION.
        over: written as OVER (...): the range then counts rows before the current one.
        starts: written in the way of Flink or Spark: extents start at multiples of the slide.
    """

    span: Span = field(compare=False)
    range: Amount | None = None
    landmark: bool = False
    unbounded: bool = False
    now: bool = False
    slide: Amount | None = None
    by_rank: bool = False
    session: Amount | None = None
    partition: tuple[ColumnRef, ...] = ()
    where: Node | None = None
    on: Name | None = None
    slide_on: Name | None = None
    origin: Node | None = None
    active_expiration: bool = False
    over: bool = False
    starts: bool = False


@dataclass(frozen=True, slots=True)
class SampleClause:
    """SAMPLE(p): the percentage, and where it stands."""

    percent: float
    span: Span


@dataclass(frozen=True, eq=False)
class SelectItem:
    """One item of a select list.

    Attributes:
        expression: a `Star` for `*` and `s.*`.
        alias: the name after AS.
        text: as typed, but for the window behind an aggregate: the column's name where there is no alias.
        span: where it stands.
    """

    expression: Node
    alias: Name | None
    text: str
    span: Span


@dataclass(frozen=True, eq=False)
class StreamRef:
    """A stream by name, or `late(name)` or `errors(name)`."""

    name: Name
    function: Literal["late", "errors"] | None
    window: WindowClause | None
    alias: Name | None
    span: Span
    sample: SampleClause | None = None


@dataclass(frozen=True, eq=False)
class SubqueryRef:
    """A SELECT in FROM."""

    body: QueryBody
    window: WindowClause | None
    alias: Name | None
    span: Span
    sample: SampleClause | None = None


@dataclass(frozen=True, eq=False)
class UnionRef:
    """A UNION of FROM items: a bag union."""

    parts: tuple[FromItem, ...]
    window: WindowClause | None
    alias: Name | None
    span: Span
    sample: SampleClause | None = None


JoinKind: TypeAlias = Literal["inner", "left", "right", "full", "semi", "anti"]


@dataclass(frozen=True, eq=False)
class JoinRef:
    """Two FROM items joined: with JOIN, or with a comma between them.

    Attributes:
        kind: which rows come out.
        parts: the left and the right one.
        on: the condition of ON; None with USING, for a comma and for CROSS.
        using: columns of USING.
        span: where it stands.
    """

    kind: JoinKind
    parts: tuple[FromItem, FromItem]
    on: Node | None
    using: tuple[Name, ...]
    span: Span
    window: WindowClause | None = None
    alias: Name | None = None
    sample: SampleClause | None = None


FromItem: TypeAlias = StreamRef | SubqueryRef | UnionRef | JoinRef


@dataclass(frozen=True, slots=True)
class EmitClause:
    """EMIT FINAL, EMIT CHANGES or EMIT EVERY d."""

    mode: Literal["final", "every", "changes"]
    interval: int | None
    span: Span


@dataclass(frozen=True, slots=True)
class PreferenceClause:
    """WITH PREFERENCE [promising-tuples].

    Attributes:
        order: which answers come first: those of the greatest value, of the least, or a fair sample.
        items: the expressions, and where each stands.
        fade: what a priority is multiplied by for each granularity further back, in (0, 1].
        window: WINDOW, microseconds.
        window_span: where that stands.
        span: the whole clause.
    """

    order: Literal["desc", "asc", "weighted"]
    items: tuple[tuple[Node, Span], ...]
    fade: float
    window: int | None
    window_span: Span | None
    span: Span


@dataclass(frozen=True)
class OrderItem:
    """One key of ORDER BY; `text` as typed."""

    expression: Node
    text: str = field(compare=False)
    descending: bool
    nulls_last: bool
    span: Span = field(compare=False)


@dataclass(frozen=True, eq=False)
class Ordering:
    """ORDER BY ... LIMIT n OFFSET m; any part may be missing."""

    items: tuple[OrderItem, ...]
    limit: int | None
    offset: int
    span: Span


@dataclass(frozen=True, eq=False)
class SelectBody:
    """One SELECT.

    Attributes:
        select: where its first word stands.
        operator: ISTREAM, DSTREAM or RSTREAM, where written.
        distinct: where DISTINCT stands, None if it isn't written.
        items: the select list.
        source: the FROM item.
        where, having: conditions.
        group_by: grouping expressions; () without GROUP BY.
        group_all: GROUP BY ALL.
        span: the whole SELECT.
        qualify: QUALIFY, a condition on row numbers.
    """

    select: Span
    operator: Name | None
    distinct: Span | None
    items: tuple[SelectItem, ...]
    source: FromItem
    where: Node | None
    group_by: tuple[Node, ...]
    group_all: bool
    having: Node | None
    span: Span
    order: Ordering | None = None
    qualify: Node | None = None


@dataclass(frozen=True, eq=False)
class SetBody:
    """SELECTs put together by UNION, EXCEPT or INTERSECT.

    Attributes:
        kind: which.
        parts: two; more only of a UNION ALL.
        all: whether equal rows are kept apart.
        operator: the word, and where it stands.
        on: columns of EXCEPT ALL ON.
    """

    kind: Literal["union", "except", "intersect"]
    parts: tuple[QueryBody, ...]
    all: bool
    operator: Name
    span: Span
    on: tuple[Name, ...] = ()
    order: Ordering | None = None


QueryBody: TypeAlias = SelectBody | SetBody


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


@dataclass(frozen=True, slots=True)
class ColumnDef:
    """A declared column."""

    name: Name
    dtype: pl.DataType


@dataclass(frozen=True, slots=True)
class WatermarkClause:
    """WATERMARK FOR column AS column - delay (microseconds)."""

    column: Name
    delay: int
    span: Span


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
class Option:
    """One option of WITH. The name is in lower case."""

    name: Name
    value: str
    value_span: Span


@dataclass(frozen=True, eq=False, kw_only=True)
class CreateStream(_Statement):
    """CREATE STREAM name (...) ORDER BY ... SOURCE ... WITH (...)."""

    name: Name
    columns: tuple[ColumnDef, ...] | None
    watermark: WatermarkClause | None
    order_by: Name | None
    uri: str
    uri_span: Span
    options: tuple[Option, ...]
    constraints: tuple[ConstraintClause, ...] = ()


@dataclass(frozen=True, eq=False, kw_only=True)
class CreateStreamAs(_Statement):
    """CREATE STREAM name [(columns)] AS SELECT ...."""

    name: Name
    columns: tuple[Name, ...] | None
    body: QueryBody
    query_text: str


@dataclass(frozen=True, eq=False, kw_only=True)
class CreateView(_Statement):
    """CREATE VIEW name [(columns)] AS SELECT ...."""

    name: Name
    columns: tuple[Name, ...] | None
    body: QueryBody


@dataclass(frozen=True, eq=False, kw_only=True)
class CreateTable(_Statement):
    """CREATE [RETROACTIVE] TABLE name (...) [SOURCE ... [WITH ...]]; without SOURCE it is empty."""

    name: Name
    columns: tuple[ColumnDef, ...] | None
    uri: str | None
    uri_span: Span
    options: tuple[Option, ...]
    retroactive: bool = False


@dataclass(frozen=True, eq=False, kw_only=True)
class CreateTableAs(_Statement):
    """CREATE [RETROACTIVE] TABLE name [(columns)] AS SELECT ...."""

    name: Name
    columns: tuple[Name, ...] | None
    body: QueryBody
    retroactive: bool = False


@dataclass(frozen=True, eq=False, kw_only=True)
class Insert(_Statement):
    """INSERT INTO table [(columns)] VALUES (...), ... or SELECT ...: one of `rows` and `select`."""

    table: Name
    columns: tuple[Name, ...] | None
    rows: tuple[tuple[Node, ...], ...]
    select: Select | None


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


@dataclass(frozen=True, eq=False, kw_only=True)
class CreateAggregate(_Statement):
    """CREATE [ALGEBRAIC] [WINDOW] AGGREGATE name (parameters) [: type] { ... } [esl].

    Attributes:
        algebraic, window: whether these words stand there.
        returns: the type behind the colon: one without a name, or several columns; None where it is left out.
        tables: TABLE declarations.
        states: INITIALIZE, ITERATE, TERMINATE and EXPIRE in lower case, with their statements; without those left out.
        places: where each state stands.
    """

    algebraic: bool
    window: bool
    name: Name
    parameters: tuple[TypedName, ...]
    returns: pl.DataType | None
    tables: tuple[BodyTable, ...]
    states: Mapping[str, tuple[BodyStatement, ...]]
    places: Mapping[str, Span]


@dataclass(frozen=True, eq=False, kw_only=True)
class Select(_Statement):
    """A query."""

    body: QueryBody
    emit: EmitClause | None
    preference: PreferenceClause | None = None


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
    """SHOW STREAMS, QUERIES, TABLES, VIEWS, SOURCES, FUNCTIONS, AGGREGATES or SUMMARIES; `what` is in lower case."""

    what: Literal["streams", "queries", "tables", "views", "sources", "functions", "aggregates", "summaries"]


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
class DescribeFunctions(_Statement):
    """DESCRIBE FUNCTIONS, or DESCRIBE FUNCTION name."""

    name: Name | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class Drop(_Statement):
    """DROP STREAM [IF EXISTS] name."""

    kind: Literal["stream", "table", "view", "query", "aggregate", "summary"]
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
    CreateStream
    | CreateStreamAs
    | CreateView
    | CreateTable
    | CreateTableAs
    | CreateAggregate
    | CreateSummary
    | DescribeAggregate
    | DescribeSummary
    | TableChange
    | Select
    | Show
    | Describe
    | DescribeFunctions
    | Drop
    | Explain
)


def parts_of(item: FromItem) -> Iterator[FromItem]:
    """A FROM item and those it is made of, down to streams and SELECTs."""
    yield item
    if isinstance(item, UnionRef | JoinRef):
        for part in item.parts:
            yield from parts_of(part)


def stream_names(statement: Statement) -> tuple[str, ...]:
    """Names of the streams a statement reads, as written."""
    if isinstance(statement, Explain):
        return () if statement.select is None else stream_names(statement.select)
    if isinstance(statement, Select | CreateStreamAs | CreateView | CreateTableAs):
        return tuple(dict.fromkeys(_in_body(statement.body)))
    return ()


def _in_body(body: QueryBody) -> Iterator[str]:
    if isinstance(body, SetBody):
        for part in body.parts:
            yield from _in_body(part)
    else:
        yield from _in_item(body.source)


def _in_item(item: FromItem) -> Iterator[str]:
    if isinstance(item, StreamRef):
        yield item.name.text
    elif isinstance(item, SubqueryRef):
        yield from _in_body(item.body)
    else:
        for part in item.parts:
            yield from _in_item(part)
