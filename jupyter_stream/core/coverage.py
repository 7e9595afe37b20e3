"""What share of the exact answer a query has given. Not for how it is estimated: the operators that put work off know."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Coverage:
    """A share of the exact answer so far, with the interval that holds it in 95% of cases.

    Attributes:
        share: estimated, 0 to 1; exactly 1.0 when nothing is left.
        low: lower end of the interval.
        high: upper end.
        note: how the answers given were chosen, for people; empty where all are given.
    """

    share: float
    low: float
    high: float
    note: str = ""

    def __str__(self) -> str:
        if self.low == self.high:
            return f"{100 * self.share:.0f}%"
        return f"{100 * self.share:.0f}% ({100 * self.low:.0f} to {100 * self.high:.0f})"


WHOLE = Coverage(1.0, 1.0, 1.0)
"""Everything."""
