"""Answers of aggregates over some of the rows: scaled up, with standard errors and the share of their rows that was looked at.

With a weight w of each row, one over the probability with which it was kept, a sum is about the sum of w x (Horvitz and Thompson,
JASA 1952), and an average the ratio of two such sums (Hájek). Variances are estimated from the same sums, taking w and x to be
independent in an answer. Where all rows of an answer were looked at it is the exact one, bit by bit.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from jupyter_stream.approximation.ledger import ExtentLedger
from jupyter_stream.core.control import ControlTable
from jupyter_stream.core.messages import WINDOW_END, Batch, Message, Punctuation, Tick, ints
from jupyter_stream.plan.logical import WeighedAggregate
from jupyter_stream.plan.weighed import SHARE

Floats: TypeAlias = NDArray[np.float64]

_SIGMAS: Final = 2.2
"""Standard errors within which an answer is to be: 1.96 hold 95% where they are known, and here they are estimated."""
_NEWEST: Final = 3
"""Batches of answers by which the next ones are judged."""


class EstimatesOperator:
    """Adds `$share`, and `$estimate x` and `$error x` of each estimated aggregate x.

    Args:
        estimates: what they are made of.
        shares: of the rows that were looked at, by extent, or of all.
        error: how far answers may be off, as a share of them; None where nothing was said.
    """

    def __init__(
        self, estimates: Sequence[WeighedAggregate], shares: ExtentLedger | float, error: float | None = None
    ) -> None:
        self.control = ControlTable("estimates: scaled up by what was left out, with standard errors")
        self.synopses: list[ControlTable] = []
        self._estimates = tuple(estimates)
        self._shares = shares
        self._error = error
        self._needed: deque[tuple[float, float]] = deque(maxlen=_NEWEST)  # odds, and the rate they were needed at
        self.answers = self.touched = 0
        """Answers given, and those of which rows were left out."""

    @property
    def needed(self) -> float:
        """The share of rows that has to be looked at for errors to stay in their bound, by the newest answers; 1 before any.

        With p the share, p / (1 - p) goes with one over the number of rows: where more come by now, less of them is enough.
        """
        if self._error is None or not isinstance(self._shares, ExtentLedger):
            return 0.0
        now = self._shares.rate
        odds = [odds * min(1.0, rate / now) if now else odds for odds, rate in self._needed]
        return max((o / (1 + o) if np.isfinite(o) else 1.0 for o in odds), default=1.0)

    def on_batch(self, port: int, batch: Batch) -> Iterator[Message]:
        """Work them out."""
        frame = batch.frame
        share = self._shares_of(frame)
        made = [pl.Series(SHARE.name, share, SHARE.dtype)]
        needed = 0.0
        for estimate in self._estimates:
            columns, least = self._estimated(frame, estimate, share)
            made += columns
            needed = max(needed, least)
        if frame.height:
            self._note(frame, needed)
            self.answers += frame.height
            self.touched += int((share < 1).sum())
        yield batch.with_frame(frame.hstack(made))

    def _note(self, frame: pl.DataFrame, odds: float) -> None:
        """Answers need these odds of a row to be looked at, at the rate of the last of their extents."""
        if isinstance(self._shares, ExtentLedger):
            ends = ints(frame.get_column(WINDOW_END))
            last = np.array([ends.max()])
            self._needed.append((odds, float(self._shares.counts(last)[0][0]) / self._shares.length))

    def _shares_of(self, frame: pl.DataFrame) -> Floats:
        if not isinstance(self._shares, ExtentLedger):
            return np.full(frame.height, self._shares)
        if not frame.height:
            return np.empty(0)
        ends, at = np.unique(ints(frame.get_column(WINDOW_END)), return_inverse=True)
        return self._shares.shares(ends)[at]

    def _estimated(self, frame: pl.DataFrame, of: WeighedAggregate, share: Floats) -> tuple[list[pl.Series], float]:
        """The estimate and its standard error; and the least odds of a row to be looked at that keep errors in their bound."""
        weights, spread = _floats(frame, of.weights), _floats(frame, of.spread)
        exact = share >= 1
        with np.errstate(divide="ignore", invalid="ignore"):
            if of.function == "count":
                value, variance, around = weights, spread, weights
            else:
                total, squares = _floats(frame, of.total), _floats(frame, of.squares)
                value, around = total, squares
                if of.function == "avg":
                    value = total / weights
                    around = np.maximum(squares - weights * value * value, 0.0) / (weights * weights)
                    rows = _floats(frame, of.rows)
                    around = np.where(rows > 1, around * rows / (rows - 1), np.nan)  # nothing is known of one row
                variance = spread / weights * around
            least = 0.0
            if self._error is not None:
                bound = (self._error / _SIGMAS * value) ** 2
                least = float(np.nanmax(np.where(around > 0, around / bound, 0.0), initial=0.0))
        error = np.where(exact, 0.0, np.sqrt(np.maximum(variance, 0.0)))
        asked = frame.get_column(of.name)
        if exact.all():
            return [asked.alias(of.estimate.name), pl.Series(of.error.name, error)], least
        whole = pl.Series(np.rint(value) if of.dtype.is_integer() else value, nan_to_null=True)
        scaled = whole.cast(of.dtype, strict=False).zip_with(pl.Series(~exact), asked)
        scaled = scaled.set(asked.is_null(), None)  # of no row nothing is known
        return [scaled.alias(of.estimate.name), pl.Series(of.error.name, error, nan_to_null=True)], least

    def on_punctuation(self, port: int, punctuation: Punctuation) -> Iterator[Message]:
        """Pass it on; extents before it are over."""
        if isinstance(self._shares, ExtentLedger):
            self._shares.forget(punctuation.value)
        self.control.low_watermark = punctuation.value
        yield punctuation

    def on_tick(self, tick: Tick) -> Iterator[Message]:
        """Pass it on."""
        yield tick


def _floats(frame: pl.DataFrame, column: str) -> Floats:
    series = frame.get_column(column)
    values = series.to_numpy().astype(np.float64)
    if series.null_count():
        values[series.is_null().to_numpy()] = 0.0
    return values


__all__ = ["EstimatesOperator"]
