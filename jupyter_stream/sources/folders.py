"""Columns in the names of folders: `day=2024-05-01/part-0.parquet`, as Hive, Spark, DuckDB and our sinks write it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote

import polars as pl

from jupyter_stream.core.schema import Field, Schema, type_name
from jupyter_stream.errors import SourceError
from jupyter_stream.sources.casting import cast
from jupyter_stream.sources.conform import completed, found_names
from jupyter_stream.sources.paths import fixed_folder
from jupyter_stream.sources.protocol import Chunk
from jupyter_stream.sources.text import TextParser, type_of_text

_NULL = "__HIVE_DEFAULT_PARTITION__"


def values_of(path: Path, text: str) -> dict[str, str | None]:
    """What the folders between the one that a source names and a file say, by column.

    Args:
        path: the file.
        text: the path, folder or pattern of the source.
    """
    base = fixed_folder(text)
    found: dict[str, str | None] = {}
    for part in path.parent.parts[len(base.parts) :] if path.is_relative_to(base) else ():
        name, mark, value = part.partition("=")
        if mark and name:
            found[unquote(name)] = None if value == _NULL else unquote(value)
    return found


def columns_of(paths: Sequence[Path], text: str) -> Schema:
    """The columns of the folders' names, in the types that all their values have."""
    words: dict[str, list[str | None]] = {}
    for path in paths:
        for name, value in values_of(path, text).items():
            words.setdefault(name, []).append(value)
    return Schema.of((name, type_of_text(pl.Series(values, dtype=pl.String))) for name, values in words.items())


class NamedFolder:
    """The columns of one file that are in the names of its folders.

    Args:
        path: the file.
        text: what the source names.
        fields: the columns of the stream.

    Raises:
        SourceError: a value that is none of the column's type.
    """

    def __init__(self, path: Path, text: str, fields: Sequence[Field]) -> None:
        values = values_of(path, text)
        names = found_names(fields, list(values))
        self.values: Mapping[str, pl.Series] = {
            f.name: _typed(values[names[f.name]], f, path) for f in fields if f.name in names
        }

    def others(self, fields: Sequence[Field]) -> list[Field]:
        """The fields that are in the file itself."""
        return [f for f in fields if f.name not in self.values]

    def filled(self, chunk: Chunk, fields: Sequence[Field]) -> Chunk:
        """What was read of the file, with the folders' columns, in the order of the fields."""
        return replace(chunk, frame=completed(chunk.frame, fields, self.values)) if self.values else chunk


class InFolder:
    """A parser of a file whose folders have columns.

    Args:
        parser: of the file's own.
        folder: those of the folders.
        fields: all of them, in order.
    """

    def __init__(self, parser: TextParser, folder: NamedFolder, fields: Sequence[Field]) -> None:
        self.parser = parser
        self._folder = folder
        self._fields = tuple(fields)

    def cut(self, data: bytes) -> int:
        """How many bytes at the start are whole records."""
        return self.parser.cut(data)

    def parse(self, data: bytes) -> Chunk:
        """The rows of the next whole records."""
        return self._folder.filled(self.parser.parse(data), self._fields)

    def skip(self) -> str:
        """Leave out the next line."""
        return self.parser.skip()


def _typed(value: str | None, field: Field, path: Path) -> pl.Series:
    words = pl.Series(field.name, [value], dtype=pl.String)
    found = cast(words, field.dtype).alias(field.name)
    if value is not None and found[0] is None:
        raise SourceError(
            f"The folder {field.name}={value} of {path.name} can't be read as {type_name(field.dtype)}.",
            hint=f"Declare {field.name} STRING.",
        )
    return found
