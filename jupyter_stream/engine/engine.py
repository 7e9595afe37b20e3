"""The engine thread: owns every operator and all state. Others put commands on its queue and read what it publishes."""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Protocol, TypeVar, runtime_checkable

import numpy as np
import polars as pl

from jupyter_stream.core.messages import LATE_ID, TS, Batch, Failed, Message, Missed, Punctuation
from jupyter_stream.core.time import MIN_TIME
from jupyter_stream.engine.feed import Feed, Reader
from jupyter_stream.engine.progress import late_rows
from jupyter_stream.engine.refused import ERRORS_SCHEMA, as_errors
from jupyter_stream.engine.sharing import Sharing
from jupyter_stream.engine.side import SideStream
from jupyter_stream.engine.window_sharing import WindowSharing
from jupyter_stream.errors import QueryError
from jupyter_stream.operators.planned import integer_time
from jupyter_stream.plan.catalog import StreamDef
from jupyter_stream.plan.logical import Query, streams
from jupyter_stream.plan.promising import read_of
from jupyter_stream.schedulers import RoundRobin, Scheduler
from jupyter_stream.sources.protocol import REPLAY_ROWS, Journaled, Prunable

log = logging.getLogger(__name__)

T = TypeVar("T")

_MISSED = "$missed"
_CLOCK_LOOK = 0.05
"""Seconds between looks for enabling time stamps while nothing arrives."""
_IDLE_LOOK = 0.02
"""The same while a query has put work off that its budget doesn't pay for yet."""
_MEANWHILE, _LEAST_MEANWHILE = 16_384, 4096
"""Rows taken at a time while a query has more to say, at most and at least: neither waits long for the other."""
_FIRST = 32_768
"""Rows taken when it is not known yet how long they take."""
_PAUSE = 0.02
"""Seconds a batch should take at most. Where rows take long fewer are taken at a time, but no fewer than `_MEANWHILE`."""


class Worker(Protocol):
    """What may rest before it has done everything."""

    @property
    def unfinished(self) -> bool:
        """Whether it has more to do with what it was given."""

    def go_on(self) -> None:
        """Do some of that."""


@runtime_checkable
class Idler(Protocol):
    """A query that puts work off where there isn't time for all."""

    @property
    def waits_for_idle_time(self) -> bool:
        """Whether it has some to do when nothing comes."""

    def take_up(self) -> bool:
        """Do some of it. Returns whether its budget let it."""


class Runner(Reader, Worker, Protocol):
    """A query that reads feeds: a `Pipeline`, or one that hands its rows on to Spark."""

    query: Query
    sides: Mapping[str, SideStream]
    listeners: list[Callable[[pl.DataFrame], None]]
    late_frames: deque[pl.DataFrame]

    @property
    def running(self) -> bool:
        """Whether more answers may come."""

    def reads(self, stream: StreamDef) -> frozenset[str]:
        """The columns it needs of a stream."""

    @property
    def numbered(self) -> bool:
        """Whether rows are to carry their arrival number."""

    def attach(self, feed: Feed) -> None:
        """Take rows of that feed wherever its stream enters."""

    def named_late(self) -> list[tuple[str, pl.DataFrame]]:
        """Late rows of the batch under way, under the names of the derived streams they went through."""


@runtime_checkable
class Keeper(Protocol):
    """A query that can go on after its process was killed."""

    def journal(self, stream: StreamDef) -> Path | None:
        """Where a live source is to note how it is read for this query alone; None to read it as all others do."""


def _furthest_behind(chosen: Feed, ready: list[Feed]) -> Feed:
    """In place of a replay another that a query reads with it and that is less far in time: joins and unions then hold least."""

    def replayed(feed: Feed) -> bool:
        return feed.stream.source.replayable and feed.stream.time.kind == "external"

    if not replayed(chosen):
        return chosen
    readers = [*chosen.readers, *chosen.parts]
    together = [f for f in ready if replayed(f) and any(r in readers for r in (*f.readers, *f.parts))]
    return min(together, key=lambda f: f.low_watermark, default=chosen)


