"""What a window is. Which extents and lifetimes it gives, and when one is final, each window says in its own file."""

from __future__ import annotations

from typing import Protocol


class Window(Protocol):
    """A bound window clause. Frozen, hashable; all numbers are microseconds or rows."""

    @property
    def on(self) -> str | None:
        """The windowing attribute, where it is not the stream's own progressing attribute."""

    def __str__(self) -> str:
        """The clause in our own spelling, as EXPLAIN prints it."""
