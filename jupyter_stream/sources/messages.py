"""Messages of a broker as rows: each holds a record as text (JSON, CSV), and what the broker says of it may be columns too.

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

from jupyter_stream.core.schema import Field, Schema
from jupyter_stream.errors import SourceError
from jupyter_stream.sources.casting import TICKS
from jupyter_stream.sources.conform import both, check_castable, conform, match_names, rejected
from jupyter_stream.sources.csv_text import CsvFormat
from jupyter_stream.sources.json_text import JsonFormat
from jupyter_stream.sources.options import choice
from jupyter_stream.sources.protocol import Chunk
from jupyter_stream.sources.text import TextFormat

OPTIONS: Final = {
    "format": "what a message holds: a 'json' object (unless said), or a record of 'csv' or 'tsv' with the columns by position",
    "delimiter": "what stands between the fields of CSV, by default ','",
    "quote": "what quotes fields of CSV, by default '\"'; '' for none",
    "null": "words for NULL in CSV besides the empty field, such as 'NA, -'",
    "timestamp_unit": "what numbers in TIMESTAMP columns count since 1970: 's', 'ms', 'us' or 'ns'",
}
"""Options of every source whose messages are text."""


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
        kind = choice(options, "format", ("json", "csv", "tsv"), "json")
        self.is_json = kind == "json"
        self._options = {**options, "header": "false"}
        self._delimiter = "\t" if kind == "tsv" else ","
        self.quote = b"" if self.is_json else options.get("quote", '"').encode()
        self.text(lambda line: "")  # its options are looked at when the source is opened

    def text(self, place: Callable[[int], str]) -> TextFormat:
        """The format of the records, which are lines; `place` says where one is."""
        if self.is_json:
            return JsonFormat(self.tick, place)
        return CsvFormat(self._options, self.tick, self._delimiter, place)

    def parser(self, fields: Sequence[Field]) -> MessageParser:
        """A parser for one read, giving these fields."""
        return MessageParser(self, fields)


class MessageParser:
    """Turns messages into rows; sees them in order, from the first of a read.

    Args:
        form: how.
        fields: of the stream's columns, those wanted, in order.

    Attributes:
        told: the broker's columns among them, which `Messages.about` is to have.
    """

    def __init__(self, form: MessageFormat, fields: Sequence[Field]) -> None:
        self._form = form
        self._fields = fields
        self.told = [form.told[f.name] for f in fields if f.name in form.told]
        self._told = [f for f in fields if f.name in form.told]
        record = [f for f in fields if f.name not in form.told] or list(form.record.fields[:1])
        self._record = record
        self._text = form.text(self._place).parser(Path(form.where), form.record, record) if record else None
        self._line = 1  # of the lot under way, as the parser of text counts them
        self._ends: list[int] | None = None
        self._lot: Sequence[bytes] = ()
        self._numbers: Sequence[int] = ()
        self._messages = Messages((), pl.DataFrame(), str)

    def parse(self, messages: Messages) -> Chunk:
        """Their rows; messages that are no record are told apart."""
        self._messages = messages
        full = [i for i, value in enumerate(messages.values) if value and not value.isspace()]
        told = None
        if len(full) < len(messages.values):
            empty = sorted(set(range(len(messages.values))) - set(full))
            told = rejected([""] * len(empty), ["a message that holds nothing" + messages.place(i) for i in empty])
        frames = [Schema(tuple(self._fields)).empty()]
        for part in self._parts(full):
            for chunk in self._rows(part):
                frames.append(chunk.frame)
                told = both(told, chunk.rejected)
        return Chunk(pl.concat(frames), told)

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
            yield self._with_told(chunk, numbers)
        elif len(numbers) == 1:
            yield self._with_told(chunk, numbers * chunk.frame.height)
        else:
            half = len(numbers) // 2
            yield from self._rows(numbers[:half])
            yield from self._rows(numbers[half:])

    def _parsed(self, numbers: list[int]) -> Chunk:
        """The records of some messages."""
        if self._text is None:
            return Chunk(pl.DataFrame({"": numbers}))
        lot = [self._messages.values[i] or b"" for i in numbers]
        data = b"\n".join(lot) + b"\n"
        if self._form.is_json and data.count(b"\n") > len(lot):  # between tokens, since strings hold no newlines
            lot = [value.replace(b"\n", b" ") for value in lot]
            data = b"\n".join(lot) + b"\n"
        self._lot, self._numbers, self._ends = lot, numbers, None
        chunk = self._text.parse(data)
        self._line += data.count(b"\n")
        return chunk

    def _with_told(self, chunk: Chunk, numbers: list[int]) -> Chunk:
        """Rows with what the broker says of them."""
        about = self._messages.about[numbers].select(pl.col(self._form.told[f.name]).alias(f.name) for f in self._told)
        raw = pl.DataFrame([(about if f in self._told else chunk.frame).get_column(f.name) for f in self._fields])
        found = conform(raw, self._fields, self._form.tick, place=lambda row: self._messages.place(numbers[row]))
        return Chunk(found.frame, both(chunk.rejected, found.rejected))

    def _place(self, line: int) -> str:
        if self._ends is None:
            self._ends = list(accumulate(value.count(b"\n") + 1 for value in self._lot))
        return self._messages.place(self._numbers[bisect_right(self._ends, line - self._line)])


def undeclared(uri: str) -> SourceError:
    """What is raised where nobody says what messages hold."""
    return SourceError(
        f"The columns of {uri} are not known before its messages come.",
        hint=f"Declare them: CREATE STREAM name (price DOUBLE, ts TIMESTAMP) ORDER BY ts SOURCE '{uri}'.",
    )
