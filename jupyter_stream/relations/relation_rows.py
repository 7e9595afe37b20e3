"""A relation of aggregates over the newest n rows, of all or of each partition: rows live on the axis of arrival numbers.

A row leaves when the n-th row after it in its partition arrives, so nothing waits and no row is late.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from jupyter_stream.arrays.order import order_of
from jupyter_stream.core.messages import TS, Int64s, ints
from jupyter_stream.core.time import MAX_TIME
from jupyter_stream.partials.group_aggregate import GroupAggregate
from jupyter_stream.relations.relation import RelationGroups
from jupyter_stream.relations.relation_slab import Slab


class NewestRows:
    """Which rows are among the newest n of their partition: their arrival numbers, and no values.

    Args:
        rows: n.
    """

    def __init__(self, rows: int) -> None:
        self._rows = rows
        self._partitions = np.empty(0, np.int64)  # both by partition, then by number
        self._numbers = np.empty(0, np.int64)

    @property
    def rows(self) -> int:
        """How many."""
        return self._numbers.size

    @property
    def bytes(self) -> int:
        """Bytes held."""
        return self._partitions.nbytes + self._numbers.nbytes

    def take(self, partitions: Int64s, numbers: Int64s) -> tuple[Int64s, Int64s]:
        """Rows arrive, in the order of their numbers.

        Returns:
            The numbers of the rows that leave, ascending, and for each the number of the row that pushed it out.
        """
        owners = np.append(self._partitions, partitions)
        order = order_of(owners)
        owners, numbers = owners[order], np.append(self._numbers, numbers)[order]
        pushed = np.flatnonzero(owners[: -self._rows] == owners[self._rows :])
        gone, by = numbers[pushed], numbers[pushed + self._rows]
        stay = np.ones(owners.size, np.bool_)
        stay[pushed] = False
        self._partitions, self._numbers = owners[stay], numbers[stay]
        sort = np.argsort(gone)
        return gone[sort], by[sort]


class RowRelationGroups(RelationGroups):
    """Groups of rows that live until the n-th row after them in their partition arrives.

    Args:
        rows: n.
        keys: names and types of the grouping columns; without any, there is one row from the first on.
        inputs: types of arguments and FILTER conditions.
        aggregates: what is computed.
    """

    _in_order = False  # with partitions in one group, they don't

    def __init__(
        self,
        rows: int,
        keys: Sequence[tuple[str, pl.DataType]],
        inputs: Sequence[pl.DataType],
        aggregates: Sequence[GroupAggregate],
    ) -> None:
        super().__init__(rows, keys, [*inputs, pl.Int64()], aggregates)  # event times, for what goes by time
        self._newest = NewestRows(rows)
        self._gone = self._by = np.empty(0, np.int64)

    @property
    def bytes(self) -> int:
        """Bytes held."""
        return super().bytes + self._newest.bytes

    @property
    def oldest(self) -> int | None:
        """The earliest time of its rows; None where others, that are not aggregated, count among the newest too."""
        if self._alive is None or self._alive.height != self._newest.rows or (not self._keys and not self._began):
            return None
        return int(ints(self._alive.to_series(self._alive.width - 1)).min())

    def arrive(self, partitions: Int64s, numbers: Int64s) -> None:
        """Rows have arrived, whether or not they are aggregated; before `release` of these."""
        self._gone, self._by = self._newest.take(partitions, numbers)

    def _slab(self, due: pl.DataFrame | None, until: int) -> Slab | None:
        slab = super()._slab(due, until)
        return None if slab is None else replace(slab, clock=ints(slab.inputs[-1]))

    def _leaving(self, rows: pl.DataFrame, until: int) -> tuple[Int64s, Int64s]:
        times = ints(rows.get_column(TS))
        ends = np.full(times.size, MAX_TIME)
        if self._gone.size and times.size:
            at = np.searchsorted(times, self._gone)
            at[at == times.size] = 0
            found = times[at] == self._gone
            ends[at[found]] = self._by[found]
        return ends, np.flatnonzero(ends < until)
