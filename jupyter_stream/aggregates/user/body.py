"""The body of an aggregate written in SQL, bound: its tables and what its states do to them. Frozen; no text.

Expressions read an environment: a column called `#7` is place 7 of it, one called `@2` the value of subquery 2. Which places
belong to which table is said where rows are read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import polars as pl

from jupyter_stream.aggregates.user.protocol import Program
from jupyter_stream.core.schema import Schema
from jupyter_stream.core.table import TableRows
from jupyter_stream.functions.expression import Expr

RETURN = -1
"""The number of the virtual table RETURN."""
WINDOW = -2
"""The number of the inwindow table, whose rows the system keeps."""
DERIVED = -3
"""The number of what a SELECT in FROM gives, which is no table."""
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
class DerivedRows:
    """A SELECT in FROM, or a UNION, EXCEPT or INTERSECT of several: its rows, one after the other, at `place`.

    Attributes:
        query: what gives them.
        place: of their first value.
        width: how many values they have.
    """

    query: SelectRows | SetRows
    place: int
    width: int


@dataclass(frozen=True)
class PairedRows:
    """A join: pairs of rows for which the condition is true; of an outer one the rows without a partner beside NULLs.

    Attributes:
        kind: which rows come out.
        left, right: its sides.
        on: the condition; None for all pairs.
        right_places: where the places of the right side begin and end; those of the left side are before them.
        left_place: where the left side's begin.
    """

    kind: Literal["inner", "left", "full"]
    left: Source
    right: Source
    on: Expr | None
    left_place: int
    right_places: tuple[int, int]


Source: TypeAlias = Read | DerivedRows | PairedRows
"""FROM where it is more than a list of tables."""


@dataclass(frozen=True)
class SetRows:
    """UNION, EXCEPT or INTERSECT of two SELECTs of equal types; `all` keeps equal rows apart."""

    kind: Literal["union", "except", "intersect"]
    all: bool
    parts: tuple[SelectRows | SetRows, ...]


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
class BodyOrder:
    """ORDER BY ... LIMIT ... OFFSET.

    Attributes:
        keys: expressions, whether each is descending, and whether its NULLs come last; () for the order rows are read in.
        limit: how many rows are taken; None for all.
        offset: how many are left out before that.
    """

    keys: tuple[tuple[Expr, bool, bool], ...]
    limit: int | None
    offset: int


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
        ordered: which of them, in which order; None for all.
        source: FROM, where it is more than a list of tables; `reads` has none then.
    """

    reads: tuple[Read, ...]
    where: Expr | None
    keys: tuple[tuple[int, Expr], ...]
    folded: tuple[Folded, ...]
    grouped: bool
    having: Expr | None
    items: tuple[Expr, ...]
    distinct: bool = False
    ordered: BodyOrder | None = None
    source: Source | None = None


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
class Chance:
    """`rand()`: the next of a sequence of numbers from 0 to 1 that look like chance.

    Attributes:
        table: the number of the table of its own where it stands in that sequence.
        seed: where the sequence begins.
    """

    table: int
    seed: int


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
    """DELETE FROM table [WHERE ...].

    Attributes:
        read: which rows.
        where: which of them.
        spares: the window's newest row stays: WHERE compares rows with the arguments, which are its own.
    """

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
        lines: of each state, the lines of its statements in the declaration's text.
        stored: the session's tables it reads or writes; their numbers follow those of its own.
        writes: names of those it writes.
        again: the number of the table of its own that holds the rows it is to take next: INSERT INTO SELF; None without.
        stored_names: names of the tables in `stored`, as written.
    """

    name: str
    arguments: tuple[pl.DataType, ...]
    dtype: pl.DataType
    struct: bool
    tables: tuple[tuple[str, Schema], ...]
    keeps_window: bool
    places: int
    values: tuple[Subquery | Oldest | Chance, ...]
    initialize: tuple[Action, ...]
    iterate: tuple[Action, ...]
    terminate: tuple[Action, ...]
    expire: tuple[Action, ...] | None
    lines: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    stored: tuple[TableRows, ...] = ()
    writes: tuple[str, ...] = ()
    again: int | None = None
    stored_names: tuple[str, ...] = ()

    def place(self, state: str, number: int) -> str:
        """Where a statement stands, for what is told when it fails: the state, and the line of the declaration's text.

        Args:
            state: its name, in lower case. INITIALIZE may not be written: it is ITERATE then.
            number: of the statement in it.
        """
        written = state if state in self.lines or state != "initialize" else "iterate"
        lines = self.lines.get(written, ())
        line = f", line {lines[number]} of its text" if number < len(lines) else ""
        return f"in {written.upper()}{line}: "
