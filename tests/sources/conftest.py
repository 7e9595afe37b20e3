"""Reading a source to its end, as an engine would."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import polars as pl
import pytest

from jupyter_stream.sources import Chunk, Request, Source


@dataclass(frozen=True)
class Read:
    frame: pl.DataFrame
    rejected: list[tuple[str, str]]
    sizes: list[int]

    @property
    def rows(self) -> list[tuple[object, ...]]:
        return self.frame.rows()


def collect(chunks: Iterable[Chunk]) -> Read:
    chunks = list(chunks)
    rejected = [row for c in chunks if c.rejected is not None for row in c.rejected.iter_rows()]
    frame = pl.concat([c.frame for c in chunks]) if chunks else pl.DataFrame()
    return Read(frame, rejected, [c.frame.height for c in chunks])


@pytest.fixture
def read() -> Callable[..., Read]:
    def whole(source: Source, *columns: str) -> Read:
        return collect(source.read(Request(columns or None)))

    return whole


@pytest.fixture(name="collect")
def _collect() -> Callable[[Iterable[Chunk]], Read]:
    return collect
