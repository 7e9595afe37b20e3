"""A derived stream's name on the way: remembers its late rows while a batch is under way, for `late(name)`."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from jupyter_stream.core.messages import LATE_ID, UNTIL, Batch, KeyPunctuation, Message
from jupyter_stream.flow.protocol import Stateless


class Named(Stateless):
    """Passes everything on."""

    def __init__(self, name: str) -> None:
        super().__init__(f"stream {name}")
        self.stream = name
        self.late: pl.DataFrame | None = None

    def on_batch(self, port: int, batch: Batch) -> Iterator[Message]:
        """Note late rows. As a stream of their own the rows have no end (`$until`) any more."""
        late = LATE_ID in batch.frame.columns
        self.late = batch.frame.filter(pl.col(LATE_ID).is_not_null()) if late else None
        yield batch.with_frame(batch.frame.drop(UNTIL)) if UNTIL in batch.frame.columns else batch

    def on_key_punctuation(self, port: int, punctuation: KeyPunctuation) -> Iterator[Message]:
        """Pass it on: rows keep their key and their time."""
        yield punctuation
