"""The handles of recordings and replays: what `%stream record` and `%stream replay` give. Not for the file or the shuffling."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from jupyter_stream.core import logs, threads
from jupyter_stream.core.messages import Failed
from jupyter_stream.core.schema import Schema
from jupyter_stream.core.time import parse_duration, show_duration, show_span
from jupyter_stream.engine.error_rows import as_errors
from jupyter_stream.engine.pipeline import Pipeline
from jupyter_stream.engine.recorder import Recorder
from jupyter_stream.engine.side_streams import SideStream
from jupyter_stream.errors import QueryError, UnsupportedError
from jupyter_stream.plan.catalog import DerivedStream, Entry, PunctuationColumn, StreamDef
from jupyter_stream.plan.logical import BoundQuery, Derived, Emit, Scan, streams, walk
from jupyter_stream.plan.needs import counts_arrivals
from jupyter_stream.plan.time_of import integer_time
from jupyter_stream.secrets import hidden
from jupyter_stream.session import history
from jupyter_stream.session.names import no_such
from jupyter_stream.session.proof import Proof, compare
from jupyter_stream.session.query import Query
from jupyter_stream.sources.recording import PUNCTUATION, ArrivalOrder, RecordedSource, as_recorded, shuffled
from jupyter_stream.sources.recording_file import About, Recording, RecordingWriter, load

if TYPE_CHECKING:
    from jupyter_stream.session.session import Session

log = logs.of(__name__)

_ALL = 2**62
"""Result rows kept of a replay: a proof is about all of them."""
_WHOLE = 10.0
"""Seconds a recording that was told to stop is waited for until another begins: both write the same file."""
_OUTSIDE = re.compile(r"[/\\\x00-\x1f]|^\.+")
"""What a stream may be called and a file in the working folder may not."""
_SHOWN = 5
"""Differing rows a report shows."""


class RecordingHandle:
    """A recording under way, or done. All methods may be called from any thread.

    Attributes:
        name: its name.
        path: the file, which is there once the recording is done.
    """

    def __init__(self, session: Session, recorder: Recorder, seconds: float | None) -> None:
        self._session = session
        self._recorder = recorder
        self.name = recorder.name
        self.path: Path = recorder.writer.path
        self._told_to_stop = False
        self._timer = None if seconds is None else threading.Timer(seconds, self.stop)
        if self._timer is not None:
            self._timer.daemon = True
            self._timer.start()

    @property
    def rows(self) -> int:
        """Rows kept so far."""
        return self._recorder.writer.rows

    @property
    def status(self) -> str:
        """`recording`, `done` or `failed`."""
        writer = self._recorder.writer
        if not writer.done.is_set():
            return "recording"
        return "failed" if writer.error or self._recorder.error else "done"

    def stop(self) -> None:
        """Record no more. Returns at once; `wait` says when the file is whole."""
        self._told_to_stop = True
        self._session.engine.submit(lambda: self._session.engine.end(self._recorder))

    def leave(self) -> bool:
        """Where it was told to stop, wait until its file is whole; returns whether it records no more."""
        if self._told_to_stop:
            self._recorder.writer.done.wait(_WHOLE)
        return self.status != "recording"

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the file is whole: until the source ends, the time is over, or it is stopped.

        Returns:
            Whether it is.

        Raises:
            QueryError: it failed; the message says why.
        """
        done = self._recorder.writer.done.wait(timeout)
        error = self._recorder.writer.error or self._recorder.error
        if done and error:
            raise QueryError(f"recording {self._recorder.stream.name} failed: {error}")
        if done and self._timer is not None:
            self._timer.cancel()
        return done

    def __repr__(self) -> str:
        error = self._recorder.writer.error
        told = f", {self.rows:,} rows in {self.path}" if error is None else f": {error}"
        return f"<recording of {self._recorder.stream.name}: {self.status}{told}>"


@dataclass(frozen=True, slots=True)
class _ReplayedQuery:
    """One query replayed in one order, or in two."""

    recorded: Query
    shuffled: Query | None


