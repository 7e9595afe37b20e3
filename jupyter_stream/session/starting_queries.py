"""Queries on their way from a bound plan to a handle that runs: names, sinks, checkpoints, where they run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from jupyter_stream import binding, syntax
from jupyter_stream.core.memory import RESULTS
from jupyter_stream.engine.pipeline import Pipeline
from jupyter_stream.engine.relation import Relation
from jupyter_stream.engine.results import Results
from jupyter_stream.engine.side_streams import SideStream
from jupyter_stream.errors import QueryError, StreamError
from jupyter_stream.graph.recursions import work_out_recursions
from jupyter_stream.plan.logical import BoundQuery, streams
from jupyter_stream.plan.rates import together
from jupyter_stream.plan.relations import only_tables
from jupyter_stream.plan.time_of import integer_time
from jupyter_stream.secrets import hidden
from jupyter_stream.session import checkpoints, history, user_aggregates
from jupyter_stream.session.approximating import approximated, restated
from jupyter_stream.session.checkpoints import Checkpoint, of_options, without_rates
from jupyter_stream.session.declared_sinks import SinkDef
from jupyter_stream.session.names import names_in
from jupyter_stream.session.query import Message, Query, Result, Running
from jupyter_stream.session.run_options import RunOptions, query_identity
from jupyter_stream.session.sink_statements import Ready
from jupyter_stream.session.stream_statements import view_of
from jupyter_stream.sources.protocol import Journaled
from jupyter_stream.spark import preflight, start
from jupyter_stream.spark.run import SparkRun

if TYPE_CHECKING:
    from jupyter_stream.session.session import Session

_VIEW_OF_TABLES = 2.0
"""Seconds a text waits, at most, for the first answer of a view over tables alone, so that what follows reads all of it."""

Opens = Callable[[str | None], Ready]
"""Opens a sink for a writer of this name; None where nothing remembers what it has written."""


class StartingQueries:
    """Those of one text: made ready one by one, started together.

    Args:
        session: whose they are.
        how: how they are to run.
        name: of the first, the next ones are called after it; None to have them given.
        keep: result rows kept.
        paused: whether they start paused.
        into: where answers are written as well, as said beside the text.
        once: whether all is over when what is there has been read.
    """

    def __init__(
        self,
        session: Session,
        how: RunOptions,
        *,
        name: str | None = None,
        keep: int,
        paused: bool = False,
        into: Sequence[str] = (),
        once: bool = False,
    ) -> None:
        self._session = session
        self._how = how
        self._name = name
        self._keep = keep
        self._paused = paused
        self._into = into
        self._once = once or session.files is not None
        self._first = True
        self._ready: list[Query] = []

    # -- statements --------------------------------------------------------------------------------------------------

    def select(self, statement: syntax.Select) -> list[Result]:
        """Make a query ready."""
        targets, how = self._targets(), self._how.of_next()
        bound = self._bound(binding.bind_query(statement, self._session.catalog), how)
        return self._made(bound, self._next(), how, [partial(self._session.sinks.ready, t, bound) for t in targets])

    def view(self, statement: syntax.CreateView) -> list[Result]:
        """Make a view's query ready, and declare the view."""
        targets, how = self._targets(), self._how.of_next()
        try:
            self._session.guard(statement.name.text)
        except QueryError as error:
            raise statement.source.error(error.message, statement.name.span, error.hint) from None
        bound = self._bound(binding.bind_view(statement, self._session.catalog), how)
        opens = [partial(self._session.sinks.ready, t, bound) for t in targets]
        query, said = self._prepared(bound, statement.name.text, how, opens)
        self._session.catalog.add(view_of(statement, query))
        results = self._said_of(query, said)
        if query.engine == "kernel" and only_tables(bound.plan) and not self._paused:
            # it shares no stream with what follows, which may read it
            self._launch([q for q in self._ready if q is query])
            self._ready = [q for q in self._ready if q is not query]
            query._pipeline.done.wait(_VIEW_OF_TABLES)
        return results

    def insert(self, statement: syntax.Insert) -> list[Result]:
        """Make a query ready whose answers go to a sink; the one that runs already where nobody gave it a name."""
        target, select = self._session.sinks.target_of(statement), statement.select
        assert target is not None
        kept, options = of_options(target.options)
        target, how = replace(target, options=options), self._how
        if kept is not None and how.engine != "kernel":
            raise QueryError(
                "WITH (checkpoint = ...) is for queries in the kernel", hint="On Spark add --checkpoint DIR instead."
            )
        how = (how if kept is None else replace(how, checkpoints=kept)).of_next()
        if select is None:
            raise statement.source.error(
                f"{target.name} is a sink, and takes the answers of a query",
                statement.table.span,
                f"Write INSERT INTO {target.name} SELECT ....",
            )
        bound = self._bound(replace(binding.bind_query(select, self._session.catalog), text=statement.text), how)
        name = self._next()
        if name is None:
            running = [q for q in self._session.queries.values() if q.goes_on and q.into == (target.same,)]
            name = next((q.name for q in running if _same(q, bound, how)), None)
        return self._made(bound, name, how, [partial(self._session.sinks.ready_for, statement, target, bound)])

    def over(self, former: Query, uri: str) -> Query:
        """Run a query that is there once more, over files."""
        bound = history.over(former._pipeline.query, uri, self._session.open_source)
        query, _ = self._prepared(bound, f"{former.name}_over", self._how)
        self._enter(query, uri)
        return query

    def launch(self) -> None:
        """Start them together; where a source can't be opened any more none of them is left waiting for it."""
        self._launch(self._ready)

    def _launch(self, queries: Sequence[Query]) -> None:
        pipelines = [query._pipeline for query in queries]
        engine = self._session.engine
        try:
            engine.launch(pipelines)
        except StreamError as error:
            why = str(error)
            engine.submit(lambda: [p.finish("failed", why) for p in pipelines]).result()
            raise

    # -- one query ---------------------------------------------------------------------------------------------------

    def _targets(self) -> list[SinkDef]:
        return [self._session.sinks.into(sink) for sink in self._into]

    def _bound(self, bound: BoundQuery, how: RunOptions) -> BoundQuery:
        """The query as it is to run, over files where that is asked for."""
        bound, files = how.of_query(bound), self._session.files
        work_out_recursions(bound.plan)
        bound = bound if files is None else history.over(bound, files, self._session.open_source)
        return approximated(self._session, bound)

    def approximate(self, statement: syntax.ApproximateQuery) -> list[Result]:
        """Run a query that is there anew, changed so that it fits."""
        bound = restated(self._session, statement)
        return self._made(self._bound(bound, self._how), statement.name.text, self._how, [])

    def _next(self) -> str | None:
        """The name of the next query: the first has the one that was said, the others are called after it."""
        first, self._first = self._first, False
        name = self._name if first else self._name and _free_name(self._session, f"{self._name}_")
        if name is not None:
            self._session.guard(name)
        return name

    def _made(self, bound: BoundQuery, name: str | None, how: RunOptions, opens: Sequence[Opens]) -> list[Result]:
        return self._said_of(*self._prepared(bound, name, how, opens))

    def _said_of(self, query: Query, said: Message | None) -> list[Result]:
        """A query and what there is to say of it."""
        results: list[Result] = [] if said is None else [said]
        if query.engine == "spark" and query.status == "waiting" and start.starts(self._session.namespace):
            results.append(Message("Spark is being started, which takes some seconds."))
        self._enter(query, self._session.files)
        return [*results, query]

    def _enter(self, query: Query, files: str | None) -> None:
        """Put it with those to be started, unless it runs."""
        if query.goes_on and not query._pipeline.feeds and not _read_natively(query, files):
            self._ready.append(query)

    def _prepared(
        self, bound: BoundQuery, name: str | None, how: RunOptions, opens: Sequence[Opens] = ()
    ) -> tuple[Query, Message | None]:
        """A handle for a query; the one that runs already if its name, its text and its sinks are the same."""
        session = self._session
        kept = None if how.checkpoints is None else how.checkpoints.next()
        writer = how.writer if kept is None else kept.writer
        into = [opened(None if writer is None else f"{writer}-{i}") for i, opened in enumerate(opens)]
        if how.engine == "spark":
            preflight.refuse(bound)
            start.check(session.namespace, how.spark)
        name = name or _free_name(session, "q")
        former = session.queries.get(name)
        said = None
        if former is not None and former.goes_on:
            if former.into == tuple(r.target.same for r in into) and _same(former, bound, how):
                return former, Message(f"{name} is running already.")
            former.stop()
            said = Message(f"{name} is replaced: the query that ran under this name was stopped.")
        pipeline: Running
        if how.engine == "spark":
            pipeline = self._on_spark(name, bound, how)
        else:
            pipeline = self._in_kernel(name, bound, kept)
            lost = None if kept is None else _begin_checkpoint(session, kept, pipeline, into)
            said = said if lost is None else Message(lost)
        pipeline.paused = self._paused
        query = Query(session, pipeline)
        query.into = tuple(r.target.same for r in into)
        for each in into:
            session.sinks.attach(each, query)
        if isinstance(pipeline, SparkRun):
            pipeline.seen = session.seen
        if session.watch is not None and not into:
            session.watch(query)
        session.queries[name] = query
        return query, said

    def _in_kernel(self, name: str, bound: BoundQuery, kept: Checkpoint | None) -> Pipeline:
        engine = self._session.engine
        bound = with_rates(self._session, bound) if kept is None else without_rates(bound)
        late = _late_streams(self._session, bound)
        return Pipeline(name, bound, self._keep, engine.missed, engine.failed, late, engine.memory)

    def _on_spark(self, name: str, bound: BoundQuery, how: RunOptions) -> SparkRun:
        session, engine, schema = self._session, self._session.engine, bound.plan.schema
        most = engine.memory // RESULTS
        relation = Relation(schema, self._keep, integer_time(bound.plan), bound.order, most) if bound.relation else None
        results = relation or Results(schema, self._keep, bound.emit.mode != "final", most)
        return SparkRun(
            name,
            bound,
            results,
            _late_streams(session, bound),
            engine.missed,
            engine.failed,
            engine.submit,
            session.namespace,
            how.spark,
            self._keep,
            self._once,
            history.whole_files,
            lambda stream: isinstance(stream.source, Journaled),
        )


