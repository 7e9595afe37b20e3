"""Partial results in arrays, of extents that are of one group each: the number of an extent is its place.

What comes costs what it is, however many extents are open. Whoever numbers them gives numbers again that are free.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np
import polars as pl

from jupyter_stream.aggregates import Dense, Partial
from jupyter_stream.arrays.exact import halves
from jupyter_stream.arrays.growing import grown
from jupyter_stream.arrays.rows import frame_of
from jupyter_stream.core.messages import Array, Int64s
from jupyter_stream.partials.group_aggregate import GroupAggregate
from jupyter_stream.partials.number_answers import answered, layout_of
from jupyter_stream.partials.partial_values import values_of
from jupyter_stream.partials.store import SLOT, Found

_ADD = np.add
_SMALL = 1024
"""Places up to which arrays are never made shorter."""


class JoinedExtents(Protocol):
    """Extents go: those `old` are part of others, `new`, or of none any more."""

    @property
    def old(self) -> Int64s:
        """Their numbers."""

    @property
    def new(self) -> Int64s | None:
        """As many numbers; None where their partial results are forgotten."""


class PickedExtents(Protocol):
    """Extents that are answered."""

    @property
    def numbers(self) -> Int64s:
        """Their numbers, in order."""


class CellArrays:
    """Partial results by the number of an extent.

    Args:
        calls: what is computed; all are kept as numbers.
        at: the column of numbers.
    """

    def __init__(self, calls: Sequence[GroupAggregate], at: str) -> None:
        self._calls, self._at = tuple(calls), at
        self._layout = layout_of(calls)
        self._arrays: list[list[Array]] = []
        self._folds: list[np.ufunc] = []
        for partial in self._layout.partials:
            dtype = np.float64 if partial.kind == "float" and partial.op != "count" else np.int64
            self._arrays.append([np.zeros(0, dtype) for _ in range(2 if _halved(partial) else 1)])
            self._folds.append(_ADD if partial.op in ("count", "sum") else partial.fold)
        self._groups = np.zeros(0, np.int64)
        self.rows = 0
        self._forgotten = 0  # since the arrays were last looked through

    @staticmethod
    def takes(calls: Sequence[GroupAggregate]) -> bool:
        """Whether all of these are kept as numbers."""
        return all(isinstance(c.form, Dense) for c in calls)

    @property
    def zero(self) -> list[str]:
        """The aggregates that are 0 of no rows."""
        return [c.name for c in self._calls if c.function.of_nothing == 0]

    @property
    def bytes(self) -> int:
        """Bytes held."""
        return self._groups.nbytes + sum(a.nbytes for arrays in self._arrays for a in arrays)

    @property
    def _live(self) -> Int64s:
        return np.flatnonzero(self._arrays[0][0])

    def add(self, groups: Int64s, at: Int64s, ts: pl.Series, inputs: Sequence[pl.Series]) -> None:
        """Fold rows in; `at` are their extents."""
        self._reach(int(at.max()) + 1)
        self._groups[at] = groups
        new = self._arrays[0][0][at] == 0
        self.rows += int(new[0]) if at.size == 1 else np.unique(at[new]).size
        with np.errstate(invalid="ignore"):  # infinities of both signs make a NaN, as they should
            for partial, (argument, where), arrays, fold in zip(
                self._layout.partials, self._layout.inputs, self._arrays, self._folds, strict=True
            ):
                values = values_of(partial, argument, where, inputs, at.size)
                for array, part in zip(arrays, halves(values) if _halved(partial) else (values,), strict=True):
                    if at.size == 1:
                        array[at] = fold(array[at], part)
                    else:
                        fold.at(array, at, part)

    def _reach(self, most: int) -> None:
        """Have places for so many extents."""
        if most > self._groups.size:
            self._groups = grown(self._groups, most)
            for partial, arrays in zip(self._layout.partials, self._arrays, strict=True):
                arrays[:] = [grown(a, most, partial.identity) for a in arrays]

    def change(self, change: JoinedExtents) -> None:
        """Extents become part of others, or are forgotten."""
        old, new = change.old, change.new
        inside = old < self._groups.size
        if not inside.all():
            old, new = old[inside], None if new is None else new[inside]
        held = self._arrays[0][0][old] > 0
        old, new = old[held], None if new is None else new[held]
        if not old.size:
            return
        if new is None:
            self.rows -= old.size
        else:
            self._reach(int(new.max()) + 1)  # one that began with the rows that join others to it
            self.rows -= old.size - np.unique(new[self._arrays[0][0][new] == 0]).size
            self._groups[new] = self._groups[old]
        for partial, arrays, fold in zip(self._layout.partials, self._arrays, self._folds, strict=True):
            for array in arrays:
                if new is not None:
                    with np.errstate(invalid="ignore"):
                        fold.at(array, new, array[old])
                array[old] = partial.identity
        if new is None:
            self._forgotten += old.size
            if 4 * self._forgotten >= self._groups.size > _SMALL:
                self._shorten()

    def _shorten(self) -> None:
        """End the arrays behind the last extent that holds rows, where that is half of them."""
        self._forgotten = 0
        used = int(self._live.max(initial=-1)) + 1
        if 2 * used <= self._groups.size:
            self._groups = self._groups[:used].copy()
            for arrays in self._arrays:
                arrays[:] = [a[:used].copy() for a in arrays]

    def read(self, picks: PickedExtents, by: Sequence[str]) -> Iterator[Found]:
        """Answers, all in one piece and in the order asked for: the columns `by`, then one for each aggregate."""
        numbers = picks.numbers
        if numbers.size and int(numbers.max()) >= self._groups.size:
            numbers = numbers[numbers < self._groups.size]
        some = self._arrays[0][0][numbers] > 0
        numbers = numbers if some.all() else numbers[some]
        values = {SLOT: self._groups[numbers], self._at: numbers}
        keys = frame_of([pl.Series(name, values[name]) for name in by])
        yield answered(self._calls, self._layout, lambda partial: [a[numbers] for a in self._arrays[partial]], keys)

    def opened(self) -> CellArrays:
        """The same: answers don't wait for rows to come."""
        return self

    def held(self) -> pl.DataFrame:
        """The extents that hold rows."""
        live = self._live
        return pl.DataFrame({SLOT: self._groups[live], self._at: live})

    def head(self, most: int) -> pl.DataFrame:
        """Some extents, and how many `rows` each holds."""
        live = self._live[:most]
        return pl.DataFrame({self._at: live, SLOT: self._groups[live], "rows": self._arrays[0][0][live]})

    def check(self) -> None:
        """Raise AssertionError where an invariant is broken."""
        assert self.rows == self._live.size
        free = np.flatnonzero(self._arrays[0][0] == 0)
        for partial, arrays in zip(self._layout.partials, self._arrays, strict=True):
            for array in arrays:
                assert np.array_equal(array[free], np.full(free.size, partial.identity, array.dtype), equal_nan=True)


def _halved(partial: Partial) -> bool:
    """Sums of whole numbers, kept in two halves so that only the answer can overflow."""
    return partial.op == "sum" and partial.kind == "int"


__all__ = ["CellArrays", "JoinedExtents", "PickedExtents"]