class Replay:
    """Queries run once more on a recording, in its order and another. All methods may be called from any thread.

    Attributes:
        stream: the stream recorded.
        queries: the handles, by name: `NAME_recorded`, and `NAME_shuffled` with a shuffle.
    """

    def __init__(
        self, recording: Recording, orders: Sequence[ArrivalOrder], runs: Mapping[str, _ReplayedQuery], within: int
    ) -> None:
        self.stream = recording.about.stream
        self._runs = runs
        self._orders = orders
        self._within = within
        self._rows, self._late = recording.rows.height, recording.late
        self.queries: dict[str, Query] = {
            q.name: q for run in runs.values() for q in (run.recorded, run.shuffled) if q is not None
        }
        self._proofs: list[Proof] = []
        self._error: str | None = None
        self._done = threads.Event()
        self._callbacks: list[Callable[[], None]] = []
        self._lock = threading.Lock()
        threads.begin(f"jupyter-stream replay of {self.stream}", self._finish, self._ended)

    def _ended(self, error: BaseException | None) -> None:
        """Its thread ended in the middle of its work."""
        self._error = self._error or f"the replay's thread ended: {error!r}"
        self._done.set()

    def _finish(self) -> None:
        try:
            for query in self.queries.values():
                query.wait()
            if all(q.status in ("finished", "running") for q in self.queries.values()):
                self._proofs = [p for name, run in self._runs.items() for p in _proofs(name, run)]
        except BaseException as error:
            self._error = str(error) or type(error).__name__
        with self._lock:
            self._done.set()
        for callback in self._callbacks:
            try:
                callback()
            except BaseException:
                log.exception("a callback of a replay failed")

    def on_end(self, callback: Callable[[], None]) -> None:
        """Call back once all is compared: in a thread of its own, or now if that is so already."""
        with self._lock:
            if not self._done.is_set():
                self._callbacks.append(callback)
                return
        callback()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until all queries have answered and are compared.

        Returns:
            Whether that is so.

        Raises:
            QueryError: a query failed; the message says why.
        """
        done = self._done.wait(timeout)
        if done and self._error is not None:
            raise QueryError(self._error)
        return done

    def stop(self) -> None:
        """End it; nothing is compared then. Returns at once."""
        for query in self.queries.values():
            query.stop()

    @property
    def proofs(self) -> list[Proof]:
        """What was compared; empty before the end, and without a shuffle."""
        return list(self._proofs)

    @property
    def equal(self) -> bool | None:
        """Whether all answers are equal; None while that is not known, and without a shuffle."""
        return all(p.equal for p in self._proofs) if self._proofs else None

    def report(self) -> str:
        """What was replayed, what was compared, and the first rows that differ."""
        lines = [f"{self.stream}: {self._rows:,} rows replayed, {self._late:,} of them late."]
        if len(self._orders) > 1:
            order = self._orders[1]
            lines += [
                f"Shuffled within {show_duration(self._within)}: {order.moved:,} rows come at another place, by up to "
                f"{show_span(order.furthest)}.",
                "The punctuations stay, and the late rows stay late.",
            ]
        if self._error is not None:
            return "\n".join([*lines, self._error])
        if not self._done.is_set():
            return "\n".join([*lines, f"Running: {', '.join(self.queries)}."])
        if not self._proofs:
            how = "Stopped: nothing is compared." if len(self._orders) > 1 else f"Done: {', '.join(self.queries)}."
            return "\n".join([*lines, how])
        for proof in self._proofs:
            lines.append(repr(proof))
            if not proof.equal:
                lines += ["  " + line for line in _table(proof)]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return self.report()

    def _repr_html_(self) -> str:
        return f"<pre style='margin:0;white-space:pre-wrap'>{escape(self.report())}</pre>"


def _table(proof: Proof) -> list[str]:
    """The first differing rows, lined up, those of both runs that belong together next to each other."""
    frame = proof.differing
    plain = [n for n, t in frame.schema.items() if n != "run" and not t.is_nested() and not t.is_float()]
    rows = [list(frame.columns), *([str(v) for v in row] for row in frame.sort([*plain, "run"]).head(_SHOWN).rows())]
    widths = [max(len(row[i]) for row in rows) for i in range(frame.width)]
    lines = ["  ".join(v.ljust(w) for v, w in zip(row, widths, strict=True)).rstrip() for row in rows]
    more = frame.height - _SHOWN
    return [*lines, f"and {more:,} more"] if more > 0 else lines


def _proofs(name: str, run: _ReplayedQuery) -> list[Proof]:
    recorded, other = run.recorded, run.shuffled
    if other is None:
        return []
    relation = recorded._pipeline.query.relation
    found = [compare(name, "answers", recorded.to_polars(), other.to_polars())]
    if relation:
        found.append(compare(name, "changes", recorded.changes(), other.changes()))
    if recorded.late.height or other.late.height:
        found.append(compare(name, "late rows", recorded.late, other.late))
    return found


# -- how they are started -----------------------------------------------------------------------------------------------


def record(
    session: Session, name: str, path: str | Path | None, seconds: float | None, overwrite: bool
) -> RecordingHandle:
    """Start a recording; `Session.record` says how."""
    entry = session.catalog.find(name)
    if entry is None and name in session.queries:
        raise QueryError(f"{name} is a query, and only streams can be recorded", hint="Record a stream it reads.")
    if entry is None:
        raise no_such(name, session.catalog, session.queries)
    if not isinstance(entry, StreamDef):
        raise QueryError(
            f"{entry.name} is a derived stream, and its rows come from {', '.join(_base(entry))}",
            hint="Record that stream, and replay the queries on it.",
        )
    if entry.table is not None:
        raise QueryError(f"{entry.name} is a table, and only streams can be recorded", hint="Record a stream.")
    if seconds is not None and seconds <= 0:
        raise QueryError("a recording must be longer than 0 seconds", hint="Write --for '2 minutes'.")
    handle = f"{entry.name}_recording"
    former = session.recordings.get(handle)
    if former is not None and not former.leave():
        raise QueryError(f"{entry.name} is being recorded already", hint=f"%stream stop {handle} ends that.")
    file = Path(path) if path is not None else Path(f"{_OUTSIDE.sub('_', entry.name)}.parquet")
    everything = BoundQuery(Scan(entry, entry.schema), Emit(), f"SELECT * FROM {entry.name}", None, (), relation=False)
    about = About(entry.name, hidden(entry.text), entry.time.column, entry.time.kind)
    recorder = Recorder(
        handle, everything, entry, lambda: RecordingWriter(file, about, session.engine.signal, overwrite=overwrite)
    )
    session.engine.launch([recorder])
    return RecordingHandle(session, recorder, seconds)


def replay(
    session: Session, path: str | Path, names: Sequence[str], speed: float | None, shuffle: str | None, seed: int
) -> Replay:
    """Run queries once more on a recording; `Session.replay` says how."""
    if speed is not None and not speed > 0:
        raise QueryError(
            "the speed must be a number above 0", hint="Write --speed 10 for ten times as fast as recorded."
        )
    within = None if shuffle is None else parse_duration(shuffle)
    if shuffle is not None and not within:
        raise QueryError(f"{shuffle!r} is not a length of time", hint="Write --shuffle 30s, or '2 minutes'.")
    recording = load(Path(path))
    stream = recording.about.stream
    chosen = [session.query(n) for n in names] if names else [q for q in session.queries.values() if _asks(q, stream)]
    if not chosen:
        raise QueryError(
            f"no query here reads {stream}",
            hint="Start the queries first: a replay runs them once more, on the recording.",
        )
    orders = [as_recorded(recording)] + ([] if within is None else [shuffled(recording, within, seed)])
    past: dict[StreamDef, list[StreamDef]] = {}
    runs: dict[str, _ReplayedQuery] = {}
    starting: list[Pipeline] = []
    for query in chosen:
        bound = query._pipeline.query
        read = _stream(query, stream)
        _check(query.name, bound, read, recording, within)
        if read not in past:
            past[read] = [_past(read, order, speed) for order in orders]
        handles = []
        for suffix, other in zip(("recorded", "shuffled"), past[read], strict=False):
            pipeline = _pipeline(session, f"{query.name}_{suffix}", bound, other)
            starting.append(pipeline)
            handles.append(Query(session, pipeline))
        runs[query.name] = _ReplayedQuery(handles[0], handles[1] if within is not None else None)
    for pipeline in starting:
        former = session.queries.get(pipeline.name)
        if former is not None:
            former.stop()
    session.engine.launch(starting)
    made = Replay(recording, orders, runs, within or 0)
    session.queries.update(made.queries)
    return made


def _asks(query: Query, stream: str) -> bool:
    """Whether a query of the user's reads the stream."""
    replayed = any(isinstance(s.source, RecordedSource) for s in streams(query._pipeline.query.plan))
    return not replayed and any(s.name.lower() == stream.lower() for s in streams(query._pipeline.query.plan))


