"""Keeps a stream as it arrives: its rows, their order, and what was promised before each. A reader without a plan of its own.

All methods but the properties are called by the engine's thread alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import polars as pl

from jupyter_stream.core import threads
from jupyter_stream.core.memory import ASIDE
from jupyter_stream.core.messages import TS, Int64s, Message, Punctuation, ints
from jupyter_stream.core.newest_frames import NewestFrames
from jupyter_stream.core.snapshot import State
from jupyter_stream.core.time import MAX_TIME, MIN_TIME
from jupyter_stream.engine.failing import FORKED
from jupyter_stream.engine.feed import Feed
from jupyter_stream.engine.outbox import Receiver
from jupyter_stream.engine.progress import FAR, Ingest
from jupyter_stream.engine.side_streams import SideStream
from jupyter_stream.errors import UnsupportedError
from jupyter_stream.plan.catalog import PunctuationColumn, StreamDef
from jupyter_stream.plan.logical import BoundQuery
from jupyter_stream.sources.recording import now
from jupyter_stream.sources.recording_file import ARRIVED, PROMISED, RecordingWriter


class Recorder:
    """One recording under way.

    Args:
        name: what it goes by.
        query: all columns of the stream.
        stream: the stream.
        writer: takes the rows.

    Raises:
        UnsupportedError: the stream's promises are for single keys, which a recording doesn't hold.
    """

    def __init__(self, name: str, query: BoundQuery, stream: StreamDef, writer: Callable[[], RecordingWriter]) -> None:
        progress = stream.time.progress
        if isinstance(progress, PunctuationColumn) and progress.key is not None:
            raise UnsupportedError(
                f"{stream.name} has punctuations for each {progress.key}, which recordings don't hold",
                hint="Record a stream declared without punctuation_key.",
            )
        self.name = name
        self.query = query
        self.stream = stream
        self.sides: Mapping[str, SideStream] = {}
        self.outboxes: list[Receiver] = []
        self.late_frames = NewestFrames(1, ASIDE)
        self.error_frames = NewestFrames(1, ASIDE)
        self.paused = False
        self.unfinished = False
        self.state: State = "waiting"
        self.error: str | None = None
        self.ended = threads.Event()
        self._feed: Feed | None = None
        self._said = progress.column if isinstance(progress, PunctuationColumn) else None
        self.writer = writer()

    # -- what a reader is --------------------------------------------------------------------------------------------

    @property
    def running(self) -> bool:
        """Whether more rows may come."""
        return not self.ended.is_set()

    @property
    def full(self) -> bool:
        """Whether too many rows wait to be written."""
        return self.writer.full

    def reads(self, stream: StreamDef) -> frozenset[str]:
        """All columns."""
        return frozenset(stream.schema.names)

    @property
    def numbered(self) -> bool:
        """Whether rows are to carry their arrival number: the tape counts them."""
        return False

    def attach(self, feed: Feed) -> None:
        """Keep what that feed reads."""
        self._feed = feed
        feed.readers.append(self)
        feed.tapes.append(self)

    def accept(self, feed: Feed, message: Message) -> None:
        """The end is all that messages tell it."""
        if isinstance(message, Punctuation) and message.value == MAX_TIME:
            self.finish("finished")

    def resume(self) -> None:
        """It is never paused."""

    def go_on(self) -> None:
        """There is never more to do."""

    def named_late(self) -> list[tuple[str, pl.DataFrame]]:
        """Nothing goes through derived streams."""
        return []

    def finish(self, state: State, error: str | None = None) -> None:
        """Keep no more; the file is whole a moment later."""
        if not self.running:
            return
        if self._feed is not None and self in self._feed.readers:
            self._feed.readers.remove(self)
        if self._feed is not None and self in self._feed.tapes:
            self._feed.tapes.remove(self)
        if not self.writer.rows and self._feed is not None:  # a recording all the same
            nothing = self.stream.schema.empty()
            if self.stream.time.kind != "external":
                nothing = nothing.with_columns(pl.lit(0, pl.Int64).alias(TS))
            self.writer.put(self._with_progress(nothing, np.empty(0, np.int64)))
        self.state, self.error = state, error
        self.ended.set()
        self.writer.close()

    def forked(self) -> None:
        """This is a process forked from the one it runs in: here it has ended."""
        self.error = FORKED
        self.ended = threads.Event()
        self.ended.set()

    # -- what is kept ------------------------------------------------------------------------------------------------

    def took(self, ingest: Ingest, frame: pl.DataFrame) -> None:
        """Rows that have arrived. Those without a time are no rows of the stream: they go to `errors(name)` and aren't kept."""
        self.state = "running"
        stamped = TS in frame.columns
        if not stamped:
            column = self.stream.time.column
            assert column is not None
            frame = frame.with_columns(frame.get_column(column).cast(pl.Int64).alias(TS))
        times = frame.get_column(TS)
        data = times.is_between(-FAR, FAR).fill_null(False)
        promised = None
        if self._said is not None:
            said = frame.get_column(self._said)
            values = ints(said.to_physical().cast(pl.Int64).fill_null(MIN_TIME))
            data &= said.is_null()
            promised = np.maximum(np.maximum.accumulate(values), ingest.frontier.value)[data.to_numpy()]
        kept = frame.filter(data)
        if not kept.height:
            return
        if promised is None:
            promised = ingest.frontier.promised(ints(kept.get_column(TS)))
        self.writer.put(self._with_progress(kept if stamped else kept.drop(TS), promised))

    def _with_progress(self, frame: pl.DataFrame, promised: Int64s) -> pl.DataFrame:
        column = pl.Series(PROMISED, promised)
        return frame.with_columns(pl.lit(now(), pl.Int64).alias(ARRIVED), column.set(column == MIN_TIME, None))
