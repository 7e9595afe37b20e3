"""Suggestions: the nearest right name for a wrong one. Not for wording whole errors."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def nearest(wrong: str, right: Iterable[str], cutoff: float = 0.6) -> str | None:
    """The name most like the wrong one whatever its case, None if none is like it."""
    by_lower = {name.lower(): name for name in right}
    found = difflib.get_close_matches(wrong.lower(), by_lower, n=1, cutoff=cutoff)
    return by_lower[found[0]] if found else None


def did_you_mean(wrong: str, right: Iterable[str], what: str | None = None, unlisted: Iterable[str] = ()) -> str | None:
    """`Did you mean x?`; otherwise, where the right names are few, a list of them; None where there are none.

    Args:
        wrong: what was written.
        right: what could have been.
        what: what the names are, in the plural ("columns"), for the list.
        unlisted: names that could have been meant as well, but are not worth listing.
    """
    names = list(dict.fromkeys(right))
    best = nearest(wrong, [*names, *unlisted])
    if best is not None:
        return f"Did you mean {best}?"
    if what and names:
        shown = ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")
        return f"The {what} are {shown}." if len(names) > 1 else f"There is only {names[0]}."
    return None
