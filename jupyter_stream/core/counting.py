"""How many of something, in words: `1 column`, `12,345 rows`."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """A number with its noun, which takes an s where it isn't one."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