class Engine:
    """Runs pipelines over feeds.

    Args:
        scheduler: which input is served next.
        side: gives the side stream `late` or `errors` of a stream.
    """

    def __init__(self, side: Callable[[str, str], SideStream], scheduler: Scheduler | None = None) -> None:
        self._scheduler = scheduler or RoundRobin()
        self._side = side
        self._commands: deque[Callable[[], None]] = deque()
        self._wake = threading.Condition()
        self._signalled = False
        self._closing = False
        self._over = False
        self._thread: threading.Thread | None = None
        self._feeds: list[Feed] = []
        self._live: dict[str, Feed] = {}
        self._runners: list[Runner] = []
        self._sharing = Sharing()
        self._windows = WindowSharing()
        self._stash: pl.DataFrame | None = None
        self._callbacks: queue.SimpleQueue[tuple[Callable[[pl.DataFrame], None], pl.DataFrame] | None] = (
            queue.SimpleQueue()
        )
        self._caller: threading.Thread | None = None
        self._lock = threading.Lock()

    # -- from other threads ------------------------------------------------------------------------------------------

    def submit(self, command: Callable[[], T]) -> Future[T]:
        """Have the engine's thread do something between two batches."""
        future: Future[T] = Future()

        def run() -> None:
            if self._closing:
                future.set_exception(QueryError("the session is closed", hint="Start another: Session(globals())."))
                return
            try:
                future.set_result(command())
            except BaseException as error:
                future.set_exception(error)

        if self._closing:
            run()
            return future
        self._start()
        with self._wake:
            over = self._over  # the thread has gone meanwhile, and takes no more commands
            if not over:
                self._commands.append(run)
                self._signalled = True
                self._wake.notify()
        if over:
            run()
        return future

    def launch(self, pipelines: Iterable[Runner]) -> None:
        """Start queries together: those on one replayable stream read it once, live streams are shared with all."""
        self.submit(lambda: self._launch(list(pipelines))).result()

    def listen(self, pipeline: Runner, callback: Callable[[pl.DataFrame], None]) -> None:
        """Call back with each frame of answers, in a thread of its own that a slow callback holds up alone."""
        with self._lock:
            if self._caller is None:
                self._caller = threading.Thread(target=self._call_back, name="jupyter-stream callbacks", daemon=True)
                self._caller.start()
        self.submit(lambda: pipeline.listeners.append(lambda frame: self._callbacks.put((callback, frame)))).result()

    def close(self) -> None:
        """Stop all queries and threads, within a second."""
        self._closing = True
        self.signal()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(1.0)
        self._callbacks.put(None)

    @property
    def feeds(self) -> list[Feed]:
        """The sources being read, now."""
        return list(self._feeds)

    @property
    def scheduler(self) -> str:
        """The policy by which inputs are served."""
        return self._scheduler.name

    def signal(self) -> None:
        """There is something to do."""
        with self._wake:
            self._signalled = True
            self._wake.notify()

    def _start(self) -> None:
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._loop, name="jupyter-stream engine", daemon=True)
                self._thread.start()

    def _call_back(self) -> None:
        while (item := self._callbacks.get()) is not None:
            callback, frame = item
            try:
                callback(frame)
            except Exception:
                log.exception("a callback failed")

    # -- the engine's thread -----------------------------------------------------------------------------------------

    def _loop(self) -> None:
        # what arithmetic makes of NaN and infinity is the answer: nothing to warn of
        with np.errstate(invalid="ignore", over="ignore"):
            self._work()

    def _work(self) -> None:
        while not self._closing:
            while self._commands:
                self._commands.popleft()()
            ready = [f for f in self._feeds if f.ready and not any(r.full for r in f.readers)]
            workers: list[Worker] = [*self._runners, *self._sharing.parts]
            unfinished = [w for w in workers if w.unfinished]
            if ready:
                self._serve(_furthest_behind(self._scheduler.choose(ready), ready), unfinished=bool(unfinished))
            for worker in unfinished:  # input comes in between
                if worker.unfinished:
                    worker.go_on()
            if unfinished:
                self._retire()
            if ready or unfinished or self._use_idle_time():
                continue
            clocked = [f for f in self._feeds if f.needs_clock]
            for feed in clocked:
                value = feed.enabling_time()
                if value is not None:
                    self._broadcast(feed, feed.ingest.advance(value))
            with self._wake:
                if not self._signalled:
                    putting_off = any(isinstance(r, Idler) and r.waits_for_idle_time for r in self._runners)
                    self._wake.wait(_IDLE_LOOK if putting_off else _CLOCK_LOOK if clocked else None)
                self._signalled = False
        for feed in self._feeds:
            feed.stop()
            for reader in list(feed.readers):
                reader.finish("stopped")
        for runner in self._runners:
            if runner.running:
                runner.finish("stopped")
        with self._wake:
            self._over = True
        while self._commands:
            self._commands.popleft()()

    def _use_idle_time(self) -> bool:
        """Let queries that have put work off do some of it, each as much as its weight. Returns whether any did."""
        waiting = [r for r in self._runners if isinstance(r, Idler) and r.waits_for_idle_time]
        used = [r.take_up() for r in waiting]  # each of them, whatever the others do
        return any(used)

    def _serve(self, feed: Feed, unfinished: bool) -> None:
        began = time.perf_counter()
        most = feed.most if feed.control.batches_in else _FIRST
        if unfinished:  # which takes its time as well: half of what is taken otherwise
            most = min(_MEANWHILE, max(_LEAST_MEANWHILE, most // 2))
        taken = feed.next(most)
        if taken.refused is not None:
            self._refuse(feed.stream.name, taken.refused.select(ERRORS_SCHEMA.names), feed.readers)
        if taken.rows:
            taken = feed.look_ahead(taken, most)
            self._broadcast(feed, taken.messages)
            if not feed.ingest.revised:  # where every batch is followed by a snapshot, small ones would be slower still
                fit = int(taken.rows * _PAUSE / (time.perf_counter() - began))
                feed.most = min(REPLAY_ROWS, max(_MEANWHILE, fit))
        if taken.last:
            if feed.error is not None:
                for reader in list(feed.readers):
                    reader.finish("failed", feed.error)
            else:
                self._broadcast(feed, feed.ingest.end())
        self._sharing.go_on(self._runners)
        self._windows.go_on()
        self._retire()

    def _broadcast(self, feed: Feed, messages: Iterable[Message]) -> None:
        for message in messages:
            if isinstance(message, Failed):
                self._refuse(feed.stream.name, as_errors(message), feed.readers)
                continue
            if isinstance(message, Batch):
                self._stash = late_rows(message)
            for reader in list(feed.readers):
                reader.accept(feed, message)
            for part in list(feed.parts):
                part.accept(feed, message)
            if isinstance(message, Punctuation):
                feed.reached = feed.control.low_watermark = message.value
        clusters = feed.ingest.clusters
        if clusters is not None:
            feed.control.holds(clusters.bytes)
            feed.control.extra["values_remembered"] = clusters.values

    def _retire(self) -> None:
        """Stop feeds nobody reads any more."""
        for feed in list(self._feeds):
            if not feed.readers or feed.ended:
                feed.stop()
                self._feeds.remove(feed)
                if self._live.get(feed.stream.name) is feed:
                    del self._live[feed.stream.name]
        self._runners = [r for r in self._runners if r.running]
        self._windows.told(self._runners)

    def _read(self, stream: StreamDef, readers: list[Runner], journal: Path | None = None) -> Feed:
        """Begin to read a stream, for these queries."""
        feed = Feed(stream, _columns(stream, readers), _numbered(readers), self.signal, journal)
        for reader in readers:
            reader.attach(feed)
        self._feeds.append(feed)
        feed.start()
        return feed

    def _launch(self, pipelines: list[Runner]) -> None:
        fresh: dict[StreamDef, list[Runner]] = {}
        joined: list[tuple[Runner, Feed]] = []
        for pipeline in pipelines:
            for stream in streams(pipeline.query.plan):
                journal = pipeline.journal(stream) if isinstance(pipeline, Keeper) else None
                if journal is not None and isinstance(stream.source, Journaled):
                    self._read(stream, [pipeline], journal)
                    continue
                live = None if stream.source.replayable else self._live.get(stream.name)
                if live is not None and live.stream is stream and not live.ended:
                    pipeline.attach(live)
                    live.ingest.numbered |= _numbered([pipeline])
                    joined.append((pipeline, live))
                else:
                    fresh.setdefault(stream, []).append(pipeline)
        for stream, readers in fresh.items():
            feed = self._read(stream, readers)
            if not stream.source.replayable:
                self._live[stream.name] = feed
        for pipeline in pipelines:
            self._sharing.begin(pipeline, self._runners)
            self._windows.begin(pipeline, self._runners)
            self._runners.append(pipeline)
        self._windows.told(self._runners)
        for feed in self._feeds:
            feed.told()
        for pipeline, live in joined:
            if live.ingest.frontier.value != MIN_TIME:
                for message in live.ingest.repeat():
                    pipeline.accept(live, message)

    def schedule(self, policy: Scheduler) -> None:
        """Serve inputs by another policy from now on (a command)."""
        self._scheduler = policy

    def end(self, pipeline: Runner) -> None:
        """Stop a query (a command)."""
        feeds = [f for f in self._feeds if pipeline in f.readers]
        pipeline.finish("stopped")
        for feed in feeds:
            feed.told()
        self._retire()

    # -- what didn't go through --------------------------------------------------------------------------------------

    def missed(self, feed: Feed, pipeline: Runner, message: Missed, late: pl.DataFrame | None = None) -> None:
        """Late rows of the batch under way, or those given, missed answers: keep them under the names of their streams."""
        stash = self._stash if late is None else late
        if stash is None:
            return
        ids = pl.DataFrame(
            {
                LATE_ID: message.late_ids,
                _MISSED: pl.Series(message.missed, dtype=pl.Int64)
                if message.missed is not None
                else pl.Series([None] * message.late_ids.size, dtype=pl.Int64),
            }
        )
        named = pipeline.named_late() if message.stream is None else []  # those are of the batch under way
        for name, rows in [(feed.stream.name, _full(feed, message, stash)), *named]:
            found = ids.join(rows, on=LATE_ID, how="inner", maintain_order="left")
            side = pipeline.sides[name]
            punctuation, missed = side.schema.fields[-2:]
            found = found.with_columns(
                pl.col("$broken").cast(punctuation.dtype).alias(punctuation.name), pl.col(_MISSED).alias(missed.name)
            )
            found = found.select(side.schema.names)
            side.add(found)
            if name == feed.stream.name:
                pipeline.late_frames.append(found)

    def failed(self, stream: str, pipeline: Runner, message: Failed) -> None:
        """Rows an expression of that query failed on."""
        self._refuse(stream, as_errors(message, integer_time(pipeline.query.plan)), [pipeline])

    def _refuse(self, stream: str, errors: pl.DataFrame, readers: Iterable[Reader]) -> None:
        self._side("errors", stream).add(errors)
        for reader in readers:
            reader.error_frames.append(errors)


def _full(feed: Feed, message: Missed, stash: pl.DataFrame) -> pl.DataFrame:
    """The late rows with all columns of their stream, fetched again where the reader left some out."""
    if feed.columns is None:
        return stash
    stash = stash.filter(pl.col(LATE_ID).is_in(pl.Series(message.late_ids).implode()))
    source = feed.stream.source
    assert isinstance(source, Prunable)
    rows = source.pick(stash.get_column(LATE_ID).to_numpy() - 1)
    return rows.with_columns(stash.get_column(LATE_ID), stash.get_column("$broken"), stash.get_column(TS))


def _columns(stream: StreamDef, pipelines: list[Runner]) -> tuple[str, ...] | None:
    """The columns the queries need, where the source can leave others out without changing what is refused."""
    if not isinstance(stream.source, Prunable) or not stream.source.prunable:
        return None
    wanted: set[str] = set()
    for pipeline in pipelines:
        wanted |= pipeline.reads(stream)
        if pipeline.query.preference is not None and pipeline.query.budget is not None:
            wanted |= read_of(pipeline.query.preference, stream.name)
    columns = tuple(n for n in stream.schema.names if n in wanted)
    return None if len(columns) == len(stream.schema) or not columns else columns


def _numbered(pipelines: list[Runner]) -> bool:
    return any(p.numbered for p in pipelines)
