"""EMIT EVERY: asks for provisional answers when the stream's own time reaches the next multiple of the interval."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from jupyter_stream.core.messages import TS, Batch, KeyPunctuation, Message, Tick
from jupyter_stream.core.time import MIN_TIME, show_duration
from jupyter_stream.flow.protocol import Stateless


class Ticker(Stateless):
    """Splits batches after the first row whose time reaches or passes each multiple of `interval`, the first row apart."""

    def __init__(self, interval: int) -> None:
        super().__init__(f"tick every {show_duration(interval)}")
        self._interval = interval
        self._newest = MIN_TIME

    def on_batch(self, port: int, batch: Batch) -> Iterator[Message]:
        """Cut the batch where time passes a multiple."""
        if not batch.rows:
            return
        newest = np.maximum.accumulate(batch.ints(TS))
        np.maximum(newest, self._newest, out=newest)
        slots = newest // self._interval
        before = slots[0] if self._newest == MIN_TIME else self._newest // self._interval
        cuts = np.flatnonzero(np.diff(slots, prepend=before))
        start = 0
        for cut in (cuts + 1).tolist():
            yield batch.with_frame(batch.frame.slice(start, cut - start))
            yield Tick(int(newest[cut - 1]))
            start = cut
        if start < batch.rows:
            yield batch.with_frame(batch.frame.slice(start))
        self._newest = int(newest[-1])

    def on_key_punctuation(self, port: int, punctuation: KeyPunctuation) -> Iterator[Message]:
        """Pass it on: rows keep their key and their time."""
        yield punctuation
