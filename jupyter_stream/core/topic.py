"""What a stream over a topic of Kafka reads: told by our connector, for engines that have one of their own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from jupyter_stream.core.schema import Schema


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic, and where a stream begins in it.

    Attributes:
        brokers: addresses, with commas between them.
        name: the topic's.
        start: where it begins: with the first message that is there, behind the last, or at an offset of each partition (None:
            the first that is there).
        ends: whether it ends where the topic ended when the stream was created.
        record: the columns that a message holds.
        told: the columns that the broker tells, and which of `key`, `timestamp`, `partition`, `offset` each is.
        options: how the messages are written, and settings of the client: all options that aren't in the other attributes.
    """

    brokers: str
    name: str
    start: Literal["earliest", "latest"] | Mapping[int, int | None]
    ends: bool
    record: Schema
    told: Mapping[str, str]
    options: Mapping[str, str]
