"""One aggregate as operator state sees it: its algebra, and where its arguments are."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from jupyter_stream.aggregates import AggregateFunction, Dense, FrameForm


@dataclass(frozen=True)
class GroupAggregate:
    """One aggregate as the state sees it.

    Attributes:
        function: its algebra.
        form: its dense or frame form for the argument types.
        inputs: indexes of its per-row arguments among the inputs; empty for count(*).
        where: index of its FILTER condition among the inputs, None without.
        dtype: the result's type.
        name: the output column.
    """

    function: AggregateFunction
    form: Dense | FrameForm
    inputs: tuple[int, ...]
    where: int | None
    dtype: pl.DataType
    name: str


__all__ = ["GroupAggregate"]
