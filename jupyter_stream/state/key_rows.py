"""Values of grouping columns that are no single integers, by slot: rows of a frame, which is compacted as slots are freed."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl
from numpy.typing import NDArray

from jupyter_stream.core.messages import Int64s
from jupyter_stream.core.rows import values_at

_COMPACT_ABOVE = 1024
_PIECES = 8


class KeyRows:
    """Rows by slot.

    Args:
        schema: names and types of the columns.
    """

    def __init__(self, schema: Mapping[str, pl.DataType]) -> None:
        self._frame = pl.DataFrame(schema=dict(schema))
        self._at = np.empty(0, np.int64)  # slot -> row of the frame

    @property
    def bytes(self) -> int:
        """Bytes held."""
        return int(self._frame.estimated_size()) + self._at.nbytes

    def clear(self) -> None:
        """Forget all."""
        self._frame = self._frame.clear()
        self._at = np.empty(0, np.int64)

    def add(self, rows: pl.DataFrame, slots: Int64s) -> None:
        """Take the rows of new slots."""
        self._at = longer(self._at, int(slots.max()) + 1)
        self._at[slots] = np.arange(self._frame.height, self._frame.height + rows.height)
        self._frame = self._frame.vstack(rows)

    def gather(self, slots: Int64s) -> list[pl.Series]:
        """The columns of the given slots."""
        if self._frame.n_chunks() > _PIECES:
            self._frame = self._frame.rechunk()
        rows = self._at[slots]
        return [values_at(column, rows) for column in self._frame.get_columns()]

    def compact(self, live: NDArray[np.bool_], count: int) -> None:
        """Forget rows of freed slots, once they are the larger part. `live` says which slots are not, `count` how many."""
        if self._frame.height <= 2 * count + _COMPACT_ABOVE:
            return
        kept = np.flatnonzero(live)
        self._frame = self._frame[pl.Series(self._at[kept])].rechunk()
        self._at[kept] = np.arange(kept.size)

    def take(self, old: Int64s) -> None:
        """Renumber: what was in slot `old[i]` is now in slot i."""
        self._at = self._at[old]


def longer(values: Int64s, size: int) -> Int64s:
    """The same with room for so many; what is new holds anything."""
    if size <= values.size:
        return values
    grown = np.empty(max(1024, 2 * size), np.int64)
    grown[: values.size] = values
    return grown


__all__ = ["KeyRows", "longer"]
