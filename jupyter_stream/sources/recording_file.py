"""The file of a recording: written as rows come, so that a killed process loses a second of it at most, and read back.

While it is being written it is `NAME.parquet.part`, a stream of Arrow batches that can be read as far as it goes. At the end
it becomes `NAME.parquet`: the stream's columns and three more, `$arrived` (microseconds of the clock, UTC), `$promised` (the
punctuation in force before the row, null before the first) and `$ts` (the time stamp put on arrival, where time is no column of
the stream). What the stream was is in the metadata. Other programs can read it as any Parquet file.
"""

from __future__ import annotations

import json
import os
import queue
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any, Final

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from jupyter_stream.core import logs, threads
from jupyter_stream.core.messages import TS, Int64s, ints
from jupyter_stream.core.time import MIN_TIME
from jupyter_stream.errors import SourceError
from jupyter_stream.sources.protocol import BATCH_ROWS

try:
    import fcntl
except ImportError:  # Windows: whether a recording is under way can't be told
    fcntl = None  # type: ignore[assignment]  # Windows has none

log = logs.of(__name__)

ARRIVED: Final = "$arrived"
PROMISED: Final = "$promised"
_KEY: Final = b"jupyter_stream.recording"
_GROUP_ROWS: Final = 4 * BATCH_ROWS
_WAITING_ROWS: Final = 1_000_000
"""Rows that wait to be written before the source is held up."""
_FLUSH: Final = 0.5
"""Seconds that rows wait to be written at most."""


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


class RecordingWriter:
    """Writes a recording in a thread of its own. The file has its name once it is whole.

    Args:
        path: where to.
        about: what is recorded.
        room: called when rows that waited are written, so that more may come.
        overwrite: whether a file that is there may be replaced.

    Raises:
        SourceError: the file can't be written there, or there is one.
    """

    def __init__(
        self, path: Path, about: About, room: Callable[[], object] = lambda: None, *, overwrite: bool = False
    ) -> None:
        self.path = path
        self.rows = 0
        self.error: str | None = None
        self.done = threads.Event()
        self._about = about
        self._room = room
        self._part = _part(path)
        if not overwrite:
            _check_free(path, self._part)
        self._file: IO[bytes] = self._made()
        self._waiting = 0
        self._written = 0
        self._counting = threading.Lock()  # two threads count
        self._queue: queue.SimpleQueue[pl.DataFrame | None] = queue.SimpleQueue()
        threads.begin(f"jupyter-stream recording {path.name}", self._write, self._ended)

    def _made(self) -> IO[bytes]:
        try:
            file = os.fdopen(os.open(self._part, os.O_RDWR | os.O_CREAT, 0o600), "r+b", buffering=0)
        except OSError as error:
            raise SourceError(f"{self.path} can't be written: {error.strerror}") from None
        if fcntl is not None:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                file.close()
                raise SourceError(
                    f"{self.path} is being written by another recording", hint="Write --to ANOTHER.parquet."
                ) from None
        with suppress(OSError):  # no file of a disk, such as a pipe
            file.truncate(0)
        return file

    def _ended(self, error: BaseException | None) -> None:
        """Its thread ended in the middle of its work."""
        self.error = self.error or f"the recording's thread ended: {error!r}"
        self.done.set()
        self._room()

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
            self._finish()
        except BaseException as error:
            self.error = self._failed(error)
            log.error("recording %s: %s", self.path.name, self.error)
        finally:
            self._file.close()
            self.done.set()
            self._room()

    def _failed(self, error: BaseException) -> str:
        told = (error.strerror if isinstance(error, OSError) else None) or f"{type(error).__name__}: {error}"
        kept = f"; the first {self._written:,} rows are in {self._part}" if self._written else ""
        if not kept:
            self._part.unlink(missing_ok=True)
        return f"{self.path} can't be written: {told}{kept}"

    def _write_all(self) -> None:
        """Take rows until the end; those that wait are written twice a second, or when there are many."""
        writer: Any = None
        schema: Any = None
        rest: list[pl.DataFrame] = []
        since, more = time.monotonic(), True
        while more:
            with suppress(queue.Empty):
                frame = self._queue.get(timeout=_FLUSH if not rest else max(0.0, since + _FLUSH - time.monotonic()))
                more = frame is not None
                if frame is not None:
                    since = since if rest else time.monotonic()
                    rest.append(frame)
            height = sum(f.height for f in rest)
            if rest and (not more or height >= _GROUP_ROWS or time.monotonic() >= since + _FLUSH):
                table = pl.concat(rest).to_arrow(compat_level=pl.CompatLevel.oldest())
                if writer is None:
                    about = {_KEY: json.dumps(asdict(self._about)).encode()}
                    schema = table.schema.with_metadata({**(table.schema.metadata or {}), **about})
                    writer = pa.ipc.new_stream(self._file, schema)
                writer.write_table(table.cast(schema))
                rest.clear()
                self._written += height
                with self._counting:
                    self._waiting -= height
                self._room()
        if writer is not None:
            writer.close()

    def _finish(self) -> None:
        """The Parquet file of what was written; the part goes when that is there."""
        new = self.path.with_name(f".{self.path.name}.new")
        try:
            with (
                self._part.open("rb") as part,
                os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file,
            ):
                reader = pa.ipc.open_stream(part)
                with pq.ParquetWriter(file, reader.schema) as parquet:
                    for table in _groups(_batches(reader)):
                        parquet.write_table(table.cast(reader.schema))
            new.replace(self.path)
        finally:
            new.unlink(missing_ok=True)
        self._part.unlink(missing_ok=True)


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
    """Read a recording; of one that was cut off by the end of its process, as far as it goes.

    Raises:
        SourceError: there is none.
    """
    try:
        if not path.exists() and _part(path).exists():
            return _cut_off(path)
        known = pq.read_schema(path).metadata or {}
        if _KEY not in known:
            raise SourceError(
                f"{path} is a Parquet file, and not a recording of a stream",
                hint="%stream record NAME --for '2 minutes' makes one.",
            )
        return Recording(About(**json.loads(known[_KEY])), pl.read_parquet(path, glob=False))
    except FileNotFoundError:
        raise SourceError(f"there is no file {path}") from None
    except (OSError, pa.ArrowException, pl.exceptions.PolarsError) as error:
        raise SourceError(f"{path} can't be read as a recording: {str(error).splitlines()[0]}") from None


