"""A stream's rows as a relation: each enters at its time and leaves when its lifetime ends.

What comes after it works on changes: rows with `$sign`, given instant by instant once no row before can come.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from jupyter_stream.core.control import ControlTable
from jupyter_stream.core.messages import (
    BROKEN,
    LATE_ID,
    SIGN,
    TS,
    UNTIL,
    Batch,
    Int64s,
    Message,
    Missed,
    Punctuation,
    Tick,
    ints,
)
from jupyter_stream.core.time import MAX_TIME, MIN_TIME
from jupyter_stream.windows import LifetimeWindow


class Alive:
    """Rows entering (`$sign` 1) and leaving (-1) at `$ts`.

    Args:
        window: how long rows live, unless they carry `$until` themselves.
        columns: the rows' columns.
        ends: whether the rows carry `$until`.
    """

    def __init__(self, window: LifetimeWindow, columns: tuple[str, ...], ends: bool = False) -> None:
        self.control = ControlTable("rows alive" if ends else f"rows alive {window}")
        self.synopses: list[ControlTable] = []
        self._range = window.range
        self._columns = columns
        self._ends_given = ends
        self._waiting: list[pl.DataFrame] = []
        self._alive: list[
            tuple[int, pl.DataFrame]
        ] = []  # rows that entered together, and when the first of them leaves
        self._reached = MIN_TIME

    def on_batch(self, port: int, batch: Batch) -> Iterator[Message]:
        """Keep rows until their time has come; late ones are told."""
        frame = batch.frame
        late = frame.get_column(TS) < self._reached
        if BROKEN in frame.columns:
            late |= (frame.get_column(TS) < frame.get_column(BROKEN)).fill_null(False)
        if late.any():
            missed = frame.filter(late)
            self.control.late_rows += missed.height
            if LATE_ID in missed.columns:
                yield Missed(ints(missed.get_column(LATE_ID).drop_nulls()), None)
            frame = frame.filter(~late)
        if frame.height:
            kept = [c for c in self._columns if c in frame.columns]
            ends = frame.get_column(UNTIL) if self._ends_given else pl.Series(UNTIL, self._ends(frame))
            self._waiting.append(frame.select(*kept, TS).with_columns(ends))
            self._report()

    def _ends(self, frame: pl.DataFrame) -> Int64s:
        times = ints(frame.get_column(TS))
        if self._range is None:
            return np.full(times.size, MAX_TIME)
        ends: Int64s = times + np.minimum(self._range, MAX_TIME - np.maximum(times, 0))
        return ends

    def on_punctuation(self, port: int, punctuation: Punctuation) -> Iterator[Message]:
        """Give the changes at instants that it makes final."""
        if punctuation.value <= self._reached:
            return
        self._reached = self.control.low_watermark = punctuation.value
        changes = self._enter(punctuation.value) + self._leave(punctuation.value)
        if changes:
            yield Batch(pl.concat(changes).sort(TS, SIGN, maintain_order=True))
        self._report()
        yield punctuation

    def _enter(self, before: int) -> list[pl.DataFrame]:
        due, rest = _split(self._waiting, TS, before)
        self._waiting = rest
        for frame in due:
            if self._range is not None or ints(frame.get_column(UNTIL)).min(initial=MAX_TIME) < MAX_TIME:
                self._alive.append((int(ints(frame.get_column(UNTIL)).min()), frame))
        return [f.drop(UNTIL).with_columns(pl.lit(1, pl.Int8).alias(SIGN)) for f in due]

    def _leave(self, before: int) -> list[pl.DataFrame]:
        gone, stay = [], []
        for first, frame in self._alive:
            if first >= before:
                stay.append((first, frame))
                continue
            leaves = frame.get_column(UNTIL) < before
            gone.append(frame.filter(leaves))
            rest = frame.filter(~leaves)
            if rest.height:
                stay.append((int(ints(rest.get_column(UNTIL)).min()), rest))
        self._alive = stay
        if len(stay) > 64:
            small = pl.concat([f for _, f in stay])
            self._alive = [(min(first for first, _ in stay), small)]
        return [f.drop(TS).rename({UNTIL: TS}).with_columns(pl.lit(-1, pl.Int8).alias(SIGN)) for f in gone]

    def on_tick(self, tick: Tick) -> Iterator[Message]:
        """Pass it on: a relation has no provisional answers."""
        yield tick

    def _report(self) -> None:
        frames = [*self._waiting, *(f for _, f in self._alive)]
        self.control.holds(sum(int(f.estimated_size()) for f in frames))
        self.control.extra["waiting_rows"] = sum(f.height for f in self._waiting)
        self.control.extra["live_rows"] = sum(f.height for _, f in self._alive)


def _split(frames: list[pl.DataFrame], column: str, before: int) -> tuple[list[pl.DataFrame], list[pl.DataFrame]]:
    """Rows before a time, and the others."""
    due, rest = [], []
    for frame in frames:
        now = frame.get_column(column) < before
        if now.any():
            due.append(frame.filter(now))
        if not now.all():
            rest.append(frame.filter(~now))
    return due, rest
