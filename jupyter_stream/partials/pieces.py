"""Partial results of one aggregate in frames, by some columns: pieces as they came, merged now and then.

All that keeps partial results in frames keeps them in this: cells, bins, panes. What the columns mean is their business.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import polars as pl

from jupyter_stream.aggregates.framed import Framed
from jupyter_stream.arrays.rows import bytes_of

_LOOSE = 4_096
"""Partial results appended before they are merged into those of the same columns, at least."""
_PIECES, _SPARED = 64, 16
"""Pieces of frames that are merged as they grow; and of others."""


class Pieces:
    """Partial results in the order they came, so that an aggregate may break ties by arrival. True if there are any.

    Args:
        framed: the aggregate.
        by: the columns; none is called `v`, `p0` and so on.
        grows: whether there is no end to what comes; then all are merged whenever they have doubled. What is read and gone soon,
            as panes are, does better without (a sixth less processor time for medians).

    Attributes:
        frames: the partial results, some of the same columns more than once.
    """

    def __init__(self, framed: Framed, by: Sequence[str], grows: bool = True) -> None:
        self._framed, self._grows = framed, grows
        self._by = list(by)
        self._settled = 0
        self.frames: list[pl.DataFrame] = []

    def __bool__(self) -> bool:
        return bool(self.frames)

    @property
    def rows(self) -> int:
        """Partial results held."""
        return sum(f.height for f in self.frames)

    @property
    def bytes(self) -> int:
        """Bytes held."""
        return bytes_of(self.frames)

    def append(self, partials: pl.DataFrame) -> None:
        """Take partial results that came after those there are."""
        if not partials.height:
            return
        self.frames.append(partials)
        if len(self.frames) == 1:
            self._settled = partials.height
        elif len(self.frames) > (_PIECES if self._grows else _SPARED) or self._doubled:
            self._set(self.merged())

    @property
    def _doubled(self) -> bool:
        return self._grows and self.rows - self._settled > max(_LOOSE, self._settled)

    def merge(self, partials: pl.DataFrame) -> pl.DataFrame:
        """Partial results of partial results by the same columns."""
        return self._framed.merge(partials, self._by)

    def merged(self) -> pl.DataFrame:
        """All of them, one of each value of the columns. There are some."""
        return self.frames[0] if len(self.frames) == 1 else self.merge(pl.concat(self.frames))

    def change(self, change: Callable[[pl.DataFrame], pl.DataFrame]) -> None:
        """Filter or renumber all of them."""
        if self.frames:
            settled = self._settled
            self._set(change(pl.concat(self.frames)))
            self._settled = min(self._settled, settled)

    def _set(self, partials: pl.DataFrame) -> None:
        self.frames = [partials] if partials.height else []
        self._settled = partials.height

    def copy(self) -> Pieces:
        """Another that goes on by itself; this one is not touched by it."""
        found = Pieces(self._framed, self._by, self._grows)
        found.frames, found._settled = list(self.frames), self._settled
        return found

    def check(self) -> None:
        """Raise AssertionError unless what was merged is among what is held."""
        assert 0 <= self._settled <= self.rows


__all__ = ["Pieces"]
