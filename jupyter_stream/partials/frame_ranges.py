"""Any aggregate over many ranges of rows, or of partial results: those of each range are gathered and put together.

So an answer costs what its range holds. Sums, counts and extremes have faster ways (`arrays.range_fold`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
import polars as pl

from jupyter_stream.aggregates.framed import Framed
from jupyter_stream.arrays.walking import lots, ranges
from jupyter_stream.core.messages import Int64s

_AT_ONCE: Final = 1 << 20
"""Pairs of an answer and a row in its range that are looked at together."""
RANGE: Final = "$range"
"""Of a row, the range that it is in."""


def in_ranges(rows: pl.DataFrame, first: Int64s, sizes: Int64s) -> pl.DataFrame:
    """The rows of each range, one range after the other, with the range's number."""
    which = pl.Series(RANGE, np.repeat(np.arange(sizes.size), sizes))
    return rows[pl.Series(ranges(first, sizes))].hstack([which])


def answers_over(
    framed: Framed,
    rows: pl.DataFrame,
    first: Int64s,
    sizes: Int64s,
    fold: Callable[[pl.DataFrame, Sequence[str]], pl.DataFrame],
) -> tuple[pl.Series, Int64s]:
    """The aggregate over each range of rows, that of nothing where it is empty.

    Args:
        framed: the aggregate.
        rows: rows, or partial results.
        first: where ranges begin.
        sizes: how many rows are in each.
        fold: makes one partial result of each range: `Framed.update`, or `merge`.

    Returns:
        The answers, and the ranges that have none, as a sum is beyond BIGINT.
    """
    found, lost = [], [np.empty(0, np.int64)]
    for begin, stop in lots(sizes, _AT_ONCE):
        partials = fold(in_ranges(rows, first[begin:stop], sizes[begin:stop]), [RANGE])
        answers, beyond = framed.answers(partials, RANGE, stop - begin)
        found.append(answers)
        lost.append(beyond + begin)
    return pl.concat(found) if found else pl.Series([], dtype=framed.dtype), np.concatenate(lost)


__all__ = ["RANGE", "answers_over", "in_ranges"]
