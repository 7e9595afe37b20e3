"""Parquet files: only the columns asked for, decoded ahead of the reader by Polars, a bounded amount."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from jupyter_stream.core.schema import Field, Schema
from jupyter_stream.errors import SourceError
from jupyter_stream.sources.conform import check_castable, completed, conform, found_names, match_names
from jupyter_stream.sources.plain_arrow import plain, polars_reads
from jupyter_stream.sources.protocol import BATCH_ROWS, REPLAY_ROWS, Chunk, Request
from jupyter_stream.sources.tabular import Columns, columns_of_arrow, columns_of_polars, declared, readable
from jupyter_stream.sources.widest import remarks

_WRITTEN = b"ARROW:schema"
"""Where a file says which types of Arrow its columns had, which Polars goes by."""

_ONLY = "$only"


def parquet_schema(path: Path) -> Schema:
    """Columns and types as the file has them.

    Raises:
        SourceError: when it is no Parquet file.
    """
    return parquet_columns(path).raw


def parquet_columns(path: Path) -> Columns:
    """The columns of a file.

    Raises:
        SourceError: when it is no Parquet file.
    """
    other = _for_arrow(path)
    if other is not None:
        return columns_of_arrow(other)
    try:
        scan = pl.scan_parquet(path, glob=False)
        return columns_of_polars(scan.collect_schema().items(), lambda name: scan.select(name).head(0).collect())
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:  # a damaged one makes it panic
        raise SourceError(f"{path} can't be read as Parquet: {str(error).splitlines()[0]}") from None


def parquet_found(path: Path, raw: Schema) -> tuple[Schema, list[str]]:
    """The columns of a stream over a file's columns, and sentences about those that are of another type than they seem."""
    schema = declared(raw, lambda name: _pieces(path, name))
    return schema, remarks(raw, schema)


def _pieces(path: Path, column: str) -> Iterator[pl.Series]:
    """The values of one column, in the file's type."""
    if _for_arrow(path) is None:
        scan = pl.scan_parquet(path, glob=False).select(column)
        try:
            yield from (readable(f).get_column(column) for f in scan.collect_batches(chunk_size=REPLAY_ROWS))
            return
        except pl.exceptions.PolarsError:  # text that is no UTF-8, or what Arrow says better
            pass
    yield from (frame.get_column(column) for frame in _row_by_row(path, [column], 0))


def parquet_names(path: Path, fields: Sequence[Field], tick: int | None) -> dict[str, str]:
    """Which of the file's columns each declared one is, of those that are there.

    Raises:
        SourceError: when one is of a type that can't be read as declared.
    """
    raw = parquet_schema(path)
    names = found_names(fields, raw.names)
    check_castable([f for f in fields if f.name in names], raw, names, tick, str(path))
    return names


def read_parquet(path: Path, fields: Sequence[Field], tick: int | None, request: Request) -> Iterator[Chunk]:
    """All rows of a file, in order, about `REPLAY_ROWS` at a time; NULL in columns that it hasn't got.

    Args:
        path: the file.
        fields: the columns wanted.
        tick: what numbers mean as times (`casting.TICKS`).
        request: looked at for `stop` between chunks.
    """
    names = parquet_names(path, fields, tick)
    there = [f for f in fields if f.name in names]
    if _for_arrow(path) is not None:
        yield from _by_arrow(path, names, fields, 0, tick, request)
        return
    scan = pl.scan_parquet(path, glob=False).select(
        [pl.col(names[f.name]).alias(f.name) for f in there] or pl.nth(0).alias(_ONLY)
    )
    given, before = 0, request.share.done
    size, rows = path.stat().st_size, _height(path)
    # Polars decodes on its own threads while the rows before are being worked on, and waits when they aren't taken.
    try:
        for frame in scan.collect_batches(chunk_size=REPLAY_ROWS, maintain_order=True):
            if request.stop.is_set():
                return
            request.share.done = before + size * (given + frame.height) // max(1, rows)
            yield _filled(conform(readable(frame), there, tick) if there else Chunk(frame), fields)
            given += frame.height
    except (pl.exceptions.PolarsError, OSError) as error:
        if "utf" not in str(error).lower():
            raise SourceError(f"{path} can't be read as Parquet: {str(error).splitlines()[0]}") from None
        yield from _by_arrow(path, names, fields, given, tick, request)


def _for_arrow(path: Path) -> pa.Schema | None:
    """The file's columns as Arrow has them where Polars can't read the file; else None."""
    try:
        metadata = pq.read_metadata(path)
        schema, written = metadata.schema.to_arrow_schema(), (metadata.metadata or {}).get(_WRITTEN)
        columns = [*schema, *(() if written is None else pa.ipc.read_schema(pa.py_buffer(b64decode(written))))]
    except (pa.ArrowException, OSError, ValueError):
        return None  # Polars says what is wrong
    return None if all(map(polars_reads, columns)) else schema


def _by_arrow(
    path: Path, names: Mapping[str, str], fields: Sequence[Field], given: int, tick: int | None, request: Request
) -> Iterator[Chunk]:
    """The rows of a file after the first so many, as Arrow reads them."""
    there = [f for f in fields if f.name in names]
    for frame in _row_by_row(path, [names[f.name] for f in there], given):
        if request.stop.is_set():
            return
        yield _filled(conform(frame.rename({names[f.name]: f.name for f in there}), there, tick), fields)


def _filled(chunk: Chunk, fields: Sequence[Field]) -> Chunk:
    if chunk.frame.columns == [f.name for f in fields]:
        return chunk
    return replace(chunk, frame=completed(chunk.frame, fields))


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
                    yield pl.DataFrame([
                        pl.Series(name, plain(rows.column(name), rows.schema.field(name))) for name in names
                    ])  # fmt: skip
    except (pa.ArrowException, OSError) as error:
        raise SourceError(f"{path} can't be read as Parquet: {str(error).splitlines()[0]}") from None


def has_types(path: Path, fields: Sequence[Field]) -> bool:
    """Whether the file's columns are of the declared types as they are."""
    if _for_arrow(path) is not None:
        return False
    raw = parquet_schema(path)
    names = found_names(fields, raw.names)
    return all(f.name in names and getattr(raw.find(names[f.name]), "dtype", None) == f.dtype for f in fields)


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
