"""Answers of extents as rows: the groups' keys, the aggregates, the extent's times; those of empty extents, and of lost ones.

Which extents are answered, and when, is the operator's business.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from jupyter_stream.arrays.exact import BEYOND
from jupyter_stream.core.messages import WINDOW_END, WINDOW_START, Failed, Int64s
from jupyter_stream.keys.slots import KeySlots
from jupyter_stream.partials.group_aggregate import GroupBy
from jupyter_stream.windowed.extent_bounds import extent_bounds
from jupyter_stream.windows import TimeWindow

_OUT_ROWS = 65_536
"""Rows of empty extents given at a time."""


@dataclass(frozen=True)
class GroupAnswers:
    """Extent, group and the aggregates' columns, row by row."""

    extents: Int64s
    slots: Int64s
    answers: Sequence[pl.Series]

    @classmethod
    def concat(cls, parts: Sequence[GroupAnswers]) -> GroupAnswers:
        """All of them, one after the other."""
        if len(parts) == 1:
            return parts[0]
        return cls(
            np.concatenate([p.extents for p in parts]),
            np.concatenate([p.slots for p in parts]),
            [pl.concat(columns) for columns in zip(*(p.answers for p in parts), strict=True)],
        )

    def part(self, start: int, end: int) -> GroupAnswers:
        """Those from one row to another."""
        return GroupAnswers(
            self.extents[start:end], self.slots[start:end], [a.slice(start, end - start) for a in self.answers]
        )

    def in_order(self) -> GroupAnswers:
        """The same, extent by extent."""
        order = np.argsort(self.extents, kind="stable")
        return GroupAnswers(self.extents[order], self.slots[order], [a[order] for a in self.answers])


class ExtentAnswers:
    """Makes rows of answers.

    Args:
        window: whose extents they are.
        computed: the grouping columns, and what is answered.
        wanted: the columns that somebody reads; None for all.

    Attributes:
        wanted: the same; others are not made.
    """

    def __init__(
        self,
        window: TimeWindow,
        computed: GroupBy,
        wanted: frozenset[str] | None = None,
    ) -> None:
        self.wanted = wanted
        self._window = window
        self._keys = [name for name, _ in computed.types]
        self._aggregates = computed.aggregates
        self._time = computed.time

    def frame(self, found: GroupAnswers, slots: KeySlots | None) -> pl.DataFrame:
        """Answers as rows, with the columns that somebody reads; `slots` knows the groups' keys."""
        return self._made(found, slots, self.wanted)

    def _made(self, found: GroupAnswers, slots: KeySlots | None, wanted: frozenset[str] | None) -> pl.DataFrame:
        columns = []
        read = [wanted is None or name in wanted for name in self._keys]
        if slots is not None and any(read):
            keys = zip(slots.gather(found.slots), self._keys, read, strict=True)
            columns = [c.alias(name) for c, name, is_read in keys if is_read]
        return pl.DataFrame([*columns, *found.answers, *extent_bounds(self._window, found.extents, self._time, wanted)])

    def overflowed(self, extents: Int64s, groups: Int64s, slots: KeySlots | None) -> Failed:
        """Groups of extents that have no answer, as a sum of theirs is beyond 64 bits."""
        nothing = [pl.Series(a.name, [None], dtype=a.dtype).new_from_index(0, groups.size) for a in self._aggregates]
        frame = self._made(GroupAnswers(extents, groups, nothing), slots, None)
        shown = frame.select(
            *(name for name in self._keys if name not in ("window_start", "window_end")),
            pl.col(WINDOW_START).alias("window_start"),
            pl.col(WINDOW_END).alias("window_end"),
        )
        return Failed.all(shown, BEYOND)

    def of_nothing(self, extents: Int64s) -> GroupAnswers:
        """Answers of extents without rows, of no keys: counts are 0, all else is NULL."""
        answers = []
        for aggregate in self._aggregates:
            nothing = [aggregate.function.of_nothing]
            answers.append(pl.Series(aggregate.name, nothing, dtype=aggregate.dtype).new_from_index(0, extents.size))
        return GroupAnswers(extents, np.zeros(extents.size, np.int64), answers)

    def between(self, extents: Int64s, after: int | None) -> Iterator[GroupAnswers]:
        """Those of the extents without rows between `after` and `extents`, which hold some, a batch at a time."""
        known = extents if after is None else np.concatenate([[after], extents])
        pieces: list[Int64s] = []
        rows = 0
        for i in np.flatnonzero(np.diff(known) > 1).tolist():
            end = int(known[i + 1])
            for start in range(int(known[i]) + 1, end, _OUT_ROWS):
                pieces.append(np.arange(start, min(end, start + _OUT_ROWS)))
                rows += pieces[-1].size
                if rows >= _OUT_ROWS:
                    yield self.of_nothing(np.concatenate(pieces))
                    pieces, rows = [], 0
        if pieces:
            yield self.of_nothing(np.concatenate(pieces))


__all__ = ["ExtentAnswers", "GroupAnswers"]
