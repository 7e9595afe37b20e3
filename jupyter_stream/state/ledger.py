"""The rows of a relation while they are in it: which enter, which leave and when, between two punctuations."""

from __future__ import annotations

import numpy as np
import polars as pl

from jupyter_stream.core.messages import SIGN, TS, UNTIL
from jupyter_stream.core.time import MAX_TIME
from jupyter_stream.state.relation_ends import taken_back

OLD = "$old"
"""Boolean: whether a row was there before."""


class Ledger:
    """Rows that are in a relation.

    Args:
        schema: the rows' columns and types, and those that are kept with them (0 for rows that enter).
        kept: names of the latter.
    """

    def __init__(self, schema: dict[str, pl.DataType], kept: tuple[str, ...] = ()) -> None:
        self._own = [n for n in schema if n not in kept]
        self._kept = kept
        self._rows = pl.DataFrame(schema={**schema, TS: pl.Int64()})

    @property
    def rows(self) -> pl.DataFrame:
        """What is in it: the columns, and `$ts`, since when."""
        return self._rows

    @property
    def bytes(self) -> int:
        """Bytes held."""
        return int(self._rows.estimated_size())

    def advance(self, changes: pl.DataFrame | None) -> pl.DataFrame:
        """All rows that are in it at some time of a step, with `$until` (`MAX_TIME` while they stay) and `$old`.

        Args:
            changes: the columns, `$ts` and `$sign`, in the order of `$ts`; None for none.
        """
        before = self._rows
        if changes is None or not changes.height:
            return before.with_columns(pl.lit(MAX_TIME, pl.Int64).alias(UNTIL), pl.lit(True).alias(OLD))
        entering = changes.filter(pl.col(SIGN) > 0).select(*self._own, TS)
        entering = entering.with_columns(pl.lit(0, pl.Int64).alias(n) for n in self._kept)
        rows = pl.concat([before, entering.select(before.columns)])
        ends = np.full(rows.height, MAX_TIME)
        gone = changes.filter(pl.col(SIGN) < 0).select(*self._own, TS)
        at, when = taken_back(rows.select(*self._own, TS), gone)
        ends[at] = when
        self._rows = rows.filter(pl.Series(ends == MAX_TIME))
        old = pl.Series(OLD, np.arange(rows.height) < before.height)
        return rows.with_columns(pl.Series(UNTIL, ends), old)

    def keep(self, name: str, values: pl.Series) -> None:
        """Set a kept column of the rows that stayed in it, in their order."""
        self._rows = self._rows.with_columns(values.alias(name))
