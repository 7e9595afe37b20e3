"""`file://path`: CSV, JSON lines and Parquet; a file, a folder or a pattern, read in name order or followed as it grows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from itertools import accumulate
from pathlib import Path
from typing import Final, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from jupyter_stream.core.schema import Field, Schema
from jupyter_stream.errors import SourceError
from jupyter_stream.sources.casting import TICKS
from jupyter_stream.sources.conform import found_names, match_names
from jupyter_stream.sources.csv_head import DELIMITERS
from jupyter_stream.sources.csv_text import CsvFormat, CsvParser
from jupyter_stream.sources.decoded import Decoded
from jupyter_stream.sources.encoding import encoding_of
from jupyter_stream.sources.file_columns import LOOKED_AT, FileColumns, lacking
from jupyter_stream.sources.file_journal import FileJournal
from jupyter_stream.sources.folders import InFolder, NamedFolder, columns_of
from jupyter_stream.sources.follow import Tail
from jupyter_stream.sources.follow_places import Key, Places
from jupyter_stream.sources.json_text import JsonFormat
from jupyter_stream.sources.options import choice, flag
from jupyter_stream.sources.packed import is_packed, open_bytes
from jupyter_stream.sources.parquet import (
    has_types,
    parquet_columns,
    parquet_found,
    parquet_names,
    pick_parquet,
    read_parquet,
)
from jupyter_stream.sources.paths import absolute, in_another_order, is_open_ended, matching, nothing_there
from jupyter_stream.sources.protocol import Chunk, Context, Request, Source, SourceConnector, wanted
from jupyter_stream.sources.text import HEAD, Damaged, TextFormat, TextParser, head_of, read_text

_BY_SUFFIX: Final = {
    ".csv": "csv", ".tsv": "tsv", ".json": "json", ".jsonl": "json", ".ndjson": "json", ".parquet": "parquet",
    ".pq": "parquet",
}  # fmt: skip
_FORMATS: Final = ("csv", "tsv", "json", "parquet")
_SPELLINGS: Final = {"jsonl": "json", "ndjson": "json", "json lines": "json"}
_FURTHER: Final = 64 << 10
"""Bytes looked at of each file after the first."""
_POLL: Final = 0.05
"""Seconds between looks at files that are followed."""


class FileSource:
    """The records of files, those that can't be read as declared told apart.

    Attributes:
        notes: sentences about what isn't as the files have it.

    Raises:
        SourceError: when it is made: nothing there, a format nobody knows, or declared columns that no file has.
    """

    units: Mapping[str, str]

    def __init__(self, context: Context) -> None:
        options = context.options
        self._text = context.path
        self._format = _format(options)
        self._follow = flag(options, "follow")
        self._encoding = encoding_of(options)
        self._tick = TICKS[choice(options, "timestamp_unit", TICKS, "us")] if "timestamp_unit" in options else None
        self._texts: dict[str, TextFormat] = {
            "csv": CsvFormat(options, self._tick, ","),
            "tsv": CsvFormat(options, self._tick, "\t"),
            "json": JsonFormat(self._tick),
        }
        self._settled: set[str] = set()
        self.replayable = not self._follow
        self.units = {}
        self.left_out: dict[str, str] = {}
        self.notes: list[str] = []
        self.schema: Schema = self._opened(context.schema)

    def retyped(self, schema: Schema) -> FileSource:
        """The same rows, where some of the columns that were found are of other types."""
        other = copy(self)
        other.schema = schema
        return other

    def read(self, request: Request) -> Iterator[Chunk]:
        """All files in name order.

        Raises:
            SourceError: when a file can't be read, or lacks declared columns.
        """
        fields = wanted(self.schema, request)
        files = self.files
        if not files:
            raise nothing_there(self._text)
        sizes = [path.stat().st_size for path in files]
        request.share.whole = sum(sizes)
        for path, before in zip(files, accumulate(sizes, initial=0), strict=False):
            request.share.done = before
            try:
                yield from self._whole(path, fields, request)
            except Damaged as damaged:
                request.remarks.say(path, damaged.message)
                yield damaged.rest()
            if request.stop.is_set():
                return

    def peek(self) -> pl.DataFrame:
        """The first rows of the first file.

        Raises:
            SourceError: when it can't be read.
        """
        for path in self.files:
            chunks = self._whole(path, self.schema.fields, Request())
            first = next(chunks, None)
            if first is not None:
                return first.frame
        return self.schema.empty()

    @property
    def in_folders(self) -> bool:
        """Whether columns stand in the names of folders."""
        return len(columns_of(self.files, self._text)) > 0

    @property
    def delimiters(self) -> dict[str, str]:
        """What separates the fields of CSV, by kind."""
        return {k: f.delimiter for k, f in self._texts.items() if isinstance(f, CsvFormat)}

    @property
    def order_advice(self) -> str | None:
        """What to do where files don't come in the order of the numbers in their names; None where they do."""
        found = in_another_order(self.files)
        if found is None:
            return None
        before, after = (
            path.relative_to(path.parent.parent) if found[0].name == found[1].name else path.name for path in found
        )
        return (
            f"Files are read in the order of their names: {before} before {after}. "
            "Write the numbers with zeros before them, as in 02, so that names and numbers go the same way."
        )

    @property
    def prunable(self) -> bool:
        """Parquet in the declared types: nothing to convert, so nothing to refuse."""
        files = self.files
        return (
            not self._follow
            and not self.in_folders
            and all(self._text_format(f) is None for f in files)
            and all(has_types(f, self.schema.fields) for f in files)
        )

    def pick(self, rows: NDArray[np.int64]) -> pl.DataFrame:
        """Rows of the Parquet files, by number."""
        return pick_parquet(self.files, self.schema.fields, rows)

    def _whole(self, path: Path, fields: Sequence[Field], request: Request, waits: bool = False) -> Iterator[Chunk]:
        form = self._text_format(path)
        folder = NamedFolder(path, self._text, self.schema.fields)
        if form is None:
            own = self._own(folder, fields)
            self._say_missing(path, self._missing(path, folder), request)
            for chunk in read_parquet(path, own, self._tick, request):
                yield folder.filled(chunk, fields)
            return
        parser = self._parser_of(form, path, folder, fields, request)
        for chunk in read_text(path, Decoded(InFolder(parser, folder, fields), self._encoding, path), request, waits):
            if isinstance(parser, CsvParser):
                self._say_missing(path, parser.missing or [], request)
            yield chunk

    def _missing(self, path: Path, folder: NamedFolder) -> list[str]:
        """The columns that a Parquet file hasn't got.

        Raises:
            SourceError: it has none at all.
        """
        own = folder.others(self.schema.fields)
        names = parquet_names(path, own, self._tick)
        if own and not names:
            match_names(own, parquet_columns(path).raw.names, str(path))
        return [f.name for f in own if f.name not in names]

    def _parser_of(
        self, form: TextFormat, path: Path, folder: NamedFolder, fields: Sequence[Field], request: Request
    ) -> TextParser:
        schema = Schema(tuple(folder.others(self.schema.fields)))
        return form.parser(path, schema, self._own(folder, fields), request.remarks)

    def _own(self, folder: NamedFolder, fields: Sequence[Field]) -> list[Field]:
        """Those of the fields that are in the file itself; one of any where none is, for there to be rows."""
        return folder.others(fields) or folder.others(self.schema.fields)[:1] or [Field("", pl.String())]

    @staticmethod
    def _say_missing(path: Path, missing: Sequence[str], request: Request) -> None:
        if missing:
            request.remarks.say(tuple(missing), lacking(path, missing))

    def _opened(self, schema: Schema | None) -> Schema:
        files = self.files
        if files:
            return self._found(files) if schema is None else self._declared(files, schema)
        if (others := matching(self._text)) and not self._follow:
            open_bytes(others[0]).close()  # refused, with what to do instead, where it can't be read as text
            written = self._text.replace("'", "''")
            raise SourceError(
                f"No file that matches {absolute(self._text)} has a known ending ({', '.join(_BY_SUFFIX)}).",
                hint=f"Name their format: CREATE STREAM name SOURCE 'file://{written}' WITH (format = 'csv').",
            )
        if not (self._follow and is_open_ended(self._text)):
            raise nothing_there(self._text)
        if schema is None:
            raise SourceError(
                f"No file matches {absolute(self._text)} yet, so its columns are not known.",
                hint="Declare the columns of the stream.",
            )
        return schema

    def _found(self, files: Sequence[Path]) -> Schema:
        """The columns that the first files have."""
        found = FileColumns()
        for path in files[:LOOKED_AT]:
            try:
                self._look_into(path, found)
            except SourceError:
                if not len(found):
                    raise
        if not len(found):
            raise SourceError(f"{files[0]} is empty.", hint="Declare the columns of the stream.")
        schema = found.schema(columns_of(files, self._text))
        self.notes += [*found.notes, *found.lacks(schema)]
        self._texts = {k: f.knowing(schema) for k, f in self._texts.items()}
        return schema

    def _look_into(self, path: Path, found: FileColumns) -> None:
        kind = self._kind(path)
        form = self._text_format(path)
        if form is None or kind is None:
            columns = parquet_columns(path)
            self.left_out |= columns.left_out
            schema, notes = parquet_found(path, columns.raw)
            found.add(path, schema, [*notes, *columns.notes])
            return
        head = head_of(path, self._encoding, _FURTHER if len(found) else HEAD)
        if not head.strip():
            return
        if isinstance(form, CsvFormat):
            self._settle(kind, head, None)
            found.add(path, *form.settled(head).looked_at(head, path))
        elif isinstance(form, JsonFormat):
            found.add(path, *form.looked_at(head, path), fixed=False)

    def _settle(self, kind: str, head: bytes, schema: Schema | None) -> None:
        """Take the delimiter that the first file of a kind has."""
        form = self._texts[kind]
        if kind in self._settled or not isinstance(form, CsvFormat) or not head.strip():
            return
        self._settled.add(kind)
        settled = self._texts[kind] = form.settled(head, schema)
        if settled.delimiter != form.delimiter:
            self.notes.append(f"Its fields are separated by {DELIMITERS.get(settled.delimiter, settled.delimiter)}.")

    def _declared(self, files: Sequence[Path], schema: Schema) -> Schema:
        """The declared columns, if the first files have them between them."""
        having, first = FileColumns(), None
        folders = columns_of(files, self._text)
        own = Schema(tuple(f for f in schema if folders.find(f.name) is None))
        for path in files[:LOOKED_AT]:
            NamedFolder(path, self._text, schema.fields)  # which its values may not fit
            try:
                head = None if self._text_format(path) is None else head_of(path, self._encoding)
            except (OSError, SourceError):
                if first is not None or self._follow:
                    continue  # it is read when it can be
                raise
            try:
                there = self._there(path, head, own)
            except SourceError:
                if first is not None:
                    continue
                raise
            if there is not None:
                first = first or (path, head)
                having.add(path, Schema.of((name, pl.Null()) for name in there))
        lost = [f for f in own if f.name not in having.schema(Schema(())).names]
        if first is not None and lost:
            self._refuse(*first, Schema(tuple(lost)))
        self.notes += having.lacks(own)
        return schema

    def _there(self, path: Path, head: bytes | None, own: Schema) -> list[str] | None:
        """Which of the columns a file has; None where its beginning doesn't tell.

        Raises:
            SourceError: it can't be read as declared.
        """
        kind, form = self._kind(path), self._text_format(path)
        if form is None or head is None or kind is None:
            return list(parquet_names(path, own.fields, self._tick))
        if not head.strip():
            return None
        self._settle(kind, head, own)
        if isinstance(form, CsvFormat) and form.header:
            form = form.settled(head, own)
            return list(found_names(own, form.header_of(head, path)))
        self._texts[kind].check(head, path, own)
        return None

    def _refuse(self, path: Path, head: bytes | None, lost: Schema) -> None:
        """Raise `SourceError` for the first of the columns that no file has, by what this one has."""
        if head is None:
            match_names(lost, parquet_columns(path).raw.names, str(path))
        else:
            self._texts[self._kind(path) or "csv"].check(head, path, lost)

    @property
    def files(self) -> list[Path]:
        """What it reads, in name order."""
        return [path for path in matching(self._text) if self._kind(path) is not None]

    def _text_format(self, path: Path) -> TextFormat | None:
        """None for Parquet."""
        return self._texts.get(self._kind(path) or "")

    def _kind(self, path: Path) -> str | None:
        if self._format is not None:
            return self._format
        name = path.name.lower().removesuffix(".gz")
        return _BY_SUFFIX.get(Path(name).suffix)


