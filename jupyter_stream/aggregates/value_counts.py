"""How often each value of a group occurs: what the exact holistic aggregates keep.

The sub-aggregate of window-queries thesis §6.2.4: one row of (value, count) per distinct value and pane. Counts add up and can be
taken back, but there are as many as there are distinct values: pseudo-differential. Memory is bounded by what the window holds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import polars as pl

from jupyter_stream.aggregates.protocol import VALUE

COUNT = "n"
"""How often the value `v` occurs, in partial results."""


Answer: TypeAlias = Callable[[pl.DataFrame, Sequence[str]], pl.DataFrame]
"""From rows of (by, `v`, `n`), each value of a group once, to one row of (by, `v`) for each group, in order of appearance."""


class ValueCounts:
    """The frame form of an aggregate that is a function of (value, count) pairs.

    Args:
        answer: that function, for all groups at once.
    """

    extra = (VALUE,)
    needs_time = False
    skips_nulls = True

    def __init__(self, answer: Answer) -> None:
        self._answer = answer

    def update(self) -> list[pl.Expr]:
        """The count of a value."""
        return [pl.len().cast(pl.Int64).alias(COUNT)]

    def merge(self) -> list[pl.Expr]:
        """The sum of its counts."""
        return [pl.col(COUNT).sum()]

    def finish(self, partials: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
        """Whatever is computed over values and counts."""
        return self._answer(partials, by)
