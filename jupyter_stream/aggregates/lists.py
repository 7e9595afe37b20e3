"""collect_list and string_agg: all values of a group, by event time, ties by arrival. They keep every value of the window."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from jupyter_stream.aggregates.protocol import (
    VALUE,
    Algebra,
    Array,
    BadArguments,
    Dense,
    Differential,
    FrameForm,
    grouped,
)
from jupyter_stream.core.messages import TS
from jupyter_stream.core.schema import type_name


class TimedValues:
    """The values and their times, as two lists.

    Args:
        answer: over the values in order, column `v`.
    """

    extra: tuple[str, ...] = ()
    needs_time = True
    skips_nulls = True

    def __init__(self, answer: pl.Expr) -> None:
        self._answer = answer

    def update(self) -> list[pl.Expr]:
        """The values and times, as they came."""
        return [pl.col(VALUE).implode(), pl.col(TS).implode()]

    def merge(self) -> list[pl.Expr]:
        """All of them, earlier arrivals first."""
        return [pl.col(VALUE).explode().implode(), pl.col(TS).explode().implode()]

    def finish(self, partials: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
        """Whatever is made of the values in time order."""
        return grouped(partials, by, self._answer)


def in_order() -> pl.Expr:
    """The values of merged lists, by time; those of one instant as they came."""
    return pl.col(VALUE).explode().sort_by(pl.col(TS).explode(), maintain_order=True)


class CollectList:
    """`collect_list(x)`."""

    name = "collect_list"
    signature = "collect_list(x)"
    description = "All non-NULL values as a list, by event time, ties by arrival."
    example = "collect_list(price)"
    algebra: Algebra = "holistic"
    differential: Differential = "not"
    constant_from: int | None = None

    def resolve(self, types: Sequence[pl.DataType], distinct: bool) -> tuple[tuple[pl.DataType, ...], pl.DataType]:
        """A list of the argument's type."""
        if len(types) != 1 or distinct:
            raise BadArguments(f"{self.name} takes one argument, without DISTINCT")
        return (types[0],), pl.List(types[0])

    def form(self, types: Sequence[pl.DataType], distinct: bool, parameters: Sequence[object]) -> Dense | FrameForm:
        """The values with their times."""
        return TimedValues(in_order().implode())

    def finish(self, arrays: Sequence[Array], dtype: pl.DataType) -> pl.Series:
        """Never dense."""
        raise TypeError(f"{self.name} has no dense form")


class StringAgg:
    """`string_agg(x, sep)`."""

    name = "string_agg"
    signature = "string_agg(x, sep)"
    description = "All non-NULL values as one string, a separator between them, by event time, ties by arrival."
    example = "string_agg(word, ' ')"
    algebra: Algebra = "holistic"
    differential: Differential = "not"
    constant_from: int | None = 1

    def resolve(self, types: Sequence[pl.DataType], distinct: bool) -> tuple[tuple[pl.DataType, ...], pl.DataType]:
        """STRING of anything that can be cast to it."""
        if len(types) != 2 or distinct:
            raise BadArguments(f"{self.name} takes a value and a separator, without DISTINCT")
        if not isinstance(types[1], pl.String):
            raise BadArguments(f"the separator of {self.name} is a STRING, not {type_name(types[1])}")
        return (pl.String(), pl.String()), pl.String()

    def form(self, types: Sequence[pl.DataType], distinct: bool, parameters: Sequence[object]) -> Dense | FrameForm:
        """The strings with their times."""
        (separator,) = parameters
        return TimedValues(in_order().str.join(str(separator)))

    def finish(self, arrays: Sequence[Array], dtype: pl.DataType) -> pl.Series:
        """Never dense."""
        raise TypeError(f"{self.name} has no dense form")
