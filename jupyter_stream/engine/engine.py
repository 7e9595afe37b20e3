"""The engine thread: owns every operator and all state. Others put commands on its queue and read what it publishes."""

from __future__ import annotations

import queue
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeAlias, TypeVar, runtime_checkable

import numpy as np
import polars as pl

from jupyter_stream.core import logs, threads
from jupyter_stream.core.memory import CALLED_BACK, QUEUED, give_back
from jupyter_stream.core.memory import default as default_memory
from jupyter_stream.core.messages import FAULT, LATE_ID, TS, Batch, Failed, Message, Missed, Punctuation
from jupyter_stream.core.newest_frames import NewestFrames
from jupyter_stream.core.time import MAX_TIME, MIN_TIME
from jupyter_stream.engine import steps, usage
from jupyter_stream.engine.cuts import Cuts, kept_of
from jupyter_stream.engine.demand import wanted
from jupyter_stream.engine.error_rows import ERRORS_SCHEMA, as_errors
from jupyter_stream.engine.failing import Abandoned, SetAside, refuse_forks
from jupyter_stream.engine.faulty import without
from jupyter_stream.engine.feed import Feed, FeedReader, Part, Place
from jupyter_stream.engine.outbox import Outbox, Receiver
from jupyter_stream.engine.pipeline import Pipeline
from jupyter_stream.engine.progress import late_rows
from jupyter_stream.engine.shares import Shares, differ, wanting
from jupyter_stream.engine.sharing import Sharing
from jupyter_stream.engine.side_streams import SideStream
from jupyter_stream.engine.steps import Steps
from jupyter_stream.engine.turn import Turn, between_steps, have_at_hand, late_at_hand
from jupyter_stream.engine.usage import OutOfMemory
from jupyter_stream.engine.window_sharing import WindowSharing
from jupyter_stream.errors import EngineError, QueryError, reason
from jupyter_stream.plan.catalog import ON_DEMAND, Enabling, StreamDef
from jupyter_stream.plan.logical import BoundQuery, streams
from jupyter_stream.plan.promising import read_of
from jupyter_stream.plan.time_of import integer_time
from jupyter_stream.schedulers import FirstCome, Scheduler
from jupyter_stream.sources.protocol import REPLAY_ROWS, Journaled, prunes

log = logs.of(__name__)

T = TypeVar("T")

_MISSED = "$missed"
_SAID = "$said broken"
_CLOCK_LOOK = 1.0
"""Seconds after which the clock is looked at again at the latest while somebody waits for it: it may have been set."""
_IDLE_LOOK = 0.02
"""Seconds between looks while a query has put work off that its budget doesn't pay for yet, or waits for another's share."""
_MEANWHILE, _LEAST_MEANWHILE = 16_384, 4096
"""Rows taken at a time while a query has more to say, at most and at least: neither waits long for the other."""
_FIRST = 32_768
"""Rows taken when it is not known yet how long they take."""
_PAUSE, _SHORT_PAUSE = 0.02, 0.004
"""Seconds a batch should take at most, alone and while a live source is read beside it, whose rows wait as long. Where rows take
long fewer are taken at a time, but no fewer than `_MEANWHILE` and `_LEAST_MEANWHILE`."""


Agenda: TypeAlias = Generator[tuple[Any, Callable[[], None], bool], None, None]
"""Steps to do, each with whose it is, and whether it only is given a message."""


def _nothing() -> Agenda:
    yield from ()


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


class Runner(FeedReader, Worker, Protocol):
    """A query that reads feeds: a `Pipeline`, or one that hands its rows on to Spark."""

    query: BoundQuery
    sides: Mapping[str, SideStream]
    outboxes: list[Receiver]
    late_frames: NewestFrames

    @property
    def running(self) -> bool:
        """Whether more answers may come."""

    def forked(self) -> None:
        """This is a process forked from the one it runs in."""

    def reads(self, stream: StreamDef) -> frozenset[str]:
        """The columns it needs of a stream."""

    @property
    def numbered(self) -> bool:
        """Whether rows are to carry their arrival number."""

    def attach(self, feed: Feed) -> None:
        """Take rows of that feed wherever its stream enters."""

    def resume(self) -> None:
        """Catch up with what was held back."""

    def named_late(self) -> list[tuple[str, pl.DataFrame]]:
        """Late rows of the batch under way, under the names of the derived streams they went through."""


