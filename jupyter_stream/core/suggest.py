"""The one place that says what somebody probably meant by a wrong word. No suggestion is better than a wrong one."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Final

_CHANGED: Final = 0.4
"""The share of a word's letters that may differ."""
_CONTAINED: Final = 4
"""Letters a word needs to be found inside another: `symbol` in `symbol_name`."""


def nearest(wrong: str, right: Iterable[str], cutoff: float = 0.6) -> str | None:
    """The name that was probably meant, whatever its case; None if none is near enough.

    Args:
        wrong: what was written.
        right: what could have been.
        cutoff: the least likeness, from 0 to 1.
    """
    by_lower = {name.lower(): name for name in reversed(list(right))}
    written = wrong.lower()
    for found in difflib.get_close_matches(written, by_lower, n=3, cutoff=cutoff):
        inside = min(len(found), len(written)) >= _CONTAINED and (found in written or written in found)
        if inside or distance(written, found) <= max(1, int(_CHANGED * max(len(found), len(written)))):
            return by_lower[found]
    return None


def distance(one: str, other: str) -> int:
    """How many letters have to be added, left out, changed or swapped with the next to make one word of the other."""
    older: list[int] = []
    last = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        row = [i]
        for j, b in enumerate(other, 1):
            cost = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (a != b))
            if i > 1 and j > 1 and a == other[j - 2] and one[i - 2] == b:
                cost = min(cost, older[j - 2] + 1)
            row.append(cost)
        older, last = last, row
    return last[-1]
