"""UINT64 columns that nobody declared: BIGINT where their values are, else DECIMAL(20, 0), so that no row is lost for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final

import polars as pl

from jupyter_stream.core.schema import Schema

WIDE: Final = pl.Decimal(20, 0)
"""Holds every UINT64."""
_MOST: Final = 2**63 - 1


def unsigned(raw: Schema) -> list[str]:
    """The columns of a source's own schema that may hold values beyond BIGINT."""
    return [f.name for f in raw if isinstance(f.dtype, pl.UInt64)]


def beyond(names: Iterable[str], most: Callable[[str], object]) -> list[str]:
    """Those that do.

    Args:
        names: as `unsigned` has them.
        most: the greatest value of a column; None where there is none.
    """
    greatest = {name: most(name) for name in names}
    return [name for name, value in greatest.items() if isinstance(value, int) and value > _MOST]


def widened(schema: Schema, names: Iterable[str]) -> Schema:
    """The stream's columns, these wide enough."""
    wide = set(names)
    return Schema(tuple(replace(f, dtype=WIDE) if f.name in wide else f for f in schema))


def sentences(names: Iterable[str]) -> list[str]:
    """Sentences about them."""
    return [f"{name} has values beyond BIGINT, so it is DECIMAL(20, 0)." for name in names]
