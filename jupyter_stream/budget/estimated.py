"""Answers of extents that are over while some of their rows still wait: estimates, each until the exact answer replaces it.

Stands above an aggregate whose input has a budget (promising-tuples paper §4.3). A fair sample of the rows says of averages and
quantiles what they are about; sums and counts of it are scaled up. Otherwise they are of the rows looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from jupyter_stream.budget.promising_rows import PromisingRows
from jupyter_stream.core.control import ControlTable
from jupyter_stream.core.messages import COVERAGE, WINDOW_END, Batch, Message, Punctuation, Tick, ints


@dataclass(frozen=True)
class EstimatedConfig:
    """What is estimated.

    Attributes:
        range: length of an extent, microseconds.
        scaled: columns of sums and counts, which a fair sample's share scales up; () where what was looked at is none.
    """

    range: int
    scaled: tuple[str, ...]


class Estimated:
    """Marks answers with the share of their extent's rows that was looked at."""

    def __init__(self, config: EstimatedConfig, rows: Callable[[], PromisingRows]) -> None:
        self.control = ControlTable("estimates of extents that wait")
        self.synopses: list[ControlTable] = []
        self._config = config
        self._rows = rows

    def on_batch(self, port: int, batch: Batch) -> Iterator[Message]:
        """Final answers are of all rows, but for some that may have been given up; of the others those whose extent is over."""
        frame = batch.frame
        rows = self._rows()
        ends = ints(frame.get_column(WINDOW_END))
        if batch.provisional is None and not rows.promises.let_go:
            yield batch.with_frame(frame.with_columns(pl.lit(1.0).alias(COVERAGE)))
            return
        if batch.provisional is not None:
            over = ends <= rows.reached
            frame, ends = frame.filter(pl.Series(over)), ends[over]
        distinct, which = np.unique(ends, return_inverse=True)
        shares = np.array([rows.share(int(end) - self._config.range, int(end)) for end in distinct])
        share = pl.Series(COVERAGE, shares[which] if ends.size else np.empty(0))
        frame = frame.with_columns(share)
        scaled = [_scaled(frame.get_column(c), share).alias(c) for c in self._config.scaled]
        yield batch.with_frame(frame.with_columns(scaled))

    def on_punctuation(self, port: int, punctuation: Punctuation) -> Iterator[Message]:
        """Pass it on."""
        self.control.low_watermark = punctuation.value
        yield punctuation

    def on_tick(self, tick: Tick) -> Iterator[Message]:
        """It has done what it came for."""
        yield from ()


def _scaled(column: pl.Series, share: pl.Series) -> pl.Series:
    """A sum or a count as it would be of all rows."""
    whole = column.cast(pl.Float64) / pl.Series(np.maximum(share.to_numpy(), 1e-9))
    if not column.dtype.is_integer():
        return whole.cast(column.dtype)
    return (
        whole.round(0).cast(column.dtype, strict=False).fill_null(column)
    )  # as it is where the whole is no such number


__all__ = ["Estimated", "EstimatedConfig"]
