"""What the text says, before names are resolved: statements, SELECTs, FROM items, window clauses. Frozen, with places."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

import polars as pl
from sqlglot import exp

from jupyter_stream.language.source_text import SourceText, Span


@dataclass(frozen=True, slots=True)
class Name:
    """A name and where it stands."""

    text: str
    span: Span


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
    span: Span


@dataclass(frozen=True, eq=False)
class WindowClause:
    """A window as written, in any of the spellings.

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

    span: Span
    range: Amount | None = None
    landmark: bool = False
    unbounded: bool = False
    now: bool = False
    slide: Amount | None = None
    by_rank: bool = False
    session: Amount | None = None
    partition: tuple[exp.Expr, ...] = ()
    where: exp.Expr | None = None
    on: Name | None = None
    slide_on: Name | None = None
    origin: exp.Expr | None = None
    active_expiration: bool = False
    over: bool = False
    starts: bool = False

    def key(self) -> tuple[object, ...]:
        """What two clauses that say the same have in common."""

        def amount(a: Amount | None) -> object:
            return None if a is None else (a.kind, a.value)

        return (
            amount(self.range), self.landmark, self.unbounded, self.now, amount(self.slide), self.by_rank,
            amount(self.session), tuple(p.sql().lower() for p in self.partition), self.where and self.where.sql(),
            self.on and self.on.text.lower(), self.slide_on and self.slide_on.text.lower(),
            self.origin and repr(self.origin), self.active_expiration, self.over, self.starts,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class SelectItem:
    """One item of a select list.

    Attributes:
        expression: an `exp.Star`, or a column of one, for `*` and `s.*`.
        alias: the name after AS.
        text: as typed, but for the window behind an aggregate: the column's name where there is no alias.
        span: where it stands.
    """

    expression: exp.Expr
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


@dataclass(frozen=True, eq=False)
class SubqueryRef:
    """A SELECT in FROM."""

    body: QueryBody
    window: WindowClause | None
    alias: Name | None
    span: Span


@dataclass(frozen=True, eq=False)
class UnionRef:
    """A UNION of FROM items: a bag union."""

    parts: tuple[FromItem, ...]
    window: WindowClause | None
    alias: Name | None
    span: Span


FromItem: TypeAlias = StreamRef | SubqueryRef | UnionRef


@dataclass(frozen=True, slots=True)
class EmitClause:
    """EMIT FINAL, EMIT CHANGES or EMIT EVERY d."""

    mode: Literal["final", "every", "changes"]
    interval: int | None
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
    """

    select: Span
    operator: Name | None
    distinct: Span | None
    items: tuple[SelectItem, ...]
    source: FromItem
    where: exp.Expr | None
    group_by: tuple[exp.Expr, ...]
    group_all: bool
    having: exp.Expr | None
    span: Span


@dataclass(frozen=True, eq=False)
class SetBody:
    """SELECTs put together by UNION."""

    parts: tuple[QueryBody, ...]
    all: bool
    operator: Name
    span: Span


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


@dataclass(frozen=True, eq=False, kw_only=True)
class CreateStreamAs(_Statement):
    """CREATE STREAM name [(columns)] AS SELECT ...."""

    name: Name
    columns: tuple[Name, ...] | None
    body: QueryBody
    query_text: str


@dataclass(frozen=True, eq=False, kw_only=True)
class Select(_Statement):
    """A query."""

    body: QueryBody
    emit: EmitClause | None


@dataclass(frozen=True, eq=False, kw_only=True)
class Show(_Statement):
    """SHOW STREAMS, QUERIES, TABLES, VIEWS, SOURCES or FUNCTIONS; `what` is in lower case."""

    what: Literal["streams", "queries", "tables", "views", "sources", "functions"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Describe(_Statement):
    """DESCRIBE name; `function` for `late(name)` and `errors(name)`."""

    name: Name
    function: Literal["late", "errors"] | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class DescribeFunctions(_Statement):
    """DESCRIBE FUNCTIONS, or DESCRIBE FUNCTION name."""

    name: Name | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class Drop(_Statement):
    """DROP STREAM [IF EXISTS] name."""

    kind: Literal["stream", "table", "view", "query"]
    name: Name
    if_exists: bool


@dataclass(frozen=True, eq=False, kw_only=True)
class Explain(_Statement):
    """EXPLAIN SELECT ... [ON SPARK], or EXPLAIN name of a query."""

    select: Select | None
    name: Name | None
    engine: Literal["kernel", "spark"]


Statement: TypeAlias = CreateStream | CreateStreamAs | Select | Show | Describe | DescribeFunctions | Drop | Explain


def stream_names(statement: Statement) -> tuple[str, ...]:
    """Names of the streams a statement reads, as written."""
    if isinstance(statement, Explain):
        return () if statement.select is None else stream_names(statement.select)
    if isinstance(statement, Select | CreateStreamAs):
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
