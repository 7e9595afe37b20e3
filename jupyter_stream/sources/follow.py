"""Files that grow: new lines and new files as they come, like `tail -F`. Not replayable, but by notes of how they were read.

A file is known by its inode, so that renaming it (log rotation) neither loses nor repeats lines.
"""

from __future__ import annotations

import os
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final, NamedTuple, TypeAlias

import polars as pl

from jupyter_stream.errors import SourceError
from jupyter_stream.sources.conform import rejected
from jupyter_stream.sources.file_journal import FileJournal, Piece, Text, Whole, found, gone
from jupyter_stream.sources.paths import matching
from jupyter_stream.sources.protocol import Chunk
from jupyter_stream.sources.text import BLOCK, Parser, batches, skip_mark

_OPEN_FILES: Final = 200
"""Files kept open at most; the ones that were silent longest are closed, and opened again when they grow."""
_PATIENCE: Final = 5.0
"""Seconds a file that must be whole (Parquet, .gz) may be unreadable after its last change, as if still being written."""

_Key: TypeAlias = tuple[int, int]


class _Looks(NamedTuple):
    """How a file looked that was read when it was whole."""

    path: Path
    size: int
    changed: int

    def is_another(self, path: Path, stat: os.stat_result) -> bool:
        """Whether a file is not this one but has its inode, as a new file may once this one is deleted."""
        return path != self.path and (stat.st_size, stat.st_mtime_ns) != (self.size, self.changed)


@dataclass
class _Growing:
    path: Path
    inode: int
    parser: Parser
    file: IO[bytes] | None
    position: int = 0
    rest: bytes = b""
    active: float = 0.0
    check: int = 0

    @property
    def taken(self) -> int:
        """Bytes whose records have been handed over."""
        return self.position - len(self.rest)


