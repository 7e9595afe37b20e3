"""Where an option of WITH is written, for an error of a source or a sink that is about it."""

from __future__ import annotations

from collections.abc import Iterable

from jupyter_stream.errors import ConnectorError, QueryError
from jupyter_stream.syntax.source_text import SourceText, Span
from jupyter_stream.syntax.syntax import WithOption


def placed_at_option(
    error: QueryError, source: SourceText, options: Iterable[WithOption], otherwise: Span
) -> QueryError:
    """The error with a place: the option it is about, where that is written, or what else is given."""
    about = error.option if isinstance(error, ConnectorError) else None
    spans = {o.name.text.lower(): o.name.span.to(o.value_span) for o in options}
    return source.error(error.message, spans.get(about or "", otherwise), error.hint, type(error))


__all__ = ["placed_at_option"]
