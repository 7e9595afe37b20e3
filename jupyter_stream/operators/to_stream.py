"""ISTREAM, DSTREAM and RSTREAM (CQL): from the changes of a relation to a stream of rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np
import polars as pl

from jupyter_stream.core.messages import SIGN, TS, Batch, Message, Punctuation, ints
from jupyter_stream.core.order import order_of
from jupyter_stream.core.rows import earliest, shown
from jupyter_stream.core.time import MAX_TIME
from jupyter_stream.operators.protocol import Operator, Recall, Stateless
from jupyter_stream.plan.logical import StreamKind
from jupyter_stream.state.relation_ends import taken_back


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


class EveryRow(Stateless):
    """RSTREAM: all rows of the relation at every instant at which it changes."""

    def __init__(self) -> None:
        super().__init__("rstream")
        self._alive: pl.DataFrame | None = None
        self._waiting: list[pl.DataFrame] = []

    def head(self, most: int) -> pl.DataFrame:
        """The first rows alive."""
        return shown((*([] if self._alive is None else [self._alive]), *self._waiting), most)

    def on_batch(self, port: int, batch: Batch) -> Iterator[Message]:
        """Keep changes until the instant is over."""
        self._waiting.append(batch.frame)
        return iter(())

    def on_punctuation(self, port: int, punctuation: Punctuation) -> Iterator[Message]:
        """Give what was alive at each instant that is over."""
        if self._waiting:
            changes = pl.concat(self._waiting)
            now = changes.get_column(TS) < punctuation.value
            self._waiting = [changes.filter(~now)] if not now.all() else []
            changes = changes.filter(now).sort(TS, maintain_order=True)
            if changes.height:
                yield from self._release(changes)
        yield from super().on_punctuation(port, punctuation)

    def _release(self, changes: pl.DataFrame) -> Iterator[Message]:
        entering = changes.filter(pl.col(SIGN) > 0).drop(SIGN)
        rows = entering if self._alive is None else pl.concat([self._alive, entering])
        ends = np.full(rows.height, MAX_TIME)
        at, when = taken_back(rows, changes.filter(pl.col(SIGN) < 0).drop(SIGN))
        ends[at] = when
        self._alive = rows.filter(pl.Series(ends == MAX_TIME))
        instants = np.unique(ints(changes.get_column(TS)))
        first = np.searchsorted(instants, ints(rows.get_column(TS)))
        many = np.searchsorted(instants, ends) - first
        row = np.repeat(np.arange(rows.height), many)
        offset = np.repeat(np.cumsum(many) - many, many)
        look = np.arange(row.size) - offset + np.repeat(first, many)
        order = order_of(look)
        given = rows[pl.Series(row[order])].with_columns(pl.Series(TS, instants[look[order]]))
        self.control.holds(int(self._alive.estimated_size()))
        if given.height:
            yield Batch(given)

    def recalls(self) -> Recall | None:
        """The rows of the relation."""
        return Recall(earliest(self._waiting if self._alive is None else [*self._waiting, self._alive]))


def to_stream(kind: StreamKind) -> Operator:
    """The operator for ISTREAM, DSTREAM or RSTREAM."""
    return EveryRow() if kind == "rstream" else Entering(kind)
