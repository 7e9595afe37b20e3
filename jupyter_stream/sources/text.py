"""What CSV and JSON lines share: text taken in blocks of whole records, and the place of a record in its file.

A parser sees a file once, from its start; whether the blocks come from a finished file or a growing one is not its business.
"""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Final, Protocol, cast

import polars as pl

from jupyter_stream.core.schema import Field, Schema
from jupyter_stream.errors import SourceError
from jupyter_stream.sources.instants import parse_instants
from jupyter_stream.sources.protocol import BATCH_ROWS, Chunk

BLOCK: Final = 4 << 20
"""Bytes read at once: about `BATCH_ROWS` records of 64 bytes."""
LONGEST: Final = 16 << 20
"""Bytes of one record, beyond which it is taken for damaged."""
HEAD: Final = 1 << 20
"""Bytes looked at to find out columns and types that nobody declared."""
_BOM: Final = b"\xef\xbb\xbf"


class Parser(Protocol):
    """Turns the text of one file, from its start, into rows."""

    def cut(self, data: bytes) -> int:
        """How many bytes at the start of `data` are whole records; `data` starts where a record does."""

    def parse(self, data: bytes) -> Chunk:
        """The rows of the next whole records; the last may lack its newline."""


class TextFormat(Protocol):
    """CSV or JSON lines, with its options."""

    def parser(self, path: Path, schema: Schema, fields: Sequence[Field]) -> Parser:
        """A parser for one file of a stream of that schema, giving these fields of it."""

    def discover(self, head: bytes, path: Path) -> Schema:
        """Columns and types as the first records tell them."""

    def check(self, head: bytes, path: Path, schema: Schema) -> None:
        """Refuse a file that lacks declared columns, where its beginning tells.

        Raises:
            SourceError: naming the column and the nearest one the file has.
        """


def open_bytes(path: Path) -> IO[bytes]:
    """The file's bytes, unpacked where it ends in `.gz`.

    Raises:
        SourceError: when it can't be opened.
    """
    try:
        return cast(IO[bytes], gzip.open(path)) if path.suffix == ".gz" else path.open("rb")
    except OSError as error:
        raise SourceError(f"{path} can't be read: {error.strerror}.") from error


def read_text(path: Path, parser: Parser, stop: threading.Event) -> Iterator[Chunk]:
    """All rows of a file that is complete."""
    with open_bytes(path) as file:
        rest = skip_mark(file.read(BLOCK))
        while not stop.is_set():
            try:
                more = file.read(BLOCK)
            except (EOFError, OSError) as error:
                raise SourceError(f"{path} is damaged: {error}.") from error
            if not more:
                if rest:
                    yield from batches(parser.parse(rest))
                return
            whole = parser.cut(rest)
            if whole:
                yield from batches(parser.parse(rest[:whole]))
            rest = rest[whole:] + more


def head_of(path: Path) -> bytes:
    """The first records of a file."""
    with open_bytes(path) as file:
        data = skip_mark(file.read(HEAD))
    whole = data.rfind(b"\n") + 1
    return data[:whole] if len(data) >= HEAD // 2 and whole else data


def skip_mark(data: bytes) -> bytes:
    """Without the byte order mark some programs write first."""
    return data.removeprefix(_BOM)


def is_utf8(data: bytes) -> bool:
    """Whether all of it is."""
    if data.isascii():
        return True
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def batches(chunk: Chunk) -> Iterator[Chunk]:
    """A chunk in pieces of at most `BATCH_ROWS` rows, rejected records with the first; nothing when it is empty."""
    if chunk.frame.height <= BATCH_ROWS:
        if chunk.frame.height or chunk.rejected is not None:
            yield chunk
        return
    for start in range(0, chunk.frame.height, BATCH_ROWS):
        yield Chunk(chunk.frame.slice(start, BATCH_ROWS), chunk.rejected if start == 0 else None)


def type_of_text(text: pl.Series) -> pl.DataType:
    """The narrowest of BIGINT, DOUBLE, BOOLEAN, DATE, TIMESTAMP that all the words fit, else STRING.

    Numbers with leading zeros, such as postcodes, stay STRING.
    """
    words = text.drop_nulls()
    if not len(words):
        return pl.String()
    if not words.str.contains(r"^\s*[+-]?0\d").any():
        for number in (pl.Int64(), pl.Float64()):
            if words.cast(number, strict=False).null_count() == 0:
                return number
    if words.str.to_lowercase().is_in(["true", "false"]).all():
        return pl.Boolean()
    times = parse_instants(words)
    if times.null_count():
        return pl.String()
    return pl.Date() if (words.str.strip_chars().str.len_bytes() == 10).all() else pl.Datetime("us")
