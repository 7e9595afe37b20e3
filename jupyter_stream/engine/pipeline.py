"""One running query: its operators, what flows through them, what becomes of answers, late rows and errors.

All methods but the properties are called by the engine's thread alone; while a step takes so long that it is set aside
(`engine/steps.py`), by the thread that keeps it, and what comes meanwhile is held back.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import polars as pl

from jupyter_stream.approximation.easing import Easing
from jupyter_stream.budget.estimated import Estimated
from jupyter_stream.budget.spending import Budgeted, Spending
from jupyter_stream.budget.time_slots import Slots
from jupyter_stream.core import logs, messages, threads
from jupyter_stream.core.control import ControlTable
from jupyter_stream.core.coverage import WHOLE, Coverage
from jupyter_stream.core.memory import ASIDE, HELD_BACK, RESULTS
from jupyter_stream.core.messages import (
    LATE_ID,
    SIGN,
    TS,
    Batch,
    Failed,
    KeyPunctuation,
    Message,
    Missed,
    PairPunctuation,
    Punctuation,
    Tick,
    ints,
)
from jupyter_stream.core.newest_frames import NO_LIMIT, NewestFrames
from jupyter_stream.core.precision import Precision
from jupyter_stream.core.schema import Field, Schema
from jupyter_stream.core.share import least_share
from jupyter_stream.core.snapshot import State
from jupyter_stream.core.table import TableRows
from jupyter_stream.core.time import MAX_TIME, MIN_TIME
from jupyter_stream.engine.backlog import Backlog
from jupyter_stream.engine.circuit import Circuit
from jupyter_stream.engine.cuts import Cuts
from jupyter_stream.engine.easing import easing_of, fill, hurried, precision_of
from jupyter_stream.engine.explain import explain, in_queue, measured
from jupyter_stream.engine.failing import FORKED, Abandoned
from jupyter_stream.engine.feed import Feed
from jupyter_stream.engine.outbox import Receiver
from jupyter_stream.engine.progress import Boundary
from jupyter_stream.engine.referring_rows import ReferringRows, judged_in
from jupyter_stream.engine.relation import Relation
from jupyter_stream.engine.results import Results
from jupyter_stream.engine.shared import Sharer, Tap, below
from jupyter_stream.engine.side_streams import SideStream
from jupyter_stream.engine.spill import Spill
from jupyter_stream.engine.turn import between_steps, have_at_hand, late_at_hand
from jupyter_stream.engine.working import Working, in_words
from jupyter_stream.errors import reason
from jupyter_stream.flow.last_time import LastTime
from jupyter_stream.flow.named import Named
from jupyter_stream.flow.protocol import foresees
from jupyter_stream.flow.table_lookup import TableLookup
from jupyter_stream.graph.graph import Entry, Graph, Step, StepInput, build
from jupyter_stream.plan.catalog import StreamDef
from jupyter_stream.plan.keyed import key_retention
from jupyter_stream.plan.logical import BoundQuery, TableRelation, streams, walk
from jupyter_stream.plan.needs import needed_columns, reads_row_numbers
from jupyter_stream.plan.promising import COVERAGE
from jupyter_stream.plan.rates import Rates
from jupyter_stream.plan.refill import refill
from jupyter_stream.plan.relations import by_extents, makers
from jupyter_stream.plan.time_of import integer_time
from jupyter_stream.relations.alive import AliveOperator
from jupyter_stream.relations.relation_join import RelationJoinOperator
from jupyter_stream.schedulers import FirstCome, Scheduler
from jupyter_stream.sources.pacing import parse_rate

log = logs.of(__name__)

_CATCHING_UP = 0.05
"""Seconds for which what was held back is taken before others have their turn."""

_FACTS = ("state", "started", "late", "failed_rows", "ticks", "_newest")
"""Attributes of a query's own that a checkpoint keeps."""

OnMissed = Callable[[Feed, "Pipeline", Missed, pl.DataFrame | None], None]
OnFailed = Callable[[str, "Pipeline", Failed], None]


