"""Partial results of every aggregate of a query, by cells: whatever whole numbers an operator cuts its rows by.

For windows whose extents are no panes of time: those over row numbers, and sessions. What a cell stands for, and when its rows
are no longer needed, is the operator's business.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import polars as pl

from jupyter_stream import aggregates
from jupyter_stream.aggregates.framed import Framed, SumOverflow
from jupyter_stream.aggregates.protocol import SLOT, VALUE, Dense, Partial
from jupyter_stream.core.messages import TS
from jupyter_stream.core.rows import first_rows
from jupyter_stream.state.group_aggregate import GroupAggregate

_LOOSE = 4_096
"""Partial results appended before they are merged into those of the same cells, at least."""
_PIECES = 64

Picks = Callable[[pl.DataFrame, Callable[[pl.DataFrame], pl.DataFrame]], pl.DataFrame]
"""Given partial results by cells and a merge of them by the same cells, those an answer is made of, under its own columns."""


class Cells:
    """Partial results by the columns `by`, and answers from them by other columns.

    Args:
        calls: what is computed.
        by: columns of whole numbers that say which cell a row is in; none is called `v`, `p0` and so on.
    """

    def __init__(self, calls: Sequence[GroupAggregate], by: Sequence[str]) -> None:
        count = aggregates.find("count")
        assert count is not None
        self._calls = tuple(calls)
        self._by = list(by)
        # the rows of each cell come first: a group is in an answer if it has rows, whatever its aggregates skip
        rows = Framed(count, Dense((Partial("count"),)), pl.Int64())
        self._framed = [rows, *(Framed(c.function, c.form, c.dtype) for c in calls)]
        self._pieces: list[list[pl.DataFrame]] = [[] for _ in self._framed]
        self._settled = [0] * len(self._framed)

    @property
    def rows(self) -> int:
        """Partial results held."""
        return sum(p.height for pieces in self._pieces for p in pieces)

    @property
    def bytes(self) -> int:
        """Bytes held."""
        return sum(int(p.estimated_size()) for pieces in self._pieces for p in pieces)

    def add(self, cells: pl.DataFrame, ts: pl.Series, inputs: Sequence[pl.Series]) -> None:
        """Fold rows in, in the order they came.

        Args:
            cells: the columns `by` of each row.
            ts: their times.
            inputs: arguments and FILTER conditions of the aggregates.
        """
        for i, framed in enumerate(self._framed):
            columns, where = cells.get_columns(), None
            if i:
                call = self._calls[i - 1]
                columns += [inputs[n].alias(VALUE if j == 0 else f"{VALUE}{j}") for j, n in enumerate(call.inputs)]
                where = call.where
            if framed.needs_time:
                columns.append(ts.alias(TS))
            rows = pl.DataFrame(columns)
            if where is not None:
                rows = rows.filter(inputs[where])
            if rows.height and (piece := framed.update(rows, self._by)).height:
                self._append(i, piece)

    def _append(self, i: int, piece: pl.DataFrame) -> None:
        pieces = self._pieces[i]
        pieces.append(piece)
        loose = sum(p.height for p in pieces) - self._settled[i]
        if len(pieces) > _PIECES or loose > max(_LOOSE, self._settled[i]):
            self._pieces[i] = [self._framed[i].merge(pl.concat(pieces), self._by)]
            self._settled[i] = self._pieces[i][0].height

    def change(self, change: Callable[[pl.DataFrame], pl.DataFrame]) -> None:
        """Filter or renumber the cells of all partial results."""
        for i, pieces in enumerate(self._pieces):
            if pieces:
                kept = change(pl.concat(pieces))
                self._pieces[i] = [kept] if kept.height else []
                self._settled[i] = min(self._settled[i], kept.height)

    def held(self) -> pl.DataFrame:
        """The cells that hold rows, some of them more than once."""
        pieces = self._pieces[0]
        if not pieces:
            return pl.DataFrame(schema=dict.fromkeys(self._by, pl.Int64()))
        return pl.concat(pieces).select(self._by)

    def head(self, most: int) -> pl.DataFrame:
        """Some cells, the columns `by`, and how many `rows` each holds."""
        pieces = first_rows(self._pieces[0], most)
        if not pieces:
            return pl.DataFrame(schema={n: pl.Int64() for n in (*self._by, "rows")})
        merged = self._framed[0].merge(pl.concat(pieces), self._by)
        return merged.select(*self._by, pl.exclude(*self._by).name.map(lambda _: "rows"))

    def read(self, picks: Picks, by: Sequence[str]) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Answers: the columns `by`, then one for each aggregate, one row for each value of `by` that has rows.

        Returns:
            The answers, and the values of `by` of those that are left out as a sum in them is beyond BIGINT.
        """
        by = list(by)
        answers = pl.DataFrame(schema=dict.fromkeys(by, pl.Int64()))
        beyond = [answers]
        for i, framed in enumerate(self._framed):
            if not self._pieces[i]:
                found = None
            else:
                merge = lambda f, framed=framed: framed.merge(f, self._by)  # noqa: E731  # a def would read no better
                found = self._finish(i, picks(pl.concat(self._pieces[i]), merge), by, beyond)
            if i == 0:
                answers = answers if found is None else found.select(by)
                continue
            call = self._calls[i - 1]
            if found is None or not found.height:
                answers = answers.with_columns(pl.lit(None, call.dtype).alias(call.name))
            else:
                named = found.rename({VALUE: call.name})
                answers = answers.join(named, on=by, how="left", maintain_order="left")
            if (nothing := framed.of_nothing()) is not None:
                answers = answers.with_columns(pl.col(call.name).fill_null(nothing).cast(call.dtype))
        left_out = pl.concat(beyond).unique()
        if left_out.height:
            answers = answers.join(left_out, on=by, how="anti", maintain_order="left")
        return answers, left_out

    def _finish(self, i: int, partials: pl.DataFrame, by: list[str], beyond: list[pl.DataFrame]) -> pl.DataFrame:
        framed = self._framed[i]
        partials = framed.merge(partials, by)
        try:
            return framed.finish(partials, by)
        except SumOverflow as overflow:
            bad = partials.select(by).filter(overflow.rows)
            beyond.append(bad)
            return framed.finish(partials.join(bad, on=by, how="anti", maintain_order="left"), by)


__all__ = ["SLOT", "Cells", "Picks"]
