"""first and last by event time (ties by arrival), whatever order rows come in. NULLs count, as in Spark's default."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from jupyter_stream.aggregates.protocol import (
    VALUE,
    AggregateFunction,
    Algebra,
    Dense,
    Differential,
    FrameForm,
    Pick,
    check_one,
    grouped,
)
from jupyter_stream.core.messages import TS


class TimedValue:
    """The value with the least or greatest time, kept with its time."""

    extra: tuple[str, ...] = ()
    needs_time = True
    skips_nulls = False

    def __init__(self, latest: bool) -> None:
        time, value = pl.col(TS), pl.col(VALUE)
        self._time = time.max() if latest else time.min()
        # not arg_max over a reversed column: within groups it trusts a sorted flag that the reversal has not turned (2.1)
        ends = value.filter(time == self._time)
        self._value = ends.last() if latest else ends.first()

    def update(self) -> list[pl.Expr]:
        """The value and its time."""
        return [self._value.alias(VALUE), self._time.alias(TS)]

    def merge(self) -> list[pl.Expr]:
        """The same of partial results; earlier arrivals come first."""
        return self.update()

    def finish(self, partials: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
        """The value alone."""
        return grouped(partials, by, self._value)


class _End(AggregateFunction):
    name = ""
    latest = False
    algebra: Algebra = "algebraic"
    differential: Differential = "not"
    by_time = True

    def resolve(self, types: Sequence[pl.DataType], distinct: bool) -> tuple[tuple[pl.DataType, ...], pl.DataType]:
        """The argument's type."""
        check_one(types, self.name)
        return (types[0],), types[0]

    def form(self, types: Sequence[pl.DataType], distinct: bool, parameters: Sequence[object]) -> Dense | FrameForm:
        """The value with its time."""
        return TimedValue(self.latest)


class First(_End):
    """`first(x)`."""

    name = "first"
    signature = "first(x)"
    description = "Value of the earliest row by event time, ties by arrival; may be NULL."
    example = "first(price)"
    stretch = Pick("first", skips_nulls=False)


class Last(_End):
    """`last(x)`."""

    name = "last"
    latest = True
    signature = "last(x)"
    description = "Value of the latest row by event time, ties by arrival; may be NULL."
    example = "last(price)"
    stretch = Pick("last", skips_nulls=False)
