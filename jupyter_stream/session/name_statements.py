"""SHOW, DESCRIBE, EXPLAIN and DROP: what a session says of the names it knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jupyter_stream import binding, syntax
from jupyter_stream.aggregates.user import declared
from jupyter_stream.engine.explain import Text, explain
from jupyter_stream.errors import QueryError, UnsupportedError
from jupyter_stream.graph.graph import build
from jupyter_stream.session import listings, overview, own_functions, summary_statements, user_aggregates
from jupyter_stream.session.approximating import approximated
from jupyter_stream.session.names import derives_from, no_such
from jupyter_stream.session.query import Explanation, Message, Result
from jupyter_stream.session.run_options import RunOptions
from jupyter_stream.session.starting_queries import with_rates
from jupyter_stream.spark import preflight

if TYPE_CHECKING:
    from jupyter_stream.session.session import Session


def answer(session: Session, statement: syntax.Statement) -> Result:
    """What SHOW, DESCRIBE or DROP gives. Raises `QueryError` for a name that nothing has."""
    catalog, sinks, queries = session.catalog, session.sinks, session.queries.values()
    match statement:
        case syntax.Show(what="streams" | "sources"):
            return listings.streams(catalog)
        case syntax.Show(what="sinks"):
            return sinks.listing(queries)
        case syntax.DescribeSink(name=name):
            return sinks.description(name, statement.source, queries)
        case syntax.Show(what="tables" | "views" as what):
            return listings.tables(catalog, what)
        case syntax.Show(what="aggregates"):
            return user_aggregates.listing(catalog)
        case syntax.DescribeAggregate(name=name):
            return user_aggregates.description(catalog, name, statement.source)
        case syntax.Show(what="summaries"):
            return summary_statements.listing(catalog)
        case syntax.DescribeSummary(name=name):
            return summary_statements.description(catalog, name, statement.source)
        case syntax.Show(what="schedulers"):
            return listings.schedulers(session.engine.scheduler)
        case syntax.Show(what="queries"):
            return overview.queries(list(queries))
        case syntax.Show(what="functions") | syntax.DescribeFunctions(name=None):
            return listings.functions(catalog)
        case syntax.DescribeFunctions(name=name):
            assert name is not None
            own = own_functions.description(catalog, name.text)
            if own is not None:
                return own
            return listings.functions(catalog, name.text)
        case syntax.Describe():
            return _description(session, statement)
        case syntax.Drop():
            return _drop(session, statement)
    raise UnsupportedError(f"{type(statement).__name__} is not available yet")


def _description(session: Session, statement: syntax.Describe) -> Result:
    name, source = statement.name.text, statement.source
    entry = session.catalog.find(name if statement.function is None else f"{statement.function}({name})")
    if entry is not None:
        return listings.columns(entry)
    if statement.function is None:
        if name.lower() in session.catalog.summaries:
            return summary_statements.description(session.catalog, statement.name, source)
        if session.sinks.find(name) is not None:
            return session.sinks.description(statement.name, source, session.queries.values())
        if name in session.queries:
            return Explanation(session.queries[name].explain())
        own = own_functions.description(session.catalog, name)
        if own is not None:
            return own
        if declared(name) is not None:
            return user_aggregates.description(session.catalog, statement.name, source)
    raise _unknown(session, statement)


def explanation(session: Session, statement: syntax.Explain, how: RunOptions) -> Explanation:
    """How a query runs, or would run. Raises `QueryError` for a name that no query has."""
    if statement.select is None:
        assert statement.name is not None
        query = session.queries.get(statement.name.text)
        if query is None:
            raise _unknown(session, statement)
        if statement.engine == "spark":
            return Explanation(Text(preflight.explain(query._pipeline.query)))
        return Explanation(query.explain())
    bound = binding.bind_query(statement.select, session.catalog)
    if statement.engine == "spark":
        return Explanation(Text(preflight.explain(bound)))
    return Explanation(explain(build(approximated(session, with_rates(session, how.of_query(bound))))))


def _drop(session: Session, statement: syntax.Drop) -> Message:
    match statement.kind:
        case "aggregate":
            return user_aggregates.drop(session.catalog, statement)
        case "function":
            return own_functions.drop(session.catalog, statement)
        case "summary":
            return summary_statements.drop(session.catalog, statement)
        case "sink":
            return session.sinks.drop(statement)
    name = statement.name.text
    entry = session.catalog.find(name)
    of_query = statement.kind == "query" or (entry is None and name in session.queries)
    if name not in session.queries if of_query else entry is None:
        if statement.if_exists:
            return Message(f"There is no {name}.")
        raise _unknown(session, statement)
    if entry is not None and statement.kind not in ("query", kind := listings.kind(entry)):
        raise statement.source.error(
            f"{entry.name} is a {kind}", statement.name.span, f"Write DROP {kind.upper()} {entry.name}."
        )
    try:
        return session.drop(name)
    except QueryError as error:
        raise statement.source.error(error.message, statement.name.span, error.hint) from None


def drop(session: Session, name: str) -> Message:
    """Stop and forget a query, or forget a stream. Raises `QueryError` if there is neither."""
    entry = session.catalog.find(name)
    if entry is not None:
        user = next((e.name for e in session.catalog if derives_from(e, entry)), None)
        if user is not None:
            raise QueryError(f"{user} is derived from {entry.name}", hint=f"Drop {user} first.")
        kept = next((s.name for s in session.catalog.summaries.values() if s.stream == entry.name), None)
        if kept is not None:
            raise QueryError(f"{kept} is a summary of {entry.name}", hint=f"DROP SUMMARY {kept} first.")
        session.catalog.drop(name)
        kind = listings.kind(entry)
        query = session.queries.pop(entry.name, None) if kind == "view" else None
        if query is not None:
            query.stop()
        return Message(f"{kind.capitalize()} {entry.name} is dropped.")
    query = session.queries.pop(name, None)
    if query is None:
        raise no_such(name, session.catalog, session.queries)
    query.stop()
    session.engine.give_back([query._pipeline])
    return Message(f"Query {name} is dropped.")


def _unknown(session: Session, statement: syntax.Describe | syntax.Explain | syntax.Drop) -> QueryError:
    assert statement.name is not None
    error = no_such(statement.name.text, session.catalog, session.queries)
    return statement.source.error(error.message, statement.name.span, error.hint)


__all__ = ["answer", "drop", "explanation"]
