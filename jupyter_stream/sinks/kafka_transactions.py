"""Commits to Kafka as transactions: the messages, and the commit's number as the offset that a consumer group has reached.

The group has no members and the offset stands for none of the topic's: it is the one thing a broker writes in the same
transaction as messages. It can be read back by its group alone, which is named after the writer, as the transactions are.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final, TypeAlias, TypeVar

from jupyter_stream.errors import SinkError
from jupyter_stream.sinks.protocol import SinkUnreachable

T = TypeVar("T")
OfClient: TypeAlias = Any
"""Something of `confluent_kafka`, which has no types."""

_REFUSED: Final = (
    "_UNSUPPORTED_FEATURE",
    "UNSUPPORTED_VERSION",
    "UNSUPPORTED_FOR_MESSAGE_FORMAT",
    "TRANSACTIONAL_ID_AUTHORIZATION_FAILED",
    "GROUP_AUTHORIZATION_FAILED",
    "CLUSTER_AUTHORIZATION_FAILED",
)
"""What a broker says that has no transactions, or not for this user."""
_TAKEN_OVER: Final = ("_FENCED", "PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH")
"""What a broker says to a producer whose transactions another one has begun, or that took longer than it may."""
_TOO_LONG: Final = "INVALID_TRANSACTION_TIMEOUT"
_MILLISECONDS: Final = 300_000
"""A commit may take so long; after a kill readers wait so long, unless the query is started again. Brokers let it be 15 min."""


class Transactions:
    """Those of one writer.

    Args:
        client: the library.
        brokers: where they are.
        topic: where messages go to.
        writer: the sink's.
        config: settings of the user.
        patience: seconds a broker has to answer.
    """

    def __init__(
        self,
        client: OfClient,
        brokers: str,
        topic: str,
        writer: str,
        config: Mapping[str, object],
        patience: float,
    ) -> None:
        self._client = client
        self._brokers = brokers
        self._topic = topic
        self._name = f"jupyter-stream-{writer}"
        self._config = config
        self._patience = patience
        self._consumer: OfClient = None

    def settings(self, name: str | None = None) -> dict[str, object]:
        """What a producer needs besides those of every sink; with a name, one whose transactions are others."""
        milliseconds = self._config.get("transaction.timeout.ms", _MILLISECONDS)
        return {"transactional.id": name or self._name, "transaction.timeout.ms": milliseconds}

    def check(self, made: Callable[[str], OfClient]) -> None:
        """Look whether the broker has transactions, and lets this user have some.

        Args:
            made: makes a producer whose transactions have such a name.

        Raises:
            SinkError: it doesn't.
            SinkUnreachable: that can't be told just now.
        """
        try:  # under another name: a query that runs under this one would be put out
            self.start(made(f"{self._name}-check"))
            self.committed()
        finally:
            self.close()

    def start(self, producer: OfClient) -> None:
        """Have the broker finish or give up what a former producer of this name left, and refuse that one from now on.

        Raises:
            SinkError: it has no transactions.
            SinkUnreachable: not just now.
        """
        self._patiently(producer.init_transactions)

    def begin(self, producer: OfClient) -> None:
        """Messages that follow are of a new one."""
        self._patiently(lambda _: producer.begin_transaction())

    def commit(self, producer: OfClient, number: int, position: str) -> None:
        """Commit the messages and this number, both or none.

        Raises:
            SinkError: another producer has this name now.
            SinkUnreachable: not just now; nobody knows whether they are.
        """
        place = self._client.TopicPartition(self._topic, 0, number, *([position] if position else []))
        members = self._reader().consumer_group_metadata()
        self._patiently(lambda left: producer.send_offsets_to_transaction([place], members, left))
        self._patiently(producer.commit_transaction)

    def give_up(self, producer: OfClient) -> None:
        """Nobody will see its messages. Raises as `commit`."""
        self._patiently(producer.abort_transaction)

    def committed(self) -> tuple[int, str] | None:
        """Number and position of the last one; None where the broker knows of none, or has forgotten it.

        Raises:
            SinkUnreachable: that can't be told just now.
        """
        reader, asked = self._reader(), [self._client.TopicPartition(self._topic, 0)]
        (found,) = self._patiently(lambda left: reader.committed(asked, timeout=left))
        if found.error is not None and found.error.name() != "UNKNOWN_TOPIC_OR_PART":  # it may come
            raise self.refusal(found.error)
        return None if found.offset < 1 else (found.offset, found.metadata or "")

    def close(self) -> None:
        """Let go of the broker."""
        reader, self._consumer = self._consumer, None
        if reader is not None:
            reader.close()

    def _reader(self) -> OfClient:
        """A member of the group for the library's sake: it joins nothing and reads nothing."""
        if self._consumer is None:
            settings = {
                "log_level": 0,  # the library would complain of settings that are for producers
                **self._config,
                "bootstrap.servers": self._brokers,
                "group.id": self._name,
                "enable.auto.commit": False,
                "isolation.level": "read_committed",  # waits for offsets of a transaction that is being finished
            }
            self._consumer = self._client.Consumer(settings)
        return self._consumer

    def _patiently(self, call: Callable[[float], T]) -> T:
        """What the library answers; a call that it says can be taken up again is."""
        until = time.monotonic() + self._patience
        while True:
            try:
                return call(max(0.1, until - time.monotonic()))
            except self._client.KafkaException as raised:
                error = raised.args[0]
                if not error.retriable() or time.monotonic() > until:
                    raise self.refusal(error) from None
                time.sleep(0.05)  # the broker says when it can be taken up only by taking it

    def refusal(self, error: OfClient) -> Exception:
        """What is raised for an error of the library: a broker that will never take it ends the query."""
        name, said = error.name(), error.str().rstrip(".")
        if name in _REFUSED:
            return SinkError(
                f"Kafka at {self._brokers} refuses transactions, which a query with a checkpoint writes in: {said}.",
                hint=f"Let this user write under the transactional id '{self._name}' and read the group of that name (a prefix "
                "'jupyter-stream-' will do), or write transactions = 'off': rows may then come twice after a failure.",
            ).about("transactions")
        if name == _TOO_LONG:
            return SinkError(
                f"Kafka at {self._brokers} takes no transactions as long as transaction.timeout.ms: {said}.",
                hint="Set 'transaction.timeout.ms' in the variable of config to the broker's transaction.max.timeout.ms or less.",
            ).about("config")
        if name in _TAKEN_OVER:
            return SinkError(
                f"Kafka at {self._brokers} takes no more from this query: another one writes with its checkpoint, or a commit "
                f"took longer than transaction.timeout.ms: {said}.",
                hint="Start it again where no other runs; if commits are large, set 'transaction.timeout.ms' in the variable of "
                "config, or a shorter checkpoint_every.",
            )
        return SinkUnreachable(f"Kafka at {self._brokers} can't be written to: {said}")


def drop(producer: OfClient) -> None:
    """Let go of a producer. What waits is given up, and so is a transaction, at once where the broker can be told."""
    producer.purge()
    with suppress(Exception):  # none is under way, or the broker is away: the next producer has it given up
        producer.abort_transaction(1.0)
    with suppress(Exception):  # the library tells here, too, why the producer is one no more
        producer.flush(0)


__all__ = ["OfClient", "Transactions", "drop"]
