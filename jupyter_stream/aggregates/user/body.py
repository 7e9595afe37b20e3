"""The body of an aggregate written in SQL, bound: its tables and what its states do to them. Frozen; no text.

Expressions read an environment: a column called `#7` is place 7 of it, one called `@2` the value of subquery 2. Which places
belong to which table is said where rows are read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import polars as pl

from jupyter_stream.aggregates.user.protocol import Program
from jupyter_stream.core.schema import Schema
from jupyter_stream.functions.expression import Expr

RETURN = -1
"""The number of the virtual table RETURN."""
WINDOW = -2
"""The number of the inwindow table, whose rows the system keeps."""
FIRST_PLACE = 4
"""Places before this one are the run's own: see `sql`."""


@dataclass(frozen=True)
class Read:
    """Rows of a table, one after the other, at `place` and the places behind it.

    Attributes:
        table: its number.
        place: of its first column.
        width: how many columns it has.
    """

    table: int
    place: int
    width: int


@dataclass(frozen=True)
class Folded:
    """An aggregate over rows a SELECT of a body reads.

    Attributes:
        function: a built-in one's name, empty for a user's own.
        args: its arguments.
        distinct: of distinct values.
        where: FILTER.
        place: where its answer goes.
        dtype: the answer's type.
        program: a user's own aggregate.
        parameters: constants it was called with.
    """

    function: str
    args: tuple[Expr, ...]
    distinct: bool
    where: Expr | None
    place: int
    dtype: pl.DataType
    program: Program | None = None
    parameters: tuple[object, ...] = ()


@dataclass(frozen=True)
class SelectRows:
    """SELECT.

    Attributes:
        reads: tables, every combination of whose rows is looked at.
        where: which are taken.
        keys: GROUP BY, each with the place its value goes to.
        folded: aggregates; with any, or with keys, there is one row for each group.
        having: which groups are taken.
        items: the values of a row.
        distinct: equal rows once.
    """

    reads: tuple[Read, ...]
    where: Expr | None
    keys: tuple[tuple[int, Expr], ...]
    folded: tuple[Folded, ...]
    grouped: bool
    having: Expr | None
    items: tuple[Expr, ...]
    distinct: bool = False


@dataclass(frozen=True)
class Subquery:
    """A SELECT inside an expression.

    Attributes:
        kind: EXISTS, one value, or a list for IN.
        select: what is selected.
        once: whether it is the same for all rows of the statement it stands in.
        value: for `in`: what is looked for.
    """

    kind: Literal["exists", "value", "in"]
    select: SelectRows
    once: bool
    value: Expr | None = None


@dataclass(frozen=True)
class Oldest:
    """A column of the oldest row of the window; NULL of none."""

    column: int


@dataclass(frozen=True)
class InsertRows:
    """INSERT INTO table VALUES (...), ... [WHERE ...]: columns in the table's order."""

    table: int
    rows: tuple[tuple[Expr, ...], ...]
    where: Expr | None


@dataclass(frozen=True)
class InsertSelect:
    """INSERT INTO table SELECT ...: items in the table's order."""

    table: int
    select: SelectRows


@dataclass(frozen=True)
class UpdateRows:
    """UPDATE table SET column = value, ... [WHERE ...]."""

    read: Read
    assignments: tuple[tuple[int, Expr], ...]
    where: Expr | None


@dataclass(frozen=True)
class DeleteRows:
    """DELETE FROM table [WHERE ...]. In INITIALIZE and ITERATE the window's newest row is spared (`spares`)."""

    read: Read
    where: Expr | None
    spares: bool


Action: TypeAlias = InsertRows | InsertSelect | UpdateRows | DeleteRows


@dataclass(frozen=True)
class Body:
    """An aggregate written in SQL, for given types of arguments.

    Attributes:
        name: as declared.
        arguments: types the arguments are cast to; they are at the places from `FIRST_PLACE` on.
        dtype: the result's type.
        struct: whether RETURN's columns are the fields of a STRUCT; else it has one column, which is the value.
        tables: names and columns of its own tables.
        keeps_window: whether the window's rows are kept.
        places: the environment's size.
        values: what the columns called `@0`, `@1`, ... stand for.
        initialize, iterate, terminate, expire: what the states do; None for EXPIRE where it isn't written.
    """

    name: str
    arguments: tuple[pl.DataType, ...]
    dtype: pl.DataType
    struct: bool
    tables: tuple[tuple[str, Schema], ...]
    keeps_window: bool
    places: int
    values: tuple[Subquery | Oldest, ...]
    initialize: tuple[Action, ...]
    iterate: tuple[Action, ...]
    terminate: tuple[Action, ...]
    expire: tuple[Action, ...] | None
