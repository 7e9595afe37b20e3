"""The rows of a relation while they are in it: which enter, which leave and when, between two punctuations.

Only rows that change, or that are asked for by their key, are looked at.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from jupyter_stream.core.messages import SIGN, TS, UNTIL, Int64s, ints
from jupyter_stream.core.time import MAX_TIME
from jupyter_stream.state.keyed_rows import KeyedRows
from jupyter_stream.state.relation_ends import taken_back

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
    """

    def __init__(self, schema: dict[str, pl.DataType], key: Sequence[str]) -> None:
        self._names = list(schema)
        self._rows = KeyedRows(schema, key)

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
            self._rows.add(changes.filter(pl.col(SIGN) > 0))
            gone = changes.filter(pl.col(SIGN) < 0).select(*self._names, TS)
            leaving, ends = self._leaving(gone)
        if asked is not None:
            met = self._rows.with_key(asked)
        numbers = np.unique(np.concatenate([np.arange(first, self._rows.next), leaving, met]))
        rows, notes = self._rows.at(numbers)
        until = np.full(numbers.size, MAX_TIME)
        until[np.searchsorted(numbers, leaving)] = ends
        self._rows.remove(leaving)
        return rows.with_columns(
            pl.Series(UNTIL, until), pl.Series(OLD, numbers < first), pl.Series(NOTE, notes), pl.Series(NUMBER, numbers)
        )

    def _leaving(self, gone: pl.DataFrame) -> tuple[Int64s, Int64s]:
        """Numbers of the rows that leave, and when."""
        if not gone.height:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        candidates = self._rows.equal_to(gone)
        at, when = taken_back(self._rows.at(candidates)[0], gone)
        order = np.argsort(at)
        return candidates[at[order]], when[order]

    def head(self, most: int) -> pl.DataFrame:
        """The oldest of the rows."""
        return self._rows.head(most)

    def note(self, numbers: pl.Series, notes: pl.Series) -> None:
        """Write what is kept with rows that are in it; numbers ascend."""
        self._rows.note(ints(numbers), ints(notes))

    def check(self) -> None:
        """Raise AssertionError where an invariant is broken."""
        self._rows.check()
