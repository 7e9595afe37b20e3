"""Files that grow: new lines and new files as they come, like `tail -F`. Not replayable.

A file is known by its inode, so that renaming it (log rotation) neither loses nor repeats lines.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final, TypeAlias

import polars as pl

from jupyter_stream.errors import SourceError
from jupyter_stream.sources.conform import rejected
from jupyter_stream.sources.paths import matching
from jupyter_stream.sources.protocol import Chunk
from jupyter_stream.sources.text import BLOCK, Parser, batches, skip_mark

_OPEN_FILES: Final = 200
"""Files kept open at most; the ones that were silent longest are closed, and opened again when they grow."""
_PATIENCE: Final = 5.0
"""Seconds a file that must be whole (Parquet, .gz) may be unreadable after its last change, as if still being written."""

_Key: TypeAlias = tuple[int, int]


@dataclass
class _Growing:
    path: Path
    parser: Parser
    file: IO[bytes] | None
    position: int = 0
    rest: bytes = b""
    active: float = 0.0


class Tail:
    """What has come since the last look, in the files a path, folder or pattern names.

    Args:
        text: the path.
        parser: makes a parser for a file read line by line; gives None for one that is read when it is whole.
        whole: reads such a file.
        is_wanted: whether a file belongs to the stream.
        nothing: a frame of the wanted columns without rows.
    """

    def __init__(
        self,
        text: str,
        parser: Callable[[Path], Parser | None],
        whole: Callable[[Path], Iterator[Chunk]],
        is_wanted: Callable[[Path], bool],
        nothing: pl.DataFrame,
    ) -> None:
        self._text = text
        self._parser = parser
        self._whole = whole
        self._is_wanted = is_wanted
        self._nothing = nothing
        self._growing: dict[_Key, _Growing] = {}
        self._done: set[_Key] = set()

    def look(self) -> Iterator[Chunk]:
        """Rows that came since the last look; a last line without newline waits until it has one."""
        seen: set[_Key] = set()
        for path in matching(self._text):
            if not self._is_wanted(path):
                continue
            try:
                stat = path.stat()
            except FileNotFoundError:
                continue
            key = (stat.st_dev, stat.st_ino)
            seen.add(key)
            if key in self._done:
                continue
            if key not in self._growing:
                parser = self._parser(path)
                if parser is None:
                    yield from self._when_whole(path, key, stat)
                    continue
                self._growing[key] = _Growing(path, parser, None)
            yield from self._grown(self._growing[key], path, stat)
        for key in self._growing.keys() - seen:
            # Deleted, or renamed to something that isn't ours: what was written before still counts.
            gone = self._growing.pop(key)
            yield from self._drain(gone)
            if gone.rest:
                yield from batches(gone.parser.parse(gone.rest))
            if gone.file is not None:
                gone.file.close()
        self._done &= seen
        self._close_silent()

    def close(self) -> None:
        """Let go of all files."""
        for growing in self._growing.values():
            if growing.file is not None:
                growing.file.close()
        self._growing.clear()

    def _grown(self, growing: _Growing, path: Path, stat: os.stat_result) -> Iterator[Chunk]:
        if stat.st_size < growing.position:
            # Truncated: what is in it now starts anew.
            parser = self._parser(path)
            assert parser is not None, "it was read line by line before"
            growing.parser, growing.rest, growing.position = parser, b"", 0
            if growing.file is not None:
                growing.file.seek(0)
        growing.path = path
        if stat.st_size > growing.position:
            yield from self._drain(growing)

    def _drain(self, growing: _Growing) -> Iterator[Chunk]:
        if growing.file is None:
            try:
                growing.file = growing.path.open("rb")
            except FileNotFoundError:
                return
            growing.file.seek(growing.position)
        while data := growing.file.read(BLOCK):
            growing.active = time.monotonic()
            text = growing.rest + (data if growing.position else skip_mark(data))
            growing.position += len(data)
            whole = growing.parser.cut(text)
            growing.rest = text[whole:]
            if whole:
                yield from batches(growing.parser.parse(text[:whole]))

    def _when_whole(self, path: Path, key: _Key, stat: os.stat_result) -> Iterator[Chunk]:
        begun = False
        try:
            for chunk in self._whole(path):
                begun = True
                yield chunk
        except (SourceError, OSError, EOFError) as error:
            if not begun and time.time() - stat.st_mtime < _PATIENCE:
                return
            told = error.message if isinstance(error, SourceError) else str(error)
            yield Chunk(self._nothing, rejected([str(path)], [told]))
        self._done.add(key)

    def _close_silent(self) -> None:
        opened = [g for g in self._growing.values() if g.file is not None]
        for growing in sorted(opened, key=lambda g: g.active)[: max(0, len(opened) - _OPEN_FILES)]:
            assert growing.file is not None, "chosen for it"
            growing.file.close()
            growing.file = None
