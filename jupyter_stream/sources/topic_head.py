"""The first look at a topic of Kafka: messages that tell the columns of a stream that declares none."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Final

_MOST: Final = 1_000
"""Messages looked at."""
_PATIENCE: Final = 10.0
"""Seconds until the first one must come."""
_QUIET: Final = 0.2
"""Seconds without a message after which those that come are all there."""


def newest(library: Any, consumer: Any, topic: str, bounds: Mapping[int, tuple[int, int]]) -> list[bytes]:
    """What the newest messages hold; where there are none, those that come within 10 seconds.

    Args:
        library: `confluent_kafka`.
        consumer: of it, assigned to nothing.
        topic: its name.
        bounds: for each partition the first offset that is there, and the one the next message will have.
    """
    each = max(1, _MOST // max(1, len(bounds)))
    begin = {p: max(low, high - each) for p, (low, high) in bounds.items()}
    there = sum(high - begin[p] for p, (_, high) in bounds.items())
    consumer.assign([library.TopicPartition(topic, p, offset) for p, offset in begin.items()])
    found: list[bytes] = []
    seen, end = 0, time.monotonic() + _PATIENCE
    while time.monotonic() < end and (seen < there or not there):
        messages = [m for m in consumer.consume(_MOST, _QUIET) if m.error() is None]
        seen += len(messages)
        found += [m.value() for m in messages if m.value()]
        if found and not there and not messages:
            break
    return found[:_MOST]


__all__ = ["newest"]
