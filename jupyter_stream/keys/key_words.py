"""Several integer keys of a row in as few 64-bit words as their values allow: less to keep, to hash and to compare.

Exact: a word says what the values are. When values come that have no room, everything kept is put in words anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from jupyter_stream.arrays.two_threads import in_parallel
from jupyter_stream.core.messages import Int64s

_WORD: Final = 64
_SPARE: Final = 2
"""Bits for values below and above those that have come: four times as many have room."""
_BLOCK: Final = 32_768
"""Rows put in words at a time, so that they stay in the processor's cache,"""
_PIECE: Final = 2 * _BLOCK
"""and by one of two threads."""


@dataclass(frozen=True)
class KeyWords:
    """How columns are put in words.

    Attributes:
        bases: of each column the least value that has room.
        bits: how many bits each has.
        words: the columns of each word, by number, those in its upper bits first.
    """

    bases: tuple[int, ...]
    bits: tuple[int, ...]
    words: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, ranges: Sequence[tuple[int, int]]) -> KeyWords | None:
        """Words for columns of these least and greatest values; None where there would be as many words as columns."""
        bits = [min(_WORD, (high - low).bit_length() + _SPARE) for low, high in ranges]
        bases = [0 if b == _WORD else low - (1 << (b - _SPARE)) for b, (low, _) in zip(bits, ranges, strict=True)]
        words: list[list[int]] = []
        for column in sorted(range(len(bits)), key=lambda c: -bits[c]):
            word = next((w for w in words if sum(bits[c] for c in w) + bits[column] <= _WORD), None)
            if word is None:
                words.append(word := [])
            word.append(column)
        if len(words) == len(bits):
            return None
        return cls(tuple(bases), tuple(bits), tuple(tuple(w) for w in words))

    def packed(self, columns: Sequence[Int64s]) -> tuple[Int64s, ...] | None:
        """The words of some rows; None where a value has no room."""
        rows = columns[0].size
        words = [np.empty(rows, np.uint64) for _ in self.words]

        def pack(begin: int) -> bool:
            return all(
                self._pack(columns, words, at, min(rows, begin + _PIECE))
                for at in range(begin, min(rows, begin + _PIECE), _BLOCK)
            )

        fits = in_parallel([partial(pack, begin) for begin in range(0, rows, _PIECE)])
        return tuple(word.view(np.int64) for word in words) if all(fits) else None

    def _pack(self, columns: Sequence[Int64s], words: Sequence[NDArray[np.uint64]], begin: int, end: int) -> bool:
        """Fill in the words of a block of rows; false if a value has no room."""
        end = min(end, begin + _BLOCK)
        for word, numbers in zip(words, self.words, strict=True):
            some = word[begin:end]
            for place, number in enumerate(numbers):
                part = (columns[number][begin:end] - _wrapped(self.bases[number])).view(np.uint64)
                bits = self.bits[number]
                if bits < _WORD and int(part.max()) >> bits:
                    return False
                if place:
                    some <<= np.uint64(bits)
                    some |= part
                else:
                    some[:] = part
        return True

    def column(self, number: int, words: Sequence[Int64s]) -> Int64s:
        """One of the columns again."""
        at = next(i for i, numbers in enumerate(self.words) if number in numbers)
        after = self.words[at][self.words[at].index(number) + 1 :]
        value = words[at].view(np.uint64) >> np.uint64(sum(self.bits[n] for n in after))
        if self.bits[number] < _WORD:
            value &= np.uint64((1 << self.bits[number]) - 1)
        found: Int64s = value.view(np.int64) + _wrapped(self.bases[number])
        return found


def _wrapped(base: int) -> np.int64:
    """Modulo 2^64, as differences are."""
    return np.uint64(base % (1 << _WORD)).view(np.int64)


__all__ = ["KeyWords"]
