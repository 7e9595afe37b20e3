"""bool_and, bool_or and count_if: aggregates of conditions. NULL is neither true nor false.

FALSE is less than TRUE, so the first two are min and max, and count_if is a count with a FILTER: queries are run with those
(`KEPT_AS`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import polars as pl

from jupyter_stream.aggregates.protocol import (
    AggregateFunction,
    Algebra,
    BadArguments,
    Dense,
    Differential,
    FrameForm,
    Op,
    Partial,
    as_series,
)
from jupyter_stream.core.messages import Array
from jupyter_stream.core.schema import type_name

KEPT_AS: Final = {"bool_and": "min", "bool_or": "max", "count_if": "count"}
"""The aggregate that each of these is, of the same condition."""


class _OfConditions(AggregateFunction):
    name = ""
    algebra: Algebra = "distributive"

    def _condition(self, types: Sequence[pl.DataType], distinct: bool) -> None:
        if len(types) != 1 or distinct:
            raise BadArguments(f"{self.name} takes one condition, without DISTINCT")
        if not isinstance(types[0], pl.Boolean | pl.Null):
            raise BadArguments(f"{self.name} takes a condition, not {type_name(types[0])}")


class _ExtremeOfConditions(_OfConditions):
    op: Op = "min"
    differential: Differential = "not"

    def resolve(self, types: Sequence[pl.DataType], distinct: bool) -> tuple[tuple[pl.DataType, ...], pl.DataType]:
        """BOOLEAN of a condition."""
        self._condition(types, distinct)
        return (pl.Boolean(),), pl.Boolean()

    def form(self, types: Sequence[pl.DataType], distinct: bool, parameters: Sequence[object]) -> Dense | FrameForm:
        """The least or greatest truth, and a count of what is no NULL."""
        return Dense((Partial(self.op), Partial("count")))

    def finish(self, arrays: Sequence[Array], dtype: pl.DataType) -> pl.Series:
        """The truth where there was any."""
        return as_series(arrays[0], arrays[1] > 0, dtype)


class BoolAnd(_ExtremeOfConditions):
    """`bool_and(x)`, `every(x)`."""

    name = "bool_and"
    op: Op = "min"
    signature = "bool_and(condition)"
    description = "Whether the condition is true in all rows where it isn't NULL; NULL if there are none."
    example = "bool_and(len > 0)"


class BoolOr(_ExtremeOfConditions):
    """`bool_or(x)`, `any(x)`, `some(x)`."""

    name = "bool_or"
    op: Op = "max"
    signature = "bool_or(condition)"
    description = "Whether the condition is true in any row; NULL if it is NULL in all."
    example = "bool_or(len > 1500)"


class CountIf(_OfConditions):
    """`count_if(x)`."""

    name = "count_if"
    signature = "count_if(condition)"
    description = "Number of rows in which the condition is true."
    example = "count_if(len > 1500)"
    of_nothing = 0
    differential: Differential = "fully"

    def resolve(self, types: Sequence[pl.DataType], distinct: bool) -> tuple[tuple[pl.DataType, ...], pl.DataType]:
        """BIGINT of a condition."""
        self._condition(types, distinct)
        return (pl.Boolean(),), pl.Int64()

    def form(self, types: Sequence[pl.DataType], distinct: bool, parameters: Sequence[object]) -> Dense | FrameForm:
        """A sum of ones."""
        return Dense((Partial("sum"),))

    def finish(self, arrays: Sequence[Array], dtype: pl.DataType) -> pl.Series:
        """The sum."""
        return pl.Series(arrays[0])
