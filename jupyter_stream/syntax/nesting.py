"""How deep statements may be nested, how large they may be, and the room on Python's stack that reading and binding them needs.

Python allows 1,000 calls inside one another unless asked for more; an expression in parentheses is a dozen deep for each of
them. Calls between functions written in Python take no room on the machine's own stack.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

MOST_LEVELS: Final = 1_000
"""Parentheses, calls, CASEs and signs that may stand inside one another."""

MOST_OPERATORS: Final = 20_000
"""AND, OR, + and others of two sides that a statement may have: planning so many takes some seconds."""

MOST_WORDS: Final = 100_000
"""Words, numbers, texts and signs of a statement, for the same reason."""

MOST_COLUMNS: Final = 2_000
"""Expressions that a select list may have; `*` is one."""

MOST_SELECTS: Final = 2_000
"""SELECTs that a statement may have, beside one another and within one another."""

MANY_VALUES: Final = "Long lists go in by name: x IN :names. Or join with a table that holds the values."
"""The hint where these are too many."""

_CALLS: Final = 40 * MOST_LEVELS
"""Calls inside one another that reading and binding so many levels may take."""

_lock: Final = threading.Lock()
_inside = 0
_before = 0


@contextmanager
def room() -> Iterator[None]:
    """Allow as many calls inside one another as the deepest statement takes, in the meantime."""
    global _inside, _before
    with _lock:
        if not _inside:
            _before = sys.getrecursionlimit()
            sys.setrecursionlimit(max(_before, _CALLS))
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if not _inside:
                _lower()


def _lower() -> None:
    with suppress(RecursionError):  # who asked is deeper than that himself
        sys.setrecursionlimit(_before)
