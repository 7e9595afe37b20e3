"""Memory that one cut after the other copies arrays to. Not for what a cut holds.

A query stands still while its arrays are copied. Memory that is new to the process takes several times as long to be written to
for the first time as the copy does, so a cut uses that of the cut before, and more is made ready by the thread that brings cuts
to disk.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

_ALIGNED: Final = 64
_SPARE: Final = 1.25
"""Times the bytes of the last cut, so that state that grows finds room."""
_LAVISH: Final = 4.0
"""Times the bytes of the last cut from which on memory is given back."""


class Arena:
    """One block of memory, for one cut at a time."""

    def __init__(self) -> None:
        self._block = np.empty(0, np.uint8)
        self._used = 0

    @property
    def bytes(self) -> int:
        """Bytes it has."""
        return int(self._block.size)

    def begin(self) -> None:
        """The cut before is on disk: its memory is free."""
        self._used = 0

    def copy(self, array: NDArray[Any]) -> NDArray[Any]:
        """A copy that stands until `begin`; of numbers, not of objects."""
        start, size = self._used, array.nbytes
        self._used += size + -size % _ALIGNED
        if not size or self._used > self._block.size:
            return array.copy()
        into = self._block[start : start + size].view(array.dtype).reshape(array.shape)
        np.copyto(into, array)
        return into

    def make_ready(self) -> None:
        """Have as much as the next cut may need, by a thread that holds up nothing. What was copied is gone then."""
        if self._used > self._block.size or self._used * _LAVISH < self._block.size:
            self._block = np.empty(0, np.uint8)
            self._block = np.full(int(self._used * _SPARE), 0, np.uint8)


__all__ = ["Arena"]
