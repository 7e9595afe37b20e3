"""A session: what was declared, what runs. All a front end needs: `execute(text)`."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import TypeAlias, TypeGuard

import polars as pl

from jupyter_stream import history, language, listings, overview, recordings, summary_statements, user_aggregates
from jupyter_stream.aggregates.user import Declared, calling, declared
from jupyter_stream.asked import Asked, asked, what_is_asked
from jupyter_stream.core.schema import Field, Schema
from jupyter_stream.core.table import ViewRows
from jupyter_stream.core.time import MAX_TIME
from jupyter_stream.engine.engine import Engine
from jupyter_stream.engine.explain import Text, explain, promises
from jupyter_stream.engine.pipeline import Pipeline
from jupyter_stream.engine.refused import ERRORS_SCHEMA
from jupyter_stream.engine.relation import Relation
from jupyter_stream.engine.results import Results
from jupyter_stream.engine.side import SideStream
from jupyter_stream.errors import QueryError, StreamError, UnsupportedError
from jupyter_stream.language.bind_table import LATENT
from jupyter_stream.names import Parameters, SessionCatalog, derives_from, names_in
from jupyter_stream.operators import planned
from jupyter_stream.operators.graph import build
from jupyter_stream.plan.catalog import (
    DerivedStream,
    Entry,
    OpenSource,
    StreamDef,
)
from jupyter_stream.plan.logical import Query as Plan
from jupyter_stream.plan.logical import streams
from jupyter_stream.plan.rates import together
from jupyter_stream.plan.strategy import Strategy
from jupyter_stream.plan.upkeep import PARTITIONS, Upkeep
from jupyter_stream.query import Explanation, Listing, Message, Query, Running
from jupyter_stream.schedulers import Scheduler
from jupyter_stream.sources import open_source
from jupyter_stream.sources.protocol import Journaled
from jupyter_stream.sources.table import TableSource
from jupyter_stream.spark import preflight, start
from jupyter_stream.spark.run import SparkRun
from jupyter_stream.table_statements import TableStatements

Result: TypeAlias = Query | Listing | Explanation | Message

KEEP = 1_000_000
"""Result rows kept for a query, unless `keep` says otherwise."""


class Session:
    """Declared streams and running queries.

    Args:
        namespace: variables for `frame://`, `python://`, `:name` and `{{ expr }}`; `globals()` of a notebook.
        scheduler: which input is served next; answers don't depend on it.
    """

    def __init__(
        self, namespace: MutableMapping[str, object] | None = None, scheduler: Scheduler | None = None
    ) -> None:
        self.namespace: MutableMapping[str, object] = namespace if namespace is not None else {}
        self.catalog = SessionCatalog(self.side)
        self.queries: dict[str, Query] = {}
        self.recordings: dict[str, recordings.RecordingHandle] = {}
        self._sides: dict[tuple[str, str], SideStream] = {}
        self._lock = threading.RLock()
        self._sides_lock = (
            threading.RLock()
        )  # the engine's thread takes it while a statement that holds _lock waits for it
        self.engine = Engine(self.side, scheduler)
        self._tables = TableStatements(self.catalog, self.engine, self.queries, self._open)

    # -- statements --------------------------------------------------------------------------------------------------

    def execute(self, text: str, *, name: str | None = None, **options: object) -> list[Query | Listing | Explanation]:
        """Run statements; returns the handles of the queries started, and what SHOW, DESCRIBE and EXPLAIN answer.

        Args:
            text: statements with `;` between them.
            name: name of the query (of the first, if there are several); default `q1`, `q2`, ...
            **options: as of `run`.

        Raises:
            QueryError: a mistake in the text, with its place and what to write instead. Nothing after it is run.
        """
        return [r for r in self.run(text, name=name, **options) if not isinstance(r, Message)]  # type: ignore[arg-type]

    def run(
        self,
        text: str,
        *,
        name: str | None = None,
        first_line: int = 1,
        paused: bool = False,
        keep: int = KEEP,
        engine: str = "kernel",
        strategy: Strategy | Upkeep | None = None,
        partitions: int = PARTITIONS,
        parameters: Mapping[str, object] | None = None,
        master: str | None = None,
        conf: Mapping[str, str] | Sequence[str] = (),
        checkpoint: str | Path | None = None,
        trigger: str | None = None,
        budget: str | None = None,
        weight: float | str = 1.0,
    ) -> list[Result]:
        """Run statements; returns what each has to say.

        Args:
            text: statements with `;` between them.
            name: name of the query (of the first, if there are several).
            first_line: number of the text's first line as the user sees it, for errors.
            paused: start queries paused.
            keep: result rows kept.
            engine: where queries run: `kernel` or `spark`.
            strategy: how windows with SLIDE are aggregated in the kernel: `wid`, `paned-wid`, `adapt-wid`, `rows`; or how the
                state of relations is kept: `upa`, `direct`, `nt`; None leaves it to the planner.
            partitions: expiry partitions that rows of relations are kept in.
            parameters: values of `:name` and `{{ expr }}`, before those of the namespace.
            master: on Spark: where it runs, such as `local[2]`; said with the first query.
            conf: on Spark: settings of Spark's, a mapping or `key=value` words.
            checkpoint: on Spark: a folder the query goes on from when it is started again.
            trigger: on Spark: the time between micro-batches, such as `5 seconds`.
            budget: in the kernel: what a query may spend before more input is taken, `20%` of a core or `500 probes/row`; None
                for as much as it takes, and everything is exact.
            weight: in the kernel: its share of the time left, against other queries'.

        Raises:
            QueryError: a mistake in the text.
            UnsupportedError: a query that can't run there.
        """
        if not isinstance(keep, int) or keep < 1:
            raise QueryError(f"keep is a number of rows, not {keep!r}", hint="Write keep=1_000_000.")
        how = asked(
            engine=engine,
            strategy=strategy,
            partitions=partitions,
            master=master,
            conf=conf,
            checkpoint=checkpoint,
            trigger=trigger,
            budget=budget,
            weight=weight,
        )
        values = Parameters(self.namespace, parameters or {})
        statements = language.parse(text, values, first_line)
        results: list[Result] = []
        starting: list[Query] = []
        with self._lock, calling(self.catalog.aggregates):
            names = self._names(name)
            try:
                for statement in statements:
                    if self._stays(statement):
                        results += self._as_it_is(statement.name.text)
                    elif isinstance(statement, language.Select | language.CreateView):
                        results += self._query(statement, names, keep, paused, how, starting)
                    else:
                        results += self._statement(statement, how)
            finally:  # what stands before a mistake is run
                self._launch(starting)
        return results

    def _names(self, name: str | None) -> Iterator[str | None]:
        """Names of a text's queries: the first is called as asked, the next ones after it."""
        yield name
        while True:
            yield name and self._next_name(f"{name}_")

    def _statement(self, statement: language.Statement, how: Asked) -> list[Result]:
        """Run a statement that starts nothing."""
        match statement:
            case language.CreateStream():
                return [self._declare(language.bind_stream(statement, self._open, self.catalog))]
            case language.CreateStreamAs():
                return [self._declare(language.bind_derived(statement, self.catalog))]
            case language.CreateTable() | language.CreateTableAs():
                return [self._tables.create(statement)]
            case language.CreateAggregate():
                return [self._create_aggregate(statement)]
            case language.CreateSummary():
                return [summary_statements.create(self.catalog, statement)]
            case language.Insert() | language.Delete() | language.Update():
                return [self._tables.change(statement)]
            case language.Explain():
                return [self._explain(statement, how)]
        return [self._answer(statement)]

    def _query(
        self,
        statement: language.Select | language.CreateView,
        names: Iterator[str | None],
        keep: int,
        paused: bool,
        how: Asked,
        starting: list[Query],
    ) -> list[Result]:
        """Make a query ready; it is put with those to be started unless it runs."""
        if isinstance(statement, language.CreateView):
            bound = how.of_query(language.bind_view(statement, self.catalog))
            query, said = self._prepare(bound, statement.name.text, keep, paused, how)
            self._declare_view(statement, query)
        else:
            bound = how.of_query(language.bind_query(statement, self.catalog))
            query, said = self._prepare(bound, next(names), keep, paused, how)
        results: list[Result] = [] if said is None else [said]
        if query.engine == "spark" and query.status == "waiting" and start.starts(self.namespace):
            results.append(Message("Spark is being started, which takes some seconds."))
        if query._pipeline.running and not query._pipeline.feeds:
            starting.append(query)
        return [*results, query]

    def _launch(self, starting: list[Query]) -> None:
        """Start queries together; where a source can't be opened any more none of them is left waiting for it."""
        pipelines = [query._pipeline for query in starting]
        try:
            self.engine.launch(pipelines)
        except StreamError as error:
            told = str(error)
            self.engine.submit(lambda: [p.finish("failed", told) for p in pipelines]).result()
            raise

    def _open(self, uri: str, schema: Schema | None, options: Mapping[str, str]) -> OpenSource:
        return open_source(uri, schema, options, self.namespace)

    def _declare(self, entry: Entry) -> Message:
        former = self.catalog.find(entry.name)
        self.catalog.add(entry)
        for kind in ("late", "errors"):
            self._sides.pop((kind, entry.name.lower()), None)
        verb = "declared" if former is None else "declared anew; queries started before go on with the former one"
        if isinstance(entry, StreamDef):
            return Message(f"Stream {entry.name} {verb}: {len(entry.schema)} columns, {promises(entry)}.")
        return Message(f"Stream {entry.name} {verb}: {len(entry.schema)} columns.")

    def _stays(self, statement: language.Statement) -> TypeGuard[language.Declaration]:
        """Whether there is something already that a CREATE ... IF NOT EXISTS leaves as it is."""
        return (
            isinstance(statement, language.Declaration)
            and statement.unless_exists
            and self.catalog.find(statement.name.text) is not None
        )

    def _as_it_is(self, name: str) -> list[Result]:
        """What CREATE ... IF NOT EXISTS answers about a name that is taken: a view's handle goes with it."""
        entry = self.catalog.find(name)
        assert entry is not None
        query = self.queries.get(entry.name)
        return [
            Message(f"There is a {listings.kind(entry)} called {entry.name} already, which stays."),
            *([query] if query else []),
        ]

    def _declare_view(self, statement: language.CreateView, query: Query) -> None:
        name, plan = statement.name.text, query._pipeline.query.plan
        schema = plan.schema
        rows = ViewRows(schema, query.to_polars, plan)
        self.catalog.add(StreamDef(name, schema, LATENT, "", TableSource(rows), text=statement.text, table=rows))

    def _create_aggregate(self, statement: language.CreateAggregate) -> Message:
        version = language.SqlAggregate(statement)
        lower = version.name.lower()
        former = self.catalog.aggregates.get(lower)
        known = former if former is not None else Declared(version.name, None, None)
        self.catalog.aggregates[lower] = known.with_version(version)
        again = former is not None and any(v.windowed == version.windowed for v in former.versions)
        verb = "declared anew; queries started before go on with the former one" if again else "declared"
        kind = "Window aggregate" if version.windowed else "Aggregate"
        return Message(f"{kind} {version.signature} {verb}.")

    def _prepare(
        self, bound: Plan, name: str | None, keep: int, paused: bool, how: Asked, once: bool = False
    ) -> tuple[Query, Message | None]:
        """A handle for a query; the one that runs already if its name and text are the same."""
        if how.engine == "spark":
            preflight.refuse(bound)
            start.check(self.namespace, how.spark)
        name = name or self._next_name("q")
        former = self.queries.get(name)
        said = None
        if former is not None and former._pipeline.running:
            before = former._pipeline.query
            same = what_is_asked(before) == what_is_asked(bound)
            same = same and self._same_streams(before, bound)
            if same and former.engine == how.engine:
                return former, Message(f"{name} is running already.")
            former.stop()
            said = Message(f"{name} is replaced: the query that ran under this name was stopped.")
        sides = {n: self.side("late", n) for n in names_in(bound)}
        missed, failed = self.engine.missed, self.engine.failed
        pipeline: Running
        if how.engine == "spark":
            schema = bound.plan.schema
            integer = planned.integer_time(bound.plan)
            relation = Relation(schema, keep, integer, bound.order) if bound.relation else None
            results = relation or Results(schema, keep, bound.emit.mode != "final")
            submit, names = self.engine.submit, self.namespace
            sources = (history.whole_files, lambda stream: isinstance(stream.source, Journaled))
            pipeline = SparkRun(
                name, bound, results, sides, missed, failed, submit, names, how.spark, keep, once, *sources
            )
        else:
            pipeline = Pipeline(name, self._with_rates(bound), keep, missed, failed, sides)
        pipeline.paused = paused
        query = Query(self, pipeline)
        self.queries[name] = query
        return query, said

    def _with_rates(self, bound: Plan) -> Plan:
        """A query with what has been measured of its streams; as it was known to one that runs already, so that they share."""
        pipelines = [q._pipeline for q in self.queries.values() if isinstance(q._pipeline, Pipeline)]
        for pipeline in pipelines:
            if pipeline.running and pipeline.query.plan == bound.plan:
                return replace(bound, rates=pipeline.query.rates)
        return replace(bound, rates=together(p.rates for p in pipelines))

    @staticmethod
    def _same_streams(former: Plan, bound: Plan) -> bool:
        return {id(s) for s in streams(former.plan)} == {id(s) for s in streams(bound.plan)}

    def _next_name(self, stem: str) -> str:
        number = 1
        while f"{stem}{number}" in self.queries:
            number += 1
        return f"{stem}{number}"

    def _answer(self, statement: language.Statement) -> Result:
        match statement:
            case language.Show(what="streams" | "sources"):
                return listings.streams(self.catalog)
            case language.Show(what="tables" | "views" as what):
                return listings.tables(self.catalog, what)
            case language.Show(what="aggregates"):
                return user_aggregates.listing(self.catalog)
            case language.DescribeAggregate(name=name):
                return user_aggregates.description(self.catalog, name, statement.source)
            case language.Show(what="summaries"):
                return summary_statements.listing(self.catalog)
            case language.DescribeSummary(name=name):
                return summary_statements.description(self.catalog, name, statement.source)
            case language.Show(what="queries"):
                return self.show_queries()
            case language.Show(what="functions") | language.DescribeFunctions(name=None):
                return listings.functions(self.catalog)
            case language.DescribeFunctions(name=name):
                assert name is not None
                return listings.functions(self.catalog, name.text)
            case language.Describe():
                return self._describe(statement)
            case language.Drop():
                return self._drop(statement)
        raise UnsupportedError(f"{type(statement).__name__} is not available yet")

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
        """Answer a query once more, once, over history: the files of `uri` instead of its stream; nothing there is late.

        On Spark it is a batch job; Parquet files that need no row by row look are read by Spark itself.

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
        how = asked(engine=engine, master=master, conf=conf)
        found = self.queries.get(name)
        if found is None:
            raise QueryError(f"there is no query called {name}")
        with self._lock:
            bound = history.over(found._pipeline.query, uri, self._open)
            query, _ = self._prepare(bound, f"{name}_over", keep, False, how, once=True)
            run = query._pipeline
            path = history.native(uri, bound) if isinstance(run, SparkRun) and not run.judged else None
            if isinstance(run, SparkRun) and path is not None:
                run.read_natively(path)
            else:
                self.engine.launch([run])
        return query

    def record(
        self, stream: str, path: str | Path | None = None, *, seconds: float | None = None
    ) -> recordings.RecordingHandle:
        """Keep what arrives on a stream: its rows, their order, and the punctuations, as a Parquet file.

        A replayable stream is read from its beginning; of a live one it is what arrives from now on.

        Args:
            stream: its name.
            path: the file, `NAME.parquet` in the working folder unless said; a former one is replaced at the end.
            seconds: how long, by the clock; until its source ends, or `stop`, when left out.

        Raises:
            QueryError: there is no such stream, or it is derived or a table.
            SourceError: the file can't be written.
            UnsupportedError: the stream has punctuations for single keys.
        """
        with self._lock:
            handle = recordings.record(self, stream, path, seconds)
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
            speed: times as fast as recorded; as fast as it goes when left out.
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

    def _describe(self, statement: language.Describe) -> Result:
        name = statement.name.text
        if statement.function is None and self.catalog.find(name) is None and name.lower() in self.catalog.summaries:
            return summary_statements.description(self.catalog, statement.name, statement.source)
        if statement.function is None and name in self.queries and self.catalog.find(name) is None:
            return Explanation(self.queries[name].explain())
        entry = self.catalog.find(name if statement.function is None else f"{statement.function}({name})")
        if entry is None and statement.function is None and declared(name) is not None:
            return user_aggregates.description(self.catalog, statement.name, statement.source)
        if entry is None:
            raise self._unknown(statement, name)
        return listings.columns(entry)

    def _drop(self, statement: language.Drop) -> Message:
        name = statement.name.text
        if statement.kind == "aggregate":
            return user_aggregates.drop(self.catalog, statement)
        if statement.kind == "summary":
            return summary_statements.drop(self.catalog, statement)
        entry = self.catalog.find(name)
        of_query = statement.kind == "query" or (entry is None and name in self.queries)
        if name not in self.queries if of_query else entry is None:
            if statement.if_exists:
                return Message(f"There is no {name}.")
            raise self._unknown(statement, name)
        if entry is not None and statement.kind not in ("query", kind := listings.kind(entry)):
            raise statement.source.error(
                f"{entry.name} is a {kind}", statement.name.span, f"Write DROP {kind.upper()} {entry.name}."
            )
        try:
            return self.drop(name)
        except QueryError as error:
            raise statement.source.error(error.message, statement.name.span, error.hint) from None

    def drop(self, name: str) -> Message:
        """Stop and forget a query, or forget a stream (queries on it go on). Raises `QueryError` if there is neither."""
        with self._lock:
            entry = self.catalog.find(name)
            if entry is not None:
                user = next((e.name for e in self.catalog if derives_from(e, entry)), None)
                if user is not None:
                    raise QueryError(f"{user} is derived from {entry.name}", hint=f"Drop {user} first.")
                kept = next((s.name for s in self.catalog.summaries.values() if s.stream == entry.name), None)
                if kept is not None:
                    raise QueryError(f"{kept} is a summary of {entry.name}", hint=f"DROP SUMMARY {kept} first.")
                self.catalog.drop(name)
                kind = listings.kind(entry)
                query = self.queries.pop(entry.name, None) if kind == "view" else None
                if query is not None:
                    query.stop()
                return Message(f"{kind.capitalize()} {entry.name} is dropped.")
            query = self.queries.pop(name, None)
            if query is None:
                raise self.no_such(name)
            query.stop()
            return Message(f"Query {name} is dropped.")

    def _explain(self, statement: language.Explain, how: Asked) -> Explanation:
        if statement.engine == "spark":
            return Explanation(Text(preflight.explain(self._explained(statement))))
        if statement.select is not None:
            bound = self._with_rates(how.of_query(language.bind_query(statement.select, self.catalog)))
            return Explanation(explain(build(bound)))
        assert statement.name is not None
        query = self.queries.get(statement.name.text)
        if query is None:
            raise self._unknown(statement, statement.name.text)
        return Explanation(query.explain())

    def _explained(self, statement: language.Explain) -> Plan:
        """The query an EXPLAIN is about."""
        if statement.select is not None:
            return language.bind_query(statement.select, self.catalog)
        assert statement.name is not None
        query = self.queries.get(statement.name.text)
        if query is None:
            raise self._unknown(statement, statement.name.text)
        return query._pipeline.query

    def query(self, name: str) -> Query:
        """The handle of that name. Raises `QueryError` if there is none, with the nearest."""
        found = self.queries.get(name)
        if found is None:
            raise self.no_such(name)
        return found

    def no_such(self, name: str) -> QueryError:
        """That there is no stream or query of that name, with the nearest or all that there are."""
        known = list(dict.fromkeys([*self.catalog.names, *self.queries]))  # a view is both
        near = get_close_matches(name, known, 1)
        hint = f"Did you mean {near[0]}?" if near else (f"There are {', '.join(known)}." if known else None)
        return QueryError(f"there is no stream or query called {name}", hint=hint)

    def _unknown(self, statement: language.Statement, name: str) -> QueryError:
        span = getattr(statement, "name", None)
        error = self.no_such(name)
        return error if span is None else statement.source.error(error.message, span.span, error.hint)

    # -- side streams ------------------------------------------------------------------------------------------------

    def side(self, kind: str, stream: str) -> SideStream:
        """`late(stream)` or `errors(stream)`: the log itself."""
        key = (kind, stream.lower())
        with self._sides_lock:
            side = self._sides.get(key)
            if side is None:
                side = self._sides[key] = SideStream(self._side_schema(kind, stream), lambda: self._feeds(stream))
            return side

    def _side_schema(self, kind: str, stream: str) -> Schema:
        if kind == "errors":
            return ERRORS_SCHEMA
        entry = self.catalog.find(stream)
        assert entry is not None
        column = entry.time.column if isinstance(entry, StreamDef) else None
        if isinstance(entry, DerivedStream) and isinstance(entry.query, Plan):
            column = entry.query.time_column
        time = None if column is None else entry.schema.find(column)
        dtype = time.dtype if time is not None and time.dtype.is_integer() else pl.Datetime("us")
        of = entry.schema
        return Schema((*of, Field(of.free("punctuation"), dtype), Field(of.free("missed"), pl.Int64())))

    def _feeds(self, stream: str) -> bool:
        """Whether a running query may still add to the stream's side streams."""
        for query in list(self.queries.values()):
            pipeline = query._pipeline
            names = {n.lower() for n in names_in(pipeline.query)}
            if pipeline.running and stream.lower() in names and not _waits_for_sides(pipeline):
                return True
        return False

    # -- the end -----------------------------------------------------------------------------------------------------

    def reset(self) -> None:
        """Stop and forget all queries, and forget all streams."""
        with self._lock:
            for query in self.queries.values():
                query.stop()
            for recording in self.recordings.values():
                recording.stop()
            self.queries.clear()
            self.recordings.clear()
            for name in self.catalog.names:
                self.catalog.drop(name)
            self.catalog.aggregates.clear()
            self.catalog.summaries.clear()
            self._sides.clear()

    def close(self) -> None:
        """Stop everything, threads too, within a second."""
        self.engine.close()

    def __enter__(self) -> Session:
        """`with Session() as session:` closes it in the end."""
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _waits_for_sides(pipeline: Pipeline | SparkRun) -> bool:
    """Whether side streams are all that a query still waits for, as where it merges `late(s)` back into `s`: it adds no more."""
    feeds = list(pipeline.feeds)
    sides = [f for f in feeds if isinstance(f.stream.source, SideStream)]
    return bool(sides) and not pipeline.paused and all(f.reached == MAX_TIME for f in feeds if f not in sides)


__all__ = ["KEEP", "Explanation", "Listing", "Message", "Query", "Result", "Session"]
