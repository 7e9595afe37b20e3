"""skewness and kurtosis of a population, from the first four moments per part.

Parts are merged by the formulas of Pébay ("Formulas for robust, one-pass parallel computation of covariances and arbitrary-order
statistical moments", 2008), as Spark does: around the merged mean, no power of a value itself is summed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import polars as pl

from jupyter_stream.aggregates.pairs import N, centre
from jupyter_stream.aggregates.protocol import (
    VALUE,
    AggregateFunction,
    Algebra,
    BadArguments,
    Dense,
    Differential,
    FrameForm,
    grouped,
    is_number,
)
from jupyter_stream.core.schema import type_name

_POWERS = (2, 3, 4)


class FourMoments:
    """Count, mean, and sums of deviations to the second, third and fourth power.

    Args:
        answer: from the number of values and the three sums; NULL of equal values.
    """

    extra: tuple[str, ...] = ()
    needs_time = False
    skips_nulls = True

    def __init__(self, answer: Callable[[pl.Expr, pl.Expr, pl.Expr, pl.Expr], pl.Expr]) -> None:
        self._answer = answer

    def update(self) -> list[pl.Expr]:
        """The moments of values."""
        value = pl.col(VALUE)
        above = value - value.min()
        off = above - above.mean()
        sums = [(off**power).sum().alias(f"m{power}") for power in _POWERS]
        return [value.len().cast(pl.Float64).alias(N), (value.min() + above.mean()).alias("mean"), *sums]

    def merge(self) -> list[pl.Expr]:
        """The moments of parts."""
        mean, *sums = self._merged()
        return [pl.col(N).sum(), mean.alias("mean"), *(m.alias(f"m{p}") for p, m in zip(_POWERS, sums, strict=True))]

    def finish(self, partials: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
        """The answer; NULL of nothing and of equal values."""
        _, m2, m3, m4 = self._merged()
        return grouped(partials, by, pl.when(m2 != 0).then(self._answer(pl.col(N).sum(), m2, m3, m4)))

    @staticmethod
    def _merged() -> tuple[pl.Expr, pl.Expr, pl.Expr, pl.Expr]:
        n, m2, m3, m4 = (pl.col(c) for c in (N, "m2", "m3", "m4"))
        mean = centre(pl.col("mean"), n)
        d = pl.col("mean") - mean
        second = m2 + n * d**2
        third = m3 + 3 * d * m2 + n * d**3
        fourth = m4 + 4 * d * m3 + 6 * d**2 * m2 + n * d**4
        return mean, second.sum(), third.sum(), fourth.sum()


class _ShapeStatistic(AggregateFunction):
    name = ""
    algebra: Algebra = "algebraic"
    differential: Differential = "not"

    def resolve(self, types: Sequence[pl.DataType], distinct: bool) -> tuple[tuple[pl.DataType, ...], pl.DataType]:
        """DOUBLE of any number."""
        if len(types) != 1 or distinct:
            raise BadArguments(f"{self.name} takes one number, without DISTINCT")
        if not (is_number(types[0]) or isinstance(types[0], pl.Null)):
            raise BadArguments(f"{self.name} takes a number, not {type_name(types[0])}")
        return (pl.Float64(),), pl.Float64()

    def form(self, types: Sequence[pl.DataType], distinct: bool, parameters: Sequence[object]) -> Dense | FrameForm:
        """The moments."""
        return FourMoments(self._answer)

    @staticmethod
    def _answer(n: pl.Expr, m2: pl.Expr, m3: pl.Expr, m4: pl.Expr) -> pl.Expr:
        raise TypeError("each of the two has its own")


class Skewness(_ShapeStatistic):
    """`skewness(x)`."""

    name = "skewness"
    signature = "skewness(x)"
    description = "Skewness of the population; NULL of equal values."
    example = "skewness(price)"

    @staticmethod
    def _answer(n: pl.Expr, m2: pl.Expr, m3: pl.Expr, m4: pl.Expr) -> pl.Expr:
        return n.sqrt() * (m3 / m2) / m2.sqrt()


class Kurtosis(_ShapeStatistic):
    """`kurtosis(x)`."""

    name = "kurtosis"
    signature = "kurtosis(x)"
    description = "Excess kurtosis of the population; NULL of equal values."
    example = "kurtosis(price)"

    @staticmethod
    def _answer(n: pl.Expr, m2: pl.Expr, m3: pl.Expr, m4: pl.Expr) -> pl.Expr:
        return n * (m4 / m2) / m2 - 3
