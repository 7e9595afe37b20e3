"""What a piece of work costs, learnt from what it took: so much each time, and so much for each of what it is about."""

from __future__ import annotations

from math import sqrt
from typing import Final

_KEPT: Final = 0.8
"""How much of what was measured before counts, each time more is: five measurements or so."""
_ALIKE: Final = 0.05
"""Pieces whose sizes differ by less than this share of their mean don't tell what each time costs."""
_LEAP: Final = 2.0
"""What took so many times as much as expected is an outlier at first: it counts as that."""


class Cost:
    """Nanoseconds that a piece of work takes by its size: a line through the last few measurements.

    By least squares, newer ones counting more, neither part below 0. Where all were of about one size, half is taken to be
    what each time costs.

    Args:
        guess: nanoseconds for each, before any was measured.
    """

    def __init__(self, guess: float) -> None:
        self.known = False
        """Whether any was measured."""
        self.most = 0.0
        """The greatest of the sizes measured, older ones counting less: of much greater ones nothing is known."""
        self._guess = guess
        self._n = self._x = self._y = self._xx = self._xy = 0.0

    def took(self, size: float, nanoseconds: float) -> None:
        """A piece of that size, above 0, was done.

        One that took far longer than expected counts as some times that: a stall that had nothing to do with it is soon
        forgotten, and what does cost more is soon known.
        """
        size, nanoseconds = max(size, 1.0), max(nanoseconds, 0.0)
        if self.known and size <= self.most:
            nanoseconds = min(nanoseconds, _LEAP * max(self.of(size), 1.0))
        self.known = True
        self.most = max(size, self.most * sqrt(_KEPT))
        self._n, self._x, self._y = (_KEPT * a + b for a, b in ((self._n, 1), (self._x, size), (self._y, nanoseconds)))
        self._xx, self._xy = _KEPT * self._xx + size * size, _KEPT * self._xy + size * nanoseconds

    @property
    def line(self) -> tuple[float, float]:
        """What each time costs, and what each of it does, nanoseconds."""
        if not self.known:
            return 0.0, self._guess
        mean, height = self._x / self._n, self._y / self._n
        spread = self._xx / self._n - mean * mean
        if spread < (_ALIKE * mean) ** 2:
            return height / 2, height / 2 / mean
        slope = (self._xy / self._n - mean * height) / spread
        slope = min(max(slope, 0.0), height / mean)
        return height - slope * mean, slope

    def of(self, size: float) -> float:
        """What so much is expected to take."""
        each_time, each = self.line
        return each_time + each * size

    def within(self, nanoseconds: float) -> float:
        """How much may be done in that time; 0 where that is less than what each time costs."""
        each_time, each = self.line
        return max(0.0, nanoseconds - each_time) / max(each, 1.0)


__all__ = ["Cost"]
