"""How exact a query's answers are: what was given up, and since when. How far one answer is off is said in its own column."""

from __future__ import annotations

import time
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Moment:
    """When a query began to give something up, or was exact again.

    Attributes:
        at: seconds since 1970.
        what: in words.
    """

    at: float
    what: str

    def __str__(self) -> str:
        return f"{time.strftime('%H:%M:%S', time.localtime(self.at))} {self.what}"


@dataclass(frozen=True, slots=True)
class Precision:
    """How exact a query's answers are.

    Attributes:
        share: of the rows that came so far, the part that was looked at; exactly 1.0 where all were.
        changed: what was given up before it started, in words.
        allowed: what may be given up when memory or time run short; empty for nothing.
        now: what is given up at this moment; empty for nothing.
        answers: answers given; 0 where they aren't counted.
        touched: those of which rows were left out.
        moments: when it began to give something up, and when it was exact again; the newest last.
    """

    share: float = 1.0
    changed: tuple[str, ...] = ()
    allowed: str = ""
    now: str = ""
    answers: int = 0
    touched: int = 0
    moments: tuple[Moment, ...] = ()

    @property
    def exact(self) -> bool:
        """Whether answers are exact now: nothing was given up before the query started, nor is now."""
        return not self.changed and not self.now and (bool(self.moments) or self.share == 1.0)

    def __str__(self) -> str:
        parts = [*self.changed]
        if self.now:
            parts.append(self.now)
        elif self.moments:
            parts.append(f"exact again since {time.strftime('%H:%M:%S', time.localtime(self.moments[-1].at))}")
        if self.share < 1:
            parts.append(f"{100 * self.share:.3g} % of all rows so far were looked at")
        return "; ".join(parts) or "exact"


EXACT = Precision()
"""Nothing was given up, and nothing may be."""
