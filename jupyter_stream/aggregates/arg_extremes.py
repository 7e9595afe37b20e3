"""arg_min and arg_max: the value of one expression where another is least or greatest. NaN is the greatest number.

Of rows where it is equal, the earliest by event time counts, ties by arrival; a row where it is NULL never does.
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
    grouped,
)
from jupyter_stream.core.messages import TS
from jupyter_stream.core.schema import type_name

BY = f"{VALUE}1"
"""What is to be least or greatest."""


class TimedArgument:
    """The value, what it is chosen by, and its time."""

    extra: tuple[str, ...] = ()
    needs_time = True
    skips_nulls = False

    def __init__(self, greatest: bool, by_type: pl.DataType) -> None:
        by, time = pl.col(BY), pl.col(TS)
        # min passes NaN over unless there is nothing else; max would, too
        self._by = by.min() if not greatest else by.nan_max() if by_type.is_float() else by.max()
        best = by == self._by
        self._time = time.filter(best).min()
        self._value = pl.col(VALUE).filter(best & (time == self._time)).first()

    def update(self) -> list[pl.Expr]:
        """The value, what it is chosen by, and its time."""
        return [self._value.alias(VALUE), self._by.alias(BY), self._time.alias(TS)]

    def merge(self) -> list[pl.Expr]:
        """The same of partial results; earlier arrivals come first."""
        return self.update()

    def finish(self, partials: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
        """The value alone."""
        return grouped(partials, by, self._value)


class _ArgExtreme(AggregateFunction):
    name = ""
    greatest = False
    algebra: Algebra = "algebraic"
    differential: Differential = "not"

    def resolve(self, types: Sequence[pl.DataType], distinct: bool) -> tuple[tuple[pl.DataType, ...], pl.DataType]:
        """The first argument's type."""
        if len(types) != 2 or distinct:
            raise BadArguments(f"{self.name} takes a value and what it is chosen by, without DISTINCT")
        if types[1].is_nested():
            raise BadArguments(f"{self.name} needs a second argument that can be ordered, not {type_name(types[1])}")
        return (types[0], types[1]), types[0]

    def form(self, types: Sequence[pl.DataType], distinct: bool, parameters: Sequence[object]) -> Dense | FrameForm:
        """The value with what it is chosen by and its time."""
        return TimedArgument(self.greatest, types[1])


class ArgMin(_ArgExtreme):
    """`arg_min(x, y)`."""

    name = "arg_min"
    signature = "arg_min(x, y)"
    description = "Value of x in the row with the least y that isn't NULL, ties by event time; may be NULL."
    example = "arg_min(bidder, price)"


class ArgMax(_ArgExtreme):
    """`arg_max(x, y)`."""

    name = "arg_max"
    greatest = True
    signature = "arg_max(x, y)"
    description = "Value of x in the row with the greatest y that isn't NULL, ties by event time; may be NULL."
    example = "arg_max(bidder, price)"
