"""Set operations on relations: EXCEPT, INTERSECT, with and without ALL, and `net`, which only takes together what cancels out.

For each value two counts are kept, left and right; how many copies the answer holds follows from them at every instant. Columns
of any types; NULLs are equal to each other, as SQL has it for sets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal

import numpy as np
import polars as pl

from jupyter_stream.arrays.growing import extended
from jupyter_stream.arrays.order import order_of
from jupyter_stream.arrays.rows import Bag, frame_of
from jupyter_stream.arrays.runs import begins_run, ends_run
from jupyter_stream.core.messages import SIGN, TS, Batch, Int64s, Message, ints
from jupyter_stream.core.schema import Schema
from jupyter_stream.flow.at_instants import AtInstants
from jupyter_stream.flow.protocol import Recall
from jupyter_stream.keys.slots import KeySlots
from jupyter_stream.plan.logical import BagKind

COPIES: dict[BagKind | Literal["distinct"], Callable[[Int64s, Int64s], Int64s]] = {
    "net": lambda left, right: left,
    "distinct": lambda left, right: (left > 0).astype(np.int64),
    "except": lambda left, right: ((left > 0) & (right == 0)).astype(np.int64),
    "except all": lambda left, right: np.maximum(0, left - right),
    "intersect": lambda left, right: ((left > 0) & (right > 0)).astype(np.int64),
    "intersect all": lambda left, right: np.minimum(left, right),
}
"""How many copies of a value the answer holds, of so many on the left and on the right."""

_CHECK_ABOVE = 1024


class BagsOperator(AtInstants):
    """Changes of the answer, net for each instant and value; leaving rows before entering ones.

    Args:
        kind: which operation.
        inputs: the columns of each input, by position.
        schema: the answer's columns.
    """

    def __init__(
        self, kind: BagKind | Literal["distinct"], inputs: tuple[tuple[str, ...], ...], schema: Schema
    ) -> None:
        super().__init__(kind if kind != "net" else "net changes", len(inputs))
        self._copies = COPIES[kind]
        self._inputs = inputs
        self._names = schema.names
        self._slots = KeySlots([(f.name, f.dtype) for f in schema])
        self._counts = np.zeros((2, 0), np.int64)
        self._checked = 0

    def head(self, most: int) -> pl.DataFrame:
        """The first rows kept, and how many there are of each on either side."""
        held = np.flatnonzero((self._counts != 0).any(axis=0))[:most]
        counts = [pl.Series(f"{side} rows", self._counts[i][held]) for i, side in enumerate(("left", "right"))]
        columns = zip(self._names, self._slots.gather(held), strict=True)
        return pl.DataFrame([*(c.alias(n) for n, c in columns), *counts])

    def take(self, port: int, frame: pl.DataFrame) -> Iterable[Message]:
        """Under the answer's names."""
        columns = [frame.get_column(c).alias(n) for c, n in zip(self._inputs[port], self._names, strict=True)]
        self.keep(port, frame_of([*columns, frame.get_column(TS), frame.get_column(SIGN)]))
        return ()

    def step(self, due: Sequence[pl.DataFrame | None], until: int) -> Iterable[Message]:
        """Count, and give what changes in the answer."""
        told = [frame for frame in due if frame is not None]
        if not told:
            return ()
        sides = np.repeat(np.arange(len(due)), [0 if frame is None else frame.height for frame in due])
        frame = pl.concat(told)
        slots = self._slots.encode(frame.get_columns()[: len(self._names)])
        self._fit()
        made = self._changes(slots, ints(frame.get_column(TS)), ints(frame.get_column(SIGN)), sides)
        return () if made is None else (Batch(made),)

    def _changes(self, slots: Int64s, instants: Int64s, signs: Int64s, sides: Int64s) -> pl.DataFrame | None:
        order = order_of(slots, instants)
        slots, instants = slots[order], instants[order]
        begins = begins_run(slots)  # of a value
        last = ends_run(slots, instants)  # of an instant
        first = np.flatnonzero(begins)
        counts = []
        for side in (0, 1):
            events = np.where(sides[order] == side, signs[order], 0)
            total = np.cumsum(events)
            before = (total - events)[first]
            held = self._counts[side][slots[first]]
            counts.append(total + np.repeat(held - before, np.diff(np.append(first, slots.size))))
        was = self._copies(*(self._counts[side][slots[first]] for side in (0, 1)))
        looks = np.flatnonzero(last)
        now = self._copies(counts[0][looks], counts[1][looks])
        opening = begins_run(slots[looks])
        previous = np.empty_like(now)
        previous[1:] = now[:-1]
        previous[opening] = was
        closing = np.append(np.flatnonzero(opening)[1:], looks.size) - 1
        for side in (0, 1):
            self._counts[side][slots[looks[closing]]] = counts[side][looks[closing]]
        difference = now - previous
        changed = np.flatnonzero(difference)
        if not changed.size:
            return None
        changed = changed[order_of(instants[looks[changed]], difference[changed] > 0)]
        changed = np.repeat(changed, np.abs(difference[changed]))
        columns = self._slots.gather(slots[looks[changed]])
        named = [c.alias(n) for c, n in zip(columns, self._names, strict=True)]
        sign = np.sign(difference[changed]).astype(np.int8)
        frame = pl.DataFrame([*named, pl.Series(TS, instants[looks[changed]]), pl.Series(SIGN, sign)])
        self._forget()
        return frame

    def _fit(self) -> None:
        self._counts = extended(self._counts, self._slots.capacity)

    def _forget(self) -> None:
        """Give up values that neither input holds: looked for when enough have come since."""
        if self._slots.live < 2 * self._checked + _CHECK_ABOVE:
            return
        self._slots.release((self._counts[:, : self._slots.capacity] != 0).any(axis=0))
        self._checked = self._slots.live
        if 8 * self._slots.live + _CHECK_ABOVE < self._slots.capacity:
            self._counts = self._counts[:, self._slots.renumber()]

    def recalls(self) -> Recall | None:
        """The changes that wait, and how many there are of each value."""
        held = np.flatnonzero((self._counts != 0).any(axis=0))
        counts = [pl.Series(f"${side}", self._counts[side][held]) for side in (0, 1)]
        return Recall(self.since, Bag(pl.DataFrame([*self._slots.gather(held), *counts])))

    def report(self) -> None:
        """And how many values either input holds."""
        self.holds(self._slots.bytes + self._counts.nbytes)
        self.control.extra["live_values"] = self._slots.live
