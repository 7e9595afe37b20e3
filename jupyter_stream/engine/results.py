"""What a query has answered, kept for its handle and views. Written by the engine's thread, read by any."""

from __future__ import annotations

import threading
from collections import deque

import polars as pl

from jupyter_stream.core.messages import IS_FINAL
from jupyter_stream.core.schema import Schema


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
        self._open = self._empty
        self._history: deque[pl.DataFrame] = deque()
        self._history_rows = 0
        self._lock = threading.Lock()
        self.rows_out = 0
        self.forgotten = 0
        self.version = 0

    def add(self, frame: pl.DataFrame, snapshot_at: int | None) -> pl.DataFrame:
        """Take final rows, or a snapshot of provisional ones, which replaces the one before. Returns what was added."""
        if self.provisional:
            frame = frame.with_columns(pl.lit(snapshot_at is None).alias(IS_FINAL))
        frame = frame.select(self._columns)
        with self._lock:
            self.version += 1
            if self.provisional:
                self._remember(frame)
            if snapshot_at is not None:
                self._open = frame
                return frame
            self._open = self._still_open(frame)
            self._final.append(frame)
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

    def _still_open(self, final: pl.DataFrame) -> pl.DataFrame:
        """Provisional rows of extents that have not become final."""
        if not self._open.height or "window_end" not in self._open.columns:
            return self._open
        return self._open.join(final.select("window_end").unique(), on="window_end", how="anti", nulls_equal=True)

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
            parts = [*self._final, *([self._open] if self._open.height else [])]
        return pl.concat(parts) if parts else self._empty

    def history(self) -> pl.DataFrame:
        """All answers in the order given, provisional ones too."""
        with self._lock:
            parts = list(self._history) if self.provisional else list(self._final)
        return pl.concat(parts) if parts else self._empty

    def tail(self, last: int) -> tuple[pl.DataFrame, pl.Series]:
        """The newest `last` rows, and which of them are final."""
        with self._lock:
            parts: list[pl.DataFrame] = [self._open] if self._open.height else []
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
        """The newest final answers given together."""
        with self._lock:
            return self._final[-1] if self._final else self._empty