class Tail:
    """What has come since the last look, in the files a path, folder or pattern names.

    Args:
        text: the path.
        parser: makes a parser for a file read line by line; gives None for one that is read when it is whole.
        whole: reads such a file.
        is_wanted: whether a file belongs to the stream.
        nothing: a frame of the wanted columns without rows.
        journal: where it is noted how they are read, before it is handed over; None for nowhere.
    """

    def __init__(
        self,
        text: str,
        parser: Callable[[Path], Parser | None],
        whole: Callable[[Path], Iterator[Chunk]],
        is_wanted: Callable[[Path], bool],
        nothing: pl.DataFrame,
        journal: FileJournal | None = None,
    ) -> None:
        self._text = text
        self._parser = parser
        self._whole = whole
        self._is_wanted = is_wanted
        self._nothing = nothing
        self._journal = journal
        self._growing: dict[_Key, _Growing] = {}
        self._done: dict[_Key, _Looks] = {}
        self._missing: set[_Key] = set()  # not there in the last look: deleted, or renamed while it was looked

    def again(self) -> Iterator[Chunk]:
        """What the journal says was read before, in that order; what has come since is for `look`.

        Raises:
            SourceError: it is no longer there.
        """
        for piece in self._journal.before if self._journal is not None else ():
            if isinstance(piece, Text):
                yield from self._text_again(piece)
            else:
                yield from self._whole_again(piece)

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
                if not self._done[key].is_another(path, stat):
                    self._done[key] = self._done[key]._replace(path=path)
                    continue
                del self._done[key]
            if key not in self._growing:
                parser = self._parser(path)
                if parser is None:
                    yield from self._when_whole(path, key, stat)
                    continue
                self._growing[key] = _Growing(path, stat.st_ino, parser, None)
            yield from self._grown(self._growing[key], path, stat)
        # One that is renamed between a listing and the look at it is in neither: it is gone if it is missing twice.
        missing = (self._growing.keys() | self._done.keys()) - seen
        for key in (k for k in list(self._growing) if k in missing & self._missing):
            # Deleted, or renamed to something that isn't ours: what was written before still counts.
            left = self._growing.pop(key)
            yield from self._drain(left)
            if left.rest:
                text, left.rest = left.rest, b""
                yield from self._parsed(left, text, left.position - len(text))
            if left.file is not None:
                left.file.close()
        for key in missing & self._missing & self._done.keys():
            del self._done[key]
        self._missing = missing
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
            growing.parser, growing.rest, growing.position, growing.check = parser, b"", 0, 0
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
            start = growing.taken
            text = growing.rest + (data if growing.position else skip_mark(data))
            growing.position += len(data)
            whole = growing.parser.cut(text)
            growing.rest = text[whole:]
            if whole:
                yield from self._parsed(growing, text[:whole], start)

    def _parsed(self, growing: _Growing, text: bytes, start: int) -> Iterator[Chunk]:
        """Rows of the next records of a file, which begin at a byte of it and end with what has been taken."""
        if self._journal is not None:
            growing.check = zlib.crc32(text, growing.check)
            self._note(Text(growing.path, growing.inode, start, growing.taken, growing.check))
        yield from batches(growing.parser.parse(text))

    def _text_again(self, piece: Text) -> Iterator[Chunk]:
        path = found(piece)
        stat = path.stat()
        key = (stat.st_dev, stat.st_ino)
        growing = self._growing.get(key)
        if growing is None or not piece.start:
            parser = self._parser(piece.path)
            assert parser is not None, "it was read line by line before"
            growing = self._growing[key] = _Growing(path, stat.st_ino, parser, None)
        if stat.st_size < piece.end or growing.position != piece.start:
            raise gone(piece, f"{piece.end} bytes of it were read, and it has {stat.st_size}")
        with path.open("rb") as file:
            file.seek(piece.start)
            while growing.position < piece.end:
                data = file.read(min(BLOCK, piece.end - growing.position))
                text = growing.rest + (data if growing.position else skip_mark(data))
                growing.position += len(data)
                whole = growing.parser.cut(text) if growing.position < piece.end else len(text)
                growing.rest = text[whole:]
                growing.check = zlib.crc32(text[:whole], growing.check)
                if growing.position == piece.end and growing.check != piece.check:
                    raise gone(piece, f"its first {piece.end} bytes are others than those that were read")
                yield from batches(growing.parser.parse(text[:whole]))

    def _whole_again(self, piece: Whole) -> Iterator[Chunk]:
        if piece.refused is not None:
            yield self._refused(piece.path, piece.refused)
            with suppress(SourceError):
                self._is_unchanged(piece)
            return
        path = self._is_unchanged(piece)
        try:
            yield from self._whole(path)
        except (SourceError, OSError, EOFError) as error:
            yield self._refused(path, _told(error))

    def _is_unchanged(self, piece: Whole) -> Path:
        """Where it is now; it is not read once more.

        Raises:
            SourceError: it is gone, or has been written to.
        """
        path = found(piece)
        stat = path.stat()
        if (stat.st_size, stat.st_mtime_ns) != (piece.size, piece.changed):
            raise gone(piece, "it has been written to since")
        self._done[stat.st_dev, stat.st_ino] = _Looks(path, stat.st_size, stat.st_mtime_ns)
        return path

    def _note(self, piece: Piece) -> None:
        if self._journal is not None:
            self._journal.note(piece)

    def _when_whole(self, path: Path, key: _Key, stat: os.stat_result) -> Iterator[Chunk]:
        begun = False
        note = Whole(path, stat.st_ino, stat.st_size, stat.st_mtime_ns, None)
        try:
            for chunk in self._whole(path):
                if not begun:
                    self._note(note)
                begun = True
                yield chunk
        except (SourceError, OSError, EOFError) as error:
            if not begun and (time.time() - stat.st_mtime < _PATIENCE or not path.exists()):
                return
            if not begun:
                self._note(note._replace(refused=_told(error)))
            yield self._refused(path, _told(error))
        self._done[key] = _Looks(path, stat.st_size, stat.st_mtime_ns)

    def _refused(self, path: Path, told: str) -> Chunk:
        return Chunk(self._nothing, rejected([str(path)], [told]))

    def _close_silent(self) -> None:
        opened = [g for g in self._growing.values() if g.file is not None]
        for growing in sorted(opened, key=lambda g: g.active)[: max(0, len(opened) - _OPEN_FILES)]:
            assert growing.file is not None, "chosen for it"
            growing.file.close()
            growing.file = None


def _told(error: SourceError | OSError | EOFError) -> str:
    return error.message if isinstance(error, SourceError) else str(error)
