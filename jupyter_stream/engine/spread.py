"""How far times of rows that come together are spread, looked at once: a further pass over many rows waits for memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from jupyter_stream.core.messages import Int64s

CHUNK: Final = 16_384
"""Rows judged at a time: few chunks meet an answer becoming final, and only those cost more than two passes."""


@dataclass(frozen=True, slots=True)
class TimeSpread:
    """The least and the greatest of some times, by chunks of `CHUNK`. There must be one.

    Attributes:
        lows: of each chunk the least.
        highs: of each the greatest.
    """

    lows: tuple[int, ...]
    highs: tuple[int, ...]

    @classmethod
    def of(cls, ts: Int64s) -> TimeSpread:
        """Those of an array."""
        lows, highs = [], []
        for start in range(0, ts.size, CHUNK):
            chunk = ts[start : start + CHUNK]
            lows.append(int(chunk.min()))
            highs.append(int(chunk.max()))
        return cls(tuple(lows), tuple(highs))

    @property
    def least(self) -> int:
        """The least of all."""
        return min(self.lows)

    @property
    def greatest(self) -> int:
        """The greatest of all."""
        return max(self.highs)


__all__ = ["CHUNK", "TimeSpread"]
