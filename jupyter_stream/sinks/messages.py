"""Rows as messages: JSON, or records of Avro, which fastavro encodes one by one."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any, Final

import polars as pl

from jupyter_stream.core import avro
from jupyter_stream.core.avro import AvroSchema
from jupyter_stream.core.far import as_json
from jupyter_stream.errors import SinkError
from jupyter_stream.sinks.options import choice, did_you_mean
from jupyter_stream.sinks.protocol import ROW_ID, Target

OPTIONS: Final = {
    "format": "a message is a 'json' object (the default), or a record of 'avro'",
    **avro.OPTIONS,
}
"""What can be said in WITH of messages."""


class MessageWriter:
    """Makes messages of rows.

    Args:
        target: what is opened.

    Raises:
        SinkError: no such format; no schema of Avro, or one that has other fields than the answer has columns.
    """

    def __init__(self, target: Target) -> None:
        self._schema: AvroSchema | None = None
        self._spelled: dict[str, str] = {}
        if choice(target.options, "format", ("json", "avro"), "json") == "json":
            given = next((name for name in avro.OPTIONS if name in target.options), None)
            if given is not None:
                raise SinkError(f"Option {given} is for format = 'avro'.", hint="Write format = 'avro'.").about(given)
            return
        self._schema = AvroSchema.of(target.options, _wrong)
        if self._schema.framed and self._schema.head is None:
            raise _wrong("avro_framing = 'confluent' needs the number of the schema.", "Write avro_id = '17'.")
        names = [name for name in target.schema.names if name != ROW_ID]
        lower = {name.lower(): name for name in names}
        for field in self._schema.parsed["fields"]:
            name = field["name"] if field["name"] in names else lower.get(field["name"].lower())
            if name is not None:
                self._spelled[name] = field["name"]
            elif "default" not in field:
                hint = did_you_mean(field["name"], names, f"It has {', '.join(names)}.")
                raise SinkError(f"the answer has no column '{field['name']}', a field of the schema.", hint=hint).about(
                    "avro_schema"
                )

    def messages(self, rows: pl.DataFrame) -> tuple[list[bytes], dict[int, str]]:
        """A message for each row, and by their numbers what is wrong with rows that the schema has no place for.

        Args:
            rows: the answer's columns; a `row_id` among them is none of the message.
        """
        rows = rows.drop(ROW_ID, strict=False)
        if self._schema is None:
            return [text.encode() for text in as_json(rows).to_list()], {}
        from fastavro import schemaless_writer

        schema, head = self._schema, self._schema.head or b""
        named = rows.select(*self._spelled).rename(self._spelled)
        named = named.cast(
            {name: _in_utc(dtype) for name, dtype in named.schema.items()}
        )  # the library takes others as local times
        named, reasons = _in_range(named, schema)
        made: list[bytes] = []
        for i, row in enumerate(named.iter_rows(named=True)):
            stream = io.BytesIO()
            stream.write(head)
            if i in reasons:
                made.append(b"")
                continue
            try:
                schemaless_writer(stream, schema.parsed, row)
            except Exception as error:  # whatever value the library has no bytes for
                reasons[i] = f"the schema of Avro doesn't take it: {str(error) or type(error).__name__}"[:200]
            made.append(stream.getvalue())
        return made, reasons


def _in_range(rows: pl.DataFrame, schema: AvroSchema) -> tuple[pl.DataFrame, dict[int, str]]:
    """Numbers in the types of their fields, and the rows that have one beyond its type: the library would cut it off."""
    reasons: dict[int, str] = {}
    types = {f.name: f.dtype for f in schema.columns}
    for column in rows.get_columns():
        dtype = types[column.name]
        if not (dtype.is_numeric() and column.dtype.is_numeric()) or dtype == column.dtype:
            continue
        cast = column.cast(dtype, strict=False)
        beyond = (cast.is_null() & column.is_not_null()).arg_true().to_list()
        reasons |= {i: f"the schema of Avro doesn't take it: {column.name} is {column[i]}" for i in beyond}
        rows = rows.with_columns(cast)
    return rows, reasons


def _in_utc(dtype: Any) -> Any:
    """The type with times that are said to be in UTC, wherever it has some."""
    if isinstance(dtype, pl.Datetime):
        return pl.Datetime("us", "UTC")
    if isinstance(dtype, pl.List):
        return pl.List(_in_utc(dtype.inner))
    if isinstance(dtype, pl.Struct):
        return pl.Struct({f.name: _in_utc(f.dtype) for f in dtype.fields})
    return dtype


def shown(rows: pl.DataFrame, reasons: Mapping[int, str]) -> pl.DataFrame | None:
    """Rows that are never taken, as `raw` and `reason`; None without.

    Args:
        rows: all.
        reasons: by their numbers.
    """
    if not reasons:
        return None
    bad = sorted(reasons)
    raw: Any = as_json(rows.drop(ROW_ID, strict=False)[bad]).alias("raw")
    return pl.DataFrame([raw, pl.Series("reason", [reasons[i] for i in bad], dtype=pl.String)])


def _wrong(message: str, hint: str | None) -> SinkError:
    return SinkError(message, hint=hint).about("avro_schema")


__all__ = ["OPTIONS", "MessageWriter", "shown"]
