"""Messages of Avro as columns. The records are decoded by fastavro, one by one: each is to be whole, and no byte left over."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from jupyter_stream.core.avro import AvroSchema
from jupyter_stream.errors import SourceError


class AvroRecords:
    """How the messages of a source become columns.

    Args:
        options: the WITH options.

    Attributes:
        schema: of the records.

    Raises:
        SourceError: no schema, or one that can't be.
    """

    def __init__(self, options: Mapping[str, str]) -> None:
        self.schema = AvroSchema.of(options, _wrong)

    def read(self, values: Sequence[bytes], names: Sequence[str]) -> tuple[pl.DataFrame, list[int], dict[int, str]]:
        """Columns of messages.

        Args:
            values: the messages.
            names: the fields wanted.

        Returns:
            The columns; the numbers of the messages they are of; of all others, what is wrong with them.
        """
        from fastavro import schemaless_reader

        records: list[Mapping[str, Any]] = []
        good: list[int] = []
        wrong: dict[int, str] = {}
        schema = self.schema
        for i, value in enumerate(values):
            try:
                data = schema.record_in(value) if schema.framed else value
                stream = io.BytesIO(data)
                record: Any = schemaless_reader(stream, schema.parsed, None)
                if stream.tell() != len(data):
                    raise ValueError(f"{len(data) - stream.tell()} bytes are left over")
            except Exception as error:  # whatever bytes make the library raise, they are no record
                wrong[i] = f"no record of this schema: {str(error) or type(error).__name__}"[:200]
            else:
                records.append(record)
                good.append(i)
        return self._columns(records, good, wrong, names)

    def _columns(
        self, records: list[Mapping[str, Any]], good: list[int], wrong: dict[int, str], names: Sequence[str]
    ) -> tuple[pl.DataFrame, list[int], dict[int, str]]:
        types = {f.name: f.dtype for f in self.schema.columns}
        try:
            columns = [self._column(name, [r[name] for r in records], types[name]) for name in names]
        except (pl.exceptions.PolarsError, OverflowError, TypeError, ValueError) as error:
            if len(records) == 1:
                return self._columns([], [], {**wrong, good[0]: f"a value that no column holds: {error}"[:200]}, names)
            half = len(records) // 2
            first, of_first, wrong = self._columns(records[:half], good[:half], wrong, names)
            second, of_second, wrong = self._columns(records[half:], good[half:], wrong, names)
            return pl.concat([first, second]), of_first + of_second, wrong
        return pl.DataFrame(columns), good, wrong

    def _column(self, name: str, values: list[Any], dtype: pl.DataType) -> pl.Series:
        if name in self.schema.as_text:
            texts = [v if v is None or isinstance(v, str) else json.dumps(v, default=str) for v in values]
            return pl.Series(name, texts, dtype=pl.String)
        if isinstance(dtype, pl.Datetime):
            return pl.Series(name, values, dtype=pl.Datetime("us", "UTC") if _zoned(values) else dtype)
        return pl.Series(name, values, dtype=dtype)


def _zoned(values: list[Any]) -> bool:
    return any(v is not None and v.tzinfo is not None for v in values)


def in_digits(value: bytes) -> str:
    """A message that is no record, for `errors(name)`: its bytes in hexadecimal digits."""
    return value[:500].hex() + ("..." if len(value) > 500 else "")


def _wrong(message: str, hint: str | None) -> SourceError:
    return SourceError(message, hint=hint).about("avro_schema")


__all__ = ["AvroRecords", "in_digits"]
