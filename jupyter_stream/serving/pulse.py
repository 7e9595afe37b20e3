"""Waiting for a query to have something new: one look for all who wait, however many readers there are."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from jupyter_stream.session.query import Query

LOOK: Final = 0.05
"""Seconds between looks at a query that somebody waits for."""


class Pulses:
    """One for each query that is waited for; used by the server's thread alone."""

    def __init__(self) -> None:
        self._waiting: weakref.WeakKeyDictionary[Query, asyncio.Future[None]] = weakref.WeakKeyDictionary()

    async def change(self, query: Query, seen: int, seconds: float) -> None:
        """Wait until the query's answers have another version than that, it has ended, or so long.

        Args:
            query: whose.
            seen: `results.version` before the last look.
            seconds: at most.
        """
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        while query._pipeline.results.version == seen and query._pipeline.running and loop.time() < end:
            await asyncio.shield(self._next(query))

    def _next(self, query: Query) -> asyncio.Future[None]:
        waiting = self._waiting.get(query)
        if waiting is None or waiting.done():
            loop = asyncio.get_running_loop()
            waiting = self._waiting[query] = loop.create_future()
            loop.call_later(LOOK, _done(waiting))
        return waiting


def _done(waiting: asyncio.Future[None]) -> Callable[[], None]:
    return lambda: None if waiting.done() else waiting.set_result(None)
