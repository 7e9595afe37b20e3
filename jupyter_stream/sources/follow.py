"""Files that grow: new lines and new files as they come, like `tail -F`. Not replayable, but by notes of how they were read.

A file is known by its inode, so that renaming it (log rotation) neither loses nor repeats lines. One that is written anew in its
place is known by what it began with and by what stood before the place reached, and is read from its beginning: then, and where
a file can't be read for a while, `errors(name)` says so.
"""

from __future__ import annotations

import errno
import os
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any, Final, NamedTuple, cast

import polars as pl

from jupyter_stream.errors import SourceError
from jupyter_stream.sources.conform import rejected
from jupyter_stream.sources.counted import Given, counted, joined, without_given
from jupyter_stream.sources.file_journal import FileJournal, Piece, TextRecords, Whole, found, gone
from jupyter_stream.sources.follow_places import BegunFile, Key, Places
from jupyter_stream.sources.paths import matching
from jupyter_stream.sources.protocol import Chunk
from jupyter_stream.sources.text import BLOCK, Blocks, Damaged, TextParser

_OPEN_FILES: Final = 200
"""Files kept open at most; the ones that were silent longest are closed, and opened again when they grow."""
_PATIENCE: Final = 5.0
"""Seconds a file that must be whole (Parquet, .gz) may be unreadable after its last change, as if still being written."""

_AWAY: Final = frozenset(
    {errno.EACCES, errno.EPERM, errno.EIO, errno.EBUSY, errno.ESTALE, errno.EMFILE, errno.ENFILE, errno.EISDIR}
)
"""What may be otherwise the next time a file is opened: rights, a disk that comes back, too many open files."""
_MARK: Final = 1024
"""Bytes at the beginning, and before the place reached, by which a file is known that has been written to."""
_TICK: Final = 100_000_000
"""Nanoseconds within which two changes of a file may bear the same time."""


class _WholeFile(NamedTuple):
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
    blocks: Blocks
    file: IO[bytes] | None
    position: int = 0
    active: float = 0.0
    check: int = 0
    changed: int = -1
    head: bytes = b""
    last: bytes = b""
    key: Key = (0, 0)

    @property
    def taken(self) -> int:
        """Bytes whose records have been handed over."""
        return self.position - len(self.blocks.rest)

    def advance(self, data: bytes) -> bytes:
        """Note bytes that have been read; returns them."""
        self.head += data[: _MARK - len(self.head)]
        self.last = (self.last + data[-_MARK:])[-_MARK:]
        self.position += len(data)
        return data

    def is_same(self) -> bool:
        """Whether what has been read still stands in the file."""
        assert self.file is not None, "opened before"
        self.file.seek(0)
        same = self.file.read(len(self.head)) == self.head
        self.file.seek(self.position - len(self.last))
        return same and self.file.read(len(self.last)) == self.last

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "file": None, "changed": -1}  # it is opened again, and looked at


