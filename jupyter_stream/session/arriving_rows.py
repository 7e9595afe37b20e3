"""The rows of a query as they come: for a loop, for an `async for`, for `await`. Each reader has a place of its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from jupyter_stream.errors import QueryError

if TYPE_CHECKING:
    from jupyter_stream.session.query import Query

_LOOK: Final = 0.05
"""Seconds between looks at a query that has nothing new."""


class ArrivingRows:
    """Final answers, or a relation's changes, from the first one kept to the end of the query.

    Args:
        query: whose.
    """

    def __init__(self, query: Query) -> None:
        self._query = query
        self._at = 0

    def rows(self) -> Iterator[dict[str, Any]]:
        """Each row as a dict; waits for the next one, and ends with the query.

        Raises:
            QueryError: the query failed, or has forgotten rows that weren't read yet.
        """
        while (frame := self._next()) is not None:
            if frame.height:
                yield from frame.iter_rows(named=True)
            else:
                self._query.wait(_LOOK)

    async def rows_in_turn(self) -> AsyncIterator[dict[str, Any]]:
        """The same without holding up the event loop."""
        while (frame := self._next()) is not None:
            for row in frame.iter_rows(named=True):
                yield row
            if not frame.height:
                await asyncio.sleep(_LOOK)

    def _next(self) -> pl.DataFrame | None:
        """What came since the last look; None when nothing more will."""
        pipeline = self._query._pipeline
        ended = pipeline.done.is_set()
        frame, missed, self._at = pipeline.results.since(self._at)
        if missed:
            raise QueryError(
                f"{missed:,} rows of {self._query.name} were dropped from memory before they were read",
                hint=f"Keep more: %%stream {self._query.name} --keep 10000000, or read faster.",
            )
        if frame.height or not ended:
            return frame
        self._query.wait(0)  # raises where it failed
        return None


async def ended(query: Query) -> Query:
    """The query, once its sources have ended. Raises `QueryError` where it failed."""
    while not query.wait(0):
        await asyncio.sleep(_LOOK)
    return query
