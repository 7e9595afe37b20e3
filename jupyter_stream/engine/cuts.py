"""When a query's cuts are taken, and what they hold (`checkpoints` says what a cut is).

A cut is due every few seconds, when much waits for a sink, and at the end. Then the query is given no more rows until what it has
is done with, the cut is taken between two batches, and a thread of its own brings it to disk. All but that thread's work is done
by the engine's.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from jupyter_stream.checkpoints import state
from jupyter_stream.checkpoints.arena import Arena
from jupyter_stream.checkpoints.store import Store
from jupyter_stream.core import logs, threads
from jupyter_stream.core.memory import ASIDE
from jupyter_stream.core.newest_frames import NO_LIMIT, NewestFrames
from jupyter_stream.core.snapshot import State
from jupyter_stream.core.table import TableRows
from jupyter_stream.engine.feed import Feed, Place
from jupyter_stream.engine.side_streams import SideStream
from jupyter_stream.errors import QueryError
from jupyter_stream.plan.catalog import StreamDef
from jupyter_stream.sinks.held_writer import HeldWriter, Pending
from jupyter_stream.sinks.writer import SinkWriter

if TYPE_CHECKING:
    from jupyter_stream.engine.pipeline import Pipeline

log = logs.of(__name__)

EVERY: Final = 10.0
"""Seconds between cuts unless somebody says otherwise."""
_PATIENCE: Final = 5.0
"""Seconds a query that is stopped is waited for until nothing is under way in it."""
_AGAIN: Final = 1.0
"""Seconds until a cut is tried again that could not be brought to disk."""


@dataclass
class CutRecord:
    """What a cut holds beside what operators keep.

    Attributes:
        places: how far each source was taken.
        rejected: records of each that were no rows.
        pending: what each sink is to commit.
        facts: of the query itself, by attribute.
        tables: what the tables it reads held.
        ended: whether its sources had ended, and all was answered.
    """

    places: Sequence[Place] = ()
    rejected: Sequence[int] = ()
    pending: Sequence[Pending] = ()
    facts: dict[str, Any] = field(default_factory=dict)
    tables: Sequence[pl.DataFrame] = ()
    ended: bool = False


class KeptSideStreams:
    """What a query has added to `late(name)` and `errors(name)`: these outlive no process.

    Args:
        streams: the side streams it may add to, by what is told and of which stream.
    """

    def __init__(self, streams: dict[tuple[str, str], SideStream]) -> None:
        self.streams = streams
        self.kept = {of: NewestFrames(NO_LIMIT, ASIDE) for of in streams}

    def note(self, kind: str, name: str, rows: pl.DataFrame) -> None:
        """Rows that were added."""
        kept = self.kept.get((kind, name.lower()))
        if kept is not None:
            kept.add(rows)

    def restore(self) -> None:
        """Add to them once more what was added in another process."""
        for of, side in self.streams.items():
            for frame in self.kept[of]:
                side.add(frame)


class Cuts:
    """The cuts of one query.

    Args:
        store: where they are kept.
        every: seconds between two.
        tables: those the query reads, with their rows.
        sides: what it adds to side streams.

    Attributes:
        last: when the last cut was on disk, seconds since the epoch; None before the first.
        pause: seconds the last one stopped the query for.
        bytes: bytes of the last one.
        trouble: why there is none, a sentence; None while all is well.
        ending: the state the query is to end in with the next cut; None while it goes on.
        done: set when no cut will come, and the last is on disk.
    """

    def __init__(self, store: Store, every: float, tables: Sequence[TableRows], sides: KeptSideStreams) -> None:
        self.store = store
        self.sides = sides
        self.last: float | None = None
        self.pause = 0.0
        self.bytes = 0
        self.trouble: str | None = None
        self.ending: State | None = None
        self._every = every
        self._tables = tables
        self._arena = Arena()
        self._taken: state.TakenState | None = None
        self._record = CutRecord()
        self._writing = self._closed = self._released = False
        self._due = time.monotonic() + every
        self._patience: float | None = None
        self.done = threads.Event()
        self._mark: object = None

    @property
    def held(self) -> int:
        """Bytes of memory that cuts are copied to."""
        return self._arena.bytes

    # -- the beginning -----------------------------------------------------------------------------------------------

    def begin(self, pipeline: Pipeline, wake: Callable[[], None]) -> bool:
        """Take up the last cut, before the sources are read. Returns whether there is more to do.

        Raises:
            QueryError: it can't be taken up.
        """
        self._pipeline = pipeline
        self._wake = wake
        self._feeds = list(pipeline.feeds)
        outside = (StreamDef, TableRows, SinkWriter, Feed, type(pipeline))
        self._anchors = state.Anchors([self._record, pipeline, self.sides.kept, *pipeline.keeps], outside)
        kept = self.store.read()
        if kept is not None:
            self._take_up(kept)
        return not self._record.ended

    def _take_up(self, kept: state.TakenState) -> None:
        try:
            state.put_back(self._anchors, kept)
        except state.OtherState as error:
            raise QueryError(
                f"the checkpoint {self.store.path} was written by a version of jupyter-stream that keeps this query's state "
                f"otherwise ({error})",
                hint="Go on with that version, or add --checkpoint-reset to begin anew.",
            ) from error
        record, pipeline = self._record, self._pipeline
        for name, value in record.facts.items():
            setattr(pipeline, name, value)
        for feed, place, rejected in zip(self._feeds, record.places, record.rejected, strict=True):
            feed.go_on_at(place)
            feed.rejected = rejected
        for writer, pending in zip(self._writers, record.pending, strict=True):
            writer.begin_again(pending)
        for table, rows in zip(self._tables, record.tables, strict=True):
            table.change(lambda _, rows=rows: rows)  # type: ignore[misc]  # rows is given by nobody else
        self.sides.restore()

    @property
    def _writers(self) -> list[HeldWriter]:
        return [o for o in self._pipeline.outboxes if isinstance(o, HeldWriter)]

    # -- when --------------------------------------------------------------------------------------------------------

    @property
    def wanted(self) -> bool:
        """Whether a cut is to be taken as soon as nothing is under way."""
        if self._closed or self._writing:
            return False
        if self.ending is not None or any(w.wants_cut for w in self._writers):
            return True
        return time.monotonic() >= self._due and self._now() != self._mark

    @property
    def holds_back(self) -> bool:
        """Whether the query is to be given no more rows until the cut is taken."""
        return self.wanted and all(f.ahead is None for f in self._feeds)

    def look(self) -> bool:
        """Whether there is something to do for the engine's thread: `go_on`."""
        if not self.wanted or not self._pipeline.running:
            return False
        return self._quiet or self._given_up

    @property
    def _quiet(self) -> bool:
        pipeline = self._pipeline
        at_rest = not (pipeline.busy or pipeline.backlog or pipeline.unfinished_steps)
        return at_rest and all(f.ahead is None for f in self._feeds) and not any(w.open for w in self._writers)

    @property
    def _given_up(self) -> bool:
        """Whether a query that is stopped doesn't come to rest, as one that is paused: the cut before stands."""
        return self.ending == "stopped" and self._patience is not None and time.monotonic() > self._patience

    def end(self, how: State) -> None:
        """End the query so with the next cut."""
        self.ending = self.ending or how
        self.store.leave()
        if self.ending == "stopped" and self._patience is None:
            self._patience = time.monotonic() + _PATIENCE
        self._wake()

    def go_on(self) -> None:
        """Take the cut that is due; the query ends with it where it is to."""
        ending = self.ending
        if self._quiet and (ending == "finished" or self._now() != self._mark):
            self.take(ended=ending == "finished")
        if ending is not None:
            self._pipeline.finish(ending)

    # -- taking one --------------------------------------------------------------------------------------------------

    def take(self, *, ended: bool = False) -> None:
        """Take a cut, and have it brought to disk. Raises `state.Unsaved` where something can't be written."""
        began = time.perf_counter()
        self._due = time.monotonic() + self._every
        mark = self._now()
        record, pipeline = self._record, self._pipeline
        record.places = [f.place for f in self._feeds]
        record.rejected = [f.rejected for f in self._feeds]
        record.pending = [w.cut(last=ended) for w in self._writers]
        record.facts = pipeline.facts
        record.tables = [t.frame for t in self._tables]
        record.ended = ended
        try:
            self._taken = self._locked(list(self._locks()))
        finally:
            record.places, record.pending, record.tables = (), (), ()
        self._mark = mark
        self.pause = time.perf_counter() - began
        self._writing = True
        threads.begin(f"jupyter-stream checkpoint {pipeline.name}", self._write, self._died)

    def _now(self) -> object:
        """What differs where anything has come since, or was answered."""
        pipeline = self._pipeline
        of_feeds = [(f.control.rows_in, f.rejected) for f in self._feeds]
        of_tables = [id(t.frame) for t in self._tables]
        waiting = [w.bytes for w in self._writers]
        return of_feeds, of_tables, waiting, pipeline.results.version, pipeline.late, pipeline.failed_rows

    def _locked(self, locks: Sequence[Any]) -> state.TakenState:
        """Its state, with these locks held. Each is taken itself: an interrupt could leave those of an `ExitStack` held."""
        if not locks:
            return state.taken(self._anchors, self._arena)
        with locks[0]:
            return self._locked(locks[1:])

    def _locks(self) -> Iterator[Any]:
        """Locks of what other threads may change meanwhile: answers that are looked at."""
        for _, holder in self._anchors.holders():
            lock = getattr(holder, "_lock", None)
            if hasattr(lock, "acquire"):
                yield lock

    # -- the thread that brings it to disk ---------------------------------------------------------------------------

    def _write(self) -> None:
        taken, self._taken = self._taken, None
        assert taken is not None
        try:
            self.store.write(taken)
        except OSError as error:
            self._failed(error.strerror or str(error))
        else:
            del taken
            if self.ending is None:
                with suppress(MemoryError):  # the next cut takes what it needs
                    self._arena.make_ready()
            self.last, self.bytes, self.trouble = time.time(), self.store.last, None
            self._done(HeldWriter.release)

    def _died(self, error: BaseException | None) -> None:
        self._failed(repr(error))

    def _failed(self, why: str) -> None:
        self.trouble = f"The checkpoint {self.store.path} can't be written to: {why}. It is tried again."
        log.warning("query %s: %s", self._pipeline.name, self.trouble)
        self._mark = None
        self._due = time.monotonic() + _AGAIN
        self._done(HeldWriter.withdraw)

    def _done(self, tell: Callable[[HeldWriter], None]) -> None:
        for writer in self._writers:
            tell(writer)
        self._pipeline.changes += 1
        self._writing = False
        self._wake()
        if self._closed:
            self._release()

    # -- the end -----------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """The query has ended."""
        self._closed = True
        self.store.leave()
        if not self._writing:
            self._release()

    def _release(self) -> None:
        if not self._released:
            self._released = True
            self.store.release()
            self.done.set()


def kept_of(runners: Iterable[object]) -> list[Cuts]:
    """The cuts of those queries that have a checkpoint."""
    found = (getattr(runner, "cuts", None) for runner in runners)
    return [cuts for cuts in found if cuts is not None]


__all__ = ["EVERY", "CutRecord", "Cuts", "KeptSideStreams", "kept_of"]
