"""What a query may give up, and how far; and what it is to fit into (stream-manager paper §5). Not for how that is done."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from jupyter_stream.core.time import show_duration


@dataclass(frozen=True, slots=True)
class Tolerance:
    """WITH TOLERANCE; None where a part isn't written: that is not given up.

    Attributes:
        window: the least length of windows, microseconds.
        sample: the least share of rows that is looked at, 0 to 1.
        error: how far counts, sums and averages may be off, as a share of them, in 95% of answers.
    """

    window: int | None = None
    sample: float | None = None
    error: float | None = None

    def __str__(self) -> str:
        parts = [
            *(() if self.window is None else (f"windows of at least {show_duration(self.window)}",)),
            *(() if self.sample is None else (f"at least {percent(self.sample)} of the rows",)),
            *(() if self.error is None else (f"errors of at most {percent(self.error)}",)),
        ]
        return ", ".join(parts)


@dataclass(frozen=True, slots=True)
class Room:
    """What an APPROXIMATE is to fit into.

    Attributes:
        kind: `bytes`, or a share of one core (`cpu`).
        amount: so many, or up to 1.
    """

    kind: Literal["bytes", "cpu"]
    amount: float

    def __str__(self) -> str:
        return in_words(self.kind, self.amount)


def in_words(kind: str, amount: float) -> str:
    """An amount of memory or of processor time, for people."""
    if kind == "cpu":
        return f"{percent(amount)} of one core"
    for unit, factor in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if amount >= factor:
            return f"{amount / factor:.3g} {unit}"
    return f"{amount:.0f} bytes"


def percent(share: float) -> str:
    """A share as people write it: `25 %`."""
    return f"{100 * share:.3g} %"


__all__ = ["Room", "Tolerance", "in_words", "percent"]
