"""Net changes: what enters and leaves again in one instant does neither. Keeps nothing beyond the next punctuation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import polars as pl

from jupyter_stream.arrays.order import order_of
from jupyter_stream.arrays.rows import columns_of, rows_at, rows_where
from jupyter_stream.core.messages import SIGN, TS, Batch, Message, ints
from jupyter_stream.core.schema import Schema
from jupyter_stream.flow.at_instants import AtInstants
from jupyter_stream.flow.protocol import Recall


class Net(AtInstants):
    """Changes without those that cancel out, by instant; leaving rows before entering ones.

    Args:
        schema: the rows' columns; NULLs are equal.
    """

    def __init__(self, schema: Schema) -> None:
        super().__init__("net changes")
        self._names = list(schema.names)
        self._keys = [
            (pl.col(f.name) + 0.0).fill_nan(float("nan")) if f.dtype.is_float() else pl.col(f.name) for f in schema
        ]
        self._floats = any(f.dtype.is_float() for f in schema)

    def take(self, port: int, frame: pl.DataFrame) -> Iterable[Message]:
        """Only the columns that are compared."""
        self.keep(port, columns_of(frame, [*self._names, TS, SIGN]))
        return ()

    def step(self, due: Sequence[pl.DataFrame | None], until: int) -> Iterable[Message]:
        """Give what is left of the changes at each instant."""
        (frame,) = due
        made = None if frame is None else self._net(frame)
        return (Batch(made),) if made is not None and made.height else ()

    def _net(self, frame: pl.DataFrame) -> pl.DataFrame:
        frame = in_order(frame)
        times, signs = ints(frame.get_column(TS)), frame.get_column(SIGN).to_numpy()
        turns = np.flatnonzero((signs[1:] != signs[:-1]) & (times[1:] == times[:-1]))
        if not turns.size:  # the rule where times are fine: in no instant do some rows leave and others enter
            return frame
        both = np.isin(times, times[turns])
        net = self._cancelled(rows_where(frame, both))
        return in_order(rows_where(frame, ~both).vstack(net)) if not both.all() else net

    def _cancelled(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Changes at instants at which some rows leave and others enter."""
        signs = ints(frame.get_column(SIGN))
        keyed = frame.select(*self._keys, TS) if self._floats else columns_of(frame, [*self._names, TS])
        hashes = keyed.hash_rows().to_numpy()
        order = np.argsort(hashes)
        same = hashes[order][1:] == hashes[order][:-1]
        opposed = order[1:][same & (signs[order][1:] != signs[order][:-1])]
        if not opposed.size:
            return frame
        some = pl.Series(np.isin(hashes, hashes[opposed]))
        total = frame.filter(some).with_columns(
            *(k.alias(n) for k, n in zip(self._keys, self._names, strict=True)), pl.col(SIGN).cast(pl.Int64)
        )
        total = total.group_by([*self._names, TS], maintain_order=True).agg(pl.col(SIGN).sum())
        total = total.filter(pl.col(SIGN) != 0)
        many = np.abs(ints(total.get_column(SIGN)))
        total = total.with_columns(pl.col(SIGN).sign().cast(pl.Int8))[pl.Series(np.repeat(np.arange(many.size), many))]
        return in_order(pl.concat([frame.filter(~some), total]))

    def recalls(self) -> Recall | None:
        """The changes that wait."""
        return Recall(self.since)


def in_order(frame: pl.DataFrame) -> pl.DataFrame:
    """Changes by instant, leaving rows before entering ones."""
    times = ints(frame.get_column(TS))
    signs = frame.get_column(SIGN).to_numpy()
    if ((times[1:] > times[:-1]) | ((times[1:] == times[:-1]) & (signs[1:] >= signs[:-1]))).all():
        return frame
    return rows_at(frame, order_of(times, signs))


__all__ = ["Net", "in_order"]
