"""Bodies that are straight-line code: each table holds one row from INITIALIZE on, so that its columns are variables.

Such a body over many rows is one loop of Python, without tables, tuples or a call for each row. What else a body may do (more
rows in a table, the window, SELECTs inside expressions) is not for here: see `clauses`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal

from jupyter_stream.aggregates.user.body import (
    FIRST_PLACE,
    RETURN,
    Action,
    Body,
    DeleteRows,
    InsertRows,
    InsertSelect,
    Oldest,
    Read,
    SelectRows,
    UpdateRows,
)
from jupyter_stream.functions import expression
from jupyter_stream.functions.expression import Column, Expr, columns
from jupyter_stream.functions.python_lines import PythonLines, Value

State = Literal["initialize", "iterate", "terminate", "expire"]
Loop = Callable[[Sequence[Any]], list[Any]]
"""From the rows of one group, at least one, to what is returned. Rows are values where the aggregate takes one argument, else
tuples. Raises `RowError`."""


@dataclass(frozen=True)
class Straight:
    """A straight-line body.

    Attributes:
        body: the same.
        first: for each column of its tables, by table and place in it, what INITIALIZE puts there.
        looks_back: whether more than EXPIRE reads the window, by `oldest()`.
    """

    body: Body
    first: Mapping[tuple[int, int], Expr]
    looks_back: bool


def straight(body: Body) -> Straight | None:
    """The body as straight-line code; None where it is not."""
    if not all(isinstance(v, Oldest) for v in body.values) or body.again is not None or body.stored:
        return None
    first: dict[tuple[int, int], Expr] = {}
    made: set[int] = set()
    for action in body.initialize:
        if isinstance(action, InsertRows) and action.table != RETURN:
            if action.where is not None or len(action.rows) != 1 or action.table in made:
                return None
            if not 0 <= action.table < len(body.tables):
                return None
            made.add(action.table)
            first.update(((action.table, i), e) for i, e in enumerate(action.rows[0]))
        elif not _is_plain(action, made):
            return None
    others = (*body.iterate, *body.terminate, *(body.expire or ()))
    if len(made) < len(body.tables) or not all(_is_plain(a, made) for a in others):
        return None
    before_expire = (*body.initialize, *body.iterate, *body.terminate)
    return Straight(body, first, any(n[0] == "@" for a in before_expire for n in columns_of(a)))


def _is_plain(action: Action, made: set[int]) -> bool:
    """Whether it changes or reads single rows that are there."""
    if isinstance(action, UpdateRows):
        return action.read.table in made
    if isinstance(action, InsertRows):
        return action.table == RETURN
    if isinstance(action, InsertSelect):
        return action.table == RETURN and reads_single_rows(action.select, made)
    return False


def reads_single_rows(select: SelectRows, tables: set[int]) -> bool:
    """Whether a SELECT gives a row for the one row of its tables, or none."""
    return is_plain(select) and all(type(read) is Read and read.table in tables for read in select.reads)


def columns_of(action: Action) -> set[str]:
    """Names of the columns a statement reads itself, those of its subqueries not."""
    return {name for e in _expressions(action) for name in columns(e)}


def _computes(action: Action) -> bool:
    """Whether it has a call in it, which may fail."""
    return not all(isinstance(e, Column | expression.Literal) for e in _expressions(action))


def _expressions(action: Action) -> list[Expr]:
    exprs: list[Expr | None] = []
    match action:
        case InsertRows():
            exprs += [action.where, *(e for row in action.rows for e in row)]
        case InsertSelect():
            select = action.select
            exprs += [select.where, select.having, *select.items]
            exprs += [e for folded in select.folded for e in (*folded.args, folded.where)]
        case UpdateRows():
            exprs += [action.where, *(e for _, e in action.assignments)]
        case DeleteRows():
            exprs += [action.where]
    return [e for e in exprs if e is not None]


def is_plain(select: SelectRows) -> bool:
    """Whether a SELECT only combines, chooses and computes: one row after the other, nothing else said."""
    rest = (
        f for f in fields(select) if f.name not in ("reads", "where", "items", "keys", "folded", "grouped", "having")
    )
    return not select.grouped and select.having is None and all(getattr(select, f.name) == f.default for f in rest)


def loop(made: Straight, nullable: bool) -> Loop:
    """The body over the rows of one group.

    Args:
        made: the body.
        nullable: whether arguments may be NULL.
    """
    body = made.body
    writer = StateWriter(made, nullable)
    source = writer.source
    with source.block("def over(rows):"), source.placed_failures():
        source.line("following = iter(rows)")
        source.line(f"{writer.arguments} = next(following)")
        writer.state("initialize", returns=True)
        # a row behind the first makes what the first returned be forgotten
        with source.block(f"for {writer.arguments} in following:"):
            writer.state("iterate", returns=not body.terminate or writer.may_fail(body.iterate))
        if body.terminate:
            writer.state("terminate", returns=True)
        source.line("return list(returned)")
    found: Loop = source.function("over")
    return found


class StateWriter:
    """Writes the states of one body; columns of tables are variables.

    Args:
        made: the body.
        nullable: whether arguments, and so columns, may be NULL.
    """

    def __init__(self, made: Straight, nullable: bool) -> None:
        body = made.body
        self.source = PythonLines()
        self._body = body
        self._names = [f.name for f in getattr(body.dtype, "fields", ())] if body.struct else []
        arguments = [f"a{i}" for i in range(len(body.arguments))]
        self.arguments = arguments[0] if len(arguments) == 1 else f"({', '.join(arguments)})" if arguments else "_"
        self._read = {f"#{FIRST_PLACE + i}": Value(name, nullable) for i, name in enumerate(arguments)}
        self._state = {key: Value(f"s{key[0]}_{key[1]}", True) for key in made.first}
        self._read.update({f"@{n}": Value(f"oldest{n}", True) for n in range(len(body.values))})
        if not nullable:
            self._state = self._never_null(made)

    def _never_null(self, made: Straight) -> dict[tuple[int, int], Value]:
        """Which columns are never NULL: those that stay so if they are so, until nothing more is found."""
        possible = {key: Value(part.text, False) for key, part in self._state.items()}
        while True:
            found = dict(possible)
            for key, expr in made.first.items():
                if PythonLines().value(expr, self._read).nullable:
                    found[key] = self._state[key]
            for action in (*made.body.initialize, *made.body.iterate, *made.body.terminate, *(made.body.expire or ())):
                if isinstance(action, UpdateRows):
                    read = {**self._read, **_columns(action.read, possible)}
                    for i, expr in action.assignments:
                        if PythonLines().value(expr, read).nullable:
                            found[action.read.table, i] = self._state[action.read.table, i]
            if found == possible:
                return found
            possible = found

    @staticmethod
    def may_fail(actions: Sequence[Action]) -> bool:
        """Whether what is returned there has to be computed, since computing it may be an error."""
        exprs: list[Expr] = []
        for action in actions:
            if isinstance(action, InsertRows):
                exprs += [*(e for row in action.rows for e in row), *([action.where] if action.where else [])]
            elif isinstance(action, InsertSelect):
                exprs += [*action.select.items, *([action.select.where] if action.select.where else [])]
        return not all(isinstance(e, Column | expression.Literal) for e in exprs)

    def row(self, table: int) -> str:
        """A table's one row as a tuple of variables."""
        return "(" + "".join(f"{part.text}, " for (of, _), part in self._state.items() if of == table) + ")"

    def state(self, name: State, returns: bool) -> None:
        """The lines of a state. What was returned before is forgotten.

        Args:
            name: which one.
            returns: whether what its statements return is asked for.
        """
        source = self.source
        actions: Sequence[Action] = getattr(self._body, name) or ()
        if returns:
            source.line("returned = ()")
        read = {n for a in actions for n in columns_of(a)}
        for n, value in enumerate(self._body.values):
            if isinstance(value, Oldest) and f"@{n}" in read:
                source.line(f"oldest{n} = window[0][{value.column + 1}] if window else None")
        for number, action in enumerate(actions):
            if _computes(action):
                source.stands_at(self._body.place(name, number))
            if isinstance(action, UpdateRows):
                self._update(action)
            elif isinstance(action, InsertRows) and action.table != RETURN:
                self._insert(action)
            elif returns:
                self._return(action)

    def _insert(self, action: InsertRows) -> None:
        values = [self.source.value(e, self._read).text for e in action.rows[0]]
        names = [self._state[action.table, i].text for i in range(len(values))]
        self.source.line(f"{', '.join(names)} = {', '.join(values)}")
        self.source.line(f"live{action.table} = True")

    def _update(self, action: UpdateRows) -> None:
        source = self.source
        read = {**self._read, **_columns(action.read, self._state)}
        with source.block(f"if {source.condition(action.where, read)}:"):
            values = [source.value(e, read).text for _, e in action.assignments]
            names = [self._state[action.read.table, i].text for i, _ in action.assignments]
            source.line(f"{', '.join(names)} = {', '.join(values)}")

    def _return(self, action: Action) -> None:
        source = self.source
        assert isinstance(action, InsertRows | InsertSelect)
        if isinstance(action, InsertRows):
            with source.block(f"if {source.condition(action.where, self._read)}:"):
                made = [self._row(row, self._read) for row in action.rows]
                source.line(f"returned += ({', '.join(made)},)")
            return
        read = dict(self._read)
        for table in action.select.reads:
            read.update(_columns(table, self._state))
        with source.block(f"if {source.condition(action.select.where, read)}:"):
            source.line(f"returned += ({self._row(action.select.items, read)},)")

    def _row(self, items: Sequence[Expr], read: Mapping[str, Value]) -> str:
        """A row of RETURN as a value."""
        values = [self.source.value(e, read).text for e in items]
        if not self._body.struct:
            return values[0]
        return "{" + ", ".join(f"{n!r}: {v}" for n, v in zip(self._names, values, strict=True)) + "}"


def _columns(read: Read, state: Mapping[tuple[int, int], Value]) -> dict[str, Value]:
    return {f"#{read.place + i}": state[read.table, i] for i in range(read.width)}


__all__ = ["Loop", "Straight", "loop", "straight"]
