"""CSV: text with a delimiter, quotes and mostly a header. Records that don't fit are told apart, with their text and line.

Arrow parses a block of records as text and `conform` casts it. Where the two could disagree on what a record is (stray or
unclosed quotes, bytes that are not UTF-8), the block is taken apart record by record instead.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.csv as pc

from jupyter_stream.core.messages import Int64s
from jupyter_stream.core.schema import Field, Schema
from jupyter_stream.errors import SourceError
from jupyter_stream.sources.conform import both, conform, match_names, rejected
from jupyter_stream.sources.options import flag
from jupyter_stream.sources.protocol import Chunk
from jupyter_stream.sources.text import LONGEST, TextParser, is_utf8, type_of_text
from jupyter_stream.sources.utf8 import NOT_UTF8

_NEWLINE: Final = ord("\n")


class CsvFormat:
    """How the files are written: options `delimiter`, `header`, `quote`, `null`, and what numbers mean as times.

    Args:
        options: those.
        tick: what numbers mean as times (`casting.TICKS`).
        delimiter: unless the options say.
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
        self.delimiter = {"\\t": "\t", "tab": "\t"}.get(given, given)
        self.quote = options.get("quote", '"')
        for name, text, least in (("delimiter", self.delimiter, 1), ("quote", self.quote, 0)):
            if not least <= len(text.encode()) <= 1:
                raise SourceError(
                    f"Option {name} = '{text}' is not one ASCII character.", hint=f"Write {name} = ';'."
                ).about(name)
        self.header = flag(options, "header", default=True)
        self.nulls = ("", *(word.strip() for word in options.get("null", "").split(",") if word.strip()))
        self.tick = tick
        d, q = re.escape(self.delimiter), re.escape(self.quote)
        quoted = f"{q}((?:[^{q}]|{q}{q})*){q}([^{d}]*)|" if q else "(?!)()()|"
        self._field = re.compile(f"(?:{quoted}([^{d}]*))({d}|\\Z)")

    def parser(self, path: Path, schema: Schema, fields: Sequence[Field]) -> TextParser:
        """A parser for one file of a stream of that schema, giving these fields of it."""
        return _CsvParser(self, path, schema, fields)

    def discover(self, head: bytes, path: Path) -> Schema:
        """Columns from the header (`column_1`, ... without one), types from the first records."""
        first = self._first(head)
        if not first:
            raise SourceError(f"{path} is empty.", hint="Declare the columns of the stream.")
        names = first if self.header else [f"column_{i + 1}" for i in range(len(first))]
        text = Schema.of((name, pl.String()) for name in names)
        words = self.parser(path, text, text.fields).parse(head).frame
        return Schema.of((name, type_of_text(words.get_column(name))) for name in names)

    def check(self, head: bytes, path: Path, schema: Schema) -> None:
        """Refuse a file whose header lacks declared columns."""
        first = self._first(head)
        if first:
            positions(self, first, schema, path)

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
        data = head.lstrip(b"\r\n")
        starts, ends, _ = records(data[:LONGEST], self)
        if not len(starts):
            return []
        found = self.fields(data[starts[0] : ends[0]].decode(errors="replace"))
        return [] if isinstance(found, str) else [(name or "").strip() for name in found]


def positions(form: CsvFormat, first: Sequence[str], schema: Schema, path: Path) -> dict[str, int]:
    """At which field of a record each column of the schema stands, by the file's first record.

    Raises:
        SourceError: when a declared column isn't there.
    """
    if form.header:
        try:
            names = match_names(schema, first, str(path))
        except SourceError as error:
            told = f"{error.hint or ''} Where files have no header, write WITH (header = 'false').".strip()
            raise SourceError(error.message, hint=told) from None
        return {name: first.index(found) for name, found in names.items()}
    if len(first) != len(schema):
        raise SourceError(
            f"{path} has {len(first)} fields in its first record, for the {len(schema)} columns declared.",
            hint="Without a header, columns are taken by position.",
        )
    return {name: i for i, name in enumerate(schema.names)}


def records(data: bytes, form: CsvFormat) -> tuple[Int64s, Int64s, int]:
    """Where the records of a block are; newlines inside quotes belong to their record, blank lines to none.

    A quote that isn't closed within `LONGEST` bytes spoils its own line only.

    Returns:
        Start and end (without newline) of each record, and where a record starts that has an open quote at the end of the
        data, or else the length of the data.
    """
    text = np.frombuffer(data, dtype=np.uint8)
    ends = np.flatnonzero(text == _NEWLINE)
    if len(data) and data[-1] != _NEWLINE:
        ends = np.append(ends, len(data))
    starts = np.concatenate([np.zeros(1, dtype=np.int64), ends[:-1] + 1])[: len(ends)]
    unclosed = len(data)
    if form.quote and form.quote.encode() in data:
        joined, unclosed = _quoted_lines(data, text, starts, ends, form)
        if len(joined):
            inner = np.zeros(len(starts), dtype=np.int64)
            for first, last in joined:
                inner[first + 1 : last + 1] = 1
            begins = inner == 0
            closes = np.append(begins[1:], True)
            starts, ends = starts[begins], ends[closes]
    ends = ends - ((ends > starts) & (text[np.maximum(ends - 1, 0)] == ord("\r")))
    filled = ends > starts
    return starts[filled], ends[filled], unclosed


