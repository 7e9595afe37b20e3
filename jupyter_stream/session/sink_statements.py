"""What a session does with sinks: CREATE, SHOW, DESCRIBE, DROP SINK, and answers on their way to one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from jupyter_stream import syntax
from jupyter_stream.binding.create import declared_columns
from jupyter_stream.core.memory import CALLED_BACK
from jupyter_stream.core.messages import IS_FINAL
from jupyter_stream.core.schema import TIMESTAMP, Field, Schema
from jupyter_stream.engine.engine import Engine
from jupyter_stream.engine.pipeline import Pipeline
from jupyter_stream.engine.relation import Relation
from jupyter_stream.engine.results import Results
from jupyter_stream.engine.side_streams import SideStream
from jupyter_stream.errors import QueryError
from jupyter_stream.plan.logical import BoundQuery
from jupyter_stream.plan.time_of import integer_time
from jupyter_stream.secrets import hidden
from jupyter_stream.session.declared_sinks import SinkDef, status
from jupyter_stream.session.names import SessionCatalog
from jupyter_stream.session.query import Listing, Message, Query
from jupyter_stream.session.sink_shape import BOUNDS, SinkShape, matching
from jupyter_stream.sinks import OP, Delivery, SinkWriter, Ties, checked, connector_of, open_sink
from jupyter_stream.sinks.held_writer import HeldWriter
from jupyter_stream.sinks.numbered_writer import NumberedWriter
from jupyter_stream.sinks.options import flag
from jupyter_stream.spark.run import SparkRun
from jupyter_stream.syntax.diagnose import did_you_mean
from jupyter_stream.syntax.option_places import placed_at_option
from jupyter_stream.syntax.source_text import Name, SourceText, Span


@dataclass(frozen=True, slots=True)
class Ready:
    """A sink that is open for an answer, which nothing writes to yet.

    Attributes:
        target: what was declared.
        order: what is to be written, and how.
        shape: the answer's rows as the sink has them.
        provisional: whether provisional answers are written.
    """

    target: SinkDef
    order: Delivery
    shape: SinkShape
    provisional: bool


class SinkStatements:
    """Runs them against a session's catalog.

    Args:
        catalog: what is declared.
        engine: runs the queries.
        namespace: the notebook's variables, for `python://`.
        side: gives `errors(name)`.
    """

    def __init__(
        self,
        catalog: SessionCatalog,
        engine: Engine,
        namespace: Mapping[str, object],
        side: Callable[[str, str], SideStream],
    ) -> None:
        self._catalog = catalog
        self._engine = engine
        self._namespace = namespace
        self._side = side

    # -- statements --------------------------------------------------------------------------------------------------

    def create(self, statement: syntax.CreateSink) -> Message:
        """Declare it. Nothing is opened before something is written.

        Raises:
            QueryError: a mistake in it, with its place.
        """
        name, source = statement.name.text, statement.source
        former = self._catalog.sinks.get(name.lower())
        if former is not None and statement.unless_exists:
            return Message(f"There is a sink called {former.name} already, and it is kept.")
        taken = self._catalog.find(name)
        if taken is not None:
            raise source.error(
                f"{taken.name} is declared already, as something else",
                statement.name.span,
                "Give the sink another name.",
            )
        schema = declared_columns(statement.columns, source, False)
        options = {o.name.text: o.value for o in statement.options}
        with _Placed(source, statement.options, statement.uri_span):
            connector, lower = checked(statement.uri, options)
            promise = connector.promised(lower)
        self._catalog.sinks[name.lower()] = SinkDef(name, schema, statement.uri, options, statement.text)
        verb = "declared" if former is None else "declared again; queries that already run use the earlier one"
        return Message(f"Sink {name} {verb}: {hidden(statement.uri)}, {promise}.")

    def listing(self, queries: Iterable[Query]) -> Listing:
        """SHOW SINKS: those declared, and addresses that are written to."""
        writing = [(q, w) for q in queries for w in q.writers]
        rows = []
        for sink in self._catalog.sinks.values():
            of = [(q, w) for q, w in writing if w.order.name == sink.name]
            columns = ", ".join(sink.schema.names) if sink.schema else ""
            rows.append((sink.name, hidden(sink.uri), _promise(sink), columns, *_written(of)))
        known = {s.name for s in self._catalog.sinks.values()}
        for name in dict.fromkeys(w.order.name for _, w in writing if w.order.name not in known):
            of = [(q, w) for q, w in writing if w.order.name == name]
            rows.append(("", of[0][1].order.uri, of[0][1].order.promise, "", *_written(of)))
        schema = dict.fromkeys(("sink", "to", "promise", "columns", "written_by"), pl.String()) | {
            "rows": pl.Int64(),
            "last_commit": TIMESTAMP,
        }
        return Listing("Sinks", pl.DataFrame(rows, schema=schema, orient="row"))

    def description(self, name: Name, source: SourceText, queries: Iterable[Query]) -> Listing:
        """DESCRIBE SINK: where it writes to, its promise, and what is written."""
        sink = self.find(name.text)
        if sink is None:
            raise self._unknown(name, source)
        connector = connector_of(sink.uri)
        by, rows, last = _written([(q, w) for q in queries for w in q.writers if w.order.name == sink.name])
        facts = {
            "to": hidden(sink.uri),
            "promise": f"{_promise(sink)}: {connector.how}",
            "modes": ", ".join(connector.modes),
            "options": hidden(", ".join(f"{n} = '{v}'" for n, v in sink.options.items())),
            "columns": "those of the query" if sink.schema is None else str(sink.schema),
            "written by": by or "nobody yet",
            "rows": f"{rows:,}",
            "last commit": "" if last is None else f"{last:%Y-%m-%d %H:%M:%S} UTC",
        }
        return Listing(sink.name or "", pl.DataFrame({"what": list(facts), "value": list(facts.values())}))

    def drop(self, statement: syntax.Drop) -> Message:
        """DROP SINK: queries that write to it go on, and what is written stays."""
        sink = self._catalog.sinks.pop(statement.name.text.lower(), None)
        if sink is None:
            if statement.if_exists:
                return Message(f"There is no {statement.name.text}.")
            raise self._unknown(statement.name, statement.source)
        return Message(f"Sink {sink.name} is dropped. What was written stays.")

    def find(self, name: str) -> SinkDef | None:
        """The sink of that name; None if there is none."""
        return self._catalog.sinks.get(name.lower())

    def _unknown(self, name: Name, source: SourceText) -> QueryError:
        names = [s.name for s in self._catalog.sinks.values() if s.name]
        hint = did_you_mean(name.text, names, "sinks") if names else "CREATE SINK declares one."
        return source.error(f"there is no sink called {name.text}", name.span, hint)

    def refuse_name(self, statement: syntax.Declaration) -> None:
        """Raise where something else is to have the name of a sink."""
        sink = self.find(statement.name.text)
        if sink is not None:
            raise statement.source.error(
                f"{sink.name} is a sink", statement.name.span, f"Give it another name, or DROP SINK {sink.name} first."
            )

    # -- answers -----------------------------------------------------------------------------------------------------

    def target_of(self, statement: syntax.Insert) -> SinkDef | None:
        """The sink an INSERT writes to; None where that is a table."""
        given = {o.name.text: o.value for o in statement.options}
        if statement.uri is not None:
            return SinkDef(None, None, statement.uri, given)
        sink = self.find(statement.table.text)
        if sink is None or not given:
            return sink
        return SinkDef(sink.name, sink.schema, sink.uri, {**sink.options, **given}, sink.text)

    def into(self, asked: str) -> SinkDef:
        """What `into` says: a declared sink's name, or an address. Raises `QueryError` where it is neither."""
        sink = self.find(asked)
        if sink is None and "://" not in asked:
            names = [s.name for s in self._catalog.sinks.values() if s.name]
            hint = did_you_mean(asked, names, "sinks") if names else "Write an address, such as 'file://answers/'."
            raise QueryError(f"there is no sink called {asked}", hint=hint)
        return sink or SinkDef(None, None, asked, {})

    def ready_for(
        self, statement: syntax.Insert, target: SinkDef, bound: BoundQuery, writer: str | None = None
    ) -> Ready:
        """Open the sink of an INSERT. Raises `QueryError` where it can't take the answer, with the place."""
        select, source = statement.select, statement.source
        assert select is not None
        at = select.span
        names = None
        if statement.columns is not None:
            names = [self._named(name, target, source) for name in statement.columns]
        wanted = names or (target.schema.names if target.schema else None)
        if wanted is not None and len(matching(bound.shown, wanted)) != len(wanted):
            raise source.error(f"{len(bound.shown)} columns for {len(wanted)}", at, f"They are {', '.join(wanted)}.")
        with _Placed(source, statement.options, statement.table.span):
            return self._opened(target, bound, names, lambda m: source.error(m, at), writer)

    def ready(self, target: SinkDef, bound: BoundQuery, writer: str | None = None) -> Ready:
        """Open a sink beside a chart. Raises `QueryError` where it can't take the answer."""
        if target.schema is not None and len(matching(bound.shown, target.schema.names)) != len(target.schema):
            raise QueryError(
                f"{len(bound.shown)} columns for {len(target.schema)} of {target.name}",
                hint=f"They are {', '.join(target.schema.names)}.",
            )
        return self._opened(target, bound, None, QueryError, writer)

    def _named(self, name: Name, target: SinkDef, source: SourceText) -> str:
        if target.schema is None:
            return name.text
        field = target.schema.find(name.text)
        if field is None:
            hint = did_you_mean(name.text, target.schema.names, "columns")
            raise source.error(f"there is no column called {name.text}", name.span, hint)
        return field.name

    def _opened(
        self,
        target: SinkDef,
        bound: BoundQuery,
        names: Sequence[str] | None,
        wrong: Callable[[str], QueryError],
        writer: str | None,
    ) -> Ready:
        if bound.budget is not None:
            raise QueryError(
                "answers under a budget are estimates at first", hint="Leave the budget out to write to a sink."
            )
        _, lower = checked(target.uri, target.options)
        shape = SinkShape(bound.shown, target.schema, names, integer_time(bound.plan), wrong, lower)
        upserts = "upsert" in connector_of(target.uri).modes
        revised = bound.emit.mode == "changes" and not bound.relation
        if revised and upserts:
            lower = {"mode": "upsert", **lower}
        asked = flag(lower, "provisional") or (revised and lower.get("mode") == "upsert")
        provisional = asked and bound.emit.mode != "final" and not bound.relation
        schema = Schema((*shape.schema, Field(IS_FINAL, pl.Boolean()))) if provisional else shape.schema
        log = _log(bound)
        by = tuple(n for n in (*BOUNDS, *bound.key_columns) if schema.find(n) is not None)
        order = open_sink(
            target.name, target.uri, lower, self._namespace, schema,
            relation=bound.relation, by=by, log=log, writer=writer,
        )  # fmt: skip
        return Ready(target, order, shape, provisional)

    def attach(self, ready: Ready, query: Query) -> None:
        """Have a query that hasn't begun write to it."""
        pipeline, order, engine = query._pipeline, ready.order, self._engine
        results = pipeline.results
        nothing = _no_answer(ready, results)
        follows = order.mode == "upsert" and (isinstance(results, Relation) or ready.provisional)
        state = results.frame if order.mode == "replace" and isinstance(results, Relation) else None

        cuts = pipeline.cuts if isinstance(pipeline, Pipeline) else None

        def keep_refused(rows: pl.DataFrame) -> None:
            pipeline.error_frames.add(rows)
            if ready.target.name is not None:
                self._side("errors", ready.target.name).add(rows)
                if cuts is not None:
                    cuts.sides.note("errors", ready.target.name, rows)

        def refused(rows: pl.DataFrame) -> None:
            if cuts is None:
                keep_refused(rows)
            else:  # not in the middle of a cut
                engine.submit(lambda: keep_refused(rows))

        def failed(why: str) -> None:
            engine.submit(lambda: pipeline.finish("failed", why))

        ties = Ties(
            most=max(1, engine.memory // CALLED_BACK),
            nothing=nothing,
            take=_nothing if follows else _taking(order, results, ready.provisional),
            shape=ready.shape.rows,
            as_refused=ready.shape.refused,
            state=state,
            position=str if cuts is None else _with_a_cut,
            room=engine.signal,
            refused=refused,
            failed=failed,
        )
        writer = _writer_of(ready, ties, pipeline)
        if follows and isinstance(results, Relation):
            op, at = results.changed_by
            results.followers.append(lambda changes: writer.add(changes.drop(at).rename({op: OP})))
        elif follows:
            assert isinstance(results, Results)
            results.followers.append(lambda left, given: writer.add(_both(left, given)))
        pipeline.outboxes.append(writer)
        query.writers.append(writer)


def _promise(sink: SinkDef) -> str:
    """What a declared sink promises, for people."""
    connector, lower = checked(sink.uri, sink.options)
    return connector.promised(lower)


def _no_answer(ready: Ready, results: Results | Relation) -> pl.DataFrame:
    """No rows, with the columns that its sink is given."""
    nothing = pl.DataFrame(schema=ready.shape.answer.polars())
    if ready.provisional:
        nothing = nothing.with_columns(pl.lit(True).alias(IS_FINAL))
    if ready.order.mode == "changes":
        nothing = results.history().clear()
    if ready.order.mode == "upsert":
        nothing = nothing.with_columns(pl.lit(1, pl.Int8).alias(OP))
    return nothing


def _writer_of(ready: Ready, ties: Ties, pipeline: Pipeline | SparkRun) -> SinkWriter:
    """What writes a query's answers to a sink: with a checkpoint in commits that it knows of."""
    if isinstance(pipeline, Pipeline):
        return (SinkWriter if pipeline.cuts is None else HeldWriter)(ready.order, ties)
    note = pipeline.note_of(ready.order.uri)
    if note is None:
        return SinkWriter(ready.order, ties)
    numbered = NumberedWriter(ready.order, ties, note)
    pipeline.batch_writers.append(numbered)
    pipeline.shapes.append((ready.shape.evaluator, ready.shape.schema.names))
    return numbered


def _log(bound: BoundQuery) -> tuple[Field, Field]:
    time: pl.DataType = pl.Int64() if integer_time(bound.plan) else TIMESTAMP
    return Field(bound.shown.free("op"), pl.Int8()), Field(bound.shown.free("at"), time)


def _with_a_cut() -> str:
    return "with a cut"


def _nothing(_: pl.DataFrame) -> None:
    """What a follower writes comes another way."""


def _both(left: pl.DataFrame, given: pl.DataFrame) -> pl.DataFrame:
    gone = left.with_columns(pl.lit(-1, pl.Int8).alias(OP))
    return pl.concat([gone, given.with_columns(pl.lit(1, pl.Int8).alias(OP))])


def _taking(order: Delivery, results: Results | Relation, provisional: bool) -> Callable[[pl.DataFrame], pl.DataFrame]:
    """What of answers given together is to be written."""

    def take(answers: pl.DataFrame) -> pl.DataFrame:
        if results.provisional and not provisional:
            answers = answers.filter(IS_FINAL).drop(IS_FINAL)
        return answers.with_columns(pl.lit(1, pl.Int8).alias(OP)) if order.mode == "upsert" else answers

    return take


class _Placed:
    """Gives errors of a sink the place of the option they are about, or of the sink."""

    def __init__(self, source: SourceText, options: Iterable[syntax.WithOption], otherwise: Span) -> None:
        self._source = source
        self._options = tuple(options)
        self._otherwise = otherwise

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, QueryError) and error.line is None:
            raise placed_at_option(error, self._source, self._options, self._otherwise) from None


def _written(of: Sequence[tuple[Query, SinkWriter]]) -> tuple[str, int, object]:
    said = [status(w) for _, w in of]
    last = max((s.last_commit for s in said if s.last_commit is not None), default=None)
    return (
        ", ".join(q.name for q, _ in of),
        sum(s.written for s in said),
        None if last is None else last.replace(tzinfo=None),
    )


__all__ = ["Ready", "SinkStatements"]
