"""Sources: one connector per file. They know `core` only; `open_source` picks one by the scheme of its URI."""

from __future__ import annotations

from collections.abc import Mapping

from jupyter_stream.core.schema import Schema, type_name
from jupyter_stream.errors import SourceError
from jupyter_stream.sources.file import FILE
from jupyter_stream.sources.frame import FRAME
from jupyter_stream.sources.generate import GENERATE
from jupyter_stream.sources.kafka import KAFKA
from jupyter_stream.sources.options import GENERAL, check_known, did_you_mean
from jupyter_stream.sources.pacing import check_rate, pace, parse_rate
from jupyter_stream.sources.protocol import BATCH_ROWS, REJECTED, Chunk, Connector, Context, Request, Source
from jupyter_stream.sources.python import PYTHON
from jupyter_stream.sources.system import SYSTEM

SOURCES: tuple[Connector, ...] = (
    FRAME,
    FILE,
    PYTHON,
    GENERATE,
    SYSTEM,
    KAFKA,
)
"""Every connector there is."""

_ELSEWHERE = frozenset({"ws", "wss", "sse+http", "sse+https", "mqtt", "mqtts", "redis", "rediss", "nats", "socket"})
"""Schemes of live sources that have no connector yet."""

__all__ = [
    "BATCH_ROWS",
    "REJECTED",
    "SOURCES",
    "Chunk",
    "Connector",
    "Context",
    "Request",
    "Source",
    "open_source",
    "pace",
    "parse_rate",
]


def open_source(uri: str, schema: Schema | None, options: Mapping[str, str], namespace: Mapping[str, object]) -> Source:
    """Open what a URI names.

    Args:
        uri: what stands after SOURCE, such as `file://bids.jsonl`.
        schema: the declared columns; None lets the source find its own.
        options: the WITH options.
        namespace: the notebook's variables; kept, so that a frame assigned anew is read anew.

    Raises:
        SourceError: no such scheme, an unknown option, nothing there, or columns that differ in case alone.
    """
    scheme, mark, _ = uri.partition("://")
    by_scheme = {connector.scheme: connector for connector in SOURCES}
    connector = by_scheme.get(scheme.strip().lower()) if mark else None
    if connector is None:
        exist = "There are " + ", ".join(f"'{c.example}'" for c in SOURCES) + "."
        if not mark:
            raise SourceError(f"'{uri}' is no source: it has no '://'.", hint=exist)
        if scheme.strip().lower() in _ELSEWHERE:
            raise SourceError(
                f"'{scheme}://' isn't available in this version.",
                hint="Let a generator or an async generator of the notebook take the messages: SOURCE 'python://messages'.",
            )
        raise SourceError(f"There is no source '{scheme}://'.", hint=did_you_mean(scheme, by_scheme, exist))
    lower = {name.lower(): value for name, value in options.items()}
    check_known(lower, (*connector.options, *GENERAL), f"{connector.scheme}://")
    source = connector.open(Context(uri, schema, lower, namespace))
    if schema is None:
        _check_told_apart(source.schema, uri)
    check_rate(lower.get("rate"), source.replayable, uri)
    return source


def _check_told_apart(schema: Schema, uri: str) -> None:
    """Refuse columns that differ in case alone, which a query can't name; where columns are declared, those are taken."""
    first: dict[str, str] = {}
    for field in schema:
        other = first.setdefault(field.name.lower(), field.name)
        if other != field.name:
            raise SourceError(
                f"{uri} has columns '{other}' and '{field.name}', which a query can't tell apart: capitals make no difference.",
                hint=f"Rename one, or declare the columns to read: ({field.name} {type_name(field.dtype)}, ...) SOURCE '{uri}'.",
            )
