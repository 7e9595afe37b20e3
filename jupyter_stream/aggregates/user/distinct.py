"""DISTINCT in the call of a user-defined aggregate: of rows with equal arguments it takes the first.

A row that leaves a window can't be taken back, since others like it may still be there: such windows are run anew.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Final
from weakref import WeakValueDictionary

import polars as pl

from jupyter_stream.aggregates.user.alike import once, row_key
from jupyter_stream.aggregates.user.protocol import GroupRun, Program
from jupyter_stream.aggregates.user.python import ArrayProgram
from jupyter_stream.aggregates.user.segments import Outcome, as_tuples
from jupyter_stream.aggregates.user.stepping import RowSteps, one_by_one
from jupyter_stream.core.messages import Int64s

_BYTES = 150
"""Bytes a row takes that is remembered, roughly."""


class DistinctProgram:
    """An aggregate over rows that differ.

    Args:
        program: the aggregate.
    """

    expires = False

    def __init__(self, program: Program) -> None:
        self.program = program
        self.name = program.name
        self.arguments = program.arguments
        self.dtype = program.dtype
        self.blocking = program.blocking
        self.numbered = program.numbered

    def key(self, row: Sequence[object]) -> tuple[Hashable, ...]:
        """What rows with equal arguments have in common."""
        return row_key(row[:-1] if self.numbered else row)

    def start(self) -> GroupRun:
        """A run without rows."""
        return DistinctRun(self)

    def over(self, rows: Sequence[Sequence[Any]]) -> list[Any]:
        """The answer over the rows that differ; nothing where the last row is one that was there, and the answer is its own."""
        if not self.blocking and self.key(rows[-1]) in set(map(self.key, rows[:-1])):
            return []
        return self.program.over(once(rows, self.key))

    def slices(self, columns: Sequence[pl.Series], height: int) -> Callable[[int, int], list[Any]]:
        """A function that runs over rows of some columns, from one number to another."""
        rows = as_tuples(columns, height)
        return lambda start, stop: self.over(rows[start:stop])

    def at_once(self, columns: Sequence[pl.Series], lengths: Int64s) -> None:
        """Every group is run by itself."""


class DistinctRun:
    """One group's state, and the rows it has seen."""

    def __init__(self, of: DistinctProgram) -> None:
        self._of = of
        program = self._program = of.program
        self._run = None if isinstance(program, ArrayProgram) else program.start()
        self._seen: dict[tuple[Hashable, ...], Sequence[Any]] = {}

    @property
    def alive(self) -> int:
        """Rows taken."""
        return len(self._seen)

    @property
    def bytes(self) -> int:
        """Bytes held, roughly."""
        return _BYTES * len(self._seen) + (0 if self._run is None else self._run.bytes)

    def take(self, tag: int, row: Sequence[Any]) -> list[Any]:
        """Take a row that differs from all before it."""
        key = self._of.key(row)
        if key in self._seen:
            return []
        self._seen[key] = row
        return [] if self._run is None else self._run.take(tag, row)

    def expire(self, before: int) -> list[list[Any]]:
        """Nothing: a window with EXPIRE is run anew."""
        return []

    def steps(self, steps: RowSteps) -> list[Outcome]:
        """Many rows, one after the other."""
        return one_by_one(self._of, self, steps)

    def answer(self) -> list[Any]:
        """The answer over the rows that differ."""
        return self._program.over(list(self._seen.values())) if self._run is None else self._run.answer()


_MADE: Final[WeakValueDictionary[int, DistinctProgram]] = WeakValueDictionary()
"""By the program's id: it lives as long as what is made of it."""


def distinct_of(program: Program) -> DistinctProgram:
    """The aggregate over rows that differ; the same for the same program, so that equal calls are one."""
    found = _MADE.get(id(program))
    if found is None:
        found = _MADE[id(program)] = DistinctProgram(program)
    return found


__all__ = ["DistinctProgram", "DistinctRun", "distinct_of"]
