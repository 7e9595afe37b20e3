"""Rows of a relation while they are in it, found by a key or by all their values: what a change costs follows from what it meets.

Rows are numbered as they enter. They are held in pieces, each as large as all after it; hashes likewise, sorted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from jupyter_stream.arrays.rows import columns_of, rows_at, shown, together
from jupyter_stream.core.messages import TS, Bools, Int64s, ints
from jupyter_stream.core.time import MAX_TIME
from jupyter_stream.keys.join_keys import Hashes, canonical

_SPARE: Final = 1_024
"""Entries of rows that have left, beyond as many as there are rows, before hashes are sorted anew."""


@dataclass
class _Piece:
    """Some rows, with their numbers, ascending; `notes` and `alive` are written to."""

    frame: pl.DataFrame
    numbers: Int64s
    notes: Int64s
    alive: Bools
    dead: int = 0

    @property
    def bytes(self) -> int:
        """Bytes held."""
        return int(self.frame.estimated_size()) + self.numbers.nbytes + self.notes.nbytes + self.alive.nbytes

    def living(self) -> _Piece:
        """The rows that have not left."""
        if not self.dead:
            return self
        at = np.flatnonzero(self.alive)
        return _Piece(rows_at(self.frame, at), self.numbers[at], self.notes[at], self.alive[at])

    def and_then(self, other: _Piece) -> _Piece:
        """Those of both that have not left."""
        one, two = self.living(), other.living()
        return _Piece(
            pl.concat([one.frame, two.frame], rechunk=True),
            np.concatenate([one.numbers, two.numbers]),
            np.concatenate([one.notes, two.notes]),
            np.concatenate([one.alive, two.alive]),
        )


class _Hashes:
    """Numbers of rows by hash: sorted runs, each at least twice as long as the next."""

    def __init__(self) -> None:
        self._runs: list[tuple[Hashes, Int64s]] = []
        self.entries = 0

    @property
    def bytes(self) -> int:
        """Bytes held."""
        return 16 * self.entries

    def add(self, hashes: Hashes, numbers: Int64s) -> None:
        """Enter rows."""
        order = np.argsort(hashes, kind="stable")
        self._runs.append((hashes[order], numbers[order]))
        self.entries += numbers.size
        while len(self._runs) > 1 and self._runs[-2][1].size < 2 * self._runs[-1][1].size:
            (one, first), (two, second) = self._runs[-2:]
            both = np.concatenate([one, two])
            order = np.argsort(both, kind="stable")  # merges what is sorted
            self._runs[-2:] = [(both[order], np.concatenate([first, second])[order])]

    def find(self, hashes: Hashes) -> Int64s:
        """The rows with one of the hashes, which are distinct."""
        found = [np.empty(0, np.int64)]
        for held, numbers in self._runs:
            begin, end = np.searchsorted(held, hashes, "left"), np.searchsorted(held, hashes, "right")
            many = end - begin
            starts = np.cumsum(many) - many
            found.append(numbers[np.arange(int(many.sum())) + np.repeat(begin - starts, many)])
        return np.concatenate(found)


class KeyedRows:
    """Rows that are in a relation, each with a number to its name that is written to (a note).

    Args:
        schema: names and types of the rows' columns; `$ts`, since when they are in it, comes with them.
        key: the columns of the key. Without any, all rows have the same.
        by_values: whether rows equal to others are found by a hash of all columns, rather than among those of their key.
    """

    def __init__(self, schema: Mapping[str, pl.DataType], key: Sequence[str], by_values: bool = True) -> None:
        self._names = [*schema, TS]
        self._empty = pl.DataFrame(schema={**schema, TS: pl.Int64()})
        # what has no hash is not asked for it: more rows are found, all of which are compared
        plain = [n for n, dtype in schema.items() if not dtype.is_nested() and dtype != pl.Object]
        self._by = ([n for n in key if n in plain], plain if by_values else [])
        self._clear()

    def _clear(self) -> None:
        self._pieces: list[_Piece] = []
        self._hashes = (_Hashes(), _Hashes())
        self.rows = 0
        self.next = getattr(self, "next", 0)
        """The number of the row that enters next."""
        self.looked = getattr(self, "looked", 0)
        """Rows ever looked at."""

    @property
    def bytes(self) -> int:
        """Bytes held."""
        return sum(p.bytes for p in self._pieces) + sum(h.bytes for h in self._hashes)

    @property
    def oldest(self) -> int:
        """Since when the first of them is in it; `MAX_TIME` without any."""
        times = (ints(p.frame.get_column(TS))[p.alive] for p in self._pieces)
        return min((int(t.min()) for t in times if t.size), default=MAX_TIME)

    @property
    def numbers(self) -> Int64s:
        """Those of all rows, ascending."""
        return np.concatenate([np.empty(0, np.int64), *(p.numbers[p.alive] for p in self._pieces)])

    def add(self, rows: pl.DataFrame) -> Int64s:
        """Rows enter, with 0 as their note; gives their numbers."""
        numbers = np.arange(self.next, self.next + rows.height)
        if not rows.height:
            return numbers
        self.next += rows.height
        self.rows += rows.height
        rows = columns_of(rows, self._names)
        self._pieces.append(_Piece(rows, numbers, np.zeros(numbers.size, np.int64), np.ones(numbers.size, np.bool_)))
        while len(self._pieces) > 1 and self._pieces[-2].numbers.size < 2 * self._pieces[-1].numbers.size:
            self._pieces[-2:] = [self._pieces[-2].and_then(self._pieces[-1])]
        for by, index in zip(self._by, self._hashes, strict=True):
            if by:
                index.add(_hashes(rows, by), numbers)
        return numbers

    def head(self, most: int) -> pl.DataFrame:
        """The oldest of the rows."""
        return shown((p.living().frame for p in self._pieces), most)

    def with_key(self, rows: pl.DataFrame) -> Int64s:
        """Numbers, ascending, of the rows that have one of these rows' keys; others may be among them."""
        return self._like(rows, 0)

    def equal_to(self, rows: pl.DataFrame) -> Int64s:
        """Numbers, ascending, of the rows that are equal to one of these; others may be among them."""
        return self._like(rows, 1 if self._by[1] else 0)

    def _like(self, rows: pl.DataFrame, which: int) -> Int64s:
        by, index = self._by[which], self._hashes[which]
        if not rows.height:
            return np.empty(0, np.int64)
        if not by:
            numbers = self.numbers
        else:
            numbers = np.sort(index.find(np.unique(_hashes(rows, by))))
            there = [piece.numbers[at] for piece, at, _ in self._found(numbers)]
            numbers = np.concatenate(there) if there else np.empty(0, np.int64)
        self.looked += numbers.size
        return numbers

    def _found(self, numbers: Int64s) -> Iterator[tuple[_Piece, Int64s, slice]]:
        """Where rows are, of numbers that ascend; those that have left are passed over."""
        for piece in self._pieces:
            first, end = np.searchsorted(numbers, [piece.numbers[0], piece.numbers[-1] + 1])
            if first == end:
                continue
            at = np.searchsorted(piece.numbers, numbers[first:end])
            there = (piece.numbers[at] == numbers[first:end]) & piece.alive[at]
            yield piece, at[there], slice(int(first), int(end))

    def at(self, numbers: Int64s) -> tuple[pl.DataFrame, Int64s]:
        """The rows of those numbers, which ascend and are all here, and their notes."""
        frames, notes = [], []
        for piece, at, _ in self._found(numbers):
            frames.append(rows_at(piece.frame, at))
            notes.append(piece.notes[at])
        return (together(frames), np.concatenate(notes)) if frames else (self._empty, np.empty(0, np.int64))

    def note(self, numbers: Int64s, notes: Int64s) -> None:
        """Write the notes of rows whose numbers ascend and are all here."""
        for piece, at, where in self._found(numbers):
            piece.notes[at] = notes[where]

    def remove(self, numbers: Int64s) -> None:
        """Rows leave; their numbers ascend and are all here."""
        for piece, at, _ in list(self._found(numbers)):
            piece.alive[at] = False
            piece.dead += at.size
        self.rows -= numbers.size
        if not self.rows:
            self._clear()
            return
        if any(2 * p.dead > p.numbers.size for p in self._pieces):
            pieces = [p.living() if 2 * p.dead > p.numbers.size else p for p in self._pieces]
            self._pieces = [p for p in pieces if p.numbers.size]
        if any(h.entries > 2 * self.rows + _SPARE for h in self._hashes):
            self._sort_anew()

    def _sort_anew(self) -> None:
        self._hashes = (_Hashes(), _Hashes())
        for piece in self._pieces:
            for by, index in zip(self._by, self._hashes, strict=True):
                if by:
                    index.add(_hashes(piece.frame, by)[piece.alive], piece.numbers[piece.alive])

    def check(self) -> None:
        """Raise AssertionError where an invariant is broken."""
        numbers = np.concatenate([np.empty(0, np.int64), *(p.numbers for p in self._pieces)])
        assert (np.diff(numbers) > 0).all()
        alive = self.numbers
        assert alive.size == self.rows
        rows, _ = self.at(alive)
        assert np.array_equal(self.equal_to(rows), alive)
        assert np.array_equal(self.with_key(rows), alive)


def _hashes(rows: pl.DataFrame, names: Sequence[str]) -> Hashes:
    """The same for rows that are equal in these columns, NULLs being equal to each other."""
    return pl.DataFrame([canonical(rows.get_column(n)) for n in names]).hash_rows(seed=0).to_numpy()


__all__ = ["KeyedRows"]
