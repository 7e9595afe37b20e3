"""EMIT EVERY over answers: asks for provisional ones when time, as answers below tell it, reaches the next multiple.

Answers for one instant come together but in no order, and several instants may become final at once: how many depends on how
rows were split into batches. Here they are held until the punctuation that makes them complete, and taken instant by instant.
Not for rows of a source, which have an order of their own: `ticker`.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from jupyter_stream.arrays.rows import bytes_of, in_few_pieces, shown
from jupyter_stream.core.control import ControlTable
from jupyter_stream.core.messages import BROKEN, BROKEN_BY_ALL, LATE_ID, TS, Batch, Message, Punctuation, Tick, ints
from jupyter_stream.core.time import MAX_TIME, MIN_TIME, show_duration


class InstantTicker:
    """A tick after the first instant that reaches or passes each multiple of `interval`, the very first instant apart."""

    def __init__(self, interval: int) -> None:
        self.control = ControlTable(f"tick every {show_duration(interval)}, by whole instants")
        self.synopses = [ControlTable("answers of instants to come")]
        self._interval = interval
        self._held: list[pl.DataFrame] = []
        self._newest = MIN_TIME
        self._said = MIN_TIME

    def head(self, most: int) -> pl.DataFrame:
        """The first answers of instants to come."""
        return shown(self._held, most)

    def on_batch(self, port: int, batch: Batch) -> Iterator[Message]:
        """Hold rows until their instant is complete; late ones are taken as they come."""
        frame = batch.frame
        if BROKEN in frame.columns:
            late = frame.get_column(BROKEN).is_not_null()
            if late.any():
                yield batch.with_frame(frame.filter(late))
            frame = frame.filter(~late).select(pl.exclude(BROKEN, BROKEN_BY_ALL, LATE_ID))
        if frame.height:
            self._held.append(frame)

    def on_punctuation(self, port: int, punctuation: Punctuation) -> Iterator[Message]:
        """Give the instants before it, in order, with a tick where time passes a multiple."""
        if self._held:
            yield from self._release(punctuation.value)
        if punctuation.value > self._said:
            self._said = self.control.low_watermark = punctuation.value
            yield punctuation

    def _release(self, until: int) -> Iterator[Message]:
        held = in_few_pieces(pl.concat(self._held, how="diagonal"))
        ready = held if until == MAX_TIME else held.filter(pl.col(TS) < until)
        self._held = [] if ready.height == held.height else [held.filter(pl.col(TS) >= until)]
        held_bytes = bytes_of(self._held)
        self.synopses[0].holds(held_bytes)
        self.control.holds(held_bytes)
        if not ready.height:
            return
        ready = ready.sort(TS, maintain_order=True)
        ts = ints(ready.get_column(TS))
        slots = np.maximum(ts, self._newest) // self._interval
        before = slots[0] if self._newest == MIN_TIME else self._newest // self._interval
        start = 0
        for first in np.flatnonzero(np.diff(slots, prepend=before)).tolist():
            at = int(ts[first])
            if first > start:
                yield Batch(ready[start:first])
            if at > self._said:
                # what ended before this instant is no longer open in the snapshot, however the instants came
                self._said = at
                yield Punctuation(at)
            start = int(np.searchsorted(ts, at, "right"))
            yield Batch(ready[first:start])
            yield Tick(at)
        if start < ready.height:
            yield Batch(ready[start:])
        self._newest = max(self._newest, int(ts[-1]))

    def on_tick(self, tick: Tick) -> Iterator[Message]:
        """Ticks are made here."""
        return iter(())


__all__ = ["InstantTicker"]
