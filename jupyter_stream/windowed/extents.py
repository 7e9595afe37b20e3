"""What extents are, where partial results are kept in frames: which rows are in them, and when they are final.

Time logic alone (bytewax' windowers have this shape): what is to happen with rows and partial results is said step by step, and
`windowed.extent_aggregate` does it, which knows values and no time.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from jupyter_stream.core.messages import Int64s
from jupyter_stream.flow.protocol import Recall


@dataclass(frozen=True)
class Placed:
    """Rows that have come go to partial results.

    Attributes:
        at: which of them: of a pane, or of a session, by number; for each of the rows.
        which: those of the rows that do; None for all.
        window: the one of several windows, side by side, whose partial results these are.
    """

    at: Int64s
    which: NDArray[np.bool_] | None = None
    window: int = 0


@dataclass(frozen=True)
class Missing:
    """Rows that have come are late.

    Attributes:
        which: which of them.
        extents: how many extents that were final each of the rows missed; None if nobody knows.
    """

    which: NDArray[np.bool_]
    extents: Int64s | None


@dataclass(frozen=True)
class Due:
    """Extents are answered.

    Attributes:
        picks: of each window, the partial results that answers are made of, as its store takes it.
        ordered: answers, or what would have been one, in the order they are given in, with what `Extents.bounded` asks for.
    """

    picks: Sequence[Any]
    ordered: Callable[[pl.DataFrame], pl.DataFrame]


@dataclass(frozen=True)
class Changed:
    """Partial results get other numbers, or go, as no extent to come is made of them.

    Attributes:
        change: what becomes of them, as the store takes it.
        window: the one of several windows whose they are.
        at_once: whether it must be now; else it may wait until there are twice as many.
    """

    change: Any
    window: int = 0
    at_once: bool = True


ExtentStep: TypeAlias = Placed | Missing | Due | Changed


class Extents(ABC):
    """The extents of one operator, in every partition.

    Attributes:
        windows: how many stand side by side.
        by: the columns answers are read by; that of groups among them.
        at: the column that tells partial results apart within a group.
        holds: what is remembered of extents, as a name.
    """

    windows: int = 1
    by: ClassVar[tuple[str, str]]
    at: ClassVar[str]
    holds: ClassVar[str]

    @abstractmethod
    def punctuate(self, value: int) -> Iterator[ExtentStep]:
        """No row before that time will come."""

    @abstractmethod
    def said(self, value: int) -> int:
        """The same of answers: from which time on they are to come. Called after `punctuate`."""

    @abstractmethod
    def open(self) -> Due:
        """All extents that aren't final."""

    @abstractmethod
    def bounded(self, answers: pl.DataFrame) -> pl.DataFrame:
        """Answers with the columns that say their extent and time."""

    def filled(self, answers: pl.DataFrame) -> pl.DataFrame:
        """Final answers of no keys, with those of extents without rows among them, if there are any such."""
        return answers

    def recalls(self) -> Recall | None:
        """What answers to come go by; None if all there ever was matters."""
        return None

    def remembered(self) -> Int64s:
        """Partitions to remember though they hold no partial results."""
        return np.empty(0, np.int64)

    def forgotten(self, live: Int64s) -> None:  # noqa: B027  # most have nothing to forget
        """Only these partitions are known any more; others get the slots of those that aren't."""

    def head(self, most: int) -> tuple[Int64s, list[pl.Series]] | None:
        """The first extents, by partition, as people look at them; None where partial results say more."""
        return None

    @property
    @abstractmethod
    def bytes(self) -> int:
        """Bytes held."""

    def counts(self) -> dict[str, int]:
        """Figures for the control table."""
        return {}

    def check(self, held: Int64s) -> None:  # noqa: B027  # most can't say
        """Raise AssertionError unless these are the partial results that open extents are made of."""


class TimedExtents(Extents):
    """Those that rows are in by their time."""

    @abstractmethod
    def take(self, partitions: Int64s, ts: Int64s, broken: Int64s | None) -> Iterator[ExtentStep]:
        """Rows have come.

        Args:
            partitions: their partitions, by slot.
            ts: their times.
            broken: the punctuation that each broke, MIN_TIME where none; None for none of them.
        """


class KeyedExtents(TimedExtents):
    """Those that are final in one partition at a time."""

    @abstractmethod
    def promise(self, promised: Int64s) -> Iterator[ExtentStep]:
        """No row before that time will come in each partition, by slot; MIN_TIME where nothing was promised."""

    def answered(self, promised: Int64s) -> Int64s:
        """The same of answers."""
        return promised


__all__ = ["Changed", "Due", "ExtentStep", "Extents", "KeyedExtents", "Missing", "Placed", "TimedExtents"]
