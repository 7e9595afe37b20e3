"""A recorded stream replayed: in the order in which it came, or in another that its punctuations allow."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from jupyter_stream.core.messages import TS, Int64s, ints
from jupyter_stream.core.schema import Schema
from jupyter_stream.core.time import MIN_TIME
from jupyter_stream.sources.pacing import EventTime, pace
from jupyter_stream.sources.protocol import BATCH_ROWS, Chunk, Request
from jupyter_stream.sources.recording_file import ARRIVED, PROMISED, Recording
from jupyter_stream.sources.reorder import reorder

PUNCTUATION: Final = "$punctuation"
"""Of what is replayed: rows with a value here are punctuations."""
_SAID_EVERY: Final = 1_024
"""Rows between punctuations where none is late; a late row has the one it broke before it."""


class RecordedSource:
    """A recording replayed, in the order recorded or another.

    Args:
        schema: the stream's columns.
        rows: in the order in which they come, with `$arrived`.
        promised: the punctuation in force before each.
        speed: times as fast as recorded; None for as fast as it goes.
        units: units of columns.
    """

    replayable = True

    def __init__(
        self, schema: Schema, rows: pl.DataFrame, promised: Int64s, speed: float | None, units: Mapping[str, str]
    ) -> None:
        self.schema = schema
        self.units = units
        self._rows = rows
        self._promised = promised
        self._speed = speed

    def read(self, request: Request) -> Iterator[Chunk]:
        """The rows, and among them the punctuations."""
        rate = EventTime(self._speed) if self._speed else None
        for chunk in pace(self._chunks(request), rate, ARRIVED, request.stop):
            yield Chunk(chunk.frame.drop(ARRIVED))

    def _chunks(self, request: Request) -> Iterator[Chunk]:
        told = MIN_TIME
        times = ints(self._rows.get_column(TS))
        for start in range(0, self._rows.height, BATCH_ROWS):
            if request.stop.is_set():
                return
            promised = self._promised[start : start + BATCH_ROWS]
            late = times[start : start + BATCH_ROWS] < promised
            # a punctuation before the rows it is told at: at those that break it, and now and then
            tells = np.zeros(promised.size, np.bool_)
            tells[::_SAID_EVERY] = True
            tells |= late
            tells &= promised > np.concatenate([[told], np.maximum.accumulate(np.where(tells, promised, told))[:-1]])
            told = max(told, int(promised[tells].max(initial=MIN_TIME)))
            yield Chunk(self._between(self._rows[start : start + BATCH_ROWS], promised, np.flatnonzero(tells)))

    @staticmethod
    def _between(rows: pl.DataFrame, promised: Int64s, tells: Int64s) -> pl.DataFrame:
        """Rows with a punctuation before each of those numbered."""
        number = np.insert(np.arange(rows.height), tells, -1)
        said = pl.Series(PUNCTUATION, np.insert(np.zeros(rows.height, np.int64), tells, promised[tells]))
        is_said = pl.Series(number < 0)
        taken = pl.Series(number).set(is_said, None)
        frame = rows.select(pl.all().gather(taken))
        return frame.with_columns(pl.col(TS).fill_null(0), said.set(~is_said, None))


@dataclass(frozen=True, slots=True)
class ArrivalOrder:
    """Rows in an order of arrival.

    Attributes:
        rows: with `$arrived` (as the places have it, not the rows) and `$ts`.
        promised: the punctuation in force before each place.
        moved: how many rows come at another place than recorded.
        furthest: by how much of the stream's time a row has moved at most, microseconds.
    """

    rows: pl.DataFrame
    promised: Int64s
    moved: int = 0
    furthest: int = 0


def as_recorded(recording: Recording) -> ArrivalOrder:
    """The order recorded."""
    return ArrivalOrder(recording.rows.with_columns(pl.Series(TS, recording.times)).drop(PROMISED), recording.promised)


def shuffled(recording: Recording, within: int, seed: int) -> ArrivalOrder:
    """Another order that the recorded punctuations allow; `reorder` says which."""
    first = as_recorded(recording)
    times = recording.times
    order, promised = reorder(times, recording.promised, within, seed)
    if not order.size:
        return first
    reached = np.maximum.accumulate(times)
    rows = first.rows[pl.Series(order)].with_columns(first.rows.get_column(ARRIVED))
    furthest = int(np.abs(reached[order] - reached).max())
    return ArrivalOrder(rows, promised, int((order != np.arange(order.size)).sum()), furthest)


def now() -> int:
    """The clock, as `$arrived` has it."""
    return time.time_ns() // 1000
