"""Which file of the session a statement is for, of those that start no query."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jupyter_stream import binding, syntax
from jupyter_stream.session import name_statements, own_functions, stream_statements, summary_statements
from jupyter_stream.session.query import Result
from jupyter_stream.session.run_options import RunOptions

if TYPE_CHECKING:
    from jupyter_stream.session.session import Session


def answer(session: Session, statement: syntax.Statement, how: RunOptions) -> Result:
    """What a statement gives that starts no query."""
    match statement:
        case syntax.CreateStream():
            return stream_statements.declare(
                session, binding.bind_stream(statement, session.open_source, session.catalog)
            )
        case syntax.CreateStreamAs():
            return stream_statements.declare(session, binding.bind_derived(statement, session.catalog))
        case syntax.CreateTable() | syntax.CreateTableAs():
            return session.tables.create(statement)
        case syntax.CreateAggregate():
            return stream_statements.create_aggregate(session.catalog, statement)
        case syntax.CreateFunction():
            return own_functions.create(session.catalog, statement)
        case syntax.CreateSink():
            return session.sinks.create(statement)
        case syntax.CreateSummary():
            return summary_statements.create(session.catalog, statement)
        case syntax.Insert() | syntax.Delete() | syntax.Update():
            return session.tables.change(statement)
        case syntax.Explain():
            return name_statements.explanation(session, statement, how)
    return name_statements.answer(session, statement)


__all__ = ["answer"]
