"""What CSV and JSON lines share: text taken in blocks of whole records, and the place of a record in its file.

A parser sees a file once, from its start; whether the blocks come from a finished file or a growing one is not its business.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final, Protocol, cast

import polars as pl

from jupyter_stream.core.schema import Field, Schema
from jupyter_stream.errors import SourceError
from jupyter_stream.sources.conform import rejected
from jupyter_stream.sources.instants import parse_instants
from jupyter_stream.sources.protocol import BATCH_ROWS, Chunk, Request

BLOCK: Final = 4 << 20
"""Bytes read at once: about `BATCH_ROWS` records of 64 bytes."""
LONGEST: Final = 16 << 20
"""Bytes of one record, beyond which it is taken for damaged."""
_SHOWN: Final = 1_000
"""Bytes of a record that is too long which `errors(name)` gets."""
HEAD: Final = 1 << 20
"""Bytes looked at to find out columns and types that nobody declared."""
_BOM: Final = b"\xef\xbb\xbf"


class TextParser(Protocol):
    """Turns the text of one file, from its start, into rows."""

    def cut(self, data: bytes) -> int:
        """How many bytes at the start of `data` are whole records; `data` starts where a record does."""

    def parse(self, data: bytes) -> Chunk:
        """The rows of the next whole records; the last may lack its newline."""

    def skip(self) -> str:
        """Leave out the next line, without having seen it; returns where it is, such as ` (bids.csv, line 17)`."""


class TextFormat(Protocol):
    """CSV or JSON lines, with its options."""

    def parser(self, path: Path, schema: Schema, fields: Sequence[Field]) -> TextParser:
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


def read_text(path: Path, parser: TextParser, request: Request) -> Iterator[Chunk]:
    """All rows of a file that is complete."""
    with open_bytes(path) as file:
        blocks = Blocks(parser)
        begun, before = False, request.share.done
        raw = getattr(file, "fileobj", file)  # of a packed file, as many bytes as it has
        while not request.stop.is_set():
            try:
                more = file.read(BLOCK)
            except (EOFError, OSError, zlib.error) as error:
                raise SourceError(f"{path} is damaged: {error}.") from error
            if not more:
                yield from blocks.finish()
                return
            request.share.done = before + raw.tell()
            yield from blocks.chunks(blocks.cut(more if begun else skip_mark(more)))
            begun = True


@dataclass(frozen=True, slots=True)
class Cut:
    """Bytes of a file that are done with.

    Attributes:
        whole: whole records.
        long: the beginning of a record that is too long to be read; None for none.
        bytes: all of them, those that are skipped too.
        before: whether that record is before the whole ones, rather than behind them.
    """

    whole: bytes
    long: bytes | None
    bytes: bytes
    before: bool = False


class Blocks:
    """Cuts the bytes of a file, as they come, into whole records. A record of more than `LONGEST` bytes is skipped and told.

    Attributes:
        parser: knows what a record is.
        rest: bytes of a record that isn't whole yet, `LONGEST` at most.
    """

    def __init__(self, parser: TextParser) -> None:
        self.parser = parser
        self.rest = b""
        self._skipping = False

    def cut(self, data: bytes) -> Cut:
        """Take the next bytes. What they bring is for `chunks`, before the next are taken."""
        skipped = b""
        if self._skipping:
            line = data.find(b"\n") + 1
            if not line:
                return Cut(b"", None, data)
            self._skipping = False
            skipped, data = data[:line], data[line:]
        text, began = self.rest + data, None
        if self.rest and len(text) > LONGEST and not self.parser.cut(text[: LONGEST + 1]):
            began, self.rest = text[:_SHOWN], b""
            line = text.find(b"\n", LONGEST) + 1
            if not line:
                self._skipping = True
                return Cut(b"", began, skipped + text)
            skipped, text = text[:line], text[line:]
        end = self.parser.cut(text)
        self.rest = text[end:]
        if len(self.rest) <= LONGEST:
            return Cut(text[:end], began, skipped + text[:end], before=began is not None)
        long, self.rest, self._skipping = self.rest, b"", True
        return Cut(text[:end], long[:_SHOWN], skipped + text)

    def chunks(self, cut: Cut) -> Iterator[Chunk]:
        """The rows of what was taken, in order."""
        if cut.whole and not cut.before:
            yield from batches(self.parser.parse(cut.whole))
        if cut.long is not None:
            place, nothing = self.parser.skip(), self.parser.parse(b"").frame
            reason = f"a record of more than {LONGEST >> 20} MB, which is skipped{place}"
            yield Chunk(nothing, rejected([cut.long.decode(errors="replace") + "..."], [reason]))
        if cut.whole and cut.before:
            yield from batches(self.parser.parse(cut.whole))

    def finish(self) -> Iterator[Chunk]:
        """The rows of what is left, where nothing more will come."""
        text, self.rest = self.rest, b""
        if text:
            yield from batches(self.parser.parse(text))


def head_of(path: Path) -> bytes:
    """The first records of a file."""
    with open_bytes(path) as file:
        try:
            data = skip_mark(file.read(HEAD))
        except (EOFError, OSError, zlib.error) as error:
            raise SourceError(f"{path} is damaged: {error}.") from error
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
