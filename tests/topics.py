"""A Kafka in this process, the one librdkafka has for tests of clients: it speaks the protocol and keeps messages in memory."""

from __future__ import annotations

from collections.abc import Iterable

import confluent_kafka

PARTITIONS = 4
"""Of each topic, made when the first message is sent there."""


class Kafka:
    """It lives as long as this does.

    Attributes:
        address: where it listens, host and port.
    """

    def __init__(self) -> None:
        self._producer = confluent_kafka.Producer(
            {"bootstrap.servers": "made here", "test.mock.num.brokers": 1, "linger.ms": 0, "log_level": 0}
        )
        brokers = self._producer.list_topics(timeout=60).brokers.values()
        self.address = ",".join(f"{b.host}:{b.port}" for b in brokers)

    def close(self) -> None:
        """It lives no more."""
        del self._producer

    def send(
        self, topic: str, *values: str | bytes | None, partition: int = 0, key: str | None = None, at: int = 0
    ) -> None:
        """Messages to one partition, at so many milliseconds (0 for now); there when this returns."""
        for value in values:
            self._producer.produce(topic, value, key, partition, timestamp=at)
        assert self._producer.flush(60) == 0

    def spread(self, topic: str, messages: Iterable[tuple[int, str]]) -> None:
        """Many messages, each with its partition; there when this returns."""
        for partition, value in messages:
            self._producer.produce(topic, value, partition=partition)
        assert self._producer.flush(60) == 0

    def read(self, topic: str, partition: int, start: int, end: int) -> list[tuple[int, bytes | None]]:
        """Offsets and values of messages that are there."""
        consumer = confluent_kafka.Consumer({"bootstrap.servers": self.address, "group.id": "tests"})
        consumer.assign([confluent_kafka.TopicPartition(topic, partition, start)])
        found: list[tuple[int, bytes | None]] = []
        while start < end and (not found or found[-1][0] < end - 1):
            found += [(m.offset(), m.value()) for m in consumer.consume(1000, 0.05) if m.error() is None]
        consumer.close()
        return [(offset, value) for offset, value in found if offset < end]
