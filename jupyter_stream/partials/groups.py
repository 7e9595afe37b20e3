"""What a windowed aggregate remembers: for each open pane and live group, the partials of every aggregate.

Joins key slots, dense panes, the sliding fold and frame partials into one synopsis with three verbs: fold rows in, move the
window, read it. Which extents there are and when one is final is the operator's business.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sortedcontainers import SortedDict

from jupyter_stream.aggregates import Partial
from jupyter_stream.aggregates.user.rows import HeldForm
from jupyter_stream.arrays.exact import halves
from jupyter_stream.core.control import ControlTable
from jupyter_stream.core.messages import Array, Int64s, ints
from jupyter_stream.keys.slots import KeySlots
from jupyter_stream.partials.closed import Closed, Overflowed
from jupyter_stream.partials.finisher import Finisher
from jupyter_stream.partials.framed_partials import FramedPartials
from jupyter_stream.partials.frames import FrameAnswers
from jupyter_stream.partials.group_aggregate import GroupAggregate
from jupyter_stream.partials.inputs import InputArrays, mask_of
from jupyter_stream.partials.layout import Layout
from jupyter_stream.partials.panes import FlatCells, Halves, PaneMap, Panes
from jupyter_stream.partials.sliding import SlidingFold

_CHUNK = 32_768
"""Rows folded at a time: temporaries stay in the second-level cache, calls cost less than work (measured)."""
_CHUNK_OF_ONE = 65_536
"""The same where there is one group: a chunk costs less, and calls count for more."""
_SAFE_SUM = 1 << 62
_CELLS = 65_536
"""Answers of several extents given at a time, about,"""
_PIECE = 16_384
"""and of one: 1 to 4 ms, so that input need not wait for the groups of a large extent."""
_AT_ONCE = 1 << 20
"""Partials folded at a time, at most, if some extents' answers are to be given without a cut: 2 ms, and 262,144 groups. Smaller
pieces cost more in calls than they spare a row that waits (measured: a third more for hot items)."""
_LOOKED_AT = 8192
"""Groups looked at together when slots are to be used again: 1 to 4 ms."""
_NARROWEST = 2_048


class PanedWindow(PaneMap, Protocol):
    """What is asked of a window: which panes an extent is made of."""

    @property
    def panes_per_slide(self) -> int:
        """Panes of extent k end before `panes_per_slide * k`."""

    @property
    def slides(self) -> int:
        """How many slides an extent reaches into; 0 for a landmark."""

    def first_pane(self, k: int) -> int | None:
        """The first pane of extent k, None for a landmark."""

    def first_panes(self, extents: Int64s) -> Int64s | None:
        """The first pane of each of many extents, None for a landmark."""


class WindowGroups:
    """Partials of groups in panes.

    Args:
        window: gives panes their numbers.
        keys: names and types of the grouping columns.
        aggregates: what is computed.
        room: panes to make room for at first; as many as may be open, unless said.
        marks: whether distinct values are kept as marks rather than as frames, which can be moved to another.
    """

    def __init__(
        self,
        window: PanedWindow,
        keys: Sequence[tuple[str, pl.DataType]],
        aggregates: Sequence[GroupAggregate],
        room: int | None = None,
        marks: bool = False,
    ) -> None:
        self._window = window
        self._aggregates = tuple(aggregates)
        self.slots = KeySlots(keys) if keys else None
        layout = Layout.of([(a.form, a.inputs[0] if a.inputs else None, a.where) for a in self._aggregates])
        partials = layout.partials
        self._inputs = layout.inputs
        self._framed = FramedPartials(self._aggregates, marks, bool(keys))
        # memory never written to is none, and making room for another pane moves all there are
        self.panes = Panes(partials, min(64, window.slides * window.panes_per_slide + 2) if room is None else room)
        self._finisher = Finisher(self._aggregates, layout.own, self.panes)
        # counts of arguments that were never NULL are the row count: kept once, split off when the first NULL comes
        for i in range(1, len(partials)):
            if partials[i].op == "count" and self._inputs[i][1] is None:
                self.panes.share(i)
        self.fold = SlidingFold(self.panes, window.slides == 1 and window.panes_per_slide == 1, window.slides == 0)
        names = ["panes", "sliding fold"]
        names += [f"partials of {name}" for name in self._framed.names]
        self.tables = [ControlTable(n) for n in (*names, *(["key slots"] if keys else []))]
        self._mass: dict[int, int] = {}
        self._largest: dict[int, int] = {}
        self._checked = 0

    @property
    def live(self) -> int:
        """Groups with a slot."""
        return self.slots.live if self.slots is not None else 1

    @property
    def occupied(self) -> SortedDict:
        """The panes that hold rows, in order."""
        return self.panes.rows

    def held(self, slots: Int64s) -> NDArray[np.bool_]:
        """Whether groups have rows in any open pane or in the running fold."""
        found = self.fold.occupied(slice(None))[slots]
        for row in self.panes.rows.values():
            found |= self.panes.row(0, row)[slots] != 0
        return found

    @property
    def frame_bytes(self) -> int:
        """Bytes of partial results that are no numbers."""
        return sum(self._framed.held)

    def head(self, most: int) -> pl.DataFrame:
        """Panes and the groups with rows in them, the oldest panes first: at most so many, with how many rows each has had."""
        frames: list[pl.DataFrame] = []
        left = most
        for pane, row in self.panes.rows.items():
            if left <= 0:
                break
            counts = self.panes.row(0, row)
            slots = np.flatnonzero(counts)[:left]
            keys = [] if self.slots is None else self.slots.gather(slots)
            rows = pl.Series("rows", counts[slots].astype(np.int64))
            frames.append(pl.DataFrame([pl.Series("pane", np.full(slots.size, pane, np.int64)), *keys, rows]))
            left -= slots.size
        return pl.concat(frames) if frames else pl.DataFrame(schema={"pane": pl.Int64(), "rows": pl.Int64()})

    def counts(self) -> dict[str, int]:
        """All groups are eager; how many there are is told by `live`."""
        return {}

    def free(self, panes: Sequence[int]) -> None:
        """Forget panes that no extent holds."""
        self.panes.free(panes)

    def report(self) -> int:
        """Bring the control tables up to date; returns the bytes held."""
        held = [self.panes.bytes, self.fold.bytes, *self._framed.held]
        if self.slots is not None:
            held.append(self.slots.bytes)
        for table, count in zip(self.tables, held, strict=True):
            table.holds(count)
        self.tables[0].extra["open_panes"] = len(self.panes.rows)
        self.tables[0].extra["slots"] = self.panes.slots
        if self.slots is not None:
            self.tables[-1].extra["live_groups"] = self.slots.live
        return sum(held)

    # -- rows in -----------------------------------------------------------------------------------------------------

    def add(self, ts: Int64s, keys: Sequence[pl.Series], inputs: Sequence[pl.Series]) -> None:
        """Fold rows in: their times, grouping columns and inputs (arguments and FILTER conditions)."""
        self.panes.work_ahead()
        columns = {i: InputArrays(inputs[i]) for i in {i for pair in self._inputs for i in pair if i is not None}}
        all_slots = np.zeros(ts.size, np.int64) if self._framed else None
        numbers = ints(keys[0]) if self.slots is not None and self.slots.takes_numbers(keys) else None
        chunk = _CHUNK if self.slots is not None else _CHUNK_OF_ONE
        for start in range(0, ts.size, chunk):
            stop = min(ts.size, start + chunk)
            slots = None
            if self.slots is not None:
                if numbers is not None:
                    slots = self.slots.find(numbers[start:stop])
                else:
                    slots = self.slots.encode([k.slice(start, stop - start) for k in keys])
                self.fit(self.slots.capacity)
                if all_slots is not None:
                    all_slots[start:stop] = slots
            self._fold_chunk(ts[start:stop], slots, columns, start, stop)
        if all_slots is not None:
            self._framed.add(self._window.pane(ts), ts, all_slots, inputs)

    def fit(self, capacity: int) -> None:
        """Make room for at least that many groups."""
        self.panes.fit(capacity)
        self.fold.fit()

    def fold_known(self, ts: Int64s, slots: Int64s, inputs: Sequence[pl.Series], times: Int64s | None = None) -> None:
        """Fold rows of known groups in. `ts` says which panes they are in, `times` what their times are, if not that."""
        self.panes.work_ahead()
        columns = {i: InputArrays(inputs[i]) for i in {i for pair in self._inputs for i in pair if i is not None}}
        for start in range(0, ts.size, _CHUNK):
            stop = min(ts.size, start + _CHUNK)
            self._fold_chunk(ts[start:stop], slots[start:stop], columns, start, stop)
        if self._framed:
            self._framed.add(self._window.pane(ts), ts if times is None else times, slots, inputs)

    def fold_pane(self, pane: int, slots: Int64s, ts: Int64s | None, inputs: Sequence[pl.Series]) -> None:
        """Fold rows of known groups in, all of one pane; `ts` are their times, where an aggregate needs them."""
        columns = {i: InputArrays(inputs[i]) for i in {i for pair in self._inputs for i in pair if i is not None}}
        late = None
        if self.fold.back is not None and pane <= self.fold.back:
            self.fold.reopen(pane)
            late = _Late(np.ones(slots.size, np.bool_), np.full(slots.size, pane), slots)
        cells = self.panes.cells_of(pane, slots)
        self._fold_cells(cells, late, columns, 0, slots.size)
        if self._framed:
            self._framed.add(np.full(slots.size, pane), ts, slots, inputs)

    def _fold_chunk(
        self, ts: Int64s, slots: Int64s | None, columns: Mapping[int, InputArrays], start: int, stop: int
    ) -> None:
        low, high = int(ts.min()), int(ts.max())
        late = None
        which = self._already_folded(ts, low)
        if which is not None:
            panes = self._window.pane(ts[which])
            for pane in np.unique(panes).tolist():
                self.fold.reopen(pane)
            late = _Late(which, panes, np.zeros(panes.size, np.int64) if slots is None else slots[which])
        self._fold_cells(self.panes.cells(ts, slots, self._window, (low, high)), late, columns, start, stop)

    def _fold_cells(
        self, cells: FlatCells | Halves, late: _Late | None, columns: Mapping[int, InputArrays], start: int, stop: int
    ) -> None:
        for index, (argument, _) in enumerate(self._inputs):
            # before the row count takes these rows, which a copy of it must not have
            if self.panes.shared(index) and argument is not None and not columns[argument].whole(start, stop):
                self._unshare(index)
        for index, (argument, where) in enumerate(self._inputs):
            partial = self.panes.partials[index]
            if self.panes.shared(index):
                continue
            mask = mask_of(
                columns, argument if partial.op == "count" or argument is not None else None, where, start, stop
            )
            values = None
            if partial.op != "count" and argument is not None:
                values = self._values(index, partial, columns[argument], mask, start, stop)
            self.panes.update(index, cells if mask is None else cells.where(mask), values)
            if late is not None:
                self._patch(index, late, values, mask)

    def _unshare(self, index: int) -> None:
        self.panes.unshare(index)
        self.fold.unshare(index)

    def _already_folded(self, ts: Int64s, low: int) -> NDArray[np.bool_] | None:
        """Which rows are late ones for panes the window holds already; None mostly."""
        if self.fold.back is None:
            return None
        bound = self._window.pane_start(self.fold.back + 1)
        if low >= bound:
            return None
        return ts < bound

    def _patch(self, index: int, late: _Late, values: Array | None, mask: NDArray[np.bool_] | None) -> None:
        panes, slots = late.panes, late.slots
        if mask is not None:
            kept = mask[late.rows]
            panes, slots = panes[kept], slots[kept]
        if values is not None:
            values = values[late.rows if mask is None else late.rows[mask]]
        for pane in np.unique(panes).tolist():
            which = panes == pane
            self.fold.patch(index, pane, slots[which], None if values is None else values[which])

    def _values(
        self, index: int, partial: Partial, column: InputArrays, mask: NDArray[np.bool_] | None, start: int, stop: int
    ) -> Array:
        values: Array = column.floats(start, stop) if partial.kind == "float" else column.integers(start, stop)
        if mask is not None:
            values = values[mask]
        if partial.op == "sum" and partial.kind == "int" and values.size:
            self._guard(index, values)
        return values

    def _widen(self, index: int) -> None:
        self.panes.widen(index)
        self.fold.widen(index)

    def _guard(self, index: int, values: Array) -> None:
        """Split a sum into two limbs before it could leave 64 bits."""
        if self.panes.is_wide(index):
            return
        largest = max(abs(int(values.max())), abs(int(values.min())), self._largest.get(index, 0))
        self._largest[index] = largest
        mass = self._mass.get(index, 0) + largest * values.size
        if mass >= _SAFE_SUM:
            held = self.panes.count() + self.fold.count()
            mass = largest * (held + values.size)
            if mass >= _SAFE_SUM:
                self._widen(index)
        self._mass[index] = mass

    def settle(self, until: int) -> None:
        """No row before that time comes any more, but late ones: those whose order is known may be folded."""
        self._framed.settle(until)

    # -- another's partials in ---------------------------------------------------------------------------------------

    def absorb(self, pane: int, other: WindowGroups, arrays: Sequence[Array], to: Int64s) -> None:
        """Fold numbers of another, made for the same aggregates, into a pane of this one.

        Args:
            pane: where to.
            other: whose they are.
            arrays: one for each of its partials, by its slots.
            to: the slot here of each of its slots, -1 for those to leave out; no slot twice.
        """
        theirs = np.flatnonzero(to >= 0)
        mine = to[theirs]
        row = self.panes.open(pane)
        kept = range(len(self._inputs))
        for i in kept:
            if self.panes.shared(i) and not other.panes.shared(i):
                self._unshare(i)
            if other.panes.is_wide(i) and not self.panes.is_wide(i):
                self._widen(i)
        for i in kept:
            if self.panes.shared(i):
                continue
            values = arrays[0 if other.panes.shared(i) else i][theirs]
            if self.panes.is_wide(i):
                if other.panes.is_wide(i):
                    low = arrays[other.panes.low_limb(i)][theirs]
                else:
                    values, low = halves(values)
                self.panes.row(self.panes.low_limb(i), row)[mine] += low
            into = self.panes.row(i, row)
            into[mine] = self.panes.partials[i].fold(into[mine], values)

    def absorb_frames(self, pane: int, other: WindowGroups, source: int, to: Int64s) -> None:
        """The same for what another holds of its pane `source` in frames."""
        self._framed.absorb(pane, other._framed, source, to)

    # -- the window moves --------------------------------------------------------------------------------------------

    def advance(self, k: int) -> None:
        """Move the window to extent k, later than the one before."""
        end = self._window.panes_per_slide * k
        first = self._window.first_pane(k)
        self.fold.advance(first, end)
        self._framed.advance(first, end)

    def expire(self, k: int) -> None:
        """Free what no extent from k on holds."""
        first = self._window.first_pane(k)
        if first is None:
            return
        self.fold.evict(first)
        self._framed.free(first)

    def release(self) -> Iterator[int]:
        """Reuse slots of groups in no open pane, some at each step, which says what it took: one for each, and an eighth of
        one for each slot looked at. Rows may be added between two steps.

        Looks only when there are a quarter more groups than when it last looked: amortised.
        """
        if self.slots is None or self.slots.live < self._checked + self._checked // 4 + 1024:
            return
        for start in range(0, self.slots.capacity, _LOOKED_AT):
            some = slice(start, min(self.slots.capacity, start + _LOOKED_AT))
            freed = self.slots.release_some(start, self.panes.occupied(some) | self.fold.occupied(some))
            yield freed + (some.stop - start) // 8
        self.slots.trim()
        self._checked = self.slots.live
        if 8 * self.slots.live + 1024 < self.slots.capacity:
            self._renumber()

    def _renumber(self) -> None:
        """Give the few live groups small slots, and the memory of the many dead ones back."""
        assert self.slots is not None
        self.take(self.slots.renumber())

    @property
    def movable(self) -> bool:
        """Whether another strategy can go on from what is held; user-defined aggregates run over panes only."""
        return not any(isinstance(a.form, HeldForm) for a in self._aggregates)

    def unmark(self) -> None:
        """Distinct values as frames from here on, which can be moved to another."""
        self._framed.unmark()

    def take(self, old: Int64s) -> None:
        """Renumber groups: what was in slot `old[i]` is now in slot i; the others hold nothing and are given up."""
        self.panes.take(old)
        self.fold.take(old)
        self._framed.renumber(old)

    # -- answers out -------------------------------------------------------------------------------------------------

    def read(self, k: int, without: Int64s) -> tuple[Int64s, list[pl.Series]]:
        """Groups alive in extent k, to which the window was moved, some left out, and their answers. Raises `Overflowed`."""
        return self._answers(self.fold.current(self._window.first_pane(k)), k, without)

    def peek(self, k: int, without: Int64s) -> tuple[Int64s, list[pl.Series]]:
        """The same for an extent ahead, which is still open."""
        end = self._window.panes_per_slide * k
        return self._answers(self.fold.provisional(self._window.first_pane(k), end), k, without)

    def read_pane(self, pane: int, k: int, without: Int64s) -> tuple[Int64s, list[pl.Series]]:
        """The same for an extent that is the one pane, wherever the window is."""
        row = self.panes.open(pane)
        return self._answers([self.panes.row(i, row) for i in range(len(self.panes.partials))], k, without)

    def _answers(self, arrays: list[Array], k: int, without: Int64s) -> tuple[Int64s, list[pl.Series]]:
        slots = np.flatnonzero(arrays[0])
        if without.size:
            slots = np.setdiff1d(slots, without, assume_unique=True)
        first, end = self._window.first_pane(k), self._window.panes_per_slide * k
        taken = [arrays[0 if self.panes.shared(i) else i][slots] for i in range(len(arrays))]
        beyond = self._finisher.beyond(taken)
        if beyond is not None:
            raise Overflowed(slots[beyond])
        answers = [
            self._framed.finish(n, first, end, self.panes.slots).of(slots) if answer is None else answer
            for n, answer in enumerate(self._finisher.finish(taken))
        ]
        return slots, answers

    @property
    def extents_at_once(self) -> int:
        """How many extents to `close` together: about `_CELLS` answers."""
        return max(1, min(4096 if self.dense else 64, _CELLS // self.panes.slots))

    def close(self, extents: Sequence[int]) -> Iterator[Closed]:
        """Move the window through some extents, in order, and give their answers, some groups at a time.

        Between two of them rows of later extents may be added, and those only. At the end the window is at the last extent.
        """
        window, numbers = self._window, np.asarray(extents)
        firsts = window.first_panes(numbers)
        ends = window.panes_per_slide * numbers
        move = self.fold.move(firsts, ends)
        slots = self.panes.slots
        befores = itertools.repeat(None) if firsts is None else firsts.tolist()
        framed = self._framed.close(list(zip(befores, ends.tolist(), strict=False)), slots)
        width = slots
        if slots * max(4, move.depth) > _AT_ONCE:
            width = min(slots, max(_NARROWEST, min(_PIECE // len(extents), 32 * _CELLS // move.depth)))
        for start in range(0, slots, width):
            arrays = self.fold.read(move, slice(start, min(slots, start + width)))
            yield self._closed(numbers, arrays, start, framed)
        self.fold.commit(move)

    def _closed(
        self, extents: Int64s, arrays: list[Array], start: int, framed: Sequence[Mapping[int, FrameAnswers]]
    ) -> Closed:
        width = arrays[0].shape[1]
        cells = np.flatnonzero(arrays[0].reshape(-1) != 0)  # a third of the time of np.nonzero by row and column
        if extents.size == 1:
            which, slots = np.zeros(cells.size, np.int64), cells + start if start else cells
        else:
            which = cells // max(1, width)
            slots = cells - which * width + start
        taken = [arrays[0].reshape(-1).take(cells)] * len(arrays)
        for i in self.panes.active():
            taken[i] = arrays[i].reshape(-1).take(cells)
        beyond = self._finisher.beyond(taken)
        lost = (which[:0], slots[:0])
        if beyond is not None:
            lost = (extents[which[beyond]], slots[beyond])
            which, slots, taken = which[~beyond], slots[~beyond], [t[~beyond] for t in taken]
        answers = []
        cuts: list[int] = []
        for n, answer in enumerate(self._finisher.finish(taken)):
            if answer is None:
                cuts = cuts or np.searchsorted(which, np.arange(extents.size + 1)).tolist()
                parts = zip(framed, cuts[:-1], cuts[1:], strict=True)
                answer = pl.concat([of_extent[n].of(slots[a:b]) for of_extent, a, b in parts])
            answers.append(answer)
        return Closed(extents[which], slots, answers, *lost, arrays[0].size)

    def read_tumbling(self, panes: Sequence[int]) -> tuple[Int64s, Int64s, list[pl.Series]]:
        """Answers of many single-pane extents at once: index into `panes`, slot, and the answers, row by row."""
        rows = [self.panes.rows[p] for p in panes]
        counts = self.panes.arrays[0][rows, : self.panes.slots]
        which, slots = np.nonzero(counts)
        at = np.asarray(rows)[which]
        arrays = [a[at, slots] for a in self.panes.arrays]
        beyond = self._finisher.beyond(arrays)
        if beyond is not None:
            raise Overflowed(slots[beyond])
        answers = [a for a in self._finisher.finish(arrays) if a is not None]
        if len(answers) < len(self._aggregates):
            raise TypeError("frame partials are finished extent by extent")
        return which, slots, answers

    @property
    def dense(self) -> bool:
        """Whether every aggregate is kept as numbers."""
        return not self._framed

    def check(self) -> None:
        """Raise AssertionError where an invariant is broken."""
        self.panes.check()
        if self.slots is not None:
            self.slots.check()


@dataclass(frozen=True, slots=True)
class _Late:
    """Rows of panes that the window holds already: which of the rows they are, their panes and their groups."""

    rows: NDArray[np.bool_]
    panes: Int64s
    slots: Int64s
