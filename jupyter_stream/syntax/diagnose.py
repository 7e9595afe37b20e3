"""Suggestions: the nearest right name for a wrong one. Not for wording whole errors."""

from __future__ import annotations

from collections.abc import Iterable

from jupyter_stream.core.suggest import nearest


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
        return f"The {what} are {shown}." if len(names) > 1 else f"The only one is {names[0]}."
    return None


__all__ = ["did_you_mean", "nearest"]
