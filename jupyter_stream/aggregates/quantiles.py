"""median and quantile, exact: from the counts of the window's distinct values. Not for estimates in constant memory."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import polars as pl

from jupyter_stream.aggregates.protocol import (
    VALUE,
    AggregateFunction,
    Algebra,
    BadArguments,
    Dense,
    Differential,
    FrameForm,
    check_one,
    grouped,
    is_number,
)
from jupyter_stream.aggregates.value_counts import COUNT, Answer, ValueCounts
from jupyter_stream.core.messages import ints
from jupyter_stream.core.schema import type_name

_PLACE = "$place"


def interpolated(q: float) -> Answer:
    """The value at position q (n - 1) of the n values in order, linear between its neighbours; NaN is greatest."""

    def of(partials: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
        groups = (
            partials.with_row_index(_PLACE).sort(VALUE).group_by(list(by)).agg(VALUE, COUNT, pl.col(_PLACE).min())
        ).sort(_PLACE)
        values = groups.get_column(VALUE).explode().to_numpy()
        reached = np.cumsum(ints(groups.get_column(COUNT).explode()))
        lengths = groups.get_column(VALUE).list.len().to_numpy()
        ends = reached[np.cumsum(lengths, dtype=np.int64) - 1]
        starts = np.concatenate([[0], ends])[:-1]
        position = (ends - starts - 1) * q
        low, high = np.floor(position), np.ceil(position)
        share = position - low
        # the first value whose count, with those before it in the group, goes beyond a position
        below, above = (
            values[np.searchsorted(reached, starts + p.astype(np.int64), side="right")] for p in (low, high)
        )
        with np.errstate(invalid="ignore"):  # infinities of both signs have nothing between them
            # weighted, as Spark's percentile has it: above - below may be beyond a double, and equal neighbours don't round
            between = below * (1 - share) + above * share
        answers = np.where((share == 0) | (below == above), below, between)
        return groups.select(by).with_columns(pl.Series(VALUE, answers, pl.Float64()))

    return of


def taken(q: float, descending: bool) -> Answer:
    """The first of the n values in (descending) order with at least q n values up to it; NaN is greatest."""

    def of(partials: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
        n = pl.col(COUNT).sum()
        wanted = (n * q).ceil().clip(lower_bound=1)
        ordered = pl.col(VALUE).sort(descending=descending)
        reached = pl.col(COUNT).sort_by(VALUE, descending=descending).cum_sum() >= wanted
        return grouped(partials, by, ordered.filter(reached).first())

    return of


def share(q: object) -> float:
    """The share that a quantile is asked for. Raises `BadArguments` where it is none."""
    if not isinstance(q, int | float) or not 0 <= q <= 1 or math.isnan(q):
        raise BadArguments("q must be between 0 and 1, the median being 0.5")
    return float(q)


class _Quantile(AggregateFunction):
    name = ""
    algebra: Algebra = "holistic"
    differential: Differential = "pseudo"

    def _number(self, types: Sequence[pl.DataType], distinct: bool) -> None:
        if distinct:
            raise BadArguments(f"{self.name}(DISTINCT ...) isn't available in this version")
        if not (is_number(types[0]) or isinstance(types[0], pl.Null)):
            raise BadArguments(f"{self.name} takes a number, not {type_name(types[0])}")


class Median(_Quantile):
    """`median(x)`."""

    name = "median"
    signature = "median(x)"
    description = "Middle value, or the mean of the two in the middle; exact."
    example = "median(price)"

    def resolve(self, types: Sequence[pl.DataType], distinct: bool) -> tuple[tuple[pl.DataType, ...], pl.DataType]:
        """DOUBLE of any number."""
        check_one(types, self.name)
        self._number(types, distinct)
        return (pl.Float64(),), pl.Float64()

    def form(self, types: Sequence[pl.DataType], distinct: bool, parameters: Sequence[object]) -> Dense | FrameForm:
        """The counts of values."""
        return ValueCounts(interpolated(0.5))


class Quantile(_Quantile):
    """`quantile(x, q)`."""

    name = "quantile"
    signature = "quantile(x, q)"
    description = "The value below which a share q of the values lies, linear between neighbours; exact."
    example = "quantile(price, 0.9)"
    constant_from: int | None = 1

    def resolve(self, types: Sequence[pl.DataType], distinct: bool) -> tuple[tuple[pl.DataType, ...], pl.DataType]:
        """DOUBLE of any number."""
        if len(types) != 2:
            raise BadArguments(f"{self.name} takes a number and a share between 0 and 1")
        self._number(types, distinct)
        return (pl.Float64(), pl.Float64()), pl.Float64()

    def form(self, types: Sequence[pl.DataType], distinct: bool, parameters: Sequence[object]) -> Dense | FrameForm:
        """The counts of values. Raises `BadArguments` where q is no share."""
        return ValueCounts(interpolated(share(parameters[0])))


class QuantileDisc(_Quantile):
    """`quantile_disc(x, q)`; a third argument, TRUE, counts from the greatest value down (WITHIN GROUP writes it)."""

    name = "quantile_disc"
    signature = "quantile_disc(x, q)"
    description = "The least value with a share of at least q of the values up to it; one of them, of any type; exact."
    example = "quantile_disc(price, 0.9)"
    constant_from: int | None = 1

    def resolve(self, types: Sequence[pl.DataType], distinct: bool) -> tuple[tuple[pl.DataType, ...], pl.DataType]:
        """The argument's type."""
        if len(types) not in (2, 3) or distinct:
            raise BadArguments(f"{self.name} takes a value and a share between 0 and 1, without DISTINCT")
        if types[0].is_nested():
            raise BadArguments(f"{self.name} needs values that can be ordered, not {type_name(types[0])}")
        return (types[0], pl.Float64(), pl.Boolean())[: len(types)], types[0]

    def form(self, types: Sequence[pl.DataType], distinct: bool, parameters: Sequence[object]) -> Dense | FrameForm:
        """The counts of values. Raises `BadArguments` where q is no share."""
        return ValueCounts(taken(share(parameters[0]), descending=True in parameters[1:]))
