"""How long an operator works before it rests, so that input never waits long for output.

By the clock rather than by rows: what a group costs goes by its key, by what is computed of it and by what takes the answers.
"""

from __future__ import annotations

import time

SECONDS = 0.008
"""Of a stint. Work goes on until it is over, so a piece of work should take a good deal less."""


class Stint:
    """The work between two rests, which begins now.

    Args:
        least: pieces of work to do at any rate, so that little work is never interrupted.
    """

    def __init__(self, least: int) -> None:
        self._least = least
        self.begin()

    def begin(self) -> None:
        """Begin anew: the rest is over."""
        self._done, self._end = 0, time.perf_counter() + SECONDS

    def over(self, pieces: int) -> bool:
        """Whether it is time to rest, after so many more pieces of work."""
        self._done += pieces
        return self._done >= self._least and time.perf_counter() >= self._end


__all__ = ["Stint"]
