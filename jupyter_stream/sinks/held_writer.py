"""A writer whose rows are committed when a checkpoint has them: the commit and the place to go on at are one.

The query's thread cuts (`cut`) what waits off from what comes later; once the cut is on disk it lets the writer have it
(`release`). A query that begins again gives its writer what the cut on disk had (`begin_again`), and the sink says whether it
has committed that already.
"""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass

import polars as pl

from jupyter_stream.sinks.writer import Delivery, SinkWriter, Ties


@dataclass(frozen=True, slots=True)
class Pending:
    """What a cut keeps of a writer.

    Attributes:
        number: of the commit that the cut's rows are for.
        due: whether there is anything to be committed under it.
        frames: the cut's rows.
        sequence: how many rows came before them.
        written: rows committed before them.
        refused: rows refused before them.
        commits: how many commits there were before.
    """

    number: int
    due: bool
    frames: tuple[pl.DataFrame, ...]
    sequence: int
    written: int
    refused: int
    commits: int


class HeldWriter(SinkWriter):
    """Commits what was cut and released, under numbers that go on where the query was started again."""

    def __init__(self, order: Delivery, ties: Ties) -> None:
        super().__init__(order, ties)
        self._number = 0
        self._cut: int | None = None  # frames that were cut and are not committed yet
        self._cut_changes = 0
        self._released = self._doubtful = False

    # -- from the query ----------------------------------------------------------------------------------------------

    @property
    def full(self) -> bool:
        """Whether more waits than should, and the sink is at it: what isn't cut yet waits for a cut and not for the sink."""
        return super().full and self._cut is not None

    @property
    def open(self) -> bool:
        """Whether a cut is not committed yet."""
        return self._cut is not None and not self.done.is_set()

    @property
    def wants_cut(self) -> bool:
        """Whether as much waits as should, or somebody waits for a commit."""
        many = self.bytes >= self._ties.most // 2
        return not self.open and not self.done.is_set() and (many or (self._flush and self._waits))

    def cut(self, *, last: bool) -> Pending:
        """Cut off what came so far. What was cut before is committed.

        Args:
            last: whether this is all: a sink is made then even of an answer without rows.
        """
        with self._lock:
            assert self._cut is None, "one cut at a time"
            before = (self._sequence, self.written, self.refused, self.commits)
            if self._ties.state is not None and super()._waits:
                whole = self._ties.state()
                self.bytes = int(whole.estimated_size())
                self._waiting = deque([(whole, self.bytes)])
            self._cut_changes = self._changes
            due = bool(self._waiting) or (last and not self._number)
            if due:
                self._number += 1
                self._cut = len(self._waiting)
            return Pending(self._number, due, tuple(f for f, _ in self._waiting), *before)

    def release(self) -> None:
        """The cut is on disk: it may be committed."""
        with self._lock:
            self._released = self._cut is not None
            self._begin()
            self._changed.notify_all()

    def withdraw(self) -> None:
        """The cut could not be brought to disk: its rows wait for the next."""
        with self._lock:
            if self._cut is not None and not self._released:
                self._number -= 1
                self._cut = None
            self._changed.notify_all()

    def begin_again(self, pending: Pending) -> None:
        """Go on where a cut was taken. Called before the query gives answers."""
        with self._lock:
            self._number = pending.number
            self._sequence, self.written = pending.sequence, pending.written
            self.refused, self.commits = pending.refused, pending.commits
            if pending.due:
                self._waiting = deque((f, int(f.estimated_size())) for f in pending.frames)
                self.bytes = sum(size for _, size in self._waiting)
                self._cut = len(self._waiting)
                self._cut_changes = self._changes
                self._released = self._doubtful = True
                self._begin()

    def _settled(self) -> bool:
        return self.done.is_set() or not (self._over or self._waits or self.open)

    # -- the writer's thread -----------------------------------------------------------------------------------------

    def _wait(self, pause: float) -> bool:
        with self._lock:
            tried = time.monotonic()
            while True:
                left = 60.0
                if self._released:
                    left = 0.0 if self._impatient else tried + pause - time.monotonic()
                elif self._over and self._cut is None:
                    return False
                if left <= 0:
                    return True
                self._changed.wait(left)

    def _next_number(self) -> int:
        return self._number

    def _due(self) -> tuple[list[pl.DataFrame], int]:
        assert self._cut is not None, "released"
        return [f for f, _ in list(self._waiting)[: self._cut]], self._cut_changes

    def _whole(self, frames: list[pl.DataFrame]) -> pl.DataFrame:
        if self._ties.state is not None and frames:
            return frames[0]  # the whole answer as it was at the cut
        return super()._whole(frames)

    def _commit(self) -> None:
        if self._doubtful and self._is_committed():
            self._note_committed()
        else:
            super()._commit()
        with self._lock:
            self._cut = None
            self._released = self._doubtful = False
            self._flush = self._flush and self._waits
            self._changed.notify_all()
        self._ties.room()

    def _is_committed(self) -> bool:
        """Whether the sink has what was cut before the query's process ended; it finishes what was left half done then."""
        known = self.order.sink.committed()
        if known is None or known[0] < self._number:
            return False
        self.order.sink.commit(self._number, known[1] or str(self._number))
        return True

    def _note_committed(self) -> None:
        lot = self._gathered()
        rows, bad = self._ties.shape(lot.rows)
        count = rows.height + (0 if bad is None else bad.height)
        self._is_done(lot, count, [] if bad is None else [bad])


__all__ = ["HeldWriter", "Pending"]
