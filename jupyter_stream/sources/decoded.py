"""A parser of files in any encoding: it hands their text on in UTF-8, and counts in the bytes they have."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from jupyter_stream.sources.encoding import UTF8, as_utf8, check_utf16, from_utf8, mark_of, whole_units
from jupyter_stream.sources.protocol import Chunk
from jupyter_stream.sources.text import TextParser

LONGEST_MARK: Final = 4
"""Bytes of the longest byte-order mark."""


class Decoded:
    """A parser of a file in any encoding, which the first bytes or an option say.

    Args:
        parser: of the same file in UTF-8.
        encoding: as `encoding_of` has it.
        path: the file, for errors.
    """

    def __init__(self, parser: TextParser, encoding: str | None, path: Path) -> None:
        self.parser = parser
        self._encoding = encoding
        self._path = path
        self._mark = 0
        self._settled = self._begun = False

    @property
    def newline(self) -> bytes:
        """What ends a line."""
        return "\n".encode(self._encoding or UTF8)

    def cut(self, data: bytes) -> int:
        """How many bytes at the start are whole records."""
        if not self._settled and len(data) < LONGEST_MARK and not data.endswith(b"\n"):
            return 0
        start = self._start(data)
        encoding = self._encoding or UTF8
        if encoding == UTF8:
            end = self.parser.cut(data[start:] if start else data)
            return start + end if end else 0
        data = data[start:]
        text = as_utf8(data[: whole_units(data, encoding)], encoding)
        end = self.parser.cut(text)
        return start + len(from_utf8(text[:end], encoding)) if end else 0

    def parse(self, data: bytes) -> Chunk:
        """The rows of the next whole records."""
        if data:
            start = self._start(data)
            self._begun = True
            data = as_utf8(data[start:] if start else data, self._encoding or UTF8)
        return self.parser.parse(data)

    def skip(self) -> str:
        """Leave out the next line."""
        self._begun = True
        return self.parser.skip()

    def _start(self, data: bytes) -> int:
        """Where the text begins behind its mark; the first time, find out how it is encoded."""
        if not self._settled:
            self._settled = True
            self._mark, marked = mark_of(data)
            if marked is None and self._encoding is None:
                check_utf16(data, self._path)
            self._encoding = marked or self._encoding
        return 0 if self._begun else self._mark
