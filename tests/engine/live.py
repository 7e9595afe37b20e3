"""Live streams whose rows come when they are told to, for tests of what is held meanwhile."""

from __future__ import annotations

import queue
from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from jupyter_stream import Query, Session
from tests.waiting import settle, until


def go_side_by_side(query: Query, rows: int) -> None:
    """Resume a query when so many rows wait, all of its streams: none is ahead since its thread was the first."""
    until(lambda: sum(queue.get("queued_rows", 0) for queue in query.stats["queues"]) >= rows, lambda: query.status)
    query.resume()


class Live:
    """Sources `python://name`, and a session that reads them.

    Args:
        schemas: of each source, the columns.
    """

    def __init__(self, schemas: Mapping[str, Mapping[str, Any]]) -> None:
        self._schemas = schemas
        self._sent: dict[str, queue.Queue[pl.DataFrame | None]] = {name: queue.Queue() for name in schemas}
        self.session = Session({name: self._rows(name) for name in schemas})

    def _rows(self, name: str) -> Iterator[pl.DataFrame]:
        while (frame := self._sent[name].get()) is not None:
            yield frame

    def say(self, query: Query, name: str, *rows: tuple[object, ...]) -> None:
        """Rows come, and have been taken when this returns."""
        feed = next(f for f in self.session.engine.feeds if f.stream.name.lower() == name.lower())
        before = feed.control.rows_in
        self._sent[name].put(pl.DataFrame(rows, self._schemas[name], orient="row"))
        until(lambda: feed.control.rows_in >= before + len(rows), lambda: query.status, step=0.001)
        settle(self.session.engine)

    def end(self, query: Query) -> None:
        """All streams end, and the query with them."""
        for each in self._sent.values():
            each.put(None)
        assert query.wait(200)

    def __enter__(self) -> Live:
        return self

    def __exit__(self, *error: object) -> None:
        for each in self._sent.values():
            each.put(None)
        self.session.close()
