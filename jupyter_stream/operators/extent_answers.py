"""Answers of extents as rows: the groups' keys, the aggregates, the extent's times; those of empty extents, and of lost ones.

Which extents are answered, and when, is the operator's business.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from jupyter_stream.core.messages import TS, WINDOW_END, WINDOW_ID, WINDOW_START, Failed, Int64s
from jupyter_stream.core.schema import TIMESTAMP
from jupyter_stream.state.group_aggregate import GroupAggregate
from jupyter_stream.state.slots import KeySlots
from jupyter_stream.windows import TimeWindow

_OUT_ROWS = 65_536
"""Rows of empty extents given at a time."""


@dataclass(frozen=True)
class Answers:
    """Extent, group and the aggregates' columns, row by row."""

    extents: Int64s
    slots: Int64s
    answers: Sequence[pl.Series]

    @classmethod
    def concat(cls, parts: Sequence[Answers]) -> Answers:
        """All of them, one after the other."""
        if len(parts) == 1:
            return parts[0]
        return cls(
            np.concatenate([p.extents for p in parts]),
            np.concatenate([p.slots for p in parts]),
            [pl.concat(columns) for columns in zip(*(p.answers for p in parts), strict=True)],
        )

    def part(self, start: int, end: int) -> Answers:
        """Those from one row to another."""
        return Answers(
            self.extents[start:end], self.slots[start:end], [a.slice(start, end - start) for a in self.answers]
        )

    def in_order(self) -> Answers:
        """The same, extent by extent."""
        order = np.argsort(self.extents, kind="stable")
        return Answers(self.extents[order], self.slots[order], [a[order] for a in self.answers])


class ExtentAnswers:
    """Makes rows of answers.

    Args:
        window: whose extents they are.
        keys: names of the grouping columns.
        aggregates: what is answered.
        integer_time: whether the windowing attribute is an integer rather than a TIMESTAMP.
        wanted: the columns that somebody reads; None for all.

    Attributes:
        wanted: the same; others are not made.
    """

    def __init__(
        self,
        window: TimeWindow,
        keys: Sequence[str],
        aggregates: Sequence[GroupAggregate],
        integer_time: bool,
        wanted: frozenset[str] | None = None,
    ) -> None:
        self.wanted = wanted
        self._window = window
        self._keys = tuple(keys)
        self._aggregates = tuple(aggregates)
        self._time = pl.Int64() if integer_time else TIMESTAMP

    def frame(self, found: Answers, slots: KeySlots | None) -> pl.DataFrame:
        """Answers as rows, with the columns that somebody reads; `slots` knows the groups' keys."""
        return self._made(found, slots, self.wanted)

    def _made(self, found: Answers, slots: KeySlots | None, wanted: frozenset[str] | None) -> pl.DataFrame:
        window = self._window
        ends = found.extents * window.slide + window.phase

        def read(column: str) -> bool:
            return wanted is None or column in wanted

        columns = []
        if slots is not None and any(read(n) for n in self._keys):
            columns = [c.alias(n) for c, n in zip(slots.gather(found.slots), self._keys, strict=True) if read(n)]
        columns += found.answers
        if read(WINDOW_START):
            if window.length is None:
                start = pl.Series(WINDOW_START, [None], dtype=self._time).new_from_index(0, ends.size)
            else:
                start = pl.Series(WINDOW_START, ends - window.length).cast(self._time)
            columns.append(start)
        if read(WINDOW_END):
            columns.append(pl.Series(WINDOW_END, ends).cast(self._time))
        if read(WINDOW_ID):
            columns.append(pl.Series(WINDOW_ID, found.extents))
        return pl.DataFrame([*columns, pl.Series(TS, ends - 1)])

    def overflowed(self, extents: Int64s, groups: Int64s, slots: KeySlots | None) -> Failed:
        """Groups of extents that have no answer, as a sum of theirs is beyond 64 bits."""
        nothing = [pl.Series(a.name, [None], dtype=a.dtype).new_from_index(0, groups.size) for a in self._aggregates]
        frame = self._made(Answers(extents, groups, nothing), slots, None)
        shown = frame.select(
            *(name for name in self._keys if name not in ("window_start", "window_end")),
            pl.col(WINDOW_START).alias("window_start"),
            pl.col(WINDOW_END).alias("window_end"),
        )
        return Failed(shown, pl.Series(["a sum is beyond BIGINT"] * groups.size))

    def of_nothing(self, extents: Int64s) -> Answers:
        """Answers of extents without rows, of no keys: counts are 0, all else is NULL."""
        answers = []
        for aggregate in self._aggregates:
            value = 0 if aggregate.function.name == "count" else None
            answers.append(pl.Series(aggregate.name, [value], dtype=aggregate.dtype).new_from_index(0, extents.size))
        return Answers(extents, np.zeros(extents.size, np.int64), answers)

    def between(self, extents: Int64s, after: int | None) -> Iterator[Answers]:
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


__all__ = ["Answers", "ExtentAnswers"]
