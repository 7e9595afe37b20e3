"""The bound logical plan: what a query means, for both engines. Frozen; no text, no operators.

Column names are exact and unique within a node's schema. System columns (`core.messages`) are not part of a schema but may be
read by expressions: `$ts` by every expression over a stream, `$row` where `row_num` is named, `$window_start`, `$window_end`
and `$window_id` above a windowed aggregate.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import polars as pl

from jupyter_stream.aggregates.user import UserCall
from jupyter_stream.core.schema import Field, Schema
from jupyter_stream.functions.expression import Expr
from jupyter_stream.plan.catalog import StreamDef
from jupyter_stream.plan.preference import Budget, Preference
from jupyter_stream.plan.rates import Rates
from jupyter_stream.plan.strategy import Strategy
from jupyter_stream.plan.upkeep import Maintenance
from jupyter_stream.windows import LifetimeWindow, OverWindow, RowWindow, TimeWindow, TupleWindow, Window


@dataclass(frozen=True)
class Scan:
    """Rows of a declared stream, as they arrive.

    Attributes:
        stream: which one.
        schema: its columns.
    """

    stream: StreamDef
    schema: Schema
    inputs: tuple[()] = ()


@dataclass(frozen=True)
class Derived:
    """The rows of a named derived stream (CREATE STREAM ... AS SELECT): its plan, under its name."""

    name: str
    input: Plan
    schema: Schema

    @property
    def inputs(self) -> tuple[Plan, ...]:
        """The plan below."""
        return (self.input,)


@dataclass(frozen=True)
class Filter:
    """Rows for which `predicate` is true; lifetimes are kept."""

    input: Plan
    predicate: Expr
    schema: Schema

    @property
    def inputs(self) -> tuple[Plan, ...]:
        """The plan below."""
        return (self.input,)


@dataclass(frozen=True)
class Project:
    """New columns from old; lifetimes are kept.

    Attributes:
        items: (output name, expression), one for each column of `schema`.
    """

    input: Plan
    items: tuple[tuple[str, Expr], ...]
    schema: Schema

    @property
    def inputs(self) -> tuple[Plan, ...]:
        """The plan below."""
        return (self.input,)


@dataclass(frozen=True)
class Union:
    """All rows of all inputs (bag union), columns by position; the binder has given all inputs the same schema."""

    parts: tuple[Plan, ...]
    schema: Schema

    @property
    def inputs(self) -> tuple[Plan, ...]:
        """The plans below."""
        return self.parts


@dataclass(frozen=True)
class Retimed:
    """Rows that progress on another column than their stream's own: a window's `ON col`, where a join is of such windows.

    Attributes:
        on: the column, a TIMESTAMP or an integer. Nothing is promised of it until the input ends.
    """

    input: Plan
    on: str
    schema: Schema

    @property
    def inputs(self) -> tuple[Plan, ...]:
        """The plan below."""
        return (self.input,)


@dataclass(frozen=True)
class Sample:
    """Some of a stream's rows, each kept by chance.

    Attributes:
        percent: how probable it is that a row is kept, up to 100.
        seed: what chance starts from: the same seed keeps the same rows.
        numbered: whether rows are told apart by their arrival number, otherwise by their values.
    """

    input: Plan
    percent: float
    seed: int
    numbered: bool
    schema: Schema

    @property
    def inputs(self) -> tuple[Plan, ...]:
        """The plan below."""
        return (self.input,)


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
class Aggregate:
    """Aggregates per group, over each extent of a window with SLIDE, or as a relation without one.

    Attributes:
        keys: (name, expression) of the grouping columns; empty for an ungrouped aggregate.
        aggregates: what to compute.
        window: the window.
        schema: keys first, then the aggregates' columns.
        where: under a window of rows, WHERE: rows for which it isn't true count for the window and are not aggregated.
        ends: whether the rows carry the end of their lifetimes (those of a join do), which goes before the window's range.
        user: user-defined aggregates: `aggregates` hold their rows, which become answers above.
        beside: other windows with their aggregates, which look at the same instants: extent by extent, the answers stand side by
            side. `window` is the longest of all, so that what the others hold it holds too.
    """

    input: Plan
    keys: tuple[tuple[str, Expr], ...]
    aggregates: tuple[AggregateCall, ...]
    window: Window
    schema: Schema
    where: Expr | None = None
    ends: bool = False
    user: tuple[UserCall, ...] = ()
    beside: tuple[tuple[Window, tuple[AggregateCall, ...]], ...] = ()

    @property
    def inputs(self) -> tuple[Plan, ...]:
        """The plan below."""
        return (self.input,)

    @property
    def calls(self) -> tuple[AggregateCall, ...]:
        """The aggregates of all its windows."""
        return (*self.aggregates, *(call for _, calls in self.beside for call in calls))


@dataclass(frozen=True)
class ExtentRows:
    """The rows of each extent, a set for each: what an aggregate below has gathered, as rows again.

    Attributes:
        column: the aggregate's column that holds them.
        schema: their columns.
    """

    input: Aggregate
    column: str
    schema: Schema

    @property
    def inputs(self) -> tuple[Plan, ...]:
        """The plan below."""
        return (self.input,)


@dataclass(frozen=True)
class ExtentChanges:
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
    window: TimeWindow | RowWindow | TupleWindow
    of_extent: tuple[tuple[str, str], ...]
    integer_time: bool
    schema: Schema
    partition: tuple[str, ...] = ()
    kept: str | None = None

    @property
    def inputs(self) -> tuple[Plan, ...]:
        """The plan below."""
        return (self.input,)


@dataclass(frozen=True)
class Over:
    """Each row with aggregates over the rows of its partition up to it.

    Attributes:
        window: which rows those are, and which rows are given.
        aggregates: what to compute.
        schema: the input's columns, then the aggregates'.
        user: user-defined aggregates, all of them or none: `aggregates` say their arguments.
        returns: whether only rows that returned something are given, once for each value.
    """

    input: Plan
    window: OverWindow
    aggregates: tuple[AggregateCall, ...]
    schema: Schema
    user: tuple[UserCall, ...] = ()
    returns: bool = False

    @property
    def inputs(self) -> tuple[Plan, ...]:
        """The plan below."""
        return (self.input,)


@dataclass(frozen=True)
class Join:
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

    @property
    def inputs(self) -> tuple[Plan, ...]:
        """The plans below."""
        return (self.left, self.right)

    @property
    def joined(self) -> Schema:
        """Left and right columns under their joined names, whatever the kind: what the residual is over."""
        right = (Field(n, f.dtype) for n, f in zip(self.right_names, self.right.schema, strict=True))
        return Schema((*self.left.schema, *right))


@dataclass(frozen=True)
class Lookup:
    """Stream rows with the rows of a table they match when they come (a non-retroactive join).

    Attributes:
        table: the table, as its declaration.
        kind: inner; left: rows without a match come padded with NULLs; semi, anti: rows with, without one.
        keys: (expression over the input, expression over the table) that are to be equal; NULL equals nothing.
        residual: a further condition over the joined row; None without.
        right_names: the table's columns in the joined row, in the order of its schema.
        schema: the input's columns, then the table's (semi, anti: the input's only).
    """

    input: Plan
    table: StreamDef
    kind: JoinKind
    keys: tuple[tuple[Expr, Expr], ...]
    residual: Expr | None
    right_names: tuple[str, ...]
    schema: Schema

    @property
    def inputs(self) -> tuple[Plan, ...]:
        """The plan below."""
        return (self.input,)


@dataclass(frozen=True)
class Alive:
    """A stream's rows as a relation: each while it lives.

    Attributes:
        window: how long that is.
        ends: whether the rows carry the end of their lifetimes, which goes before the window's range.
    """

    input: Plan
    window: LifetimeWindow
    schema: Schema
    ends: bool = False

    @property
    def inputs(self) -> tuple[Plan, ...]:
        """The plan below."""
        return (self.input,)


@dataclass(frozen=True)
class Newest:
    """The newest rows of a stream, of each partition, as a relation: at every instant those that arrived last of the rows whose
    time has come.

    Attributes:
        window: how many rows, of which partitions; its WHERE is applied below.
    """

    input: Plan
    window: RowWindow
    schema: Schema

    @property
    def inputs(self) -> tuple[Plan, ...]:
        """The plan below."""
        return (self.input,)


@dataclass(frozen=True)
class Distinct:
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

    @property
    def inputs(self) -> tuple[Plan, ...]:
        """The plan below."""
        return (self.input,)


@dataclass(frozen=True)
class Bags:
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

    @property
    def inputs(self) -> tuple[Plan, ...]:
        """The plans below."""
        return self.parts


@dataclass(frozen=True)
class ToStream:
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
    def inputs(self) -> tuple[Plan, ...]:
        """The plan below."""
        return (self.input,)


@dataclass(frozen=True)
class TableRelation:
    """What a table holds, as a relation that changes with it."""

    table: StreamDef
    schema: Schema
    inputs: tuple[()] = ()


@dataclass(frozen=True)
class RelationJoin:
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

    @property
    def inputs(self) -> tuple[Plan, ...]:
        """The plans below."""
        return (self.left, self.right)


ORDER_KEY = "(order "
"""How keys of an ORDER BY begin that aren't selected: nobody can name them."""


@dataclass(frozen=True)
class OrderKey:
    """A column rows are sorted by."""

    column: str
    descending: bool
    nulls_last: bool


@dataclass(frozen=True)
class Top:
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

    @property
    def inputs(self) -> tuple[Plan, ...]:
        """The plan below."""
        return (self.input,)


Plan: TypeAlias = (
    Scan
    | Derived
    | Filter
    | Project
    | Union
    | Retimed
    | Sample
    | Aggregate
    | ExtentRows
    | ExtentChanges
    | Over
    | Join
    | Lookup
    | Alive
    | Newest
    | Distinct
    | Bags
    | ToStream
    | Top
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
class Query:
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
        weight: its share of idle time among running queries.
        rates: what has been measured of its streams, when they ran before.
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

    @property
    def shown(self) -> Schema:
        """The columns users get: the plan's, without keys of the order that aren't selected."""
        return Schema(tuple(f for f in self.plan.schema if not f.name.startswith(ORDER_KEY)))


def walk(plan: Plan) -> Iterator[Plan]:
    """The plan and all below it, outermost first."""
    yield plan
    for child in plan.inputs:
        yield from walk(child)


def above_answers(plan: Plan) -> Iterator[Plan]:
    """The nodes above the outermost ones that give provisional answers, or know none."""
    if isinstance(plan, Filter | Project | Union | Derived | Sample | Lookup | Top | ExtentRows):
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
