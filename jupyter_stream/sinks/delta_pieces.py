"""Files of a Delta table that are written elsewhere: nobody sees one before a commit of the table's names it."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from jupyter_stream.errors import SinkError
from jupyter_stream.sinks.part_files import PIECES, PartFiles


@dataclass(frozen=True, slots=True)
class DeltaPieces:
    """Writes rows to files of a table without partitions. It travels, and knows a folder and no sink.

    Attributes:
        folder: the table's.
        writer: whose they are.
    """

    folder: str
    writer: str

    def written_apart(self, rows: pl.DataFrame, tag: str) -> pl.DataFrame:
        """Write rows; returns the files, as `PIECES`. Raises `OSError` where that can't be."""
        files, made = PartFiles(self.folder, self.writer, "parquet"), []
        for i, (_, part) in enumerate(files.parts(held(rows)), 1):
            name = f"part-{self.writer}-{tag}-{i}.parquet"
            made.append((name, name, part.height, files.write(part, name)))
        return pl.DataFrame(made, PIECES.polars(), orient="row")

    def sweep(self, known: Iterable[str]) -> None:
        """Take away files of this writer that no commit names."""
        keep = {Path(name).name for name in known}
        for file in Path(self.folder).glob(f"part-{self.writer}-*.parquet"):
            if file.name not in keep:
                file.unlink(missing_ok=True)

    def actions(self, pieces: pl.DataFrame) -> Iterator[Any]:
        """What a commit says of files. Raises `SinkError` for one that isn't there."""
        from deltalake.transaction import AddAction

        for name, _, rows, size in pieces.iter_rows():
            at = Path(self.folder) / name
            if not at.exists() or at.stat().st_size != size:
                raise SinkError(
                    f"rows were written to {self.folder} on another machine, and aren't there on this one.",
                    hint="Name a folder that all machines of the cluster find at the same path.",
                )
            now = time.time_ns() // 1_000_000
            yield AddAction(name, size, {}, now, True, json.dumps({"numRecords": rows}))


def held(frame: pl.DataFrame) -> pl.DataFrame:
    """Rows as a Delta table holds them: intervals in microseconds, a column that has no type as text."""
    return frame.with_columns(pl.col(pl.Null).cast(pl.String), pl.selectors.duration().dt.total_microseconds())
