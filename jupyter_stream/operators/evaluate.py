"""Expressions over a batch: columns as they are, the rest in one Polars select; rows that fail are set apart.

Not for what an expression means: `functions.compile_kernel` says that.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from jupyter_stream.core.messages import TS, Failed
from jupyter_stream.core.schema import TIMESTAMP
from jupyter_stream.functions import compile_kernel
from jupyter_stream.functions.expression import Column, Expr, substitute, walk

_TIME = "$time"


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
        if self._failures:
            frame, failed = self._set_apart(frame)
        computed = frame.select(self._values).get_columns() if self._values else []
        rest = iter(computed)
        columns = []
        for name in self._plain:
            column = frame.get_column(name) if name is not None else next(rest)
            if len(column) != frame.height:
                column = column.new_from_index(0, frame.height)  # a literal
            columns.append(column)
        return (frame.drop(_TIME) if self._shows_time else frame), columns, failed

    def _set_apart(self, frame: pl.DataFrame) -> tuple[pl.DataFrame, Failed | None]:
        conditions = frame.select(f.condition.fill_null(False).alias(f"{i}") for i, f in enumerate(self._failures))
        if conditions.height != frame.height:
            conditions = conditions.select(pl.all().gather(pl.zeros(frame.height, dtype=pl.Int64, eager=True)))
        if not conditions.select(pl.any_horizontal(pl.all().any())).item():
            return frame, None
        reason = pl.coalesce(pl.when(pl.col(f"{i}")).then(pl.lit(f.reason)) for i, f in enumerate(self._failures))
        reasons = conditions.select(reason.alias("reason")).get_column("reason")
        bad = reasons.is_not_null()
        return frame.filter(~bad), Failed(frame.filter(bad), reasons.filter(bad))


def _is_time(column: Column) -> bool:
    return column.name == TS and column.dtype.is_temporal()
