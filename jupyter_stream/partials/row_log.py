"""Rows in the order they were appended, found by number; old ones are left out now and then. Knows no time and no partition."""

from __future__ import annotations

import numpy as np
import polars as pl

from jupyter_stream.arrays.growing import Doubling
from jupyter_stream.arrays.rows import bytes_of, in_one_piece, rows_at
from jupyter_stream.core.messages import Int64s

_FEW = 4_096
"""Rows that may be held without need, besides as many as there are."""


class RowLog:
    """Rows by number, from 0.

    Pieces of about one size are put together, so that there are no more than the logarithm of the rows, and each row is copied
    as often.
    """

    def __init__(self) -> None:
        self._pieces: list[pl.DataFrame] = []
        self._doubling = Doubling(_FEW)
        self.size = 0

    @property
    def bytes(self) -> int:
        """Bytes held."""
        return bytes_of(self._pieces)

    def append(self, rows: pl.DataFrame) -> Int64s:
        """Put rows behind the last; their numbers."""
        numbers = np.arange(self.size, self.size + rows.height)
        self.size += rows.height
        self._pieces.append(rows)
        pieces = self._pieces
        while len(pieces) > 1 and pieces[-1].height >= pieces[-2].height:
            last = pieces.pop()
            pieces[-1] = in_one_piece(pieces[-1].vstack(last))
        return numbers

    def rows(self, numbers: Int64s) -> pl.DataFrame:
        """The rows of those numbers, in that order."""
        starts = np.cumsum([0, *(p.height for p in self._pieces)])
        if not numbers.size:
            return self._pieces[0].clear()
        which = np.searchsorted(starts, numbers, "right") - 1
        some = np.unique(which).tolist()
        if len(some) == 1:
            return rows_at(self._pieces[some[0]], numbers - starts[some[0]])
        found = []
        for piece in some:
            found.append(rows_at(self._pieces[piece], numbers[which == piece] - starts[piece]))
        rows = in_one_piece(pl.concat(found))
        if (which[1:] >= which[:-1]).all():
            return rows
        order = np.argsort(which, kind="stable")
        back = np.empty(order.size, np.int64)
        back[order] = np.arange(order.size)
        return rows_at(rows, back)

    @property
    def due(self) -> bool:
        """Whether it is time to look which rows are needed."""
        return self._doubling.due(self.size)

    def keep(self, numbers: Int64s) -> None:
        """Leave all others out: these are 0, 1, ... from now on."""
        self._pieces = [self.rows(numbers)] if self._pieces else []
        self.size = numbers.size
        self._doubling.looked(self.size)


__all__ = ["RowLog"]
