"""Whole numbers beyond BIGINT: which type has them all."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import polars as pl

_BIGINT: Final = (-(2**63), 2**63 - 1)
_UNSIGNED, _LONGEST = pl.Decimal(20, 0), pl.Decimal(38, 0)
INTEGERS: Final = (_UNSIGNED, _LONGEST)
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


__all__ = ["INTEGERS", "between", "integers"]
