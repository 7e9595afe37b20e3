"""Sparse groups as rows, dense ones as partials: AdaptWID over panes (window-queries thesis §6.3).

A group starts lazy: its rows are kept as they are, in slabs. When it holds more of them than condition 6.9 allows it becomes
eager: what comes after is folded into partials, and the rows it left behind are when there are enough of such rows to make a pass
over the slabs worth while, if they haven't expired by then. When an extent closes and a group has become sparse, its rows
are kept from then on, beside the partials of panes still open: it is in transition until these have expired.

An extent is read as the partials of its eager groups and of those in transition, together with a temporary table of the rows
(Fig. 6-18). So what a group is decides where its rows go, never an answer.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sortedcontainers import SortedDict

from jupyter_stream.aggregates import Dense
from jupyter_stream.arrays.growing import extended, grown
from jupyter_stream.core.control import ControlTable
from jupyter_stream.core.messages import Array, Int64s
from jupyter_stream.keys.slots import KeySlots
from jupyter_stream.partials.closed import Closed, one_by_one, single_panes
from jupyter_stream.partials.group_aggregate import GroupAggregate
from jupyter_stream.partials.groups import WindowGroups
from jupyter_stream.partials.memory_condition import MemoryCondition
from jupyter_stream.partials.slabs import Slabs
from jupyter_stream.windows import TimeWindow

_NUMBER = 8
_NOBODY = -1
_NOBODYS = 0
"""The id whose partials are nobody's."""
_WORD = 16
"""Bytes a string or list is taken to have, before any was seen."""
_REPEATS = 0.25
"""Partial results of growing size per row, before any were seen."""
_BEHIND = 0.25
"""Share of rows that eager groups have left behind, from which on they are fetched."""
_CELLS = 1 << 20
"""Numbers in the temporary table of many extents, of one aggregate."""
_ENOUGH = 1_000
"""Rows from which a measured size is trusted."""


