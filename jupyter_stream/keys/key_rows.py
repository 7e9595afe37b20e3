"""Values of grouping columns that are no single integers, by slot: rows in blocks, of which none is ever too large to be moved.

A look-up in a million rows may take no longer for the growth of the rest: nothing here takes time by all rows held but one look
over the slots' places.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from jupyter_stream.arrays.rows import columns_at, in_one_piece, rows_at, rows_where, together
from jupyter_stream.core.messages import Int64s
from jupyter_stream.core.schema import empty

S = TypeVar("S", np.int64, np.int32, np.bool_)

_BITS = 17
_BLOCK = 1 << _BITS
"""Rows of a block: moving half of them takes 2 ms; more blocks make a look-up slower."""
_SPARED = 1024
"""Rows of nobody that a block may hold at any rate."""


_MEASURED = 16
"""A block's bytes are counted again when it has grown or shrunk by one row in so many: a count goes through all its text."""
_FEW, _FEW_BLOCKS = 8_192, 8
"""Rows looked up in so few blocks as if these were one: that takes longer for each, and there are fewer steps."""
_SHARE = 4
"""A block is copied to put rows behind it when they are one in so many."""


class KeyRows:
    """Rows by slot.

    Args:
        schema: names and types of the columns.
    """

    def __init__(self, schema: Mapping[str, pl.DataType]) -> None:
        self._none = empty(schema)
        self._at = np.empty(0, np.int32)  # slot -> its place: the number of its block, then where in it
        self.clear()

    def clear(self) -> None:
        """Forget all."""
        self._blocks = [self._none]
        self._sizes: list[tuple[int, int]] = [(0, 0)]  # rows each block had when it was measured, and their bytes
        self._owner = np.empty(0, np.int32)  # place -> the slot whose row it is
        self._used = np.empty(0, np.bool_)  # place -> whether it is a slot's still
        self._alive = np.zeros(1, np.int64)  # rows of each block that are of a slot still
        self._filled = 0  # the block that rows are put into
        self._with_room: list[int] = []  # numbers of blocks that are not full either
        self._at = np.empty(0, np.int32)

    @property
    def bytes(self) -> int:
        """Bytes held."""
        held = 0
        for number, block in enumerate(self._blocks):
            rows, size = self._sizes[number]
            if abs(block.height - rows) > rows // _MEASURED:
                rows, size = self._sizes[number] = block.height, int(block.estimated_size())
            held += size * block.height // max(1, rows)
        return held + self._at.nbytes + self._owner.nbytes + self._used.nbytes

    def add(self, rows: pl.DataFrame, slots: Int64s) -> None:
        """Take the rows of new slots."""
        self._at = longer(self._at, int(slots.max()) + 1)
        start = 0
        while start < rows.height:
            block = self._blocks[self._filled]
            if block.height == _BLOCK:
                self._filled = self._with_room.pop() if self._with_room else self._another()
                continue
            piece = rows[start : start + _BLOCK - block.height]
            first = (self._filled << _BITS) + block.height
            self._place(slots[start : start + piece.height], first)
            self._blocks[self._filled] = _longer_block(block, piece)
            self._alive[self._filled] += piece.height
            start += piece.height

    def _place(self, slots: Int64s, first: int) -> None:
        """The rows of these slots are from that place on."""
        end = first + slots.size
        self._owner, self._used = longer(self._owner, end), longer(self._used, end)
        self._at[slots] = np.arange(first, end)
        self._owner[first:end], self._used[first:end] = slots, True

    def _another(self) -> int:
        self._blocks.append(self._none)
        self._sizes.append((0, 0))
        self._alive = np.append(self._alive, 0)
        return len(self._blocks) - 1

    def gather(self, slots: Int64s) -> list[pl.Series]:
        """The columns of the given slots."""
        at = self._at[slots].astype(np.int64)
        if len(self._blocks) == 1:
            return columns_at(self._blocks[0], at)
        blocks = at >> _BITS
        if at.size <= _FEW and len(self._blocks) <= _FEW_BLOCKS:
            starts = np.cumsum([0, *(block.height for block in self._blocks)])
            return columns_at(together(self._blocks, most=_FEW_BLOCKS * 2), starts[blocks] + (at & _BLOCK - 1))
        order = np.argsort(blocks.astype(np.uint16), kind="stable")  # 16 bits are sorted by radix
        ends = np.cumsum(np.bincount(blocks, minlength=len(self._blocks))).tolist()
        rows = at[order] & _BLOCK - 1
        back = np.empty(order.size, np.int64)
        back[order] = np.arange(order.size)
        pieces = [
            rows_at(block, rows[start:end])
            for block, start, end in zip(self._blocks, [0, *ends[:-1]], ends, strict=True)
            if end > start
        ]
        return columns_at(in_one_piece(together(pieces)), back) if pieces else self._none.get_columns()

    def forget(self, slots: Int64s) -> None:
        """Slots have been freed. Of blocks most of whose rows are nobody's, the rest is kept."""
        places = self._at[slots]
        self._used[places] = False
        self._alive -= np.bincount(places >> _BITS, minlength=self._alive.size)
        moved = 0
        for number in np.argsort(self._alive).tolist():
            dead = self._blocks[number].height - int(self._alive[number])
            if dead <= self._alive[number] + _SPARED or moved > slots.size:
                continue
            moved += int(self._alive[number])
            self._shorten(number)

    def _shorten(self, number: int) -> None:
        """Keep of a block what is a slot's; there is room behind it then."""
        block, first = self._blocks[number], number << _BITS
        kept = self._used[first : first + block.height].copy()
        owners = self._owner[first : first + block.height][kept].astype(np.int64)
        self._used[first : first + block.height] = False
        self._place(owners, first)
        self._blocks[number] = rows_where(block, kept).rechunk() if owners.size else self._none
        if number != self._filled and number not in self._with_room:
            self._with_room.append(number)

    def take(self, old: Int64s) -> None:
        """Renumber: what was in slot `old[i]` is now in slot i."""
        self._at = self._at[old]
        self._owner[self._at] = np.arange(old.size)

    def check(self, live: NDArray[np.bool_]) -> None:
        """Raise AssertionError unless each live slot has a row of its own, and blocks know how many of theirs do."""
        at = self._at[np.flatnonzero(live)]
        assert np.unique(at).size == at.size
        assert np.array_equal(np.bincount(at >> _BITS, minlength=len(self._blocks)), self._alive)
        assert all(block.height <= _BLOCK and block.n_chunks() <= 2 for block in self._blocks)
        room = [self._filled, *self._with_room]
        assert len(set(room)) == len(room)
        assert all(block.height == _BLOCK or number in room for number, block in enumerate(self._blocks))
        assert np.array_equal(self._owner[at], np.flatnonzero(live))
        assert self._used[at].all() and np.count_nonzero(self._used) == at.size


def _longer_block(block: pl.DataFrame, piece: pl.DataFrame) -> pl.DataFrame:
    """A block with more rows behind, in two parts at most: of those that come often and few at a time, the first isn't copied.

    A look-up in two parts takes 30 µs a column longer than in one, and in more than two longer still.
    """
    first, *others = block.to_series(0).chunk_lengths()
    behind = in_one_piece(block[first:].vstack(piece) if others else piece)
    if _SHARE * behind.height >= first:
        return block.vstack(piece).rechunk()
    return block[:first].vstack(behind)


def longer(values: NDArray[S], size: int) -> NDArray[S]:
    """The same with room for so many, and a quarter more; what is new is 0."""
    if size <= values.size:
        return values
    grown = np.zeros(max(1024, size + size // 4), values.dtype)
    grown[: values.size] = values
    return grown


__all__ = ["KeyRows", "longer"]
