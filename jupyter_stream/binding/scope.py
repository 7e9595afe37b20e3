"""What FROM gives a query: a plan, the names that reach its columns, and its time. Not for expressions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final, Literal

import polars as pl

from jupyter_stream.core.messages import ROW, TS
from jupyter_stream.core.schema import Field, Schema
from jupyter_stream.functions import Column, Expr
from jupyter_stream.plan.logical import (
    Aggregate,
    Alive,
    Bags,
    Derived,
    Distinct,
    Join,
    MatchRows,
    Newest,
    Plan,
    Project,
    RelationJoin,
    ToStream,
    streams,
)
from jupyter_stream.plan.odd_columns import why_left_out
from jupyter_stream.plan.time_of import WINDOW_TIME, Time, time_of
from jupyter_stream.syntax.nodes import Node
from jupyter_stream.syntax.source_text import Name, SourceText
from jupyter_stream.windows import LifetimeWindow, Schedule, Window

ROW_NUM = "row_num"
NO_NUMBERS: Final = (
    "row_num is the number of a stream's row; a join, a relation and answers have none. Take it along, "
    "FROM (SELECT row_num AS n, k FROM s), or give a join a name, CREATE STREAM j AS SELECT ..., and read FROM j."
)
"""What to write where there is no row_num."""


def is_windowed(plan: Plan) -> bool:
    """Whether its rows are answers, which have no arrival numbers, rather than rows of a stream."""
    changed = isinstance(plan, Aggregate | Distinct | Bags | ToStream | RelationJoin | MatchRows)
    return changed or any(is_windowed(part) for part in plan.inputs)


def _has_numbers(plan: Plan) -> bool:
    """Whether its rows have numbers: a stream's own, or those of a SELECT that is counted in the order of time."""
    if isinstance(plan, Derived):
        return not is_windowed(plan.input)
    if is_windowed(plan) or isinstance(plan, Join | Alive | Newest):
        return False
    return all(map(_has_numbers, plan.inputs))


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
        reach: how it can be named: a column of USING is one column when it is not qualified, and each input's own otherwise.
        shown: whether `*` stands for it, too.
    """

    qualifiers: tuple[str, ...]
    name: str
    column: str
    reach: Literal["any", "bare", "qualified"] = "any"
    shown: bool = True

    def goes_by(self, qualifier: str | None) -> bool:
        """Whether it can be qualified so; None: whether it can be named without."""
        if qualifier is None:
            return self.reach != "qualified"
        return self.reach != "bare" and qualifier.lower() in self.qualifiers


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
    def sliding(self) -> bool:
        """Whether its window has a SLIDE."""
        return self.window is not None and self.window.sliding

    @property
    def lifetime(self) -> LifetimeWindow | None:
        """How long its rows live, where a window says that and nothing more."""
        return None if self.window is None else self.window.lifetime

    @property
    def schedule(self) -> Schedule | None:
        """When the extents of its window end, where that is known beforehand."""
        return None if self.window is None else self.window.schedule

    @cached_property
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
        return Column(ROW, pl.Int64()) if lower == ROW_NUM and self._numbered else None

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
        return [(c.name, Column(c.column, types[c.column])) for c in self.joined if c.shown and c.goes_by(qualifier)]

    @property
    def pseudo(self) -> tuple[str, ...]:
        """Names that `find` finds besides the columns'."""
        time = (self.time.pseudo,) if self.time.pseudo else ()
        return (*time, ROW_NUM) if self._numbered else time

    @property
    def _numbered(self) -> bool:
        return self.joined is None and _has_numbers(self.plan)


def joined_columns(scope: Scope) -> tuple[JoinedColumn, ...]:
    """Whose columns are which, of an input of a join as well."""
    return scope.joined or tuple(JoinedColumn(scope.qualifiers, f.name, f.name) for f in scope.schema)


def left_out_of(scope: Scope | None, name: str) -> tuple[str, str] | None:
    """That a source has such a column and can't read it, and what to write; None where it isn't so."""
    found = [] if scope is None else [why_left_out(s.source, name) for s in streams(scope.plan)]
    return next((f for f in found if f is not None), None)


def with_window_time(scope: Scope) -> Scope:
    """Answers of extents with a column for what `window_time` names, which `*` doesn't show; anything else as it is."""
    time = scope.time
    if time.pseudo != WINDOW_TIME or time.column is not None or scope.schema.find(WINDOW_TIME) is not None:
        return scope
    items: list[tuple[str, Expr]] = [(f.name, Column(f.name, f.dtype)) for f in scope.schema]
    schema = Schema((*scope.schema, Field(WINDOW_TIME, time.dtype)))
    hidden = JoinedColumn(scope.qualifiers, WINDOW_TIME, WINDOW_TIME, shown=False)
    plan = Project(scope.plan, (*items, (WINDOW_TIME, Column(TS, time.dtype))), schema)
    return replace(scope, plan=plan, joined=(*joined_columns(scope), hidden))


def lookup(scope: Scope, name: Name, qualifier: Name | None, source: SourceText) -> Expr | None:
    """A column by its name, or None. Raises `QueryError` where it could be one of several."""
    try:
        # a qualifier that is no input's is the name of a STRUCT column
        known = qualifier is not None and qualifier.text.lower() in scope.qualifiers
        if qualifier is not None and not known and scope.has(qualifier.text):
            return None  # a field of it, whatever other column has the field's name
        return scope.find(name.text, qualifier.text if qualifier is not None and known else None)
    except AmbiguousColumn as ambiguous:
        hint = " or ".join(f"{q}.{name.text}" for q in ambiguous.qualifiers)
        raise source.error(
            f"{name.text} could be a column of {' or '.join(ambiguous.qualifiers)}", name.span, f"Write {hint}."
        ) from None
