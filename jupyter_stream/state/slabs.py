"""Rows of sparse groups, kept as they came: a slab of columns for each pane.

The shared buffer B of AdaptWID (window-queries thesis §6.3.4), cut by pane: rows expire as whole slabs, and an extent reads whole
slabs. Nothing here knows why a row is kept as a row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sortedcontainers import SortedDict

from jupyter_stream.aggregates.protocol import SLOT
from jupyter_stream.core.messages import TS, Int64s

_PIECES = 16
_FEW_PANES = 8


class _Piece(NamedTuple):
    frame: pl.DataFrame
    size: int  # bytes, as measured when it was taken


class Slabs:
    """Rows by pane: the group's slot, its time where an aggregate reads it, and the aggregates' inputs.

    Args:
        timed: whether rows keep their time.
    """

    def __init__(self, timed: bool) -> None:
        self._timed = timed
        self.panes: SortedDict = SortedDict()  # pane -> list of pieces, in the order they came
        self.rows = 0
        self.bytes = 0

    @property
    def row_bytes(self) -> float | None:
        """Bytes a row takes, as measured over those held; None without any."""
        return self.bytes / self.rows if self.rows else None

    def add(self, panes: Int64s, slots: Int64s, ts: Int64s, inputs: Sequence[pl.Series]) -> None:
        """Keep rows, in arrival order. The columns are kept as they are: cut from a larger one, they keep that alive."""
        columns = [pl.Series(SLOT, slots.astype(np.int32))]
        if self._timed:
            columns.append(pl.Series(TS, ts))
        columns += [column.alias(f"i{n}") for n, column in enumerate(inputs)]
        frame = pl.DataFrame(columns)
        low, high = int(panes.min()), int(panes.max())
        if low == high:
            self._append(low, frame)
            return
        distinct = np.unique(panes).tolist() if high - low >= _FEW_PANES else range(low, high + 1)
        if len(distinct) <= _FEW_PANES:
            for pane in distinct:
                piece = frame.filter(pl.Series(panes == pane))
                if piece.height:
                    self._append(pane, piece)
            return
        order = np.argsort(panes, kind="stable")
        edges = np.searchsorted(panes[order], distinct)
        frame = frame[pl.Series(order)]
        for pane, start, stop in zip(distinct, edges.tolist(), [*edges[1:].tolist(), panes.size], strict=True):
            self._append(pane, frame.slice(start, stop - start))

    def _append(self, pane: int, frame: pl.DataFrame) -> None:
        pieces = self.panes.setdefault(pane, [])
        piece = _Piece(frame, int(frame.estimated_size()))
        pieces.append(piece)
        self.rows += frame.height
        self.bytes += piece.size
        if len(pieces) > _PIECES:
            self._replace(pane, [pl.concat([p.frame for p in pieces], rechunk=True)])

    def _replace(self, pane: int, frames: Sequence[pl.DataFrame]) -> None:
        for frame, size in self.panes.pop(pane):
            self.rows -= frame.height
            self.bytes -= size
        for frame in frames:
            self._append(pane, frame)

    def of(self, pane: int) -> Iterator[tuple[Int64s, Int64s | None, list[pl.Series]]]:
        """A pane's rows: slots, times if kept, inputs; piece by piece, in arrival order."""
        for frame, _ in self.panes.get(pane, ()):
            yield self._parts(frame)

    def _parts(self, frame: pl.DataFrame) -> tuple[Int64s, Int64s | None, list[pl.Series]]:
        columns = frame.get_columns()
        slots = columns[0].to_numpy().astype(np.int64)
        if self._timed:
            return slots, columns[1].to_numpy(), columns[2:]
        return slots, None, columns[1:]

    def take(
        self, chosen: Callable[[Int64s], NDArray[np.bool_]]
    ) -> Iterator[tuple[int, Int64s, Int64s | None, list[pl.Series]]]:
        """Take rows out by their slots: pane, slots, times, inputs. One pass over all slabs."""
        for pane in list(self.panes):
            taken: list[pl.DataFrame] = []
            left: list[pl.DataFrame] = []
            for frame, _ in self.panes[pane]:
                mask = chosen(frame.get_column(SLOT).to_numpy())
                if not mask.any():
                    left.append(frame)
                    continue
                out = pl.Series(mask)
                taken.append(frame.filter(out))
                if taken[-1].height < frame.height:
                    left.append(frame.filter(~out))
            if taken:
                self._replace(pane, left)
                yield pane, *self._parts(pl.concat(taken) if len(taken) > 1 else taken[0])

    def drop(self, panes: Iterable[int]) -> Int64s:
        """Forget panes; returns the slot of every row forgotten."""
        gone = []
        for pane in panes:
            gone += [f.get_column(SLOT).to_numpy() for f, _ in self.panes[pane]]
            self._replace(pane, [])
        return np.concatenate(gone).astype(np.int64) if gone else np.empty(0, np.int64)

    def renumber(self, new: Int64s) -> None:
        """Slot `i` is now `new[i]`."""
        for pieces in self.panes.values():
            for i, (frame, size) in enumerate(pieces):
                slots = new[frame.get_column(SLOT).to_numpy()].astype(np.int32)
                pieces[i] = _Piece(frame.with_columns(pl.Series(SLOT, slots)), size)

    def check(self) -> None:
        """Raise AssertionError unless the counts are those of the rows held and no slab is empty."""
        held = [p for pieces in self.panes.values() for p in pieces]
        assert all(p.frame.height for p in held)
        assert all(self.panes.values())
        assert self.rows == sum(p.frame.height for p in held)
        assert self.bytes == sum(p.size for p in held)
