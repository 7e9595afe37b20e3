"""How far the queries of a job are, as a person reads it: a bar where the end is known, rows a second, the time that is left.

Not for when it is shown, nor for what else a job says.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

_WIDTH: Final = 20
"""Letters of a bar."""
_BLOCKS: Final = "▏▎▍▌▋▊▉█"
_LOOKS: Final = 6
"""SpeedGauge that rows a second are taken from."""
_SOON: Final = 2.0
"""Seconds after which a guess of the time that is left is worth something."""


def bar(share: float, encoding: str | None) -> str:
    """A bar, always of the same width.

    Args:
        share: how much of it is full, from 0 to 1.
        encoding: what the terminal takes; where that has no blocks, the bar is of other signs.
    """
    eighths = round(min(1.0, max(0.0, share)) * _WIDTH * 8)
    if not _takes_blocks(encoding):
        return ("#" * (eighths // 8)).ljust(_WIDTH, ".")
    part = _BLOCKS[eighths % 8 - 1] if eighths % 8 else ""
    return ("█" * (eighths // 8) + part).ljust(_WIDTH, "░")


def _takes_blocks(encoding: str | None) -> bool:
    try:
        (_BLOCKS + "░").encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


@dataclass(frozen=True, slots=True)
class QuerySpeed:
    """How fast a query is.

    Attributes:
        rows_per_second: rows of its input, of late; None before the second look.
        left: seconds until its end, if it goes on so; None where that can't be told.
    """

    rows_per_second: float | None
    left: float | None

    def __str__(self) -> str:
        """Such as `410,000 rows/s, 12 s left`; nothing where nothing is known."""
        rate = self.rows_per_second
        parts = [] if rate is None else [f"{rate:,.0f} rows/s" if rate >= 10 else f"{rate:.1f} rows/s"]
        return ", ".join(parts + ([] if self.left is None else [f"{lasting(self.left)} left"]))


class SpeedGauge:
    """What was seen of one query, look after look.

    Args:
        clock: gives seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._rows: deque[tuple[float, int]] = deque(maxlen=_LOOKS)
        self._first: tuple[float, float] | None = None

    def pace(self, rows: int, share: float | None) -> QuerySpeed:
        """Take a look.

        Args:
            rows: rows of its input so far.
            share: how far it is, from 0 to 1; None where its end isn't known.
        """
        now = self._clock()
        self._rows.append((now, rows))
        (since, before), seconds = self._rows[0], now - self._rows[0][0]
        rate = (rows - before) / seconds if seconds > 0 else None
        if share is None:
            return QuerySpeed(rate, None)
        if self._first is None:
            self._first = now, share
        since, begun = self._first
        known = now - since >= _SOON and share > begun
        return QuerySpeed(rate, (1 - share) * (now - since) / (share - begun) if known else None)


def lasting(seconds: float) -> str:
    """A length of time in at most two units: `12 s`, `3 min 20 s`, `2 h 5 min`."""
    whole = round(seconds)
    for unit, length, name, part in (("h", 3600, "min", 60), ("min", 60, "s", 1)):
        if whole >= length:
            rest = whole % length // part
            return f"{whole // length} {unit}" + (f" {rest} {name}" if rest else "")
    return f"{whole} s"
