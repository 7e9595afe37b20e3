"""A source being read: its thread, and the bounded queue between that thread and the engine's. Back-pressure, never loss."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Protocol, runtime_checkable

import polars as pl

from jupyter_stream.core.control import ControlTable
from jupyter_stream.core.messages import TS, Batch, Message
from jupyter_stream.core.snapshot import State
from jupyter_stream.core.time import MIN_TIME
from jupyter_stream.engine.progress import Ingest
from jupyter_stream.errors import StreamError
from jupyter_stream.plan.catalog import StreamDef
from jupyter_stream.sources.pacing import pace, parse_rate
from jupyter_stream.sources.protocol import BATCH_ROWS, REPLAY_ROWS, Informs, Request
from jupyter_stream.state.beside import begun

log = logging.getLogger(__name__)

_QUEUED_ROWS = 8 * BATCH_ROWS
_WORTH: Final = 8_192
"""Rows waiting from which on it is worth handing them to a second thread."""


class Reader(Protocol):
    """What takes rows from a feed: a running query."""

    name: str
    paused: bool
    error_frames: deque[pl.DataFrame]
    """What it could not use, as rows of `errors(name)`."""

    @property
    def full(self) -> bool:
        """Whether it can take no more for now."""

    def accept(self, feed: Feed, message: Message) -> None:
        """A message of the stream."""

    def finish(self, state: State, error: str | None = None) -> None:
        """There will be no more."""


class Part(Protocol):
    """Operators that readers share."""

    def accept(self, feed: Feed, message: Message) -> None:
        """A message of the stream."""


class Tape(Protocol):
    """What keeps a stream as it arrives."""

    def took(self, ingest: Ingest, frame: pl.DataFrame) -> None:
        """Rows that have arrived, before the stream's punctuation heeds them."""


@runtime_checkable
class Foreseeing(Protocol):
    """A reader that can work out something of rows before it is given them."""

    def foresee(self, feed: Feed, batch: Batch) -> None:
        """Rows that come next, or never. Called by another thread than the engine's."""


@dataclass(frozen=True)
class Taken:
    """What has arrived.

    Attributes:
        rows: how many rows.
        messages: what they come to.
        refused: records that are no rows, if there are any.
        last: whether that is all there will be.
    """

    rows: int
    messages: Iterable[Message]
    refused: pl.DataFrame | None
    last: bool


