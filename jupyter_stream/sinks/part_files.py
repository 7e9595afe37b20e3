"""Files of a folder under hidden names, which get their own when a sink commits. Written here, or where answers are made.

What writes them travels: it knows a folder, which has to be the same wherever it is used, and no sink.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import quote

import polars as pl

from jupyter_stream.core.far import as_json
from jupyter_stream.core.schema import Schema
from jupyter_stream.sinks.flat import flat

SUFFIX: Final = {"parquet": ".parquet", "json": ".jsonl", "csv": ".csv"}
_MOST: Final = 128 * 2**20
"""Bytes of rows in memory that go to one file; a Parquet file of them is a good deal smaller."""
_NULL: Final = "__HIVE_DEFAULT_PARTITION__"
"""What Hive, Spark, DuckDB and Polars call the partition of NULL."""
NO_NAMES: Final = ("", _NULL)
"""Texts that are no names of folders: the second stands for NULL; with the first Spark reads none of the folders, and a Delta
table has NULL."""
PIECES: Final = Schema.of([("hidden", pl.String()), ("name", pl.String()), ("rows", pl.Int64()), ("bytes", pl.Int64())])
"""Of files written elsewhere: their names below the folder, hidden and to be, and how large they are."""


@dataclass(frozen=True, slots=True)
class PartFiles:
    """Writes rows to files that nobody sees yet.

    Attributes:
        folder: where.
        writer: whose they are.
        format: `parquet`, `json` or `csv`.
        partition: columns whose values become folders.
    """

    folder: str
    writer: str
    format: str
    partition: tuple[str, ...] = ()

    def write(self, rows: pl.DataFrame, hidden: str) -> int:
        """Write rows to one file, on disk when this returns; returns its size. Raises `OSError` where that can't be."""
        with (Path(self.folder) / hidden).open("wb") as file:
            if self.format == "parquet":
                rows.write_parquet(file)
            elif self.format == "csv":
                flat(rows).write_csv(file)
            elif rows.height:
                as_json(rows).to_frame().write_csv(file, include_header=False, quote_style="never")
            file.flush()
            os.fsync(file.fileno())
            return file.tell()

    def parts(self, rows: pl.DataFrame) -> Iterator[tuple[str, pl.DataFrame]]:
        """Rows by file, each with the file's folder below this one: `day=2026-11-23/`, or nothing."""
        groups: list[tuple[str, pl.DataFrame]] = [("", rows)]
        if self.partition:
            found = rows.partition_by(self.partition, as_dict=True, include_key=False, maintain_order=True)
            groups = [(self._of(values), part) for values, part in found.items()]
        for folder, part in groups:
            pieces = max(1, -(-int(part.estimated_size()) // _MOST))
            size = -(-part.height // pieces)
            for start in range(0, part.height, size):
                yield folder, part.slice(start, size)

    def _of(self, values: tuple[object, ...]) -> str:
        pairs = zip(self.partition, values, strict=True)
        return "".join(f"{quote(c, safe=' ')}={_NULL if v is None else quote(str(v), safe=' ')}/" for c, v in pairs)

    def written_apart(self, rows: pl.DataFrame, tag: str) -> pl.DataFrame:
        """Write rows of an answer; returns the files, as `PIECES`.

        Args:
            rows: in the sink's columns.
            tag: tells this from everything else that is written.
        """
        made = []
        for i, (folder, part) in enumerate(self.parts(rows), 1):
            hidden = f".{self.writer}-{tag}-{i}.piece"
            made.append((hidden, folder, part.height, self.write(part, hidden)))
        return pl.DataFrame(made, PIECES.polars(), orient="row")
