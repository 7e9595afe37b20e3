"""Parquet files: only the columns asked for, decoded ahead of the reader by Polars, a bounded amount."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from jupyter_stream.core.schema import Field, Schema
from jupyter_stream.errors import SourceError
from jupyter_stream.sources.conform import check_castable, conform, match_names
from jupyter_stream.sources.protocol import REPLAY_ROWS, Chunk, Request


def parquet_schema(path: Path) -> Schema:
    """Columns and types as the file has them.

    Raises:
        SourceError: when it is no Parquet file.
    """
    try:
        return Schema.of(pl.scan_parquet(path, glob=False).collect_schema().items())
    except (pl.exceptions.PolarsError, OSError) as error:
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
    # Polars decodes on its own threads while the rows before are being worked on, and waits when they aren't taken.
    try:
        for frame in scan.collect_batches(chunk_size=REPLAY_ROWS, maintain_order=True):
            if request.stop.is_set():
                return
            yield conform(frame, fields, tick)
    except (pl.exceptions.PolarsError, OSError) as error:
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
