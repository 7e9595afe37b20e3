"""What a scheduler is: given the inputs that have something, it names the one to serve. Answers never depend on it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Protocol, TypeVar


class Input(Protocol):
    """What a scheduler sees of an input."""

    @property
    def low_watermark(self) -> int:
        """Its punctuation, microseconds."""


Choice = TypeVar("Choice", bound=Input)


class Scheduler(Protocol):
    """A policy; may remember what it chose."""

    name: ClassVar[str]

    def choose(self, ready: Sequence[Choice]) -> Choice:
        """One of the inputs, of which there is at least one, in the order they were added."""
