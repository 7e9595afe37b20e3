"""What a query has answered, kept for its handle and views. Written by the engine's thread, read by any."""

from __future__ import annotations

import threading
from collections import deque

import polars as pl

from jupyter_stream.core.messages import ANSWER, IS_FINAL, WINDOW_END, Int64s
from jupyter_stream.core.rows import columns_of
from jupyter_stream.core.schema import Schema

_KNOWN_BY = (ANSWER, WINDOW_END)
"""System columns that say which provisional answer a row is."""


class Results:
    """Final answers (the newest `keep` rows), the present provisional ones, and the history of both if provisional.

    Args:
        schema: the columns users get.
        keep: rows kept.
        provisional: whether answers carry `is_final`.
    """

    def __init__(self, schema: Schema, keep: int, provisional: bool) -> None:
        columns = schema.polars()
        self.provisional = provisional
        if provisional:
            columns = {**columns, IS_FINAL: pl.Boolean()}
        self._columns = list(columns)
        self._empty = pl.DataFrame(schema=columns)
        self._keep = keep
        self._final: deque[pl.DataFrame] = deque()
        self._kept = 0
        self._newest = self._empty
        self._open = self._empty
        self._history: deque[pl.DataFrame] = deque()
        self._history_rows = 0
        self._lock = threading.Lock()
        self.rows_out = 0
        self.forgotten = 0
        self.version = 0

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
            if self.provisional and frame.height:
                self._remember(frame)
            if snapshot_at is not None:
                self._show(frame.hstack(whole.select(c for c in _KNOWN_BY if c in whole.columns)), replaces)
                return frame
            self._take_back(whole, replaces)
            if not frame.height:
                return frame
            self._final.append(frame)
            self._newest = frame
            self._kept += frame.height
            self.rows_out += frame.height
            while self._kept > self._keep:
                surplus = self._kept - self._keep
                oldest = self._final.popleft()
                if oldest.height > surplus:
                    self._final.appendleft(oldest.slice(surplus))
                dropped = min(surplus, oldest.height)
                self._kept -= dropped
                self.forgotten += dropped
        return frame

    def _show(self, frame: pl.DataFrame, replaces: Int64s | None) -> None:
        """Provisional rows take the place of those they replace."""
        if replaces is None or not self._open.height:
            self._open = frame
            return
        if replaces.size:
            self._open = _without(self._open, replaces)
        self._open = pl.concat([self._open, frame])

    def _take_back(self, final: pl.DataFrame, replaces: Int64s | None) -> None:
        """Keep the provisional rows of answers that have not become final."""
        if not self._open.height:
            return
        if replaces is not None:
            self._open = _without(self._open, replaces) if replaces.size else self._open
        elif WINDOW_END in self._open.columns and WINDOW_END in final.columns:
            ended = final.select(WINDOW_END).unique()
            self._open = self._open.join(ended, on=WINDOW_END, how="anti", nulls_equal=True)

    def _remember(self, frame: pl.DataFrame) -> None:
        self._history.append(frame)
        self._history_rows += frame.height
        while self._history_rows > self._keep and len(self._history) > 1:
            self._history_rows -= self._history.popleft().height

    def close(self) -> None:
        """The query has ended: nothing is provisional any more."""
        with self._lock:
            self._open = self._empty
            self.version += 1

    def frame(self) -> pl.DataFrame:
        """Final rows kept, then the present provisional ones."""
        with self._lock:
            if len(self._final) > 1:
                # joined once; the next reader finds one frame
                self._final = deque([pl.concat(self._final)])
            parts = [*self._final, *([self._open.select(self._columns)] if self._open.height else [])]
        return pl.concat(parts) if parts else self._empty

    def history(self) -> pl.DataFrame:
        """All answers in the order given, provisional ones too."""
        with self._lock:
            parts = list(self._history) if self.provisional else list(self._final)
        return pl.concat(parts) if parts else self._empty

    def tail(self, last: int) -> tuple[pl.DataFrame, pl.Series]:
        """The newest `last` rows, and which of them are final."""
        with self._lock:
            parts: list[pl.DataFrame] = [self._open.select(self._columns)] if self._open.height else []
            open_rows = self._open.height
            rows = open_rows
            for frame in reversed(self._final):
                if rows >= last + open_rows:
                    break
                parts.insert(0, frame)
                rows += frame.height
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


def _without(frame: pl.DataFrame, numbers: Int64s) -> pl.DataFrame:
    return frame.join(pl.DataFrame({ANSWER: numbers}), on=ANSWER, how="anti")
