"""A session: what was declared, what runs. All a front end needs: `execute(text)`."""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, Unpack

from jupyter_stream import functions, syntax
from jupyter_stream.aggregates.user import calling
from jupyter_stream.core import garbage, threads
from jupyter_stream.core.schema import Schema
from jupyter_stream.engine.cuts import kept_of
from jupyter_stream.engine.engine import Engine
from jupyter_stream.engine.failing import refuse_forks
from jupyter_stream.engine.side_streams import SideStream
from jupyter_stream.errors import QueryError
from jupyter_stream.plan.catalog import OpenSource
from jupyter_stream.schedulers import Scheduler
from jupyter_stream.schedulers import scheduler as policy_named
from jupyter_stream.session import name_statements, overview, recordings, stream_statements
from jupyter_stream.session.dry_run import checked, statement_by_statement
from jupyter_stream.session.figures import SessionFigures
from jupyter_stream.session.names import Parameters, SessionCatalog, no_such
from jupyter_stream.session.query import Explanation, Listing, Message, Query, Result
from jupyter_stream.session.run_options import RunOptions, RunWords, run_options
from jupyter_stream.session.side_streams import SideStreams
from jupyter_stream.session.sink_statements import SinkStatements
from jupyter_stream.session.starting_queries import StartingQueries
from jupyter_stream.session.statements import answer
from jupyter_stream.session.steering import Steering, bytes_of
from jupyter_stream.session.table_statements import TableStatements
from jupyter_stream.sources import open_source

KEEP = 1_000_000
"""Result rows kept for a query, unless `keep` says otherwise."""
_LONG: Final = 10_000
"""Characters from which a text makes so many nodes that looking for garbage among them takes long."""


class TextWords(RunWords, total=False):
    """How a text is run.

    Attributes:
        name: name of the query (of the first, if there are several); default `q1`, `q2`, ...
        first_line: number of the text's first line as the user sees it, for errors.
        paused: start queries paused.
        keep: result rows kept.
        parameters: values of `:name` and `{{ expr }}`, before those of the namespace.
        into: where the query's answers are written as well: a declared sink, an address such as `file://answers/`, or
            several of them.
    """

    name: str | None
    first_line: int
    paused: bool
    keep: int
    parameters: Mapping[str, object] | None
    into: str | Sequence[str]


