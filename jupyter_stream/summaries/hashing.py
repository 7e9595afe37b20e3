"""Values to items: one stable hash of 64 bits for numbers, texts, times and composite attributes.

The same value gives the same hash in any batch, process and version, so that a budget in probes gives the same answers again.
Sketches cut their buckets, columns and signs out of its bits and need no further hashing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import polars as pl

from jupyter_stream.core.messages import Int64s
from jupyter_stream.summaries.protocol import Items

_NULL: Final = np.uint64(0x6E756C6C6E756C6C)
_GOLDEN: Final = np.uint64(0x9E3779B97F4A7C15)


def items_of(columns: Sequence[pl.Series]) -> Items:
    """The hash of each row's value in these columns (at least one); shape (rows,). NULL is a value as any other."""
    found = _hash(columns[0])
    for column in columns[1:]:
        found = mixed(found * _GOLDEN + _hash(column))
    return found


def bucket_of(items: Items, buckets: int) -> Int64s:
    """The value bucket of each item: its leading bits. `buckets` is a power of two, at most 2**16."""
    bits = buckets.bit_length() - 1
    return (items >> np.uint64(64 - bits)).astype(np.int64) if bits else np.zeros(items.size, np.int64)


def mixed(numbers: Items) -> Items:
    """Numbers that look random, different ones for different ones (the finisher of splitmix64)."""
    z = numbers + _GOLDEN
    z ^= z >> np.uint64(30)
    z *= np.uint64(0xBF58476D1CE4E5B9)
    z ^= z >> np.uint64(27)
    z *= np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return z


def _hash(column: pl.Series) -> Items:
    dtype = column.dtype
    if dtype.is_float():
        doubles = column.cast(pl.Float64).to_numpy() + 0.0  # -0.0 is 0.0
        return _nulled(column, mixed(np.where(np.isnan(doubles), np.nan, doubles).view(np.uint64)))
    if dtype == pl.Int64 and not column.null_count():
        return mixed(column.to_numpy().view(np.uint64))
    if dtype.is_integer() or dtype.is_temporal() or dtype == pl.Boolean:
        whole = column.to_physical().cast(pl.Int64, strict=False)
        numbers = (whole.fill_null(0) if column.null_count() else whole).to_numpy()
        return _nulled(column, mixed(numbers.view(np.uint64)))
    from pandas.util import hash_array  # where it is needed: importing pandas takes a third of a second

    # texts and the rest: only distinct values are hashed, each once
    texts = (column if dtype == pl.String else column.cast(pl.String)).to_arrow().dictionary_encode()
    words = np.asarray(texts.dictionary.to_pylist(), dtype=object)
    hashes = mixed(hash_array(words, categorize=False)) if words.size else np.zeros(1, np.uint64)
    return _nulled(column, hashes[texts.indices.fill_null(0).to_numpy(zero_copy_only=False)])


def _nulled(column: pl.Series, hashes: Items) -> Items:
    if column.null_count():
        hashes[column.is_null().to_numpy()] = _NULL
    return hashes
