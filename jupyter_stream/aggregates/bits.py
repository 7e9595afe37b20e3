"""bit_and, bit_or and bit_xor of integers. NULLs are left out."""

from __future__ import annotations

from collections.abc import Sequence

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
from jupyter_stream.core.schema import type_name


class Bits:
    """The bits of all values so far."""

    extra: tuple[str, ...] = ()
    needs_time = False
    skips_nulls = True

    def __init__(self, operation: str) -> None:
        value = pl.col(VALUE)
        self._fold = {"bit_and": value.bitwise_and(), "bit_or": value.bitwise_or(), "bit_xor": value.bitwise_xor()}[
            operation
        ]

    def update(self) -> list[pl.Expr]:
        """The bits of values."""
        return [self._fold.alias(VALUE)]

    def merge(self) -> list[pl.Expr]:
        """The same of partial results."""
        return self.update()

    def finish(self, partials: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
        """The bits."""
        return grouped(partials, by, self._fold)


class _OfBits(AggregateFunction):
    name = ""
    algebra: Algebra = "distributive"
    differential: Differential = "not"

    def resolve(self, types: Sequence[pl.DataType], distinct: bool) -> tuple[tuple[pl.DataType, ...], pl.DataType]:
        """The type of the integer."""
        if len(types) != 1 or distinct:
            raise BadArguments(f"{self.name} takes one integer, without DISTINCT")
        if isinstance(types[0], pl.Null):
            return (pl.Int64(),), pl.Int64()
        if not types[0].is_signed_integer():
            raise BadArguments(f"{self.name} takes an integer, not {type_name(types[0])}")
        return (types[0],), types[0]

    def form(self, types: Sequence[pl.DataType], distinct: bool, parameters: Sequence[object]) -> Dense | FrameForm:
        """The bits of all values so far."""
        return Bits(self.name)


class BitAnd(_OfBits):
    """`bit_and(x)`."""

    name = "bit_and"
    signature = "bit_and(integer)"
    description = "The bits that are 1 in all values that are not NULL; NULL if there are none."
    example = "bit_and(flags)"


class BitOr(_OfBits):
    """`bit_or(x)`."""

    name = "bit_or"
    signature = "bit_or(integer)"
    description = "The bits that are 1 in any value; NULL if all are NULL."
    example = "bit_or(flags)"


class BitXor(_OfBits):
    """`bit_xor(x)`."""

    name = "bit_xor"
    signature = "bit_xor(integer)"
    description = "The bits that are 1 in an odd number of values; NULL if all are NULL."
    example = "bit_xor(flags)"
