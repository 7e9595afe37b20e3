"""Work on arrays in two halves at once: NumPy lets go of the interpreter while it computes, so a second core can help."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Final, TypeVar

Made = TypeVar("Made")
_WORTH: Final = 65_536
"""Rows below which handing half of them to another thread costs more than it saves."""


def in_halves(work: Callable[[int, int], Made], begin: int, end: int) -> list[Made]:
    """The work done on all rows from `begin` to `end`, or on each half of them; it must change nothing that others see."""
    if end - begin < _WORTH:
        return [work(begin, end)]
    half = (begin + end) // 2
    other = _beside().submit(work, half, end)
    one = work(begin, half)
    return [one, other.result()]


@cache
def _beside() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, thread_name_prefix="jupyter-stream half")


__all__ = ["in_halves"]
