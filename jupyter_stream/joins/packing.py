"""The words that a join's integer keys are in: of the rows kept of both its sides, and of those that come."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from jupyter_stream.joins.runs import Runs
from jupyter_stream.keys.join_keys import JoinKeys
from jupyter_stream.keys.key_words import KeyWords

_MANY: Final = 3
"""From so many integer keys on they are put in fewer words."""


class Packing:
    """Chooses words by the values that have come, and others when values come that have no room.

    Args:
        sides: the rows kept.
    """

    def __init__(self, sides: Sequence[Runs]) -> None:
        self._sides = sides
        self._pays = True
        self._words: KeyWords | None = None
        self._ranges: list[tuple[int, int]] = []

    def foreseen(self, keys: JoinKeys) -> JoinKeys | None:
        """Keys of rows that are to come, in the words there are now; None where others may have to be chosen. Changes nothing."""
        numbers, words = keys.numbers, self._words
        if numbers is None or len(numbers) < _MANY or not self._pays:
            return keys
        return None if words is None else keys.packed(words)

    def holds(self, keys: JoinKeys) -> bool:
        """Whether foreseen keys are in the form that all rows kept are in."""
        return keys.words is self._words

    def packed(self, keys: JoinKeys) -> JoinKeys:
        """Keys of new rows, in the same form as those of all rows kept."""
        numbers = keys.numbers
        if numbers is None or len(numbers) < _MANY or not self._pays:
            return keys
        packed = None if self._words is None else keys.packed(self._words)
        if packed is not None:
            return packed
        # values without room, or the first of all
        ranges = [(int(c.min()), int(c.max())) for c in numbers]
        if self._ranges:
            ranges = [(min(a, c), max(b, d)) for (a, b), (c, d) in zip(self._ranges, ranges, strict=True)]
        self._ranges, self._words = ranges, KeyWords.of(ranges)
        self._pays = self._words is not None
        for side in self._sides:
            side.pack(self._words)
        packed = keys.packed(self._words)
        assert packed is not None
        return packed


__all__ = ["Packing"]
