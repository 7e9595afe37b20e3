"""Relations of aggregates over rows that end when somebody says so: with their own end, or taken back by an equal row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import polars as pl

from jupyter_stream.arrays.rows import columns_of
from jupyter_stream.core.messages import TS, UNTIL, Int64s, ints
from jupyter_stream.core.time import MAX_TIME
from jupyter_stream.partials.group_aggregate import GroupAggregate
from jupyter_stream.relations.relation import RelationGroups

_FEW: Final = 1_024
"""Rows that aren't worth looking which of them are like one that ends."""


class EndingGroups(RelationGroups):
    """Groups of rows whose last input is the time they end (`$until`).

    Args:
        keys: names and types of the grouping columns; without any, there is one row from the first on.
        inputs: types of arguments and FILTER conditions, then BIGINT.
        aggregates: what is computed.
    """

    _in_order = False

    def __init__(
        self,
        keys: Sequence[tuple[str, pl.DataType]],
        inputs: Sequence[pl.DataType],
        aggregates: Sequence[GroupAggregate],
    ) -> None:
        super().__init__(1, keys, inputs, aggregates)

    def _leaving(self, rows: pl.DataFrame, until: int) -> tuple[Int64s, Int64s]:
        ends = ints(rows.to_series(rows.width - 1))
        return ends, np.flatnonzero(ends < until)


class SignedGroups(EndingGroups):
    """Groups of rows that are taken back: a leaving row is the oldest of those equal to it."""

    def __init__(
        self,
        keys: Sequence[tuple[str, pl.DataType]],
        inputs: Sequence[pl.DataType],
        aggregates: Sequence[GroupAggregate],
    ) -> None:
        super().__init__(keys, inputs, aggregates)
        self._gone: pl.DataFrame | None = None

    def leave(self, gone: pl.DataFrame) -> None:
        """Those `rows` leave at their times, in whose order they are; before `release` of that time."""
        self._gone = gone

    def _leaving(self, rows: pl.DataFrame, until: int) -> tuple[Int64s, Int64s]:
        ends = np.full(rows.height, MAX_TIME)
        if self._gone is not None:
            many = int(np.searchsorted(ints(self._gone.get_column(TS)), until))
            gone, rest = self._gone.head(many), self._gone.slice(many)
            self._gone = rest if rest.height else None
            keys = gone.get_columns()[1 : 1 + len(self._keys)]
            slots = np.zeros(gone.height, np.int64) if self.slots is None else self.slots.encode(keys)
            inputs = gone.get_columns()[1 + len(self._keys) :]
            gone = pl.DataFrame([gone.get_column(TS), pl.Series("slot", slots), *inputs])
            at, when = taken_back(rows, gone)
            ends[at] = when
        return ends, np.flatnonzero(ends < until)


def taken_back(rows: pl.DataFrame, gone: pl.DataFrame) -> tuple[Int64s, Int64s]:
    """Which rows end, and when: each of `gone` takes the oldest row equal to it in all columns but `$ts`.

    Args:
        rows: with `$ts`, oldest first.
        gone: the same columns, `$ts` being the end; earliest first.
    """
    names = [c for c in rows.columns if c != TS]
    if not gone.height:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    if not names:
        return np.arange(gone.height), ints(gone.get_column(TS))
    number = pl.int_range(pl.len()).over(names).alias("$nth")
    some = columns_of(rows, names).hstack([pl.Series("$row", np.arange(rows.height))])
    if rows.height > _FEW + 4 * gone.height:  # else it takes longer than it saves
        some = some.join(gone, on=names, how="semi", nulls_equal=True, maintain_order="left")
    leaving = gone.rename({TS: UNTIL}).with_columns(number)
    found = some.with_columns(number).join(leaving, on=[*names, "$nth"], how="inner", nulls_equal=True)
    assert found.height == gone.height, "a row leaves that never entered"
    return ints(found.get_column("$row")), ints(found.get_column(UNTIL))
