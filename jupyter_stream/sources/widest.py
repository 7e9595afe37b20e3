"""Whole numbers beyond BIGINT: which type has them all."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import polars as pl

from jupyter_stream.core.schema import Schema, type_name

_BIGINT: Final = (-(2**63), 2**63 - 1)
UNSIGNED, _LONGEST = pl.Decimal(20, 0), pl.Decimal(38, 0)
INTEGERS: Final = (UNSIGNED, _LONGEST)
"""The types of whole numbers beyond BIGINT."""


def between(low: int, high: int) -> pl.DataType:
    """The type of whole numbers from `low` to `high`: BIGINT, else a DECIMAL that has them, else STRING."""
    if low >= _BIGINT[0] and high <= _BIGINT[1]:
        return pl.Int64()
    digits = max(len(str(abs(low))), len(str(abs(high))))
    return next((t for t in INTEGERS if digits <= (t.precision or 0)), pl.String())


def integers(values: Iterable[int]) -> pl.DataType:
    """The type that has all of some numbers."""
    found = list(values)
    return between(int(min(found)), int(max(found))) if found else pl.Int64()


def remarks(raw: Schema, schema: Schema) -> list[str]:
    """Sentences about columns of whole numbers that are DECIMAL for some beyond BIGINT.

    Args:
        raw: the source's columns.
        schema: those of the stream.
    """
    wide = [f for f in schema if f.dtype in INTEGERS and getattr(raw.find(f.name), "dtype", f.dtype) != f.dtype]
    return [f"{f.name} has values beyond BIGINT, so it is {type_name(f.dtype)}." for f in wide]


__all__ = ["INTEGERS", "UNSIGNED", "between", "integers", "remarks"]
