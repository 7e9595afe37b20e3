"""A query as written, before names are resolved: SELECTs, FROM items, window clauses. Frozen, with places."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from jupyter_stream.language.nodes import ColumnRef, Node
from jupyter_stream.language.source_text import Name, Span


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
        value: it isn't written: a SELECT that stands for a value is joined with what it is asked for.
    """

    kind: JoinKind
    parts: tuple[FromItem, FromItem]
    on: Node | None
    using: tuple[Name, ...]
    span: Span
    window: WindowClause | None = None
    alias: Name | None = None
    sample: SampleClause | None = None
    value: bool = False


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


def parts_of(item: FromItem) -> Iterator[FromItem]:
    """A FROM item and those it is made of, down to streams and SELECTs."""
    yield item
    if isinstance(item, UnionRef | JoinRef):
        for part in item.parts:
            yield from parts_of(part)


def streams_in(body: QueryBody) -> Iterator[str]:
    """Names of the streams a query reads, as written."""
    if isinstance(body, SetBody):
        for part in body.parts:
            yield from streams_in(part)
    else:
        yield from _in_item(body.source)


def _in_item(item: FromItem) -> Iterator[str]:
    if isinstance(item, StreamRef):
        yield item.name.text
    elif isinstance(item, SubqueryRef):
        yield from streams_in(item.body)
    else:
        for part in item.parts:
            yield from _in_item(part)
