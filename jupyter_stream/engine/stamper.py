"""When enabling time stamps are made: on demand, periodically, or never [stream-mill §4].

Not for who waits: that is `engine/demand.py`.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from jupyter_stream.core.time import MAX_TIME
from jupyter_stream.plan.catalog import Enabling

LOOK: Final = 50_000
"""Microseconds to the next stamp for an operator that waits, doesn't say until when, and has had one since rows came last."""


class Wanted(NamedTuple):
    """What operators that idle-wait want to be told of a stream.

    Attributes:
        until: the least time that lets one of them give something; `MAX_TIME` for none.
        unsure: whether one of them waits and can't say until when.
    """

    until: int = MAX_TIME
    unsure: bool = False


class Stamper:
    """Says when a stream's next enabling time stamp is due. It has no clock: it is told the time, in microseconds.

    Args:
        mode: on demand, periodic or none.
        now: the time it begins.
    """

    def __init__(self, mode: Enabling, now: int) -> None:
        self.mode = mode
        self.made = 0
        """How many were due."""
        self.look = MAX_TIME
        """When to ask again, if nothing comes before."""
        self._last = now
        self._work = -1

    def due(self, now: int, promise: int, wanted: Wanted, work: int) -> bool:
        """Whether to make one now.

        Args:
            now: the time.
            promise: what it would say; behind the time by the skew of the source's clock.
            wanted: who waits for it.
            work: counts what operators have been given of any source. What waits has waited longer only if it has changed.
        """
        self.look = MAX_TIME
        every = self.mode.every
        if every is None:
            return False
        due = self._periodic(now, every) if every else self._on_demand(now, promise, wanted, work)
        if due:
            self.made += 1
            self._work = work
            # a period begins where the last one ended, however late it is looked at
            self._last = now - (now - self._last) % every if every else now
            self.look = self._last + every if every else MAX_TIME
        return due

    def _on_demand(self, now: int, promise: int, wanted: Wanted, work: int) -> bool:
        if wanted.until <= promise:
            return True
        if wanted.unsure and (work != self._work or now - self._last >= LOOK):
            return True
        if wanted.until != MAX_TIME:
            self.look = now + wanted.until - promise
        if wanted.unsure:
            self.look = min(self.look, self._last + LOOK)
        return False

    def _periodic(self, now: int, every: int) -> bool:
        self.look = self._last + every
        return now >= self.look


__all__ = ["LOOK", "Stamper", "Wanted"]
