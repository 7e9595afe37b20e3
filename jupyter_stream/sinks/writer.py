"""Writes a query's answers to one sink, in a thread of its own: in commits, again and again while the sink is away.

What waits is bounded in bytes. Where more waits the query is held back, as by a pause, until the sink has taken some.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import polars as pl

from jupyter_stream.core import logs, threads
from jupyter_stream.core.messages import Failed
from jupyter_stream.errors import StreamError, reason
from jupyter_stream.sinks.changes import OP, net
from jupyter_stream.sinks.protocol import ROW_ID, Mode, Promise, Sink, SinkConnector, SinkUnreachable

log = logs.of(__name__)

_FRAME: Final = 2048
"""Bytes a frame has beside its rows."""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 30.0
"""Seconds between two tries while the sink is away: twice as long each time."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """What is to be written, and how.

    Attributes:
        name: what the sink is called, for people: its name, or its address without secrets.
        uri: its address, without secrets.
        connector: of which scheme it is.
        sink: opened.
        mode: how.
        key: for `upsert`.
        every: seconds between commits while rows come.
        writer: tells this writer from all others.
        promise: how often a row is there in the end.
        grows: whether the answer's rows only become more: it is no state that changes, and none of them is provisional.
    """

    name: str
    uri: str
    connector: SinkConnector
    sink: Sink
    mode: Mode
    key: tuple[str, ...]
    every: float
    writer: str
    promise: Promise
    grows: bool = False


@dataclass(frozen=True, slots=True)
class Lot:
    """What one commit writes: tried again as it is, since nobody may know what came of a commit that failed.

    Attributes:
        frames: of what waits, how many.
        rows: these as one; where the whole answer is written, the answer.
        changes: of the whole answer, how many it has in it.
        position: how far the query is.
    """

    frames: int
    rows: pl.DataFrame
    changes: int
    position: str


def _as_they_are(rows: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame | None]:
    return rows, None


def _nobody(_: object = None) -> None:
    return


@dataclass(frozen=True, slots=True)
class Ties:
    """What ties a writer to its query.

    Attributes:
        most: bytes that may wait before the query is held back.
        nothing: what `take` would make of no answers.
        take: what of the answers given together is to be written, with `$op` for `upsert`; None for nothing.
        shape: rows in the sink's columns and types, and those that can't have these, as `raw` and `reason`.
        as_refused: answers that can't have the sink's columns and types as `raw` and `reason`.
        state: the whole answer now, where it is written as a whole each time.
        position: how far the query is, to be kept with the rows.
        after: the number of this writer's last commit, where it begins again.
        room: called when there is room again.
        refused: told of rows the sink will never take.
        failed: told why nothing more can be written; the query ends.
    """

    most: int
    nothing: pl.DataFrame
    take: Callable[[pl.DataFrame], pl.DataFrame | None] = field(default=lambda rows: rows)
    shape: Callable[[pl.DataFrame], tuple[pl.DataFrame, pl.DataFrame | None]] = _as_they_are
    as_refused: Callable[[Failed], pl.DataFrame] = lambda failed: failed.frame
    state: Callable[[], pl.DataFrame] | None = None
    position: Callable[[], str] = str
    after: int = 0
    room: Callable[[], None] = _nobody
    refused: Callable[[pl.DataFrame], None] = _nobody
    failed: Callable[[str], None] = _nobody


class SinkWriter:
    """One sink of one query. Given answers by whoever makes them; what it says of itself may be read by any thread.

    Attributes:
        order: what is written, and how.
        written: rows (and deletions) committed.
        refused: rows that went to `errors(sink)`.
        commits: how many there were.
        last_commit: when the last one was, seconds since the epoch; None before the first.
        trouble: what keeps it from writing just now, a sentence; None while all is well.
        error: why nothing more is written; None where that is not so.
        lost: answers that were not written when it was stopped.
        version: grows whenever any of these changes.
    """

    def __init__(self, order: Delivery, ties: Ties) -> None:
        self.order = order
        self._ties = ties
        self._waiting: deque[tuple[pl.DataFrame, int]] = deque()
        self._since: float | None = None  # when the first of these came
        self._lock = threading.RLock()  # taken itself: entering a condition, an interrupt could leave it held
        self._changed = threading.Condition(self._lock)
        self._lot: Lot | None = None  # tried, and not known to be committed
        self._begun = self._flush = self._over = self._impatient = False
        self._sequence = 0
        self._changes = self._seen = 0  # of the whole answer, where that is what is written
        self.bytes = 0
        self.done = threads.Event()
        self.written = self.refused = self.commits = self.lost = self.version = 0
        self.last_commit: float | None = None
        self.trouble: str | None = None
        self.error: str | None = None

    # -- from the query ----------------------------------------------------------------------------------------------

    @property
    def full(self) -> bool:
        """Whether more waits than should."""
        return self.bytes >= self._ties.most and not self.done.is_set()

    def put(self, answers: pl.DataFrame) -> None:
        """Answers given together."""
        if self._ties.state is not None:
            with self._lock:
                self._changes += 1
                self._came()
            return
        rows = self._ties.take(answers)
        if rows is not None and rows.height:
            self.add(rows)

    def add(self, rows: pl.DataFrame) -> None:
        """Rows to be written."""
        size = int(rows.estimated_size()) + _FRAME
        with self._lock:
            self._waiting.append((rows, size))
            self.bytes += size
            self._came()

    def _came(self) -> None:
        if self._since is None:
            self._since = time.monotonic()
        self._begin()
        self._changed.notify_all()

    def wait_for_room(self, while_: Callable[[], bool]) -> None:
        """Wait until there is room, for whoever answers in a thread that may wait; no longer than that condition holds."""
        with self._lock:
            while self.full and while_():
                self._changed.wait(0.1)

    def end(self, *, patient: bool) -> None:
        """No more answers will come.

        Args:
            patient: whether to go on trying where the sink is away; else it is tried once more.
        """
        with self._lock:
            self._over = True
            self._impatient = self._impatient or not patient
            self._begin()
            self._changed.notify_all()

    def settle(self, timeout: float | None = None) -> bool:
        """Have all that came so far committed, and wait for that.

        Args:
            timeout: seconds at most, None for ever.

        Returns:
            Whether it is; True also where it will never be, since writing has ended.
        """
        if threads.in_a_fork():
            return True
        with self._lock:
            self._flush = True
            self._changed.notify_all()
            return self._changed.wait_for(self._settled, timeout)

    def _settled(self) -> bool:
        return self.done.is_set() or not (self._over or self._waits)

    @property
    def _waits(self) -> bool:
        return bool(self._waiting) or self._changes > self._seen

    def _begin(self) -> None:
        if not self._begun and not threads.in_a_fork():
            self._begun = True
            threads.begin(f"jupyter-stream sink {self.order.name}", self._run, self._died)

    # -- the writer's thread -----------------------------------------------------------------------------------------

    def _run(self) -> None:
        pause = 0.0
        try:
            while True:
                if not self._wait(pause):
                    return
                try:
                    self._commit()
                    pause = 0.0
                except SinkUnreachable as away:
                    self.order.sink.abort()
                    pause = max(away.seconds or 0.0, min(_LONGEST_PAUSE, 2 * pause or _FIRST_PAUSE))
                    if self._gave_up(str(away), pause):
                        return
        except (
            BaseException
        ) as error:  # a panic of Polars, a SystemExit of a user's function: they end this query alone
            if not isinstance(error, StreamError):
                log.exception("sink %s ended", self.order.name)
            self._fail(reason(error))
        finally:
            self._close()

    def _wait(self, pause: float) -> bool:
        """Until there is something to commit. Returns whether there is; False once all is written."""
        with self._lock:
            tried = time.monotonic()
            while True:
                waits = self._waits
                if self._over and not waits and self.commits:
                    return False
                now = time.monotonic()
                if pause and not self._impatient:
                    left = tried + pause - now
                elif self._over or self._flush or self.bytes >= self._ties.most // 2:
                    left = 0.0 if waits or self._over else 60.0
                else:
                    left = 60.0 if self._since is None else self._since + self.order.every - now
                if left <= 0:
                    return True
                self._flush = self._flush and waits
                self._changed.wait(left)

    def _next_number(self) -> int:
        return self._ties.after + self.commits + 1

    def _due(self) -> tuple[list[pl.DataFrame], int]:
        """What is to be committed: frames, and how often the whole answer has changed by then."""
        return [f for f, _ in self._waiting], self._changes

    def _gathered(self) -> Lot:
        with self._lock:
            frames, changes = self._due()
        return Lot(len(frames), self._whole(frames), changes, self._ties.position())

    def _whole(self, frames: list[pl.DataFrame]) -> pl.DataFrame:
        """What is to be written: these frames, or the whole answer as it is now."""
        state = self._ties.state
        return pl.concat([self._ties.nothing, *frames]) if state is None else state()

    def _commit(self) -> None:
        self._lot = lot = self._lot or self._gathered()
        refused: list[pl.DataFrame | None] = []
        count = self._write(lot.rows, refused)
        self.order.sink.commit(self._next_number(), lot.position)
        self._is_done(lot, count, [f for f in refused if f is not None and f.height])

    def _is_done(self, lot: Lot, count: int, bad: list[pl.DataFrame]) -> None:
        """Count what is committed, and wait for it no more."""
        ties, self._lot = self._ties, None
        with self._lock:
            was_full = self.full
            self.bytes -= sum(self._waiting.popleft()[1] for _ in range(lot.frames))
            self._seen = lot.changes
            self._since = time.monotonic() if self._waits else None
            self._flush = self._flush and self._since is not None
            self.commits += 1
            self.refused += sum(f.height for f in bad)
            self.written += count - sum(f.height for f in bad)
            self._sequence += 0 if ties.state is not None else lot.rows.height
            self.last_commit = time.time()
            self.trouble = None
            self.version += 1
            self._changed.notify_all()
        for frame in bad:
            ties.refused(frame)
        if was_full and not self.full:
            ties.room()

    def _write(self, given: pl.DataFrame, refused: list[pl.DataFrame | None]) -> int:
        """Hand rows over. Returns how many, those refused among them."""
        order, ties, sink = self.order, self._ties, self.order.sink
        rows, bad = ties.shape(given)
        if ties.state is not None:
            refused += [bad, sink.replace(rows)]
            return rows.height + (0 if bad is None else bad.height)
        refused.append(bad)
        count = rows.height + (0 if bad is None else bad.height)
        if order.mode == "upsert":
            found = net(rows, order.key, grows=order.grows)
            refused += [found.refused, sink.upsert(found.rows, found.gone)]
            extra = 0 if found.refused is None else found.refused.height
            return found.rows.height + found.gone.height + extra + (0 if bad is None else bad.height)
        if order.promise == "at least once":
            first = self._sequence + 1
            number = pl.int_range(first, first + rows.height, eager=True).cast(pl.String)
            rows = rows.with_columns((pl.lit(f"{order.writer}-") + number).alias(ROW_ID))
        if order.mode == "replace" and not self.commits:
            refused.append(sink.replace(rows))
        else:
            refused.append(sink.append(rows))
        return count

    def _gave_up(self, why: str, pause: float) -> bool:
        """Say that the sink is away. Returns whether it isn't tried again."""
        with self._lock:
            again = f"It is tried again in {pause:.0f} s." if pause >= 1 else "It is tried again."
            self.trouble = f"{why.rstrip('.')}. The query waits. {again}"
            self.version += 1
            if not self._impatient:
                return False
            lot = self._lot
            whole = lot.rows.height if lot is not None and self._ties.state is not None else 0
            self.lost = whole or sum(f.height for f, _ in self._waiting)
            self.trouble = f"{why.rstrip('.')}. The query was stopped before its last answers were written."
        log.warning("sink %s: %s", self.order.name, self.trouble)
        return True

    def _fail(self, why: str) -> None:
        self.error = self.trouble = why
        self.version += 1
        self._ties.failed(f"sink {self.order.name}: {why}")

    def _died(self, error: BaseException | None) -> None:
        self._fail("its thread ended" if error is None else reason(error))
        self._close()

    def _close(self) -> None:
        try:
            self.order.sink.close()
        except Exception:
            log.exception("sink %s could not be closed", self.order.name)
        with self._lock:
            self.done.set()
            self.version += 1
            self._changed.notify_all()
        self._ties.room()


__all__ = ["OP", "Delivery", "Lot", "SinkWriter", "Ties"]
