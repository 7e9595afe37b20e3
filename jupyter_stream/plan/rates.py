"""What is known of streams when a plan is made: guessed before they have run, measured once they have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Rates:
    """What is known of the streams.

    Attributes:
        streams: rows per second of each, of the stream's own time, by name; 1 for others.
        passed: share of rows that fulfil a condition, by the condition as EXPLAIN shows it.
        values: number of different values alive at a time, by column name.
    """

    streams: Mapping[str, float] = field(default_factory=dict)
    passed: Mapping[str, float] = field(default_factory=dict)
    values: Mapping[str, float] = field(default_factory=dict)


def together(rates: Iterable[Rates]) -> Rates:
    """What several have found, later ones before earlier ones."""
    streams: dict[str, float] = {}
    passed: dict[str, float] = {}
    values: dict[str, float] = {}
    for each in rates:  # of each query that runs, whenever one starts: mostly nothing is known
        if each.streams:
            streams.update(each.streams)
        if each.passed:
            passed.update(each.passed)
        if each.values:
            values.update(each.values)
    return Rates(streams, passed, values)


__all__ = ["Rates", "together"]
