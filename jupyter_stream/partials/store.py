"""What a store of partial results is: of every aggregate of a query, by group and by a whole number that says which extents.

Two are written: `Cells` keeps frames, of any aggregate, whatever becomes of the numbers; `Bins` keeps arrays in order of time,
for extents that are all there is in a RANGE before some time. What picks partial results out, and what changes them, is each
store's own; the `Extents` made for it say it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol, TypeAlias

import polars as pl

from jupyter_stream.aggregates.protocol import SLOT
from jupyter_stream.core.messages import Int64s

Found: TypeAlias = tuple[pl.DataFrame, pl.DataFrame]
"""Answers with the columns they were read by, and the values of these that have none, as a sum in them is beyond BIGINT."""


class PartialStore(Protocol):
    """Partial results, and answers from them."""

    @property
    def rows(self) -> int:
        """Partial results held."""

    @property
    def bytes(self) -> int:
        """Bytes held."""

    @property
    def zero(self) -> list[str]:
        """The aggregates that are 0 of no rows."""

    def add(self, groups: Int64s, at: Int64s, ts: pl.Series, inputs: Sequence[pl.Series]) -> None:
        """Fold rows in, in the order they came.

        Args:
            groups: their groups, by slot.
            at: the number of the partial results each goes to.
            ts: their times.
            inputs: arguments and FILTER conditions of the aggregates.
        """

    def change(self, change: Any) -> None:
        """Leave some of the partial results out, or give them other numbers."""

    def read(self, picks: Any, by: Sequence[str]) -> Iterator[Found]:
        """Answers, one for each value of `by` that has rows: in one piece, or in several where they are many."""

    def opened(self) -> PartialStore:
        """Another to be read as if no row were to come; this one doesn't change by it."""

    def held(self) -> pl.DataFrame:
        """Groups and numbers of partial results, some of them more than once."""

    def head(self, most: int) -> pl.DataFrame:
        """The first of them: the number, the group, and what else people look at."""

    def check(self) -> None:
        """Raise AssertionError where an invariant is broken."""


def read_together(stores: Sequence[PartialStore], picks: Sequence[Any], by: Sequence[str]) -> Iterator[Found]:
    """Answers of several stores side by side. The first says which there are: it holds what the others hold.

    What is beyond BIGINT in one store is no answer of any.
    """
    if len(stores) == 1:
        yield from stores[0].read(picks[0], by)
        return
    by = list(by)
    for (answers, beyond), *others in zip(*(s.read(p, by) for s, p in zip(stores, picks, strict=True)), strict=True):
        bad = [beyond]
        for store, (own, beyond) in zip(stores[1:], others, strict=True):
            bad.append(beyond)
            answers = answers.join(own, on=by, how="left", maintain_order="left")
            answers = answers.with_columns(pl.col(name).fill_null(0) for name in store.zero)
        beyond = pl.concat(bad).unique()
        yield answers.join(beyond, on=by, how="anti", maintain_order="left"), beyond


__all__ = ["SLOT", "Found", "PartialStore", "read_together"]
