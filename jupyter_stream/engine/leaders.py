"""Which rows made others late: those whose times the stream's punctuation followed when late rows came after them.

For the hint beside late rows: one row with a clock ahead, or one key whose rows are, is named. Not for who is late.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from jupyter_stream.core.messages import Int64s
from jupyter_stream.core.time import MIN_TIME

_REMEMBERED: Final = 1_000
"""Rows that made others late of which the counts are kept; what others did is counted together."""
_TAIL: Final = 1_024
"""Rows at the end of a batch among which the newest one mostly is."""


@dataclass(frozen=True, slots=True)
class Leader:
    """A row that others came behind.

    Attributes:
        time: its time.
        texts: its columns of texts, in their order: a key is most likely among them.
    """

    time: int
    texts: tuple[tuple[str, str | None], ...]


class Leaders:
    """Counts late rows by the row that was the newest when they came."""

    def __init__(self) -> None:
        self.late: Counter[Leader] = Counter()
        self._newest = MIN_TIME
        self._last: pl.DataFrame | None = None  # the newest row alone: a checkpoint keeps it

    def note(self, frame: pl.DataFrame, ts: Int64s, newest: int, late: NDArray[np.bool_] | None) -> None:
        """Rows that came, the greatest time so far, and which of them are late."""
        if late is not None and late.any():
            self._count(frame, ts, np.flatnonzero(late))
        if newest > self._newest:
            self._newest, self._last = newest, frame.slice(_place_of(newest, ts), 1)

    def _count(self, frame: pl.DataFrame, ts: Int64s, late: NDArray[np.int64]) -> None:
        reached = np.maximum.accumulate(ts)
        before = np.where(late > 0, reached[np.maximum(late - 1, 0)], MIN_TIME)
        here = before > self._newest
        firsts, counts = np.unique(np.searchsorted(reached, before[here]), return_counts=True)
        found = [((frame, at), n) for at, n in zip(firsts.tolist(), counts.tolist(), strict=True)]
        if self._last is not None and not here.all():
            found.append(((self._last, 0), int((~here).sum())))
        for (rows, at), n in found:
            leader = self._leader(rows, at)
            if leader in self.late or len(self.late) < _REMEMBERED:
                self.late[leader] += n

    @staticmethod
    def _leader(frame: pl.DataFrame, at: int) -> Leader:
        row = frame.row(at, named=True)
        texts = tuple((n, row[n]) for n, t in frame.schema.items() if t == pl.String and not n.startswith("$"))
        return Leader(int(row["$ts"]), texts)


def _place_of(newest: int, ts: Int64s) -> int:
    """Where a row of the greatest time is."""
    tail = max(0, ts.size - _TAIL)
    at = tail + int(ts[tail:].argmax())
    return at if ts[at] == newest else int(ts.argmax())
