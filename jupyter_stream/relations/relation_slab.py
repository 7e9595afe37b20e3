"""What happens to a relation between two punctuations: rows that enter and leave, in the order of time within each group.

Pure arrays: which rows, which instants, which of them to look at. Not for values: `relation_columns` adds them up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from jupyter_stream.arrays.order import order_of
from jupyter_stream.core.messages import Bools, Int64s


@dataclass(frozen=True)
class Slab:
    """Events of one release, by group and then by instant, and the *looks*: where an answer is wanted.

    A look is an instant of a group after all events of that instant; the first look of a group stands for the state
    before the release.

    Attributes:
        inputs: arguments and FILTER conditions of rows; rows that were alive before come first, then new ones, by time.
        slots: the group of each row.
        times: when each row enters.
        ends: when each row leaves; None if rows live for ever.
        old: how many rows were alive before.
        row: of each event, its row; -1 for one without (a look and nothing else).
        sign: of each event: +1 the row enters, -1 it leaves, 0 for none.
        instant: of each look.
        real: of each look: false for the state before.
        run: of each look, its group as an index into `live`.
        begin: of each look, the first event of its group.
        end: of each look, one past its last event.
        live: slots of the groups that have events, ascending.
        capacity: slots there are.
        clock: of each row its event time, where `times` are something else.
    """

    inputs: Sequence[pl.Series]
    slots: Int64s
    times: Int64s
    ends: Int64s | None
    old: int
    row: Int64s
    sign: Int64s
    instant: Int64s
    real: Bools
    run: Int64s
    begin: Int64s
    end: Int64s
    live: Int64s
    capacity: int
    clock: Int64s | None = None

    @classmethod
    def of(
        cls,
        inputs: Sequence[pl.Series],
        slots: Int64s,
        times: Int64s,
        ends: Int64s | None,
        old: int,
        leaving: Int64s,
        born: int | None,
        capacity: int,
    ) -> Slab:
        """Sort out what happens: rows from `old` on enter, those `leaving` leave, and at `born` slot 0 is looked at."""
        row, sign, instants, groups = _happening(slots, times, ends, old, leaving, born)
        order = order_of(groups, instants) if capacity > 1 else order_of(instants)
        instants, groups = instants[order], groups[order]
        changes = np.empty(instants.size, np.bool_)
        changes[:1] = True
        np.not_equal(groups[1:], groups[:-1], out=changes[1:])
        starts = np.flatnonzero(changes)
        runs = np.cumsum(changes) - 1
        changes[1:] |= instants[1:] != instants[:-1]
        firsts = np.flatnonzero(changes)
        # before the looks of each group, one at the state before
        place = np.arange(firsts.size) + runs[firsts] + 1
        count = firsts.size + starts.size
        real = np.zeros(count, np.bool_)
        real[place] = True
        run = np.empty(count, np.int64)
        run[place] = runs[firsts]
        run[~real] = np.arange(starts.size)
        end = np.empty(count, np.int64)
        end[place] = np.append(firsts[1:], instants.size)
        end[~real] = starts
        instant = np.zeros(count, np.int64)
        instant[place] = instants[firsts]
        return cls(
            inputs,
            slots,
            times,
            ends,
            old,
            row[order],
            sign[order],
            instant,
            real,
            run,
            starts[run],
            end,
            groups[starts],
            capacity,
        )

    @cached_property
    def slot(self) -> Int64s:
        """The group of each look."""
        return self.live[self.run]

    @cached_property
    def last(self) -> Int64s:
        """The last look of each group."""
        return np.append(np.flatnonzero(~self.real)[1:], self.real.size) - 1

    @cached_property
    def run_of(self) -> Int64s:
        """Of each slot its index into `live`, -1 where it has no events."""
        runs = np.full(self.capacity, -1)
        runs[self.live] = np.arange(self.live.size)
        return runs

    def of_events(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """Values of rows, event by event; 0 where an event has no row."""
        if self.row.size and (self.row < 0).any():
            values = np.append(values, 0)
        return values[self.row]

    def totals(self, events: Int64s) -> Int64s:
        """For each look, what its group's events add up to so far."""
        sums = np.zeros(events.size + 1, np.int64)
        np.cumsum(events, out=sums[1:])
        return sums[self.end] - sums[self.begin]

    def mask(self, argument: int | None, where: int | None) -> Bools:
        """Rows whose argument is not NULL and whose condition is true."""
        mask: Bools = np.ones(self.times.size, np.bool_)
        if argument is not None and self.inputs[argument].null_count():
            mask &= self.inputs[argument].is_not_null().to_numpy()
        if where is not None:
            mask &= self.inputs[where].fill_null(False).to_numpy()
        return mask


def marked(at: Int64s, size: int) -> Bools | None:
    """Which of so many looks these are; None if they are none."""
    if not at.size:
        return None
    found = np.zeros(size, np.bool_)
    found[at] = True
    return found


@dataclass(frozen=True)
class Spans:
    """For each look, the values its aggregate is over: a stretch of values by group and time.

    Attributes:
        values: a column, or partial results of several.
        low: of each look, the first of its values.
        high: of each look, one past the last.
    """

    values: pl.DataFrame
    low: Int64s
    high: Int64s
    source: Int64s


def spans(slab: Slab, values: pl.DataFrame, mask: Bools, kept: tuple[Int64s, pl.DataFrame] | None) -> Spans:
    """Rows where `mask` is set, by group and time, and the stretch alive at each look.

    The rows of a group leave in the order they entered: what is alive is a stretch.

    Args:
        slab: what happens.
        values: of each row.
        mask: rows that count.
        kept: where rows live for ever, what stands for those before: slots (of groups that have events) and values.
    """
    runs = slab.run_of[slab.slots]
    chosen = np.flatnonzero(mask & (runs >= 0))
    groups = runs[chosen]
    before = np.bincount(groups[chosen < slab.old], minlength=slab.live.size)
    found = values[pl.Series(chosen)] if chosen.size < values.height else values
    if kept is not None:
        earlier = slab.run_of[kept[0]]
        before += np.bincount(earlier, minlength=slab.live.size)
        groups = np.concatenate([earlier, groups])
        chosen = np.concatenate([np.full(earlier.size, -1), chosen])
        found = pl.concat([kept[1].select(found.columns), found])
    order = order_of(groups)
    sizes = np.bincount(groups, minlength=slab.live.size)
    offset = (np.cumsum(sizes) - sizes)[slab.run]
    counted = slab.of_events(mask.astype(np.int64))
    entered = slab.totals(counted * (slab.sign > 0))
    left = slab.totals(counted * (slab.sign < 0))
    return Spans(found[pl.Series(order)], offset + left, offset + before[slab.run] + entered, chosen[order])


def _happening(
    slots: Int64s, times: Int64s, ends: Int64s | None, old: int, leaving: Int64s, born: int | None
) -> tuple[Int64s, Int64s, Int64s, Int64s]:
    """All that happens, in no order: the row (-1 for none), what it adds, the instant, the slot."""
    entering = np.arange(old, times.size)
    row, sign, when, slot = [entering], [np.ones(entering.size, np.int64)], [times[old:]], [slots[old:]]
    if leaving.size:
        assert ends is not None
        row.append(leaving)
        sign.append(np.full(leaving.size, -1))
        when.append(ends[leaving])
        slot.append(slots[leaving])
    if born is not None:
        row.append(np.array([-1]))
        sign.append(np.array([0]))
        when.append(np.array([born]))
        slot.append(np.array([0]))
    return np.concatenate(row), np.concatenate(sign), np.concatenate(when), np.concatenate(slot)
