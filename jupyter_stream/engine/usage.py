"""What a session's queries hold, in bytes: state, answers, and what waits. And which of them holds most, if that is too much."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from jupyter_stream.engine.feed import Feed
from jupyter_stream.errors import StreamError


class OutOfMemory(StreamError):
    """A query was ended since it held more than all may."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What queries hold.

    Attributes:
        total: bytes, of all and of what waits in their sources' queues.
        largest: the query that holds most.
        held: its bytes.
        place: where it holds most of them, in words.
        there: the bytes there.
    """

    total: int
    largest: Any
    held: int
    place: str
    there: int

    def reason(self, limit: int) -> str:
        """What the query's view says when it is ended."""
        return (
            f"ended at the memory limit: it held {_size(self.held)}, most of it in {self.place} ({_size(self.there)}), and "
            f"all queries of this session together may hold {_size(limit)}. Give it a shorter window, fewer keys or a "
            "smaller --keep; or give the session more: %stream set memory = '8 GB'"
        )


def of(runners: Iterable[Any], feeds: Iterable[Feed]) -> Usage:
    """What these queries and feeds hold. Reads what other threads write: about."""
    total, seen = 0, set()
    counted: set[int] = set()
    rows = []
    for runner in runners:
        places = {"its answers": int(getattr(runner, "bytes", 0))}
        graph = getattr(runner, "graph", None)
        for step in () if graph is None else graph.steps:
            part = getattr(step, "part", None)
            control = step.control
            key = id(control) if part is None else id(part)
            size = int(control.bytes)
            total += 0 if (key, control.name) in seen else size
            seen.add((key, control.name))
            places[control.name] = places.get(control.name, 0) + size
        cuts = getattr(runner, "cuts", None)
        places["its checkpoint"] = 0 if cuts is None else cuts.held
        total += places["its answers"] + places["its checkpoint"]
        queues: dict[int, int] = getattr(runner, "queue_bytes", {})
        total += sum(size for whose, size in queues.items() if whose not in counted)
        counted |= queues.keys()
        places["the queues between its operators"] = sum(queues.values())
        place, there = max(places.items(), key=lambda item: item[1])
        rows.append((sum(places.values()), runner, place, there))
    total += sum(int(feed.queue.bytes) for feed in feeds)
    held, largest, place, there = max(rows, key=lambda row: row[0])
    return Usage(total, largest, held, place, there)


def _size(size: int) -> str:
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= factor:
            return f"{size / factor:.3g} {unit}"
    return f"{size} bytes"
