"""A writer that commits once for each micro-batch of Spark's, under its number: position and rows are one commit.

A micro-batch comes again, with the rows it had, where the process ended before Spark heard that it was done. A sink that has it
already, by its own word or by the note beside the checkpoint, isn't given it a second time.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import polars as pl

from jupyter_stream.core import on_disk
from jupyter_stream.core.messages import Failed
from jupyter_stream.sinks.protocol import SinkUnreachable, TakesPieces, WritesApart
from jupyter_stream.sinks.writer import Delivery, Lot, SinkWriter, Ties

T = TypeVar("T")


class NumberedWriter(SinkWriter):
    """Given the answers of one micro-batch after the other: `begin`, the answers, `seal`.

    Args:
        order: what is written, and how; its writer is the checkpoint's.
        ties: what ties it to its query.
        note: the file that notes the last micro-batch committed.
    """

    def __init__(self, order: Delivery, ties: Ties, note: Path) -> None:
        super().__init__(order, replace(ties, position=lambda: str(self._batch)))
        self._word = order.writer
        self._note = note
        self._batch = self._last = -1
        self._sealed = self._known = False
        self._pieces: list[pl.DataFrame] | None = None  # of the micro-batch, where they were written elsewhere
        self._refused: list[pl.DataFrame] = []

    # -- from the query, on Spark's thread ---------------------------------------------------------------------------

    @property
    def full(self) -> bool:
        """Never: Spark's thread waits for the commit of each micro-batch."""
        return False

    def recall(self, going: Callable[[], bool]) -> None:
        """Find out what an earlier run has committed; a commit it left half done is finished. Waits while the sink is away.

        Args:
            going: whether the query still runs.
        """
        with suppress(FileNotFoundError, ValueError):  # a torn note is none: the sink knows, or takes rows again
            kept = json.loads(self._note.read_text())
            self._last, self.written = kept["batch"], kept["written"]
            self.refused, self.commits = kept["refused"], kept["commits"]
        self._patiently(self._recalled, going)

    def _recalled(self) -> None:
        known = self.order.sink.committed()
        if known is not None:
            self.order.sink.commit(*known)  # changes nothing, but finishes what was begun
            self._last = max(self._last, int(known[1] or -1))
            self.commits = max(self.commits, known[0])  # the first commit alone takes the place of what was there

    def _patiently(self, ask: Callable[[], T], going: Callable[[], bool]) -> T | None:
        """What the sink answers, as soon as it is there; None where the query ends before."""
        while going():
            try:
                answer = ask()
            except SinkUnreachable as away:
                self.waits_for(str(away))
            else:
                self.trouble = None
                return answer
        return None

    def waits_for(self, why: str) -> None:
        """Say that the sink is away, and wait a second."""
        with self._lock:
            self.trouble = f"{why.rstrip('.')}. The query waits. It is tried again."
            self.version += 1
            self._changed.wait(1.0)

    def begin(self, number: int) -> None:
        """The answers of a micro-batch follow."""
        with self._lock:
            self._known = number <= self._last
            self._batch = number
            self._sequence = 0
            self.order = replace(
                self.order, writer=f"{self._word}-{number}"
            )  # `row_id` is the same when they come again

    def put(self, answers: pl.DataFrame) -> None:
        """Answers given together; nothing where the sink has the micro-batch."""
        if not self._known:
            super().put(answers)

    def add(self, rows: pl.DataFrame) -> None:
        """Rows to be written; none where the sink has the micro-batch."""
        if not self._known:
            super().add(rows)

    def apart(self, going: Callable[[], bool]) -> WritesApart | None:
        """What writes rows where they are made; None where the sink doesn't take that. Waits while the sink is away.

        Args:
            going: whether the query still runs.
        """
        sink = self.order.sink
        if not isinstance(sink, TakesPieces) or self.order.mode != "append":
            return None
        return self._patiently(sink.apart, going)

    def adopt(self, pieces: list[pl.DataFrame], refused: list[Failed]) -> None:
        """Rows of the micro-batch that were written elsewhere, and those that the sink will never take."""
        if not self._known and (pieces or refused):
            with self._lock:
                self._pieces = pieces
                self._refused = [self._ties.as_refused(failed) for failed in refused]
                self._came()

    def seal(self, going: Callable[[], bool]) -> None:
        """That was the micro-batch: wait until it is committed, no longer than the query runs.

        Args:
            going: whether the query still runs.
        """
        with self._lock:
            self._sealed = self._waits
            if self._sealed:
                self._begin()
                self._changed.notify_all()
            while self._sealed and not self.done.is_set() and going():
                self._changed.wait(0.1)

    @property
    def _waits(self) -> bool:
        return self._pieces is not None or super()._waits

    # -- the writer's thread -----------------------------------------------------------------------------------------

    def _wait(self, pause: float) -> bool:
        with self._lock:
            if pause and not self._impatient:
                self._changed.wait_for(lambda: self._impatient, pause)
            while not self._sealed:
                if self._over:  # a table is made even of an answer without rows; a micro-batch is written whole or not
                    return not (self._impatient or self.commits or self._last >= 0 or self._waits)
                self._changed.wait(1.0)
            return True

    def _next_number(self) -> int:
        return self._batch + 1

    def _write(self, given: pl.DataFrame, refused: list[pl.DataFrame | None]) -> int:
        if self._pieces is None:
            return super()._write(given, refused)
        sink = self.order.sink
        assert isinstance(sink, TakesPieces)
        for pieces in self._pieces:
            sink.adopt(pieces)
        refused += self._refused
        return sum(int(p.get_column("rows").sum()) for p in self._pieces) + sum(f.height for f in self._refused)

    def _is_done(self, lot: Lot, count: int, bad: list[pl.DataFrame]) -> None:
        self._pieces, self._refused = None, []
        super()._is_done(lot, count, bad)

    def _commit(self) -> None:
        super()._commit()
        with self._lock:
            self._last, self._sealed = self._batch, False
            kept = {
                "batch": self._last,
                "written": self.written,
                "refused": self.refused,
                "commits": self.commits,
            }
            on_disk.write_text(self._note, json.dumps(kept))
            self._changed.notify_all()


__all__ = ["NumberedWriter"]
