"""`file://path`: CSV, JSON lines and Parquet; a file, a folder or a pattern, read in name order or followed as it grows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Final, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from jupyter_stream.core.schema import Field, Schema
from jupyter_stream.errors import SourceError
from jupyter_stream.sources.casting import TICKS
from jupyter_stream.sources.csv_text import CsvFormat
from jupyter_stream.sources.file_journal import FileJournal
from jupyter_stream.sources.follow import Tail
from jupyter_stream.sources.follow_places import Key, Places
from jupyter_stream.sources.json_text import JsonFormat
from jupyter_stream.sources.options import choice, flag
from jupyter_stream.sources.parquet import has_types, parquet_names, parquet_schema, pick_parquet, read_parquet
from jupyter_stream.sources.paths import absolute, is_open_ended, matching, nothing_there
from jupyter_stream.sources.protocol import Chunk, Context, Request, Source, SourceConnector, wanted
from jupyter_stream.sources.tabular import declared
from jupyter_stream.sources.text import TextFormat, TextParser, head_of, read_text

_BY_SUFFIX: Final = {
    ".csv": "csv", ".tsv": "tsv", ".json": "json", ".jsonl": "json", ".ndjson": "json", ".parquet": "parquet",
    ".pq": "parquet",
}  # fmt: skip
_FORMATS: Final = ("csv", "tsv", "json", "parquet")
_SPELLINGS: Final = {"jsonl": "json", "ndjson": "json", "json lines": "json"}
_POLL: Final = 0.05
"""Seconds between looks at files that are followed."""


class FileSource:
    """The records of files, those that can't be read as declared told apart.

    Raises:
        SourceError: when it is made: nothing there, a format nobody knows, or declared columns that the first file lacks.
    """

    units: Mapping[str, str]

    def __init__(self, context: Context) -> None:
        options = context.options
        self._text = context.path
        self._format = _format(options)
        self._follow = flag(options, "follow")
        self._tick = TICKS[choice(options, "timestamp_unit", TICKS, "us")] if "timestamp_unit" in options else None
        self._texts: dict[str, TextFormat] = {
            "csv": CsvFormat(options, self._tick, ","),
            "tsv": CsvFormat(options, self._tick, "\t"),
            "json": JsonFormat(self._tick),
        }
        self.replayable = not self._follow
        self.units = {}
        self.schema: Schema = self._opened(context.schema)

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
            yield from self._whole(path, fields, request)
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
    def prunable(self) -> bool:
        """Parquet in the declared types: nothing to convert, so nothing to refuse."""
        files = self.files
        return (
            not self._follow
            and all(self._text_format(f) is None for f in files)
            and all(has_types(f, self.schema.fields) for f in files)
        )

    def pick(self, rows: NDArray[np.int64]) -> pl.DataFrame:
        """Rows of the Parquet files, by number."""
        return pick_parquet(self.files, self.schema.fields, rows)

    def _whole(self, path: Path, fields: Sequence[Field], request: Request) -> Iterator[Chunk]:
        form = self._text_format(path)
        if form is None:
            yield from read_parquet(path, fields, self._tick, request)
        else:
            yield from read_text(path, form.parser(path, self.schema, fields), request)

    def _opened(self, schema: Schema | None) -> Schema:
        files = self.files
        if files:
            return self._first_file(files[0], schema)
        if matching(self._text) and not self._follow:
            raise SourceError(
                f"No file that matches {absolute(self._text)} has a known ending ({', '.join(_BY_SUFFIX)}).",
                hint="Name their format: WITH (format = 'csv').",
            )
        if not (self._follow and is_open_ended(self._text)):
            raise nothing_there(self._text)
        if schema is None:
            raise SourceError(
                f"No file matches {absolute(self._text)} yet, so its columns are not known.",
                hint="Declare the columns of the stream.",
            )
        return schema

    def _first_file(self, path: Path, schema: Schema | None) -> Schema:
        form = self._text_format(path)
        if form is None:
            if schema is None:
                return declared(parquet_schema(path))
            parquet_names(path, schema.fields, self._tick)
            return schema
        try:
            head = head_of(path)
        except (OSError, SourceError):
            if schema is None or not self._follow:
                raise
            return schema  # it is read when it can be
        if schema is None:
            return form.discover(head, path)
        form.check(head, path, schema)
        return schema

    @property
    def files(self) -> list[Path]:
        """What it reads, in name order."""
        return [path for path in matching(self._text) if self._is_ours(path)]

    def _is_ours(self, path: Path) -> bool:
        return self._kind(path) is not None

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
            parser=lambda path: self._parser(path, fields),
            whole=lambda path: self._whole(path, fields, request),
            is_wanted=self._is_ours,
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
                    yield chunk
                    if request.stop.is_set():
                        return
                if quiet:
                    request.caught_up.set()
                    request.stop.wait(_POLL)
        finally:
            tail.close()

    def _parser(self, path: Path, fields: Sequence[Field]) -> TextParser | None:
        form = self._text_format(path)
        return None if form is None or path.suffix == ".gz" else form.parser(path, self.schema, fields)


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
        "delimiter": "what separates the fields of CSV, by default ','",
        "quote": "what quotes fields of CSV, by default '\"'; '' for none",
        "null": "words for NULL in CSV besides the empty field, such as 'NA, -'",
        "timestamp_unit": "what numbers in TIMESTAMP columns count since 1970: 's', 'ms', 'us' or 'ns'",
    },
    open=_open,
    to_end={"follow": "false"},
)
