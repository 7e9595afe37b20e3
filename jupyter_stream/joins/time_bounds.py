"""How far from a row's time the times of its partners can be: which rows may meet, and until when a row has to be kept."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from jupyter_stream.core.axis import plus
from jupyter_stream.core.messages import Int64s
from jupyter_stream.core.time import MAX_TIME, MIN_TIME
from jupyter_stream.plan.keyed import FAR
from jupyter_stream.windows.protocol import Schedule


@dataclass(frozen=True)
class TimeBounds:
    """Bounds of the times of partners, seen from rows of one input of a join.

    Attributes:
        low: the least time of a partner minus the row's own, microseconds, None for no bound.
        high: the greatest.
        extents: when the extents end of a tumbling window, one of which both rows have to be in; None without.
    """

    low: int | None
    high: int | None
    extents: Schedule | None = None

    @property
    def back(self) -> TimeBounds:
        """The same, seen from the partners."""
        return replace(
            self, low=None if self.high is None else -self.high, high=None if self.low is None else -self.low
        )

    def of(self, first: int, last: int) -> tuple[int | None, int | None]:
        """The first and the last time that partners of rows may have whose times are from `first` to `last`."""
        low = None if self.low is None else plus(first, self.low)
        high = None if self.high is None else plus(last, self.high)
        if self.extents is not None:
            begin, end = self.extents.last(first), self.extents.last(last) + self.extents.slide - 1
            low, high = begin if low is None else max(low, begin), end if high is None else min(high, end)
        return low, high

    def alive(self, reached: int) -> int:
        """Rows before this time find no partner any more, once all partners to come are at `reached` or after it."""
        if reached in (MIN_TIME, MAX_TIME):
            return reached
        before = MIN_TIME if self.high is None else plus(reached, -self.high)
        if self.extents is not None:
            before = max(before, self.extents.last(reached))
        return before

    def alive_by_key(self, reached: Int64s) -> Int64s:
        """The same, of several keys; of one without an end what is promised from `FAR` on is that there are no more."""
        before = np.where(reached >= FAR, FAR, MIN_TIME) if self.high is None else plus(reached, -self.high)
        if self.extents is not None:
            before = np.maximum(before, self.extents.last(reached))
        return before


__all__ = ["TimeBounds"]
