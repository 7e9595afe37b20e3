"""What CSV and JSON lines share: text taken in blocks of whole records, and the place of a record in its file.

A parser sees a file once, from its start; whether the blocks come from a finished file or a growing one is not its business.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Protocol

import polars as pl

from jupyter_stream.core.instants import parse_instants
from jupyter_stream.core.schema import Field, Schema
from jupyter_stream.errors import SourceError
from jupyter_stream.sources.conform import both, rejected
from jupyter_stream.sources.encoding import head_as_utf8
from jupyter_stream.sources.packed import open_bytes
from jupyter_stream.sources.protocol import BATCH_ROWS, Chunk, Remarks, Request

BLOCK: Final = 4 << 20
"""Bytes read at once: about `BATCH_ROWS` records of 64 bytes."""
LONGEST: Final = 16 << 20
"""Bytes of one record, beyond which it is taken for damaged."""
_SHOWN: Final = 1_000
"""Bytes of a record that is too long which `errors(name)` gets."""
HEAD: Final = 1 << 20
"""Bytes looked at to find out columns and types that nobody declared."""


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

    def parser(self, path: Path, schema: Schema, fields: Sequence[Field], remarks: Remarks | None = None) -> TextParser:
        """A parser for one file of a stream of that schema, giving these fields of it; what it finds is for `remarks`."""

    def knowing(self, found: Schema) -> TextFormat:
        """The same, where these columns were found and not declared."""

    def discover(self, head: bytes, path: Path) -> Schema:
        """Columns and types as the first records tell them."""

    def check(self, head: bytes, path: Path, schema: Schema) -> None:
        """Refuse a file that lacks declared columns, where its beginning tells.

        Raises:
            SourceError: naming the column and the nearest one the file has.
        """


class Damaged(SourceError):
    """A file that can be read up to a place and not beyond.

    Attributes:
        chunk: for after its last whole record: what is there of the next, refused.
    """

    def __init__(self, path: Path, damage: str, chunk: Chunk) -> None:
        super().__init__(f"{path} is damaged: {damage}. What was before is read.")
        self.path = path
        self.chunk = chunk

    def rest(self) -> Chunk:
        """The last of the file, with what became of it as a record of `errors(name)`."""
        return replace(self.chunk, rejected=both(self.chunk.rejected, rejected([str(self.path)], [self.message])))


def read_text(path: Path, parser: TextParser, request: Request, waits: bool = False) -> Iterator[Chunk]:
    """All rows of a file that is complete.

    Args:
        path: the file.
        parser: of its text.
        request: looked at for `stop` between blocks.
        waits: whether it may still be being written: then nothing of one that ends in its first block, and shouldn't.

    Raises:
        SourceError: it can't be read.
        Damaged: it can't be read any further, after the rows before.
    """
    with closing(open_bytes(path)) as file:
        blocks = Blocks(parser)
        before, begun = request.share.done, False
        while not request.stop.is_set():
            try:
                more = file.read(BLOCK)
            except OSError as error:
                raise SourceError(f"{path} can't be read: {error.strerror or error}.") from error
            if waits and file.damage is not None and not begun:
                raise Damaged(path, file.damage, Chunk(parser.parse(b"").frame))
            if not more:
                if file.damage is not None:
                    raise Damaged(path, file.damage, blocks.broken_off())
                yield from blocks.finish()
                return
            request.share.done = before + file.taken()
            yield from blocks.chunks(blocks.cut(more))
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
            line = self._line(data)
            if not line:
                return Cut(b"", None, data)
            self._skipping = False
            skipped, data = data[:line], data[line:]
        text, began = self.rest + data, None
        if self.rest and len(text) > LONGEST and not self.parser.cut(text[: LONGEST + 1]):
            began, self.rest = text[:_SHOWN], b""
            line = self._line(text, LONGEST)
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

    def _line(self, data: bytes, start: int = 0) -> int:
        """Where the first line behind a place begins; 0 if none does."""
        newline = getattr(self.parser, "newline", b"\n")
        at = data.find(newline, start)
        return at + len(newline) if at >= 0 else 0

    def broken_off(self) -> Chunk:
        """What is left, where more was to come and can't be read: no row, since its last value may be a part of one."""
        text, self.rest = self.rest, b""
        place, nothing = self.parser.skip(), self.parser.parse(b"").frame
        shown = text[:_SHOWN].decode(errors="replace") + ("..." if len(text) > _SHOWN else "")
        return Chunk(nothing, rejected([shown] if text else [], [f"the rest of the record is missing{place}"]))

    def finish(self) -> Iterator[Chunk]:
        """The rows of what is left, where nothing more will come."""
        text, self.rest = self.rest, b""
        if text:
            yield from batches(self.parser.parse(text))


def head_of(path: Path, encoding: str | None = None, most: int = HEAD) -> bytes:
    """The first records of a file, in UTF-8.

    Args:
        path: the file.
        encoding: what it is in, unless a byte-order mark says something else; None for UTF-8.
        most: bytes looked at.

    Raises:
        SourceError: it can't be read, or is no text.
    """
    with closing(open_bytes(path)) as file:
        try:
            raw = file.read(most)
        except OSError as error:
            raise SourceError(f"{path} can't be read: {error.strerror or error}.") from error
        if file.damage is not None and not raw:
            raise SourceError(f"{path} is damaged: {file.damage}.")
        cut = len(raw) == most or file.damage is not None
    data = head_as_utf8(raw, encoding, path)
    if b"\r" in data[:-1] and b"\n" not in data:
        raise SourceError(
            f"The lines of {path} end in carriage returns alone, as on old Macs.",
            hint="Save it with the line ends of Unix or Windows.",
        )
    whole = data.rfind(b"\n") + 1
    return data[:whole] if cut and whole else data


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

    Numbers with leading zeros, such as postcodes, stay STRING, and so does a column with whole numbers beyond BIGINT.
    """
    words = text.drop_nulls().str.strip_chars()
    if not len(words):
        return pl.String()
    if not words.str.contains(r"^[+-]?0\d").any():
        for number in (pl.Int64(), pl.Float64()):
            if words.cast(number, strict=False).null_count() == 0:
                return pl.String() if number.is_float() and beyond_bigint(words).any() else number
    if words.str.to_lowercase().is_in(["true", "false"]).all():
        return pl.Boolean()
    times = parse_instants(words)
    if times.null_count():
        return pl.String()
    return pl.Date() if (words.str.len_bytes() == 10).all() else pl.Datetime("us")


def beyond_bigint(text: pl.Series) -> pl.Series:
    """Which words are whole numbers that no BIGINT holds: as DOUBLE they would lose digits, and be equal to others."""
    words = text.str.strip_chars()
    return words.str.contains(r"^[+-]?\d{19,}$") & words.cast(pl.Int64, strict=False).is_null()
