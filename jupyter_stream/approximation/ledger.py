"""How many rows of each extent came, and how many were looked at: exact, by pane of the window. Not for what they hold."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from jupyter_stream.core.messages import Int64s
from jupyter_stream.core.time import MIN_TIME
from jupyter_stream.windows.time import TimeWindow

_NONE = np.empty(0, np.int64)
_ENOUGH = 0.1
"""The part of a pane that has to have passed before its rate says anything."""
_NEAR = 1024
"""Panes from the first to the last of a batch up to which they are counted without being sorted."""


class ExtentLedger:
    """Counts by pane, of panes that an extent to come may hold.

    Args:
        window: whose extents are asked for.
    """

    def __init__(self, window: TimeWindow) -> None:
        self._window = window
        self._panes = _NONE  # ascending
        self._came = _NONE
        self._looked_at = _NONE
        self._newest = MIN_TIME

    @property
    def length(self) -> int:
        """Of an extent, microseconds."""
        return self._window.length or self._window.slide

    @property
    def bytes(self) -> int:
        """Bytes held."""
        return self._panes.nbytes + self._came.nbytes + self._looked_at.nbytes

    def head(self, most: int) -> pl.DataFrame:
        """The first panes, at most so many: where they start, microseconds, and how many of their rows came and were read."""
        starts = [self._window.pane_start(pane) for pane in self._panes[:most].tolist()]
        return pl.DataFrame({"from": starts, "came": self._came[:most], "looked at": self._looked_at[:most]})

    def note(self, ts: Int64s, kept: NDArray[np.bool_] | None) -> None:
        """Rows with these times came; `kept` says which of them are looked at, None for all."""
        if not ts.size:
            return
        self._newest = max(self._newest, int(ts.max()))
        panes, came, looked_at = _counted(self._window.pane(ts), kept)
        if self._panes.size and np.array_equal(panes, self._panes[-panes.size :]):  # as in most batches
            self._came[-panes.size :] += came
            self._looked_at[-panes.size :] += looked_at
            return
        every = np.union1d(self._panes, panes)
        merged = []
        for old, new in ((self._came, came), (self._looked_at, looked_at)):
            counts = np.zeros(every.size, np.int64)
            counts[np.searchsorted(every, self._panes)] = old
            counts[np.searchsorted(every, panes)] += new
            merged.append(counts)
        self._panes, (self._came, self._looked_at) = every, merged

    def shares(self, ends: Int64s) -> NDArray[np.float64]:
        """The share of rows looked at of each extent, by where it ends; 1 of one without rows."""
        came, looked_at = self.counts(ends)
        return np.where(came > 0, looked_at / np.maximum(came, 1), 1.0)

    def counts(self, ends: Int64s) -> tuple[Int64s, Int64s]:
        """How many rows of each extent came, by where it ends, and how many of them were looked at."""
        window = self._window
        extents = window.schedule.closed(ends)
        first = window.first_panes(extents)
        last = window.panes_per_slide * extents
        starts = np.zeros(ends.size, np.int64) if first is None else np.searchsorted(self._panes, first)
        stops = np.searchsorted(self._panes, last)
        came, looked_at = (np.concatenate(([0], np.cumsum(counts))) for counts in (self._came, self._looked_at))
        return came[stops] - came[starts], looked_at[stops] - looked_at[starts]

    @property
    def rate(self) -> float:
        """Rows that come now, per microsecond of their own time: of the pane they are in, or of the one before; 0 of none."""
        found = 0.0
        for pane, came in zip(self._panes[-2:].tolist(), self._came[-2:].tolist(), strict=True):
            start, end = self._window.pane_start(pane), self._window.pane_start(pane + 1)
            passed = min(self._newest + 1, end) - start
            if passed >= (end - start) * _ENOUGH:
                found = max(found, came / passed)
        return found

    def forget(self, punctuation: int) -> None:
        """Extents that end at or before it are over."""
        window = self._window
        following = window.first_pane(window.closed(punctuation) + 1)
        if following is None:
            return
        gone = int(np.searchsorted(self._panes, following))
        if gone:
            self._panes, self._came, self._looked_at = (
                counts[gone:].copy() for counts in (self._panes, self._came, self._looked_at)
            )


def _counted(panes: Int64s, kept: NDArray[np.bool_] | None) -> tuple[Int64s, Int64s, Int64s]:
    """The panes there are, ascending, and how many rows of each there are and are kept."""
    first, last = int(panes.min()), int(panes.max())
    if last - first >= max(_NEAR, panes.size):
        found, at = np.unique(panes, return_inverse=True)
        came = np.bincount(at, minlength=found.size)
        return found, came, came.copy() if kept is None else np.bincount(at[kept], minlength=found.size)
    at = panes - first
    came = np.bincount(at)
    looked_at = came if kept is None else np.bincount(at[kept], minlength=came.size)
    there = np.flatnonzero(came)
    return there + first, came[there], looked_at[there]


__all__ = ["ExtentLedger"]