class Pipeline:
    """A query's operators, fed by feeds.

    Args:
        name: the query's name.
        query: what it computes.
        keep: result rows kept.
        on_missed: told of late rows that missed an answer.
        on_failed: told of rows an expression failed on, with the stream's name.
        sides: `late(name)` of each stream it reads, as they were when it began.
    """

    def __init__(
        self,
        name: str,
        query: BoundQuery,
        keep: int,
        on_missed: OnMissed,
        on_failed: OnFailed,
        sides: Mapping[str, SideStream],
        limit: int = NO_LIMIT,
    ) -> None:
        self.sides = sides
        self.name = name
        self.query = query
        self.scheduler: Scheduler | None = None
        """Its own policy for who works next; None where the session's counts."""
        self.policy = FirstCome.name
        """The name of the policy its operators work by."""
        self._build()
        self.results = self._kept_answers(keep, limit // RESULTS)
        self.relation = self.results if isinstance(self.results, Relation) else None
        if self.relation is not None and self._last_times:
            self.relation.newest = self._last_time
        self.outboxes: list[Receiver] = []
        self.cuts: Cuts | None = None
        """Of a query with a checkpoint."""
        self.state: State = "waiting"
        self.error: str | None = None
        self.paused = False
        self.busy = False
        """Whether a step of it is aside."""
        self.apart = False
        """Whether its steps take long, and are done in a thread of their own: what comes is held back for those."""
        self.stuck = False
        """Whether a step of it has been under way for a second or more."""
        self.inactive = self.anew = False
        """Whether it holds nothing and takes nothing until it is active again; whether it has been so."""
        self.started = time.time()
        self.ended: float | None = None
        self._at_its_end: Rates | None = None
        self.late = self.failed_rows = self.ticks = 0
        self.late_frames = NewestFrames(NO_LIMIT, ASIDE)
        self.error_frames = NewestFrames(NO_LIMIT, ASIDE)
        self.revised = query.emit.mode == "changes" and not query.relation
        self._on_missed = on_missed
        self._on_failed = on_failed
        self.backlog = Backlog(limit // HELD_BACK)
        self.sink = ControlTable("result")
        self.changes = 0
        revised = any(isinstance(n, TableRelation) and n.table.retroactive for n in walk(query.plan))
        self._follows = revised and not by_extents(query.plan)
        self.done = threads.Event()
        self._over = False

    def _build(self) -> None:
        """Operators that hold nothing yet, and what goes with them."""
        self.graph: Graph = build(self.query)
        self.circuit = Circuit(self._answer, self._aside)
        self.feeds: dict[Feed, list[Entry]] = {}
        """What it reads, and where that enters operators of its own."""
        self.taps: list[Tap] = []
        """Parts it shares with other queries."""
        self.spending = _spending(self.query, self.graph)
        """Of a query with a budget."""
        self.easing = easing_of(self.name, self.graph)
        """Of a query that may give something up under load."""
        self._boundaries: dict[Feed, list[Boundary]] = {}
        self._ends: list[tuple[Feed, Message]] = []  # inputs that end when operators that rest have said all
        self._reached: dict[StreamDef, int] = {e.stream: MIN_TIME for e in self.graph.entries}
        self._referring: dict[Feed, ReferringRows] = {}  # rows that may turn out to refer to nothing
        self._listed = np.empty(0, np.int64)  # late rows of the batch under way that have been told of
        self._newest = MIN_TIME  # for a relation: the last time of its input
        self._spans: dict[str, tuple[int, int]] = {}  # the earliest and latest time of each stream

    def _kept_answers(self, keep: int, most: int) -> Results | Relation:
        """What the answers are kept in: so many rows, so many bytes."""
        query, schema = self.query, self.query.plan.schema
        if self.spending is not None:
            schema = Schema((*schema.fields, Field(COVERAGE, pl.Float64())))
        if query.relation:
            return Relation(schema, keep, integer_time(query.plan), query.order, most)
        estimates = any(isinstance(step.operator, Estimated) for step in self.graph.steps)
        return Results(schema, keep, query.emit.mode != "final" or estimates, most)

    # -- wiring ------------------------------------------------------------------------------------------------------

    def reads(self, stream: StreamDef) -> frozenset[str]:
        """The columns it needs of a stream."""
        return needed_columns(self.query.plan)[stream.name]

    @property
    def numbered(self) -> bool:
        """Whether rows are to carry their arrival number."""
        return reads_row_numbers(self.query.plan) or bool(judged_in(self.graph))

    def attach(self, feed: Feed) -> None:
        """Take rows of that feed wherever its stream enters."""
        entries = [e for e in self.graph.entries if e.stream is feed.stream]
        self.feeds[feed] = entries
        self._boundaries[feed] = [e.boundary for e in entries]
        feed.readers.append(self)
        within = [r.constraint.within for r in judged_in(self.graph) if r.stream == feed.stream.name]
        if within:
            self._referring[feed] = ReferringRows(feed.stream.name, max(within))
        feed.ingest.boundaries.extend(self._boundaries[feed])
        if self.query.emit.interval is not None:
            feed.ingest.intervals.append(self.query.emit.interval)
        feed.ingest.revised += self.revised
        if feed.ingest.clusters is not None:
            feed.ingest.clusters.horizon = max(feed.ingest.clusters.horizon, key_retention(self.query.plan))

    def detach(self, state: State) -> None:
        """Take no more rows."""
        for feed, boundaries in self._boundaries.items():
            if self in feed.readers:
                feed.readers.remove(self)
                for boundary in boundaries:
                    feed.ingest.boundaries.remove(boundary)
                if self.query.emit.interval is not None:
                    feed.ingest.intervals.remove(self.query.emit.interval)
                feed.ingest.revised -= self.revised
        for tap in self.taps:
            tap.part.leave(tap, state)

    @property
    def queries(self) -> Sequence[Sharer]:
        """Itself, as a reader of parts it shares with others."""
        return (self,)

    @property
    def shares(self) -> bool:
        """Whether its operators may be others' as well from now on."""
        at_rest = not self.backlog and not self.busy and not any(c.queues.count for c in self._circuits)
        return self.running and not self._follows and at_rest and self.cuts is None

    @property
    def running(self) -> bool:
        """Whether more answers may come, without a word from anybody."""
        return self.ended is None and not self.inactive

    @property
    def full(self) -> bool:
        """Whether it can hold no more input while it is paused or held up, or is to have no more before its state is kept."""
        waiting = sum(c.queues.bytes for c in self._circuits)
        return self.backlog.full or waiting >= self.backlog.most or (self.cuts is not None and self.cuts.holds_back)

    @property
    def sated(self) -> bool:
        """Whether so much waits between its operators that a replay needn't be read further."""
        return any(c.sated for c in self._circuits)

    @property
    def _circuits(self) -> list[Circuit]:
        """Its own, and those of the parts it shares."""
        return [self.circuit, *(part.circuit for part in below(self.taps))]

    @property
    def catching_up(self) -> bool:
        """Whether it works at what it was given while a step of it was aside."""
        return bool(self.backlog) and not self.paused and not self.held_up

    @property
    def may_miss(self) -> bool:
        """Whether rows of a live source that others read as well are left out, and told, once there is no room for them."""
        return self.paused or self.held_up or self.stuck

    @property
    def held_up(self) -> bool:
        """Whether it waits for a callback or a sink that is slower than it is."""
        return any(outbox.full for outbox in self.outboxes)

    @property
    def bytes(self) -> int:
        """Bytes of its state, its answers and of what waits for it, about."""
        kept = self.results.bytes + self.backlog.bytes + sum(o.bytes for o in self.outboxes)
        return kept + self.late_frames.bytes + self.error_frames.bytes

    # -- who works next ----------------------------------------------------------------------------------------------

    @property
    def goes_straight(self) -> bool:
        """Whether each message goes through all operators under any policy: where answers go by the order of arrival (EMIT
        EVERY, EMIT CHANGES), where a budget says what is done when, where rows wait for those that refer to them, and where
        windows keep their rows together, which counts on batches that nobody cuts.
        """
        provisional = self.query.emit.mode != "final" or self.revised
        together = (
            isinstance(s.operator, AliveOperator) and s.operator.kept_with is not None for s in self.graph.steps
        )
        return provisional or self.spending is not None or bool(judged_in(self.graph)) or any(together)

    @property
    def queued(self) -> bool:
        """Whether messages wait in queues between its operators, or those it shares."""
        return any(c.order is not None or c.queues.count for c in self._circuits)

    def schedule(self, policy: Scheduler) -> None:
        """Have its operators work by that policy from now on."""
        self.policy = policy.title
        self.circuit.schedule(None if policy.straight or self.goes_straight else policy.order())
        self.changes += 1

    @property
    def takes(self) -> bool | None:
        """Whether its operators are given what comes: None where that is by another thread, or later."""
        if self.paused or self.held_up:
            return False
        return None if self.busy or self.apart or self.backlog or self._referring else True

    def onward(self) -> Iterator[tuple[StepInput, int]]:
        """Nobody reads what it gives."""
        return iter(())

    # -- while nobody needs it -----------------------------------------------------------------------------------------

    def deactivate(self) -> None:
        """Let go of all that its operators hold, and take no more rows until `activate`."""
        if not self.running:
            return
        self.circuit.close()
        self.circuit.forget()
        self.detach("stopped")
        self.backlog.clear()
        for rows in self._referring.values():
            rows.close()
        if isinstance(self.results, Results):
            self.results.close()  # what is provisional would never become final
        newest = self._newest
        self.query = replace(self.query, rates=self.rates)
        self.changes += 1 + sum(
            feed.control.rows_in + feed.rejected for feed in self.feeds
        )  # which are counted no more
        self._build()
        self._newest = newest
        self.apart = False
        self.inactive, self.state = True, "inactive"

    def activate(self) -> None:
        """Begin anew, as a query does that is started now; a relation's answer is empty until rows come."""
        left = None if self.relation is None else self.relation.left(self._newest + 1)
        self._build()
        self.inactive, self.anew = False, True
        self.state = "running" if self.results.rows_out else "waiting"
        self.changes += 1
        if left is not None:
            for outbox in self.outboxes:
                outbox.put(left)

    @property
    def exact_from(self) -> int | None:
        """The time from which its answers are exact, since it was active again; None where it can't be told, or not yet."""
        first = {name: oldest for name, (oldest, _) in self._spans.items()}
        return refill(self.query).at(first, streams(self.query.plan))

    # -- input -------------------------------------------------------------------------------------------------------

    def accept(self, feed: Feed, message: Message) -> None:
        """A message of a feed; held back while paused."""
        if not self.running or feed not in self.feeds or (isinstance(message, Tick) and not self.revised):
            return
        if self._waits:
            size = _bytes(message)
            own = bool(self.feeds[feed])
            if (
                isinstance(message, Batch) and not own and feed not in self._referring
            ):  # others' operators take the rows
                message = message.with_frame(message.frame.select(TS))
                size = size if self.busy else _bytes(message)  # whole rows wait for a part of it that is aside
            self._hold_back((feed, None), message, size, lambda held: self._run(feed, held))
            return
        self._run(feed, message)

    @property
    def _waits(self) -> bool:
        """Whether what comes is held back: for now, or since it works apart from others."""
        return self.apart or self._held

    @property
    def _held(self) -> bool:
        """Whether it takes nothing for now: it is paused, or has not caught up since."""
        return self.paused or self.busy or bool(self.backlog) or self.held_up

    def hear(self, feed: Feed, tap: Tap, message: Message) -> None:
        """A message of a part it shares; held back while paused."""
        if not self.running or tap not in self.taps:
            return
        if self._waits:
            self._hold_back((feed, tap), message, _bytes(message), lambda held: self._hear(feed, tap, held))
            return
        self._hear(feed, tap, message)

    def _hear(self, feed: Feed, tap: Tap, message: Message) -> None:
        self._guarded(lambda: self.circuit.enter(feed, tap.target, message))

    def no_more(self, tap: Tap) -> None:
        """A part it shares has said all; held back while paused."""
        if not self.running or tap not in self.taps:
            return
        if self._waits:
            self.backlog.add(lambda: self._no_more(tap), 0)
            return
        self._no_more(tap)

    def _no_more(self, tap: Tap) -> None:
        tap.ended = True
        self._end()

    def foresee(self, feed: Feed, batch: Batch) -> None:
        """Have its operators work out what they can of rows that come next. Called by another thread than the engine's."""
        for entry in self.feeds[feed]:
            if entry.target is not None and foresees(operator := entry.target.step.operator):
                # what fails fails again when the rows come, where it is seen to
                with contextlib.suppress(BaseException):
                    operator.foresee(entry.target.port, batch)

    def _hold_back(
        self, of: tuple[Feed, Tap | None], message: Message, size: int, later: Callable[[Message], None]
    ) -> None:
        def taken(held: Message, late: pl.DataFrame | None) -> None:
            have_at_hand(late)
            later(held)

        late = late_at_hand()
        take = partial(taken, message, late)
        if not self.backlog.crowded:
            self.backlog.add(take, size)
        elif self.backlog.write(of, taken, message, late):
            self.changes += 1
        elif isinstance(message, Batch):  # its source is live and goes on for others
            self.backlog.miss(message.rows)
            self.changes += 1
        elif isinstance(message, Punctuation) and message.value != MAX_TIME:
            self.backlog.replace(of, take)
        else:
            self.backlog.add(take, 0)

    @property
    def _catches_up(self) -> bool:
        """Whether it may take more of what was held back."""
        return bool(self.backlog) and self.running and not self.paused and not self.held_up and not self.circuit.sated

    def free(self) -> None:
        """No step of it is aside any more."""
        self.busy = False
        self.changes += 1
        if not self.running:
            self.circuit.forget()

    def when_free(self, work: Callable[[], None]) -> None:
        """Do something to its operators, once no step of it is aside."""
        if self.busy:
            self.backlog.add(work, 0)
        else:
            work()

    def pause(self, spill: int = 0) -> None:
        """Hold input back until `resume`.

        Args:
            spill: bytes that may go to disk past its share of memory; 0 for none.
        """
        self.paused = True
        if spill:
            self.backlog.spill = self.backlog.spill or Spill(spill)
            self.backlog.spill.most = spill
        elif not self.backlog.spill:  # it isn't there, or nothing is in it
            self.backlog.spill = None
        self.changes += 1

    def resume(self) -> None:
        """Catch up with what was held back, between other queries' work."""
        self.paused = False
        self.changes += 1

    @property
    def unfinished(self) -> bool:
        """Whether there is more to do with what it was given, which `go_on` does between two batches."""
        more = self.unfinished_steps or bool(self.backlog)
        return more and not self.paused and not self.busy and not self.held_up and self.running

    def go_on(self) -> None:
        """Have operators go on for a while, and take some of what was held back."""
        if self.circuit.unfinished:
            self._guarded(self.circuit.go_on)
        if not self.circuit.unfinished:
            ends, self._ends = self._ends, []
            for of_feed, message in ends:
                self._run(of_feed, message)
        until = time.perf_counter() + _CATCHING_UP
        while self._catches_up and time.perf_counter() < until:
            try:
                work = self.backlog.take()
            except (OSError, EOFError) as error:  # what waits on disk can't be read back
                self.finish("failed", f"rows that waited on disk can't be read: {error}")
                return
            work()

    @property
    def waits_for_idle_time(self) -> bool:
        """Whether it has put work off that it may do when nothing comes."""
        waits = self.spending is not None and self.spending.operator.left > 0
        return waits and self.running and not self._held and not self.circuit.unfinished

    def take_up(self) -> bool:
        """Do some of the work put off. Returns whether the budget let it."""
        assert self.spending is not None
        spending = self.spending
        probes = spending.idle(live=not any(f.stream.source.replayable for f in self.feeds))
        if probes < 1:
            return False
        self.circuit.feed = next(iter(self.feeds))
        self._guarded(lambda: self.circuit.run(spending.step, spending.operator.take_up(probes)))
        return True

    @property
    def cells(self) -> pl.DataFrame | None:
        """The cells of the first summary it keeps, for views; None without one."""
        keepers = (s.operator.keeper for s in self.graph.steps if isinstance(s.operator, Slots))
        return next((found for k in keepers if (found := k.cells) is not None), None)

    @property
    def coverage(self) -> Coverage:
        """The share of the exact answer given so far."""
        return WHOLE if self.spending is None else self.spending.operator.coverage

    @property
    def relaxed(self) -> Easing | None:
        """What gives something up though nothing waits any more; None where there is no such thing."""
        easing = self.easing
        if easing is None or not easing.eased or any(fill(feed) for feed in list(self.feeds)):
            return None
        return easing

    @property
    def precision(self) -> Precision:
        """How exact its answers are."""
        return precision_of(self.query, self.graph, self.easing)

    def _run(self, feed: Feed, message: Message) -> None:
        if isinstance(message, Punctuation) and message.value == MAX_TIME and self.circuit.unfinished:
            self._ends.append((feed, message))
            return
        if isinstance(message, Batch):
            self._listed = np.empty(0, np.int64)
            if self.easing is not None:
                self.easing.queue(fill(feed) if hurried(feed.stream) else 0.0)
            if feed in self._referring:
                self._referring[feed].hold(message.frame, pruned=feed.columns is not None)
        if isinstance(message, Punctuation):
            for rows in self._referring.values():
                rows.reached(self.low_watermark)
            self._reached[feed.stream] = max(self._reached[feed.stream], message.value)
            if message.value == MAX_TIME:
                if self._follows:
                    self._stand_still()
                    return
                if self.relation is not None and self._all_reached and self._newest > MIN_TIME:
                    # what follows are expirations, and rows of extents where it is of these
                    self.relation.end(self._last_time if self._last_times else self._last_time())
        if isinstance(message, Batch) and message.rows:
            oldest, newest = message.span
            self._newest = max(self._newest, newest)
            first, last = self._spans.get(feed.stream.name, (oldest, newest))
            self._spans[feed.stream.name] = min(first, oldest), max(last, newest)
        self._guarded(lambda: self._enter(feed, message))

    def _last_time(self) -> int:
        """Of a relation whose inputs have ended: the last time of its rows, which may be those of extents."""
        _, read = makers(self.query.plan)
        times = [last for name, (_, last) in self._spans.items() if name in read]
        return max((*times, *(operator.newest for operator in self._last_times)), default=MIN_TIME)

    @property
    def _last_times(self) -> list[LastTime]:
        """What knows the last times of rows that aren't a stream's own."""
        return [s.operator for s in self.graph.steps if isinstance(s.operator, LastTime)]

    def _enter(self, feed: Feed, message: Message) -> None:
        if isinstance(message, Missed):  # rows that broke a constraint, those among them that missed no answer too
            self.circuit.feed = feed
            self._note_missed(message)
            return
        for entry in self.feeds[feed]:
            self.circuit.enter(feed, entry.target, message)

    def _guarded(self, work: Callable[[], None]) -> None:
        try:
            if self.spending is None:
                work()
            else:
                self.spending.work(work)
        except Abandoned:  # nobody waits for it any more
            raise
        except (
            BaseException
        ) as error:  # a panic, an interrupt, the SystemExit of a user's code: they end this query alone
            if self.running:
                log.exception("query %s failed", self.name)
            self.finish("failed", reason(error))
            return
        self._end()

    def _end(self) -> None:
        if self._follows:  # its answer goes on changing with the tables it reads
            return
        if not self.circuit.unfinished and self._all_reached and all(tap.ended for tap in self.taps):
            if self.cuts is not None:  # with the next cut
                self.cuts.end("finished")
                return
            self.finish("finished")

    @property
    def _all_reached(self) -> bool:
        """Whether all its inputs have ended."""
        return all(v == MAX_TIME for v in self._reached.values())

    @property
    def low_watermark(self) -> int:
        """The least punctuation of its inputs."""
        return min(self._reached.values(), default=MIN_TIME)

    @property
    def share(self) -> float | None:
        """How much of its input has been taken, of the source that is least far; None where one doesn't know its end."""
        return least_share(f.share for f in self.feeds)

    def _stand_still(self) -> None:
        """A stream has ended, and what a retroactive table says of its rows is still to come: nothing expires any more."""
        if self._all_reached:
            self._tell_all(Punctuation(self._newest + 1))
            self.state = "running"  # its answer stands, even an empty one
            self.changes += 1
            self.done.set()

    def table_changed(self, table: TableRows, at: int) -> None:
        """A table it reads holds something else from that time on."""
        self.when_free(lambda: self._table_changed(table, at))

    def _table_changed(self, table: TableRows, at: int) -> None:
        for part in below(self.taps):
            part.settle()
        self._guarded(self.circuit.drain)  # rows that came before see what the table held then
        after = self.done.is_set()  # its streams have ended: time stands still, but for these changes
        for step in self.graph.steps:
            operator = step.operator
            if not isinstance(operator, TableLookup | RelationJoinOperator) or operator.table is None:
                continue
            if operator.table.follows(table):
                operator.changed(self._newest + 1 if after else at)
        if after:
            self._newest += 1
            self._tell_all(Punctuation(self._newest + 1))

    def _tell_all(self, message: Message) -> None:
        for feed, entries in self.feeds.items():
            for entry in entries:
                self.circuit.enter(feed, entry.target, message)
        self.circuit.drain()

    # -- what a checkpoint keeps -------------------------------------------------------------------------------------

    @property
    def keeps(self) -> list[object]:
        """What holds its state, beside `facts`; the same in the same order whenever its text makes it."""
        feeds = [(f.ingest, f.control) for f in self.feeds]
        frames = (self.late_frames, self.error_frames)
        referring = list(self._referring.values())
        return [self.graph.steps, self.results, *frames, self.sink, self._reached, self._spans, referring, *feeds]

    @property
    def facts(self) -> dict[str, object]:
        """Attributes of its own that change."""
        return {name: getattr(self, name) for name in _FACTS}

    @property
    def unfinished_steps(self) -> bool:
        """Whether an operator has more to say of what it was given."""
        return self.circuit.unfinished or bool(self._ends)

    # -- out of the operators ----------------------------------------------------------------------------------------

    def _aside(self, message: Missed | Failed) -> None:
        if not self.running:
            return
        if isinstance(message, Missed):
            self._note_missed(message)
            return
        if SIGN in message.frame.columns:  # a change of a relation: what can't enter, can't leave either
            entering = message.frame.get_column(SIGN) > 0
            message = Failed(message.frame.filter(entering).drop(SIGN), message.reasons.filter(entering))
        self.failed_rows += message.frame.height
        assert self.circuit.feed is not None
        self._on_failed(self.circuit.feed.stream.name, self, message)

    def _note_missed(self, message: Missed) -> None:
        """A late row is listed once, however many inputs of this query it came to."""
        if message.stream is not None:
            self._note_broken(message)
            return
        feed = self.circuit.feed
        assert feed is not None
        if len(self._boundaries[feed]) > 1 or feed.ingest.constrained:
            new = np.isin(message.late_ids, self._listed, invert=True)
            self._listed = np.append(self._listed, message.late_ids)
            message = message.those(new)
        if message.late_ids.size:
            self.late += message.late_ids.size
            self._on_missed(feed, self, message, None)

    def _note_broken(self, message: Missed) -> None:
        """Rows that came earlier have turned out to refer to nothing."""
        assert message.broken is not None
        feed = next(f for f in self._referring if f.stream.name == message.stream)
        rows = self._referring[feed].take(message.late_ids, message.broken)
        if rows is not None:
            self.late += rows.height
            self._on_missed(feed, self, Missed(ints(rows.get_column(LATE_ID)), None, message.stream), rows)

    def _answer(self, message: Message) -> None:
        if not self.running:
            return
        if isinstance(message, Tick):
            self.ticks += 1
            return
        if isinstance(message, KeyPunctuation | PairPunctuation):
            return
        if isinstance(message, Punctuation):
            self.sink.low_watermark = message.value
            return
        assert isinstance(message, Batch)
        frame = message.frame
        if self.spending is not None:
            own = messages.COVERAGE in frame.columns  # of each answer, rather than of all so far
            share = pl.col(messages.COVERAGE) if own else pl.lit(self.coverage.share, pl.Float64())
            frame = frame.with_columns(share.alias(COVERAGE))
        if self.state == "waiting":
            self.state = "running"
        if self.relation is not None:
            added = self.relation.change(frame)
        else:
            assert isinstance(self.results, Results)
            added = self.results.add(frame, message.provisional, message.replaces)
        self.sink.rows_in += added.height
        for outbox in self.outboxes:
            outbox.put(added)

    # -- the end -----------------------------------------------------------------------------------------------------

    def finish(self, state: State, error: str | None = None) -> None:
        """No more answers will come."""
        between_steps(lambda: self._finish(state, error))

    def _finish(self, state: State, error: str | None) -> None:
        if self._over:
            return
        self.error = error  # an interrupt may have hit what follows before: then it is done again
        self.ended = self.ended or time.time()
        try:
            if self.cuts is not None:
                self.cuts.close()
            self.circuit.close()
            if not self.busy:
                self.circuit.forget()
            self.detach(state)
            self.backlog.clear()
            self._ends.clear()
            for rows in self._referring.values():
                rows.close()
            self.results.close()
        finally:
            for outbox in self.outboxes:
                outbox.end(patient=state == "finished")
            self.state = state  # who reads this finds all the rest
            self.changes += 1
            self.done.set()
            self._over = True

    def forked(self) -> None:
        """This is a process forked from the one it runs in, which has none of its threads: here it has ended."""
        self.results.forked()
        if self.ended is None:
            self.ended = time.time()
            self.error = FORKED
            self.state = "failed"
            self.changes += 1
            self._over = True
            self.done = threads.Event()  # whoever rang its bell isn't here
            self.done.set()

    # -- for people --------------------------------------------------------------------------------------------------

    @property
    def at(self) -> str:
        """What it does now: the operator of its own or of a part it shares that was given something last."""
        return next((c.at.operator.control.name for c in self._circuits if c.at is not None), "an operator")

    @property
    def controls(self) -> list[ControlTable]:
        """Control tables of its operators."""
        return [s.control for s in self.graph.steps]

    @property
    def synopses(self) -> list[ControlTable]:
        """Control tables of what its operators remember."""
        referring = [rows.control for rows in self._referring.values()]
        return [*(t for s in self.graph.steps for t in s.operator.synopses), *referring]

    def explain(self, measured: bool) -> str:
        """The operators as a tree, with what each holds and has done if `measured`."""
        if not measured:
            return explain(self.graph)
        feeds = {f.stream.name: f.control for f in self.feeds}
        queues = map(in_queue, self.queues) if any(w.circuit.order is not None for w in self._working) else ()
        return explain(self.graph, feeds, Rates(self._rates()), [f"scheduler: {self.works_by}", *queues, *self.goes_by])

    @property
    def _working(self) -> list[Working]:
        """Its own operators, if it has any, and those of parts it shares: each group takes turns among itself."""
        shared = [Working.of(part) for part in below(self.taps)]
        if shared and all(step.part is not None for step in self.graph.steps):
            return shared
        return [Working(self.policy, self.goes_straight, self.circuit), *shared]

    @property
    def works_by(self) -> str:
        """By what policy its operators take turns, those of parts it shares too."""
        return in_words(self.name, self.policy, self._working)

    @property
    def goes_by(self) -> list[str]:
        """What the policies go by, as it was measured: with Chain, the envelopes."""
        return [note for working in self._working for note in working.notes]

    @property
    def queues(self) -> list[ControlTable]:
        """The control tables of the queues between its operators, of those it shares too."""
        operators = (o for working in self._working for o in working.operators)
        return [queue.look() for operator in operators for queue in operator.queues]

    def queues_of(self, step: Step) -> list[ControlTable]:
        """The control tables of the queues in front of an operator, of its own or shared; none where messages go straight on."""
        operators = (o for w in self._working if w.circuit.order is not None for o in w.operators if o.step is step)
        return [queue.look() for operator in operators for queue in operator.queues]

    @property
    def queue_bytes(self) -> dict[int, int]:
        """Bytes that wait in front of operators: by whose they are, its own or those of parts it shares."""
        return {id(c): c.queues.bytes for c in self._circuits}

    @property
    def rates(self) -> Rates:
        """What it has measured of its streams."""
        if self._at_its_end is not None:
            return self._at_its_end
        found = measured(self.graph)
        made = Rates(self._rates(), found.passed, found.values)
        if self.ended is not None:  # whenever another query starts it is asked for that
            self._at_its_end = made
        return made

    def _rates(self) -> dict[str, float]:
        """Rows per second of the streams' own time."""
        rows = {f.stream.name: f.control.rows_in for f in self.feeds}
        spans = list(self._spans.items())
        return {n: rows[n] * 1e6 / (last - first) for n, (first, last) in spans if last > first}

    @property
    def state_bytes(self) -> int:
        """Bytes of operator state; of operators it shares, only if it is the first of those that do."""
        own = (s for s in self.graph.steps if s.part is None or s.part.names[0] == self.name)
        referring = sum(rows.control.bytes for rows in self._referring.values())
        return sum(s.control.bytes for s in own) + referring if self.running else 0

    def named_late(self) -> list[tuple[str, pl.DataFrame]]:
        """Late rows of the batch under way, under the names of the derived streams they went through."""
        return [
            (s.operator.stream, s.operator.late)
            for s in self.graph.steps
            if isinstance(s.operator, Named) and s.operator.late is not None
        ]


def _bytes(message: Message) -> int:
    return int(message.frame.estimated_size()) if isinstance(message, Batch) else 0


def _spending(query: BoundQuery, graph: Graph) -> Spending | None:
    fast = [s.source.replayable and parse_rate(s.options.get("rate", "max")) is None for s in streams(query.plan)]
    for step in graph.steps:
        if query.budget is not None and isinstance(step.operator, Budgeted):
            return Spending(step, step.operator, query.budget, query.weight, any(fast))
    return None
