"""`kafka://host:port/topic`: a message for each row, its value the row as JSON or Avro, its key the row's key."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import polars as pl

from jupyter_stream.core import logs
from jupyter_stream.errors import SinkError
from jupyter_stream.secrets import remember, secret
from jupyter_stream.sinks.kafka_transactions import OfClient, Transactions, drop
from jupyter_stream.sinks.keys import key_texts, keyed
from jupyter_stream.sinks.messages import OPTIONS, MessageWriter, shown
from jupyter_stream.sinks.options import choice, columns
from jupyter_stream.sinks.protocol import ROW_ID, Sink, SinkConnector, SinkUnreachable, Target

log = logs.of(__name__)

_PATIENCE: Final = 10.0
"""Seconds a broker has to take the messages of a commit; then the sink is away."""
_NEVER: Final = ("MSG_SIZE_TOO_LARGE", "INVALID_MSG", "INVALID_RECORD")
"""Errors that a message brings itself: it would fail again."""


@dataclass(frozen=True, slots=True, eq=False)
class _Message:
    """What is sent for a row: its number among those given, None for a deletion; and what the library is given."""

    row: int | None
    value: bytes | None
    key: str | None
    headers: list[tuple[str, str]] | None = None


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
        self._client: OfClient = confluent_kafka
        self._key = columns(target.options, "key", target.schema.names)
        config = _config(target.options, target.namespace)
        self._settings = {
            "linger.ms": 5,
            **config,
            "bootstrap.servers": self._brokers,
            "enable.idempotence": True,
            "message.timeout.ms": int(_PATIENCE * 1000),
        }
        self._transactions: Transactions | None = None
        if _in_transactions(target.options) and target.resumes:
            self._transactions = Transactions(
                self._client, self._brokers, self._topic, target.writer, config, _PATIENCE
            )
        self._writer = MessageWriter(target)
        self._producer: OfClient = None
        self._sent: list[_Message] = []  # in the transaction under way; none is without messages
        self._last: tuple[int, str] | None = None  # what the broker is known to have
        self._made().flush(0)  # settings that can't be are told here

    def _made(self, name: str | None = None) -> OfClient:
        """A producer, whose transactions have that name where it is not to be the writer's."""
        more = {} if self._transactions is None else self._transactions.settings(name)
        try:
            return self._client.Producer({**self._settings, **more}, logger=log)
        except self._client.KafkaException as error:
            raise SinkError(f"the settings of Kafka can't be: {error.args[0].str()}.", hint="Look at config.") from None

    def _begun(self) -> OfClient:
        """The producer. What one before left undone is undone for good, and what the broker has is known."""
        if self._producer is None:
            self._producer = self._made()
            if self._transactions is not None:
                self._transactions.start(self._producer)
                self._last = self._transactions.committed()
        return self._producer

    def check(self) -> None:
        """Whether the broker has transactions, where they are needed. One that is away, or without the topic, may come."""
        if self._transactions is not None:
            self._transactions.check(self._made)

    def append(self, rows: pl.DataFrame) -> pl.DataFrame | None:
        """Send a message for each row, with its `row_id` as a header, and wait until the broker has them."""
        ids = rows.get_column(ROW_ID).to_list() if ROW_ID in rows.columns else None
        messages, wrong = self._messages(rows, ids)
        return _refused(rows, self._send(messages), wrong)

    def upsert(self, rows: pl.DataFrame, gone: pl.DataFrame) -> pl.DataFrame | None:
        """Send rows, and a message without a value for each key that is gone: what compacted topics take for a deletion."""
        rows, gone, keyless = keyed(rows, gone, self._key, "a topic")
        messages, wrong = self._messages(rows, None)
        messages += [_Message(None, None, key) for key in key_texts(gone, self._key)]
        refused = _refused(rows, self._send(messages), wrong)
        found = [f for f in (keyless, refused) if f is not None]
        return pl.concat(found) if found else None

    def replace(self, rows: pl.DataFrame) -> None:
        """A topic only grows."""
        raise AssertionError("no mode of topics")

    def _messages(self, rows: pl.DataFrame, ids: list[str] | None) -> tuple[list[_Message], dict[int, str]]:
        """Those of rows, but for rows that the schema has no place for; and what is wrong with these, by number."""
        values, wrong = self._writer.messages(rows)
        keys = key_texts(rows, self._key)
        made = [
            _Message(i, value, key, None if ids is None else [(ROW_ID, ids[i])])
            for i, (value, key) in enumerate(zip(values, keys, strict=True))
            if i not in wrong
        ]
        return made, wrong

    def _send(self, messages: Sequence[_Message]) -> dict[_Message, OfClient]:
        """Send messages, and wait until the broker has them. Returns those that no broker will take, and why."""
        if not messages:
            return {}
        producer, transactions = self._begun(), self._transactions
        if transactions is None:
            return self._delivered(producer, messages)
        refused: dict[_Message, OfClient] = {}
        waiting = list(messages)
        while waiting:
            if not self._sent:
                transactions.begin(producer)
            try:
                failed = self._delivered(producer, waiting)
            except SinkUnreachable:
                transactions.give_up(producer)  # raises where another writer has taken over
                raise
            refused |= failed
            self._sent += [m for m in waiting if m not in failed]
            if not failed:
                break
            transactions.give_up(producer)  # with a message that failed it can't be committed: the others once more
            waiting, self._sent = self._sent, []
        return refused

    def _delivered(self, producer: OfClient, messages: Sequence[_Message]) -> dict[_Message, OfClient]:
        """As `_send`, by this producer."""
        failed: dict[_Message, OfClient] = {}
        try:
            for i, message in enumerate(messages):
                self._produce(producer, message, failed)
                if i % 1024 == 0:
                    producer.poll(0)
            left = producer.flush(_PATIENCE + 2)
        except self._client.KafkaException as error:  # raised by poll and flush where the producer is one no more
            raise self._away(error.args[0].str()) from None
        if left:
            raise self._away("no answer")
        other = next((e for e in failed.values() if e.name() not in _NEVER), None)
        if other is not None:
            raise self._away(other.str())
        return failed

    def _produce(self, producer: OfClient, message: _Message, failed: dict[_Message, OfClient]) -> None:
        """Give a message to the library, as soon as it has room; what fails is noted, also when that is known later."""

        def delivered(error: OfClient, _: OfClient) -> None:
            if error is not None:
                failed[message] = error

        until = time.monotonic() + _PATIENCE
        while True:
            try:
                producer.produce(
                    self._topic, message.value, message.key, headers=message.headers, on_delivery=delivered
                )
                return
            except BufferError:
                producer.poll(0.1)
                if time.monotonic() > until:
                    raise self._away("it takes nothing") from None
            except self._client.KafkaException as error:
                failed[message] = error.args[0]
                return

    def commit(self, number: int, position: str) -> None:
        """End the transaction, the number in it. Without transactions the broker has all messages."""
        transactions = self._transactions
        if transactions is None or not self._sent:
            return  # no messages: nothing that could be there twice
        if self._last is not None and number <= self._last[0]:
            transactions.give_up(self._producer)
        else:
            transactions.commit(self._producer, number, position)
            self._last = number, position
        self._sent = []

    def committed(self) -> tuple[int, str] | None:
        """What the broker has of this writer's. Without transactions a topic keeps no positions."""
        if self._transactions is not None:
            self._begun()
        return self._last

    def abort(self) -> None:
        """Begin with a new producer: messages that wait are given up, and come again."""
        producer, self._producer, self._sent = self._producer, None, []
        if producer is not None:
            drop(producer)

    def close(self) -> None:
        """Let go of the broker."""
        self.abort()
        if self._transactions is not None:
            self._transactions.close()

    def _away(self, why: str) -> SinkUnreachable:
        return SinkUnreachable(f"Kafka at {self._brokers} can't be written to: {why}")


def _refused(rows: pl.DataFrame, failed: Mapping[_Message, OfClient], wrong: Mapping[int, str]) -> pl.DataFrame | None:
    """Rows that will never be messages, as `raw` and `reason`."""
    return shown(rows, {**{m.row: error.str() for m, error in failed.items() if m.row is not None}, **wrong})


def _in_transactions(options: Mapping[str, str]) -> bool:
    """Whether a query with a checkpoint writes in transactions."""
    return choice(options, "transactions", ("on", "off"), "on") == "on"


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
        "transactions": "'off' where the broker has none: a query with a checkpoint is then at least once; 'on' by default",
    },
    modes=("upsert", "append", "changes"),
    promise="at least once",
    exact=_in_transactions,
    how="with a checkpoint a commit is a transaction, its number in it as the offset of a consumer group, and readers of what is "
    "committed (isolation.level) see each row once; else an idempotent producer: what is sent again after a failure has the same "
    "row_id, a header of the message",
    open=_open,
)
"""The connector of `kafka://`."""
