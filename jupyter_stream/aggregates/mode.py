"""mode: the most frequent value. Exact; of equally frequent values the least, so that the answer doesn't depend on order."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

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
from jupyter_stream.aggregates.value_counts import COUNT, ValueCounts
from jupyter_stream.core.schema import type_name


class Mode(AggregateFunction):
    """`mode(x)`."""

    name = "mode"
    signature = "mode(x)"
    description = "Most frequent non-NULL value; of equally frequent ones the least."
    example = "mode(carrier)"
    algebra: Algebra = "holistic"
    differential: Differential = "pseudo"

    def resolve(self, types: Sequence[pl.DataType], distinct: bool) -> tuple[tuple[pl.DataType, ...], pl.DataType]:
        """The argument's type."""
        if len(types) != 1 or distinct:
            raise BadArguments(f"{self.name} takes one argument, without DISTINCT")
        if types[0].is_nested():
            raise BadArguments(f"{self.name} takes something that can be ordered, not {type_name(types[0])}")
        return (types[0],), types[0]

    def form(self, types: Sequence[pl.DataType], distinct: bool, parameters: Sequence[object]) -> Dense | FrameForm:
        """The counts of values."""
        count = pl.col(COUNT)
        # min passes NaN over, which is the greatest value, unless there is nothing else
        return ValueCounts(partial(grouped, answer=pl.col(VALUE).filter(count == count.max()).min()))
