"""A stream's rows slot by slot, for queries with a budget, and the summary they share (promising-tuples paper §3).

A slot is a short stretch of the stream's own time. Its rows go on together, followed by its end as a punctuation, once no more of
them can come: what a budget of probes per row then buys depends on no batch, and on no order in which the slots' rows arrived.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
import polars as pl

from jupyter_stream.arrays.order import order_of
from jupyter_stream.arrays.rows import bytes_of, columns_of, rows_at, rows_where, shown, together
from jupyter_stream.core.axis import plus
from jupyter_stream.core.control import ControlTable
from jupyter_stream.core.messages import (
    BROKEN,
    BROKEN_BY_ALL,
    LATE_ID,
    TS,
    Batch,
    Int64s,
    Message,
    Punctuation,
    Tick,
    ints,
)
from jupyter_stream.core.time import MAX_TIME, MIN_TIME
from jupyter_stream.plan.preference import SummaryDef
from jupyter_stream.summaries.stream_summary import StreamSummary

LATE_COLUMNS: Final = frozenset((BROKEN, BROKEN_BY_ALL, LATE_ID))
"""Columns that only late rows have a use for."""


@dataclass(frozen=True, slots=True)
class _Coming:
    """Rows of a slot that no query has got to, and when it ends."""

    end: int
    frame: pl.DataFrame
    bytes: int


class SummaryKeeper:
    """Summaries of one stream, taken forward slot by slot by the queries that share them.

    Args:
        summaries: what is kept.
        keep: how far back rows may be asked for, microseconds; None for as far as the granularities reach.
    """

    def __init__(self, summaries: tuple[SummaryDef, ...], keep: int | None) -> None:
        self._keep = keep
        self._summaries = {s.name.lower(): StreamSummary(s.spec) for s in summaries}
        self._names = {s.name.lower(): (TS, *s.spec.columns) for s in summaries}
        self._coming: deque[_Coming] = deque()
        self._coming_bytes = 0
        self.reached = MIN_TIME
        self._seen: pl.DataFrame | None = None
        self._seen_rows = 0
        self._watched = False

    @property
    def cells(self) -> pl.DataFrame | None:
        """The cells of the first summary, for views; any thread. Of the last slot that was over once somebody has asked."""
        self._watched = True
        return self._seen

    def __getitem__(self, summary: SummaryDef) -> StreamSummary:
        return self._summaries[summary.name.lower()]

    def give(self, end: int, frame: pl.DataFrame) -> None:
        """Rows of a slot, to be taken in when a query gets there."""
        if self._summaries:
            self._coming.append(_Coming(end, frame, int(frame.estimated_size())))
            self._coming_bytes += self._coming[-1].bytes

    def advance(self, end: int) -> None:
        """Take in the slots up to there. A second query that gets there finds them taken in."""
        if end <= self.reached:
            return
        self.reached = end
        at, frames = end, []
        while self._coming and self._coming[0].end <= end:
            coming = self._coming.popleft()
            at = coming.end
            frames.append(coming.frame)
            self._coming_bytes -= coming.bytes
        for name, summary in self._summaries.items():
            if frames:  # of several slots at once: each time costs much whatever the rows
                summary.insert(together([columns_of(f, self._names[name]) for f in frames]))
                if at != MAX_TIME:
                    reach = max(summary.spec.span(summary.spec.depth), self._keep or 0)
                    summary.advance(at, plus(at, -reach))
        first = next(iter(self._summaries.values()), None)
        if first is not None and (self._watched or first.came >= 2 * self._seen_rows):
            self._seen, self._seen_rows = first.cells(), first.came

    @property
    def bytes(self) -> int:
        """Bytes of the sketches."""
        return sum(s.bytes for s in self._summaries.values())

    @property
    def row_bytes(self) -> int:
        """Bytes of the rows still to be taken in."""
        return self._coming_bytes


class Slots:
    """Cuts a stream into slots, and has summaries kept of it.

    Args:
        width: of a slot, microseconds.
        summaries: what is kept of its rows.
        keep: how far back queries ask, microseconds; None for as far as the granularities reach.
    """

    def __init__(self, width: int, summaries: tuple[SummaryDef, ...] = (), keep: int | None = None) -> None:
        named = f"summary {'; '.join(str(s) for s in summaries)}" if summaries else "slots"
        self.control = ControlTable(named)
        self.synopses: list[ControlTable] = []
        if summaries:
            declared = sum(s.spec.bytes for s in summaries)
            self.control.extra["memory"] = f"{declared / 2**20:.1f} MiB at most"
            self.synopses.append(ControlTable(f"sketches of {', '.join(s.name for s in summaries)}"))
        self.width = width
        self.keeper = SummaryKeeper(summaries, keep)
        self._waiting: list[pl.DataFrame] = []
        self._waiting_bytes = 0
        self._said = MIN_TIME

    def head(self, most: int) -> pl.DataFrame:
        """Some of the summary's cells; without one, the first rows of the slot under way."""
        cells = self.keeper.cells
        return shown(self._waiting if cells is None else [cells], most)

    def on_batch(self, port: int, batch: Batch) -> Iterator[Message]:
        """Keep rows until their slot is over; late ones go on at once, late as they are."""
        frame = batch.frame
        if BROKEN in frame.columns and frame.get_column(BROKEN).null_count() < frame.height:
            late = frame.get_column(BROKEN).is_not_null().to_numpy()
            yield batch.with_frame(rows_where(frame, late))
            frame = rows_where(frame, ~late)
        if BROKEN in frame.columns:
            frame = frame.drop([c for c in frame.columns if c in LATE_COLUMNS])
        if frame.height:
            self._waiting.append(frame)
            self._waiting_bytes += int(frame.estimated_size())

    def on_punctuation(self, port: int, punctuation: Punctuation) -> Iterator[Message]:
        """Give the slots that are over, each with its end."""
        value = punctuation.value
        reached = value if value in (MIN_TIME, MAX_TIME) else value // self.width * self.width
        if self._waiting and reached > self._said:
            frame = together(self._waiting)
            slots = ints(frame.get_column(TS)) // self.width
            over = slots.size if reached == MAX_TIME else int(np.count_nonzero(slots < reached // self.width))
            if over and over < slots.size and (slots[1:] < slots[:-1]).any():
                order = order_of(slots)
                frame, slots = rows_at(frame, order), slots[order]
            if over:
                self._waiting = [frame[over:]] if over < slots.size else []
                self._waiting_bytes = bytes_of(self._waiting)
                yield from self._slots(frame[:over], slots[:over])
            else:
                self._waiting = [frame]
            self._report()
        if reached > self._said:
            self._said = self.control.low_watermark = reached
            yield Punctuation(reached)

    def _slots(self, frame: pl.DataFrame, slots: Int64s) -> Iterator[Message]:
        """Rows of slots that are over, slot by slot; within one in the order in which they came."""
        if (slots[1:] < slots[:-1]).any():
            order = order_of(slots)
            frame, slots = frame[pl.Series(order)], slots[order]
        cuts = [0, *(np.flatnonzero(np.diff(slots)) + 1).tolist(), slots.size]
        for begin, end in pairwise(cuts):
            rows, over = frame[begin:end], (int(slots[begin]) + 1) * self.width
            self.keeper.give(over, rows)
            yield Batch(rows)
            self._said = over
            yield Punctuation(over)

    def on_tick(self, tick: Tick) -> Iterator[Message]:
        """Pass it on."""
        yield tick

    def _report(self) -> None:
        if self.synopses:
            self.synopses[0].holds(self.keeper.bytes)
        self.control.holds(self._waiting_bytes + self.keeper.bytes + self.keeper.row_bytes)
