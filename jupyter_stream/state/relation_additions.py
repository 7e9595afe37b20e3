"""Aggregates of a relation that are functions of exact sums: count, sum, avg, variances."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from jupyter_stream.aggregates.protocol import as_series
from jupyter_stream.core.messages import Int64s
from jupyter_stream.state.relation_exact import Exact, as_floats, as_integers, mean, variance
from jupyter_stream.state.relation_slab import Bools


@dataclass(frozen=True)
class Sums:
    """What an addition gives at each look: how many values, their sum, the sum of their squares (where asked for)."""

    count: Int64s
    total: Exact | None = None
    squares: Exact | None = None


@dataclass(frozen=True)
class Addition:
    """How an aggregate follows from exact sums.

    Attributes:
        powers: 0: of counts only; 1: of sums; 2: of squares as well.
        finish: the answer and, where it can be beyond its type, where it is.
    """

    powers: int
    finish: Callable[[Sums, pl.DataType], tuple[pl.Series, Bools | None]]


def _count(sums: Sums, dtype: pl.DataType) -> tuple[pl.Series, Bools | None]:
    return pl.Series(sums.count).cast(dtype), None


def _sum(sums: Sums, dtype: pl.DataType) -> tuple[pl.Series, Bools | None]:
    assert sums.total is not None
    present = sums.count > 0
    if dtype.is_integer():
        values, beyond = as_integers(sums.total)
        return as_series(values, present, dtype), beyond if beyond.any() else None
    return as_series(as_floats(sums.total), present, dtype), None


def _avg(sums: Sums, dtype: pl.DataType) -> tuple[pl.Series, Bools | None]:
    assert sums.total is not None
    return as_series(mean(sums.total, sums.count), sums.count > 0, dtype), None


def _spread(ddof: int, root: bool) -> Addition:
    def finish(sums: Sums, dtype: pl.DataType) -> tuple[pl.Series, Bools | None]:
        assert sums.total is not None and sums.squares is not None
        present: NDArray[np.bool_] = sums.count > ddof
        values = variance(sums.total, sums.squares, sums.count, ddof)
        return as_series(np.sqrt(values) if root else values, present, dtype), None

    return Addition(2, finish)


ADDITIONS: dict[str, Addition] = {
    "count": Addition(0, _count),
    "sum": Addition(1, _sum),
    "avg": Addition(1, _avg),
    "var_samp": _spread(1, False),
    "var_pop": _spread(0, False),
    "stddev_samp": _spread(1, True),
    "stddev_pop": _spread(0, True),
}
"""Aggregates that are functions of exact sums, for arguments that are integers or floats."""
