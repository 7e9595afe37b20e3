"""Distinct values by pane: each value of a group has a number, each pane a mark for every number it has met.

For `count(DISTINCT x)` and its like, in place of frames of values: a row costs a look-up and a mark, an extent two passes over
the marks of a pane, whatever range / slide is. (What enters and leaves is counted: differential, window-queries thesis §6.2.2.)
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sortedcontainers import SortedDict

from jupyter_stream.aggregates.count import DistinctValues
from jupyter_stream.aggregates.framed import Framed
from jupyter_stream.aggregates.protocol import SLOT, VALUE
from jupyter_stream.arrays.order import order_of
from jupyter_stream.core.messages import Int64s, ints
from jupyter_stream.keys.slots import KeySlots
from jupyter_stream.partials.frames import PANE, FramePanes

_SWEEP_ABOVE = 1024
Marks = NDArray[np.bool_]
T = TypeVar("T", bound=np.generic)


class DistinctPanes:
    """The distinct values of one aggregate, by pane.

    Args:
        form: what is said of a group's values.
        grouped: whether there are groups beside that in slot 0.
    """

    def __init__(self, form: DistinctValues, grouped: bool) -> None:
        self.form = form
        self._grouped = grouped
        self._numbers: KeySlots | None = None  # of (group and) value
        self._panes: SortedDict = SortedDict()  # pane -> marks
        self._met = np.empty(0, np.int32)  # of each number, how many panes of the window have its mark
        self._window: tuple[int, int] | None = None  # panes counted in `_met`: the first, and the one after the last
        self._checked = 0

    @property
    def bytes(self) -> int:
        """Bytes held."""
        marks: int = sum(m.nbytes for m in self._panes.values())
        return marks + self._met.nbytes + (0 if self._numbers is None else self._numbers.bytes)

    # -- rows in -----------------------------------------------------------------------------------------------------

    def update(self, rows: pl.DataFrame) -> None:
        """Take raw rows: columns `pane`, `slot`, `v`, none of which is NULL."""
        values = rows.get_column(VALUE)
        if self._numbers is None:
            schema = [(VALUE, values.dtype)]
            self._numbers = KeySlots([(SLOT, pl.Int64()), *schema] if self._grouped else schema)
        numbers = self._numbers.encode([rows.get_column(SLOT), values] if self._grouped else [values])
        if self._numbers.capacity > self._met.size:
            self._met = _longer(self._met, max(1024, 2 * self._numbers.capacity))
        panes = ints(rows.get_column(PANE))
        low, high = int(panes.min()), int(panes.max())
        if low == high:
            self._mark(low, numbers)
        elif high - low < 4:
            for pane in range(low, high + 1):
                self._mark(pane, numbers[panes == pane])
        else:
            order = order_of(panes)
            distinct, starts = np.unique(panes[order], return_index=True)
            for pane, some in zip(distinct.tolist(), np.split(numbers[order], starts[1:]), strict=True):
                self._mark(pane, some)

    def _mark(self, pane: int, numbers: Int64s) -> None:
        if not numbers.size:
            return
        marks = self._panes.get(pane)
        if marks is None or marks.size < self._met.size:
            marks = self._panes[pane] = _longer(np.empty(0, np.bool_) if marks is None else marks, self._met.size)
        if self._window is not None and self._window[0] <= pane < self._window[1]:  # late rows
            self._met[np.unique(numbers[~marks[numbers]])] += 1
        marks[numbers] = True

    # -- the window moves --------------------------------------------------------------------------------------------

    def advance(self, first: int | None, end: int) -> None:
        """The window moves to panes `first <= pane < end`; `first` None keeps all (a landmark)."""
        if first is None:
            self._fold_into_one(end)
            return
        self._count(self._met, first, end)
        self._window = (first, end)
        self.free(first)

    def _count(self, met: NDArray[np.int32], first: int, end: int) -> None:
        """Count for a window further on."""
        was_first, was_end = self._window or (first, first)
        for pane in self._panes.irange(was_first, min(first, was_end), inclusive=(True, False)):
            marks = self._panes[pane]
            met[: marks.size] -= marks
        for pane in self._panes.irange(max(first, was_end), end, inclusive=(True, False)):
            marks = self._panes[pane]
            met[: marks.size] += marks

    def free(self, before: int) -> None:
        """Forget panes before that one."""
        gone = list(self._panes.irange(None, before, inclusive=(True, False)))
        if self._window is not None and before > self._window[0]:
            end = max(before, self._window[1])
            self._count(self._met, before, end)
            self._window = (before, end)
        for pane in gone:
            del self._panes[pane]
        if gone:
            self._release()

    def _fold_into_one(self, end: int) -> None:
        panes = list(self._panes.irange(None, end, inclusive=(True, False)))
        if len(panes) > 1:
            folded = self._any(panes)
            for pane in panes:
                del self._panes[pane]
            self._panes[panes[-1]] = folded

    def _any(self, panes: Iterable[int]) -> Marks:
        found = np.zeros(self._met.size, np.bool_)
        for pane in panes:
            marks = self._panes[pane]
            found[: marks.size] |= marks
        return found

    # -- answers -----------------------------------------------------------------------------------------------------

    def finish(self, first: int | None, end: int) -> pl.DataFrame:
        """Answers over panes `first <= pane < end`: columns `slot`, `v`; no row for a group without values."""
        if self._numbers is None:
            return pl.DataFrame(schema={SLOT: pl.Int64()})
        if first is not None and self._window is not None and self._window[0] <= first and self._window[1] <= end:
            met = self._met
            if self._window != (first, end):
                met = met.copy()
                self._count(met, first, end)
        else:
            met = self._any(self._panes.irange(first, end, inclusive=(True, False))).astype(np.int32)
        if self.form.counts and not self._grouped:
            return pl.DataFrame({SLOT: [0], VALUE: [np.count_nonzero(met)]})
        numbers = np.flatnonzero(met)
        if not numbers.size:
            return pl.DataFrame(schema={SLOT: pl.Int64()})
        if self.form.counts:
            counts = np.bincount(ints(self._numbers.gather(numbers)[0]))
            slots = np.flatnonzero(counts)
            return pl.DataFrame({SLOT: slots, VALUE: counts[slots]})
        columns = self._numbers.gather(numbers)
        if not self._grouped:
            columns = [pl.Series(SLOT, np.zeros(numbers.size, np.int64)), *columns]
        return self.form.finish(pl.DataFrame(columns), [SLOT])

    # -- numbers are given back --------------------------------------------------------------------------------------

    def _release(self) -> None:
        """Reuse numbers that no pane has a mark for, once they have doubled since it last looked: amortised."""
        numbers = self._numbers
        if numbers is None or numbers.live < 2 * self._checked + _SWEEP_ABOVE:
            return
        numbers.release(self._any(self._panes)[: numbers.capacity])
        self._checked = numbers.live
        if 8 * numbers.live + _SWEEP_ABOVE < numbers.capacity:
            self._take(numbers.renumber())

    def _take(self, old: Int64s) -> None:
        """What was number `old[i]` is now number i."""
        for pane in self._panes:
            self._panes[pane] = _longer(self._panes[pane], self._met.size)[old]
        self._met = self._met[old]

    def renumber(self, old: Int64s) -> None:
        """Group `old[i]` is now group i."""
        numbers = self._numbers
        if numbers is None or not self._grouped or not old.size:
            return
        new = np.full(int(old.max()) + 1, -1, np.int64)
        new[old] = np.arange(old.size)
        used = np.flatnonzero(self._any(self._panes))
        if not used.size:
            self._numbers = None
            self._panes.clear()
            self._met = np.empty(0, np.int32)
            return
        groups, values = numbers.gather(used)
        self._numbers = KeySlots([(SLOT, pl.Int64()), (VALUE, values.dtype)])
        # numbered 0, 1, ... in this order, as all of them are new and different
        self._numbers.encode([pl.Series(SLOT, new[ints(groups)]), values])
        self._take(used)

    def frames(self, framed: Framed) -> FramePanes:
        """The same as frames of values, of that aggregate."""
        made = FramePanes(self.form, framed)
        for pane, marks in self._panes.items():
            numbers = np.flatnonzero(marks)
            if self._numbers is not None and numbers.size:
                columns = self._numbers.gather(numbers)
                if not self._grouped:
                    columns = [pl.Series(np.zeros(numbers.size, np.int64)), *columns]
                made.append(pane, [pl.DataFrame([columns[0].alias(SLOT), columns[1].alias(VALUE)])])
        return made


def _longer(array: NDArray[T], size: int) -> NDArray[T]:
    if array.size >= size:
        return array
    grown = np.zeros(size, array.dtype)
    grown[: array.size] = array
    return grown


__all__ = ["DistinctPanes"]
