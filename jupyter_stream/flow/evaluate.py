"""Expressions over a batch: columns as they are, the rest in one Polars select; rows that fail are set apart.

Not for what an expression means: `functions.compile_kernel` says that.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from jupyter_stream.arrays.rows import computed_of
from jupyter_stream.core.messages import TS, Failed
from jupyter_stream.core.schema import TIMESTAMP
from jupyter_stream.functions import Failure, compile_kernel
from jupyter_stream.functions.expression import Column, Expr, substitute, walk
from jupyter_stream.functions.steps import Timetable

_TIME = "$time"
_SAID = "$said"


class Evaluator:
    """Computes expressions over frames.

    Args:
        expressions: what to compute, in order.
    """

    def __init__(self, expressions: Sequence[Expr]) -> None:
        self._expressions = tuple(expressions)
        # `$ts` is kept as an integer; where it is asked for as a time it is shown as one
        asked = next((e for x in expressions for e in walk(x) if isinstance(e, Column) and _is_time(e)), None)
        self._shows_time = asked is not None
        if asked is not None:
            expressions = [substitute(e, {TS: Column(_TIME, asked.dtype)}) for e in expressions]
        self._plain = [e.name if isinstance(e, Column) else None for e in expressions]
        compiled = [compile_kernel(e) for e in expressions if not isinstance(e, Column)]
        self._values = [c.value.alias(f"{i}") for i, c in enumerate(compiled)]
        self._failures = [f for c in compiled for f in c.failures]
        self._steps = list(
            {id(step): step for c in compiled for step in c.steps}.values()
        )  # equal ones are compiled once
        said = [f.said for f in self._failures if f.said is not None]
        read = (*self._values, *(f.condition for f in self._failures), *said)
        self._schedule = Timetable(self._steps, read)

    def __reduce__(self) -> tuple[type[Evaluator], tuple[tuple[Expr, ...]]]:
        """Pickled as what it computes: compiled expressions may hold functions of Python's, which can't be."""
        return Evaluator, (self._expressions,)

    def evaluate(self, frame: pl.DataFrame) -> tuple[pl.DataFrame, list[pl.Series], Failed | None]:
        """The values for each row that didn't fail.

        Returns:
            The frame without failed rows, one column per expression for it, and the failed rows with their reasons.
        """
        failed = None
        if self._shows_time:
            frame = frame.with_columns(pl.col(TS).cast(TIMESTAMP).alias(_TIME))
        own = frame.columns if self._steps else []
        frame = self._schedule.over(frame)
        if self._failures:
            frame, failed = self._set_apart(frame)
        computed = computed_of(frame, self._values).get_columns() if self._values else []
        rest = iter(computed)
        columns = []
        for name in self._plain:
            column = frame.get_column(name) if name is not None else next(rest)
            if len(column) != frame.height:
                column = column.new_from_index(0, frame.height)  # a literal
            columns.append(column)
        if self._steps:
            frame = frame.select(own)
            failed = None if failed is None else Failed(failed.frame.select(own), failed.reasons)
        return (frame.drop(_TIME) if self._shows_time else frame), columns, failed

    def _set_apart(self, frame: pl.DataFrame) -> tuple[pl.DataFrame, Failed | None]:
        fails = [f.condition.fill_null(False).alias(f"{i}") for i, f in enumerate(self._failures)]
        told = [f.said.alias(f"{_SAID}{i}") for i, f in enumerate(self._failures) if f.said is not None]
        conditions = computed_of(frame, [*fails, *told])
        if conditions.height != frame.height:
            conditions = conditions.select(pl.all().gather(pl.zeros(frame.height, dtype=pl.Int64, eager=True)))
        if not any(condition.any() for condition in conditions.get_columns()[: len(fails)]):
            return frame, None
        reason = pl.coalesce(pl.when(pl.col(f"{i}")).then(_reason(f, i)) for i, f in enumerate(self._failures))
        reasons = conditions.select(reason.alias("reason")).get_column("reason")
        bad = reasons.is_not_null()
        return frame.filter(~bad), Failed(frame.filter(bad), reasons.filter(bad))


def _reason(failure: Failure, number: int) -> pl.Expr:
    """Why a row failed."""
    return pl.lit(failure.reason) if failure.said is None else pl.col(f"{_SAID}{number}")


def _is_time(column: Column) -> bool:
    return column.name == TS and column.dtype.is_temporal()
