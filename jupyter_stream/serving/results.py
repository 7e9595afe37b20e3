"""GET /queries/NAME/results: answers as they come, to any number of readers, each at its own pace.

A reader holds one piece of at most `PIECE` bytes and its place in what the query keeps. It is given the next piece once the last
has left. So a slow reader costs no more than a quick one; where the query has forgotten rows before it came to them, it is told.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from tornado.http1connection import HTTP1Connection
from tornado.iostream import StreamClosedError
from tornado.web import HTTPError

from jupyter_stream.serving.encodings import ENCODINGS, Encoding, encoding_for
from jupyter_stream.serving.handler import Guarded
from jupyter_stream.serving.pulse import Pulses

if TYPE_CHECKING:
    import polars as pl

    from jupyter_stream.session.query import Query

PIECE: Final = 2**20
"""Bytes of answers made ready at once, about."""
_ROWS: Final = 8192
ALIVE: Final = 15.0
"""Seconds of silence after which a line is shown to be there."""
READERS: Final = 400
"""Readers at once, and as many pages: a process may have 1,024 files open. Further ones are asked to come again."""


class Readership:
    """Who reads now. One for each server."""

    def __init__(self) -> None:
        self.pulses = Pulses()
        self.count = 0


class ResultsHandler(Guarded):
    """Answers as a streaming response."""

    reading = True

    def initialize(self, readership: Readership, **words: Any) -> None:  # type: ignore[override]  # Tornado's own takes any
        """Called by Tornado with what the server was made of."""
        super().initialize(**words)
        self._readership = readership
        self._gone = asyncio.Event()

    def on_connection_close(self) -> None:
        """The reader has left."""
        self._gone.set()

    async def get(self, name: str) -> None:
        """Final answers (of a relation, its changes) from the first one kept, or from behind `Last-Event-ID`, to the query's end.

        `?from=now` leaves out what is there already, `?follow=false` ends with it.
        """
        query = self.query_named(name)
        encoding = encoding_for(self.request.headers.get("Accept", ""))
        if encoding is None:
            raise HTTPError(406, f"answers come as {', '.join(e.media for e in ENCODINGS)}")
        if self._readership.count >= READERS:
            raise HTTPError(503, f"{READERS} readers are served already")
        at = self._place(query)
        follow = self.get_query_argument("follow", "true").lower() not in ("false", "0", "no")
        self._readership.count += 1
        try:
            await self._stream(query, encoding, at, follow=follow)
        except StreamClosedError:
            pass
        finally:
            self._readership.count -= 1

    def _place(self, query: Query) -> int:
        """The position in the query's answers behind the last one the reader had; the first one kept where it had none."""
        mark, _, number = self.request.headers.get("Last-Event-ID", "").strip().rpartition("-")
        if mark == _mark(query) and number.isdecimal() and len(number) < 19:
            return int(number)
        _, kept_from, end = query._pipeline.results.since(0)
        return end if self.get_query_argument("from", "") == "now" else kept_from

    async def _stream(self, query: Query, encoding: Encoding, at: int, *, follow: bool) -> None:
        results, mark = query._pipeline.results, _mark(query)
        end = results.since(2**62)[2]
        at = min(at, end)
        _, missed, _ = results.since(at)
        if missed:  # said before the first row, so that lines can be counted from where it begins
            at += missed
            self.set_header("Forgotten-Rows", str(missed))
        self.set_header("Content-Type", encoding.media)
        self.set_header("First-Event-ID", f"{mark}-{at + 1}")
        self.write(encoding.begin(query.changes().clear()))
        await self.flush()
        while not self._gone.is_set():
            seen, ended = results.version, query._pipeline.done.is_set()
            frame, missed, _ = results.since(at)
            if missed:
                told = encoding.gap(missed)
                if told is None:
                    return self._break_off()
                self.write(told)
                at += missed
            if frame.height:
                frame = _piece(frame)
                self.write(encoding.rows(frame, mark, at + 1))
                at += frame.height
                del frame  # the query may forget it while a slow reader takes its bytes
                await self.flush()
            elif ended or not follow:
                return self._end(query, encoding, ended=ended)
            else:
                await self._wait(query, encoding, seen)
        return None

    async def _wait(self, query: Query, encoding: Encoding, seen: int) -> None:
        await self._readership.pulses.change(query, seen, ALIVE)
        alive = encoding.alive()
        if query._pipeline.results.version == seen and alive:
            self.write(alive)
            await self.flush()

    def _end(self, query: Query, encoding: Encoding, *, ended: bool) -> None:
        state, error = (query.status, query.snapshot(0).error) if ended else ("running", None)
        told = encoding.end(state, error)
        if told is None:
            return self._break_off()
        self.write(told)
        self.finish()
        return None

    def _break_off(self) -> None:
        """End without an end: the reader's library says that something is missing."""
        self._finished = True
        connection = self.request.connection
        assert isinstance(connection, HTTP1Connection)
        connection.stream.close()


def _mark(query: Query) -> str:
    """What tells one run of a query from another of the same name."""
    return f"{int(query._pipeline.started * 1e6):x}"


def _piece(frame: pl.DataFrame) -> pl.DataFrame:
    """The first rows, so many as make a piece."""
    width = max(1, int(frame.head(64).estimated_size()) // min(64, frame.height))
    return frame.head(max(1, min(_ROWS, PIECE // width)))