def _stream(query: Query, name: str) -> StreamDef:
    found = [s for s in streams(query._pipeline.query.plan) if s.name.lower() == name.lower()]
    if not found:
        raise QueryError(f"query {query.name} does not read {name}, which was recorded")
    return found[0]


def _check(name: str, bound: BoundQuery, stream: StreamDef, recording: Recording, within: int | None) -> None:
    rows = recording.rows.schema
    wrong = next((f for f in stream.schema if rows.get(f.name) != f.dtype), None)
    if wrong is not None:
        raise QueryError(
            f"the recording has no column {wrong.name} as {stream.name} declares it",
            hint="Record the stream again, or declare it as it was: its statement is in the recording.",
        )
    live = [s.name for s in streams(bound.plan) if s is not stream and not s.source.replayable]
    if live:
        raise UnsupportedError(
            f"query {name} also reads {', '.join(live)}, which is live and not in the recording",
            hint="Replay queries that read the recorded stream and replayable ones.",
        )
    if within is None:
        return
    if counts_arrivals(bound.plan):
        raise UnsupportedError(
            f"query {name} counts rows in the order they arrive, so a shuffle would change its answers",
            hint="Leave --shuffle out, or name the queries to replay.",
        )
    if stream.clustered is not None:
        raise UnsupportedError(
            f"{stream.name} is CLUSTERED by {stream.clustered.column}, which a shuffle would break",
            hint="Leave --shuffle out.",
        )


