"""Aggregates of pairs of numbers: covariance, correlation, linear regression. Pairs with a NULL don't count.

Per part the number of pairs, both means, both sums of squared deviations and the sum of products of deviations are kept, and
merged as Chan, Golub and LeVeque merge variances ("Updating formulae and a pairwise algorithm for computing sample variances",
1979). Means are taken from the least value on, so that the deviations of equal numbers are exactly 0, however they are batched:
that decides where a slope is NULL.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

import polars as pl

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

Y: Final = VALUE
X: Final = f"{VALUE}1"
N: Final = "n"
YY: Final = "yy"
XX: Final = "xx"
YX: Final = "yx"

Answer: TypeAlias = Callable[["Merged"], pl.Expr]


class Merged:
    """The moments of all pairs of a group, as expressions over its partial results."""

    def __init__(self) -> None:
        n = pl.col(N)
        self.n = n.sum()
        self.y, self.x = (centre(pl.col(name), n) for name in (Y, X))
        dy, dx = pl.col(Y) - self.y, pl.col(X) - self.x
        self.yy = pl.col(YY).sum() + (n * dy * dy).sum()
        self.xx = pl.col(XX).sum() + (n * dx * dx).sum()
        self.yx = pl.col(YX).sum() + (n * dy * dx).sum()


def centre(means: pl.Expr, n: pl.Expr) -> pl.Expr:
    """The mean of parts with these means and numbers of values; that of equal means exactly."""
    least = means.min()
    return least + ((means - least) * n).sum() / n.sum()


class PairMoments:
    """Moments of pairs.

    Args:
        answer: what is made of them where there is a pair.
        of_nothing: the answer where there is none.
    """

    extra: tuple[str, ...] = ()
    needs_time = False
    skips_nulls = True

    def __init__(self, answer: Answer, of_nothing: int | None) -> None:
        self._answer = answer
        self._of_nothing = of_nothing

    def update(self) -> list[pl.Expr]:
        """The moments of pairs without NULL."""
        both = pl.col(Y).is_not_null() & pl.col(X).is_not_null()
        y, x = pl.col(Y).filter(both), pl.col(X).filter(both)
        dy, dx = y - y.min(), x - x.min()
        oy, ox = dy - dy.mean(), dx - dx.mean()
        return [
            both.sum().cast(pl.Float64).alias(N), (y.min() + dy.mean()).alias(Y), (x.min() + dx.mean()).alias(X),
            (oy * oy).sum().alias(YY), (ox * ox).sum().alias(XX), (oy * ox).sum().alias(YX),
        ]  # fmt: skip

    def merge(self) -> list[pl.Expr]:
        """The moments of parts."""
        m = Merged()
        return [m.n.alias(N), m.y.alias(Y), m.x.alias(X), m.yy.alias(YY), m.xx.alias(XX), m.yx.alias(YX)]

    def finish(self, partials: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
        """What is made of the moments."""
        m = Merged()
        return grouped(partials, by, pl.when(m.n > 0).then(self._answer(m)).otherwise(self._of_nothing))


class PairMean:
    """The mean of one of the two numbers, over pairs without NULL: a sum and a count, as avg has."""

    extra: tuple[str, ...] = ()
    needs_time = False
    skips_nulls = True

    def __init__(self, of: str) -> None:
        self._of = of

    def update(self) -> list[pl.Expr]:
        """Sum and count."""
        both = pl.col(Y).is_not_null() & pl.col(X).is_not_null()
        return [pl.col(self._of).filter(both).sum().alias("sum"), both.sum().cast(pl.Float64).alias(N)]

    def merge(self) -> list[pl.Expr]:
        """Sums of both."""
        return [pl.col("sum").sum(), pl.col(N).sum()]

    def finish(self, partials: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
        """The mean where there is a pair."""
        total, n = pl.col("sum").sum(), pl.col(N).sum()
        return grouped(partials, by, pl.when(n > 0).then(total / n))


class OfPairs(AggregateFunction):
    """An aggregate of pairs of numbers.

    Args:
        name: its name.
        description: a sentence.
        answer: the answer of at least one pair; the column it is the mean of, if it is one.
        counts: whether it is a count of pairs.
    """

    algebra: Algebra = "algebraic"
    differential: Differential = "not"

    def __init__(self, name: str, description: str, answer: Answer | str, counts: bool = False) -> None:
        self.name = name
        self.signature = f"{name}(y, x)"
        self.description = description
        self.example = f"{name}(price, bids)"
        self.of_nothing = 0 if counts else None
        self._answer = answer

    def resolve(self, types: Sequence[pl.DataType], distinct: bool) -> tuple[tuple[pl.DataType, ...], pl.DataType]:
        """DOUBLE of two numbers; BIGINT of a count."""
        if len(types) != 2 or distinct:
            raise BadArguments(f"{self.name} takes two numbers, without DISTINCT")
        for dtype in types:
            if not (is_number(dtype) or isinstance(dtype, pl.Null)):
                raise BadArguments(f"{self.name} takes numbers, not {type_name(dtype)}")
        return (pl.Float64(), pl.Float64()), pl.Float64() if self.of_nothing is None else pl.Int64()

    def form(self, types: Sequence[pl.DataType], distinct: bool, parameters: Sequence[object]) -> Dense | FrameForm:
        """The moments, or a sum and a count."""
        if isinstance(self._answer, str):
            return PairMean(self._answer)
        return PairMoments(self._answer, self.of_nothing)


def _where(condition: pl.Expr, value: pl.Expr) -> pl.Expr:
    return pl.when(condition).then(value)


def _ratio(m: Merged) -> pl.Expr:
    """The correlation; by two roots where the product of the squares is beyond a DOUBLE."""
    product = m.yy * m.xx
    usual = product.is_nan() | (product.is_finite() & (product > 0))
    return pl.when(usual).then(m.yx / product.sqrt()).otherwise(m.yx / m.yy.sqrt() / m.xx.sqrt())


def _corr(m: Merged) -> pl.Expr:
    return _where((m.yy != 0) & (m.xx != 0), _ratio(m))


def _r2(m: Merged) -> pl.Expr:
    share = _ratio(m)
    return pl.when(m.xx == 0).then(None).when(m.yy == 0).then(1.0).otherwise(share * share)


def _slope(m: Merged) -> pl.Expr:
    return _where(m.xx != 0, m.yx / m.xx)


PAIRS: Final = (
    OfPairs("covar_pop", "Population covariance.", lambda m: m.yx / m.n),
    OfPairs("covar_samp", "Sample covariance; NULL of fewer than two pairs.", lambda m: _where(m.n > 1, m.yx / (m.n - 1))),
    OfPairs("corr", "Pearson's correlation; NULL where either number is always the same.", _corr),
    OfPairs("regr_count", "Number of pairs without NULL.", lambda m: m.n.cast(pl.Int64), counts=True),
    OfPairs("regr_avgx", "Mean of x over pairs.", X),
    OfPairs("regr_avgy", "Mean of y over pairs.", Y),
    OfPairs("regr_sxx", "Sum of squared deviations of x.", lambda m: m.xx),
    OfPairs("regr_syy", "Sum of squared deviations of y.", lambda m: m.yy),
    OfPairs("regr_sxy", "Sum of the products of deviations.", lambda m: m.yx),
    OfPairs("regr_slope", "Slope of the line of least squares; NULL where x is always the same.", _slope),
    OfPairs(
        "regr_intercept", "Where the line of least squares is at x = 0; NULL where x is always the same.",
        lambda m: m.y - _slope(m) * m.x,
    ),
    OfPairs("regr_r2", "Share of the variance of y that the line explains; NULL where x is always the same.", _r2),
)  # fmt: skip
"""SQL:2003's, with its NULLs."""
