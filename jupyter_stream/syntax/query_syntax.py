"""A query as written, before names are resolved: SELECTs, FROM items, window clauses. Frozen, with places."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

from jupyter_stream.core.table import ONE_ROW
from jupyter_stream.syntax.nodes import ColumnRef, Node
from jupyter_stream.syntax.source_text import Name, Span

if TYPE_CHECKING:
    from jupyter_stream.core.row_pattern import AfterMatch, RowPattern


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
class FrameEnd:
    """One end of a frame: so many rows, groups of peers or values before (negative) or behind the current row.

    Attributes:
        sign: -1 for PRECEDING, 0 for CURRENT ROW, 1 for FOLLOWING.
        distance: how far, as written; None for CURRENT ROW and UNBOUNDED.
        unbounded: whether it is the partition's own end.
        span: where it stands.
    """

    sign: int
    distance: Node | None
    unbounded: bool
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class FrameClause:
    """`ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING`, as it is written behind OVER.

    Attributes:
        unit: ROWS, RANGE or GROUPS, in lower case.
        low: where it begins.
        high: where it ends.
        span: where it stands.
    """

    unit: str
    low: FrameEnd
    high: FrameEnd
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class WindowClause:
    """A window as written, in any of the spellings. Equal to another that says the same in other places.

    Attributes:
        span: where it stands, brackets included.
        range: RANGE d or ROWS n; None for the forms without a length.
        landmark: RANGE ALL.
        unbounded: RANGE UNBOUNDED.
        peers: False for ROWS UNBOUNDED in OVER, which counts no row behind the current one.
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
        word: what chooses other extents than those of the last RANGE (`windows.BY_WORD`).
        shared: written behind the last of a list, for all of them.
        by: PARTITION BY of OVER where not all of it are columns.
        order: ORDER BY of OVER.
        frame: the frame of OVER where it is written in SQL's words.
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
    peers: bool = True
    word: str | None = None
    shared: bool = field(default=False, compare=False)
    by: tuple[Node, ...] = ()
    order: tuple[OrderItem, ...] = ()
    frame: FrameClause | None = None

    @property
    def partitions(self) -> tuple[Node, ...]:
        """PARTITION BY, whatever it holds."""
        return self.by or self.partition

    @property
    def counts(self) -> bool:
        """Whether it counts the rows of FROM, to hold so many of them or to slide by them."""
        return not self.over and any(a is not None and a.kind == "rows" for a in (self.range, self.slide))


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
    """A stream by name, or `late(name)` or `errors(name)`.

    Attributes:
        columns: the names in parentheses behind its alias.
        as_of: FOR SYSTEM_TIME AS OF: at which time it is looked up.
    """

    name: Name
    function: Literal["late", "errors"] | None
    window: WindowClause | None
    alias: Name | None
    span: Span
    sample: SampleClause | None = None
    columns: tuple[Name, ...] = ()
    as_of: Node | None = None


@dataclass(frozen=True, eq=False)
class SubqueryRef:
    """A SELECT in FROM.

    Attributes:
        unpacked: whether it isn't written: TABLE(f(1)) selects f(1), and the fields of a STRUCT are its columns.
        lateral: it may name columns of what stands before it in FROM.
        as_of: FOR SYSTEM_TIME AS OF: at which time it is looked up.
    """

    body: QueryBody
    window: WindowClause | None
    alias: Name | None
    span: Span
    sample: SampleClause | None = None
    columns: tuple[Name, ...] = ()
    unpacked: bool = False
    lateral: bool = False
    as_of: Node | None = None


@dataclass(frozen=True, eq=False)
class RecursiveRef:
    """A name of WITH RECURSIVE whose SELECT reads itself.

    Attributes:
        name: as written.
        base: what it begins with.
        step: what it makes of the rows of the round before, which it reads as `work`.
        work: the name of these rows.
        distinct: UNION rather than UNION ALL.
    """

    name: Name
    base: QueryBody
    step: QueryBody
    work: str
    distinct: bool
    window: WindowClause | None
    alias: Name | None
    span: Span
    sample: SampleClause | None = None
    columns: tuple[Name, ...] = ()


@dataclass(frozen=True, eq=False)
class ItemsRef:
    """The items of arrays as rows, for each row of what stands before it in FROM: `UNNEST(a)`, `explode(a)`.

    Attributes:
        function: as it is called, in lower case, without `_outer`.
        args: the arrays.
        outer: whether a row without items is kept, with NULL.
        numbered: whether the number of each item goes with it: WITH ORDINALITY, posexplode.
    """

    function: str
    args: tuple[Node, ...]
    outer: bool
    numbered: bool
    window: WindowClause | None
    alias: Name | None
    span: Span
    sample: SampleClause | None = None
    columns: tuple[Name, ...] = ()


