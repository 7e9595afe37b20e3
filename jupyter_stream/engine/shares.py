"""Which queries have had more than their share of the machine, by weight, and wait for those that have had less.

A query's virtual time is the seconds its steps took divided by its weight, after start-time fair queueing (Goyal, Vin and Cheng,
SIGCOMM 1996). One that is more than a slice ahead of a query of greater weight waits as long as that has something to do.
Queries of one weight take turns (`schedulers`) or go on beside each other (`lanes`), and none waits for another here.
"""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from math import inf
from typing import Final

from jupyter_stream.engine.feed import Feed
from jupyter_stream.engine.steps import queries, weight

_SLICE: Final = 0.05
"""Seconds, by weight, that a query may be ahead. Who has little to do has had less than that, and never waits."""
_CLAIM: Final = 0.5
"""Seconds, by weight, that a query is ahead at most: what it had beyond that, when nobody else wanted it, is forgotten."""
_LULL: Final = 0.1
"""Seconds without anything to do after which a query has no claim to what it left to others."""


class Shares:
    """What each query has had.

    Args:
        spent: the seconds that the steps of a query, or of a part that queries share, took so far, the one under way too.
        now: the time, in seconds.
    """

    def __init__(self, spent: Callable[[object], float], now: Callable[[], float] = time.monotonic) -> None:
        self._spent = spent
        self._now = now
        self._counted: weakref.WeakKeyDictionary[object, float] = weakref.WeakKeyDictionary()
        self._had: weakref.WeakKeyDictionary[object, float] = weakref.WeakKeyDictionary()
        self._wanted: weakref.WeakKeyDictionary[object, float] = weakref.WeakKeyDictionary()

    def ahead(self, owners: Iterable[object], wanting: Mapping[object, float]) -> set[object]:
        """Those that wait for others, now.

        Args:
            owners: all queries, and parts that they share.
            wanting: the weights of those that have something to do.
        """
        for owner in owners:
            self._count(owner)
        self._admit(wanting)
        had, found, least = self._had, set(), inf
        for _, equals in groupby(sorted(wanting, key=lambda q: -wanting[q]), key=lambda q: wanting[q]):
            group = list(equals)
            found |= {query for query in group if had[query] > least + _SLICE}
            least = min([least, *(had[query] for query in group)])
        return found

    def _count(self, owner: object) -> None:
        """Take down what an owner's steps took since the last look; of a shared part, for each query by its weight."""
        spent = self._spent(owner)
        seconds = spent - self._counted.get(owner, spent)
        self._counted[owner] = spent
        for query in queries(owner) if seconds else ():
            self._had[query] = self._had.get(query, 0.0) + seconds / weight(owner)

    def _admit(self, wanting: Iterable[object]) -> None:
        """Those that begin to want something have had as much as the one that had least; none has had much more."""
        now, wanted = self._now(), list(wanting)
        known = {q for q in wanted if now - self._wanted.get(q, -inf) <= _LULL}
        least = min((self._had.get(q, 0.0) for q in known), default=0.0)
        for query in wanted:
            if query not in known:
                self._had[query] = max(self._had.get(query, 0.0), least)
            self._wanted[query] = now
        least = min((self._had[q] for q in wanted), default=0.0)
        for query in wanted:
            self._had[query] = min(self._had[query], least + _CLAIM)


def wanting(ready: Iterable[Feed], unfinished: Iterable[object], aside: Iterable[object]) -> dict[object, float]:
    """The weights of queries that have something to do.

    Args:
        ready: feeds that have rows for them.
        unfinished: queries and shared parts that have more to do with what they were given.
        aside: those whose step is under way.
    """
    found = [q for owner in (*unfinished, *aside) for q in queries(owner)]
    reading = (reader for feed in ready for reader in feed.readers)
    found += [r for r in reading if not (r.paused or getattr(r, "held_up", False))]
    return {query: weight(query) for query in found}


def differ(runners: Sequence[object]) -> bool:
    """Whether queries have different weights."""
    return len({weight(runner) for runner in runners}) > 1


__all__ = ["Shares", "differ", "wanting"]
