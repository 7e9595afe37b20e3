"""Aggregates as operator state sees them: their algebra, where their arguments are, and the keys they are grouped by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from jupyter_stream.aggregates import AggregateFunction, Dense, FrameForm
from jupyter_stream.aggregates.framed import Framed
from jupyter_stream.aggregates.protocol import VALUE
from jupyter_stream.aggregates.user.rows import HeldForm
from jupyter_stream.core.messages import TS
from jupyter_stream.core.schema import TIMESTAMP
from jupyter_stream.functions.expression import Expr


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

    @property
    def framed(self) -> Framed:
        """It over frames of partial results."""
        return Framed(self.function, self.form, self.dtype)

    def arguments(
        self, inputs: Sequence[pl.Series], ts: pl.Series | None, at: pl.Series | None = None
    ) -> list[pl.Series]:
        """Its arguments, and times if it goes by them, under the names that `Framed.update` knows; see `rows`."""
        needed = [(f"{VALUE}{n or ''}", inputs[i]) for n, i in enumerate(self.inputs)]
        if ts is not None and not isinstance(self.form, Dense) and self.form.needs_time:
            needed.append((TS, ts))
        return [(c if at is None else c.gather(at)).alias(name) for name, c in needed]

    def rows(
        self, by: Sequence[pl.Series], inputs: Sequence[pl.Series], ts: pl.Series | None, at: pl.Series | None = None
    ) -> pl.DataFrame:
        """Rows that FILTER lets through, as `Framed.update` takes them: the columns `by`, then its arguments.

        Args:
            by: columns of those rows.
            inputs: arguments and FILTER conditions of all rows.
            ts: their times; None if nothing goes by them.
            at: which of all rows; None for all.
        """
        found = pl.DataFrame([*by, *self.arguments(inputs, ts, at)])
        if self.where is None:
            return found
        return found.filter(inputs[self.where] if at is None else inputs[self.where].gather(at))


@dataclass(frozen=True)
class GroupBy:
    """What an operator computes of rows.

    Attributes:
        keys: (output name, expression, type) of the grouping columns.
        inputs: expressions of arguments and FILTER conditions.
        aggregates: over those inputs, by index.
        integer_time: whether the windowing attribute is an integer rather than a TIMESTAMP.
    """

    keys: tuple[tuple[str, Expr, pl.DataType], ...]
    inputs: tuple[Expr, ...]
    aggregates: tuple[GroupAggregate, ...]
    integer_time: bool = False

    @property
    def expressions(self) -> list[Expr]:
        """All that is computed row by row: the keys, then the inputs."""
        return [*(e for _, e, _ in self.keys), *self.inputs]

    @property
    def types(self) -> list[tuple[str, pl.DataType]]:
        """Names and types of the keys."""
        return [(name, dtype) for name, _, dtype in self.keys]

    @property
    def by_rows(self) -> bool:
        """Whether a user's aggregate takes rows one by one: a thousand times slower than others."""
        return any(isinstance(a.form, HeldForm) for a in self.aggregates)

    @property
    def time(self) -> pl.DataType:
        """Type of the windowing attribute."""
        return pl.Int64() if self.integer_time else TIMESTAMP


__all__ = ["GroupAggregate", "GroupBy"]
