"""A source being read: its thread, and the bounded queue between that thread and the engine's. Back-pressure, never loss."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

import polars as pl

from jupyter_stream.arrays.two_threads import Begun, begun
from jupyter_stream.core import logs, threads
from jupyter_stream.core.control import ControlTable
from jupyter_stream.core.messages import FAULT, TS, Batch, Message
from jupyter_stream.core.newest_frames import NO_LIMIT, NewestFrames
from jupyter_stream.core.snapshot import State
from jupyter_stream.core.time import MAX_TIME, MIN_TIME
from jupyter_stream.engine.faulty import Faulty
from jupyter_stream.engine.preparation import Preparation
from jupyter_stream.engine.progress import Ingest
from jupyter_stream.engine.stamper import LOOK, Stamper, Wanted
from jupyter_stream.errors import StreamError
from jupyter_stream.plan.catalog import ON_DEMAND, Enabling, StreamDef
from jupyter_stream.sources.counted import Given, counted, without_given
from jupyter_stream.sources.pacing import pace, parse_rate
from jupyter_stream.sources.protocol import BATCH_ROWS, REPLAY_ROWS, Chunk, Informs, Request, Resumes

if TYPE_CHECKING:
    from jupyter_stream.sources.late_fields import LateFields

log = logs.of(__name__)

_QUEUED_ROWS = 8 * BATCH_ROWS
_WORTH: Final = 8_192
"""Rows waiting from which on it is worth handing them to a second thread."""


class FeedReader(Protocol):
    """What takes rows from a feed: a running query."""

    name: str
    paused: bool
    error_frames: NewestFrames
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


def foreseeing(reader: FeedReader) -> Callable[[Feed, Batch], None] | None:
    """How a reader works out something of rows before it is given them, in another thread; None if it doesn't."""
    return getattr(reader, "foresee", None)  # asked for each batch: a protocol takes ten times as long


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


@dataclass(frozen=True, slots=True)
class Waiting:
    """What waits to be taken.

    Attributes:
        frame: rows.
        refused: records that were no rows, which go with them; only where the place counts.
        place: where the source goes on behind them.
        begun: whether the first rows of it were taken.
        share: how much of the source has been read with it; None where that isn't known.
        since: when it came, seconds of a clock that never goes back.
    """

    frame: pl.DataFrame
    refused: pl.DataFrame | None = None
    place: object = None
    begun: bool = False
    share: float | None = None
    since: float = field(default_factory=time.monotonic, compare=False)


@dataclass(frozen=True, slots=True)
class Place:
    """How far the rows of a source have been taken.

    Attributes:
        source: where the source goes on; None at its beginning.
        rest: rows before that place which have not been taken.
    """

    source: object = None
    rest: pl.DataFrame | None = None


