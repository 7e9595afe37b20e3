"""ISTREAM, DSTREAM and RSTREAM (CQL): from the changes of a relation to a stream of rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, Literal

import numpy as np
import polars as pl

from jupyter_stream.arrays.order import order_of
from jupyter_stream.arrays.rows import earliest, shown, together
from jupyter_stream.arrays.walking import stretches, walked
from jupyter_stream.core.messages import SIGN, TS, Batch, Message, ints
from jupyter_stream.core.time import MAX_TIME
from jupyter_stream.flow.at_instants import AtInstants
from jupyter_stream.flow.protocol import Operator, Recall, Stateless
from jupyter_stream.plan.logical import StreamKind
from jupyter_stream.relations.relation_ends import taken_back

_AT_ONCE: Final = 1 << 20
"""Rows given at once, unless more are alive at one instant."""


class Entering(Stateless):
    """The rows that enter (ISTREAM), or those that leave (DSTREAM), at the time they do."""

    def __init__(self, kind: Literal["istream", "dstream"]) -> None:
        super().__init__(kind)
        self._sign = 1 if kind == "istream" else -1

    def on_batch(self, port: int, batch: Batch) -> Iterator[Message]:
        """Take the rows of one sign."""
        rows = batch.frame.filter(pl.col(SIGN) == self._sign).drop(SIGN)
        if rows.height:
            yield Batch(rows)


class EveryRow(AtInstants):
    """RSTREAM: all rows of the relation at every instant at which it changes."""

    def __init__(self) -> None:
        super().__init__("rstream")
        self._alive: pl.DataFrame | None = None

    def head(self, most: int) -> pl.DataFrame:
        """The first rows alive."""
        return shown(self._held, most)

    @property
    def _held(self) -> list[pl.DataFrame]:
        return [*([] if self._alive is None else [self._alive]), *self._waiting[0]]

    def report(self) -> None:
        """The rows alive among it."""
        self.holds(0 if self._alive is None else int(self._alive.estimated_size()))

    def step(self, due: Sequence[pl.DataFrame | None], until: int) -> Iterator[Message]:
        """Give what is alive at each instant."""
        (changes,) = due
        if changes is None:
            return
        entering = changes.filter(pl.col(SIGN) > 0).drop(SIGN)
        rows = entering if self._alive is None else together([self._alive, entering])
        ends = np.full(rows.height, MAX_TIME)
        at, when = taken_back(rows, changes.filter(pl.col(SIGN) < 0).drop(SIGN))
        ends[at] = when
        self._alive = rows.filter(pl.Series(ends == MAX_TIME))
        instants = np.unique(ints(changes.get_column(TS)))
        first = np.searchsorted(instants, ints(rows.get_column(TS)))
        after = np.searchsorted(instants, ends)
        self.report()
        for low, high in stretches(first, after, instants.size, _AT_ONCE):
            here = np.flatnonzero((first < high) & (after > low))
            for row, look in walked(np.maximum(first[here], low), np.minimum(after[here], high), MAX_TIME):
                order = order_of(look)
                given = rows[pl.Series(here[row[order]])]
                yield Batch(given.with_columns(pl.Series(TS, instants[look[order]])))

    def recalls(self) -> Recall | None:
        """The rows of the relation."""
        return Recall(earliest(self._held))


def to_stream(kind: StreamKind) -> Operator:
    """The operator for ISTREAM, DSTREAM or RSTREAM."""
    return EveryRow() if kind == "rstream" else Entering(kind)
