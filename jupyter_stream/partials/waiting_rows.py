"""Rows that wait until their time has come, in any order."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from jupyter_stream.arrays.rows import bytes_of, earliest, frame_of, rows_if, shown, together
from jupyter_stream.core.messages import TS, Int64s, ints
from jupyter_stream.core.time import MAX_TIME, MIN_TIME
from jupyter_stream.partials.released import Released
from jupyter_stream.windows import OverWindow

SLOT = "$slot"
NUMBER = "$number"
"""Arrival numbers, which order rows of equal time."""


class WaitingRows(ABC):
    """Rows of one OVER window that wait, and what is kept of others.

    Args:
        window: which rows each looks back on.

    Attributes:
        inputs: how many arguments and FILTER conditions there are.
    """

    def __init__(self, window: OverWindow) -> None:
        self._window = window
        self._waiting: list[pl.DataFrame] = []
        self._newest = MIN_TIME  # no row that waits is later
        self.inputs = 0

    @property
    def waiting(self) -> int:
        """Rows whose time hasn't come."""
        return sum(f.height for f in self._waiting)

    @property
    def first_waiting(self) -> int:
        """The earliest time of those; `MAX_TIME` without any."""
        return earliest(self._waiting)

    @property
    def waiting_slots(self) -> Int64s:
        """The partitions of those, some more than once."""
        return np.concatenate([np.empty(0, np.int64), *(ints(f.get_column(SLOT)) for f in self._waiting)])

    @property
    @abstractmethod
    def kept(self) -> int:
        """Rows later ones can look back on."""

    @property
    @abstractmethod
    def oldest(self) -> int:
        """The earliest time of the rows held; `MAX_TIME` without any."""

    @property
    def bytes(self) -> int:
        """Bytes held."""
        return bytes_of(self._waiting)

    def head(self, most: int) -> pl.DataFrame:
        """The first of the rows that can be shown."""
        return shown(self._waiting, most)

    def add(self, frame: pl.DataFrame, slots: Int64s, numbers: Int64s, inputs: Sequence[pl.Series]) -> None:
        """Take rows in any order.

        Args:
            frame: all their columns, `$ts` among them.
            slots: the partition of each.
            numbers: the arrival number of each.
            inputs: arguments and FILTER conditions.
        """
        own = [pl.Series(SLOT, slots), pl.Series(NUMBER, numbers)]
        self._waiting.append(frame.hstack([*own, *(c.alias(f"${i}") for i, c in enumerate(inputs))]))
        self._newest = max(self._newest, int(ints(frame.get_column(TS)).max()))
        self.inputs = len(inputs)

    def shown(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Their columns as they were added."""
        return frame_of(rows.get_columns()[: rows.width - 2 - self.inputs])

    @abstractmethod
    def live(self, capacity: int) -> NDArray[np.bool_] | None:
        """Which partitions have rows; None where every partition seen is remembered for ever."""

    @abstractmethod
    def pieces(self, until: int) -> Iterator[Released]:
        """Rows before a time, with their answers, some at a time; no rows before it may come any more."""

    def due(self, until: int) -> pl.DataFrame | None:
        """Rows before a time, which wait no more; None without any."""
        if not self._waiting:
            return None
        frame = together(self._waiting)
        self._waiting = []
        if until == MAX_TIME or self._newest < until:
            self._newest = MIN_TIME
            return frame if frame.height else None
        now = frame.get_column(TS) < until
        rest = rows_if(frame, ~now)
        if rest.height:
            self._waiting = [rest]
        frame = rows_if(frame, now)
        return frame if frame.height else None


__all__ = ["NUMBER", "SLOT", "WaitingRows"]
