"""Tells another operator the times of rows that WHERE may take out before they reach it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from jupyter_stream.core.messages import BROKEN, TS, Batch, Message
from jupyter_stream.flow.protocol import Stateless


class Witness(Stateless):
    """Passes everything on; tells `saw` the earliest and latest time of each batch's rows that are not late."""

    def __init__(self, saw: Callable[[int, int], None]) -> None:
        super().__init__("times of all rows")
        self._saw = saw

    def on_batch(self, port: int, batch: Batch) -> Iterator[Message]:
        """Look, and pass on."""
        times = batch.frame.get_column(TS)
        if BROKEN in batch.frame.columns:
            times = times.filter(batch.frame.get_column(BROKEN).is_null())
        if len(times):
            first, last = times.min(), times.max()
            assert isinstance(first, int) and isinstance(last, int)
            self._saw(first, last)
        yield batch
