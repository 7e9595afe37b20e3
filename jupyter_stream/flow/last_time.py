"""Remembers the last time of a relation's rows where these are no stream's own: extents come when the input has ended."""

from __future__ import annotations

from collections.abc import Iterator

from jupyter_stream.core.messages import Batch, Message
from jupyter_stream.core.time import MIN_TIME
from jupyter_stream.flow.protocol import Stateless


class LastTime(Stateless):
    """Passes everything on."""

    def __init__(self) -> None:
        super().__init__("times of the relation's rows")
        self.newest = MIN_TIME

    def on_batch(self, port: int, batch: Batch) -> Iterator[Message]:
        """Look, and pass on."""
        if batch.rows and batch.provisional is None:
            self.newest = max(self.newest, batch.span[1])
        yield batch


__all__ = ["LastTime"]