def with_rates(session: Session, bound: BoundQuery) -> BoundQuery:
    """A query with what has been measured of its streams; as it was known to one that runs already, so that they share."""
    pipelines = [q._pipeline for q in session.queries.values() if isinstance(q._pipeline, Pipeline)]
    for pipeline in pipelines:
        if pipeline.running and pipeline.query.plan == bound.plan:
            return replace(bound, rates=pipeline.query.rates)
    return replace(bound, rates=together(p.rates for p in pipelines))


def _same(former: Query, bound: BoundQuery, how: RunOptions) -> bool:
    """Whether a query is what is asked for once more."""
    before = former._pipeline.query
    same_streams = {id(s) for s in streams(before.plan)} == {id(s) for s in streams(bound.plan)}
    return same_streams and query_identity(before) == query_identity(bound) and former.engine == how.engine


def _late_streams(session: Session, bound: BoundQuery) -> dict[str, SideStream]:
    return {name: session.sides.of("late", name) for name in names_in(bound)}


def _free_name(session: Session, stem: str) -> str:
    """The first name of that stem and a number that neither a query has nor anything else of the notebook."""
    number = 1
    while f"{stem}{number}" in session.queries or not isinstance(
        session.namespace.get(f"{stem}{number}"), Query | None
    ):
        number += 1
    return f"{stem}{number}"


