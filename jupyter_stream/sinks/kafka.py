"""`kafka://host:port/topic`: a message for each row, its value the row as JSON or Avro, its key the row's key."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

import polars as pl

from jupyter_stream.core import logs
from jupyter_stream.errors import SinkError
from jupyter_stream.secrets import remember, secret
from jupyter_stream.sinks.keys import key_texts, keyed
from jupyter_stream.sinks.messages import OPTIONS, MessageWriter, shown
from jupyter_stream.sinks.options import columns
from jupyter_stream.sinks.protocol import ROW_ID, Sink, SinkConnector, SinkUnreachable, Target

log = logs.of(__name__)

_PATIENCE: Final = 10.0
"""Seconds a broker has to take the messages of a commit; then the sink is away."""
_NEVER: Final = ("MSG_SIZE_TOO_LARGE", "INVALID_MSG", "INVALID_RECORD")
"""Errors that a message brings itself: it would fail again."""


class KafkaSink:
    """A topic. Raises `SinkError` when it is made: no topic, settings that can't be, the package `confluent-kafka` missing."""

    def __init__(self, target: Target) -> None:
        try:
            import confluent_kafka
        except ImportError:
            raise SinkError(
                "kafka:// needs the package confluent-kafka, which is not installed.",
                hint="Install it: pip install 'jupyter-stream[kafka]'.",
            ) from None
        self._brokers, _, self._topic = target.path.strip("/").partition("/")
        if not self._brokers or not self._topic or "/" in self._topic:
            raise SinkError("the address names no topic.", hint="Write TO 'kafka://localhost:9092/alerts'.")
        self._client: Any = confluent_kafka
        self._key = columns(target.options, "key", target.schema.names)
        self._settings = {
            "linger.ms": 5,
            **_config(target.options, target.namespace),
            "bootstrap.servers": self._brokers,
            "enable.idempotence": True,
            "message.timeout.ms": int(_PATIENCE * 1000),
        }
        self._writer = MessageWriter(target)
        self._producer: Any = None
        self._made().flush(0)  # settings that can't be are told here
        self._producer = None

    def _made(self) -> Any:
        if self._producer is None:
            try:
                self._producer = self._client.Producer(self._settings, logger=log)
            except self._client.KafkaException as error:
                raise SinkError(
                    f"the settings of Kafka can't be: {error.args[0].str()}.", hint="Look at config."
                ) from None
        return self._producer

    def check(self) -> None:
        """A broker that is away, or a topic that isn't there yet, may come."""

    def append(self, rows: pl.DataFrame) -> pl.DataFrame | None:
        """Send a message for each row, with its `row_id` as a header, and wait until the broker has them."""
        ids = rows.get_column(ROW_ID).to_list() if ROW_ID in rows.columns else None
        return self._send(rows, *self._writer.messages(rows), ids)

    def upsert(self, rows: pl.DataFrame, gone: pl.DataFrame) -> pl.DataFrame | None:
        """Send rows, and a message without a value for each key that is gone: what compacted topics take for a deletion."""
        rows, gone, keyless = keyed(rows, gone, self._key, "a topic")
        refused = self._send(rows, *self._writer.messages(rows), None)
        self._send(gone, [None] * gone.height, {}, None)
        found = [f for f in (keyless, refused) if f is not None]
        return pl.concat(found) if found else None

    def replace(self, rows: pl.DataFrame) -> None:
        """A topic only grows."""
        raise AssertionError("no mode of topics")

    def _send(
        self, rows: pl.DataFrame, values: Sequence[bytes | None], wrong: Mapping[int, str], ids: list[str] | None
    ) -> pl.DataFrame | None:
        """Send messages, but for those that are wrong. Returns the rows of those that no broker will take."""
        if not rows.height:
            return None
        producer, until = self._made(), time.monotonic() + _PATIENCE
        failed: dict[int, Any] = {}
        keys = key_texts(rows, self._key)
        for i, (value, key) in enumerate(zip(values, keys, strict=True)):
            if i in wrong:
                continue
            headers = None if ids is None else [(ROW_ID, ids[i])]

            def delivered(error: Any, _message: Any, i: int = i) -> None:
                if error is not None:
                    failed[i] = error

            while True:
                try:
                    producer.produce(self._topic, value, key, headers=headers, on_delivery=delivered)
                    break
                except BufferError:
                    producer.poll(0.1)
                    if time.monotonic() > until:
                        raise self._away("it takes nothing") from None
                except self._client.KafkaException as error:
                    failed[i] = error.args[0]
                    break
            if i % 1024 == 0:
                producer.poll(0)
        if producer.flush(_PATIENCE + 2):
            raise self._away("no answer")
        other = next((e for e in failed.values() if e.name() not in _NEVER), None)
        if other is not None:
            raise self._away(other.str())
        return shown(rows, {**{i: error.str() for i, error in failed.items()}, **wrong})

    def commit(self, number: int, position: str) -> None:
        """The broker has all messages."""

    def committed(self) -> tuple[int, str] | None:
        """A topic keeps no positions."""
        return None

    def abort(self) -> None:
        """Begin with a new producer: messages that wait are given up, and come again."""
        producer, self._producer = self._producer, None
        if producer is not None:
            producer.purge()
            producer.flush(0)

    def close(self) -> None:
        """Let go of the broker."""
        self.abort()

    def _away(self, why: str) -> SinkUnreachable:
        return SinkUnreachable(f"Kafka at {self._brokers} can't be written to: {why}")


def _config(options: Mapping[str, str], namespace: Mapping[str, object]) -> dict[str, object]:
    """The settings of librdkafka in the variable that `config` names."""
    name = options.get("config")
    if name is None:
        return {}
    value = namespace.get(name)
    if not isinstance(value, Mapping):
        raise SinkError(
            f"config = '{name}' names no dictionary of the notebook.",
            hint=f"Write {name} = {{'security.protocol': 'SASL_SSL', ...}} in a cell first.",
        ).about("config")
    found = {str(n): v for n, v in value.items()}
    for n, v in found.items():
        if secret(n):
            remember(v)
    return found


def _open(target: Target) -> Sink:
    return KafkaSink(target)


KAFKA: Final = SinkConnector(
    scheme="kafka",
    example="kafka://localhost:9092/alerts",
    options={
        "key": "the columns of the messages' key: one as text, several as JSON; needed for mode = 'upsert'",
        **OPTIONS,
        "config": "a variable that holds settings of librdkafka, such as those for a password",
    },
    modes=("upsert", "append", "changes"),
    promise="at least once",
    how="an idempotent producer; what is sent again after a failure has the same row_id, a header of the message",
    open=_open,
)
"""The connector of `kafka://`."""
