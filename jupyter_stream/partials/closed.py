"""Answers of extents that are final: some extents, some groups at a time. And how to get them one extent after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import polars as pl

from jupyter_stream.core.messages import Int64s

_PANES_AT_ONCE = 64


@dataclass(frozen=True)
class Closed:
    """Answers of some extents and groups, row by row.

    Attributes:
        extents: of which extent, ascending.
        slots: of which group.
        answers: the aggregates' columns.
        lost_extents: where a sum is beyond 64 bits, so that there is no answer: the extent.
        lost_slots: the group.
        cells: how many pairs of extent and group were looked at.
    """

    extents: Int64s
    slots: Int64s
    answers: Sequence[pl.Series]
    lost_extents: Int64s
    lost_slots: Int64s
    cells: int


class Overflowed(Exception):
    """Some sums are beyond 64 bits.

    Attributes:
        slots: of which groups.
    """

    def __init__(self, slots: Int64s) -> None:
        super().__init__(f"{slots.size} sums are beyond BIGINT")
        self.slots = slots


class Readable(Protocol):
    """What answers an extent as a whole."""

    def advance(self, k: int) -> None:
        """Move the window to extent k, later than the one before."""

    def read(self, k: int, without: Int64s) -> tuple[Int64s, list[pl.Series]]:
        """Groups alive in extent k, to which the window was moved, some left out, and their answers. Raises `Overflowed`."""

    def read_tumbling(self, panes: Sequence[int]) -> tuple[Int64s, Int64s, list[pl.Series]]:
        """Answers of many single-pane extents at once: index into `panes`, slot, and the answers, row by row."""


def one_by_one(groups: Readable, extents: Sequence[int]) -> Iterator[Closed]:
    """Move the window through some extents, in order, and give their answers."""
    for k in extents:
        groups.advance(k)
        lost = np.empty(0, np.int64)
        while True:
            try:
                slots, answers = groups.read(k, lost)
                break
            except Overflowed as overflow:
                lost = np.concatenate([lost, overflow.slots])
        yield Closed(np.full(slots.size, k), slots, answers, np.full(lost.size, k), lost, slots.size)


def single_panes(groups: Readable, extents: Sequence[int]) -> Iterator[Closed]:
    """The same for extents of one pane each, the one before their end."""
    nothing = np.empty(0, np.int64)
    for start in range(0, len(extents), _PANES_AT_ONCE):
        some = extents[start : start + _PANES_AT_ONCE]
        try:
            which, slots, answers = groups.read_tumbling([k - 1 for k in some])
        except Overflowed:
            yield from one_by_one(groups, some)
            continue
        yield Closed(np.asarray(some, np.int64)[which], slots, answers, nothing, nothing, slots.size)
