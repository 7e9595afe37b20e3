"""The place in a source that gives the same rows whenever it is read: how many it has given. Not for how it is read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import polars as pl

from jupyter_stream.sources.protocol import Chunk


@dataclass(frozen=True, slots=True)
class Given:
    """What has been handed over.

    Attributes:
        rows: rows.
        refused: records that were no rows.
    """

    rows: int = 0
    refused: int = 0


def without_given(chunks: Iterator[Chunk], given: Given) -> Iterator[Chunk]:
    """The chunks without the first rows and refused records, which were handed over before."""
    rows, refused = given.rows, given.refused
    for chunk in chunks:
        frame, bad = chunk.frame.slice(rows), chunk.rejected
        rows = max(0, rows - chunk.frame.height)
        if bad is not None and refused:
            bad, refused = bad.slice(refused), max(0, refused - bad.height)
        if frame.height or (bad is not None and bad.height):
            yield Chunk(frame, bad)


def counted(chunks: Iterator[Chunk], given: Given) -> Iterator[Chunk]:
    """The chunks with the places behind them, where so much was handed over before."""
    rows, refused = given.rows, given.refused
    for chunk in chunks:
        rows += chunk.frame.height
        refused += 0 if chunk.rejected is None else chunk.rejected.height
        yield replace(chunk, place=Given(rows, refused))


def joined(chunks: Iterator[Chunk]) -> Chunk | None:
    """Chunks as one; None for none."""
    found = list(chunks)
    if len(found) < 2:
        return found[0] if found else None
    bad = [c.rejected for c in found if c.rejected is not None]
    return Chunk(pl.concat([c.frame for c in found], how="diagonal"), pl.concat(bad) if bad else None)
