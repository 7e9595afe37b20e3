"""A recorded stream: a Parquet file with its rows in order of arrival, when each came, and what was promised before it.

The file has the stream's columns and three more: `$arrived` (microseconds of the clock, UTC), `$promised` (the punctuation in
force before the row, null before the first) and `$ts` (the time stamp put on arrival, where time is no column of the stream).
What the stream was is in the file's metadata. Other programs can read it as any Parquet file.
"""

from __future__ import annotations

import json
import queue
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from jupyter_stream.core.messages import TS, Int64s, ints
from jupyter_stream.core.schema import Schema
from jupyter_stream.core.time import MIN_TIME
from jupyter_stream.errors import SourceError
from jupyter_stream.sources.pacing import EventTime, pace
from jupyter_stream.sources.protocol import BATCH_ROWS, Chunk, Request
from jupyter_stream.sources.reorder import reorder

ARRIVED: Final = "$arrived"
PROMISED: Final = "$promised"
PUNCTUATION: Final = "$punctuation"
"""Of what is replayed: rows with a value here are punctuations."""
_KEY: Final = b"jupyter_stream.recording"
_GROUP_ROWS: Final = 4 * BATCH_ROWS
_WAITING_ROWS: Final = 1_000_000
"""Rows that wait to be written before the source is held up."""
_SAID_EVERY: Final = 1_024
"""Rows between punctuations where none is late; a late row has the one it broke before it."""


@dataclass(frozen=True, slots=True)
class About:
    """What a recording is of.

    Attributes:
        stream: the stream's name.
        text: the statement that declared it.
        time: the column of its times, or the name its time stamps have in results.
        kind: external, internal or latent.
    """

    stream: str
    text: str
    time: str | None
    kind: str


class Writer:
    """Writes a recording in a thread of its own. The file has its name once it is whole.

    Args:
        path: where to.
        about: what is recorded.
        room: called when rows that waited are written, so that more may come.

    Raises:
        SourceError: the file can't be written there.
    """

    def __init__(self, path: Path, about: About, room: Callable[[], object] = lambda: None) -> None:
        self.path = path
        self.rows = 0
        self.error: str | None = None
        self.done = threading.Event()
        self._about = about
        self._room = room
        self._part = path.with_name(path.name + ".part")
        try:
            self._part.open("wb").close()
        except OSError as error:
            raise SourceError(f"{path} can't be written: {error.strerror}") from None
        self._waiting = 0
        self._counting = threading.Lock()  # two threads count
        self._queue: queue.SimpleQueue[pl.DataFrame | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._write, name=f"jupyter-stream recording {path.name}", daemon=True)
        self._thread.start()

    @property
    def full(self) -> bool:
        """Whether it can take no more for now."""
        return self._waiting >= _WAITING_ROWS and not self.done.is_set()

    def put(self, frame: pl.DataFrame) -> None:
        """Rows to write, with `$arrived` and `$promised`; they are lost once writing has failed."""
        if self.done.is_set():
            return
        with self._counting:
            self._waiting += frame.height
        self.rows += frame.height
        self._queue.put(frame)

    def close(self) -> None:
        """There will be no more; `done` is set when the file is whole."""
        self._queue.put(None)

    def _write(self) -> None:
        try:
            self._write_all()
            self._part.replace(self.path)
        except Exception as error:
            self.error = f"{type(error).__name__}: {error}"
            self._part.unlink(missing_ok=True)
        self.done.set()
        self._room()

    def _write_all(self) -> None:
        writer: pq.ParquetWriter | None = None
        rest: list[pl.DataFrame] = []
        try:
            while True:
                frame = self._queue.get()
                if frame is not None:
                    rest.append(frame)
                height = sum(f.height for f in rest)
                if rest and (frame is None or height >= _GROUP_ROWS):
                    table = pl.concat(rest).to_arrow()
                    if writer is None:
                        about = {_KEY: json.dumps(asdict(self._about)).encode()}
                        writer = pq.ParquetWriter(
                            self._part, table.schema.with_metadata({**(table.schema.metadata or {}), **about})
                        )
                    writer.write_table(table.cast(writer.schema))
                    rest.clear()
                    with self._counting:
                        self._waiting -= height
                    self._room()
                if frame is None:
                    return
        finally:
            if writer is not None:
                writer.close()


@dataclass(frozen=True, slots=True)
class Recording:
    """A recording that was read.

    Attributes:
        about: what it is of.
        rows: the stream's rows in order of arrival, with `$arrived`, `$promised` and, for time stamps put on arrival, `$ts`.
    """

    about: About
    rows: pl.DataFrame

    @property
    def times(self) -> Int64s:
        """The rows' times, microseconds."""
        column = TS if TS in self.rows.columns else self.about.time
        assert column is not None
        return ints(self.rows.get_column(column))

    @property
    def promised(self) -> Int64s:
        """The punctuation in force before each row, microseconds."""
        return ints(self.rows.get_column(PROMISED).fill_null(MIN_TIME))

    @property
    def late(self) -> int:
        """How many rows came late."""
        return int((self.times < self.promised).sum())


def load(path: Path) -> Recording:
    """Read a recording.

    Raises:
        SourceError: there is none.
    """
    try:
        known = pq.read_schema(path).metadata or {}
        if _KEY not in known:
            raise SourceError(
                f"{path} is a Parquet file, but no recording of a stream",
                hint="Recordings are made by %stream record NAME --for '2 minutes'.",
            )
        about = About(**json.loads(known[_KEY]))
        return Recording(about, pl.read_parquet(path, glob=False))
    except FileNotFoundError:
        unfinished = path.with_name(path.name + ".part").exists()
        hint = "It is still being recorded: stop it, or wait() for it." if unfinished else None
        raise SourceError(f"there is no file {path}", hint=hint) from None
    except (OSError, pa.ArrowException, pl.exceptions.PolarsError) as error:
        raise SourceError(f"{path} can't be read as a recording: {str(error).splitlines()[0]}") from None


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
class Order:
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


def as_recorded(recording: Recording) -> Order:
    """The order recorded."""
    return Order(recording.rows.with_columns(pl.Series(TS, recording.times)).drop(PROMISED), recording.promised)


def shuffled(recording: Recording, within: int, seed: int) -> Order:
    """Another order that the recorded punctuations allow; `reorder` says which."""
    first = as_recorded(recording)
    times = recording.times
    order, promised = reorder(times, recording.promised, within, seed)
    if not order.size:
        return first
    reached = np.maximum.accumulate(times)
    rows = first.rows[pl.Series(order)].with_columns(first.rows.get_column(ARRIVED))
    furthest = int(np.abs(reached[order] - reached).max())
    return Order(rows, promised, int((order != np.arange(order.size)).sum()), furthest)


def now() -> int:
    """The clock, as `$arrived` has it."""
    return time.time_ns() // 1000
