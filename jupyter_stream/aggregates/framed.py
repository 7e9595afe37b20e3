"""Any aggregate as frames of partial results: update, merge and finish by any grouping columns.

The form for windows whose extents are not panes in arrays. A dense aggregate's partials become columns `p0`, `p1`, ...; sums of
integers are kept in 128 bits, so that only the answer can overflow.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from jupyter_stream.aggregates.protocol import VALUE, AggregateFunction, Dense, FrameForm, Partial, nulls_of
from jupyter_stream.core.messages import Int64s, ints


class Framed:
    """One aggregate over frames.

    Args:
        function: its algebra.
        form: its form for the argument types.
        dtype: the result's type.

    Attributes:
        dtype: the same.
    """

    def __init__(self, function: AggregateFunction, form: Dense | FrameForm, dtype: pl.DataType) -> None:
        self._function = function
        self._form = form
        self.dtype = dtype
        if isinstance(form, Dense):
            self.extra: tuple[str, ...] = ()
            self.needs_time = self.skips_nulls = False
        else:
            self.extra, self.needs_time, self.skips_nulls = form.extra, form.needs_time, form.skips_nulls

    def update(self, rows: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
        """Partial results of rows, whose arguments are `v`, `v1`, ... (`v` of count(*) may be missing), by columns.

        Rows are in arrival order. Rows with a NULL first argument are left out here where the aggregate skips them.
        """
        if self.skips_nulls:
            rows = rows.filter(pl.col(VALUE).is_not_null())
        return self.each(rows, by)

    def each(self, rows: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
        """The same of rows as they are, none left out."""
        has_value = VALUE in rows.columns
        if isinstance(self._form, Dense):
            exprs = [_update(p, has_value).alias(f"p{i}") for i, p in enumerate(self._form.partials)]
        else:
            exprs = self._form.update()
        return rows.group_by([*by, *self.extra], maintain_order=True).agg(exprs)

    def merge(self, partials: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
        """Partial results of partial results, earlier arrivals first."""
        if isinstance(self._form, Dense):
            exprs = [_merge(p, f"p{i}") for i, p in enumerate(self._form.partials)]
        else:
            exprs = self._form.merge()
        return partials.group_by([*by, *self.extra], maintain_order=True).agg(exprs)

    def finish(self, partials: pl.DataFrame, by: Sequence[str]) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Answers of partial results that are merged by those columns.

        Returns:
            The columns `by` with the answers in `v`, one row for each value of `by` that has partials; and the values of `by`
            that have no answer, as a sum of integers doesn't fit BIGINT.
        """
        if not isinstance(self._form, Dense):
            return self._form.finish(partials, by).with_columns(
                pl.col(VALUE).cast(self.dtype)
            ), partials.clear().select(by)
        sums = [f"p{i}" for i, p in enumerate(self._form.partials) if p.op == "sum" and p.kind == "int"]
        lost = partials.clear()
        if sums and not self.dtype.is_float():
            narrow = partials.with_columns(pl.col(sums).cast(pl.Int64, strict=False))
            wrong = narrow.select(pl.any_horizontal(pl.col(sums).is_null())).to_series()
            if wrong.any():
                lost, narrow = partials.filter(wrong), narrow.filter(~wrong)
            partials = narrow
        elif sums:
            partials = partials.with_columns(pl.col(sums).cast(pl.Float64))
        arrays = [_array(partials.get_column(f"p{i}")) for i in range(len(self._form.partials))]
        answers = self._function.finish(arrays, self.dtype)
        return partials.select(by).with_columns(answers.alias(VALUE)), lost.select(by)

    def answers(self, partials: pl.DataFrame, by: str, many: int) -> tuple[pl.Series, Int64s]:
        """The same for each of the first `many` whole numbers, of the column `by`: that of nothing where there are no partials.

        Returns:
            As many answers, and the numbers that have none.
        """
        found, beyond = self.finish(partials, [by])
        every = pl.DataFrame({by: np.arange(many)})
        answers = every.join(found, on=by, how="left", maintain_order="left").get_column(VALUE)
        if (nothing := self.of_nothing()) is not None:
            answers = answers.fill_null(nothing)
        return answers.cast(self.dtype), ints(beyond.get_column(by))

    def of_nothing(self) -> object:
        """The answer over rows of which none counts: 0 for counts, an empty list for lists, NULL for the others."""
        return nulls_of(self._function)


def _update(partial: Partial, has_value: bool) -> pl.Expr:
    value = pl.col(VALUE)
    if partial.op == "count":
        return (value.count() if has_value else pl.len()).cast(pl.Int64)
    if partial.op == "sum":
        return value.cast(pl.Int128).sum() if partial.kind == "int" else value.cast(pl.Float64).sum()
    if partial.kind == "float":
        value = value.cast(pl.Float64)
        # NaN is the greatest number: min passes it over, max doesn't
        return value.min() if partial.op == "min" else value.nan_max()
    value = value.to_physical().cast(pl.Int64)
    return value.min() if partial.op == "min" else value.max()


def _merge(partial: Partial, name: str) -> pl.Expr:
    column = pl.col(name)
    if partial.op in ("count", "sum"):
        return column.sum()
    if partial.op == "min":
        return column.min()
    return column.nan_max() if partial.kind == "float" else column.max()


def _array(column: pl.Series) -> np.ndarray:
    if column.null_count():
        column = column.fill_null(0)  # groups whose values are all NULL: their count is 0, and finish doesn't look
    return column.to_numpy()
