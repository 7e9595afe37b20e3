"""Mistakes that are found where nobody knows the text any more, as while a plan is made: told at their statement."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from jupyter_stream.errors import QueryError
from jupyter_stream.syntax.source_text import Span
from jupyter_stream.syntax.syntax import Statement


@contextmanager
def placed(statement: Statement) -> Iterator[None]:
    """In this block, errors without a place get that of the statement's name, or of its first word."""
    try:
        yield
    except QueryError as error:
        if error.line is not None:
            raise
        name = getattr(statement, "name", None)
        first = statement.text.split(maxsplit=1)[0] if statement.text.split() else ""
        start = statement.span.start
        span = Span(start, start + len(first)) if name is None else name.span
        located = statement.source.error(error.message, span, error.hint, type(error))
        raise located from error.__cause__
