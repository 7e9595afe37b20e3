"""Which values are equal to GROUP BY, DISTINCT, IN and set operations of a body: NaN equals NaN, structs go by their fields."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Final, TypeVar

import polars as pl

Row = TypeVar("Row", bound=Sequence[object])

_NAN: Final = "NaN"
"""Beside numbers, which no text equals. It is put into checkpoints."""


def alike(value: object) -> Hashable:
    """What equal values have in common."""
    if isinstance(value, float):
        return value if value == value else _NAN
    if isinstance(value, dict):
        return row_key(value.values())
    if isinstance(value, list | tuple | pl.Series):
        return row_key(value)
    found: Hashable = value
    return found


def row_key(row: Iterable[object]) -> tuple[Hashable, ...]:
    """What equal rows have in common."""
    return tuple([alike(value) for value in row])


def by_themselves(types: Sequence[pl.DataType]) -> bool:
    """Whether values of these types can be compared as they are."""
    return not any(dtype.is_float() or dtype.is_nested() for dtype in types)


def once(rows: Iterable[Row], key: Callable[[Row], tuple[Hashable, ...]] = row_key) -> list[Row]:
    """The first of equal rows."""
    first: dict[tuple[Hashable, ...], Row] = {}
    for row in rows:
        first.setdefault(key(row), row)
    return list(first.values())


__all__ = ["alike", "by_themselves", "once", "row_key"]
