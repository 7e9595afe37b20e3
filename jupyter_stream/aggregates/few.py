"""How many values an aggregate keeps that keeps a few."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from jupyter_stream.aggregates.protocol import BadArguments

MOST: Final = 10_000
"""Values that an aggregate such as topk may keep for each group."""


def few(name: str, parameters: Sequence[object]) -> int:
    """The number given, 1 if none is.

    Raises:
        BadArguments: it is no such number.
    """
    if not parameters:
        return 1
    (k,) = parameters
    if not isinstance(k, int) or not 1 <= k <= MOST:
        raise BadArguments(f"{name} keeps 1 to {MOST:,} values")
    return k
