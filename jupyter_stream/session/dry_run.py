"""What statements would do: streams, tables and views are declared, queries bound and explained, and nothing runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

import polars as pl

from jupyter_stream import binding, functions, syntax
from jupyter_stream.binding.bind_table import LATENT
from jupyter_stream.core.table import ViewRows
from jupyter_stream.engine.explain import explain
from jupyter_stream.errors import UnsupportedError
from jupyter_stream.graph.graph import build
from jupyter_stream.plan.catalog import StreamDef
from jupyter_stream.plan.logical import BoundQuery, Project, streams
from jupyter_stream.secrets import hidden
from jupyter_stream.session import history
from jupyter_stream.session.approximating import approximated
from jupyter_stream.session.checkpoints import of_options
from jupyter_stream.session.names import Parameters
from jupyter_stream.session.run_options import RunOptions, run_options
from jupyter_stream.session.sink_statements import Ready
from jupyter_stream.session.statements import answer
from jupyter_stream.sinks.protocol import SinkUnreachable
from jupyter_stream.sources.table import TableSource
from jupyter_stream.spark import preflight

if TYPE_CHECKING:
    from jupyter_stream.session.session import Session

T = TypeVar("T")
_TITLE = 100
"""Characters of a statement that are shown."""


def checked(session: Session, statement: syntax.Statement, how: RunOptions) -> tuple[str, str]:
    """What a statement is, and what it would do: of a query, how it would run.

    Raises:
        QueryError: a mistake in the statement.
        UnsupportedError: a query that can't run there.
    """
    title = f"line {statement.line}: {_cut(statement)}"
    asked = _stated(session, statement, how)
    if asked is not None:
        return title, "\n".join([_explained(asked.query, how), *_reads(asked.query), *_writes(asked.into)])
    if isinstance(statement, syntax.Insert | syntax.Delete | syntax.Update | syntax.Drop | syntax.Show):
        return title, ""
    return title, str(answer(session, statement, how))


@dataclass(frozen=True, slots=True)
class StatedQuery:
    """A query that a statement asks for.

    Attributes:
        name: what it is called by its statement: a view, or a declared sink; None where that says nothing.
        query: what it computes.
        into: its sink, opened, which nothing writes to; None for none.
    """

    name: str | None
    query: BoundQuery
    into: Ready | None

    @property
    def answers(self) -> BoundQuery:
        """The same in the columns of its sink."""
        query, into = self.query, self.into
        if into is None or query.shown == into.shape.schema:
            return query
        return replace(query, plan=Project(query.plan, into.shape.items, into.shape.schema))


def query_in(session: Session, statement: syntax.Statement, how: RunOptions) -> StatedQuery | None:
    """The query that a statement asks for; None for one that declares something, which is declared.

    Raises:
        QueryError: a mistake in the statement.
        UnsupportedError: something other than declarations and queries: it changes what there is.
    """
    asked = _stated(session, statement, how)
    if asked is not None:
        return asked
    if isinstance(statement, syntax.Insert | syntax.Delete | syntax.Update):
        raise UnsupportedError("rows of a table belong to a session", hint="Leave the table out.")
    checked(session, statement, how)
    return None


def queries_in(session: Session, text: str, parameters: Mapping[str, object] | None = None) -> list[StatedQuery]:
    """The queries that statements ask for, none of which is started; streams, tables and views are declared.

    Raises:
        QueryError: a mistake in the text.
    """
    how = run_options(engine="spark")
    found = statement_by_statement(session, text, parameters, lambda statement: query_in(session, statement, how))
    return [stated for stated in found if stated is not None]


def statement_by_statement(
    session: Session, text: str, parameters: Mapping[str, object] | None, look: Callable[[syntax.Statement], T]
) -> list[T]:
    """What is found by a look at each statement of a text, with the session's own catalog. Raises `QueryError` for a mistake."""
    statements, found = syntax.parse(text, Parameters(session.namespace, parameters or {}), 1), []
    with session._lock, session._calling(), functions.at_one_time(), syntax.room():
        for statement in statements:
            with syntax.placed(statement):
                found.append(look(statement))
        session._notes.clear()
    return found


def _stated(session: Session, statement: syntax.Statement, how: RunOptions) -> StatedQuery | None:
    bound = _query_of(session, statement, how)
    if bound is None:
        return None
    bound = replace(bound, text=statement.text)
    if session.files is not None:
        bound = history.over(bound, session.files, session.open_source)
    if isinstance(statement, syntax.CreateView):
        return StatedQuery(statement.name.text, bound, None)
    if not isinstance(statement, syntax.Insert):
        return StatedQuery(None, bound, None)
    target = session.sinks.target_of(statement)
    assert target is not None
    _, options = of_options(target.options)
    return StatedQuery(target.name, bound, session.sinks.ready_for(statement, replace(target, options=options), bound))


def _reads(bound: BoundQuery) -> Iterator[str]:
    """Where its rows come from."""
    for stream in streams(bound.plan):
        yield f"reads {stream.name}: {hidden(stream.uri)}"


def _writes(into: Ready | None) -> Iterator[str]:
    """Where its answers go, and whether they can. Raises `SinkError` where they never could."""
    if into is None:
        return
    order = into.order
    said = f"writes to {order.name}: mode {order.mode}, {order.promise}"
    try:
        order.sink.check()
        yield said
    except SinkUnreachable as away:
        yield f"{said}; it can't be looked at now: {away}"
    finally:
        order.sink.close()


def _query_of(session: Session, statement: syntax.Statement, how: RunOptions) -> BoundQuery | None:
    """The query that a statement starts, None for others; a view is declared."""
    match statement:
        case syntax.Select():
            return approximated(session, how.of_query(binding.bind_query(statement, session.catalog)))
        case syntax.CreateView():
            bound = how.of_query(binding.bind_view(statement, session.catalog))
            session.catalog.add(_empty(statement, bound))
            return bound
        case syntax.Insert() if statement.select is not None and session.sinks.target_of(statement):
            return how.of_query(binding.bind_query(statement.select, session.catalog))
    return None


def _cut(statement: syntax.Statement) -> str:
    text = hidden(" ".join(statement.text.split()))
    return text if len(text) <= _TITLE else text[: _TITLE - 3] + "..."


def _empty(statement: syntax.CreateView, bound: BoundQuery) -> StreamDef:
    """A view without rows, for the statements below it."""
    schema = bound.plan.schema
    rows = ViewRows(schema, lambda: pl.DataFrame(schema=schema.polars()), bound.plan)
    return StreamDef(statement.name.text, schema, LATENT, "", TableSource(rows), text=_cut(statement), table=rows)


def _explained(bound: BoundQuery, how: RunOptions) -> str:
    """How a query would run."""
    if how.engine == "spark":
        preflight.refuse(bound)
        return preflight.explain(bound)
    return str(explain(build(bound)))


__all__ = ["StatedQuery", "checked", "queries_in", "statement_by_statement"]
