"""How fast a replay goes: `WITH (rate = ...)`. Rows keep their order; only when they are handed over changes."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Protocol, TypeAlias

import numpy as np
import polars as pl

from jupyter_stream.core.messages import ints
from jupyter_stream.core.time import unit
from jupyter_stream.errors import SourceError
from jupyter_stream.sources.protocol import Chunk

STEP: Final = 0.02
"""Seconds: rows that are due are handed over at least this often."""

_PER: Final = re.compile(r"([\d_,.]+)\s*(k|m)?\s*(?:rows?)?\s*(?:/|per)\s*(\w+)", re.IGNORECASE)
_EVENT: Final = re.compile(r"event[ _-]time(?:\s*[x*×]?\s*([\d.]+)\s*x?)?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class RowsPerSecond:
    """So many rows each second, evenly."""

    rows: float


@dataclass(frozen=True, slots=True)
class EventTime:
    """As the rows' own times go, `factor` seconds of them each second of the clock."""

    factor: float


Rate: TypeAlias = RowsPerSecond | EventTime | None
"""None: as fast as it goes."""


class Clock(Protocol):
    """What tells the time to a pace; tests set their own."""

    def now(self) -> float:
        """Seconds, from any start."""

    def wait(self, seconds: float, stop: threading.Event) -> None:
        """Let time pass, less of it when told to stop."""


class WallClock:
    """The machine's."""

    def now(self) -> float:
        """Seconds since some start, never going back."""
        return time.monotonic()

    def wait(self, seconds: float, stop: threading.Event) -> None:
        """Sleep."""
        stop.wait(seconds)


def parse_rate(text: str) -> Rate:
    """What `'1000/s'`, `'5 rows per minute'`, `'event time'`, `'event time x60'` or `'max'` says.

    Raises:
        SourceError: when it says none of these.
    """
    word = text.strip()
    if word.lower() == "max":
        return None
    try:
        if match := _PER.fullmatch(word):
            scale = {"k": 1e3, "m": 1e6}.get((match[2] or "").lower(), 1.0)
            rows = float(match[1].replace(",", "").replace("_", "")) * scale
            micros = unit(match[3])
            if micros is not None and rows > 0:
                return RowsPerSecond(rows * 1e6 / micros)
        if match := _EVENT.fullmatch(word):
            factor = float(match[1] or 1)
            if factor > 0:
                return EventTime(factor)
    except ValueError:
        pass  # numbers such as 1.2.3: told below
    raise SourceError(
        f"Option rate = '{text}' is not a rate.", hint="Write rate = '1000/s', 'event time', 'event time x60' or 'max'."
    ).about("rate")


def pace(
    chunks: Iterator[Chunk],
    rate: Rate,
    time_column: str | None,
    stop: threading.Event,
    clock: Clock | None = None,
) -> Iterator[Chunk]:
    """Hand over the rows of a replay when they are due.

    A row is due by its place in arrival order; by event time, when the newest time of all rows up to it is due, the first row
    at once. Rejected records come with the rows read with them.

    Args:
        chunks: what the source reads.
        rate: how fast.
        time_column: the column of event time (a time, or an integer of microseconds), for `EventTime`.
        stop: looked at at least every 100 ms.
        clock: the machine's unless given.

    Raises:
        SourceError: by event time, without a time column.
    """
    if rate is None:
        yield from chunks
        return
    if isinstance(rate, EventTime) and time_column is None:
        raise SourceError(
            "Option rate = 'event time' needs a stream with event times.",
            hint="Declare it with ORDER BY ts, or write rate = '1000/s'.",
        ).about("rate")
    clock = clock or WallClock()
    start = clock.now()
    schedule = _by_count(rate.rows) if isinstance(rate, RowsPerSecond) else _by_event(rate.factor, str(time_column))
    for chunk in chunks:
        due = schedule(chunk.frame)
        told, at = chunk.rejected, 0
        while told is not None or at < chunk.frame.height:
            if stop.is_set():
                return
            upto = int(np.searchsorted(due, clock.now() - start, side="right"))
            if upto > at or told is not None:
                yield Chunk(chunk.frame.slice(at, upto - at), told)
                told, at = None, upto
            if at < chunk.frame.height:
                clock.wait(min(STEP, max(due[at] - (clock.now() - start), 0.001)), stop)


class _Schedule(Protocol):
    def __call__(self, frame: pl.DataFrame) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """Seconds after the start at which each of the next rows is due, never decreasing."""


def _by_count(rows_per_second: float) -> _Schedule:
    count = 0

    def schedule(frame: pl.DataFrame) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        nonlocal count
        due = np.arange(count, count + frame.height) / rows_per_second
        count += frame.height
        return due

    return schedule


def _by_event(factor: float, column: str) -> _Schedule:
    first: int | None = None
    newest: int | None = None

    def schedule(frame: pl.DataFrame) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        nonlocal first, newest
        times = frame.get_column(column)
        if first is None:
            known = times.drop_nulls()
            if not len(known):
                return np.zeros(frame.height)
            first = newest = int(ints(known.head(1))[0])
        assert newest is not None, "set with first"
        # A row without time is due with the one before it.
        micros = ints(times.to_physical().fill_null(newest))
        reached = np.maximum(np.maximum.accumulate(micros), newest) if len(micros) else micros
        newest = int(reached[-1]) if len(reached) else newest
        return (reached - first) / (1e6 * factor)

    return schedule


def check_rate(text: str | None, replayable: bool, uri: str) -> None:
    """Refuse a rate that is none, or one for a source that goes at its own pace.

    Raises:
        SourceError: with an example of what to write.
    """
    if text is None:
        return
    if parse_rate(text) is not None and not replayable:
        raise SourceError(
            f"{uri} is live and comes at its own pace, so rate = '{text}' can't be used.", hint="Leave out rate."
        )
