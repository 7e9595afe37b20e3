"""Values of a join's key columns, row by row: their hashes, and whether two rows' values are the same.

A hash finds candidates, the values decide: equality is exact. Rows with a NULL among their keys never come here.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from jupyter_stream.arrays.rows import values_at
from jupyter_stream.arrays.two_threads import in_parallel
from jupyter_stream.core.messages import Bools, Int64s, ints
from jupyter_stream.keys.key_words import KeyWords

Hashes: TypeAlias = NDArray[np.uint64]

_BLOCK: Final = 65_536
"""Rows mixed at a time, by one of two threads, so that they stay in the processor's cache."""
_HALF: Final = np.uint64(32)
_ODD: Final = np.uint64(0x9E3779B97F4A7C15)
_OTHER_ODD: Final = np.uint64(0xBF58476D1CE4E5B9)


class JoinKeys:
    """Keys of some rows.

    Args:
        columns: one for each key: integers and times as int64, anything else as it is.
        rows: how many rows.
        hashes: those of the rows, where they are known.
        words: how `columns` hold what the keys were, if these are several in one.
    """

    def __init__(
        self,
        columns: tuple[Int64s | pl.Series, ...],
        rows: int,
        hashes: Hashes | None = None,
        words: KeyWords | None = None,
    ) -> None:
        self.columns, self.rows, self._hashes, self.words = columns, rows, hashes, words

    @classmethod
    def of(cls, columns: Sequence[pl.Series], rows: int) -> JoinKeys:
        """The keys. Without a column all rows have the same key."""
        normal = [canonical(c) for c in columns]
        return cls(tuple(ints(c) if _is_number(c.dtype) else c for c in normal), rows)

    def and_one(self, numbers: Int64s) -> JoinKeys:
        """The keys with one more behind, integers."""
        return JoinKeys((*self.columns, numbers), self.rows)

    @property
    def numbers(self) -> tuple[Int64s, ...] | None:
        """The columns, if all are integers or times."""
        numbers = tuple(c for c in self.columns if isinstance(c, np.ndarray))
        return numbers if len(numbers) == len(self.columns) else None

    def key(self, number: int) -> Int64s | pl.Series:
        """One of the keys, of all rows."""
        if self.words is None:
            return self.columns[number]
        assert self.numbers is not None
        return self.words.column(number, self.numbers)

    def packed(self, words: KeyWords | None) -> JoinKeys | None:
        """The same keys, all integers, in words, or each in a column; None where a value has no room."""
        if self.words == words:
            return self
        numbers = self.numbers
        assert numbers is not None
        if self.words is not None:
            numbers = tuple(self.words.column(n, numbers) for n in range(len(self.words.bits)))
        if words is None:
            return JoinKeys(numbers, self.rows)
        packed = words.packed(numbers)
        return None if packed is None else JoinKeys(packed, self.rows, None, words)

    @property
    def hashes(self) -> Hashes:
        """A number for each row, the same for the same key. Computed when somebody asks."""
        if self._hashes is None:
            numbers = self.numbers
            if not self.columns:
                self._hashes = np.zeros(self.rows, np.uint64)
            elif numbers is not None:
                self._hashes = _mixed(numbers)
            else:
                frame = pl.DataFrame([pl.Series(f"{i}", c) for i, c in enumerate(self.columns)])
                self._hashes = frame.hash_rows(seed=0).to_numpy()
        return self._hashes

    @property
    def bytes(self) -> int:
        """Bytes held."""
        known = 0 if self._hashes is None else self._hashes.nbytes
        return known + sum(c.nbytes if isinstance(c, np.ndarray) else int(c.estimated_size()) for c in self.columns)

    def limits(self, key: int, values: pl.Series, limits: Int64s, without: int) -> Int64s:
        """For each row the limit of its value in one of the columns; `without` for a value that has none."""
        column, wanted = self.key(key), canonical(values)
        if isinstance(column, np.ndarray):
            column, wanted = pl.Series(column), pl.Series(ints(wanted))
        known = pl.DataFrame({"k": wanted, "limit": limits})
        found = pl.DataFrame({"k": column}).join(known, on="k", how="left", maintain_order="left")
        return ints(found.get_column("limit").fill_null(without))

    def filter(self, kept: Bools) -> JoinKeys:
        """Some of the rows."""
        return self.at(np.flatnonzero(kept))

    def at(self, rows: Int64s) -> JoinKeys:
        """The rows of those numbers, in that order."""
        columns = tuple(c.take(rows) if isinstance(c, np.ndarray) else values_at(c, rows) for c in self.columns)
        return JoinKeys(columns, rows.size, None if self._hashes is None else self._hashes.take(rows), self.words)

    def append(self, other: JoinKeys) -> JoinKeys:
        """These rows, then the other's, which are in the same words."""
        columns: list[Int64s | pl.Series] = []
        for one, two in zip(self.columns, other.columns, strict=True):
            if isinstance(one, np.ndarray) and isinstance(two, np.ndarray):
                columns.append(np.concatenate([one, two]))
            else:
                assert isinstance(one, pl.Series)
                assert isinstance(two, pl.Series)
                columns.append(one.clone().append(two).rechunk())
        hashes = None
        if self._hashes is not None and other._hashes is not None:
            hashes = np.concatenate([self._hashes, other._hashes])
        return JoinKeys(tuple(columns), self.rows + other.rows, hashes, self.words)

    def same(
        self, at: Int64s, other: JoinKeys, at_other: Int64s, settled: frozenset[int] = frozenset()
    ) -> Bools | None:
        """Whether rows `at` of these have the keys of rows `at_other` of the other ones; None where all have.

        Args:
            at: rows of these.
            other: the other ones.
            at_other: as many rows of theirs.
            settled: columns, by number, that are known to be equal.
        """
        same: Bools | None = None
        for number, (one, two) in enumerate(zip(self.columns, other.columns, strict=True)):
            if number in settled:
                continue
            if isinstance(one, np.ndarray) and isinstance(two, np.ndarray):
                equal = one.take(at) == two.take(at_other)
            else:
                assert isinstance(one, pl.Series)
                assert isinstance(two, pl.Series)
                equal = (values_at(one, at) == values_at(two, at_other)).to_numpy()
            same = equal if same is None else same & equal
        return same


def _mixed(numbers: Sequence[Int64s]) -> Hashes:
    """Hashes of rows of integers: 2 ns for each, where Polars' hashes take 5."""
    mixed = np.zeros(numbers[0].size, np.uint64)

    def mix(begin: int) -> None:
        some = mixed[begin : begin + _BLOCK]
        for column in numbers:
            some ^= some >> _HALF
            some += column[begin : begin + _BLOCK].view(np.uint64)
            some *= _ODD
        some ^= some >> _HALF
        some *= _OTHER_ODD

    in_parallel([partial(mix, begin) for begin in range(0, mixed.size, _BLOCK)])
    return mixed


def _is_number(dtype: pl.DataType) -> bool:
    return dtype.is_integer() or dtype.is_temporal() or isinstance(dtype, pl.Boolean)


def canonical(column: pl.Series) -> pl.Series:
    """Floats with one zero and one NaN, so that equal values have equal hashes."""
    return (column + 0.0).fill_nan(float("nan")) if column.dtype.is_float() else column
