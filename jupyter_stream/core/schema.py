"""What columns a batch has. Types are Polars data types; SQL names are for people and for parsing.

Column names are matched without regard to case, as in SQL, and shown as they were declared.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, Final

import polars as pl

TIMESTAMP: Final = pl.Datetime("us")
INTERVAL: Final = pl.Duration("us")

_BY_SQL: Final[dict[str, pl.DataType]] = {
    "BOOLEAN": pl.Boolean(), "BOOL": pl.Boolean(),
    "TINYINT": pl.Int8(), "SMALLINT": pl.Int16(), "INT": pl.Int32(), "INTEGER": pl.Int32(),
    "BIGINT": pl.Int64(), "LONG": pl.Int64(),
    "REAL": pl.Float64(), "DOUBLE": pl.Float64(), "FLOAT": pl.Float32(),
    "STRING": pl.String(), "TEXT": pl.String(), "VARCHAR": pl.String(), "CHAR": pl.String(),
    "BINARY": pl.Binary(), "DATE": pl.Date(), "TIMESTAMP": TIMESTAMP, "INTERVAL": INTERVAL,
}  # fmt: skip

_OTHERS: Final[dict[object, str]] = {
    pl.UInt8: "SMALLINT", pl.UInt16: "INT", pl.UInt32: "BIGINT", pl.UInt64: "BIGINT", pl.Int128: "DECIMAL(38,0)",
    pl.Datetime: "TIMESTAMP", pl.Duration: "INTERVAL", pl.Categorical: "STRING", pl.Enum: "STRING",
}  # fmt: skip
"""What types that frames have, and SQL has no name for, are called in messages: what a stream reads them as."""


def sql_type(name: str) -> pl.DataType | None:
    """The type a SQL name without parameters stands for, None if it stands for none."""
    return _BY_SQL.get(name.upper())


def sql_names() -> tuple[str, ...]:
    """Every SQL type name that can be declared."""
    return tuple(_BY_SQL)


def empty(columns: Mapping[str, pl.DataType]) -> pl.DataFrame:
    """A frame of these columns without rows."""
    return _empty(tuple(columns.items())).clear()


@lru_cache(1_000)
def _empty(columns: tuple[tuple[str, pl.DataType], ...]) -> pl.DataFrame:
    return pl.DataFrame(schema=dict(columns))


@lru_cache(1_000)
def type_name(dtype: pl.DataType) -> str:
    """The SQL name of a type, as DESCRIBE shows it."""
    if isinstance(dtype, pl.Decimal):
        return f"DECIMAL({dtype.precision},{dtype.scale})"
    if isinstance(dtype, pl.List):
        return f"ARRAY<{type_name(_instance(dtype.inner))}>"
    if isinstance(dtype, pl.Struct):
        return "STRUCT<" + ", ".join(f"{f.name}: {type_name(_instance(f.dtype))}" for f in dtype.fields) + ">"
    if isinstance(dtype, pl.Array):
        return f"ARRAY<{type_name(_instance(dtype.inner))}>"
    for name in (
        "BOOLEAN",
        "TINYINT",
        "SMALLINT",
        "INT",
        "BIGINT",
        "DOUBLE",
        "FLOAT",
        "STRING",
        "BINARY",
        "DATE",
        "TIMESTAMP",
        "INTERVAL",
    ):
        if _BY_SQL[name] == dtype:
            return name
    if isinstance(dtype, pl.Null):
        return "VOID"
    return _OTHERS.get(dtype.base_type(), str(dtype).split("(")[0].upper())


def _instance(dtype: Any) -> pl.DataType:
    made: pl.DataType = dtype() if isinstance(dtype, type) else dtype
    return made


@dataclass(frozen=True, slots=True)
class Field:
    """A column: its name as declared and its type.

    Attributes:
        by_part: whether a source is to keep a row that has a bad part in this column, and to say which (`messages.FAULT`).
    """

    name: str
    dtype: pl.DataType
    by_part: bool = field(default=False, compare=False)


@dataclass(frozen=True)
class Schema:
    """The columns of a stream, a table or an operator's output, in order."""

    fields: tuple[Field, ...]

    @classmethod
    def of(cls, columns: Iterable[tuple[str, pl.DataType]]) -> Schema:
        """A schema from (name, type) pairs."""
        return cls(tuple(Field(name, dtype) for name, dtype in columns))

    @classmethod
    def from_frame(cls, frame: pl.DataFrame) -> Schema:
        """The schema of a frame as it is."""
        return cls.of(frame.schema.items())

    @cached_property
    def _lower(self) -> dict[str, int]:
        return {f.name.lower(): i for i, f in reversed(list(enumerate(self.fields)))}

    def find(self, name: str) -> Field | None:
        """The field of that name, whatever its case; None if there is none."""
        i = self._lower.get(name.lower())
        return None if i is None else self.fields[i]

    def free(self, name: str) -> str:
        """The name, or with the first number behind it that no column has."""
        final, number = name, 2
        while self.find(final) is not None:
            final, number = f"{name}_{number}", number + 1
        return final

    @property
    def names(self) -> tuple[str, ...]:
        """The names, as declared."""
        return tuple(f.name for f in self.fields)

    def polars(self) -> dict[str, pl.DataType]:
        """The same for Polars."""
        return {f.name: f.dtype for f in self.fields}

    def empty(self) -> pl.DataFrame:
        """A frame of these columns without rows."""
        return empty(self.polars())

    def __iter__(self) -> Iterator[Field]:
        return iter(self.fields)

    def __len__(self) -> int:
        return len(self.fields)

    def __str__(self) -> str:
        return "(" + ", ".join(f"{f.name} {type_name(f.dtype)}" for f in self.fields) + ")"
