"""Any aggregate over rows that leave in another order than they entered: each look is over the rows alive then, found anew.

Costs rows times the looks they live through. Right for whatever the stretches of `relation_slab.spans` don't fit.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from jupyter_stream.aggregates.framed import Framed
from jupyter_stream.aggregates.protocol import SLOT, VALUE
from jupyter_stream.core.messages import TS, Int64s
from jupyter_stream.state.group_aggregate import GroupAggregate
from jupyter_stream.state.relation_slab import Bools, Slab

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
        self._framed = Framed(aggregate.function, aggregate.form, aggregate.dtype)
        self._nothing = pl.lit(self._framed.of_nothing(), aggregate.dtype)

    def answers(self, slab: Slab) -> pl.Series:
        """The answer at each look; NULL (0 for a count) of nothing."""
        aggregate = self._aggregate
        first, past = lives(slab)
        counts = slab.mask(None, aggregate.where) & (first >= 0) & (past > first)
        chosen = np.flatnonzero(counts)
        columns = [slab.inputs[i].alias(VALUE if n == 0 else f"{VALUE}{n}") for n, i in enumerate(aggregate.inputs)]
        clock = pl.Series(TS, slab.times if slab.clock is None else slab.clock)
        rows = pl.DataFrame([*columns, clock])[pl.Series(chosen)]
        if not self._framed.needs_time:
            rows = rows.drop(TS) if columns else rows
        first, sizes = first[chosen], (past - first)[chosen]
        ends = np.cumsum(sizes)
        partials, begin = [], 0
        while begin < sizes.size:
            reached = int(ends[begin - 1]) if begin else 0
            stop = max(begin + 1, int(np.searchsorted(ends, reached + _EXPANDED, "right")))
            partials.append(self._expanded(rows, first, sizes, begin, stop))
            begin = stop
        every = pl.DataFrame({SLOT: np.arange(slab.real.size)})
        if not partials:
            return every.with_columns(self._nothing.alias(aggregate.name)).get_column(aggregate.name)
        merged = partials[0] if len(partials) == 1 else self._framed.merge(pl.concat(partials), [SLOT])
        found = every.join(self._framed.finish(merged, [SLOT]), on=SLOT, how="left", maintain_order="left")
        column = found.get_column(VALUE)
        if self._framed.of_nothing() is not None:
            column = column.fill_null(self._framed.of_nothing())
        return column.cast(aggregate.dtype).alias(aggregate.name)

    def _expanded(self, rows: pl.DataFrame, first: Int64s, sizes: Int64s, begin: int, stop: int) -> pl.DataFrame:
        many = sizes[begin:stop]
        row = np.repeat(np.arange(begin, stop), many)
        offset = np.repeat(np.cumsum(many) - many, many)
        look = np.arange(row.size) - offset + np.repeat(first[begin:stop], many)
        return self._framed.update(rows[pl.Series(row)].with_columns(pl.Series(SLOT, look)), [SLOT])

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
