"""`rand()` in the body of an aggregate: each group, and each answer of it, has a sequence of its own, by the seed of its stream.

Where the sequence begins is said by the group's first row: its number, which is the same in every run and on both engines. It
goes along behind the arguments, and the aggregate doesn't see it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Final
from weakref import WeakValueDictionary
from zlib import crc32

import polars as pl

from jupyter_stream.aggregates.user.alike import row_key
from jupyter_stream.aggregates.user.segments import Outcome, as_tuples
from jupyter_stream.aggregates.user.sql import SqlProgram, SqlRun
from jupyter_stream.aggregates.user.stepping import RowSteps, one_by_one
from jupyter_stream.core.messages import Int64s

_BYTES = 120
"""Bytes a row takes that is remembered, roughly."""


class SaltedProgram:
    """An aggregate with `rand()` in it, which is given the number of each row as its last argument.

    Args:
        program: the aggregate.
        seed: of the streams it reads.
        distinct: whether of rows with equal arguments it takes the first.
    """

    def __init__(self, program: SqlProgram, seed: int, distinct: bool) -> None:
        self.program = program
        self.seed = seed
        self.distinct = distinct
        self.name = program.name
        self.arguments = (*program.arguments, pl.Int64())
        self.dtype = program.dtype
        self.blocking = program.blocking
        self.expires = program.expires and not distinct
        self.writes = program.writes

    def __reduce__(self) -> tuple[type[SaltedProgram], tuple[SqlProgram, int, bool]]:
        """Pickled as what it is made of."""
        return SaltedProgram, (self.program, self.seed, self.distinct)

    def start(self) -> SaltedRun:
        """A run without rows."""
        return SaltedRun(self)

    def over(self, rows: Sequence[Sequence[object]]) -> list[object]:
        """The answer over some rows, from the beginning."""
        run = SaltedRun(self)
        last: list[object] = []
        for row in rows:
            last = run.take(0, row)
        return run.answer() if self.blocking else last

    def slices(self, columns: Sequence[pl.Series], height: int) -> Callable[[int, int], list[object]]:
        """A function that runs over rows of some columns, from one number to another."""
        rows = as_tuples(columns, height)
        return lambda start, stop: self.over(rows[start:stop])

    def at_once(self, columns: Sequence[pl.Series], lengths: Int64s) -> None:
        """Every group is run by itself."""


class SaltedRun:
    """One group's state."""

    def __init__(self, of: SaltedProgram) -> None:
        self._of = of
        self._run: SqlRun = of.program.start()
        self._seen: set[tuple[Hashable, ...]] = set()

    @property
    def alive(self) -> int:
        """As of the aggregate's own run."""
        return self._run.alive

    @property
    def bytes(self) -> int:
        """Bytes held, roughly."""
        return self._run.bytes + _BYTES * len(self._seen)

    def take(self, tag: int, row: Sequence[object]) -> list[object]:
        """Take a row; the first one says where chance begins."""
        *arguments, number = row
        if self._of.distinct:
            key = row_key(arguments)
            if key in self._seen:
                return []
            self._seen.add(key)
        if self._run.fresh:
            self._run.salt(crc32(f"{self._of.seed} {number}".encode()))
        return self._run.take(tag, arguments)

    def expire(self, before: int) -> list[list[object]]:
        """EXPIRE for each row that has left."""
        return self._run.expire(before)

    def steps(self, steps: RowSteps) -> list[Outcome]:
        """Many rows, one after the other."""
        return one_by_one(self._of, self, steps)

    def answer(self) -> list[object]:
        """TERMINATE."""
        return self._run.answer()


_MADE: Final[WeakValueDictionary[tuple[int, int, bool], SaltedProgram]] = WeakValueDictionary()
"""By the program's id and the rest: it lives as long as what is made of it."""


def salted(program: SqlProgram, seed: int, distinct: bool) -> SaltedProgram:
    """The aggregate with its rows' numbers; the same for the same arguments, so that equal calls are one."""
    key = (id(program), seed, distinct)
    found = _MADE.get(key)
    if found is None:
        found = _MADE[key] = SaltedProgram(program, seed, distinct)
    return found


__all__ = ["SaltedProgram", "SaltedRun", "salted"]
