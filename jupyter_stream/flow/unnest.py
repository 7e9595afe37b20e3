"""UNNEST: a row for each item of an array. System columns go along: each has the time and the lifetime of its row."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from jupyter_stream.core.messages import Batch, KeyPunctuation, Message
from jupyter_stream.flow.protocol import Stateless
from jupyter_stream.plan.logical import Unnest

_SIZE = "$size"


class UnnestOperator(Stateless):
    """The items of the plan's arrays, side by side."""

    def __init__(self, plan: Unnest) -> None:
        super().__init__("unnest")
        self._columns = plan.columns
        self._position = plan.position
        self._outer = plan.outer

    def on_batch(self, port: int, batch: Batch) -> Iterator[Message]:
        """A row for each item."""
        sizes = [pl.col(c).list.len().fill_null(0) for c in self._columns]
        frame = batch.frame.with_columns(pl.max_horizontal(sizes).cast(pl.Int64).alias(_SIZE))
        if not self._outer:
            frame = frame.filter(pl.col(_SIZE) > 0)
        if len(self._columns) > 1:
            places = pl.int_ranges(pl.col(_SIZE))
            padded = (
                pl.when(pl.col(c).is_not_null()).then(pl.col(c)).otherwise([]).list.gather(places, null_on_oob=True)
                for c in self._columns
            )
            frame = frame.with_columns(padded)
        made = list(self._columns)
        if self._position is not None:
            frame = frame.with_columns(pl.int_ranges(1, pl.col(_SIZE) + 1).alias(self._position))
            made.append(self._position)
        frame = frame.drop(_SIZE).explode(made, empty_as_null=True)
        if frame.height or batch.tells:
            yield batch.with_frame(frame)

    def on_key_punctuation(self, port: int, punctuation: KeyPunctuation) -> Iterator[Message]:
        """Pass it on, but for one on what are arrays below."""
        if punctuation.column not in self._columns:
            yield punctuation
