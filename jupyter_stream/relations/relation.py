"""What a relation of aggregates remembers, and how it changes: rows alive, sums per group.

Two verbs: take the rows before a time in, tell the changes. When something is final, and which rows are late, is the operator's
business.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from jupyter_stream.aggregates.count import DistinctValues
from jupyter_stream.aggregates.protocol import Addition, Pick, Sums
from jupyter_stream.arrays.exact import Exact
from jupyter_stream.arrays.order import order_of
from jupyter_stream.arrays.rows import earliest, frame_of, together
from jupyter_stream.core.axis import plus
from jupyter_stream.core.messages import SIGN, TS, Bools, Int64s, ints
from jupyter_stream.core.time import MAX_TIME
from jupyter_stream.keys.slots import KeySlots
from jupyter_stream.partials.group_aggregate import GroupAggregate
from jupyter_stream.relations.relation_columns import Counted, Held, Once, RowCount, Total
from jupyter_stream.relations.relation_scattered import Scattered
from jupyter_stream.relations.relation_slab import Slab
from jupyter_stream.relations.relation_stretches import Picked, Regrouped

_AT_ONCE = 1 << 17
"""Rows released at a time: more in one go is no faster, and temporaries are a few hundred bytes a row."""
_CHECK_ABOVE = 1024


@dataclass(frozen=True)
class Beyond:
    """Answers that could not be given: sums beyond 64 bits.

    Attributes:
        at: the instant.
        keys: the grouping columns.
        column: the aggregate's output column.
    """

    at: Int64s
    keys: list[pl.Series]
    column: str


@dataclass(frozen=True)
class Changes:
    """What a release gives.

    Attributes:
        frame: rows entering and leaving: keys, aggregates, `$ts`, `$sign`; None without any.
        beyond: answers that could not be given.
    """

    frame: pl.DataFrame | None
    beyond: list[Beyond]


class RelationGroups:
    """Groups of rows that live for `[ts, ts + range)`.

    Args:
        range: microseconds, None for ever.
        keys: names and types of the grouping columns; without any, there is one row from the first on.
        inputs: types of arguments and FILTER conditions.
        aggregates: what is computed.
        closing: whether the groups of a release get no rows after it (time is among the keys).
    """

    _in_order = True  # whether the rows of a group leave in the order they entered

    def __init__(
        self,
        range: int | None,
        keys: Sequence[tuple[str, pl.DataType]],
        inputs: Sequence[pl.DataType],
        aggregates: Sequence[GroupAggregate],
        closing: bool = False,
    ) -> None:
        self._range = range
        self._keys = tuple(keys)
        self._inputs = tuple(inputs)
        self._aggregates = tuple(aggregates)
        self._closing = closing and range is None
        self.slots = KeySlots(keys) if keys else None
        self._alive: pl.DataFrame | None = None
        self._born: int | None = None
        self._began = False
        # what is kept, shared between aggregates: sum(x) and avg(x) need the same sums
        self._alive_count = RowCount()
        self._once: dict[Counted, Once] = {}
        self._counts: dict[Counted, RowCount] = {Counted(): self._alive_count}
        self._totals: dict[tuple[Counted, int], Total] = {}
        self._slow: list[Picked | Regrouped | Scattered | None] = []
        self._adds: list[Counted | None] = []
        for aggregate in self._aggregates:
            self._plan(aggregate, inputs)
        self._checked = 0

    def _plan(self, aggregate: GroupAggregate, inputs: Sequence[pl.DataType]) -> None:
        form, stretch, forever = aggregate.form, aggregate.function.stretch, self._range is None
        argument = aggregate.inputs[0] if aggregate.inputs else None
        dtype = None if argument is None else inputs[argument]
        addition = stretch if isinstance(stretch, Addition) else None
        summable = dtype is None or dtype.is_integer() or dtype.is_float() or isinstance(dtype, pl.Null)
        distinct = isinstance(form, DistinctValues)
        if addition is not None and (addition.powers == 0 or summable) and (self._in_order or not distinct):
            counted = Counted(argument, aggregate.where, distinct)
            self._counts.setdefault(counted, RowCount())
            if counted.distinct and counted not in self._once:
                assert dtype is not None
                self._once[counted] = Once(counted, dtype, forever)
            for power in range(1, addition.powers + 1):
                assert argument is not None
                self._totals.setdefault((counted, power), Total(argument, power))
            self._adds.append(counted)
            self._slow.append(None)
            return
        self._adds.append(None)
        if not self._in_order:
            self._slow.append(Scattered(aggregate, inputs))
        elif isinstance(stretch, Pick):
            self._slow.append(Picked(aggregate, stretch, forever))
        else:
            self._slow.append(Regrouped(aggregate, forever))

    def _held(self) -> list[Held]:
        slow = [s for s in self._slow if s is not None]
        return [*self._counts.values(), *self._totals.values(), *self._once.values(), *slow]

    @property
    def live(self) -> int:
        """Groups with a slot."""
        return self.slots.live if self.slots is not None else 1

    @property
    def alive(self) -> int:
        """Rows kept because they will leave."""
        return 0 if self._alive is None else self._alive.height

    @property
    def oldest(self) -> int | None:
        """The earliest time of the rows it holds; None where it goes by others too."""
        if self._range is None or (not self._keys and not self._began):
            return None
        return earliest([] if self._alive is None else [self._alive])

    @property
    def bytes(self) -> int:
        """Bytes held."""
        return (
            (0 if self._alive is None else int(self._alive.estimated_size()))
            + sum(h.bytes for h in self._held())
            + (self.slots.bytes if self.slots is not None else 0)
        )

    # -- rows in -----------------------------------------------------------------------------------------------------

    def head(self, most: int) -> pl.DataFrame:
        """Some groups, and how many rows each has."""
        slots = np.zeros(1, np.int64) if self.slots is None else self.slots.used[:most]
        keys = [] if self.slots is None else self.slots.gather(slots)
        names = [name for name, _ in self._keys]
        held = self._alive_count.held
        counts = np.where(slots < held.size, held[np.minimum(slots, held.size - 1)], 0)
        return pl.DataFrame([*(c.alias(n) for c, n in zip(keys, names, strict=True)), pl.Series("rows", counts)])

    @staticmethod
    def rows(ts: pl.Series, keys: Sequence[pl.Series], inputs: Sequence[pl.Series]) -> pl.DataFrame:
        """Rows as they are taken in."""
        named = [*(k.alias(f"k{i}") for i, k in enumerate(keys)), *(c.alias(f"{i}") for i, c in enumerate(inputs))]
        return frame_of([ts.alias(TS), *named])

    def born(self, ts: int) -> None:
        """An input row came at that time: an ungrouped relation has its row from the first one on."""
        if not self._began:
            self._born = ts if self._born is None else min(self._born, ts)

    # -- time --------------------------------------------------------------------------------------------------------

    def release(self, due: pl.DataFrame | None, until: int) -> list[Changes]:
        """What happens before a time; no rows before it may come any more.

        Args:
            due: the `rows` that came before it, by time.
            until: the time.
        """
        found = []
        begin = 0
        while due is not None and due.height - begin > _AT_ONCE:
            # piece by piece, whole instants at a time
            times = due.get_column(TS).to_numpy()
            cut = int(times[begin + _AT_ONCE])
            stop = int(np.searchsorted(times, cut))
            if stop == begin:  # many rows of one instant
                stop = int(np.searchsorted(times, cut, "right"))
                cut += 1
            found.append(self._release(due[begin:stop], cut))
            begin = stop
        rest = due[begin:] if due is not None and due.height > begin else None
        found.append(self._release(rest, until))
        return [c for c in found if c.frame is not None or c.beyond]

    def _release(self, due: pl.DataFrame | None, until: int) -> Changes:
        slab = self._slab(due, until)
        if slab is None:
            return Changes(None, [])
        exists, answers, beyond = self._look(slab)
        changes = Changes(self._changes(slab, exists, answers), beyond)
        self._forget()
        return changes

    def _slab(self, due: pl.DataFrame | None, until: int) -> Slab | None:
        old = self.alive
        if due is not None:
            columns = due.get_columns()
            keys = columns[1 : 1 + len(self._keys)]
            slots = np.zeros(due.height, np.int64) if self.slots is None else self.slots.encode(keys)
            new = pl.DataFrame([columns[0], pl.Series("slot", slots), *columns[1 + len(self._keys) :]])
            rows = new if self._alive is None else together([self._alive, new])
        elif self._alive is not None:
            rows = self._alive
        elif self._born is None or self._born >= until:
            return None
        else:
            rows = self._nothing()
        times = rows.get_column(TS).to_numpy()
        slots = rows.get_column("slot").to_numpy()
        ends, leaving = None, np.empty(0, np.int64)
        if self._range is not None:
            ends, leaving = self._leaving(rows, until)
            if leaving.size and leaving[-1] == leaving.size - 1:
                self._alive = rows[leaving.size :]
            else:
                self._alive = rows[pl.Series(np.delete(np.arange(rows.height), leaving))] if leaving.size else rows
            if self._alive.n_chunks() > 1:
                self._alive = self._alive.rechunk()
        born = None
        if not self._keys and not self._began and self._born is not None and (self._born < until or until == MAX_TIME):
            born = self._born
        if due is None and not leaving.size and born is None:
            return None
        capacity = 1 if self.slots is None else self.slots.capacity
        return Slab.of(rows.get_columns()[2:], slots, times, ends, old, leaving, born, capacity)

    def _leaving(self, rows: pl.DataFrame, until: int) -> tuple[Int64s, Int64s]:
        """When each row leaves, and which leave before `until`, ascending; rows are in the order of their times."""
        assert self._range is not None
        ends = plus(ints(rows.get_column(TS)), self._range)
        return ends, np.arange(int(np.searchsorted(ends, until)))

    def _nothing(self) -> pl.DataFrame:
        columns = {f"{i}": dtype for i, dtype in enumerate(self._inputs)}
        return pl.DataFrame(schema={TS: pl.Int64(), "slot": pl.Int64(), **columns})

    # -- answers -----------------------------------------------------------------------------------------------------

    def _look(self, slab: Slab) -> tuple[Bools, list[pl.Series], list[Beyond]]:
        """Whether the group has a row, and which, at each look."""
        counts: dict[Counted, Int64s] = {}
        totals: dict[tuple[Counted, int], Exact] = {}
        for counted, count in self._counts.items():
            weights = self._weights(slab, counted)
            counts[counted] = count.advance(slab, weights)
            for power in (1, 2):
                total = self._totals.get((counted, power))
                if total is not None:
                    totals[counted, power] = total.advance(slab, weights)
        if self._keys:
            exists = counts[Counted()] > 0
        else:
            exists = slab.real | self._began
            self._began, self._born = True, None
        answers, beyond = [], []
        for aggregate, counted_, slow in zip(self._aggregates, self._adds, self._slow, strict=True):
            if slow is not None:
                answer, past = slow.answers(slab)
            else:
                assert counted_ is not None and isinstance(aggregate.function.stretch, Addition)
                sums = Sums(counts[counted_], totals.get((counted_, 1)), totals.get((counted_, 2)))
                answer, past = aggregate.function.stretch.finish(sums, aggregate.dtype)
            if past is not None:
                where = np.flatnonzero(past & slab.real)
                keys = [] if self.slots is None else self.slots.gather(slab.slot[where])
                beyond.append(Beyond(slab.instant[where], keys, aggregate.name))
                exists = exists & ~past
            answers.append(answer.alias(aggregate.name))
        return exists, answers, beyond

    def _weights(self, slab: Slab, counted: Counted) -> Int64s:
        if counted == Counted():
            return slab.sign
        mask = slab.mask(counted.argument, counted.where)
        if not counted.distinct:
            return slab.sign * slab.of_events(mask.astype(np.int64))
        enters, leaves = self._once[counted].weights(slab, mask)
        weights: Int64s = np.where(slab.sign > 0, slab.of_events(enters), -slab.of_events(leaves))
        return weights

    def _changes(self, slab: Slab, exists: Bools, answers: list[pl.Series]) -> pl.DataFrame | None:
        looks = np.flatnonzero(slab.real)
        now, before = exists[looks], exists[looks - 1]
        changed = now != before
        both = np.flatnonzero(now & before)
        if both.size:
            here, there = pl.Series(looks[both]), pl.Series(looks[both] - 1)
            differs = np.zeros(both.size, np.bool_)
            for answer in answers:
                differs |= answer.gather(here).ne_missing(answer.gather(there)).to_numpy()
            changed[both] = differs
        gone, come = looks[changed & before], looks[changed & now]
        if not gone.size and not come.size:
            return None
        instant = np.concatenate([slab.instant[gone], slab.instant[come]])
        sign = np.repeat(np.array([-1, 1], np.int8), [gone.size, come.size])
        order = order_of(instant)  # leaving rows come first already
        which = np.concatenate([gone - 1, come])[order]
        columns = []
        if self.slots is not None:
            gathered = self.slots.gather(slab.slot[which])
            columns = [c.alias(n) for c, (n, _) in zip(gathered, self._keys, strict=True)]
        columns += [a.gather(pl.Series(which)) for a in answers]
        return pl.DataFrame([*columns, pl.Series(TS, instant[order]), pl.Series(SIGN, sign[order])])

    # -- forgetting --------------------------------------------------------------------------------------------------

    def _forget(self) -> None:
        """Give up groups without rows (or, where time is a key, all): looked for when enough have come since."""
        if self.slots is None or (self._range is None and not self._closing):
            return
        if self.slots.live < 2 * self._checked + _CHECK_ABOVE:
            return
        capacity = self.slots.capacity
        live = np.zeros(capacity, np.bool_)
        if not self._closing:
            counts = self._alive_count.held[:capacity]
            live[: counts.size] = counts > 0
        self._give_up(live)
        self._checked = self.slots.live

    def _give_up(self, live: Bools) -> None:
        assert self.slots is not None
        dead = ~live
        self.slots.release(live)
        for held in self._held():
            held.release(dead)
        if 8 * self.slots.live + _CHECK_ABOVE < self.slots.capacity:
            old = self.slots.renumber()
            for held in self._held():
                held.renumber(old)
            if self._alive is not None and old.size:
                new = np.full(int(old.max()) + 1, -1)
                new[old] = np.arange(old.size)
                slots = self._alive.get_column("slot").to_numpy()
                self._alive = self._alive.with_columns(pl.Series("slot", new[slots]))

    def check(self) -> None:
        """Raise AssertionError where an invariant is broken."""
        if self.slots is not None:
            self.slots.check()
        if self._alive is not None:
            alive = np.bincount(self._alive.get_column("slot").to_numpy(), minlength=self._alive_count.held.size)
            assert np.array_equal(alive, self._alive_count.held)
            assert self._alive.get_column(TS).is_sorted()