def _past(stream: StreamDef, order: ArrivalOrder, speed: float | None) -> StreamDef:
    """The stream, come once more: its punctuations are those recorded."""
    source = RecordedSource(stream.schema, order.rows, order.promised, speed, stream.source.units)
    time = replace(stream.time, kind="external", progress=PunctuationColumn(PUNCTUATION), idle_timeout=None)
    return replace(stream, time=time, source=source, options={})


def _pipeline(session: Session, name: str, bound: BoundQuery, stream: StreamDef) -> Pipeline:
    """A query over another run of its stream, which leaves `late(name)` and `errors(name)` alone."""
    bound = replace(bound, plan=history.reading(bound.plan, {stream.name: stream}))
    derived = {n.name for n in walk(bound.plan) if isinstance(n, Derived) and n.name is not None}
    names = derived | {s.name for s in streams(bound.plan)}
    sides = {n: SideStream(_late_schema(session, n), lambda: False) for n in names}

    def failed(_stream: str, pipeline: Pipeline, message: Failed) -> None:
        pipeline.error_frames.add(as_errors(message, integer_time(pipeline.query.plan)))

    return Pipeline(name, bound, _ALL, session.engine.missed, failed, sides)


def _late_schema(session: Session, name: str) -> Schema:
    return session.sides.of("late", name).schema


def _base(entry: Entry) -> list[str]:
    """The streams a derived one comes from."""
    query = entry.query if isinstance(entry, DerivedStream) else None
    return [s.name for s in streams(query.plan)] if isinstance(query, BoundQuery) else []
