"""The bytes of a file, unpacked where they are packed by gzip. A file that is cut or damaged gives what can be unpacked."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import IO, Final, Protocol

from jupyter_stream.errors import SourceError

_GZIP: Final = b"\x1f\x8b"
_INPUT: Final = 128 << 10
"""Bytes unpacked at once: the state is copied before each lot (40 KB), to unpack again up to a fault."""
_OTHERS: Final = {
    b"PK\x03\x04": (
        "an Excel workbook or a ZIP archive",
        "Unpack it; of a workbook make a frame, df = pd.read_excel(...), and write SOURCE 'frame://df'.",
    ),
    b"\xd0\xcf\x11\xe0": (
        "an old Excel workbook",
        "Make a frame of it, df = pd.read_excel(...), and write SOURCE 'frame://df'.",
    ),
    b"\x28\xb5\x2f\xfd": ("packed by zstd", "Unpack it, or pack it by gzip instead."),
    b"BZh": ("packed by bzip2", "Unpack it, or pack it by gzip instead."),
    b"\xfd7zXZ": ("packed by xz", "Unpack it, or pack it by gzip instead."),
    b"PAR1": ("a Parquet file", "Write WITH (format = 'parquet'), or end its name in .parquet."),
    b"ARROW1": ("an Arrow file", "Read it into a frame, df = pl.read_ipc(...), and write SOURCE 'frame://df'."),
    b"SQLite format 3": ("an SQLite database", "Write SOURCE 'sqlite://path' for a table of it."),
}
"""What begins files that are no text, and what to do with them."""


class Bytes(Protocol):
    """A file open for reading.

    Attributes:
        damage: what is wrong with its end, once that is reached: there should be more, or something else. None while all is well.
    """

    damage: str | None

    def read(self, most: int) -> bytes:
        """The next bytes; none at the end."""

    def taken(self) -> int:
        """How many bytes of the file have been read, packed as they are."""

    def close(self) -> None:
        """Let go of it."""


class PlainBytes:
    """Those of a file that isn't packed."""

    damage: str | None = None

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def read(self, most: int) -> bytes:
        """The next bytes; none at the end."""
        return self._file.read(most)

    def taken(self) -> int:
        """How many bytes have been read."""
        return self._file.tell()

    def close(self) -> None:
        """Let go of it."""
        self._file.close()


class GzipBytes:
    """Those of a file packed by gzip, of all its members. It ends where it can't be unpacked any more, and says so."""

    def __init__(self, file: IO[bytes]) -> None:
        self.damage: str | None = None
        self._file = file
        self._input = b""
        self._member = zlib.decompressobj(wbits=31)
        self._inside = False
        self._ended = False

    def read(self, most: int) -> bytes:
        """The next bytes; none at the end."""
        parts, missing = [], most
        while missing and not self._ended:
            part = self._some(missing)
            parts.append(part)
            missing -= len(part)
        return b"".join(parts)

    def taken(self) -> int:
        """How many packed bytes have been read."""
        return self._file.tell()

    def close(self) -> None:
        """Let go of it."""
        self._file.close()

    def _some(self, most: int) -> bytes:
        """Some bytes; maybe none though more will come."""
        data = self._input or self._file.read(_INPUT)
        self._input = b""
        if not data:
            self._end("its end is missing" if self._inside else None)
            return b""
        if not self._inside:
            data = data.lstrip(b"\0")  # between members, and behind the last, as tapes have them
            if data and not _GZIP.startswith(data[:2]):
                self._end("what follows its end is not packed by gzip")
                return b""
            self._inside = bool(data)
        before = self._member.copy()
        try:
            found = self._member.decompress(data, most)
        except zlib.error as fault:
            self._end("its checksum is wrong" if "check" in str(fault) else "it can't be unpacked any further")
            return _up_to_fault(before, data, most)
        if self._member.eof:
            self._input = self._member.unused_data
            self._member, self._inside = zlib.decompressobj(wbits=31), False
        else:
            self._input = self._member.unconsumed_tail
        return found

    def _end(self, damage: str | None) -> None:
        self.damage, self._ended = damage, True


def open_bytes(path: Path) -> Bytes:
    """The file's bytes, unpacked where gzip has packed them, whatever it is called.

    Raises:
        SourceError: it can't be opened, or is neither text nor packed by gzip.
    """
    try:
        file = path.open("rb")
        start = file.read(16)
        file.seek(0)
    except OSError as error:
        raise SourceError(f"{path} can't be read: {error.strerror}.") from error
    if start.startswith(_GZIP):
        return GzipBytes(file)
    for mark, (kind, hint) in _OTHERS.items():
        if start.startswith(mark):
            file.close()
            raise SourceError(f"{path} is {kind}, which is not read as text.", hint=hint)
    return PlainBytes(file)


def is_packed(path: Path) -> bool:
    """Whether the file is packed by gzip, by its name or what is in it."""
    if path.suffix == ".gz":
        return True
    try:
        with path.open("rb") as file:
            return file.read(2) == _GZIP
    except OSError:
        return False


def _up_to_fault(before: zlib._Decompress, data: bytes, most: int) -> bytes:
    """What the longest part gives that can be unpacked, from a state that no fault has been met in."""
    good, bad = 0, len(data)
    while bad - good > 1:
        middle = (good + bad) // 2
        try:
            before.copy().decompress(data[:middle], most)
            good = middle
        except zlib.error:
            bad = middle
    return before.decompress(data[:good], most)
