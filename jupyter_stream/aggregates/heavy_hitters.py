"""heavy_hitters: items that make up at least a share of all rows, by the panes of window-queries thesis §6.2.4.

Counts are exact: a pane keeps one row per distinct item, panes are added up. `approx_top_k` is for windows with too many items.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import partial

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
)
from jupyter_stream.aggregates.value_counts import COUNT, ValueCounts
from jupyter_stream.core.schema import type_name

ITEM = "item"
ITEM_COUNT = "count"


def counted_items(dtype: pl.DataType) -> pl.List:
    """The type of lists of items with their counts."""
    return pl.List(pl.Struct({ITEM: dtype, ITEM_COUNT: pl.Int64()}))


class HeavyHitters(AggregateFunction):
    """`heavy_hitters(x, fraction)`."""

    name = "heavy_hitters"
    signature = "heavy_hitters(x, fraction)"
    description = "Items that are at least that fraction of the non-NULL values, with exact counts, largest first."
    example = "heavy_hitters(srcIP, 0.05)"
    algebra: Algebra = "holistic"
    differential: Differential = "pseudo"
    constant_from: int | None = 1

    def resolve(self, types: Sequence[pl.DataType], distinct: bool) -> tuple[tuple[pl.DataType, ...], pl.DataType]:
        """A list of struct(item, count)."""
        if len(types) != 2 or distinct:
            raise BadArguments(f"{self.name} takes an item and a fraction of all rows, without DISTINCT")
        if types[0].is_nested():
            raise BadArguments(f"{self.name} takes something that can be ordered, not {type_name(types[0])}")
        return (types[0], pl.Float64()), counted_items(types[0])

    def form(self, types: Sequence[pl.DataType], distinct: bool, parameters: Sequence[object]) -> Dense | FrameForm:
        """The counts of items. Raises `BadArguments` where the fraction is none."""
        (fraction,) = parameters
        if not isinstance(fraction, int | float) or not 0 < fraction <= 1:
            raise BadArguments("the fraction must be above 0 and at most 1, such as 0.05 for 5%")
        # as it was written: 7 of 100 rows are 7%, though 0.07 * 100 is more than 7 in doubles
        share = Fraction(str(fraction)).limit_denominator(10**15)
        count = pl.col(COUNT)
        total = count.sum().cast(pl.Int128) * share.numerator
        heavy = count.cast(pl.Int128) * share.denominator >= total
        item = pl.col(VALUE)
        pairs = pl.struct(item.alias(ITEM), count.alias(ITEM_COUNT)).filter(heavy)
        hitters = pairs.sort_by(count.filter(heavy), item.filter(heavy), descending=[True, False]).implode()
        return ValueCounts(partial(grouped, answer=hitters))
