"""Bodies whose tables have more than one row, over many rows: one loop of Python for all of a body's states.

The tables stay lists of tuples, changed in place, so that a row that fails leaves them as its statements did so far, and the next
one may be taken by any other way. Rows that a condition asks for by the value of a column are looked up (`lookups`). A body for
which a statement can't be written out has no such loop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from jupyter_stream.aggregates.user.body import FIRST_PLACE, RETURN, Action, Body, Chance
from jupyter_stream.aggregates.user.clauses import ClauseWriter
from jupyter_stream.aggregates.user.lookups import Indexes, RowLookups
from jupyter_stream.aggregates.user.segments import Outcome
from jupyter_stream.aggregates.user.select_lines import BodyLines
from jupyter_stream.aggregates.user.stepping import Step, Tables, Window
from jupyter_stream.aggregates.user.straight import State
from jupyter_stream.functions.scalar import Env

TableSteps: TypeAlias = Callable[[Tables, Window, int, Iterator[Step], list[Outcome], Indexes, Env], int]
"""As `Stepping`, with indexes of the tables."""


def table_steps(body: Body) -> TableSteps | None:
    """The loop over rows of one group; None where a statement can't be written out."""
    if body.again is not None or body.stored or any(isinstance(v, Chance) for v in body.values):
        return None
    known: set[tuple[int, int]] = set()
    while True:  # which columns are looked up is known at the end: INSERT may stand before
        writer = _TableLoop(body, known)
        if not writer.source.attempted(writer.write):
            return None
        if writer.lookups.asked <= known:
            made: TableSteps = writer.source.function("steps")
            return made
        known |= writer.lookups.asked


class _TableLoop:
    """Writes the loop of one body.

    Args:
        body: whose it is.
        known: tables and columns of which there are indexes.
    """

    def __init__(self, body: Body, known: set[tuple[int, int]]) -> None:
        self._body = body
        self.source = BodyLines()
        self.lookups = RowLookups(body, self.source, known)
        self._writer = ClauseWriter(body, self.source, self.lookups)
        # TERMINATE may read the arguments of the row before, also where FILTER leaves out the first rows of a batch
        self._kept = f"env[{FIRST_PLACE}:{FIRST_PLACE + len(body.arguments)}]"
        self._window = body.keeps_window or body.expire is not None

    def write(self) -> None:
        """All of it. Raises `KeyError` where a statement can't be written."""
        source, body = self.source, self._body
        source.enter("def steps(tables, window, taken, steps, out, indexes, env):")
        self._arguments(self._kept)
        self.lookups.begin()
        source.line("at = ''")
        with source.block("try:"), source.block("for tag, before, row, asked in steps:"):
            if self._window:
                with source.block("if before is not None:"):
                    self._leave()
            source.line("returned = []")
            with source.block("if row is not None:"):
                self._take()
            if body.terminate:
                self._answer()
            else:
                source.line("out.append((tuple(returned), None))")
        with source.block("except RowError as error:"):
            source.line("out.append((None, at + str(error)))")
        self.lookups.end()
        if self._writer.arguments:
            source.line(f"{self._kept} = ({', '.join(self._writer.arguments)},)")
        source.line("return taken")

    def _leave(self) -> None:
        """Rows leave: the window holds each until EXPIRE is done, which may delete it. The last one's leaving frees the state."""
        source = self.source
        with source.block("while window and window[0][0] < before:"):
            source.line("gone = window[0]")
            if self._writer.arguments:
                source.line(f"_, {', '.join(self._writer.arguments)} = gone")
            if any(getattr(a, "table", None) == RETURN for a in self._body.expire or ()):
                source.line("returned = []")
            self._state("expire", self._body.expire or ())
            with source.block("if window and window[0] is gone:"):
                source.line("window.popleft()")
        self._free()

    def _free(self) -> None:
        source = self.source
        with source.block("if not window:"):
            source.line("taken = 0")
            for table in range(len(self._body.tables)):
                source.line(f"t{table}.clear()")
                self.lookups.forget(table)

    def _take(self) -> None:
        source, body = self.source, self._body
        if self._window:
            source.line("window.append((tag, *row))")
        self._arguments("row")
        source.line("taken += 1")
        with source.block("if taken == 1:"):
            self._state("initialize", body.initialize)
        with source.block("else:"):
            self._state("iterate", body.iterate)
        if body.expire is not None:
            self._free()  # the body deleted its last row

    def _arguments(self, row: str) -> None:
        names = self._writer.arguments
        if names:
            self.source.line(f"{', '.join(names)}, = {row}")

    def _state(self, name: State, actions: Sequence[Action]) -> None:
        self._writer.begin_state()
        for number, action in enumerate(actions):
            self.source.stands_at(self._body.place(name, number))
            self._writer.action(action)

    def _answer(self) -> None:
        source = self.source
        with source.block("if not asked:"):
            source.line("out.append(((), None))")
        with source.block(f"elif {'window' if self._window else 'taken'}:"):
            source.line("returned = []")
            self._state("terminate", self._body.terminate)
            source.line("out.append((tuple(returned), None))")
        with source.block("else:"):
            source.line("out.append((None, None))")


__all__ = ["TableSteps", "table_steps"]
