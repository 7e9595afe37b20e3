"""Rows of sparse groups, kept as they came: slabs of columns for each pane.

The shared buffer B of AdaptWID (window-queries thesis §6.3.4), cut by pane: rows expire as whole slabs, and an extent reads whole
slabs. Nothing here knows why a row is kept as a row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sortedcontainers import SortedDict

from jupyter_stream.arrays.order import order_of
from jupyter_stream.core.messages import Int64s

_PIECES = 16
_FEW_PANES = 8


@dataclass(frozen=True, slots=True)
class PaneSlab:
    """Rows of one pane that came together.

    Attributes:
        slots: the group of each.
        times: their times, where they are kept.
        inputs: the aggregates' inputs. Series rather than a frame, whose filter takes 0.3 ms a call (Polars 1.3x).
        size: bytes.
    """

    slots: NDArray[np.int32]
    times: Int64s | None
    inputs: list[pl.Series]
    size: int

    @classmethod
    def of(cls, slots: NDArray[np.int32], times: Int64s | None, inputs: list[pl.Series]) -> PaneSlab:
        """A slab of these columns."""
        size = slots.nbytes + (0 if times is None else times.nbytes) + sum(int(c.estimated_size()) for c in inputs)
        return cls(slots, times, inputs, size)

    @classmethod
    def joined(cls, slabs: Sequence[PaneSlab]) -> PaneSlab:
        """The rows of several, in their order."""
        if len(slabs) == 1:
            return slabs[0]
        times = None if slabs[0].times is None else np.concatenate([s.times for s in slabs if s.times is not None])
        columns = zip(*(s.inputs for s in slabs), strict=True)
        inputs = [pl.concat(c, rechunk=True) for c in columns]
        return cls.of(np.concatenate([s.slots for s in slabs]), times, inputs)

    def where(self, mask: NDArray[np.bool_]) -> PaneSlab:
        """Some of its rows."""
        chosen = pl.Series(mask)
        times = None if self.times is None else self.times[mask]
        return PaneSlab.of(self.slots[mask], times, [c.filter(chosen) for c in self.inputs])


class Slabs:
    """Rows by pane.

    Args:
        timed: whether rows keep their time.
    """

    def __init__(self, timed: bool) -> None:
        self._timed = timed
        self.panes: SortedDict = SortedDict()  # pane -> list of slabs, in the order they came
        self.rows = 0
        self.bytes = 0

    @property
    def row_bytes(self) -> float | None:
        """Bytes a row takes, as measured over those held; None without any."""
        return self.bytes / self.rows if self.rows else None

    def add(self, panes: Int64s, slots: Int64s, ts: Int64s, inputs: Sequence[pl.Series]) -> None:
        """Keep rows, in arrival order. The columns are kept as they are: cut from a larger one, they keep that alive."""
        slab = PaneSlab.of(slots.astype(np.int32), ts if self._timed else None, list(inputs))
        low, high = int(panes.min()), int(panes.max())
        if low == high:
            self._append(low, slab)
            return
        distinct = np.unique(panes).tolist() if high - low >= _FEW_PANES else range(low, high + 1)
        if len(distinct) <= _FEW_PANES:
            for pane in distinct:
                mask = panes == pane
                if mask.any():
                    self._append(pane, slab.where(mask))
            return
        order = order_of(panes)
        edges = np.searchsorted(panes[order], distinct)
        at = pl.Series(order)
        sorted_slots = slab.slots[order]
        times = None if slab.times is None else slab.times[order]
        columns = [c.gather(at) for c in slab.inputs]
        for pane, start, stop in zip(distinct, edges.tolist(), [*edges[1:].tolist(), panes.size], strict=True):
            mine = [c.slice(start, stop - start) for c in columns]
            self._append(
                pane, PaneSlab.of(sorted_slots[start:stop].copy(), None if times is None else times[start:stop], mine)
            )

    def _append(self, pane: int, slab: PaneSlab) -> None:
        slabs = self.panes.setdefault(pane, [])
        slabs.append(slab)
        self.rows += slab.slots.size
        self.bytes += slab.size
        if len(slabs) > _PIECES:
            self._replace(pane, [PaneSlab.joined(slabs)])

    def _replace(self, pane: int, slabs: Sequence[PaneSlab]) -> None:
        for old in self.panes.pop(pane):
            self.rows -= old.slots.size
            self.bytes -= old.size
        for slab in slabs:
            self._append(pane, slab)

    def of(self, panes: Iterable[int]) -> PaneSlab | None:
        """The rows of some panes, pane by pane in arrival order; None if there are none."""
        found = [slab for pane in panes for slab in self.panes.get(pane, ())]
        return PaneSlab.joined(found) if found else None

    def take(
        self, chosen: Callable[[NDArray[np.int32]], NDArray[np.bool_]], after: int | None = None
    ) -> Iterator[tuple[int, PaneSlab]]:
        """Take rows out by their slots, pane by pane from pane `after` on. One pass over the slabs."""
        for pane in list(self.panes.irange(after)):
            slab = PaneSlab.joined(self.panes[pane])
            mask = chosen(slab.slots)
            if not mask.any():
                if len(self.panes[pane]) > 1:
                    self._replace(pane, [slab])
                continue
            self._replace(pane, [] if mask.all() else [slab.where(~mask)])
            yield pane, slab.where(mask)

    def drop(self, panes: Iterable[int]) -> NDArray[np.int32]:
        """Forget panes; returns the slot of every row forgotten."""
        gone = [np.empty(0, np.int32)]
        for pane in panes:
            gone += [slab.slots for slab in self.panes[pane]]
            self._replace(pane, [])
        return np.concatenate(gone)

    def renumber(self, new: Int64s) -> None:
        """Slot `i` is now `new[i]`."""
        for slabs in self.panes.values():
            slabs[:] = [PaneSlab(new[s.slots].astype(np.int32), s.times, s.inputs, s.size) for s in slabs]

    def check(self) -> None:
        """Raise AssertionError unless the counts are those of the rows held and no slab is empty."""
        held = [slab for slabs in self.panes.values() for slab in slabs]
        assert all(slab.slots.size for slab in held)
        assert all(len(c) == slab.slots.size for slab in held for c in slab.inputs)
        assert all(self.panes.values())
        assert self.rows == sum(slab.slots.size for slab in held)
        assert self.bytes == sum(slab.size for slab in held)


__all__ = ["PaneSlab", "Slabs"]
