"""Messages that wait on disk, in order: what comes for a paused query past its share of memory, where it asked for that.

One temporary file that only this process has: nobody else can open it, and it is gone when the process ends, however it ends.
A record is a message: its rows as Arrow's stream, the rest pickled, since nobody else reads it.
"""

from __future__ import annotations

import tempfile
from collections import deque
from contextlib import suppress
from typing import IO, Any

from jupyter_stream.core import frame_bytes, logs

log = logs.of(__name__)


class Spill:
    """A queue in a file.

    Args:
        most: bytes the file may have; it is emptied whenever everything in it has been read.

    Attributes:
        bytes: bytes the file has.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.bytes = 0
        self._lengths: deque[int] = deque()
        self._read = 0
        self._file: IO[bytes] | None = None
        self._failed = False

    def __len__(self) -> int:
        return len(self._lengths)

    @property
    def full(self) -> bool:
        """Whether it takes nothing more before it has been emptied: at its limit, or since the disk is full."""
        return self._failed or self.bytes >= self.most

    def put(self, record: Any) -> bool:
        """Write a record behind the others. Returns whether there was room for it."""
        if self.full:
            return False
        data = frame_bytes.dumps(record)
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115  (open while anything is in it)
            self._file.seek(self.bytes)
            written = self._file.write(data)
            if written != len(data):
                raise OSError("the disk is full")
        except OSError as error:
            log.warning("rows that wait can't be written to disk: %s", error)
            self._failed = True
            return False
        self._lengths.append(len(data))
        self.bytes += len(data)
        return True

    def take(self) -> Any:
        """The record written first of those there are."""
        assert self._file is not None
        length = self._lengths.popleft()
        self._file.seek(self._read)
        data = self._file.read(length)
        self._read += length
        if not self._lengths:
            self.clear()
        return frame_bytes.loads(data)

    def clear(self) -> None:
        """Forget all of it, and give the disk back."""
        if self._file is not None:
            with suppress(OSError):
                self._file.close()
        self._file = None
        self._failed = False
        self._lengths.clear()
        self._read = self.bytes = 0


__all__ = ["Spill"]
