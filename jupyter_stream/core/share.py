"""How much of a source has been read, where its end is known. Not for how much of that a query has answered."""

from __future__ import annotations

from collections.abc import Iterable


class Share:
    """Set by a source that knows its end, as it hands rows over; read by whoever shows how far it is.

    Attributes:
        whole: all there is to read, in bytes or rows; 0 where that isn't known.
        done: how much of it has been read.
    """

    def __init__(self) -> None:
        self.whole = self.done = 0

    @property
    def value(self) -> float | None:
        """From 0 to 1; None where the end isn't known."""
        return min(1.0, self.done / self.whole) if self.whole else None

    def taken(self, share: float | None) -> float | None:
        """The share of what has been taken, by that of the newest rows of it, None before the first; None for an unknown end."""
        return share if share is not None or self.value is None else 0.0


def least_share(shares: Iterable[float | None]) -> float | None:
    """The least of several; None where one of them isn't known, or there is none."""
    found = list(shares)
    known = [share for share in found if share is not None]
    return min(known) if known and len(known) == len(found) else None
