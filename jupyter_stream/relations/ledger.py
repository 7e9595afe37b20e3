"""The rows of a relation while they are in it: which enter, which leave and when, between two punctuations.

Only rows that change, or that are asked for by their key, are looked at.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from jupyter_stream.arrays.rows import columns_of, rows_where
from jupyter_stream.core.messages import SIGN, TS, UNTIL, Int64s
from jupyter_stream.core.time import MAX_TIME
from jupyter_stream.relations.keyed_rows import KeyedRows
from jupyter_stream.relations.relation_ends import taken_back

NOTE = "$note"
"""Int64: a number kept with each row."""
NUMBER = "$number"
"""Int64: by which a row is known."""
OLD = "$old"
"""Boolean: whether a row was there before."""


class Ledger:
    """Rows that are in a relation.

    Args:
        schema: the rows' columns and types.
        key: the columns by which rows are asked for.
        by_values: whether a row that leaves is found by all its values, rather than among those of its key.
    """

    def __init__(self, schema: dict[str, pl.DataType], key: Sequence[str], by_values: bool = True) -> None:
        self._names = list(schema)
        self._rows = KeyedRows(schema, key, by_values)

    @property
    def rows(self) -> int:
        """How many are in it."""
        return self._rows.rows

    @property
    def looked(self) -> int:
        """Rows ever looked at."""
        return self._rows.looked

    @property
    def oldest(self) -> int:
        """Since when the first of them is in it; `MAX_TIME` without any."""
        return self._rows.oldest

    @property
    def bytes(self) -> int:
        """Bytes held."""
        return self._rows.bytes

    def advance(self, changes: pl.DataFrame | None, asked: pl.DataFrame | None) -> pl.DataFrame:
        """Rows that enter or leave in a step, and those with a key that is asked for (others may be among them).

        They are oldest first, with `$ts`, `$until` (`MAX_TIME` while they stay), `$old`, `$note` (0 for rows that enter) and
        `$number`.

        Args:
            changes: the columns, `$ts` and `$sign`, in the order of `$ts`; None for none.
            asked: rows with keys; None for none.
        """
        first = self._rows.next
        leaving = ends = met = np.empty(0, np.int64)
        if changes is not None and changes.height:
            comes = changes.get_column(SIGN).to_numpy() > 0
            self._rows.add(rows_where(changes, comes))
            if not comes.all():
                leaving, ends = self._leaving(columns_of(rows_where(changes, ~comes), [*self._names, TS]))
        if asked is not None:
            met = self._rows.with_key(asked)
        numbers = np.unique(np.concatenate([np.arange(first, self._rows.next), leaving, met]))
        rows, notes = self._rows.at(numbers)
        until = np.full(numbers.size, MAX_TIME)
        until[np.searchsorted(numbers, leaving)] = ends
        self._rows.remove(leaving)
        return rows.hstack(
            [
                pl.Series(UNTIL, until),
                pl.Series(OLD, numbers < first),
                pl.Series(NOTE, notes),
                pl.Series(NUMBER, numbers),
            ]
        )

    def _leaving(self, gone: pl.DataFrame) -> tuple[Int64s, Int64s]:
        """Numbers of the rows that leave, and when."""
        candidates = self._rows.equal_to(gone)
        at, when = taken_back(self._rows.at(candidates)[0], gone)
        order = np.argsort(at)
        return candidates[at[order]], when[order]

    def head(self, most: int) -> pl.DataFrame:
        """The oldest of the rows."""
        return self._rows.head(most)

    def note(self, numbers: Int64s, notes: Int64s) -> None:
        """Write what is kept with rows that are in it; numbers ascend."""
        self._rows.note(numbers, notes)

    def check(self) -> None:
        """Raise AssertionError where an invariant is broken."""
        self._rows.check()
