"""Orders of rows by whole numbers: several times faster than sorting places, and always stable.

NumPy sorts numbers with vector instructions, but not their places where equal ones have to stay as they came. So value and
place are sorted as one number: 13 ns a row where a stable `argsort` takes 120 and `lexsort` 145 (50,000 rows at random).
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from jupyter_stream.core.messages import Int64s

_FEW = 500
"""Rows below which putting the numbers together costs more than it saves."""


Numbers: TypeAlias = NDArray[np.signedinteger[Any]] | NDArray[np.bool_]


def order_of(*keys: Numbers) -> Int64s:
    """Places of rows in the order of the first key, within it of the next, and equal ones as they come.

    Args:
        keys: at least one, whole numbers or truth values, all of one length.
    """
    if keys[0].size <= _FEW:
        return np.argsort(keys[0], kind="stable") if len(keys) == 1 else np.lexsort(keys[::-1])
    lows = [int(key.min()) for key in keys]
    widths = [(int(key.max()) - low).bit_length() for key, low in zip(keys, lows, strict=True)]
    bits = keys[0].size.bit_length()
    if sum(widths) + bits > 63:
        return np.argsort(keys[0], kind="stable") if len(keys) == 1 else np.lexsort(keys[::-1])
    if len(keys) == 1 and widths[0] <= 1:  # of two values at most: 2 ns a row where sorting takes 11
        return np.concatenate(
            [np.flatnonzero(keys[0] == value) for value in (lows[0], lows[0] + widths[0])[: widths[0] + 1]]
        )
    if len(keys) == 1 and widths[0] <= 16:
        return np.argsort((keys[0].astype(np.int64) - lows[0]).astype(np.uint16), kind="stable")
    packed = keys[0].astype(np.int64) - lows[0]
    for key, low, width in zip(keys[1:], lows[1:], widths[1:], strict=True):
        packed <<= width
        packed |= key.astype(np.int64) - low
    packed <<= bits
    packed |= np.arange(packed.size)
    packed.sort()
    packed &= (1 << bits) - 1
    return packed


__all__ = ["order_of"]
