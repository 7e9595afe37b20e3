"""`[RANGE d SLIDE s CUMULATE]`: within each range, one more slide at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tests.oracle.windows.time import TimeExtents


@dataclass(frozen=True)
class Growing(TimeExtents):
    """The extent ending at `end` starts at the last multiple of the range, from the origin, before `end`."""

    word: ClassVar[str] = " CUMULATE"

    def start(self, end: int) -> int:
        assert self.range is not None
        return end - 1 - (end - 1 - (self.origin or 0)) % self.range
