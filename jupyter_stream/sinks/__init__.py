"""Sinks: one connector per file. They know `core` only; `open_sink` picks one by the scheme of its URI."""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Final

import polars as pl

from jupyter_stream.core.messages import IS_FINAL
from jupyter_stream.core.schema import Field, Schema
from jupyter_stream.errors import SinkError
from jupyter_stream.secrets import hidden, remember, secret
from jupyter_stream.sinks.delta import DELTA
from jupyter_stream.sinks.duckdb import DUCKDB
from jupyter_stream.sinks.file import FILE
from jupyter_stream.sinks.kafka import KAFKA
from jupyter_stream.sinks.mqtt import MQTT
from jupyter_stream.sinks.nats import NATS
from jupyter_stream.sinks.options import GENERAL, check_known, columns, did_you_mean, of_uri, seconds
from jupyter_stream.sinks.postgresql import POSTGRESQL
from jupyter_stream.sinks.protocol import MODES, ROW_ID, Mode, Sink, SinkConnector, SinkUnreachable, Target
from jupyter_stream.sinks.python import PYTHON
from jupyter_stream.sinks.redis import REDIS
from jupyter_stream.sinks.sqlite import SQLITE
from jupyter_stream.sinks.web import WEB
from jupyter_stream.sinks.writer import OP, Delivery, SinkWriter, Ties

SINKS: tuple[SinkConnector, ...] = (
    FILE,
    DELTA,
    SQLITE,
    DUCKDB,
    POSTGRESQL,
    KAFKA,
    REDIS,
    MQTT,
    NATS,
    WEB,
    PYTHON,
)
"""Every connector there is."""
COMMIT_EVERY: Final = 10.0
"""Seconds between commits unless `commit_every` says otherwise."""


def connector_of(uri: str) -> SinkConnector:
    """The connector of a URI's scheme. Raises `SinkError` where there is none, with those there are."""
    scheme, mark, _ = uri.partition("://")
    by_scheme = {scheme: connector for connector in SINKS for scheme in (connector.scheme, *connector.also)}
    found = by_scheme.get(scheme.strip().lower()) if mark else None
    if found is not None:
        return found
    exist = "There are " + ", ".join(f"'{c.example}'" for c in SINKS) + "."
    if not mark:
        raise SinkError(f"'{uri}' is not a sink: it has no '://'.", hint=exist)
    raise SinkError(f"There is no sink '{scheme}://'.", hint=did_you_mean(scheme, by_scheme, exist))


def checked(uri: str, options: Mapping[str, str]) -> tuple[SinkConnector, dict[str, str]]:
    """The connector of a URI, and all its options, names in lower case. Raises `SinkError` for those there aren't."""
    connector = connector_of(uri)
    lower = {**({} if connector.is_web else of_uri(uri)), **{name.lower(): value for name, value in options.items()}}
    check_known(lower, (*connector.options, *GENERAL), f"{connector.scheme}://")
    for name, value in lower.items():
        if secret(name):
            remember(value)
    return connector, lower