class Session(Steering):
    """Declared streams and running queries.

    Args:
        namespace: variables for `frame://`, `python://`, `:name` and `{{ expr }}`; `globals()` of a notebook.
        scheduler: who is served and works next, by name (`SHOW SCHEDULERS` lists them) or a policy of your own; answers don't
            depend on it.
        memory: how much memory all queries together may use, such as `2 GB` or a number of bytes; by default a quarter of the
            machine's memory. A query that would need more waits, or ends and says why.
        to_end: whether sources that would wait for more, such as followed files and topics, end with what is there.
    """

    def __init__(
        self,
        namespace: MutableMapping[str, object] | None = None,
        scheduler: Scheduler | str | None = None,
        *,
        memory: str | int | None = None,
        to_end: bool = False,
    ) -> None:
        self.to_end = to_end
        self.files: str | None = None
        """Files that queries read in the place of their stream, if that is asked for: see `over`."""
        self.seen = True
        """Whether anybody may look at answers here that go to a sink; a job says no."""
        self.watch: Callable[[Query], None] | None = None
        """Told of each query that has no sink, before it starts."""
        self.namespace: MutableMapping[str, object] = namespace if namespace is not None else {}
        self._notes: list[Message] = []
        """What a statement has to say besides its result: streams that were declared by being named."""
        self.queries: dict[str, Query] = {}
        self.figures = SessionFigures(self.queries).sampler
        """Takes looks at queries, operators, queues or synopses."""
        self.recordings: dict[str, recordings.RecordingHandle] = {}
        self.sides = SideStreams(lambda name: self.catalog.find(name), self.queries)
        self.catalog = SessionCatalog(
            self.sides.of,
            self.namespace,
            lambda name, uri: stream_statements.of_address(self, name, uri),
            lambda entry: self._notes.append(stream_statements.declare(self, entry)),
        )
        self.guard: Callable[[str], None] = lambda name: None
        """Raises `QueryError` where a query can't have a name: in a notebook its handle would take the place of something."""
        self._lock = threading.RLock()
        policy = policy_named(scheduler) if isinstance(scheduler, str) else scheduler
        self.engine = Engine(self.sides.of, policy, None if memory is None else bytes_of(memory))
        threads.on_fork(self._forked)
        self.tables = TableStatements(self.catalog, self.engine, self.queries, self.open_source, lambda: self._lock)
        self.sinks = SinkStatements(self.catalog, self.engine, self.namespace, self.sides.of)

    # -- statements --------------------------------------------------------------------------------------------------

    def execute(self, text: str, **words: Unpack[TextWords]) -> list[Query | Listing | Explanation]:
        """Run statements; returns the handles of the queries started, and what SHOW, DESCRIBE and EXPLAIN answer.

        Args:
            text: statements with `;` between them.
            **words: `name` of the first query, and more, see `TextWords` and `RunWords`.

        Raises:
            QueryError: a mistake in the text, with its place and what to write instead. Nothing after it is run.
        """
        return [r for r in self.run(text, **words) if not isinstance(r, Message)]

    def run(
        self,
        text: str,
        *,
        name: str | None = None,
        first_line: int = 1,
        paused: bool = False,
        keep: int = KEEP,
        parameters: Mapping[str, object] | None = None,
        into: str | Sequence[str] = (),
        **words: Unpack[RunWords],
    ) -> list[Result]:
        """Run statements; returns the result of each.

        Args:
            text: statements with `;` between them.
            name: as the other arguments, see `TextWords`.
            first_line: see there.
            paused: see there.
            keep: see there.
            parameters: see there.
            into: see there.
            **words: how queries are run: `engine`, `strategy`, `checkpoint` and more, see `RunWords`.

        Raises:
            QueryError: a mistake in the text.
            UnsupportedError: a query that can't run there.
        """
        refuse_forks()
        if not isinstance(keep, int) or keep < 1:
            raise QueryError(f"keep must be a number of rows, not {keep!r}", hint="Write keep=1_000_000.")
        how = run_options(**words)
        planning = functools.partial(garbage.put_off, len(text) > _LONG)
        with planning():
            statements = syntax.parse(text, Parameters(self.namespace, parameters or {}), first_line)
        sinks = (into,) if isinstance(into, str) else tuple(into)
        _check_into(statements, sinks)
        results: list[Result] = []
        with self._lock, self._calling(), functions.at_one_time(), syntax.room(), planning():
            starting = StartingQueries(self, how, name=name, keep=keep, paused=paused, into=sinks)
            try:
                for statement in statements:
                    with syntax.placed(statement):
                        found = self._result(statement, how, starting)
                    results += [*self._noted(), *found]
            finally:  # what stands before a mistake is run
                self._notes.clear()
                starting.launch()
        return results

    @contextmanager
    def _calling(self) -> Iterator[None]:
        """What is bound inside can call the session's own aggregates and functions."""
        with calling(self.catalog.aggregates), functions.calling_own(self.catalog.functions):
            yield

    def _result(self, statement: syntax.Statement, how: RunOptions, starting: StartingQueries) -> list[Result]:
        if isinstance(statement, syntax.Declaration) and not isinstance(statement, syntax.CreateSink):
            self.sinks.refuse_name(statement)
        there = stream_statements.kept_as_it_is(self, statement)
        if there is not None:
            return there
        match statement:
            case syntax.Select():
                return starting.select(statement)
            case syntax.ApproximateQuery():
                return starting.approximate(statement)
            case syntax.CreateView():
                return starting.view(statement)
            case syntax.Insert() if self.sinks.target_of(statement) is not None:
                return starting.insert(statement)
        return [answer(self, statement, how)]

    def _noted(self) -> list[Message]:
        """What there is to say besides, once."""
        notes, self._notes[:] = self._notes[:], []
        return notes

    def check(
        self, text: str, *, parameters: Mapping[str, object] | None = None, engine: str = "kernel"
    ) -> list[tuple[str, str]]:
        """What statements would do, without starting a query: streams, tables and views are declared, queries explained.

        Args:
            text: statements with `;` between them.
            parameters: as of `run`.
            engine: where queries would run.

        Returns:
            For each statement, what it is, and for queries how they would run.

        Raises:
            QueryError: a mistake in the text.
            UnsupportedError: a query that can't run there.
        """
        how = run_options(engine=engine)
        return statement_by_statement(self, text, parameters, lambda statement: checked(self, statement, how))

    def open_source(self, uri: str, schema: Schema | None, options: Mapping[str, str]) -> OpenSource:
        """A source, opened for this session. Raises `SourceError` where what the URI names isn't there."""
        return open_source(uri, schema, options, self.namespace, to_end=self.to_end, figures=self.figures)

    def over(
        self,
        name: str,
        uri: str,
        *,
        engine: str = "kernel",
        keep: int = KEEP,
        master: str | None = None,
        conf: Mapping[str, str] | Sequence[str] = (),
    ) -> Query:
        """Run a query once over the files of `uri` instead of its stream. No row of them is late.

        On Spark it is a batch job; Spark reads Parquet files itself where their rows need no check one by one.

        Args:
            name: a query of this session; the new one is called `NAME_over`.
            uri: such as `file:///archive/*.parquet`, with the stream's columns.
            engine: where it runs.
            keep: result rows kept.
            master: on Spark: as of `run`.
            conf: on Spark: as of `run`.

        Raises:
            QueryError: no such query, or one that has no history.
            SourceError: no such files, or of other columns.
        """
        how = run_options(engine=engine, master=master, conf=conf)
        found = self.queries.get(name)
        if found is None:
            raise QueryError(f"there is no query called {name}")
        with self._lock:
            starting = StartingQueries(self, how, keep=keep, once=True)
            query = starting.over(found, uri)
            starting.launch()
        return query

    def record(
        self, stream: str, path: str | Path | None = None, *, seconds: float | None = None, overwrite: bool = False
    ) -> recordings.RecordingHandle:
        """Keep what arrives on a stream: its rows, their order, and the punctuations, as a Parquet file.

        A replayable stream is read from its beginning; of a live one it is what arrives from now on.

        Args:
            stream: its name.
            path: the file, by default `NAME.parquet` in the working folder.
            seconds: how long, by the clock; until its source ends, or `stop`, when left out.
            overwrite: whether a file that is there may be replaced, at the end.

        Raises:
            QueryError: there is no such stream, or it is derived or a table.
            SourceError: the file can't be written, or exists already.
            UnsupportedError: the stream has punctuations for single keys.
        """
        with self._lock:
            handle = recordings.record(self, stream, path, seconds, overwrite)
            self.recordings[handle.name] = handle
        return handle

    def replay(
        self,
        path: str | Path,
        *queries: str,
        speed: float | None = None,
        shuffle: str | None = None,
        seed: int = 0,
    ) -> recordings.Replay:
        """Run queries once more on a recording; with a shuffle, in another order too, and compare the answers.

        Args:
            path: the recording.
            *queries: names of the queries; all that read the recorded stream where none is named.
            speed: times as fast as recorded; as fast as possible when left out.
            shuffle: by how much of the stream's time rows move at most, such as `30s`.
            seed: of the shuffle.

        Raises:
            SourceError: there is no such recording.
            QueryError: no query reads the stream, or there is no such query.
            UnsupportedError: a query that can't be shuffled, with the reason.
        """
        with self._lock:
            return recordings.replay(self, path, queries, speed, shuffle, seed)

    # -- what SHOW, DESCRIBE, DROP, EXPLAIN do -----------------------------------------------------------------------

    def show_queries(self) -> Listing:
        """Every query of the session with its state, and its shares of memory and processor time."""
        return overview.queries(list(self.queries.values()))

    def show_sources(self) -> Listing:
        """Every source being read, with its rate and how far behind it is."""
        return overview.sources(self.engine.feeds, self.engine.scheduler)

    def query(self, name: str) -> Query:
        """The handle of that name. Raises `QueryError` if there is none, with the nearest."""
        found = self.queries.get(name)
        if found is None:
            raise no_such(name, self.catalog, self.queries)
        return found

    def side_stream(self, kind: str, stream: str) -> SideStream:
        """`late(stream)` or `errors(stream)`: the log itself."""
        return self.sides.of(kind, stream)

    def drop(self, name: str) -> Message:
        """Stop and forget a query, or forget a stream (queries on it go on). Raises `QueryError` if there is neither."""
        with self._lock:
            return name_statements.drop(self, name)

    # -- the end -----------------------------------------------------------------------------------------------------

    def reset(self) -> None:
        """Stop and forget all queries, and forget all streams."""
        with self._lock:
            stops = [*(q.stop for q in self.queries.values()), *(r.stop for r in self.recordings.values())]
            for stop in stops:
                with suppress(Exception):  # whatever state it is in, it is forgotten
                    stop()
            dropped = [q._pipeline for q in self.queries.values()]
            self.queries.clear()
            self.recordings.clear()
            for name in self.catalog.names:
                self.catalog.drop(name)
            self.catalog.aggregates.clear()
            self.catalog.functions.clear()
            self.catalog.summaries.clear()
            self.catalog.sinks.clear()
            self.sides.clear()
            self.engine.give_back(dropped)

    def _forked(self) -> None:
        """This is a process forked from the session's: whoever held the lock isn't here."""
        self._lock = threading.RLock()

    def close(self) -> None:
        """Stop everything, threads too, within a second; queries with a checkpoint take a last cut before that."""
        self.stop_serving()
        self.tables.close()
        kept = [c for c in kept_of(q._pipeline for q in self.queries.values()) if not c.done.is_set()]
        for query in self.queries.values():
            if query._pipeline.running and kept_of([query._pipeline]):
                query.stop()
        last = time.monotonic() + _LAST_CUT
        for cuts in kept:
            cuts.done.wait(max(0.0, last - time.monotonic()))
        self.engine.close()
        until = time.monotonic() + 1.0
        for query in list(self.queries.values()):
            for writer in query.writers:
                writer.end(patient=False)
                writer.done.wait(max(0.0, until - time.monotonic()))

    def __enter__(self) -> Session:
        """`with Session() as session:` closes it in the end."""
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _check_into(statements: Sequence[syntax.Statement], sinks: Sequence[str]) -> None:
    """Raise where there isn't one query whose answers go to these sinks."""
    found = [s for s in statements if isinstance(s, syntax.Select | syntax.CreateView)]
    if sinks and len(found) != 1:
        which = f"this text has {len(found)} queries" if found else "this text has no SELECT"
        raise QueryError(
            f"{which}, and 'into' is for the answers of one", hint="Write INSERT INTO 'file://answers/' SELECT ...."
        )


_LAST_CUT: Final = 10.0
"""Seconds that the last cuts are waited for when a session is closed."""


__all__ = ["KEEP", "Explanation", "Listing", "Message", "Query", "Result", "Session"]
