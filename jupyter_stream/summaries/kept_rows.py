"""The rows of one zone, such that those of a cell, or of an item, are found without looking through the others.

A batch is kept as it came, beside an order of its rows by the leading bits of their items' hashes (a radix sort of 16 bits,
some 10 ns a row): a cell is a stretch of that order, an item a shorter one. Batches are merged as they become many.
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

_CHUNKS: Final = 8
"""A zone keeps at most so many chunks of a like size before they are made one."""


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
    """Rows, and their places in the order of their items' prefixes."""

    __slots__ = ("frame", "items", "order", "prefix", "seq")

    def __init__(self, frame: pl.DataFrame, items: Items, seq: Int64s) -> None:
        prefix = prefix_of(items)
        self.order = np.argsort(prefix, kind="stable").astype(np.int32)
        self.prefix: NDArray[np.uint16] = prefix[self.order]
        self.items = items
        self.frame = frame
        self.seq = seq

    @property
    def bytes(self) -> int:
        own = self.order.nbytes + self.prefix.nbytes + self.items.nbytes + self.seq.nbytes
        return int(own + self.frame.estimated_size())


class KeptRows:
    """Rows of a zone by cell."""

    def __init__(self) -> None:
        self._chunks: list[_Chunk] = []
        self.rows = 0

    @property
    def bytes(self) -> int:
        """Bytes held."""
        return sum(c.bytes for c in self._chunks)

    def keep(self, frame: pl.DataFrame, items: Items, seq: Int64s) -> None:
        """Take in rows with their items' hashes and arrival numbers (rising); all three of the same length."""
        if not items.size:
            return
        self._chunks.append(_Chunk(frame, items, seq))
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
            places = np.sort(chunk.order[begin:end]).astype(np.int64)
            seq = chunk.seq[places]
            wanted = seq >= since if until is None else (seq >= since) & (seq < until)
            if not wanted.all():
                places, seq = places[wanted], seq[wanted]
            if places.size:
                frames.append(rows_at(chunk.frame, places))
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
            places = chunk.order[first + np.arange(which.size)].astype(np.int64)
            found = chunk.items[places] == items[which]
            if until is not None:
                found &= chunk.seq[places] < until
            if not found.all():
                which, places = which[found], places[found]
            if places.size:
                asked.append(which)
                frames.append(rows_at(chunk.frame, places))
                numbers.append(chunk.seq[places])
        if not frames:
            return Matches(np.zeros(0, np.int64), self.nothing(), np.zeros(0, np.int64), looked_at)
        return Matches(np.concatenate(asked), together(frames), np.concatenate(numbers), looked_at)

    def nothing(self) -> pl.DataFrame:
        """No rows, with the columns of those kept so far (without any where there was none)."""
        return self._chunks[0].frame.clear() if self._chunks else pl.DataFrame()

    def _merge(self) -> None:
        """Make the last ones a chunk while there are many of about the same size: each row is moved a logarithm of times."""
        while len(self._chunks) > _CHUNKS:
            last = self._chunks[-_CHUNKS:]
            rest = self._chunks[:-_CHUNKS]
            frame = together([c.frame for c in last]).rechunk()
            seq = np.concatenate([c.seq for c in last])
            items = np.concatenate([c.items for c in last])
            self._chunks = rest
            whole = _Chunk(frame, items, seq)
            while self._chunks and self._chunks[-1].seq.size <= 2 * whole.seq.size:
                before = self._chunks.pop()
                whole = _Chunk(
                    together([before.frame, whole.frame]).rechunk(),
                    np.concatenate([before.items, whole.items]),
                    np.concatenate([before.seq, whole.seq]),
                )
            self._chunks.append(whole)

    def check(self) -> None:
        """Raise AssertionError where an invariant is broken."""
        assert self.rows == sum(c.seq.size for c in self._chunks)
        for chunk in self._chunks:
            assert chunk.frame.height == chunk.seq.size == chunk.items.size == chunk.order.size
            assert (np.sort(chunk.order) == np.arange(chunk.order.size)).all()
            assert (prefix_of(chunk.items)[chunk.order] == chunk.prefix).all()
            assert (chunk.prefix[1:] >= chunk.prefix[:-1]).all()
