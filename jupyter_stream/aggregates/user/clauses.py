"""One Python function for each state of a body: its statements written out, row by row as `sql` runs them.

What a statement does that isn't written here (GROUP BY, ORDER BY, subqueries, ...) is done by the interpreter's own function for
it, called from the lines around it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial

from jupyter_stream.aggregates.user.body import (
    FIRST_PLACE,
    RETURN,
    WINDOW,
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
from jupyter_stream.aggregates.user.fold import fold
from jupyter_stream.aggregates.user.straight import columns_of, is_plain
from jupyter_stream.functions.python_lines import PythonLines, Value
from jupyter_stream.functions.scalar import Env

Statement = Callable[[Env], None]

_OLDEST = "oldest"


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
    writer = _Clause(body)
    with writer.source.placed_failures():
        for number, action in enumerate(actions):
            writer.source.stands_at(body.place(state, number))
            if not writer.source.attempted(partial(writer.action, action)):
                run = writer.source.constant(interpreted(action))
                writer.source.line(f"{run}(env)")
    return writer.made()


def _nothing(env: Env) -> None:
    """A state without statements."""


class _Clause:
    """Writes one state."""

    def __init__(self, body: Body) -> None:
        self._body = body
        self.source = PythonLines()
        self.source.enter("def state(env):")
        self.source.line("tables, window, returned, _ = env[:4]")
        self._read: dict[str, Value] = {}
        for i in range(len(body.arguments)):
            self.source.line(f"a{i} = env[{FIRST_PLACE + i}]")
            self._read[f"#{FIRST_PLACE + i}"] = Value(f"a{i}", True)

    def made(self) -> Statement:
        """The function."""
        found: Statement = self.source.function("state")
        return found

    def action(self, action: Action) -> None:
        """The lines of a statement. Raises `KeyError` where it reads what has no variable."""
        for number, value in enumerate(self._body.values):
            if isinstance(value, Oldest):  # looked at anew by each statement, as one before it may have deleted it
                name = f"{_OLDEST}{number}"
                if f"@{number}" in columns_of(action):
                    self.source.line(f"{name} = window[0][{value.column + 1}] if window else None")
                    self._read[f"@{number}"] = Value(name, True)
        if type(action) is InsertRows:
            self._insert(action)
        elif type(action) is InsertSelect:
            self._insert_select(action)
        elif type(action) is UpdateRows:
            self._update(action)
        elif type(action) is DeleteRows:
            self._delete(action)
        else:
            raise KeyError(type(action).__name__)

    def _target(self, table: int) -> str:
        if table == RETURN:
            return "returned"
        self._known(table)
        return f"tables[{table}]"

    def _known(self, table: int) -> None:
        if not (table == WINDOW or 0 <= table < len(self._body.tables)):
            raise KeyError(table)

    def _insert(self, action: InsertRows) -> None:
        source, target = self.source, self._target(action.table)
        with source.block(f"if {source.condition(action.where, self._read)}:"):
            rows = [_tuple([source.value(e, self._read).text for e in row]) for row in action.rows]
            source.line(f"{target}.append({rows[0]})" if len(rows) == 1 else f"{target}.extend([{', '.join(rows)}])")

    def _update(self, action: UpdateRows) -> None:
        source, read = self.source, action.read
        target, new, row = self._target(read.table), source.variable(), source.variable()
        source.line(f"{new} = []")
        with source.block(f"for {row} in {target}:"):
            inside = {**self._read, **self._columns(read, row)}
            with source.block(f"if {source.condition(action.where, inside)}:"):
                values = {i: source.value(e, inside).text for i, e in action.assignments}
                kept = (values.get(i, inside[f"#{read.place + i}"].text) for i in range(read.width))
                source.line(f"{row} = {_tuple(list(kept))}")
            source.line(f"{new}.append({row})")
        source.line(f"{target}[:] = {new}")

    def _delete(self, action: DeleteRows) -> None:
        source, read = self.source, action.read
        self._known(read.table)
        rows = "window" if read.table == WINDOW else f"tables[{read.table}]"
        kept, row, newest = source.variable(), source.variable(), source.variable()
        source.line(f"{kept} = []")
        source.line(f"{newest} = {rows}[-1] if {rows} and {action.spares} else None")
        with source.block(f"for {row} in {rows}:"):
            inside = {**self._read, **self._columns(read, row)}
            spared = f"if {row} is {newest}:"
            with source.block(spared):
                source.line(f"{kept}.append({row})")
                source.line("continue")
            with source.block(f"if not ({source.condition(action.where, inside)}):"):
                source.line(f"{kept}.append({row})")
        with source.block(f"if len({kept}) < len({rows}):"):
            source.line(f"{rows}.clear()")
            source.line(f"{rows}.extend({kept})")

    # -- SELECT

    def _insert_select(self, action: InsertSelect) -> None:
        source, target, new = self.source, self._target(action.table), self.source.variable()
        source.line(f"{new} = []")
        if is_plain(action.select):
            inside = dict(self._read)
            with ExitStack() as loops:
                self._chosen(action.select, inside, loops)
                source.line(f"{new}.append({_tuple([source.value(e, inside).text for e in action.select.items])})")
        else:
            self._folded(action.select, new)
        source.line(f"{target}.extend({new})")

    def _chosen(self, select: SelectRows, inside: dict[str, Value], loops: ExitStack) -> None:
        """Loops over every combination of rows, and the condition."""
        source = self.source
        for read in select.reads:
            self._known(read.table)
            row = source.variable()
            rows = "window" if read.table == WINDOW else f"tables[{read.table}]"
            loops.enter_context(source.block(f"for {row} in {rows}:"))
            inside.update(self._columns(read, row))
        if select.where is not None:
            loops.enter_context(source.block(f"if {source.condition(select.where, inside)}:"))

    def _folded(self, select: SelectRows, new: str) -> None:
        """Aggregates over all rows that are chosen, without groups."""
        source = self.source
        if select.keys or not is_plain(_without_groups(select)):
            raise KeyError("groups")
        held = [source.variable() for _ in select.folded]
        for name in held:
            source.line(f"{name} = []")
        inside = dict(self._read)
        with ExitStack() as loops:
            self._chosen(select, inside, loops)
            for name, what in zip(held, select.folded, strict=True):
                with source.block(f"if {source.condition(what.where, inside)}:"):
                    source.line(f"{name}.append({_tuple([source.value(e, inside).text for e in what.args])})")
        after = dict(self._read)
        for name, what in zip(held, select.folded, strict=True):
            value = source.variable()
            source.line(f"{value} = {source.constant(fold)}({source.constant(what)}, {name})")
            after[f"#{what.place}"] = Value(value, True)
        with source.block(f"if {source.condition(select.having, after)}:"):
            source.line(f"{new}.append({_tuple([source.value(e, after).text for e in select.items])})")

    def _columns(self, read: Read, row: str) -> dict[str, Value]:
        """Variables for the columns of a row."""
        if type(read) is not Read:
            raise KeyError(type(read).__name__)
        skip = 1 if read.table == WINDOW else 0
        names = [f"r{read.place + i}" for i in range(read.width)]
        self.source.line(f"{', '.join([*(['_'] * skip), *names])}, = {row}")
        return {f"#{read.place + i}": Value(name, True) for i, name in enumerate(names)}


def _without_groups(select: SelectRows) -> SelectRows:
    return replace(select, grouped=False, folded=(), having=None)


def _tuple(values: Sequence[str]) -> str:
    return f"({', '.join(values)},)" if values else "()"


__all__ = ["Statement", "clause"]
