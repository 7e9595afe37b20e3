"""topk and topkdistinct, ksqlDB's: the k greatest values, as a list. Not for the most frequent ones: `approx_top_k`."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from jupyter_stream.aggregates.few import few
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
from jupyter_stream.core.schema import type_name


class GreatestFew:
    """The k greatest values in descending order, NaN first."""

    extra: tuple[str, ...] = ()
    needs_time = False
    skips_nulls = True

    def __init__(self, k: int, once: bool) -> None:
        self._k, self._once = k, once

    def _kept(self, values: pl.Expr) -> pl.Expr:
        return (values.unique() if self._once else values).sort(descending=True).head(self._k).implode().alias(VALUE)

    def update(self) -> list[pl.Expr]:
        """Those of raw values."""
        return [self._kept(pl.col(VALUE))]

    def merge(self) -> list[pl.Expr]:
        """Those of lists of them."""
        return [self._kept(pl.col(VALUE).explode())]

    def finish(self, partials: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
        """The list."""
        return grouped(partials, by, self._kept(pl.col(VALUE).explode()))


class TopK(AggregateFunction):
    """`topk(x, k)`."""

    name = "topk"
    once = False
    signature = "topk(x, k)"
    description = "The k greatest values as a list, the greatest first."
    example = "topk(price, 3)"
    algebra: Algebra = "algebraic"
    differential: Differential = "not"
    constant_from: int | None = 1

    def resolve(self, types: Sequence[pl.DataType], distinct: bool) -> tuple[tuple[pl.DataType, ...], pl.DataType]:
        """A list of the argument's type."""
        if len(types) != 2 or distinct or not types[1].is_integer():
            raise BadArguments(f"{self.name} takes a value and how many to keep, without DISTINCT")
        if types[0].is_nested():
            raise BadArguments(f"{self.name} needs values that can be ordered, not {type_name(types[0])}")
        return (types[0], pl.Int64()), pl.List(types[0])

    def form(self, types: Sequence[pl.DataType], distinct: bool, parameters: Sequence[object]) -> Dense | FrameForm:
        """So many values."""
        return GreatestFew(few(self.name, parameters), self.once)


class TopKDistinct(TopK):
    """`topkdistinct(x, k)`."""

    name = "topkdistinct"
    once = True
    signature = "topkdistinct(x, k)"
    description = "The k greatest distinct values as a list, the greatest first."
    example = "topkdistinct(price, 3)"
