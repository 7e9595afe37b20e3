"""earliest_by_offset and latest_by_offset, ksqlDB's: the first or last values that aren't NULL, one or so many.

An offset is a place in the order of rows; here that order is event time, ties by arrival, so that the answer doesn't hang on
how rows came.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from jupyter_stream.aggregates.few import few
from jupyter_stream.aggregates.lists import in_order
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


class TimedFew:
    """The first or last k values with their times, as two lists."""

    extra: tuple[str, ...] = ()
    needs_time = True
    skips_nulls = True

    def __init__(self, k: int, latest: bool, alone: bool) -> None:
        self._k, self._latest, self._alone = k, latest, alone

    def _kept(self, values: pl.Expr, times: pl.Expr) -> list[pl.Expr]:
        """Of values in order of arrival; by rank, since a head of what is sorted panics in groups (Polars 2.1)."""
        place = times.rank("ordinal")
        kept = place > times.len().cast(pl.Int64) - self._k if self._latest else place <= self._k
        return [values.filter(kept).implode().alias(VALUE), times.filter(kept).implode().alias(TS)]

    def update(self) -> list[pl.Expr]:
        """The values that are kept, and their times."""
        return self._kept(pl.col(VALUE), pl.col(TS))

    def merge(self) -> list[pl.Expr]:
        """The same of partial results; earlier arrivals come first."""
        return self._kept(pl.col(VALUE).explode(), pl.col(TS).explode())

    def finish(self, partials: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
        """The values in order, or the one."""
        kept = partials.group_by(list(by), maintain_order=True).agg(self.merge())
        return grouped(kept, by, in_order().first() if self._alone else in_order().implode())


class _ByOffset(AggregateFunction):
    name = ""
    latest = False
    algebra: Algebra = "algebraic"
    differential: Differential = "not"
    constant_from: int | None = 1
    by_time = True

    def resolve(self, types: Sequence[pl.DataType], distinct: bool) -> tuple[tuple[pl.DataType, ...], pl.DataType]:
        """The argument's type; a list where a number is given."""
        if len(types) not in (1, 2) or distinct:
            raise BadArguments(f"{self.name} takes a value, and how many of them, without DISTINCT")
        if len(types) == 1:
            return (types[0],), types[0]
        if not types[1].is_integer():
            raise BadArguments(f"{self.name} takes a whole number behind the value")
        return (types[0], pl.Int64()), pl.List(types[0])

    def form(self, types: Sequence[pl.DataType], distinct: bool, parameters: Sequence[object]) -> Dense | FrameForm:
        """So many values with their times."""
        return TimedFew(few(self.name, parameters), self.latest, not parameters)


class EarliestByOffset(_ByOffset):
    """`earliest_by_offset(x[, n])`."""

    name = "earliest_by_offset"
    signature = "earliest_by_offset(x[, n])"
    description = "The first value by event time that isn't NULL, or a list of the first n."
    example = "earliest_by_offset(price)"


class LatestByOffset(_ByOffset):
    """`latest_by_offset(x[, n])`."""

    name = "latest_by_offset"
    latest = True
    signature = "latest_by_offset(x[, n])"
    description = "The last value by event time that isn't NULL, or a list of the last n."
    example = "latest_by_offset(price)"
