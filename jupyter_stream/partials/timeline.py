"""Partials in order of time, appended at one end and forgotten at the other, and folds over many ranges of them at once.

What is asked costs what was appended since, not what is held: sums are differences of running sums, other folds two stacks
(Tangwongsan et al., "General incremental sliding-window aggregation", PVLDB 2015) on arrays.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence

import numpy as np
from numpy.typing import DTypeLike

from jupyter_stream.arrays.range_fold import lifted
from jupyter_stream.core.messages import Array, Int64s

_ROOM = 1024
_SHORT = 4_096
"""Ranges up to so long are put together from runs."""
_FLIPS = 8
"""Stacks turned over in one call, at most: more would be a sign of ranges so different that runs are faster."""


class NumberColumn:
    """Numbers that keep their places, counted from the first ever appended, while the oldest are forgotten.

    Args:
        dtype: of what is held.
        begin: the place of the first.
    """

    def __init__(self, dtype: DTypeLike, begin: int = 0) -> None:
        self._data: Array = np.empty(_ROOM, dtype)
        self._offset = begin  # the place of the first element of `_data`
        self.begin = begin
        self.end = begin

    @property
    def bytes(self) -> int:
        """Bytes held."""
        return (self.end - self._offset) * self._data.itemsize if self.end > self.begin else 0

    def append(self, values: Array) -> None:
        """Put values behind the last. What was held before stays where it is for those who have a copy of this object."""
        size = self.end - self.begin + values.size
        if self.end - self._offset + values.size > self._data.size:
            grown = np.empty(max(_ROOM, size + size // 2), self._data.dtype)
            grown[: self.end - self.begin] = self.held
            self._data, self._offset = grown, self.begin
        at = self.end - self._offset
        self._data[at : at + values.size] = values
        self.end += values.size

    def forget(self, before: int) -> None:
        """Forget what is before a place."""
        self.begin = max(self.begin, min(before, self.end))
        if self._data.size > 4 * (self.end - self.begin + _ROOM):
            self._data, self._offset = self.held.copy(), self.begin

    def view(self, first: int, stop: int) -> Array:
        """What is in some places."""
        return self._data[first - self._offset : stop - self._offset]

    @property
    def held(self) -> Array:
        """All there is."""
        return self.view(self.begin, self.end)


class RunningSum:
    """Sums of whole numbers over ranges of places, exact modulo 2**64."""

    def __init__(self) -> None:
        self._sums = NumberColumn(np.int64, begin=-1)  # up to each place, that one included; nothing before the first
        self._sums.append(np.zeros(1, np.int64))

    @property
    def bytes(self) -> int:
        """Bytes held."""
        return self._sums.bytes - self._sums.held.itemsize

    def append(self, values: Array) -> None:
        """Put values behind the last."""
        self._sums.append(np.cumsum(values) + self._sums.held[-1])

    def forget(self, before: int) -> None:
        """No range will begin before that place."""
        self._sums.forget(before - 1)

    def read(self, first: Int64s, stop: Int64s) -> Array:
        """The sum over each range of places."""
        sums, begin = self._sums.held, self._sums.begin
        return sums[stop - 1 - begin] - sums[first - 1 - begin]

    def copy(self) -> RunningSum:
        """Another that goes on by itself."""
        made = copy.copy(self)
        made._sums = copy.copy(self._sums)
        return made


class RunningFold:
    """Folds over ranges of places that move forward; two stacks, where ranges are long.

    The places before `_seam` are folded up to it, those behind it from it on; when no range begins before the seam any more, it
    moves to the end of the next one.

    Args:
        fold: associative; it need not be invertible.
        dtype: of the values.
    """

    def __init__(self, fold: np.ufunc, dtype: DTypeLike) -> None:
        self._fold, self._dtype = fold, dtype
        self._values = NumberColumn(dtype)
        self._seam = self._oldest = 0
        self._before: Array = np.empty(0, dtype)  # for each place from `_oldest` on, the fold from it up to the seam
        self._behind = NumberColumn(dtype)  # for each place from the seam on, the fold from the seam up to it

    @property
    def bytes(self) -> int:
        """Bytes held."""
        return self._values.bytes + self._before.nbytes + self._behind.bytes

    def append(self, values: Array) -> None:
        """Put values behind the last."""
        self._values.append(values)

    def forget(self, before: int) -> None:
        """No range will begin before that place."""
        self._values.forget(before)
        if before >= self._seam:
            self._before, self._behind = np.empty(0, self._dtype), NumberColumn(self._dtype, begin=self._seam)

    def read(self, first: Int64s, stop: Int64s) -> Array:
        """The fold over each range of places, none of them empty; neither ends go back, from one range or call to the next."""
        found = np.empty(first.size, self._dtype)
        turns = _FLIPS if first.size and int((stop - first).max()) > _SHORT else 0
        at = 0
        while at < first.size and turns:
            if first[at] >= self._seam:
                self._turn(int(first[at]), int(stop[at]))
                turns -= 1
            until = int(np.searchsorted(first, self._seam))
            found[at:until] = self._across(first[at:until], stop[at:until])
            at = until
        if at < first.size:
            low = int(first[at])
            found[at:] = lifted(self._values.view(low, int(stop[-1])), self._fold, first[at:] - low, stop[at:] - low)
        return found

    def _turn(self, first: int, stop: int) -> None:
        self._seam, self._oldest = stop, first
        self._before = self._fold.accumulate(self._values.view(first, stop)[::-1])[::-1]
        self._behind = NumberColumn(self._dtype, begin=stop)

    def _across(self, first: Int64s, stop: Int64s) -> Array:
        behind, last = self._behind, int(stop[-1])
        if last > behind.end:
            new = self._fold.accumulate(self._values.view(behind.end, last))
            behind.append(self._fold(behind.held[-1], new) if behind.end > behind.begin else new)
        found: Array = self._before[first - self._oldest]
        more = stop > self._seam
        if more.all():
            return np.asarray(self._fold(found, behind.held[stop - 1 - self._seam]))
        found[more] = self._fold(found[more], behind.held[stop[more] - 1 - self._seam])
        return found

    def copy(self) -> RunningFold:
        """Another that goes on by itself."""
        made = copy.copy(self)
        made._values, made._behind = copy.copy(self._values), copy.copy(self._behind)
        return made


class Timeline:
    """Partials by time, each time once.

    Args:
        folds: how each column is folded; None for whole numbers that are summed.
        dtypes: of the columns.
    """

    def __init__(self, folds: Sequence[np.ufunc | None], dtypes: Sequence[DTypeLike]) -> None:
        self._ts = NumberColumn(np.int64)
        self._columns = [RunningSum() if f is None else RunningFold(f, t) for f, t in zip(folds, dtypes, strict=True)]

    @property
    def bytes(self) -> int:
        """Bytes held."""
        return self._ts.bytes + sum(c.bytes for c in self._columns)

    @property
    def times(self) -> Int64s:
        """The times, rising."""
        held: Int64s = self._ts.held
        return held

    def append(self, ts: Int64s, columns: Sequence[Array]) -> None:
        """Put partials behind the last; all of them are later."""
        self._ts.append(ts)
        for column, values in zip(self._columns, columns, strict=True):
            column.append(values)

    def forget(self, until: int) -> None:
        """Forget the times up to that one."""
        before = self._ts.begin + int(np.searchsorted(self.times, until, side="right"))
        self._ts.forget(before)
        for column in self._columns:
            column.forget(before)

    def places(self, after: Int64s, until: Int64s) -> tuple[Int64s, Int64s]:
        """For each pair the places of the times behind `after` and up to `until`."""
        times, begin = self.times, self._ts.begin
        return np.searchsorted(times, after, "right") + begin, np.searchsorted(times, until, "right") + begin

    def read(self, column: int, first: Int64s, stop: Int64s) -> Array:
        """A column folded over each range of places."""
        return self._columns[column].read(first, stop)

    def copy(self) -> Timeline:
        """Another that goes on by itself; this one is not touched by it."""
        made = copy.copy(self)
        made._ts = copy.copy(self._ts)
        made._columns = [c.copy() for c in self._columns]
        return made


__all__ = ["NumberColumn", "RunningFold", "RunningSum", "Timeline"]
