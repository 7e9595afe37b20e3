"""Slots of groups of which each is in a partition: grouping columns, some of which say the partition.

Not for windows: what a partition means, and when a slot is used no more, its user knows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from jupyter_stream.core.messages import Int64s, ints
from jupyter_stream.keys.slots import KeySlots

_PARTITION = "$partition"


class PartitionedSlots:
    """Slots of partitions and of the groups in them. Without a partition, or without keys, there is one, in slot 0.

    Args:
        columns: names and types of the grouping columns.
        partition: which of them say the partition, by index.

    Attributes:
        rest: the others.
        partitions: knows the partitions; None where there is one.
    """

    def __init__(self, columns: Sequence[tuple[str, pl.DataType]], partition: Sequence[int]) -> None:
        self._names = [name for name, _ in columns]
        self._partition = tuple(partition)
        self.rest = tuple(i for i in range(len(columns)) if i not in partition)
        self.partitions = KeySlots([columns[i] for i in partition]) if partition else None
        within = [(_PARTITION, pl.Int64())] if partition else []
        # where the partition is all of the key, its slot is the group's
        self._groups = KeySlots([*within, *(columns[i] for i in self.rest)]) if self.rest else None
        self._both = tuple(s for s in (self.partitions, self._groups) if s is not None)

    @property
    def live(self) -> int:
        """Partitions and groups that have a slot."""
        return sum(s.live for s in self._both)

    @property
    def live_groups(self) -> int:
        """Groups that have a slot."""
        return self._both[-1].live if self._both else 1

    @property
    def bytes(self) -> int:
        """Bytes held."""
        return sum(s.bytes for s in self._both)

    def encode(self, columns: Sequence[pl.Series], rows: int) -> tuple[Int64s, Int64s]:
        """The partition and the group of each row, by slot; new ones get one. `columns` are all grouping columns, in order."""
        partitions = self.partitions_of([columns[i] for i in self._partition], rows)
        return partitions, self.groups_of(partitions, [columns[i] for i in self.rest])

    def partitions_of(self, columns: Sequence[pl.Series], rows: int) -> Int64s:
        """The partition of each row. `columns` are those that say it."""
        return np.zeros(rows, np.int64) if self.partitions is None else self.partitions.encode(columns)

    def groups_of(self, partitions: Int64s, columns: Sequence[pl.Series]) -> Int64s:
        """The group of each row. `columns` are the `rest`."""
        if self._groups is None:
            return partitions
        within = [] if self.partitions is None else [pl.Series(_PARTITION, partitions)]
        return self._groups.encode([*within, *columns])

    def partition_of(self, groups: Int64s) -> Int64s:
        """The partition that each group is in."""
        if self.partitions is None:
            return np.zeros(groups.size, np.int64)
        return groups if self._groups is None else ints(self._groups.gather(groups)[0])

    def gather(self, groups: Int64s) -> list[pl.Series]:
        """The grouping columns of groups, in order."""
        found: dict[int, pl.Series] = {}
        partitions = groups
        if self._groups is not None:
            columns = self._groups.gather(groups)
            if self.partitions is not None:
                partitions, columns = ints(columns[0]), columns[1:]
            found.update(zip(self.rest, columns, strict=True))
        if self.partitions is not None:
            found.update(zip(self._partition, self.partitions.gather(partitions), strict=True))
        return [found[i].alias(name) for i, name in enumerate(self._names)]

    def release(self, groups: Int64s, partitions: Int64s) -> None:
        """Reuse the slots of all groups but these, and of all partitions but these and theirs."""
        theirs = self.partition_of(groups)
        if self._groups is not None:
            self._groups.release(_mask(self._groups.capacity, groups))
        if self.partitions is not None:
            self.partitions.release(_mask(self.partitions.capacity, theirs, partitions))

    def check(self) -> None:
        """Raise AssertionError where an invariant is broken."""
        for slots in self._both:
            slots.check()


def _mask(capacity: int, *slots: Int64s) -> np.ndarray:
    found = np.zeros(capacity, np.bool_)
    for some in slots:
        found[some] = True
    return found


__all__ = ["PartitionedSlots"]
