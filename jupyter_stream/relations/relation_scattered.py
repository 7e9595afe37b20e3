"""Any aggregate over rows that leave in another order than they entered: each look is over the rows alive then, found anew.

Costs rows times the looks they live through. Right for whatever the stretches of `relation_slab.spans` don't fit.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from jupyter_stream.aggregates.protocol import SLOT
from jupyter_stream.arrays.walking import lots, ranges
from jupyter_stream.core.messages import Bools, Int64s
from jupyter_stream.partials.group_aggregate import GroupAggregate
from jupyter_stream.relations.relation_slab import Slab, marked

_EXPANDED = 1 << 20
"""Rows times looks looked at together."""


class Scattered:
    """An aggregate computed for each look from the rows alive at it. Keeps nothing.

    Args:
        aggregate: which one.
        inputs: types of arguments and FILTER conditions.
    """

    bytes = 0

    def __init__(self, aggregate: GroupAggregate, inputs: Sequence[pl.DataType]) -> None:
        self._aggregate = aggregate
        self._framed = aggregate.framed

    def answers(self, slab: Slab) -> tuple[pl.Series, Bools | None]:
        """The answer at each look, that of nothing where there is none; and where it is beyond BIGINT (None for nowhere)."""
        aggregate = self._aggregate
        first, past = lives(slab)
        counts = slab.mask(None, aggregate.where) & (first >= 0) & (past > first)
        chosen = np.flatnonzero(counts)
        clock = pl.Series(slab.times if slab.clock is None else slab.clock)
        arguments = aggregate.arguments(slab.inputs, clock, pl.Series(chosen))
        rows = pl.DataFrame([pl.Series(SLOT, slab.slots[chosen]), *arguments])
        first, sizes = first[chosen], (past - first)[chosen]
        partials = [
            self._expanded(rows[begin:stop], first[begin:stop], sizes[begin:stop])
            for begin, stop in lots(sizes, _EXPANDED)
        ]
        if not partials:
            nothing = pl.Series(aggregate.name, [self._framed.of_nothing()], dtype=aggregate.dtype)
            return nothing.new_from_index(0, slab.real.size), None
        merged = partials[0] if len(partials) == 1 else self._framed.merge(pl.concat(partials), [SLOT])
        column, lost = self._framed.answers(merged, SLOT, slab.real.size)
        return column.alias(aggregate.name), marked(lost, slab.real.size)

    def _expanded(self, rows: pl.DataFrame, first: Int64s, sizes: Int64s) -> pl.DataFrame:
        """Partial results of the looks that each row lives through, so many from its first."""
        rows = rows[pl.Series(np.repeat(np.arange(sizes.size), sizes))]
        return self._framed.update(rows.with_columns(pl.Series(SLOT, ranges(first, sizes))), [SLOT])

    def release(self, dead: Bools) -> None:
        """Nothing is kept."""

    def renumber(self, old: Int64s) -> None:
        """Nothing is kept."""


def lives(slab: Slab) -> tuple[Int64s, Int64s]:
    """Of each row the first look it is alive at, and one past the last; -1 for rows of groups without events."""
    first = np.full(slab.times.size, -1)
    past = np.full(slab.times.size, -1)
    runs = slab.run_of[slab.slots]
    concerned = runs >= 0
    past[concerned] = slab.last[runs[concerned]] + 1
    begins = np.flatnonzero(~slab.real)  # the look before anything happened, of each group
    old = concerned.copy()
    old[slab.old :] = False
    first[old] = begins[runs[old]]
    with_row = np.flatnonzero(slab.row >= 0)
    look = np.searchsorted(slab.end, with_row, side="right")
    enters = slab.sign[with_row] > 0
    first[slab.row[with_row[enters]]] = look[enters]
    past[slab.row[with_row[~enters]]] = look[~enters]
    return first, past
