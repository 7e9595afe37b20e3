"""Sources: one connector per file. They know `core` only; `open_source` picks one by the scheme of its URI."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from types import FunctionType

from jupyter_stream.core.figures import Figures
from jupyter_stream.core.schema import Schema, type_name
from jupyter_stream.errors import SourceError
from jupyter_stream.secrets import remember, secret
from jupyter_stream.sources.duckdb import DUCKDB
from jupyter_stream.sources.file import FILE
from jupyter_stream.sources.frame import FRAME
from jupyter_stream.sources.generate import GENERATE
from jupyter_stream.sources.kafka import KAFKA
from jupyter_stream.sources.mqtt import MQTT
from jupyter_stream.sources.nats import NATS
from jupyter_stream.sources.options import GENERAL, check_known, did_you_mean
from jupyter_stream.sources.pacing import check_rate, pace, parse_rate
from jupyter_stream.sources.paths import is_path
from jupyter_stream.sources.postgresql import POSTGRESQL
from jupyter_stream.sources.protocol import BATCH_ROWS, REJECTED, Chunk, Context, Request, Source, SourceConnector
from jupyter_stream.sources.python import PYTHON
from jupyter_stream.sources.redis import REDIS
from jupyter_stream.sources.socket_lines import SOCKET
from jupyter_stream.sources.sqlite import SQLITE
from jupyter_stream.sources.system import SYSTEM
from jupyter_stream.sources.tabular import is_frame
from jupyter_stream.sources.web import EVENTS, POLLED
from jupyter_stream.sources.ws import WS

SOURCES: tuple[SourceConnector, ...] = (
    FRAME,
    FILE,
    PYTHON,
    GENERATE,
    SYSTEM,
    KAFKA,
    SOCKET,
    REDIS,
    MQTT,
    NATS,
    WS,
    POLLED,
    EVENTS,
    POSTGRESQL,
    SQLITE,
    DUCKDB,
)
"""Every connector there is."""

__all__ = [
    "BATCH_ROWS",
    "REJECTED",
    "SOURCES",
    "Chunk",
    "Context",
    "Request",
    "Source",
    "SourceConnector",
    "open_source",
    "pace",
    "parse_rate",
]


def open_source(
    uri: str,
    schema: Schema | None,
    options: Mapping[str, str],
    namespace: Mapping[str, object],
    *,
    to_end: bool = False,
    figures: Figures | None = None,
) -> Source:
    """Open what a URI names.

    Args:
        uri: what stands after SOURCE, such as `file://bids.jsonl`.
        schema: the declared columns; None lets the source find its own.
        options: the WITH options.
        namespace: the notebook's variables; kept, so that a frame assigned anew is read anew.
        to_end: end with what is there now, where the source would wait for more.
        figures: what the session tells of itself, for `system://queries` and its like.

    Raises:
        SourceError: no such scheme, an unknown option, nothing there, or columns that differ in case alone.
    """
    scheme, mark, _ = uri.partition("://")
    by_scheme = {scheme: connector for connector in SOURCES for scheme in (connector.scheme, *connector.also)}
    connector = by_scheme.get(scheme.strip().lower()) if mark else None
    if connector is None:
        some = ", ".join(f"'{c.example}'" for c in SOURCES[:3])
        exist = f"Write for instance {some}. The schemes are {', '.join(c.scheme for c in SOURCES)}."
        if not mark:
            raise SourceError(f"'{uri}' is not a source: it has no '://'.", hint=_meant(uri, namespace) or exist)
        raise SourceError(f"There is no source '{scheme}://'.", hint=did_you_mean(scheme, by_scheme, exist))
    lower = {name.lower(): value for name, value in options.items()}
    check_known(lower, (*connector.options, *GENERAL), f"{connector.scheme}://")
    for name, value in lower.items():
        if secret(name):
            remember(value)
    if to_end:
        lower |= connector.to_end
    source = connector.open(Context(uri, schema, lower, namespace, figures))
    if schema is None:
        _refuse_equal_names(source.schema, uri)
    check_rate(lower.get("rate"), source.replayable, uri)
    return source


def _meant(text: str, namespace: Mapping[str, object]) -> str | None:
    """What to write for a source without a scheme."""
    value = namespace.get(text)
    if is_frame(value):
        return f"Write SOURCE 'frame://{text}'."
    if isinstance(value, list | tuple | Iterator | AsyncIterator | FunctionType):
        return f"Write SOURCE 'python://{text}'."
    return f"Write SOURCE 'file://{text}'." if is_path(text) else None


def _refuse_equal_names(schema: Schema, uri: str) -> None:
    """Refuse columns that differ in case alone, which a query can't name; where columns are declared, those are taken."""
    first: dict[str, str] = {}
    for field in schema:
        other = first.setdefault(field.name.lower(), field.name)
        if other != field.name:
            raise SourceError(
                f"{uri} has columns '{other}' and '{field.name}', which a query can't tell apart: capitals make no difference.",
                hint=f"Rename one, or declare the columns to read: ({field.name} {type_name(field.dtype)}, ...) SOURCE '{uri}'.",
            )
