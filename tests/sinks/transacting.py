"""A Kafka without a network, for its transactions: the part of `confluent_kafka` that the sink calls.

librdkafka's own broker for tests (2.16) takes transactions but keeps none of their offsets, refuses no former producer and shows
what was given up. This one does as a broker of Kafka's does: `readers` see what is committed, a producer that begins puts the
former one of its name out and ends its transaction, and offsets are committed with the messages.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field


class KafkaError:
    """What the library says of a failure."""

    def __init__(self, name: str, *, retriable: bool = False) -> None:
        self._name, self._retriable = name, retriable

    def name(self) -> str:
        return self._name

    def str(self) -> str:
        return f"it says {self._name}"

    def retriable(self) -> bool:
        return self._retriable


class KafkaException(Exception):
    """Holds a `KafkaError`."""


@dataclass
class TopicPartition:
    """A place in a topic."""

    topic: str
    partition: int
    offset: int = -1001
    metadata: str | None = None
    error: KafkaError | None = None


@dataclass
class Broker:
    """What is kept.

    Attributes:
        readers: values that readers of what is committed see.
        given_up: values of transactions that were given up.
        offsets: of each group.
        owners: the producer of each transactional id.
        fails: errors that calls raise, by the call's name, one after the other; before the call does its work.
        deaf: calls whose answer is lost: they do their work, and then raise.
        too_large: values that the broker refuses.
    """

    readers: list[bytes] = field(default_factory=list)
    given_up: list[bytes] = field(default_factory=list)
    offsets: dict[str, TopicPartition] = field(default_factory=dict)
    owners: dict[str, Producer] = field(default_factory=dict)
    fails: dict[str, list[KafkaError]] = field(default_factory=dict)
    deaf: dict[str, list[KafkaError]] = field(default_factory=dict)
    too_large: frozenset[bytes] = frozenset()

    def library(self) -> Library:
        """What stands in the place of `confluent_kafka` for sinks that write to it."""
        return Library(self)

    def fail(self, where: Mapping[str, list[KafkaError]], call: str) -> None:
        if where.get(call):
            raise KafkaException(where[call].pop(0))


class Producer:
    """A producer of the library's."""

    def __init__(self, broker: Broker, settings: Mapping[str, object]) -> None:
        self._broker = broker
        self._name = str(settings.get("transactional.id", ""))
        self._waiting: list[bytes] = []
        self._offsets: tuple[str, TopicPartition] | None = None
        self._failed = False
        self._reports: list[Callable[[], None]] = []
        self.is_open = False

    def _call(self, name: str, work: Callable[[], None]) -> None:
        self._broker.fail(self._broker.fails, name)
        if name != "init_transactions" and self._broker.owners.get(self._name) is not self:
            raise KafkaException(KafkaError("_FENCED"))
        work()
        self._broker.fail(self._broker.deaf, name)

    def init_transactions(self, _timeout: float) -> None:
        def begin() -> None:
            former = self._broker.owners.get(self._name)
            if former is not None and former.is_open:
                former.end(committed=False)
            self._broker.owners[self._name] = self

        self._call("init_transactions", begin)

    def begin_transaction(self) -> None:
        assert not self.is_open
        self._call("begin_transaction", lambda: setattr(self, "is_open", True))

    def produce(
        self, _topic: str, value: bytes, _key: str | None, headers: object, on_delivery: Callable[..., None]
    ) -> None:
        if self._name and self._broker.owners.get(self._name) is not self:
            raise KafkaException(KafkaError("_FENCED"))
        assert self.is_open or not self._name
        refused = value in self._broker.too_large
        self._failed |= refused
        error = KafkaError("MSG_SIZE_TOO_LARGE") if refused else None
        if not refused:
            (self._waiting if self._name else self._broker.readers).append(value)
        self._reports.append(lambda: on_delivery(error, None))

    def poll(self, _timeout: float) -> int:
        return 0

    def flush(self, _timeout: float) -> int:
        reports, self._reports = self._reports, []
        for report in reports:
            report()
        return 0

    def purge(self) -> None:
        self._reports.clear()

    def send_offsets_to_transaction(self, places: list[TopicPartition], group: str, _timeout: float) -> None:
        (place,) = places
        self._call("send_offsets_to_transaction", lambda: setattr(self, "_offsets", (group, place)))

    def commit_transaction(self, _timeout: float) -> None:
        if self._failed:
            raise KafkaException(KafkaError("_STATE"))
        self._call("commit_transaction", lambda: self.end(committed=True))

    def abort_transaction(self, _timeout: float) -> None:
        self._call("abort_transaction", lambda: self.end(committed=False))

    def end(self, *, committed: bool) -> None:
        (self._broker.readers if committed else self._broker.given_up).extend(self._waiting)
        if committed and self._offsets is not None:
            group, place = self._offsets
            self._broker.offsets[group] = place
        self._waiting, self._offsets, self.is_open, self._failed = [], None, False, False


class Consumer:
    """A consumer of the library's, that reads offsets alone."""

    def __init__(self, broker: Broker, settings: Mapping[str, object]) -> None:
        self._broker, self._group = broker, str(settings["group.id"])

    def consumer_group_metadata(self) -> str:
        return self._group

    def committed(self, places: list[TopicPartition], timeout: float) -> list[TopicPartition]:
        self._broker.fail(self._broker.fails, "committed")
        return [self._broker.offsets.get(self._group, place) for place in places]

    def close(self) -> None:
        """Nothing is held."""


class Library:
    """The module."""

    KafkaException = KafkaException
    TopicPartition = TopicPartition

    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    def Producer(self, settings: Mapping[str, object], logger: object = None) -> Producer:
        return Producer(self._broker, settings)

    def Consumer(self, settings: Mapping[str, object]) -> Consumer:
        return Consumer(self._broker, settings)
