"""Messages of a broker as rows: each holds a record (JSON, CSV, Avro), and what the broker says of it may be columns too.

Messages are parsed many at once, as the lines of a file are; only where one of them is no record, halves of the lot are.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Final

import polars as pl

from jupyter_stream.core import avro
from jupyter_stream.core.messages import FAULT
from jupyter_stream.core.schema import Field, Schema
from jupyter_stream.errors import SourceError
from jupyter_stream.sources.avro import AvroRecords, in_digits
from jupyter_stream.sources.casting import TICKS, stream_type
from jupyter_stream.sources.conform import both, check_castable, completed, conform, match_names, rejected
from jupyter_stream.sources.csv_text import CsvFormat
from jupyter_stream.sources.json_text import JsonFormat
from jupyter_stream.sources.options import choice
from jupyter_stream.sources.protocol import Chunk, Remarks
from jupyter_stream.sources.text import TextFormat

OPTIONS: Final = {
    "format": "a message is a 'json' object (the default), a record of 'csv' or 'tsv', its fields in the columns' order, "
    "a record of 'avro', or 'text' as it is for one column",
    "delimiter": "what separates the fields of CSV, by default ','",
    "quote": "what quotes fields of CSV, by default '\"'; '' for none",
    "null": "words for NULL in CSV besides the empty field, such as 'NA, -'",
    "timestamp_unit": "what numbers in TIMESTAMP columns count since 1970: 's', 'ms', 'us' or 'ns'",
    **avro.OPTIONS,
}
"""Options of every source of messages."""


@dataclass(frozen=True, slots=True)
class Messages:
    """Some messages, in order of arrival.

    Attributes:
        values: what each holds; None for nothing.
        about: a row for each, of what the broker says of it.
        place: where one is, by its number from 0, such as ` (bids, partition 0, offset 17)`.
    """

    values: Sequence[bytes | None]
    about: pl.DataFrame
    place: Callable[[int], str]


class MessageFormat:
    """How messages become rows.

    Args:
        options: the WITH options, `OPTIONS` among them.
        schema: the stream's columns.
        told: those of them that the broker tells, and which of its columns each is.
        broker: the broker's columns.
        where: the source, for errors.

    Raises:
        SourceError: an option that can't be, or a column told by the broker that isn't declared, or in another type.
    """

    def __init__(
        self, options: Mapping[str, str], schema: Schema, told: Mapping[str, str], broker: Schema, where: str
    ) -> None:
        unit = choice(options, "timestamp_unit", TICKS, "us")
        self.tick = TICKS[unit] if "timestamp_unit" in options else None
        declared = match_names([Field(name, pl.Null()) for name in told], schema.names, f"The stream of {where}")
        self.told = {declared[name]: column for name, column in told.items()}
        of_broker = [f for f in schema if f.name in self.told]
        check_castable(of_broker, broker, self.told, self.tick, f"the messages of {where}")
        self.schema = schema
        self.record = Schema(tuple(f for f in schema if f.name not in self.told))
        self.where = where
        kind = choice(options, "format", ("json", "csv", "tsv", "text", "avro"), "json")
        self.avro = AvroRecords(options) if kind == "avro" else None
        self.fields = {f.name: f.name for f in self.record}
        """Which field of Avro each column is."""
        if self.avro is not None:
            there = self.avro.schema.columns
            self.fields = match_names(self.record, there.names, f"The schema of {where}")
            check_castable(self.record, there, self.fields, self.tick, where)
        self.is_json, self.is_text = kind == "json", kind == "text"
        if self.is_text and [f.dtype for f in self.record] != [pl.String()]:
            raise SourceError(
                f"The messages of {where} are text, for one column of type STRING besides what the broker tells.",
                hint="Declare it: CREATE STREAM name (line STRING), or write format = 'json'.",
            )
        self.is_found = False
        """Whether its columns were found in the first messages."""
        self._options = {**options, "header": "false"}
        self._delimiter = "\t" if kind == "tsv" else ","
        self.quote = b"" if self.is_json or self.avro is not None else options.get("quote", '"').encode()
        self.text(lambda line: "")  # its options are looked at when the source is opened

    def text(self, place: Callable[[int], str]) -> TextFormat:
        """The format of the records, which are lines; `place` says where one is."""
        if self.is_json:
            return JsonFormat(self.tick, place)
        return CsvFormat(self._options, self.tick, self._delimiter, place)

    def discover(self, values: Sequence[bytes]) -> Schema:
        """Columns and types as these messages have them; fields of CSV are called `column_1`, ....

        Raises:
            SourceError: they are no records.
        """
        lines = [value.replace(b"\n", b" ") if self.is_json else value for value in values]
        return self.text(lambda line: "").discover(b"\n".join(lines) + b"\n", Path(self.where))

    def first_rows(self, values: Sequence[bytes]) -> pl.DataFrame:
        """The rows of the messages that told the columns; what the broker would say of them is NULL."""
        chunk = MessageParser(self, self.record.fields).parse(Messages(values, pl.DataFrame(), lambda i: ""))
        return completed(chunk.frame, self.schema.fields)

    def parser(self, fields: Sequence[Field], remarks: Remarks | None = None) -> MessageParser:
        """A parser for one read, giving these fields; what it finds is for `remarks`."""
        return MessageParser(self, fields, remarks)


class MessageParser:
    """Turns messages into rows; sees them in order, from the first of a read.

    Args:
        form: how.
        fields: of the stream's columns, those wanted, in order.
        remarks: what is found goes there.

    Attributes:
        told: the broker's columns among them, which `Messages.about` is to have.
    """

    def __init__(self, form: MessageFormat, fields: Sequence[Field], remarks: Remarks | None = None) -> None:
        self._form = form
        self._fields = fields
        self.told = [form.told[f.name] for f in fields if f.name in form.told]
        self._told = [f for f in fields if f.name in form.told]
        record = [f for f in fields if f.name not in form.told] or list(form.record.fields[:1])
        self._record = record
        lines = bool(record) and form.avro is None
        text = form.text(self._place)
        text = text.knowing(form.schema) if form.is_found and form.is_json else text
        self._text = text.parser(Path(form.where), form.record, record, remarks) if lines else None
        self._line = 1  # of the lot under way, as the parser of text counts them
        self._ends: list[int] | None = None
        self._lot: Sequence[bytes] = ()
        self._numbers: Sequence[int] = ()
        self._messages = Messages((), pl.DataFrame(), str)

    def parse(self, messages: Messages) -> Chunk:
        """Their rows; messages that are no record are told apart."""
        self._messages = messages
        binary = self._form.avro is not None  # what is blank in a text may be a record
        full = [i for i, value in enumerate(messages.values) if value and (binary or not value.isspace())]
        told = None
        if len(full) < len(messages.values):
            empty = sorted(set(range(len(messages.values))) - set(full))
            told = rejected([""] * len(empty), ["a message that holds nothing" + messages.place(i) for i in empty])
        frames = [Schema(tuple(self._fields)).empty()]
        for part in self._parts(full):
            for chunk in self._rows(part):
                frames.append(chunk.frame)
                told = both(told, chunk.rejected)
        return Chunk(pl.concat(frames, how="diagonal"), told)

    def _parts(self, numbers: list[int]) -> Iterator[list[int]]:
        """Messages that may be parsed together: where a quote isn't closed, it is not to reach into the next one."""
        quote, values = self._form.quote, self._messages.values
        odd = [at for at, i in enumerate(numbers) if (values[i] or b"").count(quote) & 1] if quote else []
        cuts = [0, *(c for at in odd for c in (at, at + 1)), len(numbers)]
        yield from (numbers[a:b] for a, b in pairwise(cuts) if a < b)

    def _rows(self, numbers: list[int]) -> Iterator[Chunk]:
        chunk = self._parsed(numbers)
        if not self._told:
            yield chunk
            return
        if chunk.frame.height == len(numbers) and chunk.rejected is None:
            yield self._with_metadata(chunk, numbers)
        elif len(numbers) == 1:
            yield self._with_metadata(chunk, numbers * chunk.frame.height)
        else:
            half = len(numbers) // 2
            yield from self._rows(numbers[:half])
            yield from self._rows(numbers[half:])

    def _parsed(self, numbers: list[int]) -> Chunk:
        """The records of some messages."""
        if self._form.avro is not None and self._record:
            return self._of_avro(self._form.avro, numbers)
        if self._text is None:
            return Chunk(pl.DataFrame({"": numbers}))
        if self._form.is_text:
            raw = pl.DataFrame(
                {self._record[0].name: [self._messages.values[i] for i in numbers]},
                schema=[(self._record[0].name, pl.Binary())],
            )
            return conform(raw, self._record, place=lambda row: self._messages.place(numbers[row]))
        lot = [self._messages.values[i] or b"" for i in numbers]
        data = b"\n".join(lot) + b"\n"
        if self._form.is_json and data.count(b"\n") > len(lot):  # between tokens, since strings hold no newlines
            lot = [value.replace(b"\n", b" ") for value in lot]
            data = b"\n".join(lot) + b"\n"
        self._lot, self._numbers, self._ends = lot, numbers, None
        chunk = self._text.parse(data)
        self._line += data.count(b"\n")
        return chunk

    def _of_avro(self, records: AvroRecords, numbers: list[int]) -> Chunk:
        """The records of some messages, which are Avro's."""
        form, messages = self._form, self._messages
        values = [messages.values[i] or b"" for i in numbers]
        frame, good, wrong = records.read(values, [form.fields[f.name] for f in self._record])
        found = pl.DataFrame([frame.get_column(form.fields[f.name]).alias(f.name) for f in self._record])
        chunk = conform(found, self._record, form.tick, place=lambda row: messages.place(numbers[good[row]]))
        bad = sorted(wrong)
        reasons = rejected([in_digits(values[i]) for i in bad], [wrong[i] + messages.place(numbers[i]) for i in bad])
        return Chunk(chunk.frame, both(chunk.rejected, reasons))

    def _with_metadata(self, chunk: Chunk, numbers: list[int]) -> Chunk:
        """Rows with what the broker says of them."""
        about = self._messages.about[numbers].select(pl.col(self._form.told[f.name]).alias(f.name) for f in self._told)
        raw = pl.DataFrame([(about if f in self._told else chunk.frame).get_column(f.name) for f in self._fields])
        found = conform(raw, self._fields, self._form.tick, place=lambda row: self._messages.place(numbers[row]))
        frame = found.frame
        if FAULT in chunk.frame.columns and frame.height == chunk.frame.height:
            frame = frame.hstack([chunk.frame.get_column(FAULT)])
        return Chunk(frame, both(chunk.rejected, found.rejected))

    def _place(self, line: int) -> str:
        if self._ends is None:
            self._ends = list(accumulate(value.count(b"\n") + 1 for value in self._lot))
        return self._messages.place(self._numbers[bisect_right(self._ends, line - self._line)])


def schema_of_options(options: Mapping[str, str]) -> Schema | None:
    """Columns that the options tell without a message: those of a schema of Avro, or of texts; None where messages tell them."""
    kind = options.get("format", "json").strip().lower()
    if kind == "text":
        return Schema.of([("value", pl.String())])
    if kind != "avro":
        return None
    return Schema.of((f.name, stream_type(f.dtype)) for f in AvroRecords(options).schema.columns)


def refuse_avro(options: Mapping[str, str], carried: str) -> None:
    """Raise `SourceError` where a server that carries text is to carry records of Avro, which are bytes."""
    if options.get("format", "").strip().lower() == "avro":
        raise SourceError(
            f"This server sends {carried}, and records of Avro are bytes.",
            hint="Write format = 'json', 'csv' or 'text'; Avro comes by kafka://, nats://, mqtt://, redis:// or ws://.",
        )


def undeclared(uri: str) -> SourceError:
    """What is raised where nobody says what messages hold."""
    return SourceError(
        f"The columns of {uri} are not known before its messages come.",
        hint=f"Declare them: CREATE STREAM name (price DOUBLE, ts TIMESTAMP) ORDER BY ts SOURCE '{uri}'.",
    )
