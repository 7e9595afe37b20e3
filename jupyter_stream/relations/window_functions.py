"""Window functions of a relation: at every instant each row with its rank, its neighbours, aggregates over its frame, as changes.

A change of one row can change the answers of all rows of its partition, and of no others. So the partitions that changed are
worked out anew, all of them and all instants at once, and what is different from before is told. Cost: the rows of a partition
for each instant at which it changes. Kept are the relation's rows, each value once; no answers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from jupyter_stream.arrays.exact import BEYOND
from jupyter_stream.arrays.growing import grown
from jupyter_stream.arrays.order import order_of
from jupyter_stream.arrays.rows import Bag, columns_of
from jupyter_stream.arrays.runs import begins_run, run_starts
from jupyter_stream.arrays.walking import lots, nth
from jupyter_stream.core.messages import SIGN, TS, Batch, Bools, Failed, Int64s, Message, ints
from jupyter_stream.core.time import MAX_TIME
from jupyter_stream.flow.at_instants import AtInstants
from jupyter_stream.flow.protocol import Recall
from jupyter_stream.keys.slots import KeySlots
from jupyter_stream.partials.window_functions import RowFunctions
from jupyter_stream.plan.logical import WindowFunctions

_AT_ONCE = 1 << 20
"""Rows that are worked out together, of all instants and partitions."""
_CHECK_ABOVE = 1024
_LOOK, _SLOT, _BAD = "$look", "$slot", "$beyond"


@dataclass(frozen=True)
class _Versions:
    """The instants at which partitions changed, partition by partition, and before them how each was.

    Attributes:
        times: of each look the instant; of one at how it was before, 0.
        before: which looks are at how it was before.
        begin: from which look on each stretch of equal copies of a value is.
        end: one past its last look.
        slots: the value.
        copies: how many there are.
    """

    times: Int64s
    before: Bools
    begin: Int64s
    end: Int64s
    slots: Int64s
    copies: Int64s

    @property
    def sizes(self) -> Int64s:
        """How many rows there are at each look."""
        change = np.zeros(self.times.size + 1, np.int64)
        np.add.at(change, self.begin, self.copies)
        np.subtract.at(change, self.end, self.copies)
        return np.cumsum(change)[:-1]

    def rows(self, first: int, stop: int) -> tuple[Int64s, Int64s]:
        """The look and the value of each row that is there at some looks."""
        some = np.flatnonzero((self.begin < stop) & (self.end > first))
        begin = np.maximum(self.begin[some], first)
        many = np.minimum(self.end[some], stop) - begin
        look = np.repeat(begin, many) + nth(many)
        slots, copies = np.repeat(self.slots[some], many), np.repeat(self.copies[some], many)
        return np.repeat(look, copies), np.repeat(slots, copies)


class WindowFunctionsOfRelation(AtInstants):
    """Rows of a relation with a column for each call, as changes: net, by instant, leaving rows before entering ones.

    Args:
        plan: what is computed.
        functions: the same, of rows at hand.
    """

    def __init__(self, plan: WindowFunctions, functions: RowFunctions) -> None:
        super().__init__("window functions")
        self._functions = functions
        self._names = list(plan.input.schema.names)
        self._calls = [call.name for call in plan.calls]
        self._by = [self._names.index(name) for name in plan.partition]
        self._slots = KeySlots([(f.name, f.dtype) for f in plan.input.schema])
        fields = [plan.input.schema.fields[i] for i in self._by]
        self._parts = KeySlots([(f.name, f.dtype) for f in fields]) if fields else None
        self._copies = np.zeros(0, np.int64)  # by slot
        self._part = np.zeros(0, np.int64)  # by slot
        self._checked = 0

    def head(self, most: int) -> pl.DataFrame:
        """Some rows of the relation."""
        return self._slots.head(most)

    def take(self, port: int, frame: pl.DataFrame) -> Iterable[Message]:
        """Only the columns of the answer."""
        self.keep(port, columns_of(frame, [*self._names, TS, SIGN]))
        return ()

    def step(self, due: Sequence[pl.DataFrame | None], until: int) -> Iterator[Message]:
        """Give what changes."""
        (changes,) = due
        if changes is not None:
            yield from self._advance(changes)
            self._forget(until)

    # -- changes -----------------------------------------------------------------------------------------------------

    def _advance(self, changes: pl.DataFrame) -> Iterator[Message]:
        columns = changes.get_columns()[: len(self._names)]
        slots = self._slots.encode(columns)
        most = int(slots.max()) + 1
        self._copies, self._part = grown(self._copies, most), grown(self._part, most)
        if self._parts is not None:
            self._part[slots] = self._parts.encode([columns[i] for i in self._by])
        looks = self._versions(slots, ints(changes.get_column(TS)), ints(changes.get_column(SIGN)))
        if looks is None:
            return
        found = [self._differences(looks, first, stop) for first, stop in lots(looks.sizes + 1, _AT_ONCE)]
        told = pl.concat(found)
        times, signs = looks.times[ints(told.get_column(_LOOK))], ints(told.get_column(SIGN))
        order = order_of(times, signs)
        rows = self._rows(told[pl.Series(order)], times[order])
        bad = rows.get_column(_BAD)
        if bad.any():
            yield Failed.all(rows.filter(bad & (rows.get_column(SIGN) > 0)).select(*self._names, TS), BEYOND)
            rows = rows.filter(~bad)
        if rows.height:
            yield Batch(rows.drop(_BAD))

    def _versions(self, slots: Int64s, instants: Int64s, signs: Int64s) -> _Versions | None:
        """When partitions change, and which rows are in them then; takes the changes in."""
        order = order_of(slots, instants)
        slots, instants = slots[order], instants[order]
        begins = run_starts(slots, instants)
        net = np.add.reduceat(signs[order], begins)
        begins, net = begins[net != 0], net[net != 0]
        if not begins.size:
            return None
        slots, instants = slots[begins], instants[begins]
        parts = self._part[slots]
        order = order_of(parts, instants)
        new_part = begins_run(parts[order])
        new = begins_run(parts[order], instants[order])
        rank = np.cumsum(new_part) - 1  # of the partition among those that change
        look = np.empty(order.size, np.int64)
        look[order] = np.cumsum(new) + rank  # one more for each partition: how it was before
        size = int(look.max()) + 1
        times, before = np.zeros(size, np.int64), np.zeros(size, np.bool_)
        times[look] = instants
        first = look[order][new_part] - 1
        before[first] = True
        ends = np.append(first[1:], size)
        stays = self._stays(slots, look, net, parts[order][new_part], first, ends)
        np.add.at(self._copies, slots, net)
        return _Versions(times, before, *stays)

    def _stays(
        self, slots: Int64s, look: Int64s, net: Int64s, parts: Int64s, first: Int64s, ends: Int64s
    ) -> tuple[Int64s, Int64s, Int64s, Int64s]:
        """Stretches of looks over which the copies of a value stay: begin, end, slot, copies."""
        rank_of = np.full(int(self._part.max()) + 1, -1)
        rank_of[parts] = np.arange(parts.size)
        there = (self._copies > 0) & (rank_of[self._part] >= 0)
        there[slots] = True
        members = np.flatnonzero(there)
        rank = rank_of[self._part[members]]
        number = np.full(self._copies.size, -1)
        number[members] = np.arange(members.size)
        of = np.concatenate([np.arange(members.size), number[slots]])
        begin = np.concatenate([first[rank], look])
        change = np.concatenate([self._copies[members], net])
        order = order_of(of, begin)
        of, begin, change = of[order], begin[order], change[order]
        heads = begins_run(of)
        total = np.cumsum(change)
        base = (total - change)[heads]
        copies = total - base[np.cumsum(heads) - 1]
        end = np.append(begin[1:], 0)
        last = np.append(heads[1:], True)
        end[last] = ends[rank[of[last]]]
        some = (copies > 0) & (end > begin)
        return begin[some], end[some], members[of[some]], copies[some]

    def _differences(self, looks: _Versions, first: int, stop: int) -> pl.DataFrame:
        """What differs at some looks from the ones before: look, slot, the calls' columns, sign."""
        begin = first if looks.before[first] else first - 1
        look, slots = looks.rows(begin, stop)
        frame = pl.DataFrame([c.alias(n) for c, n in zip(self._slots.gather(slots), self._names, strict=True)])
        made = self._functions.answers(frame, look)
        look, slots = look[made.order], slots[made.order]
        bad = np.zeros(look.size, np.bool_) if made.beyond is None else made.beyond
        rows = pl.DataFrame([pl.Series(_LOOK, look), pl.Series(_SLOT, slots), *made.columns, pl.Series(_BAD, bad)])
        enters = (look >= first) & ~looks.before[look]
        after = look + 1
        leaves = (after >= first) & (after < stop)
        leaves[leaves] = ~looks.before[after[leaves]]
        new = rows.filter(pl.Series(enters)).with_columns(pl.lit(1, pl.Int8).alias(SIGN))
        if not leaves.any():
            return new
        old = rows.filter(pl.Series(leaves)).with_columns(pl.col(_LOOK) + 1, pl.lit(-1, pl.Int8).alias(SIGN))
        net = (
            pl.concat([new, old]).group_by(pl.exclude(SIGN), maintain_order=True).agg(pl.col(SIGN).cast(pl.Int64).sum())
        )
        net = net.filter(pl.col(SIGN) != 0)
        copies = pl.Series(np.repeat(np.arange(net.height), np.abs(ints(net.get_column(SIGN)))))
        return net[copies].with_columns(pl.col(SIGN).sign().cast(pl.Int8))

    def _rows(self, told: pl.DataFrame, times: Int64s) -> pl.DataFrame:
        slots = ints(told.get_column(_SLOT))
        columns = [c.alias(n) for c, n in zip(self._slots.gather(slots), self._names, strict=True)]
        columns += [told.get_column(name) for name in self._calls]
        return pl.DataFrame([*columns, pl.Series(TS, times), told.get_column(SIGN), told.get_column(_BAD)])

    # -- memory ------------------------------------------------------------------------------------------------------

    def _forget(self, reached: int) -> None:
        """Give up values that are not in the relation: looked for when enough have come since."""
        if reached != MAX_TIME and self._slots.live < 2 * self._checked + _CHECK_ABOVE:
            return
        live = self._live()
        if self._parts is not None:
            parts = np.zeros(self._parts.capacity, np.bool_)
            parts[self._part[np.flatnonzero(live)]] = True
            self._parts.release(parts)
        self._slots.release(live)
        self._checked = self._slots.live
        if not self._slots.capacity:
            self._copies = self._part = np.zeros(0, np.int64)
        elif 8 * self._slots.live + _CHECK_ABOVE < self._slots.capacity:
            old = self._slots.renumber()
            self._copies, self._part = self._copies[old], self._part[old]

    def _live(self) -> Bools:
        live = np.zeros(self._slots.capacity, np.bool_)
        held = self._copies[: live.size]
        live[: held.size] = held > 0
        return live

    def report(self) -> None:
        """And how many rows the relation has."""
        parts = 0 if self._parts is None else self._parts.bytes
        self.holds(self._slots.bytes + parts + self._copies.nbytes + self._part.nbytes)
        self.control.extra["live_rows"] = int(self._copies.sum())

    def recalls(self) -> Recall | None:
        """The changes that wait, and how many rows there are of each value."""
        live = np.flatnonzero(self._live())
        rows = pl.DataFrame([*self._slots.gather(live), pl.Series("$copies", self._copies[live])])
        return Recall(self.since, Bag(rows))


__all__ = ["WindowFunctionsOfRelation"]
