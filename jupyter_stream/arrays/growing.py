"""What grows: arrays that make room for more, and work that is done when something has doubled. Costs are so spread evenly."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Number = TypeVar("Number", bound=np.generic)

_ROOM = 1024


def grown(array: NDArray[Number], size: int, fill: float = 0) -> NDArray[Number]:
    """The array, or a longer one that begins with it and goes on with `fill`, for at least `size` numbers."""
    return array if array.size >= size else extended(array, max(_ROOM, 2 * size), fill)


def extended(array: NDArray[Number], size: int, fill: float = 0) -> NDArray[Number]:
    """The array, or one of exactly that size, along its last axis, that begins with it and goes on with `fill`."""
    have = array.shape[-1]
    if have >= size:
        return array
    longer = np.full((*array.shape[:-1], size), fill, array.dtype)
    longer[..., :have] = array
    return longer


class Doubling:
    """Whether something has doubled since it was last looked at: a look may then cost as much as the thing is large.

    Args:
        above: how much more there must be, at least, besides.
    """

    def __init__(self, above: int = _ROOM) -> None:
        self._above = above
        self._seen = 0

    def due(self, size: int) -> bool:
        """Whether it is time to look."""
        return size >= 2 * self._seen + self._above

    def looked(self, size: int) -> None:
        """That much has been left by the look."""
        self._seen = size


__all__ = ["Doubling", "extended", "grown"]