class Feed:
    """One reading of one source.

    Args:
        stream: the declaration.
        columns: the columns its readers need, None for all.
        numbered: whether a reader needs arrival numbers.
        wake: called when there is something to take.
        journal: where a live source notes how it was read, to be read again so after the process has ended.
    """

    def __init__(
        self,
        stream: StreamDef,
        columns: tuple[str, ...] | None,
        numbered: bool,
        wake: Callable[[], None],
        journal: Path | None = None,
    ) -> None:
        self.stream = stream
        self.columns = columns
        self.ingest = Ingest(stream, numbered)
        self.readers: list[Reader] = []
        self.parts: list[Part] = []
        """What readers share takes rows after them."""
        self.tapes: list[Tape] = []
        self.control = ControlTable(f"scan {stream.name}")
        self.queue = ControlTable(f"queue of {stream.name}")
        self.queue.settings["most_rows"] = _QUEUED_ROWS
        self.rejected = 0
        self.started = time.time()
        self.error: str | None = None
        self.ended = False
        self._wake = wake
        self._journal = journal
        self._request = Request(columns)
        self._queue: deque[pl.DataFrame] = deque()
        self._refused: deque[pl.DataFrame] = deque()
        self._queued = 0
        self._exhausted = False
        self.ahead: Future[Taken] | None = None
        """What comes next, where it has been taken already."""
        self.reached = MIN_TIME
        """The punctuation that its readers know."""
        self.most = REPLAY_ROWS
        """Rows to take at once."""
        self._changed = threading.Condition()
        self._stamp = 0
        self._stamped = stream.time.kind != "external"
        self._last_arrival = time.monotonic()
        self._thread = threading.Thread(target=self._read, name=f"jupyter-stream source {stream.name}", daemon=True)

    def start(self) -> None:
        """Begin reading."""
        self._thread.start()

    @property
    def _most_queued(self) -> int:
        """Rows that may wait before the source is held up."""
        return int(self.queue.settings["most_rows"])

    def hold(self, rows: int) -> None:
        """From how many waiting rows on the source is held up."""
        with self._changed:
            self.queue.settings["most_rows"] = rows
            self._changed.notify_all()

    def waiting(self, most: int) -> pl.DataFrame:
        """The first rows of its queue, at most so many."""
        frames: list[pl.DataFrame] = []
        with self._changed:
            for frame in self._queue:
                if sum(f.height for f in frames) >= most:
                    break
                frames.append(frame.head(most))
        columns = self.columns or self.stream.schema.names
        return pl.concat(frames).select(columns).head(most) if frames else self.stream.schema.empty().select(columns)

    def stop(self) -> None:
        """Lose interest; the thread ends soon."""
        self._request.stop.set()
        with self._changed:
            self._changed.notify_all()

    def told(self) -> None:
        """Write down which queries read it."""
        self.control.shared_by([r.name for r in self.readers])

    @property
    def stopped(self) -> bool:
        """Whether it was told to stop."""
        return self._request.stop.is_set()

    @property
    def low_watermark(self) -> int:
        """Its punctuation, so far as its readers have been given the rows it is after."""
        return self.reached

    @property
    def paused(self) -> bool:
        """Whether none of its readers takes input now."""
        return bool(self.readers) and all(r.paused for r in self.readers)

    # -- the source's thread -----------------------------------------------------------------------------------------

    def _read(self) -> None:
        stream, stop = self.stream, self._request.stop
        try:
            source: Any = stream.source  # a Source; the catalog knows a part
            chunks = (
                source.read(self._request) if self._journal is None else source.read_again(self._request, self._journal)
            )
            rate = parse_rate(stream.options["rate"]) if "rate" in stream.options else None
            for chunk in pace(chunks, rate, stream.time.column, stop):
                if chunk.rejected is not None and chunk.rejected.height:
                    with self._changed:
                        self._refused.append(chunk.rejected)
                self._put(chunk.frame)
                if stop.is_set():
                    break
        except StreamError as error:
            self.error = str(error)
        except Exception as error:
            log.exception("source %s failed", self.stream.name)
            self.error = f"{type(error).__name__}: {error}"
        with self._changed:
            self._exhausted = True
        self._wake()

    def _put(self, frame: pl.DataFrame) -> None:
        with self._changed:
            while self._queued >= self._most_queued and not self._request.stop.is_set():
                self._changed.wait()
            if frame.height:
                if self._stamped:
                    frame = frame.with_columns(pl.lit(self._now(), dtype=pl.Int64).alias(TS))
                self._queue.append(frame)
                self._queued += frame.height
                self.queue.took(frame.height)
                self.queue.holds(self.queue.bytes + int(frame.estimated_size()))
                self._last_arrival = time.monotonic()
            self.queue.extra["queued_rows"] = self._queued
        self._wake()

    def _now(self) -> int:
        """The system clock in microseconds; never goes back."""
        self._stamp = max(self._stamp, time.time_ns() // 1000)
        return self._stamp

    # -- the engine's thread -----------------------------------------------------------------------------------------

    @property
    def ready(self) -> bool:
        """Whether `take` has something to give."""
        waiting = self.ahead is not None or bool(self._queue) or bool(self._refused) or self._exhausted
        return not self.paused and not self.ended and waiting

    def next(self, most: int) -> Taken:
        """What has arrived, as messages: those made ahead, or of at most so many rows."""
        ahead, self.ahead = self.ahead, None
        taken = self._taken(most) if ahead is None else ahead.result()
        self.ended = taken.last
        return taken

    def look_ahead(self, now: Taken, most: int) -> Taken:
        """Have a second thread judge the rows that come next, at most so many, while those of `now` go through operators.

        Only where nothing can come in between that makes a difference: nobody joins the one reader of a replay, and it asks
        neither for snapshots nor for rows as they arrive.
        """
        if self.ended or self._queued < _WORTH or len(self.readers) != 1 or self._stamped:
            return now
        ingest, reader = self.ingest, self.readers[0]
        asked = self.parts or self.tapes or ingest.intervals or ingest.revised or ingest.clusters is not None
        if asked or not self.stream.source.replayable or reader.paused:
            return now
        now = replace(now, messages=list(now.messages))  # those before are judged before
        made = self._taken(most)

        def judge() -> Taken:
            messages = list(made.messages)
            if isinstance(reader, Foreseeing):
                for message in messages:
                    if isinstance(message, Batch):
                        reader.foresee(self, message)
            return replace(made, messages=messages)

        self.ahead = begun(judge)
        return now

    def _taken(self, most: int) -> Taken:
        frame, refused, last = self.take(most)
        if frame is None:
            return Taken(0, (), refused, last)
        for tape in list(self.tapes):
            tape.took(self.ingest, frame)
        return Taken(frame.height, self.ingest.take(frame), refused, last)

    def take(self, most: int) -> tuple[pl.DataFrame | None, pl.DataFrame | None, bool]:
        """What has arrived: rows (a trickle's frames joined up to a batch), refused records, whether that was all.

        Args:
            most: rows, at most.
        """
        with self._changed:
            frames: list[pl.DataFrame] = []
            rows = 0
            while self._queue and (not frames or rows + self._queue[0].height <= min(BATCH_ROWS, most)):
                frame = self._queue.popleft()
                if frame.height > most:
                    self._queue.appendleft(frame[most:])
                    frame = frame[:most]
                frames.append(frame)
                rows += frame.height
            self._queued -= rows
            refused = list(self._refused)
            self._refused.clear()
            last = self._exhausted and not self._queue
            self.queue.rows_out += rows
            self.queue.bytes = max(0, self.queue.bytes - sum(int(f.estimated_size()) for f in frames))
            self.queue.extra["queued_rows"] = self._queued
            self._changed.notify_all()
        self.control.rows_in += rows
        self.control.batches_in += bool(frames)
        joined = None
        if frames:
            joined = frames[0] if len(frames) == 1 else pl.concat(frames)
        bad = pl.concat(refused) if refused else None
        if bad is not None:
            self.rejected += bad.height
        return joined, bad, last

    def enabling_time(self) -> int | None:
        """For an idle stream that goes by a clock: a time no later row will be before. On demand [stream-mill §4]."""
        if self.ended or self.paused or self._exhausted:
            return None
        timeout = self.stream.time.idle_timeout
        if self._stamped:
            with self._changed:
                return None if self._queue else self._now()
        if timeout is None or self.stream.source.replayable:
            return None
        with self._changed:
            if isinstance(self.stream.source, Informs) and not self._request.caught_up.is_set():
                self._last_arrival = time.monotonic()  # however long it takes to read what is there, that is no silence
            if self._queue or time.monotonic() - self._last_arrival < timeout / 1e6:
                return None
        return time.time_ns() // 1000 - self._skew()

    def _skew(self) -> int:
        progress = self.stream.time.progress
        return getattr(progress, "delay", 0)

    @property
    def needs_clock(self) -> bool:
        """Whether the engine should look for enabling time stamps."""
        return not self.ended and (
            self._stamped or (self.stream.time.idle_timeout is not None and not self.stream.source.replayable)
        )
