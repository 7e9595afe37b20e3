"""What a query has answered, kept for its handle and views. Written by the engine's thread, read by any."""

from __future__ import annotations

import threading
from collections.abc import Callable

import polars as pl

from jupyter_stream.arrays.rows import columns_of
from jupyter_stream.core.messages import ANSWER, IS_FINAL, WINDOW_END, Int64s
from jupyter_stream.core.newest_frames import NO_LIMIT, NewestFrames
from jupyter_stream.core.schema import Schema, empty

_KNOWN_BY = (ANSWER, WINDOW_END)
"""System columns that say which provisional answer a row is."""


class Results:
    """Final answers (the newest `keep` rows), the present provisional ones, and the history of both if provisional.

    Args:
        schema: the columns users get.
        keep: rows kept.
        provisional: whether answers carry `is_final`.
        most: bytes kept.
    """

    def __init__(self, schema: Schema, keep: int, provisional: bool, most: int = NO_LIMIT) -> None:
        columns = schema.polars()
        self.provisional = provisional
        if provisional:
            columns = {**columns, IS_FINAL: pl.Boolean()}
        self._columns = list(columns)
        self._empty = empty(columns)
        self._keep = keep
        self._final = NewestFrames(keep, most)
        self._newest = self._empty
        self._open = self._empty
        self._history = NewestFrames(keep, most)
        self._lock = threading.Lock()
        self.followers: list[Callable[[pl.DataFrame, pl.DataFrame], None]] = []
        """Called with answers that are taken back (provisional ones), and with those that are given."""
        self.rows_out = 0
        self.version = 0

    @property
    def forgotten(self) -> int:
        """Final rows that are no longer kept."""
        return self._final.forgotten

    @property
    def bytes(self) -> int:
        """Bytes kept, about."""
        return self._final.bytes + self._history.bytes

    def add(self, frame: pl.DataFrame, snapshot_at: int | None, replaces: Int64s | None = None) -> pl.DataFrame:
        """Take final rows or provisional ones. Returns what was added.

        Args:
            frame: the rows.
            snapshot_at: for provisional ones, the time they were made at.
            replaces: numbers (`$answer`) of the provisional answers they replace; None where a snapshot replaces the one before
                it, and final answers those of their extents.
        """
        whole = frame
        if self.provisional:
            frame = frame.with_columns(pl.lit(snapshot_at is None).alias(IS_FINAL))
        frame = columns_of(frame, self._columns)
        with self._lock:
            self.version += 1
            if self.provisional:
                self._history.add(frame)
            if snapshot_at is not None:
                left = self._show(frame.hstack(whole.select(c for c in _KNOWN_BY if c in whole.columns)), replaces)
            else:
                left = self._take_back(whole, replaces)
            for follow in self.followers:
                follow(left.select(self._columns), frame)
            if snapshot_at is not None:
                return frame
            if not frame.height:
                return frame
            self._newest = frame
            self.rows_out += frame.height
            self._final.add(frame)
        return frame

    def _show(self, frame: pl.DataFrame, replaces: Int64s | None) -> pl.DataFrame:
        """Provisional rows take the place of those they replace. Returns these."""
        if replaces is None or not self._open.height:
            left, self._open = self._open, frame
            return left
        left = self._leave(ANSWER, pl.DataFrame({ANSWER: replaces})) if replaces.size else self._empty
        self._open = pl.concat([self._open, frame])
        return left

    def _take_back(self, final: pl.DataFrame, replaces: Int64s | None) -> pl.DataFrame:
        """Keep the provisional rows of answers that have not become final. Returns the others."""
        if not self._open.height:
            return self._empty
        if replaces is not None:
            return self._leave(ANSWER, pl.DataFrame({ANSWER: replaces})) if replaces.size else self._empty
        if WINDOW_END in self._open.columns and WINDOW_END in final.columns:
            return self._leave(WINDOW_END, final.select(WINDOW_END).unique())
        return self._empty

    def _leave(self, column: str, values: pl.DataFrame) -> pl.DataFrame:
        """Take provisional rows with these values away. Returns them."""
        left = self._open.join(values, on=column, how="semi", nulls_equal=True) if self.followers else self._empty
        self._open = self._open.join(values, on=column, how="anti", nulls_equal=True)
        return left

    def forked(self) -> None:
        """This is a process forked from the one in which it is written: whoever held the lock isn't here."""
        self._lock = threading.Lock()
        self._final.forked()
        self._history.forked()

    def close(self) -> None:
        """The query has ended: nothing is provisional any more."""
        with self._lock:
            self._open = self._empty
            self.version += 1

    def frame(self) -> pl.DataFrame:
        """Final rows kept, then the present provisional ones."""
        with self._lock:
            final = self._final.joined()  # once; the next reader finds one frame
            parts = [
                *([] if final is None else [final]),
                *([self._open.select(self._columns)] if self._open.height else []),
            ]
        return pl.concat(parts) if parts else self._empty

    def history(self) -> pl.DataFrame:
        """All answers in the order given, provisional ones too."""
        with self._lock:
            parts = list(self._history) if self.provisional else list(self._final)
        return pl.concat(parts) if parts else self._empty

    @property
    def height(self) -> int:
        """How many answers there are now, those that are no longer kept among them."""
        return self.rows_out + self._open.height

    def since(self, position: int) -> tuple[pl.DataFrame, int, int]:
        """Final rows from a position on, counted from 0: the rows, how many are forgotten, and the position behind them."""
        with self._lock:
            return since(self._final, self._empty, position)

    def tail(self, last: int) -> tuple[pl.DataFrame, pl.Series]:
        """The newest `last` rows, and which of them are final."""
        with self._lock:
            parts: list[pl.DataFrame] = [self._open.select(self._columns)] if self._open.height else []
            open_rows = self._open.height
            parts = [*self._final.newest(last), *parts]
        joined = pl.concat(parts) if parts else self._empty
        joined = joined.tail(last + open_rows)
        final = (
            pl.Series("final", [True]).new_from_index(0, joined.height)
            if joined.height
            else pl.Series("final", [], dtype=pl.Boolean)
        )
        if open_rows:
            final = pl.int_range(joined.height, eager=True) < joined.height - open_rows
        return joined, final.alias("final")

    @property
    def latest(self) -> pl.DataFrame:
        """The newest final answers given together, at most as many as are kept."""
        return self._newest.tail(self._keep)


def since(kept: NewestFrames, empty: pl.DataFrame, position: int) -> tuple[pl.DataFrame, int, int]:
    """Rows from a position on, counted from 0: those kept, how many are forgotten, and the position behind them."""
    end = kept.forgotten + kept.rows
    parts = kept.newest(end - position)
    return pl.concat(parts) if parts else empty, max(0, kept.forgotten - position), end
