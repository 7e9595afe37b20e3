"""One Python function for each state of a body: its statements written out, row by row as `sql` runs them.

What a statement does that isn't written here (GROUP BY, ORDER BY, ...) is done by the interpreter's own function for it, called
from the lines around it. SELECTs are written in `select_lines`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Final, TypeAlias

from jupyter_stream.aggregates.user.body import (
    FIRST_PLACE,
    RETURN,
    Action,
    Body,
    DeleteRows,
    InsertRows,
    InsertSelect,
    UpdateRows,
)
from jupyter_stream.aggregates.user.lookups import RowLookups
from jupyter_stream.aggregates.user.select_lines import BodyLines, BodyScope, Selects, as_tuple
from jupyter_stream.functions.python_lines import Value
from jupyter_stream.functions.scalar import Env

Statement = Callable[[Env], None]
Rows: TypeAlias = list[tuple[object, ...]] | deque[tuple[object, ...]]
_FEW: Final = 4
"""Rows that are taken out of a table one by one: each moves those behind it, some 50 ns for a thousand."""


def clause(body: Body, actions: Sequence[Action], state: str, interpreted: Callable[[Action], Statement]) -> Statement:
    """A state's statements as one function of the environment. What fails is told with the state and the line of its text.

    Args:
        body: whose they are.
        actions: the statements.
        state: its name, in lower case.
        interpreted: the function of one statement, which forgets what subqueries gave before.
    """
    if not actions:
        return _nothing
    source = BodyLines()
    source.enter("def state(env):")
    source.line("tables, window, returned, _ = env[:4]")
    writer = ClauseWriter(body, source)
    for i, name in enumerate(writer.arguments):
        source.line(f"{name} = env[{FIRST_PLACE + i}]")
    with source.placed_failures():
        for number, action in enumerate(actions):
            source.stands_at(body.place(state, number))
            if not source.attempted(partial(writer.action, action)):
                run = source.constant(interpreted(action))
                source.line(f"{run}(env)")
    found: Statement = source.function("state")
    return found


def _nothing(env: Env) -> None:
    """A state without statements."""


class ClauseWriter:
    """Writes statements of one body: what they return is appended to `returned`.

    Args:
        body: whose they are.
        source: where the lines go.
        lookups: what rows are found by; None where all are looked at, and rows of RETURN are tuples rather than values.

    Attributes:
        arguments: the variables the arguments are in.
    """

    def __init__(self, body: Body, source: BodyLines, lookups: RowLookups | None = None) -> None:
        self._body = body
        self._source = source
        self._lookups = lookups
        self._selects = Selects(body, source, lookups)
        self.arguments = [f"a{i}" for i in range(len(body.arguments))]
        self._read = {f"#{FIRST_PLACE + i}": Value(name, True) for i, name in enumerate(self.arguments)}
        self._fields = [f.name for f in getattr(body.dtype, "fields", ())] if body.struct else []

    def begin_state(self) -> None:
        """The statements that follow are those of one state, one after the other."""
        self._selects.begin_state()

    def action(self, action: Action) -> None:
        """The lines of a statement. Raises `KeyError` where it reads what has no variable."""
        scope = self._selects.scope(action, self._read)
        if type(action) is InsertRows:
            self._insert(action, scope)
        elif type(action) is InsertSelect:
            self._insert_select(action, scope)
        elif type(action) is UpdateRows:
            self._update(action, scope)
        elif type(action) is DeleteRows:
            self._delete(action, scope)
        else:
            raise KeyError(type(action).__name__)

    def _target(self, table: int) -> str:
        return "returned" if table == RETURN else self._selects.rows(table)

    def _row(self, table: int, values: Sequence[str]) -> str:
        """A row as the table has it."""
        if table != RETURN or self._lookups is None:
            return as_tuple(values)
        if not self._body.struct:
            return values[0]
        return "{" + ", ".join(f"{n!r}: {v}" for n, v in zip(self._fields, values, strict=True)) + "}"

    def _inserted(self, table: int, count: str) -> None:
        if self._lookups is not None:
            self._lookups.insert(table, count)

    def _insert(self, action: InsertRows, scope: BodyScope) -> None:
        source, target = self._source, self._target(action.table)
        with source.block(f"if {source.condition(action.where, scope)}:"):
            rows = [self._row(action.table, [source.value(e, scope).text for e in row]) for row in action.rows]
            source.line(f"{target}.append({rows[0]})" if len(rows) == 1 else f"{target}.extend([{', '.join(rows)}])")
            self._inserted(action.table, str(len(rows)))

    def _insert_select(self, action: InsertSelect, scope: BodyScope) -> None:
        source, target, new = self._source, self._target(action.table), self._source.variable()

        def found(inside: BodyScope) -> None:
            made = self._row(action.table, [source.value(e, inside).text for e in action.select.items])
            source.line(f"{new}.append({made})")

        source.line(f"{new} = []")
        self._selects.chosen(action.select, scope, found)
        source.line(f"{target}.extend({new})")
        self._inserted(action.table, f"len({new})")

    def _update(self, action: UpdateRows, scope: BodyScope) -> None:
        source, read = self._source, action.read
        target = self._target(read.table)
        new, at, row = source.variable(), source.variable(), source.variable()
        found, where = self._selects.condition(read, action.where, scope)

        def changed(write: Callable[[str], None]) -> None:
            inside = scope.further(self._selects.columns(read, row))
            with source.block(f"if {source.condition(where, inside)}:"):
                values = {i: source.value(e, inside).text for i, e in action.assignments}
                write(as_tuple([values.get(i, inside[f"#{read.place + i}"].text) for i in range(read.width)]))

        def all_changed() -> None:
            # a row that fails leaves those before it as they were
            source.line(f"{new} = []")
            with self._rows(target, found, at, row):
                changed(lambda made: source.line(f"{new}.append(({at}, {made}))"))
            with source.block(f"for {at}, {row} in {new}:"):
                source.line(f"{target}[{at}] = {row}")

        if found is None:
            all_changed()
        else:  # nearly always of one row, which nothing has to wait for: 0.1 of 0.6 µs
            with source.block(f"if len({found}) == 1:"):
                source.line(f"{at}, = {found}")
                source.line(f"{row} = {target}[{at}]")
                changed(lambda made: source.line(f"{target}[{at}] = {made}"))
            with source.block(f"elif {found}:"):
                all_changed()
        if self._lookups is not None:
            self._lookups.forget(read.table, [i for i, _ in action.assignments])

    def _delete(self, action: DeleteRows, scope: BodyScope) -> None:
        source, read = self._source, action.read
        rows = self._selects.rows(read.table)
        gone, at, row, newest = (source.variable() for _ in range(4))
        source.line(f"{gone} = []")
        source.line(f"{newest} = {rows}[-1] if {rows} and {action.spares} else None")
        found, where = self._selects.condition(read, action.where, scope)
        with self._rows(rows, found, at, row):
            inside = scope.further(self._selects.columns(read, row))
            with source.block(f"if {row} is {newest}:"):
                source.line("continue")
            with source.block(f"if {source.condition(where, inside)}:"):
                source.line(f"{gone}.append({at})")
        with source.block(f"if {gone}:"):
            source.line(f"{source.constant(_without)}({rows}, {gone})")
            if self._lookups is not None:
                self._lookups.forget(read.table)

    @contextmanager
    def _rows(self, rows: str, found: str | None, at: str, row: str) -> Iterator[None]:
        """A loop over rows and their places, all of them or those that were found."""
        with self._source.block(f"for {at}, {row} in enumerate({rows}):" if found is None else f"for {at} in {found}:"):
            if found is not None:
                self._source.line(f"{row} = {rows}[{at}]")
            yield


def _without(rows: Rows, gone: Sequence[int]) -> None:
    """Take rows out, at these places in order."""
    if len(gone) <= _FEW:
        for at in reversed(gone):
            del rows[at]
        return
    left = set(gone)
    kept = [row for at, row in enumerate(rows) if at not in left]
    rows.clear()
    rows.extend(kept)


__all__ = ["ClauseWriter", "Statement", "clause"]