class FollowedFiles(FileSource):
    """Files that are read on as they grow."""

    catches_up = True

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._begun: dict[Path, CsvParser] = {}  # files whose header isn't known to be read

    def read(self, request: Request) -> Iterator[Chunk]:
        """All files in name order, then what is added to them, until told to stop.

        Raises:
            SourceError: when a file lacks declared columns.
        """
        yield from self._tail(request, None)

    def read_again(self, request: Request, journal: Path) -> Iterator[Chunk]:
        """The same after what the journal says was read before, byte by byte as it was.

        Raises:
            SourceError: when that is no longer there, or a file lacks declared columns.
        """
        yield from self._tail(request, FileJournal(journal))

    def read_on(self, request: Request, place: object) -> Iterator[Chunk]:
        """The same from the byte on that a former read had reached in each file.

        Raises:
            SourceError: when a file lacks declared columns.
        """
        yield from self._tail(request, None, Places(cast("Mapping[Key, bytes]", place or {})))

    def _tail(self, request: Request, journal: FileJournal | None, places: Places | None = None) -> Iterator[Chunk]:
        fields = wanted(self.schema, request)
        tail = Tail(
            self._text,
            parser=lambda path: self._parser(path, fields, request),
            whole=lambda path, waits: self._whole(path, fields, request, waits),
            is_wanted=lambda path: self._kind(path) is not None,
            nothing=Schema(tuple(fields)).empty(),
            journal=journal,
            places=places,
        )
        try:
            for chunk in tail.again():
                yield chunk
                if request.stop.is_set():
                    return
            while not request.stop.is_set():
                quiet = True
                for chunk in tail.look():
                    quiet = False
                    self._say(request)
                    yield chunk
                    if request.stop.is_set():
                        return
                if quiet:
                    request.caught_up.set()
                    request.stop.wait(_POLL)
        finally:
            tail.close()

    def _say(self, request: Request) -> None:
        """Which of the files that have been begun lack columns."""
        for path, parser in list(self._begun.items()):
            if parser.missing is not None:
                self._say_missing(path, parser.missing, request)
                del self._begun[path]

    def _parser(self, path: Path, fields: Sequence[Field], request: Request) -> TextParser | None:
        form = self._text_format(path)
        if form is None or is_packed(path):
            return None
        folder = NamedFolder(path, self._text, self.schema.fields)
        parser = self._parser_of(form, path, folder, fields, request)
        if isinstance(parser, CsvParser):
            self._begun[path] = parser
        return Decoded(InFolder(parser, folder, fields), self._encoding, path)