def _quoted_lines(
    data: bytes, text: np.ndarray[Any, np.dtype[np.uint8]], starts: Int64s, ends: Int64s, form: CsvFormat
) -> tuple[list[tuple[int, int]], int]:
    """First and last line of each record that spans lines. Only lines with an odd number of quotes are looked at."""
    quotes = np.flatnonzero(text == ord(form.quote))
    counts = np.searchsorted(quotes, ends) - np.searchsorted(quotes, starts)
    odd = np.flatnonzero(counts & 1).tolist()
    joined: list[tuple[int, int]] = []
    i = 0
    while i < len(odd):
        first = odd[i]
        i += 1
        if not _ends_open(data[starts[first] : ends[first]], form, inside=False):
            continue
        for j in range(i, len(odd)):
            last = odd[j]
            if ends[last] - starts[first] > LONGEST:
                break
            if not _ends_open(data[starts[last] : ends[last]], form, inside=True):
                joined.append((first, last))
                i = j + 1
                break
        else:
            if len(data) - starts[first] <= LONGEST:
                return joined, int(starts[first])
    return joined, len(data)


def _ends_open(line: bytes, form: CsvFormat, inside: bool) -> bool:
    """Whether a quote is open at the end of a line. A quote opens at the start of a field only."""
    quote, delimiter = form.quote.encode(), form.delimiter.encode()
    at, start = 0, not inside
    while at < len(line):
        if inside:
            at = line.find(quote, at)
            if at < 0:
                return True
            inside = line[at + 1 : at + 2] == quote
            at += 2 if inside else 1
            start = False
        elif start and line[at : at + 1] == quote:
            inside, at = True, at + 1
        else:
            at = line.find(delimiter, at)
            if at < 0:
                return False
            at, start = at + 1, True
    return inside


class _CsvParser:
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

    def cut(self, data: bytes) -> int:
        if not self._form.quote or self._form.quote.encode() not in data:
            return data.rfind(b"\n") + 1
        starts, _, unclosed = records(data, self._form)
        if unclosed < len(data) or data.endswith(b"\n"):
            return unclosed
        # The last newline may be inside the record that isn't complete yet.
        return int(starts[-1]) if len(starts) else 0

    def skip(self) -> str:
        self._line += 1
        return self._place(self._line - 1)

    def parse(self, data: bytes) -> Chunk:
        first_line = self._line
        self._line += data.count(b"\n")
        if not self._width:
            data, skipped = self._begin(data)
            first_line += skipped
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
        names = [(name or "").strip() for name in found]
        self._at = positions(self._form, names, self._schema, self._path)
        self._width = len(names)
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
                    include_columns=[str(self._at[f.name]) for f in self._fields],
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
        columns = {str(i): [row[i] for row in rows] for i in sorted({self._at[f.name] for f in self._fields})}
        table = pa.table({name: pa.array(values, pa.string()) for name, values in columns.items()})
        chunk = self._conform(table, data, first_line, (starts[kept], ends[kept]))
        return Chunk(chunk.frame, both(rejected(raw, reasons), chunk.rejected))

    def _conform(self, table: Any, data: bytes, first_line: int, spans: tuple[Int64s, Int64s] | None) -> Chunk:
        columns = [pl.Series(f.name, table.column(str(self._at[f.name]))) for f in self._fields]
        if self._form.quote and self._form.quote.encode() * 2 in data:
            # A quoted nothing is the empty STRING, and NULL for all other types: pandas writes a lone missing number so.
            columns = [
                c if isinstance(f.dtype, pl.String) else c.set(c == "", None)
                for c, f in zip(columns, self._fields, strict=True)
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

        return conform(raw, self._fields, self._form.tick, describe, place)

    def _misfits(self, data: bytes, first_line: int, spans: Sequence[tuple[int, int, int]]) -> pl.DataFrame | None:
        raw = [data[start:end].decode(errors="replace") for start, end, _ in spans]
        return rejected(raw, [self._wrong_width(n) + self._place_of(data, first_line, start) for start, _, n in spans])

    def _wrong_width(self, count: int) -> str:
        return f"{count} {'field' if count == 1 else 'fields'} where {self._width} were expected"

    def _place_of(self, data: bytes, first_line: int, start: int) -> str:
        return self._place(first_line + data.count(b"\n", 0, start))

    def _place_in_file(self, line: int) -> str:
        return f" ({self._path.name}, line {line})"
