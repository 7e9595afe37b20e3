"""`late(name)` and `errors(name)` of all that a session has declared: made when they are first named. Not for what is in them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping

import polars as pl

from jupyter_stream.core import threads
from jupyter_stream.core.schema import Field, Schema
from jupyter_stream.core.time import MAX_TIME
from jupyter_stream.engine.error_rows import ERRORS_SCHEMA
from jupyter_stream.engine.side_streams import SideStream
from jupyter_stream.plan.catalog import DerivedStream, Entry, StreamDef
from jupyter_stream.plan.logical import BoundQuery
from jupyter_stream.session.names import names_in
from jupyter_stream.session.query import Query, Running


class SideStreams:
    """Those of one session.

    Args:
        find: what was declared under a name.
        queries: the session's, by name.
    """

    def __init__(self, find: Callable[[str], Entry | None], queries: Mapping[str, Query]) -> None:
        self._find = find
        self._queries = queries
        self._made: dict[tuple[str, str], SideStream] = {}
        self._lock = threading.RLock()  # the engine's thread takes it while a statement in the session waits for it
        threads.on_fork(self._forked)

    def of(self, kind: str, stream: str) -> SideStream:
        """`late(stream)` or `errors(stream)`: the log itself."""
        key = (kind, stream.lower())
        with self._lock:
            side = self._made.get(key)
            if side is None:
                side = self._made[key] = SideStream(self._schema(kind, stream), lambda: self._feeds(stream))
            return side

    def forget(self, stream: str) -> None:
        """That of a stream declared again is another one."""
        for kind in ("late", "errors"):
            self._made.pop((kind, stream.lower()), None)

    def clear(self) -> None:
        """Forget all."""
        self._made.clear()

    def _schema(self, kind: str, stream: str) -> Schema:
        if kind == "errors":
            return ERRORS_SCHEMA
        entry = self._find(stream)
        if entry is None:  # a table of WITH RECURSIVE, none of whose rows is late
            return Schema((Field("punctuation", pl.Datetime("us")), Field("missed", pl.Int64())))
        column = entry.time.column if isinstance(entry, StreamDef) else None
        if isinstance(entry, DerivedStream) and isinstance(entry.query, BoundQuery):
            column = entry.query.time_column
        time = None if column is None else entry.schema.find(column)
        dtype = time.dtype if time is not None and time.dtype.is_integer() else pl.Datetime("us")
        of = entry.schema
        return Schema((*of, Field(of.free("punctuation"), dtype), Field(of.free("missed"), pl.Int64())))

    def _feeds(self, stream: str) -> bool:
        """Whether a running query may still add to the stream's side streams."""
        for query in list(self._queries.values()):
            pipeline = query._pipeline
            names = {n.lower() for n in names_in(pipeline.query)}
            if pipeline.running and stream.lower() in names and not _waits_for_side_streams(pipeline):
                return True
            if any(w.order.name.lower() == stream.lower() and not w.done.is_set() for w in query.writers):
                return True
        return False

    def _forked(self) -> None:
        """This is a process forked from the session's: whoever held the lock isn't here."""
        self._lock = threading.RLock()


def _waits_for_side_streams(pipeline: Running) -> bool:
    """Whether side streams are all that a query still waits for, as where it merges `late(s)` back into `s`: it adds no more."""
    feeds = list(pipeline.feeds)
    sides = [f for f in feeds if isinstance(f.stream.source, SideStream)]
    return bool(sides) and not pipeline.paused and all(f.reached == MAX_TIME for f in feeds if f not in sides)


__all__ = ["SideStreams"]
