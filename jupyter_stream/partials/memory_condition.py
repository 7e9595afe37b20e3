"""When partial results take less memory than rows: condition 6.9 of window-queries thesis §6.3.2, with hysteresis (§6.3.4).

The thesis prefers partials where

    winVol > aggr · wed / (tup · SLIDE)  +  Σ vol_K · offset_K

with winVol = vol · wed. `wed / SLIDE` stands for the partials a group has open at a time, and `winVol - Σ vol · offset` for the
rows of it that would be held (Eq. 6.7). Both can be counted where extents are made of panes, whatever the sources' order and
however far apart they are; so here the condition is on the counts:

    rows held > aggr · open panes / tup
"""

from __future__ import annotations

import math
from dataclasses import dataclass

_SLACK = 0.5
"""A group goes back to rows below this share of the threshold: between the two it stays what it is."""


@dataclass(slots=True)
class MemoryCondition:
    """Cond. 6.9 for one query.

    Attributes:
        partial: bytes of a group's numbers in one pane (aggr).
        row: bytes of a row kept (tup).
        spread: bytes that partial results of growing size take for each row folded into them (those of holistic aggregates).
    """

    partial: float
    row: float
    spread: float = 0.0

    def above(self, panes: int) -> float:
        """A group with more rows than that takes less as partials; infinite where none ever does.

        Args:
            panes: how many panes are open, the running fold among them.
        """
        saved = self.row - self.spread
        return self.partial * panes / saved if saved > 0 else math.inf

    def below(self, panes: int) -> float:
        """A group with fewer rows than that goes back to rows."""
        return _SLACK * self.above(panes)
