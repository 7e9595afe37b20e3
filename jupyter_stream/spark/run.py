"""One query on Spark: fed by the feeds of the engine, answering into the same results, as a pipeline of the kernel does.

Threads: the engine's hands over rows (`accept`) and ends the query (`finish`); one of its own starts Spark's query and
watches it; Spark calls back with each micro-batch in another.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import polars as pl

from jupyter_stream.core import logs, threads
from jupyter_stream.core.control import ControlTable
from jupyter_stream.core.counting import counted
from jupyter_stream.core.memory import ASIDE
from jupyter_stream.core.messages import (
    LATE_ID,
    TS,
    Batch,
    Failed,
    KeyPunctuation,
    Message,
    Missed,
    Punctuation,
    Tick,
    ints,
)
from jupyter_stream.core.newest_frames import NO_LIMIT, NewestFrames
from jupyter_stream.core.share import least_share
from jupyter_stream.core.snapshot import Phase, State
from jupyter_stream.core.table import TableRows
from jupyter_stream.core.time import MAX_TIME, MIN_TIME
from jupyter_stream.errors import reason
from jupyter_stream.flow.evaluate import Evaluator
from jupyter_stream.graph.graph import build
from jupyter_stream.plan.catalog import StreamDef
from jupyter_stream.plan.keyed import key_promised, key_retention
from jupyter_stream.plan.logical import BoundQuery, Lookup, Plan, Scan, TableRelation, streams, walk
from jupyter_stream.plan.needs import needed_columns, reads_row_numbers
from jupyter_stream.plan.relations import makers
from jupyter_stream.spark import preflight
from jupyter_stream.spark.answers import Answers, BatchWriter, ChangeTarget, said
from jupyter_stream.spark.blocks import Ended, RefusedElsewhere, WrittenElsewhere
from jupyter_stream.spark.finish import Finish
from jupyter_stream.spark.health import Health
from jupyter_stream.spark.inlet import Files, Inlet
from jupyter_stream.spark.inside import Network
from jupyter_stream.spark.job import SparkJob
from jupyter_stream.spark.judge import Way, paths
from jupyter_stream.spark.late import LateReport, SparkLateRows
from jupyter_stream.spark.phases import Phases
from jupyter_stream.spark.reasons import reason_of
from jupyter_stream.spark.record import Record, folder_for
from jupyter_stream.spark.rewrite import normal
from jupyter_stream.spark.settings import Settings
from jupyter_stream.spark.spread import Into, SpreadWriting
from jupyter_stream.spark.stopping import ending_with_the_process
from jupyter_stream.spark.stream_ends import end_notice, without_rows_after_end
from jupyter_stream.spark.tables import TableHistory

log = logs.of(__name__)

_AHEAD_ROWS: Final = 8_000_000
"""Rows that may wait for Spark, on disk, before the source does; few large micro-batches cost less than many small ones."""
_TICK: Final = 1.0
"""Seconds between rows for the watermark alone, where a stream goes by the clock."""


class SparkRun:
    """A running or ended query on Spark.

    Args:
        name: the query's name.
        query: what it computes; `preflight.refuse` has let it pass.
        results: where answers go.
        sides: `late(name)` of each stream it reads.
        on_missed: told of late rows that missed an answer.
        on_failed: told of rows an expression failed on, with the stream's name.
        submit: has the engine's thread do something.
        namespace: the notebook's variables, for `spark`.
        settings: how it is to run.
        keep: result rows kept.
        once: whether to answer once, as a batch job, when all rows are there.
        files: the files of a stream that Spark can read for a query as our connector would; None if it can't.
        journaled: whether a stream's source can note how it is read, and be read so again.

    Attributes:
        outboxes: what hands answers to callbacks of the user's, and to sinks.
        batch_writers: those of them that write each micro-batch in a commit of its own.
        shapes: of these, the sinks' columns of the answer's, None where they are the same, and their names.
        seen: whether anybody looks at answers here, or may.

    Raises:
        QueryError: the checkpoint is of another query, or in use.
    """

    seen = True
    """Whether anybody looks at answers here, or may."""

    def __init__(
        self,
        name: str,
        query: BoundQuery,
        results: Answers | ChangeTarget,
        sides: Mapping[str, Any],
        on_missed: Callable[..., None],
        on_failed: Callable[[str, Any, Failed], None],
        submit: Callable[[Callable[[], None]], object],
        namespace: Mapping[str, object],
        settings: Settings,
        keep: int,
        once: bool = False,
        files: Callable[[StreamDef, BoundQuery], Files | None] = lambda stream, query: None,
        journaled: Callable[[StreamDef], bool] = lambda stream: False,
    ) -> None:
        self.name = name
        self.query = query
        self.results: Any = results
        self.sides = sides
        self.feeds: dict[Any, list[Inlet]] = {}
        self.outboxes: list[Any] = []
        self.batch_writers: list[BatchWriter] = []
        """Those of them that write each micro-batch in a commit of its own."""
        self.shapes: list[tuple[Evaluator | None, tuple[str, ...]]] = []  # of these: the sink's columns of the answer's
        self.state: State = "waiting"
        self.error: str | None = None
        self.paused = False
        self.started = time.time()
        self.ended: float | None = None
        self.failed_rows = self.changes = self._backlog_rows = 0
        self.late_frames = NewestFrames(NO_LIMIT, ASIDE)
        self.error_frames = NewestFrames(NO_LIMIT, ASIDE)
        self.done = threads.Event()
        self._late = SparkLateRows(self.feeds, lambda feed, missed, rows: on_missed(feed, self, missed, rows))
        self._on_failed = on_failed
        self._submit = submit
        self._once = once
        self._journaled = journaled
        self._paced = settings.at_once is not None
        self._claim = folder_for(query.text, settings.checkpoint)
        self._folder = self._claim.path
        self._record = None if self._claim.temporary else Record(self._folder, keep)
        self._plan = normal(query.plan)
        self._revised = query.emit.mode == "changes" and not query.relation
        self._inside = Network(query) if preflight.runs_inside(query) else None
        self.relation: Any = results if query.relation else None
        self._newest = MIN_TIME  # for a relation: the last time of its input
        self._own_times = makers(query.plan)[1]
        self._needed = needed_columns(self._plan)
        self._inlets = self._entrances(files)
        self._finish = Finish(self._plan) if self._inside is None else None
        self.hint = self._noticed()
        self._tables = _histories(self._plan, self._folder)
        self._reached = dict.fromkeys(self._inlets, MIN_TIME)
        self._backlog: deque[tuple[Any, Message]] = deque()
        self._thread: threading.Thread | None = None
        self.health = Health()
        self._job = self._made_job(namespace, settings)

    def _noticed(self) -> str | None:
        """What whoever started it should know."""
        notice = end_notice(self._inlets)
        if notice is not None:
            log.warning("query %s: %s", self.name, notice)
        return notice

    def _made_job(self, namespace: Mapping[str, object], settings: Settings) -> SparkJob:
        where, take, look = self._folder, self._take_answers, self._measure
        parts, counted = (self._inside, self._inlets, self._tables), self.health.took
        phases = Phases(self._turned)
        return SparkJob(
            self.name, self.query, self._plan, *parts, where, namespace, settings, take, look, counted, phases
        )

    # -- wiring, on the engine's thread ------------------------------------------------------------------------------

    def attach(self, feed: Any) -> None:
        """Take rows of that feed wherever its stream enters; the first one starts Spark's query."""
        inlets = [i for i in self._inlets if i.stream is feed.stream]
        self.feeds[feed] = inlets
        feed.readers.append(self)
        feed.ingest.boundaries.extend(b for i in inlets for b in i.boundaries)
        if self.query.emit.interval is not None and inlets:
            feed.ingest.intervals.append(self.query.emit.interval)
        feed.ingest.revised += self._revised
        if feed.ingest.clusters is not None:
            feed.ingest.clusters.horizon = max(feed.ingest.clusters.horizon, key_retention(self.query.plan))
        if self._thread is None:
            self._start(self._answer_once if self._once else self._follow)

    def journal(self, stream: StreamDef) -> Path | None:
        """Where a live source is to note how it is read for this query: beside its checkpoint, if it has one."""
        return None if self._claim.temporary else self._folder / f"read{streams(self.query.plan).index(stream)}"

    def note_of(self, uri: str) -> Path | None:
        """Where it is noted what a sink of that address has; None without a checkpoint."""
        name = hashlib.sha256(uri.encode()).hexdigest()[:16]
        return None if self._claim.temporary else self._folder / f"written-{name}"

    def _comes_again(self, stream: StreamDef) -> bool:
        """Whether rows of an earlier run come again, in their order: of a replayable source, or one that notes how it is read."""
        return stream.source.replayable or (not self._claim.temporary and self._journaled(stream))

    def read_natively(self, path: str) -> None:
        """Answer once over Parquet files that Spark reads itself: no row of them can fail here, and none is late."""
        self._start(lambda: self._answer_once(path))

    def _entrances(self, files: Callable[[StreamDef, BoundQuery], Files | None]) -> list[Inlet]:
        """Where its streams enter, each once for operators of ours, once for each way to a window for Spark's."""
        query, needed = self.query, self._needed
        if self._inside is None:
            return [
                Inlet(
                    way,
                    self._folder / f"rows{i}",
                    needed[way.scan.stream.name],
                    files=None if self._once else files(way.scan.stream, query),
                    again=self._comes_again(way.scan.stream),
                    paced=self._paced,
                )
                for i, way in enumerate(paths(self._plan))
            ]
        scans = {n.stream: n for n in reversed(list(walk(query.plan))) if isinstance(n, Scan)}
        entries = build(query).entries
        return [
            Inlet(
                Way(scans[s], (), None, 0),
                self._folder / f"rows{i}",
                needed[s.name],
                [e for e in entries if e.stream is s],
                again=self._comes_again(s),
                ticks=self._revised,
                paced=self._paced,
            )
            for i, s in enumerate(streams(query.plan))
        ]

    def _start(self, what: Callable[[], None]) -> None:
        name = f"jupyter-stream spark {self.name}"

        def died(error: BaseException | None) -> None:
            text = f"the thread that waits for Spark ended: {error!r}"
            self._submit(lambda: self.finish("failed", text))

        self._thread = threads.begin(name, partial(self._run, what), died).thread

    def detach(self) -> None:
        """Take no more rows."""
        for feed, inlets in self.feeds.items():
            if self in feed.readers:
                feed.readers.remove(self)
                for boundary in (b for i in inlets for b in i.boundaries):
                    feed.ingest.boundaries.remove(boundary)
                if self.query.emit.interval is not None and inlets:
                    feed.ingest.intervals.remove(self.query.emit.interval)
                feed.ingest.revised -= self._revised

    def reads(self, stream: StreamDef) -> frozenset[str]:
        """The columns it needs of a stream: of files Spark reads, the time alone."""
        inlets = [i for i in self._inlets if i.stream is stream]
        if all(i.handed is not None for i in inlets):
            return frozenset([stream.time.column or ""])
        return self._needed[stream.name]

    @property
    def numbered(self) -> bool:
        """Whether rows are to carry their arrival number; by it those of an earlier run are known when they come again."""
        kept = not self._claim.temporary
        return kept or reads_row_numbers(self.query.plan) or any(i.handed is not None for i in self._inlets)

    @property
    def running(self) -> bool:
        """Whether more answers may come."""
        return self.ended is None

    @property
    def unfinished(self) -> bool:
        """Whether it has more to do in the engine's thread: never, Spark has threads of its own."""
        return False

    def go_on(self) -> None:
        """There is nothing to do."""

    @property
    def full(self) -> bool:
        """Whether it can hold no more input for now."""
        if self._once:
            return False
        return self._backlog_rows + sum(i.spool.written for i in self._inlets) - self.health.taken >= _AHEAD_ROWS

    def accept(self, feed: Any, message: Message) -> None:
        """A message of a feed; held back while paused."""
        if not self.running:
            return
        if self.paused:
            self._backlog.append((feed, message))
            if isinstance(message, Batch):
                self._backlog_rows += message.rows
            return
        if isinstance(message, Batch):
            self._late.begin()
        try:
            for inlet in self.feeds[feed]:
                self._take(feed, inlet, message)
        except BaseException as error:
            if self.running:  # stopped in the middle of it, a step is broken off, which is no failure
                log.exception("query %s failed", self.name)
                self.finish("failed", reason(error))

    def pause(self) -> None:
        """Hold input back until `resume`."""
        self.paused = True
        self.changes += 1

    def resume(self) -> None:
        """Catch up with what was held back."""
        self.paused = False
        self.changes += 1
        backlog, self._backlog, self._backlog_rows = self._backlog, deque(), 0
        for feed, message in backlog:
            self.accept(feed, message)

    def _take(self, feed: Any, inlet: Inlet, message: Message) -> None:
        if isinstance(message, Batch):
            rows = without_rows_after_end(message.frame, inlet, self.feeds[feed], self._failed)
            if not rows.height:
                return
            if self._inside is None:
                rows = inlet.judge.heard(rows)
            came = inlet.recalled(rows)
            late = None if came is rows else came.filter(pl.col(LATE_ID).is_not_null())
            frame, found = inlet.judge.judge(came)
            self._late.named = inlet.judge.named_late()
            for what in found:
                if isinstance(what, Missed):
                    self._late.missed(feed, what, late)
                else:
                    self._failed(inlet.stream.name, what)
            if self._inside is not None:
                if self.relation is not None and frame.height and inlet.stream.name in self._own_times:
                    self._newest = max(self._newest, int(ints(frame.get_column(TS)).max()))
                self._late.keep(inlet, frame)
            inlet.put(came, frame)
        elif isinstance(message, Punctuation):
            inlet.promised(message.value)
            self._reached[inlet] = max(self._reached[inlet], message.value)
            if message.value == MAX_TIME:
                if self.relation is not None and all(v == MAX_TIME for v in self._reached.values()):
                    # what follows are expirations, and rows of extents where it is of these
                    told_later = self._inside is not None and self._inside.tells_last_time
                    self.relation.end((lambda: self._newest) if told_later else self._newest)
                inlet.end()
                if all(v == MAX_TIME for v in self._reached.values()):
                    self._job.input_ended.set()
            elif inlet.by_clock and time.monotonic() - inlet.ticked > _TICK:
                inlet.ticked = time.monotonic()
                # by rows Spark's watermark is as far behind as they may be late
                inlet.spool.advance(message.value + (inlet.delay or 0 if self._inside is None else 0))
        elif isinstance(message, Missed):
            # operators inside Spark tell of those that are late as well, with what they missed
            self._late.broke(feed, message, also_late=self._inside is None)
        elif isinstance(message, KeyPunctuation) and self._inside is not None and key_promised(inlet.stream):
            inlet.spool.said_of_keys(message.frame)
        elif isinstance(message, Tick) and self._revised:
            inlet.spool.tick(message.at)

    def table_changed(self, table: TableRows, at: int) -> None:
        """What the table holds now goes for rows at or after `at`, microseconds."""
        of_answers = [] if self._finish is None else self._finish.lookups
        for operator in (*of_answers, *(o for i in self._inlets for o in i.judge.lookups)):
            if operator.table.follows(table):
                operator.changed(at)
        if self._inside is not None:
            self._inside.changed(table, at)
        for each in (versions for one, versions in self._tables.items() if one is not None and one.follows(table)):
            each.changed(at)
            if not self._once:
                self._job.change_table()

    def _failed(self, stream: str, message: Failed) -> None:
        self.failed_rows += message.frame.height
        self._on_failed(stream, self, message)

    def named_late(self) -> list[tuple[str, pl.DataFrame]]:
        """Late rows of the batch under way, under the names of the derived streams they went through."""
        return self._late.named

    @property
    def late(self) -> int:
        """Late rows that missed answers."""
        return self._late.count

    def finish(self, state: State, error: str | None = None) -> None:
        """No more answers will come."""
        if not self.running:
            return
        self.detach()
        self.error = error
        self.ended = time.time()
        self._backlog.clear()
        self._backlog_rows = 0
        self.results.close()
        for outbox in self.outboxes:
            outbox.end(patient=state == "finished")
        self.state = state  # who reads this finds all the rest
        self.changes += 1
        self._claim.leave()
        self._job.stopping.set()
        self.done.set()
        if self._thread is None:
            self._claim.release()

    def forked(self) -> None:
        """This is a process forked from the one it runs in, which has none of its threads: here it has ended."""
        if self.running:
            self.ended = time.time()
            self.error = "this process was forked from the one in which it runs, and threads don't live on in a fork"
            self.state = "failed"
            self.done = threads.Event()
            self.done.set()

    # -- Spark's query, on a thread of its own ------------------------------------------------------------------------

    def _follow(self) -> None:
        for writer in self.batch_writers:
            writer.recall(lambda: self.running)
        self._give_again()
        self._job.spread = self._spread()
        final = self.query.emit.mode == "final" and self.relation is None
        self._job.brief = final and self._record is None and self._job.spread is None
        self._job.follow()

    def _spread(self) -> SpreadWriting | None:
        """What has executors write answers, where nobody looks at them here and all of the query's sinks take that."""
        finish, writers = self._finish, self.batch_writers
        alone = finish is None or not (finish.in_order or finish.lookups)
        if self.seen or self.query.emit.mode != "final" or self.relation is not None or not alone:
            return None
        if not writers or len(writers) < len(self.outboxes):
            return None
        found = [writer.apart(lambda: self.running) for writer in writers]
        sinks = [Into(w, *shape) for w, shape in zip(found, self.shapes, strict=True) if w is not None]
        if len(sinks) < len(writers):
            return None
        self._job.waits_for = writers[0].waits_for
        return SpreadWriting(finish, sinks)

    def _answer_once(self, path: str | None = None) -> None:
        table = self._job.answer_once(path)
        if table is not None:
            self._give(table)

    def _run(self, what: Callable[[], None]) -> None:
        """Until the query has ended, however."""
        with ending_with_the_process(lambda: self._submit(lambda: self.finish("stopped"))):
            self._run_to_the_end(what)

    def _run_to_the_end(self, what: Callable[[], None]) -> None:
        try:
            what()
        except BaseException as error:
            text = reason_of(error)
            self._submit(lambda: self.finish("failed", text))
        else:
            self._submit(lambda: self.finish("finished"))
        finally:
            self._job.stopping.wait(10)  # the engine's thread has been asked to finish
            self._job.stop()
            self._claim.release()

    def _give_again(self) -> None:
        """The answers an earlier run with this checkpoint gave."""
        if self._record is not None:
            self._job.answered = self._record.answered
            for number, table in self._record.tables():
                self._give_batch(number, table)

    def _take_answers(self, number: int, table: Any) -> None:
        if self._record is not None:
            self._record.add(number, table)
        self._give_batch(number, table)

    def _give_batch(self, number: int, table: Any) -> None:
        """The answers of a micro-batch; with a checkpoint, sinks have committed them when this returns."""
        for writer in self.batch_writers:
            writer.begin(number)
        elsewhere: list[WrittenElsewhere | RefusedElsewhere] = []
        self._give(table, elsewhere)
        for i, writer in enumerate(self.batch_writers if elsewhere else ()):
            pieces = [e.pieces for e in elsewhere if isinstance(e, WrittenElsewhere) and e.sink == i]
            writer.adopt(pieces, [e.failed for e in elsewhere if isinstance(e, RefusedElsewhere) and e.sink == i])
        for writer in self.batch_writers:
            writer.seal(lambda: self.running)

    def _give(self, table: Any, elsewhere: list[WrittenElsewhere | RefusedElsewhere] | None = None) -> None:
        late: list[LateReport] = []
        for made in said(table, self._finish, self._inlets, late):
            if isinstance(made, Failed):
                self._failed(self._inlets[0].stream.name, made)
                continue
            if isinstance(made, WrittenElsewhere | RefusedElsewhere):
                self._count_elsewhere(made)
                if elsewhere is not None:
                    elsewhere.append(made)
                continue
            if isinstance(made, Ended):
                self._newest = max(self._newest, made.last)
                continue
            if self.state == "waiting":
                self.state = "running"
            if self.relation is None:
                added = self.results.add(made.frame, made.provisional, made.replaces)
            else:
                added = self.relation.change(made.frame)
            self.health.control.rows_out += added.height
            for outbox in self.outboxes:
                outbox.put(added)
                outbox.wait_for_room(lambda: self.running)  # Spark waits with the next micro-batch
        if late:
            self._submit(lambda: self._late.tell(late))

    def _count_elsewhere(self, made: WrittenElsewhere | RefusedElsewhere) -> None:
        """Answers that are in a sink and nowhere here count all the same, once for all sinks."""
        rows = (
            int(made.pieces.get_column("rows").sum())
            if isinstance(made, WrittenElsewhere)
            else made.failed.frame.height
        )
        if self.state == "waiting":
            self.state = "running"
        if made.sink == 0:
            self.results.rows_out += rows
            self.health.control.rows_out += rows
            self.changes += 1

    def _measure(self, query: Any) -> None:
        if self.health.read(query):
            self.changes += 1
            self._submit(lambda: None)  # the engine may serve feeds that waited for room

    def _turned(self) -> None:
        self.changes += 1

    @property
    def phase(self) -> Phase | None:
        """What it is doing before its first answer."""
        now = self._job.phases.now
        if now is None or not self.running:
            return None
        if now.name != "first micro-batch":
            return now
        if all(inlet.handed is not None for inlet in self._inlets):
            there = counted(sum(inlet.spool.files for inlet in self._inlets), "file")
        else:
            there = counted(sum(inlet.spool.written for inlet in self._inlets), "row")
        return replace(now, note=f"{there} read") if not there.startswith("0 ") else None  # it waits for them

    # -- for people --------------------------------------------------------------------------------------------------

    @property
    def low_watermark(self) -> int:
        """The least punctuation of its inputs."""
        return min(self._reached.values(), default=MIN_TIME)

    @property
    def share(self) -> float | None:
        """How much of its input Spark has taken, of the source that is least far; None where one doesn't know its end."""
        read = least_share(f.share for f in self.feeds)
        given = sum(i.spool.written for i in self._inlets)
        return read * min(1.0, self.health.taken / given) if read and given and self.running else read

    @property
    def state_bytes(self) -> int:
        """Bytes of state Spark holds, as it reports them."""
        return self.health.control.bytes if self.running else 0

    @property
    def controls(self) -> list[ControlTable]:
        """Control tables of its operators: Spark's query as a whole."""
        return [self.health.control]

    @property
    def synopses(self) -> list[ControlTable]:
        """Control tables of what operators remember: Spark keeps it."""
        return []

    @property
    def judged(self) -> bool:
        """Whether rows have to be looked at one by one before Spark sees them."""
        return self._inside is not None or any(i.judge.needed for i in self._inlets)

    def explain(self, measured: bool) -> str:
        """What each part of the query is on Spark."""
        return preflight.explain(self.query)


def _histories(plan: Plan, folder: Path) -> dict[TableRows | None, TableHistory]:
    """The tables that rows are looked up in, with what is kept of each on disk."""
    nodes = (n for n in walk(plan) if isinstance(n, Lookup | TableRelation))
    return {n.table.table: TableHistory(n.table, folder) for n in nodes}