class AdaptiveGroups:
    """Groups in panes, each as rows or as partials, whichever takes less.

    Args:
        window: gives panes their numbers; not a landmark, whose rows would never expire.
        keys: names and types of the grouping columns.
        aggregates: what is computed.
        inputs: types of their arguments and FILTER conditions.
        adapts: False keeps all groups as rows (lazy aggregation), which is for comparison.
    """

    def __init__(
        self,
        window: TimeWindow,
        keys: Sequence[tuple[str, pl.DataType]],
        aggregates: Sequence[GroupAggregate],
        inputs: Sequence[pl.DataType],
        adapts: bool = True,
    ) -> None:
        self._window = window
        self._aggregates = tuple(aggregates)
        self._adapts = adapts
        self.slots = KeySlots(keys) if keys else None
        self._eager = WindowGroups(window, (), aggregates)
        timed = any(not isinstance(a.form, Dense) and a.form.needs_time for a in aggregates)
        self._slabs = Slabs(timed)
        self.occupied: SortedDict = SortedDict()
        """The panes that hold rows, in order."""
        self._status = np.full(1, -1, np.int32)
        """By slot: a group's id among the eager ones, or -1 - n where it is lazy and n rows of it are held."""
        # by id; the first is always nobody's
        self._slot_of = np.full(1, _NOBODY, np.int64)  # its slot, -1 where nobody has the id
        self._leaving = np.zeros(1, np.bool_)  # the group is lazy, its partials are waiting to expire
        self._behind = np.zeros(1, np.int32)  # rows of the group, which is eager, that are still in slabs
        self._stranded = 0  # such rows since they were last fetched
        row = 4 + (_NUMBER if timed else 0) + sum(_size(t) for t in inputs)
        self._checked = 0
        self._condition = MemoryCondition(_NUMBER * len(self._eager.panes.active()), row)
        self._grows = any(not isinstance(a.form, Dense) for a in aggregates)
        if self._grows:
            self._condition.spread = _REPEATS * row
        slots = [ControlTable("key slots")] if keys else []
        self.tables = [*self._eager.tables, ControlTable("rows of lazy groups"), ControlTable("group states"), *slots]

    @classmethod
    def taking_over(
        cls,
        groups: WindowGroups,
        window: TimeWindow,
        keys: Sequence[tuple[str, pl.DataType]],
        aggregates: Sequence[GroupAggregate],
        inputs: Sequence[pl.DataType],
    ) -> AdaptiveGroups:
        """Go on from what was kept as partials alone, which is given up: all its groups are eager at first."""
        assert groups.slots is not None
        self = cls(window, keys, aggregates, inputs)
        self.slots, groups.slots = groups.slots, None
        live = self.slots.used
        groups.unmark()
        groups.take(np.concatenate([[0], live]))  # the first id is nobody's, whatever its partials
        self._eager = groups
        self._slot_of = np.concatenate([[_NOBODY], live])
        self._leaving = np.zeros(self._slot_of.size, np.bool_)
        self._behind = np.zeros(self._slot_of.size, np.int32)
        self._status = np.full(self.slots.capacity, -1, np.int32)
        self._status[live] = np.arange(1, live.size + 1)
        self.occupied.update(dict.fromkeys(groups.occupied))
        groups.tables.pop()  # of the key slots
        self.tables = [*groups.tables, *self.tables[-3:]]
        return self

    @property
    def live(self) -> int:
        """Groups with a slot."""
        return self.slots.live if self.slots is not None else 1

    @property
    def dense(self) -> bool:
        """Whether every aggregate is kept as numbers."""
        return self._eager.dense

    @property
    def _used(self) -> NDArray[np.bool_]:
        return np.asarray(self._slot_of != _NOBODY)

    def report(self) -> int:
        """Bring the control tables up to date; returns the bytes held."""
        held = self._eager.report()
        states = self._status.nbytes + self._slot_of.nbytes + self._leaving.nbytes + self._behind.nbytes
        rows, mine = self.tables[len(self._eager.tables) :][:2]
        rows.holds(self._slabs.bytes)
        rows.extra["rows"] = self._slabs.rows
        mine.holds(states)
        held += self._slabs.bytes + states
        if self.slots is not None:
            self.tables[-1].holds(self.slots.bytes)
            self.tables[-1].extra["live_groups"] = self.slots.live
            held += self.slots.bytes
        return held

    def counts(self) -> dict[str, int]:
        """How many groups are lazy, eager, and in transition from partials to rows."""
        leaving = self._slot_of[self._leaving]
        return {
            "lazy_groups": int(np.count_nonzero(self._status < -1) - np.count_nonzero(self._status[leaving] < -1)),
            "eager_groups": int(np.count_nonzero(self._used)) - leaving.size,
            "groups_in_transition": leaving.size,
        }

    # -- rows in -----------------------------------------------------------------------------------------------------

    def head(self, most: int) -> pl.DataFrame:
        """Some groups, and whether each is kept as rows, and how many, or as partial results."""
        slots = np.zeros(1, np.int64) if self.slots is None else self.slots.used[:most]
        status = self._status[slots]
        lazy = status < 0
        kept = [
            pl.Series("kept as", np.where(lazy, "rows", "partial results")),
            pl.Series("rows", np.where(lazy, -1 - status, 0)),
        ]
        return pl.DataFrame([*([] if self.slots is None else self.slots.head(most)), *kept])

    def add(self, ts: Int64s, keys: Sequence[pl.Series], inputs: Sequence[pl.Series]) -> None:
        """Take rows: their times, grouping columns and inputs (arguments and FILTER conditions)."""
        if self.slots is None:
            slots = np.zeros(ts.size, np.int64)
        else:
            slots = self.slots.encode(keys)
            self._status = grown(self._status, self.slots.capacity, -1)
        status = self._status[slots]
        is_lazy = status < 0
        lazy = np.flatnonzero(is_lazy)
        if 2 * lazy.size < ts.size and not self._grows:
            # rows of lazy groups are folded into nobody's partials: less work than leaving them out, while they are few
            self._fold(ts, np.maximum(status, _NOBODYS, dtype=np.int64), inputs)
        elif lazy.size < ts.size:
            eager = np.flatnonzero(~is_lazy)
            at = pl.Series(~is_lazy)
            self._fold(ts[eager], status[eager].astype(np.int64), [c.filter(at) for c in inputs])
        if lazy.size:
            at = pl.Series(is_lazy)
            self._keep(ts[lazy], slots[lazy], [c.filter(at) for c in inputs])

    def _fold(self, ts: Int64s, ids: Int64s, inputs: Sequence[pl.Series]) -> None:
        open_before = len(self._eager.occupied)
        self._eager.fold_known(ts, ids, inputs)
        if len(self._eager.occupied) > open_before:
            self.occupied.update(self._eager.occupied)

    def _keep(self, ts: Int64s, slots: Int64s, inputs: Sequence[pl.Series]) -> None:
        open_before = len(self._slabs.panes)
        self._slabs.add(self._window.pane(ts), slots, ts, inputs)
        if len(self._slabs.panes) > open_before:
            self.occupied.update(dict.fromkeys(self._slabs.panes))
        np.subtract.at(self._status, slots, np.int32(1))
        if self._adapts:
            above = self._condition.above(self._open_panes)
            if above < math.inf and (many := self._status[slots] < -1 - above).any():
                self._promote(np.unique(slots[many]))

    # -- from rows to partials and back ------------------------------------------------------------------------------

    @property
    def _open_panes(self) -> int:
        """Panes a group has partials in; the running fold is one more. Before a whole extent is there, as if it were."""
        return 1 + max(len(self.occupied), self._window.slides * self._window.panes_per_slide)

    def _promote(self, slots: Int64s) -> None:
        """Lazy to eager: their rows become partials and are given up."""
        ids = np.full(slots.size, _NOBODY, np.int64)
        back = np.flatnonzero(self._leaving)
        if back.size:  # those in transition have an id still
            at = np.searchsorted(slots, self._slot_of[back])
            at[at == slots.size] = 0
            same = slots[at] == self._slot_of[back]
            ids[at[same]] = back[same]
            self._leaving[back[same]] = False
        new = np.flatnonzero(ids == _NOBODY)
        ids[new] = self._new_ids(new.size)
        self._slot_of[ids] = slots
        self._behind[ids] = -1 - self._status[slots]
        self._stranded += int(self._behind[ids].sum())
        self._status[slots] = ids
        # partial results that break ties by arrival must have earlier rows before later ones
        if self._grows or self._stranded > _BEHIND * self._slabs.rows:
            self._fetch()

    def _fetch(self) -> None:
        """Fold the rows eager groups have left behind in slabs, but for panes the window holds already, if they may wait."""
        after = None if self._grows or self._eager.fold.back is None else self._eager.fold.back + 1
        for pane, rows in self._slabs.take(lambda s: self._status[s] >= 0, after):
            ids = self._status[rows.slots].astype(np.int64)
            self._eager.fold_pane(pane, ids, rows.times, rows.inputs)
            np.subtract.at(self._behind, ids, np.int32(1))
        self._stranded = 0

    def _new_ids(self, count: int) -> Int64s:
        free = np.flatnonzero(self._slot_of == _NOBODY)[1 : count + 1]
        fresh = count - free.size
        if fresh:
            have = self._slot_of.size
            size = have + max(fresh, have)
            self._slot_of = extended(self._slot_of, size, _NOBODY)
            self._leaving, self._behind = extended(self._leaving, size), extended(self._behind, size)
            free = np.concatenate([free, np.arange(have, have + fresh)])
            self._eager.fit(self._slot_of.size)
        return free

    def _demote(self, k: int) -> None:
        """Eager to lazy: groups that have become sparse by the time extent k closes; from here on their rows are kept."""
        rows = self._eager.fold.volume(self._window.first_pane(k))[: self._slot_of.size]
        if self._grows and (total := int(rows.sum())) > _ENOUGH:
            self._condition.spread = self._eager.frame_bytes / total
        rows = rows + self._behind
        sparse = np.flatnonzero((rows < self._condition.below(self._open_panes)) & self._used & ~self._leaving)
        self._leaving[sparse] = True
        self._status[self._slot_of[sparse]] = -1 - self._behind[sparse]
        self._behind[sparse] = 0

    def _let_go(self) -> None:
        """Ids of groups in transition whose partials have expired are free again."""
        leaving = np.flatnonzero(self._leaving)
        if not leaving.size:
            return
        gone = leaving[~self._eager.held(leaving)]
        self._slot_of[gone] = _NOBODY
        self._leaving[gone] = False
        used = np.concatenate([[_NOBODYS], np.flatnonzero(self._used)])
        if 4 * used.size + 64 < self._slot_of.size:
            self._slot_of = self._slot_of[used]
            self._leaving = self._leaving[used]
            self._behind = self._behind[used]
            here = self._used & ~self._leaving
            self._status[self._slot_of[here]] = np.flatnonzero(here)
            self._eager.take(used)

    # -- the window moves --------------------------------------------------------------------------------------------

    def advance(self, k: int) -> None:
        """Move the window to extent k, later than the one before."""
        self._eager.advance(k)
        self._forget(k)

    def expire(self, k: int) -> None:
        """Extents before k are closed: judge the groups, and free what no extent from k on holds."""
        if self._adapts:
            self._demote(k - 1)
        self._eager.expire(k)
        self._forget(k)
        self._let_go()
        if self._slabs.row_bytes is not None and self._slabs.rows > _ENOUGH:
            self._condition.row = self._slabs.row_bytes

    def free(self, panes: Sequence[int]) -> None:
        """Forget panes that no extent holds."""
        self._eager.free([p for p in panes if p in self._eager.occupied])
        self._drop([p for p in panes if p in self._slabs.panes])
        for pane in panes:
            del self.occupied[pane]

    def _forget(self, k: int) -> None:
        first = self._window.first_pane(k)
        assert first is not None
        self._drop(list(self._slabs.panes.irange(None, first, inclusive=(True, False))))
        for pane in list(self.occupied.irange(None, first, inclusive=(True, False))):
            del self.occupied[pane]

    def _drop(self, panes: Sequence[int]) -> None:
        if not panes:
            return
        slots = self._slabs.drop(panes)
        ids = self._status[slots]
        lazy = ids < 0
        np.add.at(self._status, slots[lazy], np.int32(1))
        np.subtract.at(self._behind, ids[~lazy], np.int32(1))

    def release(self) -> Iterator[int]:
        """Reuse slots of groups that hold nothing, once they are a third of all: amortised. At one go."""
        yield from ()
        if self.slots is None or self.slots.live < 1.5 * self._checked + 1024:
            return
        live = self._status[: self.slots.capacity] != -1
        live[self._slot_of[self._used]] = True
        self._checked = int(np.count_nonzero(live))
        if self.slots.live < 1.5 * self._checked + 1024:
            return
        self.slots.release(live)
        if 8 * self.slots.live + 1024 < self.slots.capacity:
            new = np.full(self.slots.capacity, _NOBODY, np.int64)
            old = self.slots.renumber()
            new[old] = np.arange(old.size)
            self._status = self._status[old]
            self._slabs.renumber(new)
            self._slot_of[self._used] = new[self._slot_of[self._used]]

    # -- answers out -------------------------------------------------------------------------------------------------

    def read(self, k: int, without: Int64s) -> tuple[Int64s, list[pl.Series]]:
        """Groups alive in extent k, to which the window was moved, some left out, and their answers. Raises `Overflowed`."""
        return self._read(k, self._eager.fold.current(self._window.first_pane(k)), without)

    def peek(self, k: int, without: Int64s) -> tuple[Int64s, list[pl.Series]]:
        """The same for an extent ahead, which is still open."""
        end = self._window.panes_per_slide * k
        return self._read(k, self._eager.fold.provisional(self._window.first_pane(k), end), without)

    def _read(self, k: int, partials: list[Array], without: Int64s) -> tuple[Int64s, list[pl.Series]]:
        first, end = self._window.first_pane(k), self._window.panes_per_slide * k
        table = self._table(1)
        panes = list(self.occupied.irange(first, end, inclusive=(True, False)))
        if self._grows:
            for pane in panes:
                # a group's rows that are kept came after those in its partials: arrival order
                table.absorb_frames(0, self._eager, pane, self._slot_of)
                self._put(table, 0, [pane])
        else:
            self._put(table, 0, panes)
        table.absorb(0, self._eager, partials, self._to(partials))
        return table.read_pane(0, 1, without)

    @property
    def extents_at_once(self) -> int:
        """How many extents to `close` together."""
        return 64

    def close(self, extents: Sequence[int]) -> Iterator[Closed]:
        """Move the window through some extents, in order, and give their answers."""
        tumbling = self._window.slides == 1 and self._window.panes_per_slide == 1 and self.dense
        return single_panes(self, extents) if tumbling else one_by_one(self, extents)

    def read_tumbling(self, panes: Sequence[int]) -> tuple[Int64s, Int64s, list[pl.Series]]:
        """Answers of many single-pane extents at once: index into `panes`, slot, and the answers, row by row."""
        some = max(1, _CELLS // self._status.size)
        parts = [self._read_some(panes[at : at + some]) for at in range(0, len(panes), some)]
        which = [w + n * some for n, (w, _, _) in enumerate(parts)]
        answers = [pl.concat(columns) for columns in zip(*(a for _, _, a in parts), strict=True)]
        return np.concatenate(which), np.concatenate([s for _, s, _ in parts]), answers

    def _read_some(self, panes: Sequence[int]) -> tuple[Int64s, Int64s, list[pl.Series]]:
        table = self._table(len(panes))
        for i, pane in enumerate(panes):
            self._put(table, i, [pane])
            row = self._eager.occupied.get(pane)
            if row is None:
                table.panes.open(i)
            else:
                arrays = [self._eager.panes.row(n, row) for n in range(len(self._eager.panes.partials))]
                table.absorb(i, self._eager, arrays, self._to(arrays))
        return table.read_tumbling(range(len(panes)))

    def _put(self, table: WindowGroups, at: int, panes: Sequence[int]) -> None:
        """Fold the rows kept of some panes into one of the temporary table."""
        rows = self._slabs.of(panes)
        if rows is not None:
            table.fold_pane(at, rows.slots.astype(np.int64), rows.times, rows.inputs)

    def _table(self, extents: int) -> WindowGroups:
        """The temporary table: all groups, a pane for each extent."""
        table = WindowGroups(_ONE, (), self._aggregates, extents)
        table.panes.fit(self._status.size if self.slots is None else self.slots.capacity)
        return table

    def _to(self, partials: Sequence[Array]) -> Int64s:
        return extended(self._slot_of, partials[0].size, _NOBODY)

    def check(self) -> None:
        """Raise AssertionError where an invariant is broken."""
        self._eager.check()
        self._slabs.check()
        if self.slots is not None:
            self.slots.check()
        held = np.zeros(self._status.size, np.int64)
        for pane in self._slabs.panes:
            rows = self._slabs.of([pane])
            assert rows is not None
            np.add.at(held, rows.slots, 1)
        lazy = self._status < 0
        assert np.array_equal(-1 - self._status[lazy], held[lazy])
        used = np.flatnonzero(self._used)
        assert np.unique(self._slot_of[used]).size == used.size
        eager = used[~self._leaving[used]]
        assert np.array_equal(self._status[self._slot_of[eager]], eager)
        assert np.count_nonzero(~lazy) == eager.size
        assert np.array_equal(self._behind[eager], held[self._slot_of[eager]])
        assert self._behind.sum() == held[~lazy].sum()
        assert not self._leaving[~self._used].any()
        assert set(self.occupied) >= {*self._slabs.panes, *self._eager.occupied}


_ONE = TimeWindow(1, 1)


def would_take(groups: WindowGroups, window: TimeWindow, k: int, inputs: Sequence[pl.DataType]) -> tuple[int, int]:
    """How many groups AdaptWID would keep as rows, and the bytes it would take, by what extent k and those ahead hold.

    Only for aggregates that are kept as numbers.
    """
    condition = MemoryCondition(_NUMBER * len(groups.panes.active()), 4 + sum(_size(t) for t in inputs))
    panes = 1 + max(len(groups.occupied), window.slides * window.panes_per_slide)
    rows = groups.fold.volume(window.first_pane(k))
    sparse = rows <= condition.above(panes)
    dense = int(rows.size - np.count_nonzero(sparse))
    return int(np.count_nonzero(sparse & (rows > 0))), int(
        rows[sparse].sum() * condition.row + 2 * dense * panes * condition.partial
    )


def _size(dtype: pl.DataType) -> float:
    if isinstance(dtype, pl.Boolean):
        return 1 / 8
    if isinstance(dtype, pl.Date) or dtype in (pl.Int32, pl.UInt32, pl.Float32):
        return 4
    return _NUMBER if dtype.is_numeric() or dtype.is_temporal() else _WORD
