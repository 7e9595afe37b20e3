"""Windows without SLIDE: none at all, `[RANGE UNBOUNDED]`, `[RANGE d]`, `[NOW]`. A row lives for `[ts, until)`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Lifetime:
    """How long rows live.

    Attributes:
        range: microseconds, None for ever.
        clause: how the window is written, "" for none.
    """

    range: int | None = None
    clause: str = ""

    def until(self, ts: int) -> int | None:
        """The end of the lifetime (exclusive), None for never."""
        return None if self.range is None else ts + self.range
