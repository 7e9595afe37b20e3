"""Runs that go on: many rows after one another, before each of which others may leave; what each row returned.

A straight-line body (`straight`) does this in one loop of Python, whose variables are its tables' columns; other programs take a
step for each row.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from jupyter_stream.aggregates.user.body import FIRST_PLACE, Action
from jupyter_stream.aggregates.user.protocol import GroupRun, Program
from jupyter_stream.aggregates.user.segments import Outcome
from jupyter_stream.aggregates.user.straight import State, StateWriter, Straight
from jupyter_stream.functions.scalar import Env, RowError

Step: TypeAlias = tuple[int, int | None, Sequence[Any] | None, bool]


@dataclass(frozen=True)
class RowSteps:
    """Rows of one group, in order.

    Attributes:
        tags: when each row leaves is judged by this.
        befores: rows with a tag less than that leave before the row comes; None where none does.
        rows: the arguments; None where FILTER leaves the row out.
        asked: whether an aggregate with TERMINATE gives an answer there.
    """

    tags: Sequence[int]
    befores: Sequence[int | None]
    rows: Sequence[Sequence[Any] | None]
    asked: Sequence[bool]

    def __len__(self) -> int:
        return len(self.tags)

    def __iter__(self) -> Iterator[Step]:
        return zip(self.tags, self.befores, self.rows, self.asked, strict=True)


def step(
    program: Program, run: GroupRun, tag: int, before: int | None, row: Sequence[Any] | None, asked: bool
) -> Outcome:
    """One row of a run that goes on."""
    try:
        if before is not None:
            run.expire(before)
        last = run.take(tag, row) if row is not None else []
        if not program.blocking:
            return last, None
        if not asked:
            return [], None
        return (run.answer() if run.alive else None), None
    except RowError as error:
        return None, str(error)


def one_by_one(program: Program, run: GroupRun, steps: RowSteps) -> list[Outcome]:
    """What each row returned."""
    return [step(program, run, *each) for each in steps]


Tables: TypeAlias = list[list[tuple[Any, ...]]]
Window: TypeAlias = "deque[tuple[Any, ...]]"
Stepping: TypeAlias = Callable[[Tables, Window, int, Iterator[Step], list[Outcome], Env], int]
"""Takes a group's tables, its window, how many rows it has taken and the environment, which holds the last row's arguments; adds
what rows returned, up to the first that fails; returns how many rows it has taken then."""
Leaving: TypeAlias = Callable[[Tables, Window, int, int, list[list[Any]], Env], int]
"""The same for rows that leave before a tag. Raises `RowError`."""


def fits(tables: Tables, taken: int) -> bool:
    """Whether tables are what a loop goes on from: no row was taken, or each has one row (INITIALIZE has not failed)."""
    return not taken or all(len(table) == 1 for table in tables)


class _Loops:
    """Writes loops over one body."""

    def __init__(self, made: Straight) -> None:
        self._made = made
        self._body = made.body
        self._tables = range(len(made.body.tables))
        self._window = made.body.keeps_window or made.body.expire is not None
        # TERMINATE may read the arguments of the row before: asked by itself, or where FILTER leaves out a batch's first rows
        self._kept = f"env[{FIRST_PLACE}:{FIRST_PLACE + len(made.body.arguments)}]"
        self.writer = StateWriter(made, nullable=True)
        self.source = self.writer.source

    def _begin(self) -> None:
        """Tables and the last arguments to variables."""
        self._arguments(self._kept)
        for table in self._tables:
            self.source.line(f"live{table} = taken > 0")
        with self.source.block("if taken:"):
            for table in self._tables:
                self.source.line(f"{self.writer.row(table)}, = tables[{table}]")

    def _end(self) -> None:
        """Variables to tables, and arguments to the environment."""
        if self._body.arguments:
            names = ", ".join(f"a{i}" for i in range(len(self._body.arguments)))
            self.source.line(f"{self._kept} = ({names},)")
        for table in self._tables:
            self.source.line(f"tables[{table}][:] = [{self.writer.row(table)}] if live{table} else []")

    def _leave(self, returns: bool) -> None:
        """Rows leave; the last one's leaving frees the state."""
        source = self.source
        with source.block("while window and window[0][0] < before:"):
            self._arguments("window[0][1:]")
            self.writer.state("expire", returns or self.writer.may_fail(self._body.expire or ()))
            if returns:
                source.line("found.append(list(returned))")
            source.line("window.popleft()")
        with source.block("if not window:"):
            self._free()

    def _arguments(self, row: str) -> None:
        count = len(self._body.arguments)
        if count:
            self.source.line(f"{self.writer.arguments}{',' if count == 1 else ''} = {row}")

    def _free(self) -> None:
        self.source.line("taken = 0")
        for table in self._tables:
            self.source.line(f"live{table} = False")

    def stepping(self) -> Stepping:
        """The loop over rows that come."""
        source, body = self.source, self._body
        source.enter("def stepping(tables, window, taken, steps, out, env):")
        self._begin()
        source.line("at = ''")
        with source.block("try:"), source.block("for tag, before, row, asked in steps:"):
            if self._window:
                with source.block("if before is not None:"):
                    self._leave(returns=False)
            if not body.terminate:
                source.line("returned = ()")
            with source.block("if row is not None:"):
                self._take()
            if not body.terminate:
                source.line("out.append((returned, None))")
            else:
                self._answer()
        with source.block("except RowError as error:"):
            source.line("out.append((None, at + str(error)))")
        self._end()
        source.line("return taken")
        made: Stepping = source.function("stepping")
        return made

    def _answer(self) -> None:
        source = self.source
        with source.block("if not asked:"):
            source.line("out.append(((), None))")
        with source.block(f"elif {'window' if self._window else 'taken'}:"):
            self.writer.state("terminate", returns=True)
            source.line("out.append((returned, None))")
        with source.block("else:"):
            source.line("out.append((None, None))")

    def _take(self) -> None:
        source, body, writer = self.source, self._body, self.writer
        if self._window:
            source.line("window.append((tag, *row))")
        self._arguments("row")
        source.line("taken += 1")
        states: tuple[tuple[str, State, Sequence[Action]], ...] = (
            ("if taken == 1:", "initialize", body.initialize),
            ("else:", "iterate", body.iterate),
        )
        for test, name, actions in states:
            with source.block(test):
                writer.state(name, not body.terminate or writer.may_fail(actions))

    def leaving(self) -> Leaving:
        """The loop over rows that leave."""
        source = self.source
        source.enter("def leaving(tables, window, taken, before, found, env):")
        self._begin()
        with source.block("try:"), source.placed_failures():
            self._leave(returns=True)
        with source.block("finally:"):
            self._end()
        source.line("return taken")
        made: Leaving = source.function("leaving")
        return made


def stepping(made: Straight) -> Stepping:
    """A straight-line body's loop over rows that come."""
    return _Loops(made).stepping()


def leaving(made: Straight) -> Leaving:
    """A straight-line body's loop over rows that leave."""
    return _Loops(made).leaving()


__all__ = ["RowSteps", "fits", "leaving", "one_by_one", "step", "stepping"]