def _format(options: Mapping[str, str]) -> str | None:
    if "format" not in options:
        return None
    told = options["format"].strip().lower()
    return choice({"format": _SPELLINGS.get(told, told)}, "format", _FORMATS, "csv")


def _open(context: Context) -> Source:
    return FollowedFiles(context) if flag(context.options, "follow") else FileSource(context)


FILE = SourceConnector(
    scheme="file",
    example="file://bids.jsonl",
    options={
        "format": "'csv', 'tsv', 'json' (JSON lines) or 'parquet'; by default the file name's ending tells",
        "follow": "'true' to wait for new lines and files",
        "header": "'false' if CSV files have no line of names; their fields are then in the order of the columns",
        "delimiter": "what separates the fields of CSV; by default the one of ',', ';', '|' and tab that fits",
        "quote": "what quotes fields of CSV, by default '\"'; '' for none",
        "null": "words for NULL in CSV besides the empty field, such as 'NA, -'",
        "decimal": "what stands before the decimals of numbers in CSV: '.', the default, or ','",
        "thousands": "what sets thousands apart in numbers in CSV: '.', ',', ' ' or '_'; by default nothing",
        "encoding": "the encoding of CSV and JSON without a byte-order mark: 'cp1252', 'latin-1', 'utf-16-le'; by default UTF-8",
        "timestamp_unit": "what numbers in TIMESTAMP columns count since 1970: 's', 'ms', 'us' or 'ns'",
    },
    open=_open,
    to_end={"follow": "false"},
)
