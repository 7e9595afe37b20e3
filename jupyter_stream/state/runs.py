"""Rows of one side of a join, in sorted runs: found by key slot and time with binary search, freed as time passes.

Runs of like size are merged, so that there are few; rows that can find no partner any more leave with their run, or at a merge.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from jupyter_stream.core.messages import Int64s

Bools = NDArray[np.bool_]
_SLOT_BITS = 31


@dataclass(eq=False)
class Run:
    """Rows by slot and time.

    Attributes:
        frame: their columns.
        slots: the key slot of each, ascending.
        times: microseconds, ascending within a slot.
        matched: whether each has found a partner.
    """

    frame: pl.DataFrame
    slots: Int64s
    times: Int64s
    matched: Bools

    def __post_init__(self) -> None:
        self.low, self.high = int(self.times.min()), int(self.times.max())
        # slot and time in one number; where the times are too far apart for that, in steps of a power of two
        self._shift = max(0, (self.high - self.low).bit_length() - (62 - _SLOT_BITS))
        self._span = ((self.high - self.low) >> self._shift) + 2
        self._keys = self.slots * self._span + ((self.times - self.low) >> self._shift)

    @classmethod
    def of(cls, frame: pl.DataFrame, slots: Int64s, times: Int64s, matched: Bools) -> Run:
        """Rows in any order."""
        order = np.lexsort([times, slots])
        return cls(frame[pl.Series(order)], slots[order], times[order], matched[order])

    @property
    def rows(self) -> int:
        """How many."""
        return self.times.size

    @property
    def bytes(self) -> int:
        """Bytes held."""
        arrays = self.slots.nbytes + self.times.nbytes + self._keys.nbytes + self.matched.nbytes
        return arrays + int(self.frame.estimated_size())

    def find(self, slots: Int64s, first: Int64s | None, last: Int64s | None) -> tuple[Int64s, Int64s]:
        """Where rows of each slot with `first <= time <= last` begin and end; a few before and behind may not be among them."""
        base = slots * self._span
        low, high = base, base + self._span - 1
        if first is not None:
            low = base + (np.clip(first, self.low, self.high + 1) - self.low >> self._shift)
        if last is not None:  # one before the first time is before all rows of the slot
            high = base + (np.clip(last, self.low - 1, self.high) - self.low >> self._shift)
        begin = np.searchsorted(self._keys, low, "left")
        end = np.searchsorted(self._keys, high, "right")
        return begin, np.maximum(end, begin)

    def only(self, kept: Bools) -> Run | None:
        """Some of the rows."""
        if not kept.any():
            return None
        if kept.all():
            return self
        return Run(self.frame.filter(pl.Series(kept)), self.slots[kept], self.times[kept], self.matched[kept])


class Runs:
    """All stored rows of one side."""

    def __init__(self) -> None:
        self.runs: list[Run] = []

    @property
    def rows(self) -> int:
        """Rows held."""
        return sum(r.rows for r in self.runs)

    @property
    def bytes(self) -> int:
        """Bytes held."""
        return sum(r.bytes for r in self.runs)

    def add(self, frame: pl.DataFrame, slots: Int64s, times: Int64s, matched: Bools) -> None:
        """Store rows."""
        if not times.size:
            return
        self.runs.append(Run.of(frame, slots, times, matched))
        while len(self.runs) > 1 and self.runs[-2].rows < 2 * self.runs[-1].rows:
            one, other = self.runs[-2:]
            merged = Run.of(
                pl.concat([one.frame, other.frame], how="vertical"),
                np.append(one.slots, other.slots),
                np.append(one.times, other.times),
                np.append(one.matched, other.matched),
            )
            self.runs[-2:] = [merged]

    def expire(self, before: int) -> list[Run]:
        """Take out and return rows with `time < before`; from a run of which less than half has expired, none yet."""
        gone, kept = [], []
        for run in self.runs:
            if run.low >= before:
                kept.append(run)
                continue
            old = run.times < before
            if run.high >= before and 2 * int(old.sum()) < run.rows:
                kept.append(run)
                continue
            out, stay = run.only(old), run.only(~old)
            if out is not None:
                gone.append(out)
            if stay is not None:
                kept.append(stay)
        self.runs = kept
        return gone

    def take(self, before: int) -> list[Run]:
        """The same, all of them at once."""
        gone, kept = [], []
        for run in self.runs:
            old = run.times < before
            out, stay = run.only(old), run.only(~old)
            if out is not None:
                gone.append(out)
            if stay is not None:
                kept.append(stay)
        self.runs = kept
        return gone

    def live(self, mask: Bools) -> None:
        """Mark the slots that are in use."""
        for run in self.runs:
            mask[run.slots] = True

    def check(self) -> None:
        """Raise AssertionError where an invariant is broken."""
        for run in self.runs:
            keys = list(zip(run.slots.tolist(), run.times.tolist(), strict=True))
            assert keys == sorted(keys)
            assert run.rows == run.frame.height == run.matched.size > 0
