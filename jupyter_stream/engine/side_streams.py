"""`late(name)` and `errors(name)`: what missed an answer and what could not be used. Kept, counted, and streams themselves.

Not part of any query: several queries add to one, and it outlives them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping

import polars as pl

from jupyter_stream.core.memory import ASIDE
from jupyter_stream.core.newest_frames import NewestFrames
from jupyter_stream.core.schema import Schema
from jupyter_stream.sources.protocol import Chunk, Request

KEEP = 100_000
"""Rows a side stream keeps: the newest."""
_LOOK = 0.1


class SideStream:
    """A bounded log that readers can follow; it is a live source.

    Args:
        schema: its columns.
        fed: tells whether any query may still add to it; a reader ends when none can.
    """

    replayable = False
    units: Mapping[str, str] = {}

    def __init__(self, schema: Schema, fed: Callable[[], bool]) -> None:
        self.schema = schema
        self._fed = fed
        self._kept = NewestFrames(KEEP, ASIDE)
        self._rows = 0
        self._lock = threading.RLock()  # taken itself: entering a condition, an interrupt could leave it held
        self._changed = threading.Condition(self._lock)

    @property
    def count(self) -> int:
        """Rows ever added."""
        return self._rows

    def add(self, frame: pl.DataFrame) -> None:
        """Append rows."""
        if not frame.height:
            return
        frame = frame.select(pl.col(f.name).cast(f.dtype) for f in self.schema)
        with self._lock:
            self._kept.add(frame)
            self._rows += frame.height
            self._changed.notify_all()

    def frame(self) -> pl.DataFrame:
        """The newest rows kept, oldest first."""
        frames = self._kept.frames()
        return pl.concat(frames) if frames else self.schema.empty()

    def read(self, request: Request) -> Iterator[Chunk]:
        """What is kept, then what is added, until nothing can be added any more."""
        seen = 0
        while not request.stop.is_set():
            with self._lock:
                open_ended = self._fed()
                if self._rows == seen and open_ended:
                    self._changed.wait(_LOOK)
                news = self._kept.newest(self._rows - seen)
                seen = self._rows
            for frame in news:
                columns = request.columns or self.schema.names
                yield Chunk(frame.select(columns))
            if not news and not open_ended:
                return
