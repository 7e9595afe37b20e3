"""Answers as files. What is written is never seen half: it takes its name when it is whole."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl

from jupyter_stream.errors import QueryError
from jupyter_stream.sinks.flat import flat


def to_parquet(frame: pl.DataFrame, path: str | Path) -> Path:
    """Write a Parquet file; returns its path. Raises `QueryError` where it can't be written."""
    return _written(path, frame.write_parquet)


def to_csv(frame: pl.DataFrame, path: str | Path) -> Path:
    """Write a CSV file with a line of names, times as ISO 8601, lists and structs as JSON; returns its path.

    Raises:
        QueryError: it can't be written.
    """
    return _written(path, flat(frame).write_csv)


def _written(path: str | Path, write: Callable[[Path], object]) -> Path:
    whole = Path(path).expanduser()
    part = whole.with_name(f".{whole.name}.part")
    try:
        write(part)
        part.replace(whole)
    except OSError as error:
        part.unlink(missing_ok=True)
        hint = None if whole.parent.is_dir() else f"There is no folder {whole.parent}."
        raise QueryError(f"{whole} can't be written: {error.strerror or error}", hint=hint) from None
    return whole