def _cut_off(path: Path) -> Recording:
    if _is_held(_part(path)):
        raise SourceError(f"there is no file {path}", hint="It is still being recorded: stop it, or wait() for it.")
    with _part(path).open("rb") as part:
        try:
            reader = pa.ipc.open_stream(part)
        except (pa.ArrowException, OSError, EOFError):
            raise SourceError(
                f"{path} was cut off before it had any rows", hint="Record it again, with --overwrite."
            ) from None
        about = About(**json.loads(reader.schema.metadata[_KEY]))
        frame = pl.from_arrow(pa.Table.from_batches(list(_batches(reader)), reader.schema))
    assert isinstance(frame, pl.DataFrame), "a table"
    return Recording(about, frame)


def _batches(reader: Any) -> Iterator[Any]:
    """What has been written of a recording, as far as it can be read: the last batch may be there in part."""
    while True:
        try:
            yield reader.read_next_batch()
        except (StopIteration, pa.ArrowException, OSError, EOFError):
            return


def _groups(batches: Iterator[Any]) -> Iterator[Any]:
    """Batches put together to tables of a good size."""
    waiting: list[Any] = []
    rows = 0
    for batch in batches:
        waiting.append(batch)
        rows += batch.num_rows
        if rows >= _GROUP_ROWS:
            yield pa.Table.from_batches(waiting)
            waiting, rows = [], 0
    if waiting:
        yield pa.Table.from_batches(waiting)


def _part(path: Path) -> Path:
    return path.with_name(path.name + ".part")


def _check_free(path: Path, part: Path) -> None:
    if path.exists():
        raise SourceError(
            f"{path} exists already",
            hint="Write --overwrite to replace it, or --to ANOTHER.parquet.",
        )
    if part.exists() and part.stat().st_size and not _is_held(part):
        raise SourceError(
            f"{part} holds a recording whose process ended too early",
            hint=f"%stream replay {path} reads it. Write --overwrite to replace it, or --to ANOTHER.parquet.",
        )


def _is_held(part: Path) -> bool:
    """Whether somebody writes to it."""
    if fcntl is None:
        return False
    with part.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return True
    return False
