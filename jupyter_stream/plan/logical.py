"""The bound logical plan: what a query means, for both engines. Frozen; no text, no operators.

Column names are exact and unique within a node's schema. System columns (`core.messages`) are not part of a schema but may be
read by expressions: `$ts` by every expression over a stream, `$row` where `row_num` is named, `$window_start`, `$window_end`
and `$window_id` above a windowed aggregate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias, cast

import polars as pl

from jupyter_stream import aggregates
from jupyter_stream.aggregates.user import UserCall
from jupyter_stream.core.schema import Field, Schema
from jupyter_stream.functions.expression import Column, Expr
from jupyter_stream.plan.catalog import Computed, Kept, Step, StreamDef
from jupyter_stream.plan.node import Held, ManyInputs, NoInput, OneInput, Reads, Shorten, TwoInputs
from jupyter_stream.plan.preference import Budget, Preference
from jupyter_stream.plan.rates import Rates
from jupyter_stream.plan.strategy import Strategy
from jupyter_stream.plan.tolerance import Room, Tolerance
from jupyter_stream.plan.upkeep import Maintenance
from jupyter_stream.windows import Frame, LifetimeWindow, OverWindow, RowWindow, TimeWindow, Window

if TYPE_CHECKING:
    from jupyter_stream.core.row_pattern import AfterMatch, RowPattern


@dataclass(frozen=True)
class Scan(NoInput):
    """Rows of a declared stream, as they arrive.

    Attributes:
        stream: which one.
        schema: its columns.
    """

    stream: StreamDef
    schema: Schema

    @property
    def unsampled(self) -> str | None:
        return None if self.stream.table is None else f"{self.stream.name} is a table, which is read whole"


@dataclass(frozen=True)
class Derived(OneInput):
    """The rows of a derived stream: its plan, under its name.

    Attributes:
        name: of CREATE STREAM ... AS SELECT; None for a SELECT in FROM, which stands here where its rows may be counted.
        ordered: whether it gives its rows in the order of their times.
    """

    row_by_row: ClassVar[bool] = True
    name: str | None
    input: Plan
    schema: Schema
    ordered: bool = False

    @property
    def steps(self) -> tuple[Step, ...]:
        return ()


@dataclass(frozen=True)
class Filter(OneInput):
    """Rows for which `predicate` is true; lifetimes are kept."""

    reads: ClassVar[Reads] = "passed"
    row_by_row: ClassVar[bool] = True
    input: Plan
    predicate: Expr
    schema: Schema

    @property
    def expressions(self) -> tuple[Expr, ...]:
        return (self.predicate,)

    @property
    def steps(self) -> tuple[Step, ...]:
        return (Kept(self.predicate),)


@dataclass(frozen=True)
class Project(OneInput):
    """New columns from old; lifetimes are kept.

    Attributes:
        items: (output name, expression), one for each column of `schema`.
        words: what it does, for people, where its expressions say it badly.
    """

    reads: ClassVar[Reads] = "made"
    row_by_row: ClassVar[bool] = True
    input: Plan
    items: tuple[tuple[str, Expr], ...]
    schema: Schema
    words: str = ""

    @property
    def expressions(self) -> tuple[Expr, ...]:
        return tuple(expr for _, expr in self.items)

    def origin(self, column: str, port: int = 0) -> str | None:
        made = dict(self.items).get(column)
        return made.name if isinstance(made, Column) else None

    def carrying(self, below: Plan, fields: Sequence[Field]) -> Project:
        items = (*self.items, *((f.name, Column(f.name, f.dtype)) for f in fields))
        return replace(self, input=below, items=items, schema=Schema((*self.schema, *fields)))

    @property
    def steps(self) -> tuple[Step, ...]:
        return (Computed(self.items),)


@dataclass(frozen=True)
class Union(ManyInputs):
    """All rows of all inputs (bag union), columns by position; the binder has given all inputs the same schema."""

    parts: tuple[Plan, ...]
    schema: Schema

    @property
    def unsampled(self) -> str | None:
        return None


@dataclass(frozen=True)
class Retimed(OneInput):
    """Rows that progress on another column than their stream's own: a window's `ON col`, where a join is of such windows.

    Attributes:
        on: the column, a TIMESTAMP or an integer. Nothing is promised of it until the input ends.
    """

    input: Plan
    on: str
    schema: Schema


@dataclass(frozen=True)
class Sample(OneInput):
    """Some of a stream's rows, each kept by chance.

    Attributes:
        percent: how probable it is that a row is kept, up to 100.
        seed: what chance starts from: the same seed keeps the same rows.
        numbered: whether rows are told apart by their arrival number, otherwise by their values.
    """

    row_by_row: ClassVar[bool] = True
    input: Plan
    percent: float
    seed: int
    numbered: bool
    schema: Schema

    @property
    def share(self) -> float:
        return self.percent / 100


@dataclass(frozen=True)
class Shed(Sample):
    """Some of a stream's rows under load, each kept by chance: all of them as long as there is room (stream-manager paper §5.2).

    Each row that is kept carries its weight, `$weight`: of how many rows it stands for one. `percent` is the least that is kept.

    Attributes:
        error: how far aggregates may be off, as a share of them, in 95% of answers; None where nothing is said.
    """

    error: float | None = None


@dataclass(frozen=True)
class Unnest(OneInput):
    """A row for each item of an array of the row below; times and lifetimes are kept.

    Attributes:
        columns: the arrays' columns, which hold the items above; of several, side by side, shorter ones go on with NULL.
        position: the column with the number of the item, from 1; None if nobody asks for it.
        outer: whether a row without items is kept, once, with NULL.
    """

    row_by_row: ClassVar[bool] = True
    input: Plan
    columns: tuple[str, ...]
    position: str | None
    outer: bool
    schema: Schema

    def origin(self, column: str, port: int = 0) -> str | None:
        made = column in self.columns or column == self.position
        return None if made else super().origin(column, port)

    @property
    def unsampled(self) -> str | None:
        return "UNNEST makes several rows of one, which a sample keeps or leaves out together"


@dataclass(frozen=True)
class AggregateCall:
    """One aggregate of a select list.

    Attributes:
        function: registered name in lower case: `count`, `sum`, ... (`count` without args is count(*)).
        args: per-row arguments, in order (already cast to what the aggregate takes).
        name: name of its output column in the aggregate node's schema (`$agg0`, ...).
        dtype: the result's type.
        distinct: whether DISTINCT was written.
        where: FILTER (WHERE ...), None without.
        parameters: constant arguments, such as the q of quantile(x, q).
    """

    function: str
    args: tuple[Expr, ...]
    name: str
    dtype: pl.DataType
    distinct: bool = False
    where: Expr | None = None
    parameters: tuple[object, ...] = ()


@dataclass(frozen=True)
class WeighedAggregate:
    """An aggregate of some of the rows, from columns beside it that are sums over rows with weights.

    Attributes:
        name: the aggregate's column; `$estimate name` and `$error name` are made of it.
        function: `count`, `sum` or `avg`.
        dtype: the aggregate's type.
        weights: the column of the sum of weights w, over the rows that the aggregate takes.
        spread: that of the sum of w (w - 1).
        total: that of the sum of w x; empty of a count.
        squares: that of the sum of w x x.
        rows: that of the number of rows.
    """

    name: str
    function: str
    dtype: pl.DataType
    weights: str
    spread: str
    total: str = ""
    squares: str = ""
    rows: str = ""

    @property
    def estimate(self) -> Column:
        """The estimate."""
        return Column(f"$estimate {self.name}", self.dtype)

    @property
    def error(self) -> Column:
        """Its standard error."""
        return Column(f"$error {self.name}", pl.Float64())


def call_inputs(calls: Iterable[AggregateCall]) -> list[Expr]:
    """Arguments and FILTER conditions of aggregates."""
    return [e for call in calls for e in (*call.args, *([call.where] if call.where is not None else []))]


@dataclass(frozen=True)
class Aggregate(OneInput):
    """Aggregates per group, over each extent of a window with SLIDE, or as a relation without one.

    Attributes:
        keys: (name, expression) of the grouping columns; empty for an ungrouped aggregate.
        aggregates: what to compute.
        window: the window.
        schema: keys first, then the aggregates' columns.
        where: under a window of rows, WHERE: rows for which it isn't true count for the window and are not aggregated.
        ends: whether the rows carry the end of their lifetimes (those of a join do), which goes before the window's range.
        user: user-defined aggregates: `aggregates` hold their rows, which become answers above.
        other_windows: those with their aggregates, which look at the same instants: extent by extent, the answers stand side by
            side. `window` is the longest of all, so that what the others hold it holds too.
        estimates: of aggregates that are worked out from some of the rows; None where all are looked at.
        looked_at: the share of rows that are looked at; None where that is counted extent by extent.
    """

    input: Plan
    keys: tuple[tuple[str, Expr], ...]
    aggregates: tuple[AggregateCall, ...]
    window: Window
    schema: Schema
    where: Expr | None = None
    ends: bool = False
    user: tuple[UserCall, ...] = ()
    other_windows: tuple[tuple[Window, tuple[AggregateCall, ...]], ...] = ()
    estimates: tuple[WeighedAggregate, ...] | None = None
    looked_at: float | None = 1.0
    reads: ClassVar[Reads] = "made"
    holds: ClassVar[Held] = "groups"

    @property
    def by_window(self) -> tuple[tuple[Window, tuple[AggregateCall, ...]], ...]:
        """All its windows, with their aggregates."""
        return ((self.window, self.aggregates), *self.other_windows)

    @property
    def calls(self) -> tuple[AggregateCall, ...]:
        """The aggregates of all its windows."""
        return tuple(call for _, calls in self.by_window for call in calls)

    @property
    def user_calls(self) -> tuple[UserCall, ...]:
        return self.user

    @property
    def expressions(self) -> tuple[Expr, ...]:
        where = () if self.where is None else (self.where,)
        return (*(expr for _, expr in self.keys), *call_inputs(self.calls), *where, *self.window.expressions)

    def origin(self, column: str, port: int = 0) -> str | None:
        key = dict(self.keys).get(column)
        return key.name if isinstance(key, Column) else None

    @property
    def unsampled(self) -> str | None:
        if self.user:
            return "a user-defined aggregate sees its rows one by one"
        if self.other_windows:
            return "its aggregates have several windows"
        if self.window.on is not None:
            return f"its window goes by {self.window.on}, not by the stream's time"
        if self.window.ends_with_rows:
            return f"{self.window} goes by rows, and would reach further back over a sample"
        return next((reason for call in self.calls if (reason := _unfair(call)) is not None), None)

    @property
    def gathers(self) -> bool:
        found = [(call, aggregates.find(call.function)) for call in self.calls]
        holistic = any(call.distinct or (of is not None and of.algebra == "holistic") for call, of in found)
        return bool(self.user) or holistic or (not self.window.sliding and not self.window.keeps_all)

    @property
    def unscaled(self) -> tuple[str, ...]:
        return tuple(call.function for call in self.calls if call.function not in SCALED or call.distinct)

    @property
    def windows_kept(self) -> tuple[Window, ...]:
        return tuple(window for window, _ in self.by_window)

    def shortened(self, shorten: Shorten) -> Aggregate:
        others = tuple((shorten(window), calls) for window, calls in self.other_windows)
        return replace(self, window=shorten(self.window), other_windows=others)

    def carrying(self, below: Plan, fields: Sequence[Field]) -> Aggregate:
        raise TypeError("an aggregate has answers of its own")


SCALED = frozenset(("count", "sum", "avg"))
"""Aggregates whose standard error over a sample is known."""
FAIR = frozenset((
    "count", "sum", "avg", "min", "max", "median", "quantile", "quantile_disc", "mode", "var_samp", "var_pop", "stddev_samp",
    "stddev_pop", "skewness", "kurtosis",
))  # fmt: skip
"""Aggregates that a fair sample says something of: counts and sums are scaled up, the others are about the same."""


def _unfair(call: AggregateCall) -> str | None:
    """Why an aggregate of a sample says nothing of all rows."""
    if call.distinct:
        return f"{call.function}(DISTINCT ...) of a sample can't be scaled up"
    return None if call.function in FAIR else f"{call.function} of a sample says nothing of all rows"


@dataclass(frozen=True)
class ExtentRows(OneInput):
    """The rows of each extent, a set for each: what an aggregate below has gathered, as rows again.

    Attributes:
        column: the aggregate's column that holds them.
        schema: their columns.
    """

    input: Aggregate
    column: str
    schema: Schema

    def origin(self, column: str, port: int = 0) -> str | None:
        return None


@dataclass(frozen=True)
class ExtentChanges(OneInput):
    """What consecutive extents of a window have not in common, as bags: ISTREAM what the later one has, DSTREAM the earlier.

    Attributes:
        kind: which.
        window: says which extents follow one another.
        of_extent: (column, system column) of those about the extent. They are not compared, and are about the later one.
        integer_time: whether the windowing attribute is an integer rather than a TIMESTAMP.
        partition: columns of the input, beside its answer, whose extents follow one another apart.
        kept: column of the input that says whether an answer counts, where it may not: its extent is there all the same.
    """

    kind: Literal["istream", "dstream"]
    input: Plan
    window: Window
    of_extent: tuple[tuple[str, str], ...]
    integer_time: bool
    schema: Schema
    partition: tuple[str, ...] = ()
    kept: str | None = None


@dataclass(frozen=True)
class Over(OneInput):
    """Each row with aggregates over the rows of its partition up to it.

    Attributes:
        window: which rows those are, and which rows are given.
        aggregates: what to compute.
        schema: the input's columns, then the aggregates'.
        user: user-defined aggregates, all of them or none: `aggregates` say their arguments.
        returns: whether only rows that returned something are given, once for each value.
    """

    searches: ClassVar[bool] = True
    written: ClassVar[str] = "OVER"
    input: Plan
    window: OverWindow
    aggregates: tuple[AggregateCall, ...]
    schema: Schema
    user: tuple[UserCall, ...] = ()
    returns: bool = False
    holds: ClassVar[Held] = "rows"

    @property
    def calls(self) -> tuple[AggregateCall, ...]:
        """The aggregates, as of `Aggregate`."""
        return self.aggregates

    @property
    def user_calls(self) -> tuple[UserCall, ...]:
        return self.user

    @property
    def expressions(self) -> tuple[Expr, ...]:
        return (*self.window.expressions, *call_inputs(self.aggregates))


@dataclass(frozen=True)
class RowReference:
    """A value of one row of a match, or beside it: `FIRST(A.x, 1)`, `PREV(x)`, `B.x`.

    Attributes:
        name: its column, in what is computed of a match.
        value: over the row.
        variables: whose rows are counted; () for all rows of the match.
        first: whether they are counted from the first one on, rather than back from the last one.
        offset: how many of them are passed over.
        shift: the row so many behind that one in its partition, matched or not; before it where negative.
        final: whether rows of the match are counted that come behind the row it is asked of.
        dtype: its type.
    """

    name: str
    value: Expr
    variables: tuple[str, ...]
    first: bool
    offset: int
    shift: int
    final: bool
    dtype: pl.DataType


@dataclass(frozen=True)
class MatchAggregate:
    """An aggregate over rows of a match.

    Attributes:
        call: what is computed.
        variables: of which rows; () for all rows of the match.
        final: whether rows that come behind the row it is asked of count.
    """

    call: AggregateCall
    variables: tuple[str, ...]
    final: bool


@dataclass(frozen=True)
class MatchRows(OneInput):
    """The matches of a row pattern among rows in the order of their times (SQL:2016, MATCH_RECOGNIZE).

    Attributes:
        pattern: which rows follow one another.
        definitions: variables with their conditions, over the columns of references and aggregates; others go for every row.
        references: values of rows that conditions and measures go by.
        aggregates: those they go by.
        measures: what is told of a match, or of each of its rows, over the same, `MATCH_NUMBER` and `CLASSIFIER`.
        partition: expressions whose values make the partitions.
        order: what rows of equal times are sorted by.
        all_rows: whether all rows of a match are given, rather than one.
        after: where the search goes on.
        within: a row of a match comes less than so many microseconds after its first one; None for no bound.
        by_time: whether rows come by their times; those of a table are sorted by `order` alone.
        time: the column with the row's time, where there is one.
        schema: the columns of the partition or of the rows, then the measures.
    """

    searches: ClassVar[bool] = True
    written: ClassVar[str] = "MATCH_RECOGNIZE"
    holds: ClassVar[Held] = "rows"
    input: Plan
    pattern: RowPattern
    definitions: tuple[tuple[str, Expr], ...]
    references: tuple[RowReference, ...]
    aggregates: tuple[MatchAggregate, ...]
    measures: tuple[tuple[str, Expr], ...]
    partition: tuple[Expr, ...]
    order: tuple[SortKey, ...]
    all_rows: bool
    after: AfterMatch
    within: int | None
    by_time: bool
    time: str | None
    schema: Schema

    @property
    def expressions(self) -> tuple[Expr, ...]:
        calls = call_inputs([a.call for a in self.aggregates])
        return (*self.partition, *(k.value for k in self.order), *(r.value for r in self.references), *calls)

    @property
    def window(self) -> LifetimeWindow:
        """How long a match may go on."""
        return LifetimeWindow(self.within)

    def origin(self, column: str, port: int = 0) -> str | None:
        made = any(name == column for name, _ in self.measures)
        return None if made else super().origin(column, port)


@dataclass(frozen=True)
class SortKey:
    """What rows are sorted by."""

    value: Expr
    descending: bool
    nulls_last: bool


MATCH_NUMBER = "$match_number"
CLASSIFIER = "$classifier"
"""Columns that measures may read: the number of the match in its partition, and the variable the row goes for."""


@dataclass(frozen=True)
class Join(TwoInputs):
    """Pairs of rows whose lifetimes meet: with `low <= right time - left time <= high`, equal keys, and the residual true.

    A joined row progresses on the later of its two times.

    Attributes:
        kind: inner; left, right, full: rows without a partner come padded with NULLs; semi, anti: left rows with, without one.
        keys: (expression over the left, expression over the right) that are to be equal; NULL equals nothing.
        residual: a further condition over the joined row; None without.
        low: least difference of times, microseconds; None for no bound.
        high: greatest difference.
        right_names: the right columns' names in the joined row, in the order of the right schema.
        schema: the joined row: left columns, then right ones (semi, anti: left ones only).
        windows: the two windows, for people.
    """

    left: Plan
    right: Plan
    kind: JoinKind
    keys: tuple[tuple[Expr, Expr], ...]
    residual: Expr | None
    low: int | None
    high: int | None
    right_names: tuple[str, ...]
    schema: Schema
    windows: tuple[Window, Window]
    holds: ClassVar[Held] = "rows"

    @property
    def joined(self) -> Schema:
        """Left and right columns under their joined names, whatever the kind: what the residual is over."""
        right = (Field(n, f.dtype) for n, f in zip(self.right_names, self.right.schema, strict=True))
        return Schema((*self.left.schema, *right))

    @property
    def expressions(self) -> tuple[Expr, ...]:
        return (*(e for pair in self.keys for e in pair), *(() if self.residual is None else (self.residual,)))

    @property
    def unsampled(self) -> str | None:
        return _OF_PAIRS

    def grows_by_less(self, port: int) -> str | None:
        return _padded(self.kind, port)

    @property
    def windows_kept(self) -> tuple[Window, ...]:
        return self.windows

    def shortened(self, shorten: Shorten) -> Join:
        left, right = (shorten(window) for window in self.windows)
        reach = [None if w.span is None else w.span - 1 for w in (left, right)]
        low, high = self.low, self.high
        if left is not self.windows[0] and reach[0] is not None:
            high = reach[0] if high is None else min(high, reach[0])
        if right is not self.windows[1] and reach[1] is not None:
            low = -reach[1] if low is None else max(low, -reach[1])
        return replace(self, windows=(left, right), low=low, high=high)


_OF_PAIRS = "a join of samples has pairs that depend on one another, and few of them"


def _padded(kind: JoinKind, port: int) -> str | None:
    """Why less of an input of a join makes more of its answer."""
    missed = {"anti": (1,), "left": (1,), "right": (0,), "full": (0, 1)}.get(kind, ())
    if port not in missed:
        return None
    if kind == "anti":
        return (
            "it stands on the right of a negation (NOT IN, NOT EXISTS, anti join): with less of it more rows would pass"
        )
    return f"it is a side of a {kind.upper()} JOIN: with less of it more rows would be padded with NULL"


@dataclass(frozen=True)
class Lookup(OneInput):
    """Stream rows with the rows of a table they match when they come (a non-retroactive join).

    Attributes:
        table: the table, as its declaration.
        kind: inner; left: rows without a match come padded with NULLs; semi, anti: rows with, without one.
        keys: (expression over the input, expression over the table) that are to be equal; NULL equals nothing.
        residual: a further condition over the joined row; None without.
        right_names: the table's columns in the joined row, in the order of its schema.
        schema: the input's columns, then the table's (semi, anti: the input's only).
    """

    row_by_row: ClassVar[bool] = True
    input: Plan
    table: StreamDef
    kind: JoinKind
    keys: tuple[tuple[Expr, Expr], ...]
    residual: Expr | None
    right_names: tuple[str, ...]
    schema: Schema

    @property
    def expressions(self) -> tuple[Expr, ...]:
        return (*(own for own, _ in self.keys), *(() if self.residual is None else (self.residual,)))


@dataclass(frozen=True)
class Alive(OneInput):
    """A stream's rows as a relation: each while it lives.

    Attributes:
        window: how long that is.
        ends: whether the rows carry the end of their lifetimes, which goes before the window's range.
    """

    input: Plan
    window: LifetimeWindow
    schema: Schema
    ends: bool = False
    holds: ClassVar[Held] = "rows"

    @property
    def unsampled(self) -> str | None:
        return None

    @property
    def windows_kept(self) -> tuple[Window, ...]:
        return (self.window,)

    def shortened(self, shorten: Shorten) -> Alive:
        return replace(self, window=cast("LifetimeWindow", shorten(self.window)))


@dataclass(frozen=True)
class Newest(OneInput):
    """The newest rows of a stream, of each partition, as a relation: at every instant those that arrived last of the rows whose
    time has come.

    Attributes:
        window: how many rows, of which partitions; its WHERE is applied below.
    """

    input: Plan
    window: RowWindow
    schema: Schema
    holds: ClassVar[Held] = "rows"

    @property
    def unsampled(self) -> str | None:
        return f"{self.window} counts rows, and would reach further back over a sample"

    @property
    def expressions(self) -> tuple[Expr, ...]:
        return self.window.expressions


@dataclass(frozen=True)
class Distinct(OneInput):
    """Each value once while any row with it is alive: the union of the rows' lifetimes. Of a stream's rows or of a relation.

    Attributes:
        window: how long the rows of a stream live.
        ends: whether they carry the end of their lifetimes, which goes before the window's range.
        lives: whether rows are given with the ends of their lifetimes, as a join's are, rather than as a relation's changes.
    """

    input: Plan
    window: LifetimeWindow
    schema: Schema
    ends: bool = False
    lives: bool = False
    holds: ClassVar[Held] = "rows"

    @property
    def unsampled(self) -> str | None:
        return "it is below DISTINCT: values would be missing, and nothing says how many"

    def grows_by_less(self, port: int) -> str | None:
        return "it is below DISTINCT: with less input a value ends sooner, and is given anew more often"

    @property
    def windows_kept(self) -> tuple[Window, ...]:
        return (self.window,)

    def shortened(self, shorten: Shorten) -> Distinct:
        return replace(self, window=cast("LifetimeWindow", shorten(self.window)))


@dataclass(frozen=True)
class Bags(ManyInputs):
    """A set operation on relations at every instant; `net` has one input, and takes together what cancels out.

    Attributes:
        kind: which one.
        parts: the relations, left and right.
        on: (left column, right column) that are compared, by EXCEPT ALL ON; () for whole rows, by position.
    """

    kind: BagKind
    parts: tuple[Plan, ...]
    schema: Schema
    on: tuple[tuple[str, str], ...] = ()
    holds: ClassVar[Held] = "rows"

    @property
    def unsampled(self) -> str | None:
        return (
            None if self.kind == "net" else f"{self.kind.upper()} compares rows, and a sample has others on each side"
        )

    def grows_by_less(self, port: int) -> str | None:
        if not self.kind.startswith("except") or port == 0:
            return None
        return "it stands on the right of EXCEPT: with less of it less would be taken away"

    def carrying(self, below: Plan, fields: Sequence[Field]) -> Bags:
        return replace(self, parts=(below,), schema=Schema((*self.schema, *fields)))


@dataclass(frozen=True)
class ToStream(OneInput):
    """A relation's rows as a stream: when they enter, when they leave, or all at every change (CQL).

    Attributes:
        looks: the window by whose SLIDE a join is looked at: all rows just before each of its instants, with that time;
            None for every change.
    """

    kind: StreamKind
    input: Plan
    schema: Schema
    looks: TimeWindow | None = None

    @property
    def unsampled(self) -> str | None:
        return None


@dataclass(frozen=True)
class TableRelation(NoInput):
    """What a table holds, as a relation that changes with it."""

    table: StreamDef
    schema: Schema

    @property
    def unsampled(self) -> str | None:
        return f"{self.table.name} is a table, which is read whole"


@dataclass(frozen=True)
class RelationJoin(TwoInputs):
    """The pairs of rows that are in two relations at the same time.

    Attributes:
        kind: inner; left, right, full: rows without a partner padded with NULLs; semi, anti: left rows with, without one.
        keys: (expression over the left, expression over the right) that are to be equal; NULL equals nothing.
        residual: a further condition over the joined row; None without.
        right_names: the right columns' names in the joined row, in the order of the right schema.
        schema: left columns, then right ones (semi, anti: left ones only).
        value: the right one stands for a value that rows of the left are asked by: what enters it is no answer.
    """

    left: Plan
    right: Plan
    kind: JoinKind
    keys: tuple[tuple[Expr, Expr], ...]
    residual: Expr | None
    right_names: tuple[str, ...]
    schema: Schema
    value: bool = False
    holds: ClassVar[Held] = "rows"

    @property
    def expressions(self) -> tuple[Expr, ...]:
        return (*(e for pair in self.keys for e in pair), *(() if self.residual is None else (self.residual,)))

    @property
    def unsampled(self) -> str | None:
        return _OF_PAIRS

    def grows_by_less(self, port: int) -> str | None:
        return _padded(self.kind, port)


VALUE = "(value)"
"""How columns about a SELECT that stands for a value begin: nobody can name them."""
ORDER_KEY = "(order "
"""How keys of an ORDER BY begin that aren't selected: nobody can name them."""


@dataclass(frozen=True)
class OrderKey:
    """A column rows are sorted by."""

    column: str
    descending: bool
    nulls_last: bool


@dataclass(frozen=True)
class Top(OneInput):
    """ORDER BY ... LIMIT n: the first rows of each extent, of a relation at every instant, or of a stream as it comes.

    Attributes:
        order: keys, most important first; () for LIMIT alone.
        limit: how many rows; None for all of them, sorted.
        offset: how many are left out before these.
        partition: columns within whose values rows are counted.
        number: the column, the last of `schema`, that holds a row's place among them, from 1; None for none.
    """

    input: Plan
    order: tuple[OrderKey, ...]
    limit: int | None
    offset: int
    schema: Schema
    partition: tuple[str, ...] = ()
    number: str | None = None
    holds: ClassVar[Held] = "rows"

    @property
    def unsampled(self) -> str | None:
        grouped = any(node.holds == "groups" for node in walk(self.input))
        return None if grouped else "the first rows of a sample are others"


@dataclass(frozen=True)
class WindowCall:
    """A window function, or an aggregate over a frame.

    Attributes:
        function: `rank`, `lead`, `first_value`, ...; "" for an aggregate.
        args: columns of the input it reads; of an aggregate none.
        number: how far `lag` and `lead` look, the place of `nth_value`, the buckets of `ntile`.
        frame: the rows it is over; `lag`, `lead` and the ranks go by the partition, whatever it is.
        skips_nulls: IGNORE NULLS.
        name: its column.
        dtype: the result's type.
        aggregate: the aggregate; None for a window function.
    """

    function: str
    args: tuple[Expr, ...]
    number: int
    frame: Frame
    skips_nulls: bool
    name: str
    dtype: pl.DataType
    aggregate: AggregateCall | None = None


@dataclass(frozen=True)
class WindowFunctions(OneInput):
    """Each row of a relation, or of an extent, with window functions over its partition in an order of their own.

    Attributes:
        partition: columns whose values make the partitions.
        order: keys, most important first; without any, all rows of a partition are peers.
        calls: what is computed.
        schema: the input's columns, then one for each call.
    """

    input: Plan
    partition: tuple[str, ...]
    order: tuple[OrderKey, ...]
    calls: tuple[WindowCall, ...]
    schema: Schema

    @property
    def expressions(self) -> tuple[Expr, ...]:
        own = [e for call in self.calls for e in call.args]
        return (*own, *call_inputs([c.aggregate for c in self.calls if c.aggregate is not None]))


Plan: TypeAlias = (
    Scan
    | Derived
    | Filter
    | Project
    | Union
    | Retimed
    | Sample
    | Shed
    | Unnest
    | Aggregate
    | ExtentRows
    | ExtentChanges
    | Over
    | MatchRows
    | Join
    | Lookup
    | Alive
    | Newest
    | Distinct
    | Bags
    | ToStream
    | Top
    | WindowFunctions
    | TableRelation
    | RelationJoin
)
BagKind: TypeAlias = Literal["net", "except", "except all", "intersect", "intersect all"]
StreamKind: TypeAlias = Literal["istream", "dstream", "rstream"]
JoinKind: TypeAlias = Literal["inner", "left", "right", "full", "semi", "anti"]


@dataclass(frozen=True)
class Emit:
    """When answers are given.

    Attributes:
        mode: `final` only; `every` interval of stream time also provisional ones; provisional ones on all `changes`.
        interval: microseconds, for `every`.
    """

    mode: Literal["final", "every", "changes"] = "final"
    interval: int | None = None


@dataclass(frozen=True)
class BoundQuery:
    """A SELECT ready to run.

    Attributes:
        plan: its root; its schema is what users get, but for keys of the order (`shown`).
        emit: EMIT clause.
        text: the statement as typed.
        time_column: the result column that is time (window_end, or the progressing attribute if selected), None if none.
        key_columns: result columns that are grouping columns.
        order: what a relation's state is sorted by.
        relation: whether the answer is a relation (current state and changes) rather than a stream.
        strategy: how windows with SLIDE are to be aggregated in the kernel; None for the planner's choice.
        maintenance: how the state of relations is kept in the kernel.
        preference: which answers come first when there isn't time for all.
        budget: how much time there is in the kernel; None for as much as it takes.
        weight: its share of the machine beside other running queries, and of idle time among those with a budget.
        rates: what has been measured of its streams, when they ran before.
        tolerance: what may be given up when memory or time run short; None for nothing.
        target: what it is to fit into, of an APPROXIMATE SELECT.
        changed: what was given up before it started, in words.
        fits: how much it was taken to need before and after that, in words.
        written: the plan as it was before that; None where nothing was.
    """

    plan: Plan
    emit: Emit
    text: str
    time_column: str | None
    key_columns: tuple[str, ...]
    relation: bool
    notes: tuple[str, ...] = field(default=())
    order: tuple[OrderKey, ...] = ()
    strategy: Strategy | None = None
    maintenance: Maintenance = field(default=Maintenance())
    preference: Preference | None = None
    budget: Budget | None = None
    weight: float = 1.0
    rates: Rates = field(default=Rates())
    tolerance: Tolerance | None = None
    target: Room | None = None
    changed: tuple[str, ...] = ()
    fits: str = ""
    written: Plan | None = None

    @property
    def shown(self) -> Schema:
        """The columns users get: the plan's, without keys of the order that aren't selected."""
        return Schema(tuple(f for f in self.plan.schema if not f.name.startswith(ORDER_KEY)))


def walk(plan: Plan) -> Iterator[Plan]:
    """The plan and all below it, outermost first."""
    left = [plan]
    while left:
        found = left.pop()
        yield found
        left.extend(reversed(found.inputs))


def way_down(plan: Plan, passes: Callable[[Plan], bool]) -> list[Plan]:
    """A plan and what lies under it, the outermost first, as long as nodes pass: all but the last do.

    Of several inputs the first is followed.
    """
    way = [plan]
    while passes(way[-1]):
        way.append(way[-1].inputs[0])
    return way


def down_to(plan: Plan, *kinds: type[Plan]) -> list[Plan]:
    """The way down past nodes of these kinds, to the first that is of none of them."""
    return way_down(plan, lambda node: isinstance(node, kinds))


def under(plan: Plan, *kinds: type[Plan]) -> Plan:
    """What lies under nodes of these kinds: the first that is of none of them."""
    return down_to(plan, *kinds)[-1]


def is_net(plan: Plan) -> bool:
    """Whether a node takes changes together that cancel out, and does nothing else."""
    return isinstance(plan, Bags) and plan.kind == "net"


def under_nets(plan: Plan) -> Plan:
    """What lies under the taking together of changes that cancel out."""
    return way_down(plan, is_net)[-1]


def above_answers(plan: Plan) -> Iterator[Plan]:
    """The nodes above the outermost ones that give provisional answers, or know none."""
    if isinstance(
        plan, Filter | Project | Union | Derived | Sample | Unnest | Lookup | Top | WindowFunctions | ExtentRows
    ):
        yield plan
        for child in plan.inputs:
            yield from above_answers(child)


def streams(plan: Plan) -> tuple[StreamDef, ...]:
    """The declared streams a plan reads, each once, in the order written."""
    found: dict[str, StreamDef] = {}
    for node in walk(plan):
        if isinstance(node, Scan):
            found.setdefault(node.stream.name, node.stream)
    return tuple(found.values())
