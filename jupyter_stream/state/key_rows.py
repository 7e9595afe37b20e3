"""Values of grouping columns that are no single integers, by slot: rows in blocks, of which none is ever too large to be moved.

A look-up in a million rows may take no longer for the growth of the rest: nothing here takes time by all rows held but one look
over the slots' places.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl
from numpy.typing import NDArray

from jupyter_stream.core.messages import Int64s
from jupyter_stream.core.rows import rows_at, values_at

_BITS = 17
_BLOCK = 1 << _BITS
"""Rows of a block: moving half of them takes 2 ms; more blocks make a look-up slower."""
_SPARED = 1024
"""Rows of nobody that a block may hold at any rate."""


_SHARE = 4
"""A block is copied to put rows behind it when they are one in so many."""


class KeyRows:
    """Rows by slot.

    Args:
        schema: names and types of the columns.
    """

    def __init__(self, schema: Mapping[str, pl.DataType]) -> None:
        self._none = pl.DataFrame(schema=dict(schema))
        self._at = np.empty(0, np.int64)  # slot -> number of its block, and place in it
        self.clear()

    def clear(self) -> None:
        """Forget all."""
        self._blocks = [self._none]
        self._sizes: list[int | None] = [None]  # bytes of each block, where they are known
        self._alive = np.zeros(1, np.int64)  # rows of each block that are of a slot still
        self._filled = 0  # the block that rows are put into
        self._unused: list[int] = []  # numbers of blocks that are empty
        self._at = np.empty(0, np.int64)

    @property
    def bytes(self) -> int:
        """Bytes held."""
        for number, size in enumerate(self._sizes):
            if size is None:
                self._sizes[number] = int(self._blocks[number].estimated_size())
        return sum(size for size in self._sizes if size is not None) + self._at.nbytes

    def add(self, rows: pl.DataFrame, slots: Int64s) -> None:
        """Take the rows of new slots."""
        self._at = longer(self._at, int(slots.max()) + 1)
        start = 0
        while start < rows.height:
            block = self._blocks[self._filled]
            if block.height == _BLOCK:
                self._filled = self._unused.pop() if self._unused else self._another()
                continue
            piece = rows[start : start + _BLOCK - block.height]
            first = (self._filled << _BITS) + block.height
            self._at[slots[start : start + piece.height]] = np.arange(first, first + piece.height)
            self._hold(self._filled, _longer_block(block, piece))
            self._alive[self._filled] += piece.height
            start += piece.height

    def _another(self) -> int:
        self._blocks.append(self._none)
        self._sizes.append(None)
        self._alive = np.append(self._alive, 0)
        return len(self._blocks) - 1

    def _hold(self, number: int, block: pl.DataFrame) -> None:
        self._blocks[number], self._sizes[number] = block, None

    def gather(self, slots: Int64s) -> list[pl.Series]:
        """The columns of the given slots."""
        at = self._at[slots]
        if len(self._blocks) == 1:
            return [values_at(column, at) for column in self._blocks[0].get_columns()]
        blocks = at >> _BITS
        order = np.argsort(blocks.astype(np.uint16), kind="stable")  # 16 bits are sorted by radix
        ends = np.cumsum(np.bincount(blocks, minlength=len(self._blocks))).tolist()
        rows = at[order] & _BLOCK - 1
        back = np.empty(order.size, np.int64)
        back[order] = np.arange(order.size)
        columns = []
        for column in range(self._none.width):
            pieces = [
                values_at(block.to_series(column), rows[start:end])
                for block, start, end in zip(self._blocks, [0, *ends[:-1]], ends, strict=True)
                if end > start
            ]
            columns.append(values_at(pl.concat(pieces, rechunk=True), back) if pieces else self._none.to_series(column))
        return columns

    def forget(self, slots: Int64s, live: NDArray[np.bool_]) -> None:
        """Slots have been freed; `live` says which are not. Blocks most of whose rows are nobody's are given up."""
        self._alive -= np.bincount(self._at[slots] >> _BITS, minlength=self._alive.size)
        moved = 0
        for number in np.argsort(self._alive).tolist():
            dead = self._blocks[number].height - int(self._alive[number])
            if dead <= self._alive[number] + _SPARED or moved > slots.size:
                continue
            moved += int(self._alive[number])
            self._give_up(number, live)

    def _give_up(self, number: int, live: NDArray[np.bool_]) -> None:
        """Move what is left of a block behind the rows of another."""
        left = np.flatnonzero((self._at[: live.size] >> _BITS == number) & live)
        rows = rows_at(self._blocks[number], self._at[left] & _BLOCK - 1)
        self._hold(number, self._none)
        self._alive[number] = 0
        if number != self._filled:
            self._unused.append(number)
        if left.size:
            self.add(rows, left)

    def take(self, old: Int64s) -> None:
        """Renumber: what was in slot `old[i]` is now in slot i."""
        self._at = self._at[old]

    def check(self, live: NDArray[np.bool_]) -> None:
        """Raise AssertionError unless each live slot has a row of its own, and blocks know how many of theirs do."""
        at = self._at[np.flatnonzero(live)]
        assert np.unique(at).size == at.size
        assert np.array_equal(np.bincount(at >> _BITS, minlength=len(self._blocks)), self._alive)
        assert all(block.height <= _BLOCK and block.n_chunks() <= 2 for block in self._blocks)
        assert all(not self._blocks[number].height for number in self._unused)


def _longer_block(block: pl.DataFrame, piece: pl.DataFrame) -> pl.DataFrame:
    """A block with more rows behind, in two parts at most: of those that come often and few at a time, the first isn't copied.

    A look-up in two parts takes 30 µs a column longer than in one, and in more than two longer still.
    """
    first, *others = block.to_series(0).chunk_lengths()
    behind = block[first:].vstack(piece).rechunk() if others else piece.rechunk()
    if _SHARE * behind.height >= first:
        return block.vstack(piece).rechunk()
    return block[:first].vstack(behind)


def longer(values: Int64s, size: int) -> Int64s:
    """The same with room for so many; what is new holds anything."""
    if size <= values.size:
        return values
    grown = np.empty(max(1024, 2 * size), np.int64)
    grown[: values.size] = values
    return grown


__all__ = ["KeyRows", "longer"]
