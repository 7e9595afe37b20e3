"""Parquet files: only the columns asked for, decoded ahead of the reader by Polars, a bounded amount."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from jupyter_stream.core.schema import Field, Schema
from jupyter_stream.errors import SourceError
from jupyter_stream.sources.conform import check_castable, conform, match_names
from jupyter_stream.sources.protocol import BATCH_ROWS, REPLAY_ROWS, Chunk, Request
from jupyter_stream.sources.utf8 import trusted


def parquet_schema(path: Path) -> Schema:
    """Columns and types as the file has them.

    Raises:
        SourceError: when it is no Parquet file.
    """
    try:
        return Schema.of(pl.scan_parquet(path, glob=False).collect_schema().items())
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:  # a damaged one makes it panic
        raise SourceError(f"{path} can't be read as Parquet: {str(error).splitlines()[0]}") from None


def parquet_names(path: Path, fields: Sequence[Field], tick: int | None) -> dict[str, str]:
    """Which of the file's columns each declared one is.

    Raises:
        SourceError: when one is missing, or of a type that can't be read as declared.
    """
    raw = parquet_schema(path)
    names = match_names(fields, raw.names, str(path))
    check_castable(fields, raw, names, tick, str(path))
    return names


def read_parquet(path: Path, fields: Sequence[Field], tick: int | None, request: Request) -> Iterator[Chunk]:
    """All rows of a file, in order, about `REPLAY_ROWS` at a time.

    Args:
        path: the file.
        fields: the columns wanted.
        tick: what numbers mean as times (`casting.TICKS`).
        request: looked at for `stop` between chunks.
    """
    names = parquet_names(path, fields, tick)
    scan = pl.scan_parquet(path, glob=False).select([pl.col(names[f.name]).alias(f.name) for f in fields])
    given, before = 0, request.share.done
    size, rows = path.stat().st_size, _height(path)
    # Polars decodes on its own threads while the rows before are being worked on, and waits when they aren't taken.
    try:
        for frame in scan.collect_batches(chunk_size=REPLAY_ROWS, maintain_order=True):
            if request.stop.is_set():
                return
            request.share.done = before + size * (given + frame.height) // max(1, rows)
            yield conform(frame, fields, tick)
            given += frame.height
    except (pl.exceptions.PolarsError, OSError) as error:
        if "utf" not in str(error).lower():
            raise SourceError(f"{path} can't be read as Parquet: {str(error).splitlines()[0]}") from None
        for frame in _row_by_row(path, [names[f.name] for f in fields], given):
            if request.stop.is_set():
                return
            yield conform(frame.rename({names[f.name]: f.name for f in fields}), fields, tick)


def _height(path: Path) -> int:
    """How many rows a file has; 0 where it doesn't say, which Polars may read all the same."""
    try:
        return int(pq.read_metadata(path).num_rows)
    except (pa.ArrowException, OSError):
        return 0


def _row_by_row(path: Path, names: Sequence[str], given: int) -> Iterator[pl.DataFrame]:
    """The rows of a file after the first so many, with text that is no UTF-8 as bytes: Polars refuses the whole column."""
    try:
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(BATCH_ROWS, columns=list(dict.fromkeys(names))):
                skipped = min(given, batch.num_rows)
                given -= skipped
                if skipped < batch.num_rows:
                    rows = batch.slice(skipped)
                    yield pl.DataFrame([pl.Series(name, trusted(rows.column(name))) for name in names])
    except (pa.ArrowException, OSError) as error:
        raise SourceError(f"{path} can't be read as Parquet: {str(error).splitlines()[0]}") from None


def has_types(path: Path, fields: Sequence[Field]) -> bool:
    """Whether the file's columns are of the declared types as they are."""
    raw = parquet_schema(path)
    names = match_names(fields, raw.names, str(path))
    return all(found.dtype == f.dtype for f in fields if (found := raw.find(names[f.name])) is not None)


def pick_parquet(paths: Sequence[Path], fields: Sequence[Field], rows: NDArray[np.int64]) -> pl.DataFrame:
    """Single rows of several files read one after the other, by number; only the row groups that hold them are read."""
    parts = []
    start = 0
    for path in paths:
        names = match_names(fields, parquet_schema(path).names, str(path))
        scan = pl.scan_parquet(path, glob=False)
        height = int(scan.select(pl.len()).collect().item())
        here = rows[(rows >= start) & (rows < start + height)] - start
        if here.size:
            low = int(here[0])
            span = scan.slice(low, int(here[-1]) - low + 1).select(pl.col(names[f.name]).alias(f.name) for f in fields)
            parts.append(span.collect()[pl.Series(here - low)])
        start += height
    return pl.concat(parts) if parts else Schema(tuple(fields)).empty()
