"""collect_list and string_agg: all values of a group, by event time, ties by arrival. They keep every value of the window.

By another order, with ORDER BY inside: `ordered`.
"""

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
    check_one,
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


class TimedDistinct:
    """Each distinct value and its least time.

    Args:
        answer: over the values and those times, columns `v` and `$ts`.
    """

    extra = (VALUE,)
    needs_time = True
    skips_nulls = True

    def __init__(self, answer: pl.Expr) -> None:
        self._answer = answer

    def update(self) -> list[pl.Expr]:
        """When a value first was."""
        return [pl.col(TS).min()]

    def merge(self) -> list[pl.Expr]:
        """The least of those."""
        return [pl.col(TS).min()]

    def finish(self, partials: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
        """Whatever is made of them."""
        return grouped(partials, by, self._answer)


def as_they_first_were() -> pl.Expr:
    """Distinct values by their least time; those of one instant by value, whatever came first."""
    return pl.col(VALUE).sort_by(TS, VALUE)


class CollectList(AggregateFunction):
    """`collect_list([DISTINCT] x)`."""

    name = "collect_list"
    signature = "collect_list([DISTINCT] x)"
    description = (
        "All non-NULL values as a list, by event time, ties by arrival; with DISTINCT each once, ties by value. "
        "Where all are NULL it is empty."
    )
    example = "collect_list(price)"
    algebra: Algebra = "holistic"
    differential: Differential = "not"
    by_time = True
    of_nulls: object = ()

    def resolve(self, types: Sequence[pl.DataType], distinct: bool) -> tuple[tuple[pl.DataType, ...], pl.DataType]:
        """A list of the argument's type."""
        check_one(types, self.name)
        if distinct and types[0].is_nested():
            raise BadArguments(f"{self.name}(DISTINCT ...) takes no {type_name(types[0])}")
        return (types[0],), pl.List(types[0])

    def form(self, types: Sequence[pl.DataType], distinct: bool, parameters: Sequence[object]) -> Dense | FrameForm:
        """The values with their times."""
        return TimedDistinct(as_they_first_were().implode()) if distinct else TimedValues(in_order().implode())


class StringAgg(AggregateFunction):
    """`string_agg([DISTINCT] x[, sep])`."""

    name = "string_agg"
    signature = "string_agg([DISTINCT] x[, sep])"
    description = "All non-NULL values as one string, a separator between them, in the order of collect_list."
    example = "string_agg(word, ' ')"
    algebra: Algebra = "holistic"
    differential: Differential = "not"
    by_time = True
    constant_from: int | None = 1

    def resolve(self, types: Sequence[pl.DataType], distinct: bool) -> tuple[tuple[pl.DataType, ...], pl.DataType]:
        """STRING of anything that can be cast to it."""
        if len(types) not in (1, 2):
            raise BadArguments(f"{self.name} takes a value and a separator")
        if len(types) == 1:
            return (pl.String(),), pl.String()
        if not isinstance(types[1], pl.String):
            raise BadArguments(f"the separator of {self.name} is a STRING, not {type_name(types[1])}")
        return (pl.String(), pl.String()), pl.String()

    def form(self, types: Sequence[pl.DataType], distinct: bool, parameters: Sequence[object]) -> Dense | FrameForm:
        """The strings with their times."""
        separator = str(parameters[0]) if parameters else ""
        if distinct:
            return TimedDistinct(as_they_first_were().str.join(separator))
        return TimedValues(in_order().str.join(separator))
