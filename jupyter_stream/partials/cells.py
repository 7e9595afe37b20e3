"""Partial results of every aggregate of a query, by cells: whatever whole numbers an operator cuts its rows by.

For windows whose extents are no panes of time: those over row numbers, sessions, and extents that end with a row. What a cell
stands for, and when its rows are no longer needed, is the operator's business.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

import polars as pl

from jupyter_stream import aggregates
from jupyter_stream.aggregates.framed import Framed
from jupyter_stream.aggregates.protocol import SLOT, VALUE, Dense, Partial
from jupyter_stream.arrays.rows import first_rows
from jupyter_stream.core.messages import Int64s
from jupyter_stream.partials.group_aggregate import GroupAggregate
from jupyter_stream.partials.pieces import Pieces
from jupyter_stream.partials.store import Found

Merge: TypeAlias = Callable[[pl.DataFrame], pl.DataFrame]
Picks: TypeAlias = Callable[[pl.DataFrame, Merge], pl.DataFrame]
"""Given partial results by cells and a merge of them by the same cells, those an answer is made of, under its own columns."""


class Cells:
    """Partial results by group and cell, and answers from them by other columns.

    Args:
        calls: what is computed.
        at: the column of whole numbers that says, with the group, which cell a row is in; not called `v`, `p0` and so on.
    """

    def __init__(self, calls: Sequence[GroupAggregate], at: str) -> None:
        count = aggregates.find("count")
        assert count is not None
        self._calls = tuple(calls)
        self._at, self._by = at, [SLOT, at]
        # the rows of each cell come first: a group is in an answer if it has rows, whatever its aggregates skip
        rows = Framed(count, Dense((Partial("count"),)), pl.Int64())
        self._framed = [rows, *(c.framed for c in calls)]
        self._pieces = [Pieces(framed, self._by) for framed in self._framed]

    @property
    def zero(self) -> list[str]:
        """The aggregates that are 0 of no rows."""
        return [c.name for c in self._calls if c.function.of_nothing == 0]

    @property
    def rows(self) -> int:
        """Partial results held."""
        return sum(pieces.rows for pieces in self._pieces)

    @property
    def bytes(self) -> int:
        """Bytes held."""
        return sum(pieces.bytes for pieces in self._pieces)

    def add(self, groups: Int64s, at: Int64s, ts: pl.Series, inputs: Sequence[pl.Series]) -> None:
        """Fold rows in, in the order they came; `at` are their cells."""
        cells = pl.DataFrame({SLOT: groups, self._at: at})
        by = cells.get_columns()
        for i, (framed, pieces) in enumerate(zip(self._framed, self._pieces, strict=True)):
            rows = self._calls[i - 1].rows(by, inputs, ts) if i else cells
            if rows.height:
                pieces.append(framed.update(rows, self._by))

    def change(self, change: Callable[[pl.DataFrame], pl.DataFrame]) -> None:
        """Filter or renumber the cells of all partial results."""
        for pieces in self._pieces:
            pieces.change(change)

    def held(self) -> pl.DataFrame:
        """The cells that hold rows, some of them more than once."""
        frames = self._pieces[0].frames
        if not frames:
            return pl.DataFrame(schema=dict.fromkeys(self._by, pl.Int64()))
        return pl.concat(frames).select(self._by)

    def opened(self) -> Cells:
        """The same: answers don't wait for rows to come."""
        return self

    def head(self, most: int) -> pl.DataFrame:
        """Some cells, and how many `rows` each holds."""
        frames = first_rows(self._pieces[0].frames, most)
        if not frames:
            return pl.DataFrame(schema={n: pl.Int64() for n in (self._at, SLOT, "rows")})
        merged = self._pieces[0].merge(pl.concat(frames))
        return merged.select(self._at, SLOT, pl.exclude(*self._by).name.map(lambda _: "rows"))

    def read(self, picks: Picks, by: Sequence[str]) -> Iterator[Found]:
        """Answers, all in one piece: the columns `by`, then one for each aggregate."""
        by = list(by)
        answers = pl.DataFrame(schema=dict.fromkeys(by, pl.Int64()))
        beyond = [answers]
        for i, (framed, pieces) in enumerate(zip(self._framed, self._pieces, strict=True)):
            found = None
            if pieces:
                picked = picks(pl.concat(pieces.frames), pieces.merge)
                found, lost = framed.finish(framed.merge(picked, by), by)
                beyond.append(lost)
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
        yield answers, left_out

    def check(self) -> None:
        """Raise AssertionError where an invariant is broken."""
        for pieces in self._pieces:
            pieces.check()


__all__ = ["Cells", "Merge", "Picks"]