@runtime_checkable
class Resumable(Protocol):
    """A query that can go on after its process was killed."""

    def journal(self, stream: StreamDef) -> Path | None:
        """Where a live source is to note how it is read for this query alone; None to read it as all others do."""


def _least_far(chosen: Feed, ready: list[Feed]) -> Feed:
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
        scheduler: which input is served next, and which operator works next.
        side: gives the side stream `late` or `errors` of a stream.
        memory: bytes that all queries together may take.
    """

    def __init__(
        self,
        side: Callable[[str, str], SideStream],
        scheduler: Scheduler | None = None,
        memory: int | None = None,
    ) -> None:
        self.memory = default_memory() if memory is None else memory
        self._scheduler = scheduler or FirstCome()
        self._side = side
        self._enabling = ON_DEMAND
        self._begin_afresh()
        threads.on_fork(self._forked)

    def _begin_afresh(self) -> None:
        self._commands: deque[Callable[[], None]] = deque()
        self._bell: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._closing = False
        self._over = False
        self._begun = False
        self._threads: list[threading.Thread] = []
        self._has_thread: Turn | None = None  # for which a thread has been begun
        self._thread: threading.Thread | None = (
            None  # which says so itself: another may follow before `begin` comes back
        )
        self._steps = Steps(self.submit, lambda query: self._windows.together(query), self._others_run)
        self._agenda: Agenda = _nothing()
        self._found_work = False
        self._feeds: list[Feed] = []
        self._live: dict[str, Feed] = {}
        self._runners: list[Runner] = []
        self._sharing = Sharing(lambda: self._scheduler)
        self._windows = WindowSharing()
        self._shares = Shares(self._steps.spent)
        self._holding = False  # whether a query waits that has had more than its share
        self._callbacks: queue.SimpleQueue[Outbox | None] = queue.SimpleQueue()
        self._caller: threads.Watched | None = None
        self._given_up: weakref.WeakSet[Runner] = weakref.WeakSet()
        self._glanced = 0.0
        self._lock = threading.Lock()

    # -- from other threads ------------------------------------------------------------------------------------------

    def submit(self, command: Callable[[], T]) -> threads.Answer[T]:
        """Have the engine's thread do something between two batches."""
        answer: threads.Answer[T] = threads.Answer()
        begun: int | None = None

        def run() -> None:
            nonlocal begun
            if begun is not None:  # by a thread whose step is aside, or an exception hit a thread between two lines
                if not self._steps.is_aside(begun) and not answer.done():
                    answer.fail(EngineError("it was interrupted: do it again"))
                return
            begun = threading.get_ident()
            try:
                if self._closing:
                    raise QueryError("the session is closed", hint="Start another: Session(globals()).")
                refuse_forks()
                answer.give(command())
            except SetAside as aside:  # another thread is the engine's
                answer.fail(aside)
                raise
            except BaseException as error:
                answer.fail(error)

        if self._closing or threads.in_a_fork():
            run()
            return answer
        self._start()
        self._commands.append(run)
        self.signal()
        if self._over:  # the thread has gone meanwhile, and takes no more commands
            self._refuse_commands()
        return answer

    def launch(self, pipelines: Iterable[Runner]) -> None:
        """Start queries together: those on one replayable stream read it once, live streams are shared with all."""
        self.submit(lambda: self._launch(list(pipelines))).result()
        if len(self._runners) > 1:  # one alone keeps nobody waiting
            threads.glance_soon()

    def listen(self, pipeline: Runner, callback: Callable[[pl.DataFrame], None]) -> None:
        """Call back with each frame of answers, in a thread of its own that a slow callback holds up alone."""
        with self._lock:
            if self._caller is None:
                self._begin_calling()
        outbox = Outbox(callback, self.memory // CALLED_BACK, self._callbacks.put, self.signal)
        self.submit(lambda: pipeline.outboxes.append(outbox)).result()

    def tell(self, runners: Iterable[Runner], work: Callable[[Runner], None], *, waits: bool = True) -> None:
        """Have queries do something, each as a step of its own, and wait for that unless it is one of them that tells others."""

        def one(runner: Runner) -> None:
            self._steps.do(runner, lambda: work(runner), here=True)

        for answer in [self.submit(partial(one, runner)) for runner in runners]:
            if not waits:
                continue
            with suppress(SetAside):
                answer.result()

    def seconds(self, runner: Runner) -> float:
        """For how long a query's step has been under way; 0 between steps."""
        turn = self._steps.under_way(runner)
        return 0.0 if turn is None else turn.seconds

    def thread_of(self, runner: Runner) -> int | None:
        """The identifier of the thread in which a query's step is under way."""
        turn = self._steps.under_way(runner)
        return None if turn is None else turn.thread

    def close(self) -> None:
        """Stop all queries and threads, within a second."""
        self._closing = True
        self.signal()
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(1.0)
        self._steps.abandon()  # those that take long
        self._callbacks.put(None)
        threads.dismiss(self.look, self.glance)

    @property
    def feeds(self) -> list[Feed]:
        """The sources being read, now."""
        return list(self._feeds)

    @property
    def runners(self) -> list[Runner]:
        """The queries that run, now."""
        return list(self._runners)

    @property
    def scheduler(self) -> str:
        """The policy by which inputs are served and operators work."""
        return self._scheduler.title

    def scheduler_of(self, pipeline: Pipeline) -> str:
        """The policy by which a query's operators work."""
        return (pipeline.scheduler or self._scheduler).title

    def give_back(self, runners: Iterable[Any]) -> None:
        """Give the memory of queries that were dropped, or let go of what they held, back to the machine, soon."""
        held = sum(getattr(r, "bytes", 0) + sum(c.peak_bytes for c in getattr(r, "controls", ())) for r in runners)
        self.submit(lambda: threads.begin("jupyter-stream memory", partial(give_back, held), lambda error: None))

    def signal(self) -> None:
        """There is something to do."""
        if self._bell.empty():
            self._bell.put(None)

    def _start(self) -> None:
        with self._lock:
            if not self._begun:
                self._begun = True
                self._begin_thread()
                threads.attend(self.look, self.glance)
        threads.supervise()

    def _begin_thread(self) -> None:
        turn = self._steps.turn
        begun = threads.begin("jupyter-stream engine", partial(self._loop, turn), partial(self._ended, turn, [True]))
        self._has_thread = turn
        self._threads = [*(t for t in self._threads if t.is_alive()), begun.thread]

    def _begin_calling(self) -> None:
        self._caller = threads.begin("jupyter-stream callbacks", self._call_back, lambda error: self._begin_calling())

    def _call_back(self) -> None:
        while (outbox := self._callbacks.get()) is not None:
            try:
                outbox.call()
            except BaseException:
                log.exception("a callback failed")

    # -- the supervisor's thread -------------------------------------------------------------------------------------

    def look(self) -> None:
        """See to cuts that are due, and to threads for steps aside; end a query that takes the memory of all."""
        if any(cuts.look() for cuts in kept_of(self._runners)):
            self.signal()
        self._steps.attend()
        self._look_at_memory()
        for runner in self._runners:
            if isinstance(runner, Pipeline) and runner.relaxed is not None:
                self.submit(runner.relaxed.rest)
        known = [t for t in (self._thread, *self._threads) if t is not None]
        lost = self._has_thread is not self._steps.turn  # a step was set aside, and there was no thread to be had
        over = not any(t.is_alive() for t in known)  # and what follows its end failed as well
        if known and not self._closing and (lost or over):
            self._begin_thread()

    def glance(self) -> bool:
        """Set a step aside that takes long while others wait. Returns whether there may soon be another."""
        owner = self._steps.turn.owner
        others = self._others_run(steps.queries(owner))
        waited_for = owner is not None and (self._commands or others) and not self._closing
        if waited_for and self._steps.set_aside():
            self._begin_thread()
        before, self._glanced = self._glanced, self._steps.turn.since
        return len(self._runners) > 1 and (owner is not None or before != self._glanced)

    def _others_run(self, queries: Sequence[Any]) -> bool:
        return any(r.running and r not in queries for r in self._runners)

    def _look_at_memory(self) -> None:
        """Where all together hold more than they may, the one that holds most has to go."""
        runners = [r for r in self._runners if r.running]
        if not runners:
            return
        found = usage.of(runners, self._feeds)
        for runner in runners:
            if isinstance(runner, Pipeline) and runner.easing is not None:
                runner.easing.memory(found.total / self.memory)
        if found.total <= self.memory:
            return
        self._give_up(found.largest, found.reason(self.memory))

    def _give_up(self, runner: Runner, why: str) -> None:
        """Fail a query, now: a step of it that is under way goes aside and is left."""

        def fail() -> None:
            if runner.running:
                steps.fail(runner, OutOfMemory(why))

        if runner not in self._given_up:
            self._given_up.add(runner)
            log.warning("query %s: %s", runner.name, why)
            self.submit(fail)

    def _ended(self, turn: Turn, first: list[bool], error: BaseException | None) -> None:
        """The engine's thread has ended in the middle of its work: the query it worked for fails, and another begins."""
        owner, turn.owner = turn.owner, None
        if turn.aside:
            self.submit(lambda: self._steps.over(turn))
        elif not self._closing:
            if owner is not None:
                steps.fail(owner, error or EngineError("the engine's thread ended"))
            turn.clear()
            if first:  # this may be called again, if an interrupt hits it: then `look` sees to it
                first.clear()
                self._begin_thread()

    def _forked(self) -> None:
        """This process was forked from one where queries run, and go on: here are none."""
        runners = self._runners
        self._begin_afresh()
        for runner in runners:
            runner.forked()

    # -- the engine's thread -----------------------------------------------------------------------------------------

    def _loop(self, turn: Turn) -> None:
        turn.take()
        self._thread = threading.current_thread()
        try:
            # what arithmetic makes of NaN and infinity is the answer: nothing to warn of
            with np.errstate(invalid="ignore", over="ignore"):
                while not self._closing:
                    try:
                        self._work()
                    except (SetAside, Abandoned):
                        raise
                    except BaseException as error:  # each query's work is guarded: this is none of them
                        log.exception("the engine goes on")
                        with suppress(BaseException):
                            self._agenda.throw(error)  # whoever was to be given something has not been given it
                        if turn.aside:
                            raise SetAside from error
        except (SetAside, Abandoned):
            if turn.aside:
                self.submit(lambda: self._steps.over(turn))
                return
        self._end_all()

    def _work(self) -> None:
        while not self._closing:
            owner = work = None
            for owner, work, takes in self._agenda:
                self._steps.do(owner, work, takes)
            owner = work = None  # while it waits it holds on to no query that has ended
            self._agenda = _nothing()
            self._obey()
            if not self._found_work:
                putting_off = bool(self._idlers()) or self._holding
                with suppress(queue.Empty):
                    self._bell.get(timeout=_IDLE_LOOK if putting_off else self._until_look())
                self._obey()
            self._agenda = self._round()

    def _idlers(self) -> list[Idler]:
        # of each round: whether they fit the protocol takes ten times as long
        return [r for r in self._runners if getattr(r, "waits_for_idle_time", False) and isinstance(r, Idler)]

    def _obey(self) -> None:
        while self._commands:
            self._commands[0]()
            self._commands.popleft()

    def _end_all(self) -> None:
        for feed in self._feeds:
            feed.stop()
            for reader in list(feed.readers):
                steps.end(reader, "stopped")
        for runner in self._runners:
            if runner.running:
                steps.end(runner, "stopped")
        self._over = True
        self._refuse_commands()

    def _refuse_commands(self) -> None:
        with suppress(IndexError):  # two threads may come to it
            while self._commands:
                self._commands.popleft()()

    def _round(self) -> Agenda:
        """What there is to do now, step by step."""
        self._found_work = True
        for runner in list(self._runners):
            cuts = runner.cuts if isinstance(runner, Pipeline) else None
            if cuts is not None and cuts.look():
                yield from self._given(runner, cuts.go_on)
                self._retire()
        ready = [f for f in self._feeds if f.ready and not _waits(f) and not self._all_busy(f)]
        workers: list[Worker] = [*self._runners, *self._sharing.parts]
        unfinished = [w for w in workers if w.unfinished]
        held = self._ahead(ready, unfinished)
        if held:
            ready = [f for f in ready if not held.issuperset(f.readers)]
            unfinished = [w for w in unfinished if not held.issuperset(steps.queries(w))]
        if ready:
            feed = _least_far(self._scheduler.choose(ready), ready)
            yield from self._kept(feed, self._serve(feed, unfinished=bool(unfinished)))
            yield from self._enable()
        for worker in unfinished:  # input comes in between
            if worker.unfinished:
                yield from self._given(worker, worker.go_on)
        if unfinished:
            self._retire()
        if ready:
            return
        self._share()  # some that work apart may have caught up
        if unfinished:
            return
        used: list[bool] = []
        for idler in self._idlers():  # each of them, whatever the others do, as much as its weight
            yield from self._given(idler, partial(_take_up, idler, used))
        if any(used):
            return
        self._found_work = False
        yield from self._enable()

    def _ahead(self, ready: Sequence[Feed], unfinished: Sequence[Worker]) -> set[object]:
        """Queries that have had more than their share, beside others that have something to do."""
        held: set[object] = set()
        if differ(self._runners):
            owners = [*self._runners, *self._sharing.parts]
            held = self._shares.ahead(owners, wanting(ready, unfinished, self._steps.aside))
        self._holding = bool(held)
        return held

    def _all_busy(self, feed: Feed) -> bool:
        return bool(feed.readers) and all(self._steps.busy(r) for r in feed.readers)

    def _kept(self, feed: Feed, work: Agenda) -> Agenda:
        """What a feed gives to do; where taking its rows fails, its readers fail."""
        try:
            yield from work
        except (GeneratorExit, SetAside, Abandoned):
            raise
        except BaseException as error:
            log.exception("taking rows of %s failed", feed.stream.name)
            for reader in list(feed.readers):
                steps.end(reader, "failed", reason(error))
            self._retire()
            raise

    def _given(self, owner: Any, work: Callable[[], None]) -> Agenda:
        try:
            yield owner, work, False
        except (GeneratorExit, SetAside, Abandoned):
            raise
        except BaseException as error:
            steps.fail(owner, error)
            raise

    def _enable(self) -> Agenda:
        """Enabling time stamps for those who idle-wait: nothing has come of their sources, or nothing yet."""
        for feed in [f for f in self._feeds if f.needs_clock]:
            yield from self._kept(feed, self._stamped(feed))

    def _stamped(self, feed: Feed) -> Agenda:
        together = [f for f in self._feeds if f is feed or any(r in feed.readers for r in f.readers)]
        value = feed.stamp(wanted(feed), sum(f.control.batches_in for f in together))
        if value is not None:
            yield from self._broadcast(feed, feed.ingest.advance(value))
            self._found_work = True  # whoever comes next on its way may wait now

    def _until_look(self) -> float | None:
        """Seconds until a source may have an enabling time stamp to make; None if something has to come first."""
        look = min((f.stamper.look for f in self._feeds if f.needs_clock), default=MAX_TIME)
        return None if look == MAX_TIME else min(_CLOCK_LOOK, max(0.0, look / 1e6 - time.time()))

    def _serve(self, feed: Feed, unfinished: bool) -> Agenda:
        began = time.perf_counter()
        most = feed.most if feed.control.batches_in else _FIRST
        if unfinished:  # which takes its time as well: half of what is taken otherwise
            most = min(_MEANWHILE, max(_LEAST_MEANWHILE, most // 2))
        taken = feed.next(most)
        if taken.refused is not None:
            self._refuse(feed.stream.name, taken.refused.select(ERRORS_SCHEMA.names), feed.readers)
        if taken.rows:
            taken = feed.look_ahead(taken, most)
            yield from self._broadcast(feed, taken.messages)
            if not feed.ingest.revised:  # where every batch is followed by a snapshot, small ones would be slower still
                beside = any(f is not feed and not f.stream.source.replayable for f in self._feeds)
                pause, least = (_SHORT_PAUSE, _LEAST_MEANWHILE) if beside else (_PAUSE, _MEANWHILE)
                fit = int(taken.rows * pause / (time.perf_counter() - began))
                feed.most = min(REPLAY_ROWS, max(least, fit))
        if taken.last:
            if feed.error is not None:
                for reader in list(feed.readers):
                    steps.end(reader, "failed", feed.error)
            else:
                yield from self._broadcast(feed, feed.ingest.end())
        self._share()
        self._retire()

    def _share(self) -> None:
        self._sharing.go_on(self._runners)
        self._windows.go_on()

    def _broadcast(self, feed: Feed, messages: Iterable[Message]) -> Agenda:
        stash = None  # late rows of the last batch, which what follows it speaks of
        for message in messages:
            if isinstance(message, Failed):
                self._refuse(feed.stream.name, as_errors(message), feed.readers)
                continue
            if isinstance(message, Batch):
                stash = late_rows(message)
            if isinstance(message, Batch) and FAULT in message.frame.columns:
                yield from self._faulty(feed, message)
                continue
            for reader in [*feed.readers]:
                yield reader, partial(self._give, reader, feed, message, stash), True
            for part in [*feed.parts]:
                yield part, partial(self._give, part, feed, message, stash), True
            if isinstance(message, Punctuation):
                feed.reached = feed.control.low_watermark = message.value
        clusters = feed.ingest.clusters
        if clusters is not None:
            feed.control.holds(clusters.bytes)
            feed.control.extra["values_remembered"] = clusters.values

    def _faulty(self, feed: Feed, message: Batch) -> Agenda:
        """Rows of which some can't be used by some readers."""
        bad_for_any: dict[int, int] = {}
        for taker in [*feed.readers, *feed.parts]:
            queries: list[FeedReader] = [*getattr(taker, "queries", ())] or [
                r for r in feed.readers if r is taker
            ]  # those of a part that is shared
            bad = feed.faulty.bad_for(message.frame, queries)
            for row, number in bad.items():
                bad_for_any[row] = min(number, bad_for_any.get(row, number))
            frame, said = without(message.frame, bad)
            if said is not None:
                for query in queries:
                    self._note_errors(feed.stream.name, said, query)
            if frame.height:
                batch = Batch(frame.drop(FAULT))
                yield taker, partial(self._give, taker, feed, batch, late_rows(batch)), True
        _, errors = without(message.frame, dict(sorted(bad_for_any.items())))
        if errors is not None:  # each record once, whoever asked
            feed.rejected += errors.height
            self._side("errors", feed.stream.name).add(errors)

    def _give(self, taker: FeedReader | Part, feed: Feed, message: Message, stash: pl.DataFrame | None) -> None:
        if isinstance(message, Batch | Missed):  # each: another thread may have become the engine's in between
            have_at_hand(stash)
        taker.accept(feed, message)

    def _retire(self) -> None:
        """Stop feeds nobody reads any more."""
        for feed in list(self._feeds):
            if not feed.readers or feed.ended:
                feed.stop()
                self._feeds.remove(feed)
                if self._live.get(feed.stream.name) is feed:
                    del self._live[feed.stream.name]
        self._runners = [r for r in self._runners if r.running]
        self._windows.note_running(self._runners)

    def _read(self, stream: StreamDef, readers: list[Runner], journal: Path | None = None) -> Feed:
        """Begin to read a stream, for these queries."""
        feed = self._feed(stream, readers, journal)
        self._feeds.append(feed)
        feed.start()
        return feed

    def _feed(
        self, stream: StreamDef, readers: list[Runner], journal: Path | None = None, place: Place | None = None
    ) -> Feed:
        """A feed for these queries, not begun."""
        most = self.memory // QUEUED
        feed = Feed(
            stream, _columns(stream, readers), _numbered(readers), self.signal, journal, most, place, self._enabling
        )
        for reader in readers:
            reader.attach(feed)
        return feed

    def _launch_kept(self, pipeline: Pipeline, cuts: Cuts) -> None:
        """Start a query with a checkpoint: it reads alone, where its last cut was taken."""
        feeds = [self._feed(stream, [pipeline], place=Place()) for stream in streams(pipeline.query.plan)]
        self._runners.append(pipeline)
        if not cuts.begin(pipeline, self.signal):
            pipeline.finish("finished")
            return
        self._feeds += feeds
        for feed in feeds:
            feed.start()
            feed.note_readers()

    def _launch(self, pipelines: list[Runner]) -> None:
        fresh: dict[StreamDef, list[Runner]] = {}
        joined: list[tuple[Runner, Feed]] = []
        for pipeline in pipelines:
            if isinstance(pipeline, Pipeline):
                pipeline.schedule(pipeline.scheduler or self._scheduler)
            if isinstance(pipeline, Pipeline) and pipeline.cuts is not None:
                self._launch_kept(pipeline, pipeline.cuts)
        pipelines = [p for p in pipelines if not isinstance(p, Pipeline) or p.cuts is None]
        for pipeline in pipelines:
            for stream in streams(pipeline.query.plan):
                journal = None  # of a `Pipeline` there is none, and asking the protocol takes 25 µs
                if not isinstance(pipeline, Pipeline) and isinstance(pipeline, Resumable):
                    journal = pipeline.journal(stream)
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
        self._windows.note_running(self._runners)
        for feed in self._feeds:
            feed.note_readers()
        for pipeline, live in joined:
            if live.ingest.frontier.value != MIN_TIME:
                for message in live.ingest.repeat():
                    pipeline.accept(live, message)

    def schedule(self, policy: Scheduler) -> None:
        """Go by another policy from now on, but for queries with one of their own (a command)."""
        self._scheduler = policy
        for part in self._sharing.parts:
            self._steps.do(part, partial(part.schedule, policy), here=True)
        for runner in list(self._runners):
            if isinstance(runner, Pipeline) and runner.scheduler is None:
                runner.when_free(partial(runner.schedule, policy))

    def schedule_query(self, pipeline: Pipeline, policy: Scheduler | None) -> None:
        """Have a query's own operators work by another policy from now on; None is the session's again (a command)."""
        pipeline.scheduler = policy
        pipeline.when_free(lambda: pipeline.schedule(policy or self._scheduler))

    @property
    def enabling(self) -> Enabling:
        """When enabling time stamps are made for streams that don't say."""
        return self._enabling

    def enable(self, enabling: Enabling) -> None:
        """Make enabling time stamps like that from now on, for streams that don't say (a command)."""
        self._enabling = enabling
        for feed in self._feeds:
            feed.enable(enabling)

    def end(self, pipeline: Runner) -> None:
        """Stop a query (a command)."""
        if isinstance(pipeline, Pipeline) and pipeline.cuts is not None and pipeline.running and not self._closing:
            pipeline.cuts.end("stopped")
            return
        feeds = [f for f in self._feeds if pipeline in f.readers]
        steps.end(pipeline, "stopped")
        self._steps.leave()
        for feed in feeds:
            feed.note_readers()
        self._retire()

    def deactivate(self, pipeline: Pipeline, done: threads.Answer[None]) -> None:
        """Have a query let go of what it holds, and read no more, once no step of it is aside; then answer (a command)."""

        def let_go() -> None:
            feeds = [f for f in self._feeds if pipeline in f.readers]
            pipeline.deactivate()
            between_steps(lambda: self._left(pipeline, feeds))
            done.give(None)

        self._steps.do(pipeline, let_go, here=True)

    def _left(self, pipeline: Pipeline, feeds: list[Feed]) -> None:
        for feed in feeds:
            feed.note_readers()
        self._retire()
        self.give_back([pipeline])

    def activate(self, pipeline: Pipeline) -> None:
        """Start a query anew that let go of what it held (a command)."""
        if pipeline.inactive and pipeline.ended is None:
            pipeline.activate()
            self._launch([pipeline])

    def resume(self, runner: Runner) -> None:
        """Let a query catch up with what was held back (a command)."""

        def catch_up() -> None:
            runner.resume()
            if runner.unfinished:
                runner.go_on()

        self._steps.do(runner, catch_up)

    # -- what didn't go through --------------------------------------------------------------------------------------

    def missed(self, feed: Feed, pipeline: Runner, message: Missed, late: pl.DataFrame | None = None) -> None:
        """Late rows of the batch under way, or those given, missed answers: keep them under the names of their streams."""
        stash = late_at_hand() if late is None else late
        if stash is not None:
            between_steps(lambda: self._keep_missed(feed, pipeline, message, stash))

    def _keep_missed(self, feed: Feed, pipeline: Runner, message: Missed, stash: pl.DataFrame) -> None:
        ids = pl.DataFrame(
            {
                LATE_ID: message.late_ids,
                _MISSED: pl.Series(message.missed, dtype=pl.Int64)
                if message.missed is not None
                else pl.Series([None] * message.late_ids.size, dtype=pl.Int64),
            }
        )
        broken = np.full(message.late_ids.size, MIN_TIME) if message.broken is None else message.broken
        ids = ids.with_columns(pl.Series(_SAID, broken).replace(MIN_TIME, None))
        named = pipeline.named_late() if message.stream is None else []  # those are of the batch under way
        for name, rows in [(feed.stream.name, _full(feed, message, stash)), *named]:
            found = ids.join(rows, on=LATE_ID, how="inner", maintain_order="left")
            side = pipeline.sides[name]
            punctuation, missed = side.schema.fields[-2:]
            found = found.with_columns(
                pl.coalesce("$broken", _SAID).cast(punctuation.dtype).alias(punctuation.name),
                pl.col(_MISSED).alias(missed.name),
            )
            found = found.select(side.schema.names)
            side.add(found)
            if isinstance(pipeline, Pipeline) and pipeline.cuts is not None:
                pipeline.cuts.sides.note("late", name, found)
            if name == feed.stream.name:
                pipeline.late_frames.add(found)

    def failed(self, stream: str, pipeline: Runner, message: Failed) -> None:
        """Rows an expression of that query failed on."""
        errors = as_errors(message, integer_time(pipeline.query.plan))
        between_steps(lambda: self._refuse(stream, errors, [pipeline]))

    def _refuse(self, stream: str, errors: pl.DataFrame, readers: Iterable[FeedReader]) -> None:
        self._side("errors", stream).add(errors)
        for reader in readers:
            self._note_errors(stream, errors, reader)

    @staticmethod
    def _note_errors(stream: str, errors: pl.DataFrame, reader: FeedReader) -> None:
        reader.error_frames.add(errors)
        if isinstance(reader, Pipeline) and reader.cuts is not None:
            reader.cuts.sides.note("errors", stream, errors)


def _waits(feed: Feed) -> bool:
    """Whether a source waits since a reader has no room, or isn't done with what it has: a live one that others read goes on
    while there is room, and doesn't wait for one that may miss.
    """
    behind = [r for r in feed.readers if getattr(r, "catching_up", False)]
    if behind and (feed.stream.source.replayable or len(behind) == len(feed.readers)):
        return True
    if feed.stream.source.replayable and any(getattr(r, "sated", False) for r in feed.readers):
        return True
    full = [r for r in feed.readers if r.full]
    alone = feed.stream.source.replayable or len(full) == len(feed.readers)
    return bool(full) and (alone or not all(getattr(r, "may_miss", False) for r in full))


def _take_up(idler: Idler, used: list[bool]) -> None:
    used.append(idler.take_up())


def _full(feed: Feed, message: Missed, stash: pl.DataFrame) -> pl.DataFrame:
    """The late rows with all columns of their stream, fetched again where the reader left some out."""
    if feed.columns is None:
        return stash
    stash = stash.filter(pl.col(LATE_ID).is_in(pl.Series(message.late_ids).implode()))
    source = feed.stream.source
    assert prunes(source)
    rows = source.pick(stash.get_column(LATE_ID).to_numpy() - 1)
    return rows.with_columns(stash.get_column(LATE_ID), stash.get_column("$broken"), stash.get_column(TS))


def _columns(stream: StreamDef, pipelines: list[Runner]) -> tuple[str, ...] | None:
    """The columns the queries need, where the source can leave others out without changing what is refused."""
    if stream.steps or not prunes(stream.source):
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