@dataclass(frozen=True, eq=False)
class UnionRef:
    """A UNION of FROM items: a bag union."""

    parts: tuple[FromItem, ...]
    window: WindowClause | None
    alias: Name | None
    span: Span
    sample: SampleClause | None = None
    columns: tuple[Name, ...] = ()


@dataclass(frozen=True, eq=False)
class MatchClause:
    """MATCH_RECOGNIZE (...).

    Attributes:
        partition: PARTITION BY.
        order: ORDER BY.
        measures: what is told of a match, each with its name.
        finals: where the functions in them stand that have FINAL before them.
        all_rows: ALL ROWS PER MATCH.
        after: AFTER MATCH SKIP.
        after_names: the variable in it.
        pattern: the pattern; its variables as they are first written.
        pattern_span: where it stands.
        used: its variables, as written.
        within: WITHIN, microseconds.
        subsets: SUBSET.
        definitions: DEFINE.
        word: where its first word stands.
    """

    partition: tuple[Node, ...]
    order: tuple[OrderItem, ...]
    measures: tuple[SelectItem, ...]
    finals: frozenset[int]
    all_rows: bool
    after: AfterMatch
    after_names: Name | None
    pattern: RowPattern
    pattern_span: Span
    used: tuple[Name, ...]
    within: int | None
    subsets: tuple[tuple[Name, tuple[Name, ...]], ...]
    definitions: tuple[tuple[Name, Node], ...]
    span: Span
    word: Span


@dataclass(frozen=True, eq=False)
class MatchRef:
    """The matches of a row pattern among the rows of a FROM item."""

    input: FromItem
    clause: MatchClause
    window: WindowClause | None
    alias: Name | None
    span: Span
    sample: SampleClause | None = None
    columns: tuple[Name, ...] = ()


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
        natural: where NATURAL stands, None if it isn't written.
        asof: where ASOF stands, None if it isn't written.
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
    natural: Span | None = None
    asof: Span | None = None
    columns: tuple[Name, ...] = ()


FromItem: TypeAlias = StreamRef | SubqueryRef | RecursiveRef | ItemsRef | UnionRef | JoinRef | MatchRef


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


@dataclass(frozen=True, slots=True)
class TolerancePart:
    """A limit of WITH TOLERANCE, microseconds or per cent, and where it stands."""

    value: float
    span: Span


@dataclass(frozen=True, slots=True)
class ToleranceClause:
    """WITH TOLERANCE (stream-manager paper §5.2): what may be given up, and how far; None where a part isn't written.

    Attributes:
        window: WINDOW AT LEAST, microseconds.
        sample: SAMPLE AT LEAST, per cent.
        error: ERROR AT MOST, per cent.
        span: the whole clause.
    """

    window: TolerancePart | None
    sample: TolerancePart | None
    error: TolerancePart | None
    span: Span


@dataclass(frozen=True, slots=True)
class TargetClause:
    """What an APPROXIMATE is to fit into: so many bytes, or that share of one core."""

    kind: Literal["bytes", "cpu"]
    amount: float
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
        grouping_sets: the keys of each grouping of ROLLUP, CUBE and GROUPING SETS; () without them.
        distinct_on: DISTINCT ON, until it is said in other words.
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
    grouping_sets: tuple[tuple[Node, ...], ...] = ()
    distinct_on: tuple[Node, ...] = ()


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
    if isinstance(item, MatchRef):
        yield from parts_of(item.input)
    if isinstance(item, UnionRef | JoinRef):
        for part in item.parts:
            yield from parts_of(part)


def reads_nothing(item: FromItem) -> bool:
    """Whether there is no FROM."""
    return isinstance(item, StreamRef) and item.name.text == ONE_ROW


def streams_in(body: QueryBody) -> Iterator[str]:
    """Names of the streams a query reads, as written."""
    if isinstance(body, SetBody):
        for part in body.parts:
            yield from streams_in(part)
    else:
        yield from _in_item(body.source)


def _in_item(item: FromItem) -> Iterator[str]:
    if isinstance(item, StreamRef):
        if not reads_nothing(item):
            yield item.name.text
    elif isinstance(item, SubqueryRef):
        yield from streams_in(item.body)
    elif isinstance(item, RecursiveRef):
        yield from (name for body in (item.base, item.step) for name in streams_in(body) if name != item.work)
    elif isinstance(item, MatchRef):
        yield from _in_item(item.input)
    elif not isinstance(item, ItemsRef):
        for part in item.parts:
            yield from _in_item(part)
