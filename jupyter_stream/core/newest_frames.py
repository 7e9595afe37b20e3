"""Frames that came one behind the other, of which the newest are kept: bounded in rows and in bytes, whatever their size.

A frame of one row takes two kilobytes beside its row, so small frames are put together as they come, many at a time: each row is
copied twice at most. Not for state that answers are made of, which may let go of nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Final

import polars as pl

NO_LIMIT: Final = 2**62
"""As many rows or bytes as there are."""
_SMALL: Final = 512
"""Rows below which a frame is put together with its neighbours: of more, what a frame takes beside them is next to nothing."""
_TOGETHER: Final = 64
"""Frames of about the same size that are put together: with few, rows that come one by one would cost a call for most of them."""
_ROW: Final = 16
"""Bytes a row is taken to have at least, and `_FRAME` those of a frame beside its rows."""
_FRAME: Final = 2048


class NewestFrames:
    """The newest frames. May be written by one thread and read by others.

    Args:
        rows: rows kept at most.
        bytes: bytes kept at most; the newest frame is kept, however large.

    Attributes:
        rows: rows kept now.
        bytes: bytes kept now, about.
        forgotten: rows let go of so far.
    """

    def __init__(self, rows: int, bytes: int) -> None:
        self._most_rows, self._most_bytes = rows, bytes
        self._frames: list[pl.DataFrame] = []
        self._sizes: list[int] = []
        self._begin = 0
        self._lock = threading.Lock()
        self.rows = 0
        self.bytes = 0
        self.forgotten = 0

    def add(self, frame: pl.DataFrame) -> int:
        """Take rows behind those there are. Returns how many are let go of for them."""
        if not frame.height:
            return 0
        with self._lock:
            self._append(frame)
            while self._pieces():
                pieces = [self._pop() for _ in range(_TOGETHER)]
                self._append(_joined(pieces[::-1]))
            return self._let_go()

    def frames(self) -> list[pl.DataFrame]:
        """What is kept, oldest first."""
        with self._lock:
            return self._frames[self._begin :]

    def joined(self) -> pl.DataFrame | None:
        """What is kept as one frame, which it then is; None for nothing."""
        with self._lock:
            parts = self._frames[self._begin :]
            if len(parts) > 1:
                whole = pl.concat(parts, rechunk=False)
                self._frames, self._sizes, self._begin = [whole], [self.bytes], 0
                return whole
            return parts[0] if parts else None

    def newest(self, rows: int) -> list[pl.DataFrame]:
        """The last so many rows, oldest first."""
        found: list[pl.DataFrame] = []
        for frame in reversed(self.frames()):
            if rows <= 0:
                break
            found.append(frame.tail(rows))
            rows -= frame.height
        return found[::-1]

    def clear(self) -> None:
        """Let go of everything; nothing of it counts as forgotten."""
        with self._lock:
            self._frames, self._sizes, self._begin, self.rows, self.bytes = [], [], 0, 0, 0

    def forked(self) -> None:
        """This is a process forked from the one in which it is written: whoever held the lock isn't here."""
        self._lock = threading.Lock()

    def __iter__(self) -> Iterator[pl.DataFrame]:
        return iter(self.frames())

    def __len__(self) -> int:
        return len(self._frames) - self._begin

    def _pieces(self) -> bool:
        """Whether the last frames are so many of about one size that they are to be put together."""
        if len(self) < _TOGETHER or self._frames[-1].height >= _SMALL:
            return False
        first, *rest = self._frames[-_TOGETHER:]
        return first.height < _TOGETHER * rest[-1].height and all(_alike(first, frame) for frame in rest)

    def _append(self, frame: pl.DataFrame) -> None:
        size = max(int(frame.estimated_size()), _ROW * frame.height) + _FRAME
        self._frames.append(frame)
        self._sizes.append(size)
        self.rows += frame.height
        self.bytes += size

    def _pop(self) -> pl.DataFrame:
        frame = self._frames.pop()
        self.rows -= frame.height
        self.bytes -= self._sizes.pop()
        return frame

    def _let_go(self) -> int:
        dropped = 0
        while len(self) > 1 and self.bytes > self._most_bytes:
            dropped += self._drop_oldest(self._frames[self._begin].height)
        while self.rows > self._most_rows:
            dropped += self._drop_oldest(self.rows - self._most_rows)
        if self._begin > 64 and self._begin * 2 > len(self._frames):  # so that taking from the front costs nothing
            del self._frames[: self._begin], self._sizes[: self._begin]
            self._begin = 0
        self.forgotten += dropped
        return dropped

    def _drop_oldest(self, rows: int) -> int:
        """Let go of the oldest rows, at most so many and at most those of one frame."""
        at = self._begin
        oldest, size = self._frames[at], self._sizes[at]
        rows = min(rows, oldest.height)
        if rows == oldest.height:
            self._frames[at] = oldest.clear()
            freed = size
            self._begin += 1
        else:
            self._frames[at] = oldest.slice(rows)
            freed = int((size - _FRAME) * rows / oldest.height)
            self._sizes[at] -= freed
        self.rows -= rows
        self.bytes -= freed
        return rows


def _joined(pieces: list[pl.DataFrame]) -> pl.DataFrame:
    """In memory of its own: column by column, since Polars' threads, which would do them together, may have much to do."""
    whole = pl.concat(pieces, rechunk=False)
    columns = [column.rechunk() for column in whole.get_columns()]
    return columns[0].to_frame().hstack(columns[1:]) if columns else whole


def _alike(one: pl.DataFrame, other: pl.DataFrame) -> bool:
    """Whether they have the same columns: late rows may be of several streams."""
    return one.columns == other.columns and one.dtypes == other.dtypes