def open_sink(
    name: str | None,
    uri: str,
    options: Mapping[str, str],
    namespace: Mapping[str, object],
    schema: Schema,
    *,
    relation: bool,
    by: tuple[str, ...] = (),
    log: tuple[Field, Field] | None = None,
    writer: str | None = None,
) -> Delivery:
    """Open what a URI names, for one answer.

    Args:
        name: the sink's name; None where it is written to by its address alone.
        uri: what stands behind TO.
        options: the WITH options.
        namespace: the notebook's variables.
        schema: the columns of the answer, `is_final` among them where provisional answers are written.
        relation: whether the answer is a state that changes.
        by: columns that tell rows of the answer apart, for a hint.
        log: the columns `op` and `at` of its change log, where it has one.
        writer: tells who writes from all others, where it goes on with what was written before; None for a new one.

    Raises:
        SinkError: no such scheme, an unknown option, a mode or key that can't be, or a sink that can't take these columns.
    """
    connector, lower = checked(uri, options)
    if name is not None and "table" in connector.options:
        lower.setdefault("table", name)
    mode = _mode(connector, lower, relation, "key" in lower and "key" not in connector.options)
    revised = schema.find(IS_FINAL) is not None
    key = _key(connector, lower, mode, schema, by, relation)
    columns_ = schema.fields
    if mode == "changes":
        assert log is not None
        columns_ = (*columns_, *log)
    resumes = writer is not None
    promise = connector.promise_of(lower, resumes=resumes)
    if promise == "at least once" and mode != "upsert":
        columns_ = (*columns_, Field(ROW_ID, pl.String()))
    if revised and mode not in ("append", "upsert"):
        raise SinkError(
            f"provisional answers can't be written with mode = '{mode}'.", hint="Leave provisional out, or mode."
        ).about("mode")
    writer = writer or f"{time.strftime('%Y%m%dT%H%M%S', time.gmtime())}-{secrets.token_hex(3)}"
    sink = connector.open(Target(uri, Schema(columns_), mode, key, relation, lower, namespace, writer, resumes))
    with suppress(SinkUnreachable):  # the writer goes on trying, and the view says so
        sink.check()
    every = seconds(lower, "commit_every", COMMIT_EVERY)
    grows = not (relation or revised)
    return Delivery(name or hidden(uri), hidden(uri), connector, sink, mode, key, every, writer, promise, grows)


def _mode(connector: SinkConnector, options: Mapping[str, str], relation: bool, keyed: bool) -> Mode:
    where = f"{connector.scheme}://"
    text = options.get("mode")
    if text is None:
        if relation:
            return next(m for m in connector.modes if m in ("upsert", "changes", "replace"))
        return "upsert" if keyed and "upsert" in connector.modes else "append"
    mode = next((m for m in MODES if m == text.strip().lower()), None)
    if mode is None:
        exist = f"It can be {', '.join(repr(m) for m in connector.modes)}."
        raise SinkError(f"Option mode can't be '{text}'.", hint=did_you_mean(text, MODES, exist)).about("mode")
    if mode not in connector.modes:
        others = " or ".join(repr(m) for m in connector.modes)
        able = ", ".join(f"{c.scheme}://" for c in SINKS if mode in c.modes)
        raise SinkError(
            f"{where} can't {_VERBS[mode]}.", hint=f"Write mode = {others}; or another sink: {able}."
        ).about("mode")
    if relation and mode == "append":
        others = " or ".join(repr(m) for m in connector.modes if m != "append")
        raise SinkError(
            "the answer is a state whose rows change and leave, and mode = 'append' only adds rows.",
            hint=f"Write mode = {others}, or look at extents: add SLIDE to the window.",
        ).about("mode")
    if not relation and mode == "changes":
        raise SinkError(
            "the answer only grows, so it has no change log.", hint="Leave mode out: its rows are added."
        ).about("mode")
    return mode


_VERBS: Final[dict[Mode, str]] = {
    "append": "add rows",
    "upsert": "put rows in the place of others by their key",
    "changes": "take a change log",
    "replace": "replace what it holds",
}


def _key(
    connector: SinkConnector,
    options: Mapping[str, str],
    mode: Mode,
    schema: Schema,
    by: tuple[str, ...],
    relation: bool,
) -> tuple[str, ...]:
    key = columns(options, "key", schema.names)
    if mode == "upsert" and not key:
        able = [m for m in connector.modes if m in (("changes", "replace") if relation else ("append",))]
        others = " or ".join(map(repr, able))
        raise SinkError(
            "which columns tell rows apart is missing, and rows that change need a key.",
            hint=f"Write WITH (key = '{', '.join(by) or schema.names[0]}')"
            + (f", or mode = {others}." if others else "."),
        )
    if key and mode != "upsert" and "key" not in connector.options:
        raise SinkError(f"key is for mode = 'upsert', and the mode here is '{mode}'.", hint="Leave key out.").about(
            "key"
        )
    return key


__all__ = [
    "COMMIT_EVERY",
    "GENERAL",
    "MODES",
    "OP",
    "SINKS",
    "Delivery",
    "Sink",
    "SinkConnector",
    "SinkUnreachable",
    "SinkWriter",
    "Target",
    "Ties",
    "checked",
    "connector_of",
    "open_sink",
]
