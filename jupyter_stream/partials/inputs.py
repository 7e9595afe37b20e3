"""Inputs of aggregates, arguments and FILTER conditions, as arrays: what is folded into partials, some rows at a time."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl
from numpy.typing import NDArray

from jupyter_stream.core.messages import Int64s, ints


class InputArrays:
    """An input column as arrays, converted once per batch."""

    def __init__(self, series: pl.Series) -> None:
        self._series = series
        self.valid: NDArray[np.bool_] | None = None
        """Which values are not NULL; None if all are."""
        if series.null_count():
            self.valid = series.is_not_null().to_numpy()
        self._ints: Int64s | None = None
        self._floats: NDArray[np.float64] | None = None

    def whole(self, start: int, stop: int) -> bool:
        """Whether no value in the slice is NULL."""
        return self.valid is None or bool(self.valid[start:stop].all())

    def integers(self, start: int, stop: int) -> Int64s:
        """Integers, times as microseconds; NULL is 0."""
        if self._ints is None:
            series = self._series
            if self.valid is not None:
                series = series.to_physical().cast(pl.Int64).fill_null(0)
            self._ints = ints(series)
        return self._ints[start:stop]

    def floats(self, start: int, stop: int) -> NDArray[np.float64]:
        """Numbers as floats; NULL is 0."""
        if self._floats is None:
            series = self._series.fill_null(0.0) if self.valid is not None else self._series
            self._floats = series.to_numpy().astype(np.float64, copy=False)
        return self._floats[start:stop]

    def truth(self, start: int, stop: int) -> NDArray[np.bool_]:
        """A condition; NULL is not true."""
        truth: NDArray[np.bool_] = self._series[start:stop].fill_null(False).to_numpy()
        return truth


def mask_of(
    columns: Mapping[int, InputArrays], argument: int | None, where: int | None, start: int, stop: int
) -> NDArray[np.bool_] | None:
    """Which rows of a slice an aggregate takes: those whose argument isn't NULL and whose condition is true; None for all."""
    mask = None
    if argument is not None and not columns[argument].whole(start, stop):
        valid = columns[argument].valid
        assert valid is not None
        mask = valid[start:stop]
    if where is not None:
        truth = columns[where].truth(start, stop)
        mask = truth if mask is None else mask & truth
    return mask


__all__ = ["InputArrays", "mask_of"]
