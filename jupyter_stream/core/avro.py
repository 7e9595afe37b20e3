"""Avro's schemas, for sources and sinks: where one is written, which columns it has, how Confluent's clients frame a message.

Messages are single records in Avro's binary encoding (specification 1.11, section Binary Encoding), as brokers carry them.
Not for files of Avro, and no registry is asked: the schema is given.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import polars as pl

from jupyter_stream.core.schema import TIMESTAMP, Schema

OPTIONS: Final = {
    "avro_schema": "for format = 'avro': the schema of the records as JSON, or the path of a file with it",
    "avro_framing": "'confluent' where five bytes before each record name its schema in a registry; 'none' by default",
    "avro_id": "the number that these bytes name; a source takes any unless it says one",
}
"""What can be said of it in WITH."""
_MAGIC: Final = b"\x00"
FRAME: Final = 5
"""Bytes before a record where it is framed."""
_PLAIN: Final[Mapping[str, pl.DataType]] = {
    "null": pl.Null(), "boolean": pl.Boolean(), "int": pl.Int32(), "long": pl.Int64(), "float": pl.Float32(),
    "double": pl.Float64(), "bytes": pl.Binary(), "fixed": pl.Binary(), "string": pl.String(), "enum": pl.String(),
}  # fmt: skip

Wrong = Callable[[str, str | None], Exception]
"""Makes the error of a source, or of a sink, of a message and a hint."""


@dataclass(frozen=True, slots=True)
class AvroSchema:
    """The schema of a record.

    Attributes:
        parsed: as fastavro takes it.
        columns: its fields and their types; what SQL has no type for is text, as JSON.
        as_text: those of them.
        head: the bytes before each record; None where the number in them may be any; empty without framing.
        framed: whether there are such bytes.
    """

    parsed: Any
    columns: Schema
    as_text: frozenset[str]
    head: bytes | None
    framed: bool

    @classmethod
    def of(cls, options: Mapping[str, str], wrong: Wrong) -> AvroSchema:
        """The one that WITH names.

        Args:
            options: the WITH options.
            wrong: makes the error where there is none, it can't be read, or isn't that of a record.
        """
        try:
            import fastavro
        except ImportError:
            raise wrong(
                "format = 'avro' needs the package fastavro, which is not installed.",
                "Install it: pip install 'jupyter-stream[avro]'.",
            ) from None
        written = _written(options, wrong)
        try:
            parsed: Any = fastavro.parse_schema(written)
        except (fastavro.schema.SchemaParseException, fastavro.schema.UnknownType, KeyError, TypeError) as error:
            raise wrong(
                f"The schema of Avro can't be: {type(error).__name__} {error}.", "Look at avro_schema."
            ) from None
        if not isinstance(parsed, dict) or parsed.get("type") != "record":
            raise wrong("The schema of Avro is not that of a record.", _EXAMPLE)
        found = {field["name"]: column_type(field["type"]) for field in parsed["fields"]}
        framing = options.get("avro_framing", "none").strip().lower()
        if framing not in ("none", "confluent"):
            raise wrong(
                f"Option avro_framing can't be '{framing}'.", "Write avro_framing = 'confluent', or leave it out."
            )
        number = options.get("avro_id", "").strip()
        if number and not (framing == "confluent" and number.isdecimal() and int(number) < 2**32):
            raise wrong(f"Option avro_id can't be '{number}'.", "Write avro_framing = 'confluent', avro_id = '17'.")
        head = _MAGIC + int(number).to_bytes(4) if number else None
        framed = framing == "confluent"
        as_text = frozenset(name for name, dtype in found.items() if dtype is None)
        columns = Schema.of((name, dtype or pl.String()) for name, dtype in found.items())
        return cls(parsed, columns, as_text, head if framed else b"", framed)

    def record_in(self, message: bytes) -> bytes:
        """A message without its frame. Raises `ValueError` where it has another, or none."""
        if not self.framed:
            return message
        if message[:1] != _MAGIC or len(message) < FRAME:
            raise ValueError("it doesn't begin with the five bytes of Confluent's framing")
        if self.head is not None and message[:FRAME] != self.head:
            raise ValueError(f"its schema is number {int.from_bytes(message[1:FRAME])} of the registry")
        return message[FRAME:]


_EXAMPLE: Final = (
    'Write avro_schema = \'{"type": "record", "name": "trade", "fields": [{"name": "price", "type": "double"}]}\', '
    "or the path of a file."
)


def _written(options: Mapping[str, str], wrong: Wrong) -> Any:
    text = options.get("avro_schema", "").strip()
    if not text:
        raise wrong("format = 'avro' needs the schema of the records.", _EXAMPLE)
    if not text.startswith(("{", "[")):
        try:
            text = Path(text).expanduser().read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise wrong(f"The schema of Avro can't be read: {error}.", _EXAMPLE) from None
    try:
        return json.loads(re.sub(r"^\ufeff", "", text))
    except ValueError as error:
        raise wrong(f"The schema of Avro is no JSON: {error}.", _EXAMPLE) from None


def column_type(written: Any) -> pl.DataType | None:
    """The type of a column with a field of this type, as fastavro parsed it; None for what is shown as JSON."""
    if isinstance(written, list):
        others = [each for each in written if each != "null"]
        return column_type(others[0]) if len(others) == 1 else None
    if isinstance(written, str):
        return _PLAIN.get(written)
    kind, logical = written["type"], written.get("logicalType", "")
    if logical == "decimal":
        precision, scale = written["precision"], written.get("scale", 0)
        return pl.Decimal(precision, scale) if precision <= 38 else None
    if logical == "date":
        return pl.Date()
    if logical.startswith(("timestamp-", "local-timestamp-")):
        return TIMESTAMP
    if logical in ("time-millis", "time-micros", "uuid", "duration"):
        return None
    if kind == "array":
        inner = column_type(written["items"])
        return None if inner is None else pl.List(inner)
    if kind == "record":
        fields = {f["name"]: column_type(f["type"]) for f in written["fields"]}
        known = {name: dtype for name, dtype in fields.items() if dtype is not None}
        return pl.Struct(known) if known and len(known) == len(fields) else None
    return _PLAIN.get(kind) if isinstance(kind, str) else column_type(kind)


__all__ = ["FRAME", "OPTIONS", "AvroSchema", "column_type"]
