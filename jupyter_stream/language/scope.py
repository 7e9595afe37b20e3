"""What FROM gives a query: a plan, the names that reach its columns, and its time. Not for expressions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import polars as pl

from jupyter_stream.core.messages import ROW, TS
from jupyter_stream.core.schema import TIMESTAMP, Schema
from jupyter_stream.functions import Column, Expr
from jupyter_stream.language.nodes import Node
from jupyter_stream.plan.logical import (
    Aggregate,
    Alive,
    Bags,
    Derived,
    Distinct,
    ExtentChanges,
    ExtentRows,
    Filter,
    Join,
    Lookup,
    Newest,
    Over,
    Plan,
    Project,
    RelationJoin,
    Retimed,
    Sample,
    Scan,
    TableRelation,
    Top,
    ToStream,
    Union,
)
from jupyter_stream.windows import Window

CURRENT_TIME = "current_time"
WINDOW_TIME = "window_time"
ROW_NUM = "row_num"


@dataclass(frozen=True, slots=True)
class Time:
    """The progressing attribute of a plan's rows.

    Attributes:
        column: the column of the plan's schema that holds it, None if none does.
        dtype: TIMESTAMP, or BIGINT where the time column is an integer: the type window columns have.
        pseudo: the name `$ts` can be called by where no column holds it: current_time, window_time, or None.
        names: names, in lower case, a window can name it by, although the select list may have left the column out.
    """

    column: str | None
    dtype: pl.DataType
    pseudo: str | None
    names: frozenset[str] = frozenset()


def time_of(plan: Plan) -> Time:
    """Which column of a plan is its time, worked out from the plan alone."""
    if isinstance(plan, Scan):
        spec = plan.stream.time
        if spec.kind != "external" or spec.column is None:
            return Time(None, TIMESTAMP, CURRENT_TIME)
        field = plan.stream.schema.find(spec.column)
        integer = field is not None and field.dtype.is_integer()
        shown = plan.schema.find(spec.column)
        column = shown.name if shown else None
        return Time(column, pl.Int64() if integer else TIMESTAMP, None, frozenset({spec.column.lower()}))
    if isinstance(plan, Retimed):
        field = plan.schema.find(plan.on)
        integer = field is not None and field.dtype.is_integer()
        return Time(plan.on, pl.Int64() if integer else TIMESTAMP, None, frozenset({plan.on.lower()}))
    if isinstance(plan, Over) and plan.window.on_expiry:
        return Time(None, time_of(plan.input).dtype, None)  # answers come when rows leave, and no column says when
    if isinstance(plan, Filter | Derived | Sample | Over | Lookup):
        return time_of(plan.input)
    if isinstance(plan, Project):
        below = time_of(plan.input)
        for name, expr in plan.items:
            if isinstance(expr, Column) and expr.name in (below.column, TS):
                return Time(name, below.dtype, below.pseudo, below.names | {name.lower()})
        return Time(None, below.dtype, below.pseudo, below.names)
    if isinstance(plan, Union):
        times = [time_of(part) for part in plan.parts]
        places = {t.column and part.schema.names.index(t.column) for t, part in zip(times, plan.parts, strict=True)}
        same = places.pop() if len(places) == 1 else None
        pseudo = {t.pseudo for t in times}
        column = None if same is None or isinstance(same, str) else plan.schema.names[same]
        names = frozenset.intersection(*(t.names for t in times))
        return Time(column, times[0].dtype, pseudo.pop() if len(pseudo) == 1 else None, names)
    if isinstance(plan, TableRelation):
        return Time(None, TIMESTAMP, None)
    if isinstance(plan, RelationJoin):
        other = plan.right if isinstance(plan.left, TableRelation) else plan.left
        return Time(None, time_of(other).dtype, None)
    if isinstance(plan, Join | Distinct | Bags | ToStream):
        return Time(None, time_of(plan.inputs[0]).dtype, None)  # the later of two, or the instant of a change
    if isinstance(plan, Alive | Newest | Top | ExtentRows | ExtentChanges):
        return time_of(plan.input)
    return Time(None, window_dtype(plan), WINDOW_TIME)


def window_dtype(plan: Aggregate) -> pl.DataType:
    """The type of window_start and window_end: that of the windowing attribute."""
    on = plan.window.on
    if on is not None:
        field = plan.input.schema.find(on)
        return pl.Int64() if field is not None and field.dtype.is_integer() else TIMESTAMP
    return time_of(plan.input).dtype


def is_windowed(plan: Plan) -> bool:
    """Whether its rows are answers, which have no arrival numbers, rather than rows of a stream."""
    changed = isinstance(plan, Aggregate | Distinct | Bags | ToStream | RelationJoin)
    return changed or any(is_windowed(part) for part in plan.inputs)


class AmbiguousColumn(Exception):
    """Several inputs of a join have a column of one name.

    Attributes:
        qualifiers: what tells them apart.
    """

    def __init__(self, qualifiers: tuple[str, ...]) -> None:
        super().__init__(", ".join(qualifiers))
        self.qualifiers = qualifiers


@dataclass(frozen=True, slots=True)
class JoinedColumn:
    """A column of a join.

    Attributes:
        qualifiers: what it can be qualified with, in lower case.
        name: what it is called in its own input.
        column: what it is called in the join's schema.
    """

    qualifiers: tuple[str, ...]
    name: str
    column: str

    def goes_by(self, qualifier: str | None) -> bool:
        """Whether it can be qualified so."""
        return qualifier is None or qualifier.lower() in self.qualifiers


@dataclass(frozen=True)
class Scope:
    """A FROM item with its names resolved.

    Attributes:
        plan: its rows.
        qualifiers: what a column can be qualified with, in lower case.
        window: the window written behind it, or the lifetimes its rows have from further down; None for neither.
        joined: for a join, whose columns are which; None for anything else.
        values: what stands beside each row for SELECTs that stand for values.
    """

    plan: Plan
    qualifiers: tuple[str, ...]
    window: Window | None = None
    joined: tuple[JoinedColumn, ...] | None = None
    values: Mapping[Node, Expr] = field(default_factory=dict)

    @property
    def schema(self) -> Schema:
        """Its columns."""
        return self.plan.schema

    @property
    def time(self) -> Time:
        """Its time."""
        return time_of(self.plan)

    def find(self, name: str, qualifier: str | None = None) -> Expr | None:
        """A column of that name, or the time or the row number under its name; None if there is none.

        Raises:
            AmbiguousColumn: several inputs of a join have a column of that name.
        """
        if self.joined is not None:
            found = [c for c in self.joined if c.name.lower() == name.lower() and c.goes_by(qualifier)]
            if len(found) > 1:
                raise AmbiguousColumn(tuple(c.qualifiers[0] for c in found if c.qualifiers))
            if not found:
                return None
            name = found[0].column
        field = self.schema.find(name)
        if field is not None:
            return Column(field.name, field.dtype)
        lower = name.lower()
        if lower == self.time.pseudo:
            return Column(TS, self.time.dtype)
        if lower == ROW_NUM and not is_windowed(self.plan) and self.joined is None:
            return Column(ROW, pl.Int64())
        return None

    def has(self, name: str) -> bool:
        """Whether `find` knows the name."""
        try:
            return self.find(name) is not None
        except AmbiguousColumn:
            return True

    def star(self, qualifier: str | None = None) -> list[tuple[str, Column]]:
        """The columns `*` stands for, each with the name it is shown under."""
        if self.joined is None:
            return [(f.name, Column(f.name, f.dtype)) for f in self.schema]
        types = {f.name: f.dtype for f in self.schema}
        return [(c.name, Column(c.column, types[c.column])) for c in self.joined if c.goes_by(qualifier)]

    @property
    def pseudo(self) -> tuple[str, ...]:
        """Names that `find` finds besides the columns'."""
        time = (self.time.pseudo,) if self.time.pseudo else ()
        return time if is_windowed(self.plan) else (*time, ROW_NUM)
