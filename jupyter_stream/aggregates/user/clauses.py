"""One Python function for each state of a body: its statements written out, row by row as `sql` runs them.

What a statement does that isn't written here (GROUP BY, ORDER BY, ...) is done by the interpreter's own function for it, called
from the lines around it. SELECTs are written in `select_lines`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

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
from jupyter_stream.aggregates.user.select_lines import BodyLines, BodyScope, Selects, as_tuple
from jupyter_stream.functions.python_lines import Value
from jupyter_stream.functions.scalar import Env

Statement = Callable[[Env], None]


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
        self.source = BodyLines()
        self._selects = Selects(body, self.source)
        self.source.enter("def state(env):")
        self.source.line("tables, window, returned, _ = env[:4]")
        self._arguments: dict[str, Value] = {}
        for i in range(len(body.arguments)):
            self.source.line(f"a{i} = env[{FIRST_PLACE + i}]")
            self._arguments[f"#{FIRST_PLACE + i}"] = Value(f"a{i}", True)

    def made(self) -> Statement:
        """The function."""
        found: Statement = self.source.function("state")
        return found

    def action(self, action: Action) -> None:
        """The lines of a statement. Raises `KeyError` where it reads what has no variable."""
        scope = self._selects.scope(action, self._arguments)
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

    def _insert(self, action: InsertRows, scope: BodyScope) -> None:
        source, target = self.source, self._target(action.table)
        with source.block(f"if {source.condition(action.where, scope)}:"):
            rows = [as_tuple([source.value(e, scope).text for e in row]) for row in action.rows]
            source.line(f"{target}.append({rows[0]})" if len(rows) == 1 else f"{target}.extend([{', '.join(rows)}])")

    def _insert_select(self, action: InsertSelect, scope: BodyScope) -> None:
        source, target, new = self.source, self._target(action.table), self.source.variable()

        def found(inside: BodyScope) -> None:
            source.line(f"{new}.append({as_tuple([source.value(e, inside).text for e in action.select.items])})")

        source.line(f"{new} = []")
        self._selects.chosen(action.select, scope, found)
        source.line(f"{target}.extend({new})")

    def _update(self, action: UpdateRows, scope: BodyScope) -> None:
        source, read = self.source, action.read
        target = self._target(read.table)
        new, at, row = source.variable(), source.variable(), source.variable()
        source.line(f"{new} = []")
        where = self._selects.condition(action.where, [read], scope)
        with source.block(f"for {at}, {row} in enumerate({target}):"):
            inside = scope.further(self._selects.columns(read, row))
            with source.block(f"if {source.condition(where, inside)}:"):
                values = {i: source.value(e, inside).text for i, e in action.assignments}
                kept = (values.get(i, inside[f"#{read.place + i}"].text) for i in range(read.width))
                source.line(f"{new}.append(({at}, {as_tuple(list(kept))}))")
        with source.block(f"for {at}, {row} in {new}:"):
            source.line(f"{target}[{at}] = {row}")

    def _delete(self, action: DeleteRows, scope: BodyScope) -> None:
        source, read = self.source, action.read
        rows = self._selects.rows(read.table)
        kept, row, newest = source.variable(), source.variable(), source.variable()
        source.line(f"{kept} = []")
        source.line(f"{newest} = {rows}[-1] if {rows} and {action.spares} else None")
        where = self._selects.condition(action.where, [read], scope)
        with source.block(f"for {row} in {rows}:"):
            inside = scope.further(self._selects.columns(read, row))
            spared = f"if {row} is {newest}:"
            with source.block(spared):
                source.line(f"{kept}.append({row})")
                source.line("continue")
            with source.block(f"if not ({source.condition(where, inside)}):"):
                source.line(f"{kept}.append({row})")
        with source.block(f"if len({kept}) < len({rows}):"):
            source.line(f"{rows}.clear()")
            source.line(f"{rows}.extend({kept})")


__all__ = ["Statement", "clause"]
