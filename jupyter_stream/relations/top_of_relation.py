"""ORDER BY ... LIMIT n as a live top-n of a relation: at every instant its first rows, as changes.

Also the first rows by partition (`ROW_NUMBER() OVER (PARTITION BY ...) <= n`), with their numbers where these are wanted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import polars as pl

from jupyter_stream.arrays.rows import Bag, columns_of
from jupyter_stream.core.messages import SIGN, TS, Batch, Bools, Int64s, Message, ints
from jupyter_stream.core.time import MAX_TIME
from jupyter_stream.flow.at_instants import AtInstants
from jupyter_stream.flow.protocol import Recall
from jupyter_stream.flow.top import Order, named
from jupyter_stream.keys.slots import KeySlots
from jupyter_stream.plan.logical import Top
from jupyter_stream.relations.first_rows import FirstRows, Moves

_CHECK_ABOVE = 1024


class TopOfRelation(AtInstants):
    """The first rows of a relation at every instant, as changes: net, by instant, leaving rows before entering ones."""

    def __init__(self, plan: Top) -> None:
        super().__init__(named(plan))
        self._order = Order(plan)
        self._schema = plan.input.schema
        self._names = list(self._schema.names)
        self._by = list(plan.partition)
        self._slots = KeySlots([(f.name, f.dtype) for f in self._schema])
        fields = [(f.name, f.dtype) for f in self._schema if f.name in self._by]
        self._parts = KeySlots(fields) if fields and len(fields) < len(self._names) else None
        self._first = FirstRows(
            self._order.offset,
            self._order.end,
            self._order.number is not None,
            bool(self._by),
            self._ranked,
            self._before,
            self._best,
        )
        self._checked = 0

    def head(self, most: int) -> pl.DataFrame:
        """Some rows of the relation."""
        return self._slots.head(most)

    def take(self, port: int, frame: pl.DataFrame) -> Iterable[Message]:
        """Only the columns of the answer."""
        self.keep(port, columns_of(frame, [*self._names, TS, SIGN]))
        return ()

    def step(self, due: Sequence[pl.DataFrame | None], until: int) -> Iterator[Message]:
        """Give what changes among the first."""
        (changes,) = due
        if changes is not None:
            yield from self._advance(changes)
            self._forget(until)

    def _advance(self, changes: pl.DataFrame) -> Iterator[Message]:
        slots = self._slots.encode(changes.get_columns()[: len(self._names)])
        parts = np.zeros(slots.size, np.int64)
        if self._parts is not None:
            parts = self._parts.encode([changes.get_column(f.name) for f in self._schema if f.name in self._by])
        elif self._by:  # by all columns: each value is a partition
            parts = slots
        for moves in self._first.advance(slots, parts, ints(changes.get_column(TS)), ints(changes.get_column(SIGN))):
            yield Batch(self._rows(moves))

    def _rows(self, moves: Moves) -> pl.DataFrame:
        columns = [c.alias(n) for c, n in zip(self._slots.gather(moves.slots), self._names, strict=True)]
        columns += [pl.Series(TS, moves.instants), pl.Series(SIGN, moves.signs.astype(np.int8))]
        if self._order.number is not None:
            columns.append(pl.Series(self._order.number, moves.places + 1))
        return pl.DataFrame(columns)

    # -- the rows' order ---------------------------------------------------------------------------------------------

    def _ranked(self, slots: Int64s) -> Int64s:
        """The places of slots in the order of their rows."""
        if not self._order.by:
            return np.arange(slots.size)
        rows = pl.DataFrame([c.alias(n) for c, n in zip(self._slots.gather(slots), self._names, strict=True)])
        order = self._order
        places = pl.arg_sort_by(order.by, descending=order.descending, nulls_last=order.nulls_last, maintain_order=True)
        return ints(rows.select(places).to_series())

    def _key(self, slots: Int64s) -> pl.Series | None:
        """The first key of slots, where it is a number or a time and never NULL: the less, the earlier."""
        if not self._order.by:
            return None
        key = self._slots.gather(slots)[self._names.index(self._order.by[0])]
        if not (key.dtype.is_integer() or key.dtype.is_float() or key.dtype.is_temporal()) or key.null_count():
            return None
        return key

    def _before(self, slots: Int64s, bound: int) -> Int64s:
        """Without those that by the first key alone come after a row."""
        key = self._key(np.append(slots, bound))
        if key is None:
            return slots
        there = key[-1:]
        within: Bools = (key[:-1] >= there if self._order.descending[0] else key[:-1] <= there).to_numpy()
        return slots[within]

    def _best(self, slots: Int64s, wanted: int) -> Int64s:
        """The first of some slots: looked for by the first key before they are sorted."""
        if slots.size > 2 * wanted:
            key = self._key(slots)
            if key is not None:
                descending = self._order.descending[0]
                least = (key.top_k(wanted) if descending else key.bottom_k(wanted)).sort(descending=descending)[-1:]
                slots = slots[(key >= least if descending else key <= least).to_numpy()]
        return slots[self._ranked(slots)]

    # -- memory ------------------------------------------------------------------------------------------------------

    def _forget(self, reached: int) -> None:
        """Give up values that are not in the relation: looked for when enough have come since."""
        if reached != MAX_TIME and self._slots.live < 2 * self._checked + _CHECK_ABOVE:
            return
        live = self._first.live(self._slots.capacity)
        if self._parts is not None:
            parts = np.zeros(self._parts.capacity, np.bool_)
            parts[self._first.parts(np.flatnonzero(live))] = True
            self._parts.release(parts)
        self._slots.release(live)
        self._checked = self._slots.live
        if not self._slots.capacity:
            self._first.clear()
        elif 8 * self._slots.live + _CHECK_ABOVE < self._slots.capacity:
            self._first.renumber(self._slots.renumber())

    def report(self) -> None:
        """And how many rows the relation has."""
        self.holds(self._slots.bytes + self._first.bytes + (0 if self._parts is None else self._parts.bytes))
        self.control.extra["live_rows"] = self._first.rows

    def recalls(self) -> Recall | None:
        """The changes that wait, and how many rows there are of each value."""
        live = np.flatnonzero(self._first.live(self._slots.capacity))
        rows = pl.DataFrame([*self._slots.gather(live), pl.Series("$copies", self._first.copies(live))])
        return Recall(self.since, Bag(rows.filter(pl.col("$copies") > 0)))


__all__ = ["TopOfRelation"]