def _read_natively(query: Query, uri: str | None) -> bool:
    """Start a query over files on Spark, where Spark can read these itself. Returns whether it can."""
    run = query._pipeline
    if uri is None or not isinstance(run, SparkRun) or run.judged:
        return False
    path = history.native(uri, run.query)
    if path is not None:
        run.read_natively(path)
    return path is not None


def _begin_checkpoint(session: Session, kept: Checkpoint, pipeline: Pipeline, into: Sequence[Ready]) -> str | None:
    names = sorted(names_in(pipeline.query))  # whose numbers in a cut are the same in every process
    entries = [e for n in names if (e := session.catalog.find(n)) is not None]
    declared = {f"stream {e.name}": e.text or str(e.schema) for e in entries}
    declared |= user_aggregates.texts(pipeline.query.plan, session.catalog)
    sides = {(kind, n.lower()): session.sides.of(kind, n) for kind in ("late", "errors") for n in names}
    targets = [r.target.name for r in into if r.target.name is not None]
    sides |= {("errors", n.lower()): session.sides.of("errors", n) for n in targets}
    sinks = {r.order.uri: _written_how(r) for r in into}
    return checkpoints.begin(kept, pipeline, declared, sides, sinks)


def _written_how(ready: Ready) -> str:
    """The mode of a sink, its options and the columns that are declared."""
    target = ready.target
    columns = "" if target.schema is None else f", columns {target.schema}"
    return f"mode {ready.order.mode}, {hidden(str(sorted(target.options.items())))}{columns}"


__all__ = ["StartingQueries", "with_rates"]
