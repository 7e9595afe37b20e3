"""What a technique is: a way to need less at the cost of precision, which comes and goes with the load."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Saved:
    """What a technique saves just now, as shares of what would be needed without it.

    Attributes:
        rows: of the work and of the memory that go with rows that come.
        kept: of the rows that are remembered.
    """

    rows: float = 0.0
    kept: float = 0.0


@dataclass(frozen=True, slots=True)
class Loss:
    """What a technique costs just now.

    Attributes:
        fp: the share of rows in the answer that don't belong there.
        fn: the share of rows that are missing in it.
    """

    fp: float = 0.0
    fn: float = 0.0


class Technique(Protocol):
    """One way to give something up."""

    @property
    def name(self) -> str:
        """What is done, in a word."""

    @property
    def least(self) -> float:
        """How far it may go: the share that has to be left, 1 where nothing may be given up now."""

    @property
    def now(self) -> float:
        """The share that is left now, 1 while nothing is given up."""

    def leave(self, share: float) -> None:
        """Leave so much from now on, no less than `least`."""

    @property
    def saves(self) -> Saved:
        """What that saves."""

    @property
    def costs(self) -> Loss:
        """What that costs."""

    @property
    def said(self) -> str:
        """What is given up, for people."""


__all__ = ["Loss", "Saved", "Technique"]
