"""The health strip and the sentence shown while there is nothing to draw: a snapshot in words."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass, field

from jupyter_stream.core.counting import counted
from jupyter_stream.core.snapshot import Phase, Snapshot
from jupyter_stream.core.time import MAX_TIME, MIN_TIME, show_span
from jupyter_stream.views import words

ENDED = ("finished", "stopped", "failed")
"""States after which nothing changes any more."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One entry of the strip.

    Attributes:
        label: a word.
        value: text.
        title: the longer explanation a pointer brings.
        alarm: whether it wants attention.
        now: whether it is of this very moment, and says nothing once the kernel has gone.
    """

    label: str
    value: str
    title: str = ""
    alarm: bool = False
    now: bool = False


@dataclass(slots=True)
class RowRates:
    """Rows per second over the last few seconds, from counters read now and then."""

    seconds: float = 3.0
    _seen: deque[tuple[float, int, int]] = field(default_factory=deque)

    def read(self, now: float, rows_in: int, rows_out: int) -> tuple[float, float]:
        """Rows in and out per second.

        Args:
            now: a clock in seconds that never goes back.
            rows_in: the counter of rows in.
            rows_out: the counter of rows out.
        """
        self._seen.append((now, rows_in, rows_out))
        while len(self._seen) > 2 and self._seen[1][0] <= now - self.seconds:
            self._seen.popleft()
        then, old_in, old_out = self._seen[0]
        passed = now - then
        if passed <= 0:
            return 0.0, 0.0
        return max(0.0, (rows_in - old_in) / passed), max(0.0, (rows_out - old_out) / passed)


def readings(snapshot: Snapshot, rates: tuple[float, float]) -> tuple[Reading, ...]:
    """The strip, left to right."""
    ended = snapshot.state in ENDED
    rows_in = words.count(snapshot.rows_in) if ended else f"{words.count(rates[0])}/s"
    rows_out = words.count(snapshot.rows_out) if ended else f"{words.count(rates[1])}/s"
    shown = [
        Reading("in", rows_in, f"{counted(snapshot.rows_in, 'row')} read so far", now=not ended),
        Reading("out", rows_out, f"{counted(snapshot.rows_out, 'result row')} so far", now=not ended),
    ]
    low, high = snapshot.low_watermark, snapshot.max_event_time
    if not ended and low not in (MIN_TIME, MAX_TIME) and high not in (MIN_TIME, MAX_TIME):
        title = f"event time: newest row {words.clock(high)}, watermark {words.clock(low)}"
        shown.append(Reading("lag", show_span(max(0, high - low)), title, now=True))
    shown.append(
        Reading("late", words.count(snapshot.late), "rows that came after the answer they belong to was final",
                snapshot.late > 0)
    )  # fmt: skip
    shown.append(Reading("bad", words.count(snapshot.bad), "rows that could not be read or computed", snapshot.bad > 0))
    shown.append(Reading("state", words.size(snapshot.state_bytes), "memory the operators hold", now=True))
    shown.extend(Reading(label, value, now=not ended) for label, value in snapshot.notes.items())
    return tuple(shown)


def nothing_yet(snapshot: Snapshot) -> str | None:
    """Why there is nothing to draw; None where there is."""
    if snapshot.rows.height:
        return None
    if snapshot.state == "failed":
        return "failed before the first result"
    if snapshot.state in ("finished", "stopped"):
        bad = f", {words.count(snapshot.bad)} of them bad: see its errors" if snapshot.bad else ""
        return f"{snapshot.state} without a result: {counted(snapshot.rows_in, 'row')} read{bad}"
    if snapshot.state == "inactive":
        return "inactive: %stream activate lets it go on"
    if snapshot.state == "paused":
        return "paused before the first result"
    if snapshot.phase is not None:
        return phase(snapshot.phase)
    if not snapshot.rows_in:
        return "waiting for the first row"
    if snapshot.next_final is not None and snapshot.next_final not in (MIN_TIME, MAX_TIME):
        needs = words.clock(snapshot.next_final, snapshot.low_watermark)
        if snapshot.low_watermark == MIN_TIME:
            return f"waiting for the first window to close: needs the watermark at {needs}"
        at = words.clock(snapshot.low_watermark, snapshot.next_final)
        return f"waiting for the first window to close: watermark {at}, needs {needs}"
    return f"waiting for the first result: {counted(snapshot.rows_in, 'row')} read"


def phase(now: Phase) -> str:
    """What is being done, for how long, and how long it took last time: `planning: 2 s (3.1 s last time)`."""
    last = "" if now.last is None else f" ({now.last:.1f} s last time)"
    note = f", {now.note}" if now.note else ""
    return f"{now.name}{note}: {time.monotonic() - now.since:.0f} s{last}"


def summary(snapshot: Snapshot, taken: float | None = None) -> str:
    """One line: `stopped at 14:03:10, 1.2 M rows in, 318 out`.

    Args:
        snapshot: the query.
        taken: when the snapshot was taken, seconds since the epoch, for what is kept: `as of 2026-11-23 14:03:10: running, ...`.
    """
    state: str = snapshot.state
    if snapshot.ended is not None:
        state += f" at {words.wall(snapshot.ended) if taken is None else words.moment(snapshot.ended)}"
    elif taken is not None:
        state = f"as of {words.moment(taken)}: {state}"
    line = f"{state}, {words.count(snapshot.rows_in)} rows in, {words.count(snapshot.rows_out)} out"
    if snapshot.late:
        line += f", {words.count(snapshot.late)} late"
    if snapshot.bad:
        line += f", {words.count(snapshot.bad)} bad"
    return line
