"""One running query: its operators, what flows through them, what becomes of answers, late rows and errors.

All methods but the properties are called by the engine's thread alone.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import polars as pl

from jupyter_stream.core import messages
from jupyter_stream.core.control import ControlTable
from jupyter_stream.core.coverage import WHOLE, Coverage
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
from jupyter_stream.core.schema import Field, Schema
from jupyter_stream.core.snapshot import State
from jupyter_stream.core.table import TableRows
from jupyter_stream.core.time import MAX_TIME, MIN_TIME
from jupyter_stream.engine.circuit import Circuit
from jupyter_stream.engine.explain import explain, measured
from jupyter_stream.engine.feed import Feed
from jupyter_stream.engine.progress import Boundary
from jupyter_stream.engine.referring_rows import ReferringRows, judged_in
from jupyter_stream.engine.relation import Relation
from jupyter_stream.engine.results import Results
from jupyter_stream.engine.shared import Sharer, Tap
from jupyter_stream.engine.side import SideStream
from jupyter_stream.engine.spending import Budgeted, Spending
from jupyter_stream.operators.estimated import Estimated
from jupyter_stream.operators.graph import Entry, Graph, build
from jupyter_stream.operators.named import Named
from jupyter_stream.operators.planned import integer_time
from jupyter_stream.operators.protocol import Foresees
from jupyter_stream.operators.relation_join import RelationJoin
from jupyter_stream.operators.slots import Slots
from jupyter_stream.operators.table_lookup import TableLookup
from jupyter_stream.plan.catalog import StreamDef
from jupyter_stream.plan.keyed import reach
from jupyter_stream.plan.logical import Query, TableRelation, streams, walk
from jupyter_stream.plan.needs import needed_columns, reads_row_numbers
from jupyter_stream.plan.promising import COVERAGE
from jupyter_stream.plan.rates import Rates, together
from jupyter_stream.plan.relations import by_extents
from jupyter_stream.sources.pacing import parse_rate

log = logging.getLogger(__name__)

_BACKLOG_ROWS = 2_000_000

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
        query: Query,
        keep: int,
        on_missed: OnMissed,
        on_failed: OnFailed,
        sides: Mapping[str, SideStream],
    ) -> None:
        self.sides = sides
        self.name = name
        self.query = query
        self.graph: Graph = build(query)
        self.circuit = Circuit(self._answer, self._aside)
        self.feeds: dict[Feed, list[Entry]] = {}
        """What it reads, and where that enters operators of its own."""
        self.taps: list[Tap] = []
        """Parts it shares with other queries."""
        self.spending = _spending(query, self.graph)
        """Of a query with a budget."""
        schema = query.plan.schema
        if self.spending is not None:
            schema = Schema((*schema.fields, Field(COVERAGE, pl.Float64())))
        integer = integer_time(query.plan)
        self.relation = Relation(schema, keep, integer, query.order) if query.relation else None
        estimates = any(isinstance(step.operator, Estimated) for step in self.graph.steps)
        self.results = self.relation or Results(schema, keep, query.emit.mode != "final" or estimates)
        self.listeners: list[Callable[[pl.DataFrame], None]] = []
        self.state: State = "waiting"
        self.error: str | None = None
        self.paused = False
        self.started = time.time()
        self.ended: float | None = None
        self.late = 0
        self.failed_rows = 0
        self.ticks = 0
        self.late_frames: deque[pl.DataFrame] = deque(maxlen=10_000)
        self.error_frames: deque[pl.DataFrame] = deque(maxlen=10_000)
        self.revised = query.emit.mode == "changes" and not query.relation
        self._on_missed = on_missed
        self._on_failed = on_failed
        self._backlog: deque[Callable[[], None]] = deque()
        self._backlog_rows = 0
        self._boundaries: dict[Feed, list[Boundary]] = {}
        self._ends: list[tuple[Feed, Message]] = []  # inputs that end when operators that rest have said all
        self._reached: dict[StreamDef, int] = {e.stream: MIN_TIME for e in self.graph.entries}
        self._referring: dict[Feed, ReferringRows] = {}  # rows that may turn out to refer to nothing
        self._listed = np.empty(0, np.int64)  # late rows of the batch under way that have been told of
        self._newest = MIN_TIME  # for a relation: the last time of its input
        self._spans: dict[str, tuple[int, int]] = {}  # the earliest and latest time of each stream
        self.sink = ControlTable("result")
        self.changes = 0
        revised = any(isinstance(n, TableRelation) and n.table.retroactive for n in walk(query.plan))
        self._follows = revised and not by_extents(query.plan)
        self.done = threading.Event()

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
            feed.ingest.clusters.horizon = max(feed.ingest.clusters.horizon, reach(self.query.plan))

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
        return self.running and not self._follows and not self._backlog

    @property
    def running(self) -> bool:
        """Whether more answers may come."""
        return self.ended is None

    @property
    def full(self) -> bool:
        """Whether it can hold no more input while it is paused."""
        return self._backlog_rows >= _BACKLOG_ROWS

    # -- input -------------------------------------------------------------------------------------------------------

    def accept(self, feed: Feed, message: Message) -> None:
        """A message of a feed; held back while paused."""
        if not self.running or (isinstance(message, Tick) and not self.revised):
            return
        if self.paused:
            own = bool(self.feeds[feed])
            if (
                isinstance(message, Batch) and not own and feed not in self._referring
            ):  # others' operators take the rows
                message = message.with_frame(message.frame.select(TS))
            self._hold_back(
                lambda: self.accept(feed, message), message.rows if isinstance(message, Batch) and own else 0
            )
            return
        self._run(feed, message)

    def hear(self, feed: Feed, tap: Tap, message: Message) -> None:
        """A message of a part it shares; held back while paused."""
        if not self.running:
            return
        if self.paused:
            self._hold_back(lambda: self.hear(feed, tap, message), message.rows if isinstance(message, Batch) else 0)
            return
        self.circuit.feed = feed
        self._guarded(lambda: self.circuit.deliver(tap.target, message))

    def no_more(self, tap: Tap) -> None:
        """A part it shares has said all; held back while paused."""
        if not self.running:
            return
        if self.paused:
            self._hold_back(lambda: self.no_more(tap), 0)
            return
        tap.ended = True
        self._end()

    def foresee(self, feed: Feed, batch: Batch) -> None:
        """Have its operators work out what they can of rows that come next. Called by another thread than the engine's."""
        for entry in self.feeds[feed]:
            if entry.target is not None and isinstance(operator := entry.target.step.operator, Foresees):
                # what fails fails again when the rows come, where it is seen to
                with contextlib.suppress(Exception):
                    operator.foresee(entry.target.port, batch)

    def _hold_back(self, later: Callable[[], None], rows: int) -> None:
        self._backlog.append(later)
        self._backlog_rows += rows

    def pause(self) -> None:
        """Hold input back until `resume`."""
        self.paused = True
        self.changes += 1

    def resume(self) -> None:
        """Catch up with what was held back."""
        self.paused = False
        self.changes += 1
        backlog, self._backlog, self._backlog_rows = self._backlog, deque(), 0
        for take in backlog:
            take()

    @property
    def unfinished(self) -> bool:
        """Whether an operator has more to say, which `go_on` has it say between two batches."""
        return bool(self.circuit.resting) and not self.paused and self.running

    def go_on(self) -> None:
        """Have the operator that rests longest say more."""
        self._guarded(self.circuit.go_on)
        if not self.circuit.resting:
            ends, self._ends = self._ends, []
            for of_feed, message in ends:
                self._run(of_feed, message)

    @property
    def waits_for_idle_time(self) -> bool:
        """Whether it has put work off that it may do when nothing comes."""
        waits = self.spending is not None and self.spending.operator.left > 0
        return waits and self.running and not self.paused and not self.circuit.resting

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

    def _run(self, feed: Feed, message: Message) -> None:
        if isinstance(message, Punctuation) and message.value == MAX_TIME and self.circuit.resting:
            self._ends.append((feed, message))
            return
        if isinstance(message, Batch):
            self._listed = np.empty(0, np.int64)
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
                    self.relation.end(self._newest)  # what follows are expirations
        if isinstance(message, Batch) and message.rows:
            oldest, newest = message.span
            self._newest = max(self._newest, newest)
            first, last = self._spans.get(feed.stream.name, (oldest, newest))
            self._spans[feed.stream.name] = min(first, oldest), max(last, newest)
        self._guarded(lambda: self._enter(feed, message))

    def _enter(self, feed: Feed, message: Message) -> None:
        self.circuit.feed = feed
        if isinstance(message, Missed):  # rows that broke a constraint, those among them that missed no answer too
            self._note_missed(message)
            return
        for entry in self.feeds[feed]:
            self.circuit.deliver(entry.target, message)

    def _guarded(self, work: Callable[[], None]) -> None:
        try:
            if self.spending is None:
                work()
            else:
                self.spending.work(work)
        except Exception as error:
            log.exception("query %s failed", self.name)
            self.finish("failed", f"{type(error).__name__}: {error} (a fault of ours; the log has the details)")
            return
        self._end()

    def _end(self) -> None:
        if not self.circuit.resting and self._all_reached and all(tap.ended for tap in self.taps):
            self.finish("finished")

    @property
    def _all_reached(self) -> bool:
        """Whether all its inputs have ended."""
        return all(v == MAX_TIME for v in self._reached.values())

    @property
    def low_watermark(self) -> int:
        """The least punctuation of its inputs."""
        return min(self._reached.values(), default=MIN_TIME)

    def _stand_still(self) -> None:
        """A stream has ended, and what a retroactive table says of its rows is still to come: nothing expires any more."""
        if self._all_reached:
            self._tell_all(Punctuation(self._newest + 1))
            self.state = "running"  # its answer stands, even an empty one
            self.changes += 1
            self.done.set()

    def table_changed(self, table: TableRows, at: int) -> None:
        """A table it reads holds something else from that time on."""
        after = self.done.is_set()  # its streams have ended: time stands still, but for these changes
        for step in self.graph.steps:
            operator = step.operator
            if not isinstance(operator, TableLookup | RelationJoin) or operator.table is None:
                continue
            if operator.table.follows(table):
                operator.changed(self._newest + 1 if after else at)
        if after:
            self._newest += 1
            self._tell_all(Punctuation(self._newest + 1))

    def _tell_all(self, message: Message) -> None:
        for feed, entries in self.feeds.items():
            self.circuit.feed = feed
            for entry in entries:
                self.circuit.deliver(entry.target, message)

    # -- out of the operators ----------------------------------------------------------------------------------------

    def _aside(self, message: Missed | Failed) -> None:
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
        if len(self._boundaries[feed]) > 1 or feed.ingest.clusters is not None:
            new = np.isin(message.late_ids, self._listed, invert=True)
            self._listed = np.append(self._listed, message.late_ids)
            message = Missed(message.late_ids[new], None if message.missed is None else message.missed[new])
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
        for listener in self.listeners:
            listener(added)

    # -- the end -----------------------------------------------------------------------------------------------------

    def finish(self, state: State, error: str | None = None) -> None:
        """No more answers will come."""
        if not self.running:
            return
        self.detach(state)
        self.error = error
        self.ended = time.time()
        self._backlog.clear()
        self._backlog_rows = 0
        self.circuit.resting.clear()
        self._ends.clear()
        for rows in self._referring.values():
            rows.close()
        self.results.close()
        self.state = state  # who reads this finds all the rest
        self.changes += 1
        self.done.set()

    # -- for people --------------------------------------------------------------------------------------------------

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
        return explain(self.graph, {f.stream.name: f.control for f in self.feeds}, self._rates())

    @property
    def rates(self) -> Rates:
        """What it has measured of its streams."""
        return together((self._rates(), measured(self.graph)))

    def _rates(self) -> Rates:
        """Rows per second of the streams' own time."""
        rows = {f.stream.name: f.control.rows_in for f in self.feeds}
        spans = list(self._spans.items())
        return Rates({n: rows[n] * 1e6 / (last - first) for n, (first, last) in spans if last > first})

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


def _spending(query: Query, graph: Graph) -> Spending | None:
    fast = [s.source.replayable and parse_rate(s.options.get("rate", "max")) is None for s in streams(query.plan)]
    for step in graph.steps:
        if query.budget is not None and isinstance(step.operator, Budgeted):
            return Spending(step, step.operator, query.budget, query.weight, any(fast))
    return None