class Tail:
    """What has come since the last look, in the files a path, folder or pattern names.

    Args:
        text: the path.
        parser: makes a parser for a file read line by line; gives None for one that is read when it is whole.
        whole: reads such a file; where it may still be being written, not before it is there as a whole.
        is_wanted: whether a file belongs to the stream.
        nothing: a frame of the wanted columns without rows.
        journal: where it is noted how they are read, before it is handed over; None for nowhere.
        places: where a former read goes on, noted anew with every chunk; None where nobody asks.
    """

    def __init__(
        self,
        text: str,
        parser: Callable[[Path], TextParser | None],
        whole: Callable[[Path, bool], Iterator[Chunk]],
        is_wanted: Callable[[Path], bool],
        nothing: pl.DataFrame,
        journal: FileJournal | None = None,
        places: Places | None = None,
    ) -> None:
        self._text = text
        self._parser = parser
        self._whole = whole
        self._is_wanted = is_wanted
        self._nothing = nothing
        self._journal = journal
        self._growing: dict[Key, _Growing] = {}
        self._done: dict[Key, _WholeFile] = {}
        self._unread: dict[Path, str] = {}  # what can't be read just now, and why
        self._missing: set[Key] = set()  # not there in the last look: deleted, or renamed while it was looked
        self._places = places
        self._begun: dict[Key, BegunFile] = {}  # files read when whole, of which a former read has handed over some
        for key, place in ({} if places is None else places.all()).items():
            kinds: dict[type, dict[Key, Any]] = {
                _Growing: self._growing,
                _WholeFile: self._done,
                BegunFile: self._begun,
            }
            kinds[type(place)][key] = place

    def again(self) -> Iterator[Chunk]:
        """What the journal says was read before, in that order; what has come since is for `look`.

        Raises:
            SourceError: it is no longer there.
        """
        for piece in self._journal.before if self._journal is not None else ():
            if isinstance(piece, TextRecords):
                yield from self._text_again(piece)
            else:
                yield from self._whole_again(piece)

    def look(self) -> Iterator[Chunk]:
        """Rows that came since the last look; a last line without newline waits until it has one."""
        seen: set[Key] = set()
        try:
            paths = matching(self._text)
        except OSError as error:
            yield from self._away(Path(self._text), error)
            return
        for path in paths:
            if not self._is_wanted(path):
                continue
            try:
                stat = path.stat()
            except FileNotFoundError:
                continue
            except OSError as error:
                yield from self._away(path, error)
                seen |= {key for key, growing in self._growing.items() if growing.path == path}
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
                self._growing[key] = _Growing(path, stat.st_ino, Blocks(parser), None, key=key)
            yield from self._grown(self._growing[key], path, stat)
        # One that is renamed between a listing and the look at it is in neither: it is gone if it is missing twice.
        missing = (self._growing.keys() | self._done.keys()) - seen
        for key in (k for k in list(self._growing) if k in missing & self._missing):
            # Deleted, or renamed to something that isn't ours: what was written before still counts.
            left = self._growing.pop(key)
            yield from self._drain(left)
            yield from self._last_line(left)
            if self._places is not None:
                self._places.forget([key])
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
        changed = (stat.st_mtime_ns, stat.st_size) != (growing.changed, growing.position)
        growing.path = path
        if not changed:
            return
        try:
            if not self._opened(growing):
                return
            if growing.position and (stat.st_size < growing.position or not growing.is_same()):
                yield from self._anew(growing)
            yield from self._drain(growing)
        except OSError as error:
            if growing.file is not None:
                growing.file.close()
                growing.file = None
            yield from self._away(path, error)
            return
        # a file system's clock may stand still for some milliseconds: what was written just now may be written again unseen
        settled = time.time_ns() - stat.st_mtime_ns > _TICK
        growing.changed = stat.st_mtime_ns if settled else -1
        self._unread.pop(path, None)

    def _anew(self, growing: _Growing) -> Iterator[Chunk]:
        """Begin at the beginning of a file that was truncated, or written anew in its place."""
        yield from self._last_line(growing)
        parser = self._parser(growing.path)
        assert parser is not None, "it was read line by line before"
        growing.blocks = Blocks(parser)
        growing.position, growing.check, growing.head, growing.last = 0, 0, b"", b""
        reason = (
            "written anew while it was followed, and read from its beginning: what was added just before may be missing"
        )
        yield self._refused(growing.path, reason)

    def _last_line(self, growing: _Growing) -> Iterator[Chunk]:
        """A line without a newline, to which none will come."""
        start = growing.taken
        text = growing.blocks.rest
        if text:
            self._taken(growing, text, start, growing.position)
            yield from self._placed(growing, growing.blocks.finish())

    def _opened(self, growing: _Growing) -> bool:
        """Whether it is open now; not if it is gone. Raises `OSError` where it can't be opened."""
        if growing.file is None:
            try:
                growing.file = growing.path.open("rb")
            except FileNotFoundError:
                return False
        return True

    def _drain(self, growing: _Growing) -> Iterator[Chunk]:
        if not self._opened(growing):
            return
        assert growing.file is not None, "just opened"
        growing.file.seek(growing.position)
        while data := growing.file.read(BLOCK):
            growing.active = time.monotonic()
            start = growing.taken
            cut = growing.blocks.cut(growing.advance(data))
            if cut.bytes:
                self._taken(growing, cut.bytes, start, growing.taken)
                yield from self._placed(growing, growing.blocks.chunks(cut))

    def _placed(self, growing: _Growing, chunks: Iterator[Chunk]) -> Iterator[Chunk]:
        """What was read of a file, with the place behind it where somebody asks."""
        if self._places is None:
            yield from chunks
            return
        chunk = joined(chunks)
        if chunk is not None:
            self._places.note(growing.key, growing)
            yield replace(chunk, place=self._places.now())

    def _taken(self, growing: _Growing, text: bytes, start: int, end: int) -> None:
        """Note the next records of a file, from a byte of it to another, before they are handed over."""
        if self._journal is not None:
            growing.check = zlib.crc32(text, growing.check)
            self._note(TextRecords(growing.path, growing.inode, start, end, growing.check))

    def _away(self, path: Path, error: OSError) -> Iterator[Chunk]:
        """Say once that something can't be read now; it is tried again at every look."""
        reason = f"can't be read now: {error.strerror or error}; it is read when it can be"
        if self._unread.get(path) != reason:
            self._unread[path] = reason
            yield self._refused(path, reason)

    def _text_again(self, piece: TextRecords) -> Iterator[Chunk]:
        path = found(piece)
        stat = path.stat()
        key = (stat.st_dev, stat.st_ino)
        growing = self._growing.get(key)
        if growing is None or not piece.start:
            parser = self._parser(piece.path)
            assert parser is not None, "it was read line by line before"
            growing = self._growing[key] = _Growing(path, stat.st_ino, Blocks(parser), None)
        if stat.st_size < piece.end or growing.position != piece.start:
            raise gone(piece, f"{piece.end} bytes of it were read, and it has {stat.st_size}")
        with path.open("rb") as file:
            file.seek(piece.start)
            while growing.position < piece.end:
                data = file.read(min(BLOCK, piece.end - growing.position))
                cut = growing.blocks.cut(growing.advance(data))
                growing.check = zlib.crc32(cut.bytes, growing.check)
                ended = growing.position == piece.end
                if ended:
                    growing.check = zlib.crc32(growing.blocks.rest, growing.check)
                if ended and growing.check != piece.check:
                    raise gone(piece, f"its first {piece.end} bytes are not the same as when they were read")
                yield from growing.blocks.chunks(cut)
                if ended:
                    yield from growing.blocks.finish()

    def _whole_again(self, piece: Whole) -> Iterator[Chunk]:
        if piece.refused is not None:
            yield self._refused(piece.path, piece.refused)
            with suppress(SourceError):
                self._is_unchanged(piece)
            return
        path = self._is_unchanged(piece)
        try:
            yield from self._whole(path, False)
        except (SourceError, OSError, EOFError) as error:
            yield self._given_up(path, error)

    def _is_unchanged(self, piece: Whole) -> Path:
        """Where it is now; it is not read once more.

        Raises:
            SourceError: it is gone, or has been written to.
        """
        path = found(piece)
        stat = path.stat()
        if (stat.st_size, stat.st_mtime_ns) != (piece.size, piece.changed):
            raise gone(piece, "it has been written to since")
        self._done[stat.st_dev, stat.st_ino] = _WholeFile(path, stat.st_size, stat.st_mtime_ns)
        return path

    def _note(self, piece: Piece) -> None:
        if self._journal is not None:
            self._journal.note(piece)

    def _when_whole(self, path: Path, key: Key, stat: os.stat_result) -> Iterator[Chunk]:
        begun = False
        young = time.time() - stat.st_mtime < _PATIENCE
        note = Whole(path, stat.st_ino, stat.st_size, stat.st_mtime_ns, None)
        try:
            for chunk in self._rest_of(path, key, stat, young):
                if not begun:
                    self._note(note)
                begun = True
                yield chunk
        except (SourceError, OSError, EOFError) as error:
            away = error if isinstance(error, OSError) else error.__cause__
            if not begun and isinstance(away, OSError) and away.errno in _AWAY:
                yield from self._away(path, away)
                return
            if not begun and (young or not path.exists()):
                return
            if not begun:
                self._note(note._replace(refused=_message_of(error)))
            if self._places is not None:
                self._places.note(key, _WholeFile(path, stat.st_size, stat.st_mtime_ns))
            yield self._given_up(path, error)
        self._done[key] = _WholeFile(path, stat.st_size, stat.st_mtime_ns)
        self._begun.pop(key, None)
        if self._places is not None:
            self._places.note(key, self._done[key])
        self._unread.pop(path, None)

    def _rest_of(self, path: Path, key: Key, stat: os.stat_result, young: bool) -> Iterator[Chunk]:
        """A file that is whole, or what a former read has left of it."""
        if self._places is None:
            yield from self._whole(path, young)
            return
        begun = self._begun.get(key)
        same = begun is not None and (begun.size, begun.changed) == (stat.st_size, stat.st_mtime_ns)
        given = begun.given if begun is not None and same else Given()
        for chunk in counted(without_given(self._whole(path, young), given), given):
            self._places.note(key, BegunFile(stat.st_size, stat.st_mtime_ns, cast("Given", chunk.place)))
            yield replace(chunk, place=self._places.now())

    def _given_up(self, path: Path, error: SourceError | OSError | EOFError) -> Chunk:
        """That a file couldn't be read to its end, with what there is before."""
        if isinstance(error, Damaged):
            return replace(error.rest(), place=None if self._places is None else self._places.now())
        return self._refused(path, _message_of(error))

    def _refused(self, path: Path, told: str) -> Chunk:
        return Chunk(self._nothing, rejected([str(path)], [told]), None if self._places is None else self._places.now())

    def _close_silent(self) -> None:
        opened = [g for g in self._growing.values() if g.file is not None]
        for growing in sorted(opened, key=lambda g: g.active)[: max(0, len(opened) - _OPEN_FILES)]:
            assert growing.file is not None, "chosen for it"
            growing.file.close()
            growing.file = None


def _message_of(error: SourceError | OSError | EOFError) -> str:
    return error.message if isinstance(error, SourceError) else str(error)
