"""approx_count_distinct: how many distinct values, estimated in constant memory with a CPC sketch of Apache DataSketches.

Sketches are brought together before they are read: the estimate is then a function of the set of values alone, whatever the
order and the batches they came in (the HLL sketch has no such estimate). K. J. Lang, "Back to the future: an even more nearly
optimal cardinality estimation algorithm", 2017, whose ICON estimator this is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import polars as pl
from datasketches import cpc_sketch, cpc_union

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

LG_K: Final = 12
"""log2 of the sketch's bins: up to about 2.5 KB per group and pane."""
RELATIVE_ERROR: Final = 0.693 / 2 ** (LG_K / 2)
"""Relative standard error of an estimate, 1.1%: off by less than 3.3% in 99.7% of cases."""


class DistinctSketch:
    """A serialized CPC sketch per group.

    Args:
        dtype: what is counted.
    """

    extra: tuple[str, ...] = ()
    needs_time = False
    skips_nulls = True

    def __init__(self, dtype: pl.DataType) -> None:
        self._code = _code(dtype)

    def update(self) -> list[pl.Expr]:
        """The sketch of values."""
        values = self._code.drop_nulls().unique().implode()
        return [values.map_batches(_sketches, return_dtype=pl.Binary(), is_elementwise=True).alias(VALUE)]

    def merge(self) -> list[pl.Expr]:
        """The sketch of sketches."""
        return [pl.col(VALUE).implode().map_batches(_unions, return_dtype=pl.Binary(), is_elementwise=True)]

    def finish(self, partials: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
        """The estimate."""
        return grouped(
            partials, by, pl.col(VALUE).implode().map_batches(_estimates, return_dtype=pl.Int64(), is_elementwise=True)
        )


def _code(dtype: pl.DataType) -> pl.Expr:
    """Values as the sketch takes them: doubles (it knows NaN and that zeros are equal), integers or strings."""
    value = pl.col(VALUE)
    if dtype.is_float():
        return value.cast(pl.Float64)
    if isinstance(dtype, pl.Boolean) or dtype.is_integer() or dtype.is_temporal():
        return value.to_physical().cast(pl.Int64)
    if isinstance(dtype, pl.Binary):
        value = value.bin.encode("hex")
    return value.cast(pl.String) + "."  # the sketch passes over empty strings


# Each is called once for all groups, with a list for each: what runs per group is the library's C++.


def _sketches(lists: pl.Series) -> pl.Series:
    return pl.Series([_sketch(values) for values in lists.to_list()], dtype=pl.Binary())


def _sketch(values: list[int] | list[float] | list[str]) -> bytes:
    sketch = cpc_sketch(LG_K)
    update = sketch.update
    for value in values:
        update(value)
    return bytes(sketch.serialize())


def _unions(lists: pl.Series) -> pl.Series:
    found = [parts[0] if len(parts) == 1 else bytes(_union(parts).serialize()) for parts in lists.to_list()]
    return pl.Series(found, dtype=pl.Binary())


def _union(parts: list[bytes]) -> cpc_sketch:
    union = cpc_union(LG_K)
    for part in parts:
        union.update(cpc_sketch.deserialize(part))
    return union.get_result()


def _estimates(lists: pl.Series) -> pl.Series:
    return pl.Series([round(_union(parts).get_estimate()) for parts in lists.to_list()], dtype=pl.Int64())


class ApproxCountDistinct(AggregateFunction):
    """`approx_count_distinct(x)`. Its standard error is `RELATIVE_ERROR`."""

    name = "approx_count_distinct"
    signature = "approx_count_distinct(x)"
    description = "Number of distinct non-NULL values, estimated in constant memory: standard error 1.1%."
    example = "approx_count_distinct(destIP)"
    of_nothing = 0
    algebra: Algebra = "algebraic"
    differential: Differential = "not"

    def resolve(self, types: Sequence[pl.DataType], distinct: bool) -> tuple[tuple[pl.DataType, ...], pl.DataType]:
        """BIGINT of anything but lists and structs."""
        if len(types) != 1 or distinct:
            raise BadArguments(f"{self.name} takes one argument, without DISTINCT")
        if types[0].is_nested():
            raise BadArguments(f"{self.name} takes single values, not {type_name(types[0])}")
        return (types[0],), pl.Int64()

    def form(self, types: Sequence[pl.DataType], distinct: bool, parameters: Sequence[object]) -> Dense | FrameForm:
        """A sketch."""
        return DistinctSketch(types[0])
