"""Meld: union that passes rows through and buffers none (thesis §8.2). Its punctuation is the least of its inputs'."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from jupyter_stream.core.control import ControlTable
from jupyter_stream.core.messages import BROKEN, LATE_ID, Batch, Message, Punctuation, Tick
from jupyter_stream.core.time import MAX_TIME, MIN_TIME


class Meld:
    """Bag union of its inputs.

    Args:
        inputs: the columns of each input.
        names: what they are called in the union, by position.
    """

    def __init__(self, inputs: Sequence[Sequence[str]], names: Sequence[str]) -> None:
        self.control = ControlTable(f"union of {len(inputs)}")
        self.synopses: list[ControlTable] = []
        # a source may have left columns out, so batches are renamed by name
        self._renamed = [{a: b for a, b in zip(own, names, strict=True) if a != b} for own in inputs]
        self._reached = [MIN_TIME] * len(inputs)
        self._said = MIN_TIME
        self._newest = MIN_TIME  # the greatest promise short of the end: past all rows once all inputs have ended

    def on_batch(self, port: int, batch: Batch) -> Iterator[Message]:
        """Pass rows on under the common names; a row is late only by what all inputs have promised."""
        frame = batch.frame
        if self._renamed[port]:
            frame = frame.rename(self._renamed[port], strict=False)
        if BROKEN in frame.columns:
            others = min((r for i, r in enumerate(self._reached) if i != port), default=None)
            if others is not None:
                frame = frame.with_columns(
                    pl.min_horizontal(BROKEN, pl.when(pl.col(BROKEN).is_not_null()).then(others))
                )
        yield batch.with_frame(frame)

    def on_punctuation(self, port: int, punctuation: Punctuation) -> Iterator[Message]:
        """Say what all inputs have said."""
        if punctuation.key is not None:
            return
        self._reached[port] = max(self._reached[port], punctuation.value)
        if punctuation.value != MAX_TIME:
            self._newest = max(self._newest, punctuation.value)
        least = min(self._reached)
        if least == MAX_TIME and self._newest > self._said:
            yield Punctuation(self._newest)
        if least > self._said:
            self._said = self.control.low_watermark = least
            yield Punctuation(least)

    def on_tick(self, tick: Tick) -> Iterator[Message]:
        """Pass it on."""
        yield tick


__all__ = ["BROKEN", "LATE_ID", "Meld"]
