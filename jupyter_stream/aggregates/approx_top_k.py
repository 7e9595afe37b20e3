"""approx_top_k: the k most frequent items, estimated in bounded memory with a frequent-items sketch of Apache DataSketches.

Misra-Gries counters ("A high-performance algorithm for identifying frequent items in data streams", Anderson et al., IMC 2017).
`heavy_hitters` counts exactly, and keeps every item of the window.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import polars as pl
from datasketches import frequent_items_error_type, frequent_strings_sketch

from jupyter_stream.aggregates.heavy_hitters import ITEM, ITEM_COUNT, counted_items
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

MOST: Final = 10_000
"""The greatest k."""
_LEAST_LG_SIZE: Final = 10


def lg_size(k: int) -> int:
    """log2 of the size of the sketch's table: at least 1,024, and eight times k."""
    return max(_LEAST_LG_SIZE, (8 * k - 1).bit_length())


def exact_items(k: int) -> int:
    """Up to so many distinct items, counts are exact."""
    return 3 * (1 << lg_size(k)) // 4


def error(k: int, rows: int) -> float:
    """No count is off by more than this for so many rows: 3.5 / table size, 0.35% of the rows up to k = 128.

    An item that is more frequent than the last in the list by that much is always in it.
    """
    return 3.5 * rows / (1 << lg_size(k))


class ItemSketch:
    """A serialized frequent-items sketch per group, of items as strings.

    Args:
        dtype: the items' type.
        k: how many to give.
    """

    extra: tuple[str, ...] = ()
    needs_time = False
    skips_nulls = True

    def __init__(self, dtype: pl.DataType, k: int) -> None:
        self._dtype = dtype
        self._k = k
        self._size = lg_size(k)

    def update(self) -> list[pl.Expr]:
        """The sketch of items."""
        items = _text(self._dtype).drop_nulls().value_counts(name="n", sort=False).implode()
        return [_each_group(items, self._sketch, pl.Binary()).alias(VALUE)]

    def merge(self) -> list[pl.Expr]:
        """The sketch of sketches."""
        return [_each_group(pl.col(VALUE).implode(), self._merged, pl.Binary())]

    def finish(self, partials: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
        """The items with the greatest estimates."""
        return grouped(partials, by, _each_group(pl.col(VALUE).implode(), self._top, counted_items(self._dtype)))

    def _sketch(self, lists: pl.Series) -> pl.Series:
        found = []
        for items in lists.to_list():
            sketch = frequent_strings_sketch(self._size)
            for item in items:
                sketch.update(item[VALUE], item["n"])
            found.append(bytes(sketch.serialize()))
        return pl.Series(found, dtype=pl.Binary())

    def _union(self, parts: list[bytes]) -> frequent_strings_sketch:
        sketch = frequent_strings_sketch.deserialize(parts[0])
        for part in parts[1:]:
            sketch.merge(frequent_strings_sketch.deserialize(part))
        return sketch

    def _merged(self, lists: pl.Series) -> pl.Series:
        found = [parts[0] if len(parts) == 1 else bytes(self._union(parts).serialize()) for parts in lists.to_list()]
        return pl.Series(found, dtype=pl.Binary())

    def _top(self, lists: pl.Series) -> pl.Series:
        group, texts, counts = [], [], []
        for number, parts in enumerate(lists.to_list()):
            for text, estimate, *_ in self._union(parts).get_frequent_items(
                frequent_items_error_type.NO_FALSE_NEGATIVES
            ):
                group.append(number)
                texts.append(text)
                counts.append(estimate)
        items = _value(pl.Series(ITEM, texts, dtype=pl.String()), self._dtype)
        frame = pl.DataFrame(
            [pl.Series("group", group, dtype=pl.Int64()), items, pl.Series(ITEM_COUNT, counts, dtype=pl.Int64())]
        )
        top = (
            frame.sort(["group", ITEM_COUNT, ITEM], descending=[False, True, False])
            .group_by("group", maintain_order=True)
            .agg(pl.struct(ITEM, ITEM_COUNT).head(self._k).alias(VALUE))
        )
        every = pl.DataFrame({"group": range(len(lists))}, schema={"group": pl.Int64()})
        return every.join(top, on="group", how="left", maintain_order="left").get_column(VALUE)


def _each_group(lists: pl.Expr, function: Callable[[pl.Series], pl.Series], dtype: pl.DataType) -> pl.Expr:
    """One call for all groups."""
    return lists.map_batches(function, return_dtype=dtype, is_elementwise=True)


def _text(dtype: pl.DataType) -> pl.Expr:
    """Items as strings the sketch can tell apart; never an empty one, which it passes over."""
    value = pl.col(VALUE)
    if dtype.is_float():
        # one NaN and one zero (x + 0.0 would be simplified away, Polars 2.1)
        number = value.cast(pl.Float64)
        value = pl.when(number == 0).then(0.0).otherwise(number.fill_nan(float("nan"))).cast(pl.String)
    elif isinstance(dtype, pl.Binary):
        value = value.bin.encode("hex")
    elif isinstance(dtype, pl.Boolean) or dtype.is_temporal():
        value = value.to_physical().cast(pl.Int64).cast(pl.String)
    else:
        value = value.cast(pl.String)
    return (value + ".").alias(VALUE)


def _value(texts: pl.Series, dtype: pl.DataType) -> pl.Series:
    """The items of their strings."""
    plain = texts.str.head(-1)
    if dtype.is_float():
        return plain.cast(pl.Float64).cast(dtype)
    if isinstance(dtype, pl.Binary):
        return plain.str.decode("hex")
    if isinstance(dtype, pl.Boolean):
        return plain == "1"
    if dtype.is_temporal():
        number = plain.cast(pl.Int64)
        return number.cast(pl.Int32).cast(dtype) if isinstance(dtype, pl.Date) else number.cast(dtype)
    return plain.cast(dtype)


class ApproxTopK(AggregateFunction):
    """`approx_top_k(x, k)`. Its error is bounded by `error`; counts of up to `exact_items` distinct items are exact."""

    name = "approx_top_k"
    signature = "approx_top_k(x, k)"
    description = (
        "The k most frequent items with estimated counts, largest first; a count is off by 0.35% of the rows at most."
    )
    example = "approx_top_k(srcIP, 10)"
    algebra: Algebra = "algebraic"
    differential: Differential = "not"
    constant_from: int | None = 1

    def resolve(self, types: Sequence[pl.DataType], distinct: bool) -> tuple[tuple[pl.DataType, ...], pl.DataType]:
        """A list of struct(item, count)."""
        if len(types) != 2 or distinct:
            raise BadArguments(f"{self.name} takes an item and how many to give, without DISTINCT")
        if types[0].is_nested():
            raise BadArguments(f"{self.name} takes single values, not {type_name(types[0])}")
        if not isinstance(types[1], pl.Null) and not types[1].is_integer():
            raise BadArguments(f"k of {self.name} is a whole number, not {type_name(types[1])}")
        return (types[0], pl.Int64()), counted_items(types[0])

    def form(self, types: Sequence[pl.DataType], distinct: bool, parameters: Sequence[object]) -> Dense | FrameForm:
        """A sketch. Raises `BadArguments` where k is out of bounds."""
        (k,) = parameters
        if not isinstance(k, int) or not 1 <= k <= MOST:
            raise BadArguments(f"k must be from 1 to {MOST:,}")
        return ItemSketch(types[0], k)
