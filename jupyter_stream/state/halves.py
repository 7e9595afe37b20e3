"""Work on arrays in two halves at once: NumPy lets go of the interpreter while it computes, so a second core can help."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Final, TypeVar

from jupyter_stream.state.join_keys import Hashes

Made = TypeVar("Made")
_WORTH: Final = 65_536
"""Rows below which handing half of them to another thread costs more than it saves."""


def in_halves(work: Callable[[Hashes], Made], rows: Hashes) -> list[Made]:
    """The work done on all rows, or on each half of them; it must change nothing that others see."""
    if rows.size < _WORTH:
        return [work(rows)]
    half = rows.size // 2
    other = _beside().submit(work, rows[half:])
    one = work(rows[:half])
    return [one, other.result()]


@cache
def _beside() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, thread_name_prefix="jupyter-stream half")


__all__ = ["in_halves"]
