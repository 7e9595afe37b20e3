"""The rows of one zone, such that those of a cell, or of an item, are found without looking through the others.

A batch is kept as it came, beside the order of its rows by the leading bits of their items' hashes (a radix sort of 16 bits,
some 10 ns a row): a cell is a stretch of that order, an item a shorter one. Small batches are merged as they become many.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from jupyter_stream.core.messages import Int64s
from jupyter_stream.core.rows import rows_at, together
from jupyter_stream.summaries.hashing import PREFIX_BITS, prefix_of
from jupyter_stream.summaries.protocol import Items

_CHUNKS: Final = 16
"""Small chunks of a zone before some of them, the smallest, are made one."""
_LARGE: Final = 32_768
"""Rows of a chunk that is left as it is."""


@dataclass(frozen=True, slots=True)
class Matches:
    """Rows found for items that were asked for.

    Attributes:
        asked: which of the items asked for, shape (n,).
        frame: the rows, n of them.
        seq: their arrival numbers in the summary, shape (n,).
        looked_at: rows compared to find them.
    """

    asked: Int64s
    frame: pl.DataFrame
    seq: Int64s
    looked_at: int


class _Chunk:
    """Rows in the order of their items' prefixes, as places in a frame that other chunks may share."""

    __slots__ = ("frame", "items", "place", "prefix", "seq")

    def __init__(self, frame: pl.DataFrame, place: Int64s, items: Items, seq: Int64s) -> None:
        self.frame = frame
        self.place = place.astype(np.int32)
        self.items = items
        self.prefix: NDArray[np.uint16] = prefix_of(items)
        self.seq = seq

    @property
    def rows(self) -> int:
        return int(self.seq.size)

    @property
    def bytes(self) -> int:
        own = self.place.nbytes + self.prefix.nbytes + self.items.nbytes + self.seq.nbytes
        return int(own + self.frame.estimated_size() * self.rows / self.frame.height)

    def at(self, places: Int64s) -> pl.DataFrame:
        return rows_at(self.frame, self.place[places].astype(np.int64))


class KeptRows:
    """Rows of a zone by cell."""

    def __init__(self) -> None:
        self._chunks: list[_Chunk] = []
        self.rows = 0

    @property
    def bytes(self) -> int:
        """Bytes held."""
        return sum(c.bytes for c in self._chunks)

    def keep(self, frame: pl.DataFrame, place: Int64s, items: Items, seq: Int64s) -> None:
        """Take in rows.

        Args:
            frame: the rows, maybe among others.
            place: where in the frame they are, in the order of `prefix_of` their items; shape (rows,).
            items: their items, in that order.
            seq: their arrival numbers, in that order.
        """
        if items.size:
            self._chunks.append(_Chunk(frame, place, items, seq))
            self.rows += items.size
            self._merge()

    def take_over(self, other: KeptRows) -> None:
        """Take in all rows of another zone, which is done with."""
        self._chunks += other._chunks
        self.rows += other.rows
        self._merge()

    def cell(self, bucket: int, buckets: int, since: int = 0, until: int | None = None) -> tuple[pl.DataFrame, Int64s]:
        """The rows of a cell with arrival numbers `since <= seq < until` in no order, and those numbers."""
        width = PREFIX_BITS - (buckets.bit_length() - 1)
        low, high = bucket << width, ((bucket + 1) << width) - 1
        frames, numbers = [], []
        for chunk in self._chunks:
            begin = np.searchsorted(chunk.prefix, np.uint16(low), "left")
            end = np.searchsorted(chunk.prefix, np.uint16(high), "right")
            places = np.arange(begin, end)
            seq = chunk.seq[begin:end]
            wanted = seq >= since if until is None else (seq >= since) & (seq < until)
            if not wanted.all():
                places, seq = places[wanted], seq[wanted]
            if places.size:
                frames.append(chunk.at(places))
                numbers.append(seq)
        if not frames:
            return self.nothing(), np.zeros(0, np.int64)
        return together(frames), np.concatenate(numbers)

    def match(self, items: Items, until: int | None = None) -> Matches:
        """The rows whose item is one of these (in any order, repeated ones too), of arrival numbers below `until`.

        Equal hashes are nearly always equal values: compare the columns where it has to be exact.
        """
        prefix = prefix_of(items)
        asked, frames, numbers, looked_at = [], [], [], 0
        for chunk in self._chunks:
            begin = np.searchsorted(chunk.prefix, prefix, "left")
            many = np.searchsorted(chunk.prefix, prefix, "right") - begin
            which = np.repeat(np.arange(items.size), many)
            looked_at += which.size
            first = np.repeat(begin - (np.cumsum(many) - many), many)
            places = first + np.arange(which.size)
            found = chunk.items[places] == items[which]
            if until is not None:
                found &= chunk.seq[places] < until
            if not found.all():
                which, places = which[found], places[found]
            if places.size:
                asked.append(which)
                frames.append(chunk.at(places))
                numbers.append(chunk.seq[places])
        if not frames:
            return Matches(np.zeros(0, np.int64), self.nothing(), np.zeros(0, np.int64), looked_at)
        return Matches(np.concatenate(asked), together(frames), np.concatenate(numbers), looked_at)

    def nothing(self) -> pl.DataFrame:
        """No rows, with the columns of those kept so far (without any where there was none)."""
        return self._chunks[0].frame.clear() if self._chunks else pl.DataFrame()

    def _merge(self) -> None:
        """Make small chunks one as they become many: each row is moved a logarithm of times, until its chunk is large."""
        while len(small := sorted((c for c in self._chunks if c.rows < _LARGE), key=lambda c: c.rows)) > _CHUNKS:
            self._unite(small[: len(small) // 2])

    def _unite(self, few: list[_Chunk]) -> None:
        items = np.concatenate([c.items for c in few])
        order = np.argsort(prefix_of(items), kind="stable")
        frame = together([c.at(np.arange(c.rows)) for c in few]).rechunk()
        seq = np.concatenate([c.seq for c in few])
        self._chunks = [c for c in self._chunks if c not in few]
        self._chunks.append(_Chunk(frame, order, items[order], seq[order]))

    def check(self) -> None:
        """Raise AssertionError where an invariant is broken."""
        assert self.rows == sum(c.rows for c in self._chunks)
        assert sum(c.rows < _LARGE for c in self._chunks) <= _CHUNKS
        for chunk in self._chunks:
            assert chunk.rows == chunk.items.size == chunk.place.size == np.unique(chunk.place).size
            assert (chunk.prefix[1:] >= chunk.prefix[:-1]).all()
