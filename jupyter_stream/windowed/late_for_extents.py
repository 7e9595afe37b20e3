"""Late rows and the extents they miss: each row is used in the extents that were open when it came, and in no other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from jupyter_stream.core.messages import BROKEN, LATE_ID, TS, Int64s, Missed, ints
from jupyter_stream.windows import TimeWindow

_NO_EXTENT = np.iinfo(np.int64).min


@dataclass(frozen=True)
class Judged:
    """What becomes of the rows of a batch with late ones among them.

    Attributes:
        missed: late rows that missed answers, None if none did.
        usable: which of the rows belong to an extent that was open when they came.
        closing: for each row, the last extent that had become final when it came.
    """

    missed: Missed | None
    usable: NDArray[np.bool_]
    closing: Int64s

    def cuts(self, closed: int | None) -> list[int]:
        """Where another extent becomes final within the batch, after the extent `closed`; then the end."""
        before = np.concatenate([[_NO_EXTENT if closed is None else closed], self.closing[:-1]])
        return [*np.flatnonzero(self.closing != before).tolist(), self.closing.size]


def judge(window: TimeWindow, frame: pl.DataFrame, closed: int | None) -> Judged:
    """Judge the rows of a batch one by one; extents up to `closed` were final before it."""
    is_late = frame.get_column(BROKEN).is_not_null().to_numpy()
    late = frame.filter(pl.Series(is_late))
    ts, broken = ints(late.get_column(TS)), ints(late.get_column(BROKEN))
    found = window.late(ts, broken, closed)
    some = np.flatnonzero(found.missed)
    usable = np.ones(frame.height, np.bool_)
    usable[is_late] = found.usable
    # an answer that became final within this batch is given when the rows before a late one that missed it are in, and
    # before that one is
    before = _NO_EXTENT if closed is None else closed
    closing = np.full(frame.height, before, np.int64)
    closing[is_late] = np.where(found.usable & (found.missed > 0), found.final, before)
    np.maximum.accumulate(closing, out=closing)
    told = Missed(ints(late.get_column(LATE_ID))[some], found.missed[some]) if some.size else None
    return Judged(told, usable, closing)


__all__ = ["Judged", "judge"]
