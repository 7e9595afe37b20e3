"""Ordered baselines, for comparison only: what systems do that put rows in order before they look at them. No query uses these.

Buffer-and-sort with slack (window-queries thesis §6.1.5), in-order window aggregation over buffered rows (§6.1.1), in-order
merge of several inputs (§8.1). Columnar and as fast as we know how, so that what the figures of tutorial 3 show is the
architecture's price and not that of a slow loop. All times are int64 microseconds; all say how many bytes they hold.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jupyter_stream.windows import TimeWindow

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Fold = Callable[[Floats], float]


@dataclass(frozen=True)
class Rows:
    """Times and one value each, in arrival order or in order of time."""

    ts: Ints
    value: Floats

    @property
    def bytes(self) -> int:
        """What they take."""
        return self.ts.nbytes + self.value.nbytes

    def only(self, which: NDArray[np.bool_] | Ints | slice) -> Rows:
        """Those rows, copied, so that the rest can be freed."""
        return Rows(self.ts[which].copy(), self.value[which].copy())

    @classmethod
    def none(cls) -> Rows:
        """No rows."""
        return cls(np.empty(0, np.int64), np.empty(0))

    @classmethod
    def concat(cls, parts: Sequence[Rows]) -> Rows:
        """Rows one after another."""
        return cls(np.concatenate([p.ts for p in parts]), np.concatenate([p.value for p in parts]))

    def in_order(self) -> Rows:
        """By time, ties as they came."""
        return self.only(np.argsort(self.ts, kind="stable"))


class SlackBuffer:
    """Holds rows until `slack` newer time has been seen, then hands them on in order.

    A row behind `max(ts) - slack` of the rows before it is late. It can't be put in its place any more; `late` counts it.

    Args:
        slack: microseconds.
    """

    def __init__(self, slack: int) -> None:
        self._slack = slack
        self._held = Rows.none()
        self._newest: int | None = None
        self.late = 0

    @property
    def bytes(self) -> int:
        """Rows held."""
        return self._held.bytes

    @property
    def reached(self) -> int | None:
        """The time up to which rows have been handed on; None before the first."""
        return None if self._newest is None else self._newest - self._slack

    def take(self, rows: Rows) -> tuple[Rows, Rows, Ints]:
        """Rows arrive.

        Returns:
            Rows now in order, the late ones, and for each late one the time up to which rows had been handed on when it came.
        """
        if not rows.ts.size:
            return Rows.none(), Rows.none(), np.empty(0, np.int64)
        newest = np.maximum.accumulate(rows.ts)
        if self._newest is not None:
            newest = np.maximum(newest, self._newest)
        before = np.concatenate([[rows.ts[0] if self._newest is None else self._newest], newest[:-1]]) - self._slack
        late = rows.ts < before
        self.late += int(late.sum())
        self._newest = int(newest[-1])
        held = Rows.concat([self._held, rows.only(~late)])
        ready = held.ts < self._newest - self._slack
        self._held = held.only(~ready)
        return held.only(ready).in_order(), rows.only(late), before[late]

    def end(self) -> Rows:
        """The input has ended: the rest, in order."""
        rest, self._held = self._held.in_order(), Rows.none()
        return rest


class InOrderWindow:
    """A window aggregate that needs its rows in order: keeps the rows of RANGE and folds them all whenever SLIDE is over.

    Args:
        window: RANGE and SLIDE; no landmark, since that would keep everything.
        fold: the aggregate of an extent's values, `np.max` for instance.
    """

    def __init__(self, window: TimeWindow, fold: Fold) -> None:
        if window.range is None:
            raise ValueError("a landmark keeps all rows: give a window with a RANGE")
        self._window, self._range, self._fold = window, window.range, fold
        self._held = Rows.none()
        self._closed = -(2**61)  # the end of the last extent that is over

    @property
    def bytes(self) -> int:
        """Rows held."""
        return self._held.bytes

    def take(self, rows: Rows, until: int) -> list[tuple[int, float]]:
        """Rows in order, none before those already taken; none before `until` will follow. Returns (end, answer) of extents."""
        if rows.ts.size:
            self._held = Rows.concat([self._held, rows])
        return self._close(until)

    def insert(self, row_ts: int, row_value: float) -> bool:
        """A row out of order goes to its place, for the extents still to come (generous slack). False if there are none."""
        last = self._window.last_extent(self._window.pane_of(row_ts))
        if last is not None and self._window.end(last) <= self._closed:
            return False
        at = int(np.searchsorted(self._held.ts, row_ts, side="right"))
        self._held = Rows(np.insert(self._held.ts, at, row_ts), np.insert(self._held.value, at, row_value))
        return True

    def _close(self, until: int) -> list[tuple[int, float]]:
        window, answers = self._window, []
        ts, value = self._held.ts, self._held.value
        if ts.size:
            first = window.end(window.first_extent(window.pane_of(int(ts[0]))))
            last = window.end(window.closed(min(until, int(ts[-1]) + self._range + window.slide)))
            ends = np.arange(max(first, self._closed + window.slide), last + 1, window.slide)
            starts, stops = np.searchsorted(ts, ends - self._range), np.searchsorted(ts, ends)
            for end, start, stop in zip(ends.tolist(), starts.tolist(), stops.tolist(), strict=True):
                if stop > start:
                    answers.append((end, float(self._fold(value[start:stop]))))
        self._closed = max(self._closed, window.end(window.closed(until)))
        gone = int(np.searchsorted(ts, self._closed + window.slide - self._range))
        if gone:
            self._held = self._held.only(slice(gone, None))
        return answers


class BufferAndSort:
    """Slack, then in-order aggregation.

    *Consistent* slack drops a late row from all its extents, *generous* slack only from those already answered (thesis
    §6.1.5.2).
    """

    def __init__(self, window: TimeWindow, fold: Fold, slack: int, generous: bool = False) -> None:
        self._buffer, self._window = SlackBuffer(slack), InOrderWindow(window, fold)
        self._generous = generous
        self.dropped = 0
        """Late rows that went into no extent."""

    @property
    def bytes(self) -> int:
        """Rows held, in the buffer and in the window."""
        return self._buffer.bytes + self._window.bytes

    @property
    def late(self) -> int:
        """Rows that came later than the slack allows."""
        return self._buffer.late

    def take(self, rows: Rows) -> list[tuple[int, float]]:
        """Rows arrive. Returns (end, answer) of the extents that are over."""
        ready, late, broke = self._buffer.take(rows)
        if not self._generous or not late.ts.size:
            self.dropped += late.ts.size
            return self._window.take(ready, self._reached)
        answers = []
        for ts, value, reached in zip(late.ts.tolist(), late.value.tolist(), broke.tolist(), strict=True):
            cut = int(np.searchsorted(ready.ts, reached))
            answers += self._window.take(ready.only(slice(0, cut)), reached)
            ready = ready.only(slice(cut, None))
            self.dropped += not self._window.insert(ts, value)
        return answers + self._window.take(ready, self._reached)

    def end(self) -> list[tuple[int, float]]:
        """The input has ended. Returns the last extents."""
        return self._window.take(self._buffer.end(), 2**62)

    @property
    def _reached(self) -> int:
        reached = self._buffer.reached
        return -(2**61) if reached is None else reached


class InOrderMerge:
    """Merges inputs, each in order, into one that is in order: rows wait until every input has got as far."""

    def __init__(self, inputs: int) -> None:
        self._held = [Rows.none() for _ in range(inputs)]
        self._newest = [-(2**62)] * inputs

    @property
    def bytes(self) -> int:
        """Rows that wait."""
        return sum(h.bytes for h in self._held)

    @property
    def reached(self) -> int:
        """No row before this will come out any more."""
        return min(self._newest)

    def take(self, number: int, rows: Rows) -> Rows:
        """Rows of one input arrive. Returns those of all inputs that may go on, in order.

        Raises:
            ValueError: they are not in order.
        """
        if not rows.ts.size:
            return Rows.none()
        if int(rows.ts[0]) < self._newest[number] or (np.diff(rows.ts) < 0).any():
            raise ValueError(f"input {number} is out of order, and an in-order merge can't take that")
        self._held[number] = Rows.concat([self._held[number], rows])
        self._newest[number] = int(rows.ts[-1])
        return self._release(self.reached)

    def end(self) -> Rows:
        """All inputs have ended: the rest, in order."""
        self._newest = [2**62] * len(self._held)
        return self._release(2**62)

    def _release(self, until: int) -> Rows:
        cuts = [int(np.searchsorted(h.ts, until)) for h in self._held]
        if not any(cuts):
            return Rows.none()
        ready = Rows.concat([h.only(slice(0, c)) for h, c in zip(self._held, cuts, strict=True)])
        self._held = [h.only(slice(c, None)) if c else h for h, c in zip(self._held, cuts, strict=True)]
        return ready.in_order()
