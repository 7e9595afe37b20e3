"""Draws from a seed, and makes what was drawn smaller while it goes on failing. Not for what is drawn.

A case is made from a list of numbers, its choices; 0 is the simplest choice everywhere. So any list of numbers makes a case, and
a failing one is shrunk by leaving out numbers and lowering them, without a word about what they stand for.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


class Draw:
    """Choices from a seed, or those of an earlier drawing: past their end all are 0.

    Attributes:
        made: the choices so far.
    """

    def __init__(self, source: int | str | Sequence[int]) -> None:
        self._given: Sequence[int] | None = None if isinstance(source, int | str) else source
        self._random = random.Random(source) if isinstance(source, int | str) else random.Random(0)
        self.made: list[int] = []

    def below(self, count: int) -> int:
        """A number from 0 to `count` - 1."""
        if self._given is None:
            choice = self._random.randrange(count)
        else:
            choice = self._given[len(self.made)] % count if len(self.made) < len(self._given) else 0
        self.made.append(choice)
        return choice

    def pick(self, options: Sequence[T]) -> T:
        """One of them; the first is the simplest."""
        return options[self.below(len(options))]

    def chance(self, percent: int) -> bool:
        """True so often; false is simpler."""
        return self.below(100) >= 100 - percent

    def subset(self, options: Sequence[T], least: int, most: int) -> list[T]:
        """So many of them, in their order."""
        count = least + self.below(min(most, len(options)) - least + 1)
        left = list(range(len(options)))
        taken = sorted(left.pop(self.below(len(left))) for _ in range(count))
        return [options[i] for i in taken]


def shrunk(choices: Sequence[int], fails: Callable[[Sequence[int]], bool], tries: int = 1_500) -> list[int]:
    """Fewer and lower choices that fail still. Asks `fails` at most `tries` times."""
    best = list(choices)
    left = tries

    def better(candidate: list[int]) -> bool:
        nonlocal best, left
        if left == 0 or candidate == best:
            return False
        left -= 1
        if not fails(candidate):
            return False
        best = candidate
        return True

    before: list[int] = []
    while best != before and left:
        before = best
        size = max(len(best) // 2, 1)
        while size:
            start = 0
            while start < len(best):
                end = start + size
                if not better(best[:start] + best[end:]) and not (
                    any(best[start:end]) and better(best[:start] + [0] * len(best[start:end]) + best[end:])
                ):
                    start = end
            size //= 2
        for i in range(len(best)):
            for lower in (best[i] // 2, best[i] - 1) if i < len(best) else ():
                if lower >= 0:
                    better([*best[:i], lower, *best[i + 1 :]])
    return best
