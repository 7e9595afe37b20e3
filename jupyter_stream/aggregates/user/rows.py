"""The rows a user-defined aggregate is to be run over, held by whatever window as the partial results of an aggregate.

Not called by users: operators hold it like `collect_list`, and the rows become answers above them.
"""

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
)
from jupyter_stream.aggregates.user.protocol import UserCall
from jupyter_stream.aggregates.whole_rows import GatheredRows
from jupyter_stream.core.messages import TS

ROWS = "$rows"
"""Its name in plans. Its first argument is the row's number, the others are those of the user's aggregate."""
VALUES = "values"
ERROR = "error"
HELD = "$held"
"""The same, but kept by panes of time where it is run too: see `state.user_panes`."""


def held_type(arguments: Sequence[pl.DataType]) -> pl.DataType:
    """The type of the rows held: time, number, arguments."""
    fields = [pl.Field(TS, pl.Int64()), pl.Field(VALUE, pl.Int64())]
    return pl.List(pl.Struct([*fields, *(pl.Field(f"{VALUE}{i + 1}", t) for i, t in enumerate(arguments))]))


class RowsForm(GatheredRows):
    """Times, numbers and arguments of all rows, as they came."""

    needs_time = True

    def __init__(self, arguments: int) -> None:
        super().__init__([TS, VALUE, *(f"{VALUE}{i + 1}" for i in range(arguments))])


class HeldForm(RowsForm):
    """The same for panes of time, where it is also run.

    Attributes:
        call: what is run.
    """

    def __init__(self, arguments: int, call: UserCall) -> None:
        super().__init__(arguments)
        self.call = call


def answer_type(dtype: pl.DataType) -> pl.DataType:
    """The type of what running gives: the values returned, or why there are none."""
    return pl.Struct([pl.Field(VALUES, pl.List(dtype)), pl.Field(ERROR, pl.String())])


class HeldRows(AggregateFunction):
    """The aggregate itself."""

    name = ROWS
    signature = ""
    description = ""
    example = ""
    algebra: Algebra = "holistic"
    differential: Differential = "not"

    def resolve(self, types: Sequence[pl.DataType], distinct: bool) -> tuple[tuple[pl.DataType, ...], pl.DataType]:
        """The rows as they are."""
        return tuple(types), held_type(types[1:])

    def form(self, types: Sequence[pl.DataType], distinct: bool, parameters: Sequence[object]) -> Dense | FrameForm:
        """The rows; with a parameter, which is a `UserCall`, they are run as well."""
        if parameters:
            (call,) = parameters
            assert isinstance(call, UserCall)
            return HeldForm(len(types) - 1, call)
        return RowsForm(len(types) - 1)
