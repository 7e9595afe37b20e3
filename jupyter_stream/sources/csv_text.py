"""CSV: text with a delimiter, quotes and mostly a header. Records that don't fit are told apart, with their text and line.

Arrow parses a block of records as text and `conform` casts it. Where the two could disagree on what a record is (stray or
unclosed quotes, bytes that are not UTF-8), the block is taken apart record by record instead.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.csv as pc

from jupyter_stream.core.messages import Int64s
from jupyter_stream.core.schema import Field, Schema
from jupyter_stream.errors import SourceError
from jupyter_stream.sources.conform import both, completed, conform, found_names, rejected
from jupyter_stream.sources.csv_head import (
    DELIMITERS,
    LINES,
    Fit,
    HeaderNames,
    best_delimiter,
    check_header,
    is_row,
    names_of,
    positions,
    said_delimiter,
    without_said,
)
from jupyter_stream.sources.csv_records import records
from jupyter_stream.sources.csv_spelling import CsvSpelling
from jupyter_stream.sources.encoding import suggested
from jupyter_stream.sources.options import flag
from jupyter_stream.sources.protocol import Chunk, Remarks
from jupyter_stream.sources.text import LONGEST, is_utf8
from jupyter_stream.sources.utf8 import NOT_UTF8

_NEWLINE: Final = ord("\n")


class CsvFormat:
    """How the files are written: options `delimiter`, `header`, `quote`, `null`, those of numbers, and what these mean as times.

    Args:
        options: those.
        tick: what numbers mean as times (`casting.TICKS`).
        delimiter: unless the options or the first records say another.
        place: says where a line is, by its number from 1, if the text is no file's; the columns are then those declared.
    """

    def __init__(
        self,
        options: Mapping[str, str],
        tick: int | None,
        delimiter: str,
        place: Callable[[int], str] | None = None,
    ) -> None:
        self.place = place
        given = options.get("delimiter", delimiter)
        self.told = "delimiter" in options or place is not None
        self.delimiter = {"\\t": "\t", "tab": "\t"}.get(given, given)
        self.quote = options.get("quote", '"')
        for name, text, least in (("delimiter", self.delimiter, 1), ("quote", self.quote, 0)):
            if not least <= len(text.encode()) <= 1 or text.isalnum() or text in ("\r", "\n"):
                usual = "';', '|' or 'tab'" if name == "delimiter" else "'\"', or '' for none"
                raise SourceError(
                    f"Option {name} = '{text}' is not one ASCII sign that words and numbers are without.",
                    hint=f"Write {name} = {usual}.",
                ).about(name)
        if self.delimiter == self.quote:
            raise SourceError(
                f"Options delimiter and quote can't both be '{self.quote}'.", hint="Write delimiter = ';'."
            ).about("quote")
        self.header = flag(options, "header", default=True)
        self.nulls = ("", *(word.strip() for word in options.get("null", "").split(",") if word.strip()))
        self.tick = tick
        self.spelling = CsvSpelling(options)
        self._field = self._pattern()

    def _pattern(self) -> re.Pattern[str]:
        """One field of a record, with the delimiter behind it."""
        d, q = re.escape(self.delimiter), re.escape(self.quote)
        quoted = f"{q}((?:[^{q}]|{q}{q})*){q}([^{d}]*)|" if q else "(?!)()()|"
        return re.compile(f"(?:{quoted}([^{d}]*))({d}|\\Z)")

    def by(self, delimiter: str) -> CsvFormat:
        """The same with another delimiter."""
        if delimiter == self.delimiter:
            return self
        other = copy(self)
        other.delimiter = delimiter
        other._field = other._pattern()
        return other

    def settled(self, head: bytes, schema: Schema | None = None) -> CsvFormat:
        """The same with the delimiter that the first records have, where nobody has said one.

        Args:
            head: those.
            schema: the declared columns, if any are.
        """
        if self.told or not head.strip():
            return self
        said = said_delimiter(head)
        if said is not None:
            return self.by(said)
        forms = {d: self.by(d) for d in (*DELIMITERS, self.delimiter) if d != self.quote}
        return self.by(best_delimiter({d: f._fit(head, schema) for d, f in forms.items()}, self.delimiter))

    def of_file(self, data: bytes, schema: Schema) -> CsvFormat:
        """The same with the delimiter of one file, where by its first record that is another: files of a folder may differ."""
        first = data[: len(data) - len(self._after_first(data))]
        return self if self.told or self._fit(first, schema).declared else self.settled(first, schema)

    def _fit(self, head: bytes, schema: Schema | None) -> Fit:
        lines = without_said(head)[: LINES * 1_000]
        starts, ends, _ = records(lines, self)
        if len(starts) > 1 and len(lines) == LINES * 1_000:
            starts, ends = starts[:-1], ends[:-1]
        spans = zip(starts[:LINES].tolist(), ends[:LINES].tolist(), strict=True)
        found = [self.fields(lines[a:b].decode(errors="replace")) for a, b in spans]
        widths = [0 if isinstance(f, str) else len(f) for f in found] or [0]
        declared = 0
        if schema is not None:
            first = [] if not found or isinstance(found[0], str) else names_of(found[0]).all
            declared = len(found_names(schema, first)) if self.header else int(widths[0] == len(schema))
        even = [w == widths[0] for w in widths[1:]]
        return Fit(declared, sum(even) / len(even) if even else 1.0, widths[0])

    def knowing(self, found: Schema) -> CsvFormat:
        """The same, where these columns were found and not declared."""
        other = copy(self)
        other.spelling = self.spelling.knowing(frozenset(found.names))
        return other

    def parser(self, path: Path, schema: Schema, fields: Sequence[Field], remarks: Remarks | None = None) -> CsvParser:
        """A parser for one file of a stream of that schema, giving these fields of it."""
        return CsvParser(self, path, schema, fields)

    def discover(self, head: bytes, path: Path) -> Schema:
        """Columns from the header (`column_1`, ... without one), types from the first records."""
        return whole(self.looked_at(head, path)[0])

    def looked_at(self, head: bytes, path: Path) -> tuple[Schema, list[str]]:
        """The same, with sentences about what isn't as the file has it; Null is the type of a column without values.

        Raises:
            SourceError: there is nothing in it, or the header is not UTF-8.
        """
        first = self._first(head)
        if not first:
            raise SourceError(f"{path} is empty.", hint="Declare the columns of the stream.")
        check_header(first, path, head)
        names = names_of(first) if self.header else HeaderNames(tuple(f"column_{i + 1}" for i in range(len(first))))
        text = Schema.of((name, pl.String()) for name in names.all)
        read = self.parser(path, text, text.fields).parse(head)
        fields: list[tuple[str, pl.DataType]] = []
        told = names.sentences()
        for name in names.all:
            words = read.frame.get_column(name)
            dtype, said = self.spelling.type_of(words, self.delimiter)
            fields.append((name, dtype))
            told += [f"{name} {said}"] if said else []
        if self.header and is_row(first, [dtype for _, dtype in fields]):
            told.append("Its first line looks like a row: if it has no header, write WITH (header = 'false').")
        if not is_utf8(head):
            told.append(f"Some rows are not UTF-8 and will be refused: write WITH (encoding = '{suggested(head)}').")
        elif read.rejected is not None and read.rejected.height > read.frame.height:
            told.append(
                f"{read.rejected.height} of its first rows don't fit: {read.rejected.item(0, 'reason')}. "
                "If its header stands further down, take the lines above it away."
            )
        return Schema.of(fields), told

    def check(self, head: bytes, path: Path, schema: Schema) -> None:
        """Refuse a file whose header lacks declared columns."""
        first = self._first(head)
        if first:
            check_header(first, path, head)
            positions(self.header, first, schema, path)

    def header_of(self, head: bytes, path: Path) -> tuple[str, ...]:
        """How the columns of a file are called.

        Raises:
            SourceError: its header is not UTF-8.
        """
        first = self._first(head)
        check_header(first, path, head)
        return names_of(first).all

    def fields(self, record: str) -> list[str | None] | str:
        """The fields of one record, None for NULL; or what is wrong with it."""
        found: list[str | None] = []
        at = 0
        while True:
            match = self._field.match(record, at)
            assert match is not None, "the last alternative matches anything"
            inside, behind, plain, end = match.groups()
            if inside is not None:
                found.append(inside.replace(self.quote * 2, self.quote) + behind)
            elif self.quote and plain.startswith(self.quote):
                return "a quote is opened and not closed"
            else:
                found.append(None if plain in self.nulls else plain)
            at = match.end()
            if not end:
                return found

    def _first(self, head: bytes) -> list[str]:
        data = without_said(head).lstrip(b"\r\n")
        starts, ends, _ = records(data[:LONGEST], self)
        if not len(starts):
            return []
        found = self.fields(data[starts[0] : ends[0]].decode(errors="replace"))
        return [] if isinstance(found, str) else [(name or "").strip() for name in found]

    def _after_first(self, data: bytes) -> bytes:
        """What follows the line in which the first record ends."""
        said = len(data) - len(without_said(data))
        _, ends, _ = records(data[said : said + LONGEST], self)
        return data[data.find(b"\n", said + int(ends[0])) + 1 :] if len(ends) else b""


def whole(schema: Schema) -> Schema:
    """The columns, those of no type as text."""
    return Schema.of((f.name, pl.String() if isinstance(f.dtype, pl.Null) else f.dtype) for f in schema)


class CsvParser:
    """Of one file."""

    def __init__(self, form: CsvFormat, path: Path, schema: Schema, fields: Sequence[Field]) -> None:
        self._form = form
        self._path = path
        self._schema = schema
        self._fields = fields
        self._line = 1
        self._place = form.place or self._place_in_file
        self._width = 0
        self._at: dict[str, int] = {}
        if form.place is not None:
            self._width = len(schema)
            self._at = {name: i for i, name in enumerate(schema.names)}

    @property
    def missing(self) -> list[str] | None:
        """The columns of the stream that the file hasn't got; None before its header is read."""
        return [f.name for f in self._schema if f.name not in self._at] if self._width else None

    def cut(self, data: bytes) -> int:
        """How many bytes at the start are whole records."""
        if not self._width and b"\n" in data:
            self._form = self._form.of_file(data, self._schema)
        if not self._form.quote or self._form.quote.encode() not in data:
            return data.rfind(b"\n") + 1
        starts, _, unclosed = records(data, self._form)
        if unclosed < len(data) or data.endswith(b"\n"):
            return unclosed
        # The last newline may be inside the record that isn't complete yet.
        return int(starts[-1]) if len(starts) else 0

    def skip(self) -> str:
        """Leave out the next line."""
        self._line += 1
        return self._place(self._line - 1)

    def parse(self, data: bytes) -> Chunk:
        """The rows of the next whole records."""
        first_line = self._line
        self._line += data.count(b"\n")
        if not self._width:
            said = len(data) - len(without_said(data))
            self._form = self._form.of_file(data, self._schema)
            data, skipped = self._begin(data[said:])
            first_line += skipped + bool(said)
        if not data.strip(b"\r\n"):
            return Chunk(Schema(tuple(self._fields)).empty())
        parsed = self._fast(data, first_line)
        return self._slow(data, first_line) if parsed is None else parsed

    def _begin(self, data: bytes) -> tuple[bytes, int]:
        """Learn the columns from the first record; the data after the header, and how many lines that is in."""
        starts, ends, _ = records(data, self._form)
        if not len(starts):
            return b"", 0
        found = self._form.fields(data[starts[0] : ends[0]].decode(errors="replace"))
        if isinstance(found, str):
            raise SourceError(f"The first record of {self._path} can't be read: {found}.")
        self._at = positions(self._form.header, [name or "" for name in found], self._schema, self._path, all_=False)
        self._width = len(found)
        if not self._form.header:
            return data, 0
        rest = data.find(b"\n", int(ends[0])) + 1
        return (data[rest:], data.count(b"\n", 0, rest)) if rest else (b"", 0)

    def _fast(self, data: bytes, first_line: int) -> Chunk | None:
        """The block by Arrow; None when it may disagree with `records`."""
        quotes = bool(self._form.quote) and self._form.quote.encode() in data
        if data.count(b"\r") != data.count(b"\r\n") or not is_utf8(data):
            return None
        skipped: list[tuple[int, int]] = []

        def skip(row: Any) -> str:
            skipped.append((row.number - 1, row.actual_columns))
            return "skip"

        names = [str(i) for i in range(self._width)]
        try:
            table = pc.read_csv(
                pa.py_buffer(data),
                pc.ReadOptions(column_names=names, block_size=len(data) + 1, use_threads=False),
                pc.ParseOptions(
                    delimiter=self._form.delimiter,
                    quote_char=self._form.quote or False,
                    newlines_in_values=quotes,
                    invalid_row_handler=skip,
                ),
                pc.ConvertOptions(
                    include_columns=list(self._places()),
                    column_types=dict.fromkeys(names, pa.string()),
                    strings_can_be_null=True,
                    quoted_strings_can_be_null=False,
                    null_values=list(self._form.nulls),
                ),
            )
        except pa.ArrowInvalid:
            return None
        if not quotes and not skipped:
            return self._conform(table, data, first_line, None)
        starts, ends, unclosed = records(data, self._form)
        if len(starts) != table.num_rows + len(skipped) or unclosed != len(data):
            return None
        misfits = self._misfits(data, first_line, [(starts[i], ends[i], n) for i, n in skipped])
        keep = np.ones(len(starts), dtype=bool)
        keep[[i for i, _ in skipped]] = False
        chunk = self._conform(table, data, first_line, (starts[keep], ends[keep]))
        return Chunk(chunk.frame, both(misfits, chunk.rejected))

    def _slow(self, data: bytes, first_line: int) -> Chunk:
        starts, ends, _ = records(data, self._form)
        rows: list[list[str | None]] = []
        kept: list[int] = []
        raw: list[str] = []
        reasons: list[str] = []
        for i, (start, end) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
            found: list[str | None] | str
            try:
                found = self._form.fields(data[start:end].decode())
            except UnicodeDecodeError:
                found = NOT_UTF8
            if not isinstance(found, str) and len(found) != self._width:
                found = self._wrong_width(len(found))
            if isinstance(found, str):
                raw.append(data[start:end].decode(errors="replace"))
                reasons.append(found + self._place_of(data, first_line, start))
            else:
                rows.append(found)
                kept.append(i)
        columns = {place: [row[int(place)] for row in rows] for place in self._places()}
        table = pa.table({name: pa.array(values, pa.string()) for name, values in columns.items()})
        chunk = self._conform(table, data, first_line, (starts[kept], ends[kept]))
        return Chunk(chunk.frame, both(rejected(raw, reasons), chunk.rejected))

    def _places(self) -> dict[str, None]:
        """The fields of a record that are read: one where there is no column of the stream."""
        return dict.fromkeys(str(self._at[f.name]) for f in self._fields if f.name in self._at) or {"0": None}

    def _conform(self, table: Any, data: bytes, first_line: int, spans: tuple[Int64s, Int64s] | None) -> Chunk:
        there = [f for f in self._fields if f.name in self._at]
        columns = [pl.Series(f.name, table.column(str(self._at[f.name]))) for f in there]
        if not there:
            return Chunk(completed(pl.DataFrame(), self._fields, rows=table.num_rows))
        if self._form.quote and self._form.quote.encode() * 2 in data:
            # A quoted nothing is the empty STRING, and NULL for all other types: pandas writes a lone missing number so.
            columns = [
                c if isinstance(f.dtype, pl.String) else c.set(c == "", None)
                for c, f in zip(columns, there, strict=True)
            ]
        raw = pl.DataFrame(columns)
        found: list[tuple[Int64s, Int64s]] = [] if spans is None else [spans]

        def span(row: int) -> tuple[int, int]:
            if not found:
                found.append(records(data, self._form)[:2])
            return int(found[0][0][row]), int(found[0][1][row])

        def describe(rows: Sequence[int]) -> list[str]:
            return [data[slice(*span(row))].decode(errors="replace") for row in rows]

        newlines: list[int] = []

        def place(row: int) -> str:
            if not newlines:
                newlines.extend(np.flatnonzero(np.frombuffer(data, np.uint8) == _NEWLINE).tolist())
            return self._place(first_line + bisect_right(newlines, span(row)[0]))

        chunk = conform(raw, there, self._form.tick, describe, place, spelling=self._form.spelling)
        return chunk if len(there) == len(self._fields) else replace(chunk, frame=completed(chunk.frame, self._fields))

    def _misfits(self, data: bytes, first_line: int, spans: Sequence[tuple[int, int, int]]) -> pl.DataFrame | None:
        raw = [data[start:end].decode(errors="replace") for start, end, _ in spans]
        return rejected(raw, [self._wrong_width(n) + self._place_of(data, first_line, start) for start, _, n in spans])

    def _wrong_width(self, count: int) -> str:
        return f"{count} {'field' if count == 1 else 'fields'} where {self._width} were expected"

    def _place_of(self, data: bytes, first_line: int, start: int) -> str:
        return self._place(first_line + data.count(b"\n", 0, start))

    def _place_in_file(self, line: int) -> str:
        return f" ({self._path.name}, line {line})"
