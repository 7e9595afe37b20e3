"""Parquet files: only the columns asked for, decoded ahead of the reader by Polars, a bounded amount."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl

from jupyter_stream.core.schema import Field, Schema
from jupyter_stream.errors import SourceError
from jupyter_stream.sources.conform import check_castable, conform, match_names
from jupyter_stream.sources.protocol import BATCH_ROWS, Chunk, Request


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
    """All rows of a file, in order, at most `BATCH_ROWS` at a time.

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
        for frame in scan.collect_batches(chunk_size=BATCH_ROWS, maintain_order=True):
            if request.stop.is_set():
                return
            yield conform(frame, fields, tick)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise SourceError(f"{path} can't be read as Parquet: {str(error).splitlines()[0]}") from None
