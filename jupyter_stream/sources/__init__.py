"""Sources: one connector per file. They know `core` only; `open_source` picks one by the scheme of its URI."""

from __future__ import annotations

from collections.abc import Mapping

from jupyter_stream.core.schema import Schema
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
        SourceError: no such scheme, an unknown option, or nothing there.
    """
    scheme, mark, _ = uri.partition("://")
    by_scheme = {connector.scheme: connector for connector in SOURCES}
    connector = by_scheme.get(scheme.strip().lower()) if mark else None
    if connector is None:
        exist = "There are " + ", ".join(f"'{c.example}'" for c in SOURCES) + "."
        if not mark:
            raise SourceError(f"'{uri}' is no source: it has no '://'.", hint=exist)
        raise SourceError(f"There is no source '{scheme}://'.", hint=did_you_mean(scheme, by_scheme, exist))
    lower = {name.lower(): value for name, value in options.items()}
    check_known(lower, (*connector.options, *GENERAL), f"{connector.scheme}://")
    source = connector.open(Context(uri, schema, lower, namespace))
    check_rate(lower.get("rate"), source.replayable, uri)
    return source