class Feed:
    """One reading of one source.

    Args:
        stream: the declaration.
        columns: the columns its readers need, None for all.
        numbered: whether a reader needs arrival numbers.
        wake: called when there is something to take.
        journal: where a live source notes how it was read, to be read again so after the process has ended.
        most: bytes that may wait before the source is held up.
        place: where it goes on, for a query with a checkpoint; None where nobody asks for places.
        enabling: when enabling time stamps are made, where its stream doesn't say.
    """

    def __init__(
        self,
        stream: StreamDef,
        columns: tuple[str, ...] | None,
        numbered: bool,
        wake: Callable[[], None],
        journal: Path | None = None,
        most: int = NO_LIMIT,
        place: Place | None = None,
        enabling: Enabling = ON_DEMAND,
    ) -> None:
        self.most_bytes = most
        self._place = place
        self.stream = stream
        self.columns = columns
        self.ingest = Ingest(stream, numbered)
        self.readers: list[FeedReader] = []
        self.parts: list[Part] = []
        """What readers share takes rows after them."""
        self.tapes: list[Tape] = []
        self.control = ControlTable(f"scan {stream.name}")
        self.queue = ControlTable(f"queue of {stream.name}")
        self.queue.settings["most_rows"] = _QUEUED_ROWS
        self.rejected = self._queued = self._stamp = 0
        self.started = time.time()
        self.error: str | None = None
        self.ended = self._exhausted = False
        self._wake = wake
        self._journal = journal
        self._request = Request(None if stream.steps else columns, by_part=True)
        self.faulty = Faulty(stream.name)
        """Judges rows with parts that can't be read."""
        self._queue: deque[Waiting] = deque()
        self._refused: deque[pl.DataFrame] = deque()
        self.ahead: Begun[Taken] | None = None
        """What comes next, where it has been taken already."""
        self.reached = MIN_TIME
        """The punctuation that its readers know."""
        self.most = REPLAY_ROWS
        """Rows to take at once."""
        self._lock = threading.Lock()  # taken itself: entering a condition, an interrupt could leave it held
        self._changed = threading.Condition(self._lock)
        self._share: float | None = None
        self._stamped, self._latent = stream.time.kind != "external", stream.time.kind == "latent"
        self.stamper = Stamper(ON_DEMAND, time.time_ns() // 1000)
        """When enabling time stamps are made."""
        self.enable(enabling)
        self._last_arrival = time.monotonic()
        self.arriving_since: float | None = None
        """When the first record came, seconds of a clock that never goes back; None before."""

    def enable(self, enabling: Enabling) -> None:
        """When enabling time stamps are to be made, where its stream doesn't say. A latent stream keeps nobody waiting."""
        self.stamper.mode = ON_DEMAND if self._latent else self.stream.time.enabling or enabling

    def go_on_at(self, place: Place) -> None:
        """Begin there, where a former process left off. Called before `start`."""
        self._place = place
        if self._stamped:
            self._stamp = max(self._stamp, self.ingest.frontier.value)

    def start(self) -> None:
        """Begin reading."""
        if self._place is not None and self._place.rest is not None:
            self._put(Waiting(self._place.rest, None, self._place.source, begun=True))
        threads.begin(f"jupyter-stream source {self.stream.name}", self._read, self._died)

    def _died(self, error: BaseException | None) -> None:
        """The source's thread ended in the middle of its work: that is the end of the stream, and its queries fail."""
        if not self._exhausted and not self.stopped:
            told = f"the thread that reads {self.stream.name} ended: {error!r}; start the query again"
            self.error = self.error or told
            self._exhausted = True
        self._wake()

    @property
    def _most_queued(self) -> int:
        """Rows that may wait before the source is held up."""
        return int(self.queue.settings["most_rows"])

    @property
    def _no_room(self) -> bool:
        return self._queued >= self._most_queued or (self._queued > 0 and self.queue.bytes >= self.most_bytes)

    @property
    def waited(self) -> float:
        """Seconds that the first row in its queue has waited."""
        with self._lock:
            return time.monotonic() - self._queue[0].since if self._queue else 0.0

    def hold(self, rows: int) -> None:
        """From how many waiting rows on the source is held up."""
        with self._lock:
            self.queue.settings["most_rows"] = rows
            self._changed.notify_all()

    def waiting(self, most: int) -> pl.DataFrame:
        """The first rows of its queue, at most so many."""
        frames: list[pl.DataFrame] = []
        with self._lock:
            for waiting in self._queue:
                if sum(f.height for f in frames) >= most:
                    break
                frames.append(waiting.frame.head(most))
        columns = self.columns or self.stream.schema.names
        return (
            pl.concat(frames, how="diagonal").select(columns).head(most)
            if frames
            else self.stream.schema.empty().select(columns)
        )

    def stop(self) -> None:
        """Lose interest; the thread ends soon."""
        self._request.stop.set()
        with self._lock:
            self._changed.notify_all()

    def note_readers(self) -> None:
        """Write down which queries read it."""
        self.control.shared_by([r.name for r in self.readers])

    @property
    def stopped(self) -> bool:
        """Whether it was told to stop."""
        return self._request.stop.is_set()

    @property
    def trouble(self) -> str | None:
        """What keeps the source from reading just now; None while all is well, and once it has ended."""
        return None if self.ended or self._exhausted else self._request.trouble.text

    @property
    def remarks(self) -> Sequence[str]:
        """What the source has found in its rows that people should know, also when it has ended."""
        return self._request.remarks.texts

    @property
    def late_fields(self) -> LateFields | None:
        """Fields of its records that came after the columns had been found."""
        return self._request.remarks.late_fields

    @property
    def share(self) -> float | None:
        """How much of its source has been taken, from 0 to 1; None where the source doesn't know its end."""
        return 1.0 if self.ended else self._request.share.taken(self._share)

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
        stop = self._request.stop
        try:
            for chunk in self._chunks():
                if self.arriving_since is None and (chunk.frame.height or chunk.rejected is not None):
                    self.arriving_since = time.monotonic()
                if self._place is None and chunk.rejected is not None and chunk.rejected.height:
                    with self._lock:
                        self._refused.append(chunk.rejected)
                refused = None if self._place is None else chunk.rejected
                self._put(Waiting(chunk.frame, refused, chunk.place, share=self._request.share.value))
                if stop.is_set():
                    break
        except StreamError as error:
            self.error = str(error)
        except BaseException as error:  # a panic, or what a user's code raises: the queries that read it are told
            log.exception("source %s failed", self.stream.name)
            self.error = f"{type(error).__name__}: {error}".rstrip(": ")
        self._exhausted = True  # what is read is there before this is said
        self._wake()

    def _chunks(self) -> Iterator[Chunk]:
        """What the source reads, with the places behind it where somebody asks."""
        stream, request, place = self.stream, self._request, self._place
        source: Any = stream.source  # a Source; the catalog knows a part
        made = Preparation(stream)
        rate = parse_rate(stream.options["rate"]) if "rate" in stream.options else None
        if place is not None and rate is None and isinstance(source, Resumes):
            return made.of(source.read_on(request, place.source))
        chunks = made.of(source.read(request) if self._journal is None else source.read_again(request, self._journal))
        if place is None or not source.replayable:
            return pace(chunks, rate, stream.time.column, request.stop)
        given = place.source or Given()
        assert isinstance(given, Given)
        return counted(pace(without_given(chunks, given), rate, stream.time.column, request.stop), given)

    def _put(self, waiting: Waiting) -> None:
        frame = waiting.frame
        with self._lock:
            while self._no_room and not self._request.stop.is_set():
                self._changed.wait()
            if frame.height or waiting.place is not None or waiting.refused is not None:
                if self._stamped and not self._latent and TS not in frame.columns:
                    frame = frame.with_columns(pl.lit(self._now(), dtype=pl.Int64).alias(TS))
                    waiting = replace(waiting, frame=frame)
                self._queue.append(waiting)
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
        if self._place is not None and reader.full:  # a cut is due, and what is ahead would be in the way
            return now
        if asked or not self.stream.source.replayable or reader.paused:
            return now
        now = replace(now, messages=list(now.messages))  # those before are judged before
        made = self._taken(most)
        foresee = foreseeing(reader)

        def judge() -> Taken:
            messages = list(made.messages)
            if foresee is not None:
                for message in messages:
                    if isinstance(message, Batch):
                        foresee(self, message)
            return replace(made, messages=messages)

        self.ahead = begun(judge)
        return now

    def _taken(self, most: int) -> Taken:
        frame, refused, last = self.take(most)
        if frame is None:
            return Taken(0, (), refused, last)
        if FAULT in frame.columns:
            frame, more = self.faulty.split(frame, [*self.readers, *self._sharers], by_all=bool(self.tapes))
            if more is not None:
                self.rejected += more.height
                refused = more if refused is None else pl.concat([refused.select(more.columns), more])
        for tape in list(self.tapes):
            tape.took(self.ingest, frame)
        return Taken(frame.height, self.ingest.take(frame), refused, last)

    @property
    def _sharers(self) -> list[object]:
        """The queries that read it by way of a part they share."""
        return [query for part in self.parts for query in getattr(part, "queries", ())]

    def take(self, most: int) -> tuple[pl.DataFrame | None, pl.DataFrame | None, bool]:
        """What has arrived: rows (a trickle's frames joined up to a batch), refused records, whether that was all.

        Args:
            most: rows, at most.
        """
        with self._lock:
            frames: list[pl.DataFrame] = []
            rows = 0
            refused = list(self._refused)
            self._refused.clear()
            while self._queue and (not frames or rows + self._queue[0].frame.height <= min(BATCH_ROWS, most)):
                waiting = self._queue.popleft()
                frame, self._share = waiting.frame, waiting.share
                if waiting.refused is not None:
                    refused.append(waiting.refused)
                if self._place is not None:
                    self._place = Place(waiting.place)
                if frame.height > most:
                    self._queue.appendleft(replace(waiting, frame=frame[most:], refused=None, begun=True))
                    frame = frame[:most]
                if frame.height:
                    frames.append(frame)
                    rows += frame.height
            self._queued -= rows
            last = self._exhausted and not self._queue
            self.queue.rows_out += rows
            self.queue.bytes = max(0, self.queue.bytes - sum(int(f.estimated_size()) for f in frames))
            self.queue.extra["queued_rows"] = self._queued
            self._changed.notify_all()
        self.control.rows_in += rows
        self.control.batches_in += bool(frames)
        joined = None
        if frames:
            joined = frames[0] if len(frames) == 1 else pl.concat(frames, how="diagonal")
            if self._latent and TS not in joined.columns:  # now an operator needs a time
                joined = joined.with_columns(pl.lit(self._now(), dtype=pl.Int64).alias(TS))
        bad = pl.concat(refused) if refused else None
        if bad is not None:
            self.rejected += bad.height
        return joined, bad, last

    @property
    def place(self) -> Place:
        """How far its rows have been taken: those that were made ahead count as taken."""
        assert self._place is not None, "asked of the feeds of queries with a checkpoint"
        with self._lock:
            first = self._queue[0] if self._queue else None
            return replace(self._place, rest=first.frame if first is not None and first.begun else None)

    def enabling_time(self) -> int | None:
        """What the clock says of the stream now: a time no later row will be before; None where it says nothing [stream-mill §4].

        Rows of internal time that wait have their stamps, and those of latent time get theirs later. The clock speaks for an
        external live stream that has been silent for its `idle_timeout`, less by the declared skew.
        """
        if self.ended or self.paused or self._exhausted:
            return None
        timeout = self.stream.time.idle_timeout
        if self._stamped:
            with self._lock:
                return None if self._queue and not self._latent else self._now()
        if timeout is None or self.stream.source.replayable:
            return None
        with self._lock:
            if isinstance(self.stream.source, Informs) and not self._request.caught_up.is_set():
                self._last_arrival = time.monotonic()  # however long it takes to read what is there, that is no silence
            if self._queue or time.monotonic() - self._last_arrival < timeout / 1e6:
                return None
        return time.time_ns() // 1000 - self._skew()

    def stamp(self, wanted: Wanted, work: int) -> int | None:
        """An enabling time stamp if one is due, for those who wait; `work` counts what operators have been given."""
        now = time.time_ns() // 1000
        promise = self.enabling_time()
        if promise is None:
            self.stamper.look = MAX_TIME if self._stamped else now + LOOK
            return None
        if not self.stamper.due(now, promise, wanted, work):
            return None
        self.control.extra["enabling_time_stamps"] = self.stamper.made
        return promise

    def _skew(self) -> int:
        progress = self.stream.time.progress
        return getattr(progress, "delay", 0)

    @property
    def clocked(self) -> bool:
        """Whether the clock may speak for its stream."""
        return self._stamped or (self.stream.time.idle_timeout is not None and not self.stream.source.replayable)

    @property
    def needs_clock(self) -> bool:
        """Whether the engine should look for enabling time stamps."""
        return self.clocked and not self.ended and self.stamper.mode.every is not None
