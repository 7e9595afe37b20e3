"""Frames of SQL's window functions: which rows around the current one, in an order of their own, count (SQL:2011, 7.15)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

FrameUnit: TypeAlias = Literal["rows", "range", "groups"]


@dataclass(frozen=True, slots=True)
class Frame:
    """The rows of the current one's partition from one end to the other, both included.

    Attributes:
        unit: what the ends count: rows, values of the one order key, or groups of peers.
        low: where it begins: so many before the current row if negative; 0 is the row, or its first peer; None the partition's
            first row. Of times microseconds.
        high: where it ends: so many behind the current row if positive; 0 is the row, or its last peer; None the last of all.
    """

    unit: FrameUnit
    low: float | None
    high: float | None

    def __str__(self) -> str:
        low, high = _shown(self.low, "PRECEDING"), _shown(self.high, "FOLLOWING")
        return f"{self.unit.upper()} BETWEEN {low} AND {high}"


def _shown(end: float | None, unbounded: str) -> str:
    if end is None:
        return f"UNBOUNDED {unbounded}"
    if end == 0:
        return "CURRENT ROW"
    return f"{abs(end)} {'PRECEDING' if end < 0 else 'FOLLOWING'}"


WHOLE_PARTITION = Frame("rows", None, None)
UP_TO_PEERS = Frame("range", None, 0)
"""What an OVER with ORDER BY and without a frame means."""


__all__ = ["UP_TO_PEERS", "WHOLE_PARTITION", "Frame", "FrameUnit"]
