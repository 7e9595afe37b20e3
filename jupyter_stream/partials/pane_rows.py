"""Rows for user-defined aggregates by pane, and, where these are ALGEBRAIC, what a pane's rows gave instead of the rows.

An algebraic aggregate may be run over its own answers (ESL, §5.1), so a pane needs to hold one answer for each group, no more.
Rows are taken in the order of times: they wait until no row before them can come, then they are folded, a lot of them at a time.
A late row of a pane that is folded comes behind the others of its pane; panes stay in order.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from sortedcontainers import SortedDict

from jupyter_stream.aggregates.protocol import SLOT, VALUE
from jupyter_stream.aggregates.user.answers import returned
from jupyter_stream.aggregates.user.protocol import Program, UserCall
from jupyter_stream.aggregates.user.segments import over_segments
from jupyter_stream.arrays.order import order_of
from jupyter_stream.arrays.rows import bytes_of
from jupyter_stream.core.messages import TS, Int64s, ints

LOT = 8192
"""Rows of an open pane that wait at most, beside those that rows to come may precede. Always the same rows in a lot, however they
come, so that an answer doesn't depend on it."""


@dataclass(frozen=True)
class BySlot:
    """Rows by group, those of each in order.

    Attributes:
        slots: the groups, ascending.
        lengths: how many rows each has.
        columns: the arguments.
    """

    slots: Int64s
    lengths: Int64s
    columns: list[pl.Series]


def by_slot(frame: pl.DataFrame) -> BySlot:
    """Rows by group, within it by time, then number, then as they came; what has no time as it came."""
    slots = ints(frame.get_column(SLOT))
    columns = [c for c in frame.get_columns() if c.name not in (SLOT, VALUE, TS)]
    one = not slots.size or int(slots.min()) == int(slots.max())
    order: Int64s | None = None
    if TS in frame.columns and not _in_order(times := ints(frame.get_column(TS)), numbers := ints(frame[VALUE])):
        order = order_of(slots, times, numbers)
    elif not one:
        order = order_of(slots)
    if order is not None:
        places = pl.Series(order)
        columns = [c.gather(places) for c in columns]
    if one:
        return BySlot(slots[:1], np.array([slots.size] if slots.size else [], np.int64), columns)
    counts = np.bincount(slots)
    present = np.flatnonzero(counts)
    return BySlot(present, counts[present], columns)


def _in_order(times: Int64s, numbers: Int64s) -> bool:
    later = times[1:] > times[:-1]
    return bool(later.all()) or bool((later | ((times[1:] == times[:-1]) & (numbers[1:] >= numbers[:-1]))).all())


class PaneRows:
    """Rows by pane."""

    def __init__(self) -> None:
        self._frames: SortedDict = SortedDict()  # pane -> frames of rows, as they came

    @property
    def bytes(self) -> int:
        """Bytes held."""
        return bytes_of(f for frames in self._frames.values() for f in frames)

    @property
    def rows(self) -> int:
        """Rows held."""
        return sum(f.height for frames in self._frames.values() for f in frames)

    def add(self, pane: int, rows: pl.DataFrame) -> None:
        """Take rows of a pane: columns `slot`, the number, the arguments, `$ts`."""
        self._frames.setdefault(pane, []).append(rows)

    def settle(self, until: int) -> None:
        """No row before that time comes any more, but late ones."""

    def close(self, end: int) -> None:
        """Panes before that one are in a final extent."""

    def free(self, before: int) -> None:
        """Forget panes before that one."""
        for pane in self.panes(None, before):
            del self._frames[pane]

    def renumber(self, new: Int64s) -> None:
        """Slot `i` is now slot `new[i]`."""
        for pane, frames in self._frames.items():
            self._frames[pane] = [renumbered(f, new) for f in frames]

    def panes(self, first: int | None, end: int) -> list[int]:
        """Those that hold anything, `first <= pane < end`."""
        return list(self._frames.irange(first, end, inclusive=(True, False)))

    def slots(self, pane: int) -> set[int]:
        """Groups with rows in a pane."""
        return {s for frame in self._frames.get(pane, ()) for s in frame.get_column(SLOT).unique().to_list()}

    def of(self, panes: Iterable[int]) -> BySlot | None:
        """The rows of some panes; None without any."""
        frames = [f for pane in panes for f in self._frames[pane]]
        return by_slot(pl.concat(frames) if len(frames) > 1 else frames[0]) if frames else None

    def failed(self, panes: Iterable[int]) -> dict[int, str]:
        """Groups whose rows in some panes have no answer, and why."""
        return {}


class FoldedPanes(PaneRows):
    """Answers by pane.

    Args:
        call: what is run over a pane's rows, and then over the answers.
    """

    def __init__(self, call: UserCall) -> None:
        super().__init__()
        assert call.combine is not None
        self._program = call.program
        self._dtype = call.program.dtype
        self._arguments = call.combine.arguments
        self._waiting: SortedDict = SortedDict()  # pane -> frames of rows not folded yet
        self._failed: dict[int, dict[int, str]] = {}
        self._closed: int | None = None  # panes before this one are folded

    @property
    def bytes(self) -> int:
        """Bytes held."""
        return super().bytes + bytes_of(f for frames in self._waiting.values() for f in frames)

    @property
    def rows(self) -> int:
        """Rows and answers held."""
        return super().rows + sum(int(f.height) for frames in self._waiting.values() for f in frames)

    def add(self, pane: int, rows: pl.DataFrame) -> None:
        """Rows wait; late ones of a pane that is folded are folded at once."""
        if self._closed is not None and pane < self._closed:
            self._fold(pane, rows.sort(VALUE, maintain_order=True).drop(TS, VALUE))
        else:
            self._waiting.setdefault(pane, []).append(rows)

    def settle(self, until: int) -> None:
        """Fold whole lots of an open pane's rows, the earliest ones."""
        for pane, frames in list(self._waiting.items()):
            if sum(f.height for f in frames) < LOT:
                continue
            rows = pl.concat(frames)
            times = ints(rows.get_column(TS))
            lots = int((times < until).sum()) // LOT
            if lots:
                order = pl.Series(order_of(times, ints(rows.get_column(VALUE))))
                rows = rows[order]
                for start in range(0, lots * LOT, LOT):
                    self._fold(pane, rows[start : start + LOT])
                rows = rows[lots * LOT :]
            self._waiting[pane] = [rows] if rows.height else []

    def close(self, end: int) -> None:
        """Fold what waits in panes before that one."""
        for pane in list(self._waiting.irange(None, end, inclusive=(True, False))):
            frames = self._waiting.pop(pane)
            if frames:
                self._fold(pane, pl.concat(frames))
        self._closed = end if self._closed is None else max(self._closed, end)

    def free(self, before: int) -> None:
        """Forget panes before that one."""
        super().free(before)
        for pane in list(self._waiting.irange(None, before, inclusive=(True, False))):
            del self._waiting[pane]
        for pane in [p for p in self._failed if p < before]:
            del self._failed[pane]

    def renumber(self, new: Int64s) -> None:
        """Slot `i` is now slot `new[i]`."""
        super().renumber(new)
        for pane, frames in self._waiting.items():
            self._waiting[pane] = [renumbered(f, new) for f in frames]
        self._failed = {p: {int(new[s]): why for s, why in own.items()} for p, own in self._failed.items()}

    def panes(self, first: int | None, end: int) -> list[int]:
        """Those that hold anything, `first <= pane < end`."""
        waiting = self._waiting.irange(first, end, inclusive=(True, False))
        return sorted({*super().panes(first, end), *waiting})

    def slots(self, pane: int) -> set[int]:
        """Groups with rows in a pane."""
        waiting = {s for frame in self._waiting.get(pane, ()) for s in frame.get_column(SLOT).unique().to_list()}
        return super().slots(pane) | waiting

    def of(self, panes: Iterable[int]) -> BySlot | None:
        """The answers of some panes, those of open ones as they are now."""
        frames = []
        for pane in panes:
            frames += self._frames.get(pane, [])
            if waiting := self._waiting.get(pane):
                frames.append(self._answers(pl.concat(waiting))[0])
        return by_slot(pl.concat(frames)) if frames else None

    def failed(self, panes: Iterable[int]) -> dict[int, str]:
        """Groups whose rows in some panes have no answer, and why."""
        found: dict[int, str] = {}
        for pane in panes:
            found.update(self._failed.get(pane, {}))
            if waiting := self._waiting.get(pane):
                found.update(self._answers(pl.concat(waiting))[1])
        return found

    def _fold(self, pane: int, rows: pl.DataFrame) -> None:
        answers, failed = self._answers(rows)
        if before := self._frames.get(pane):  # what is there already is an answer like that of the lot
            answers, wrong = self._answers(pl.concat([*before, answers]))
            failed = {**wrong, **failed}
        self._frames[pane] = [answers]
        if failed:
            self._failed.setdefault(pane, {}).update(failed)

    def _answers(self, rows: pl.DataFrame) -> tuple[pl.DataFrame, dict[int, str]]:
        """What each group's rows give, as rows like those of the input, and groups they give nothing."""
        return answers_of(self._program, self._dtype, self._arguments, by_slot(rows))


def answers_of(
    program: Program, dtype: pl.DataType, arguments: Sequence[pl.DataType], rows: BySlot
) -> tuple[pl.DataFrame, dict[int, str]]:
    """What an aggregate gives for each group, as arguments of the next, and groups it gives nothing."""
    outcomes = over_segments(program, rows.columns, rows.lengths)
    values, wrong = returned([v for v, _ in outcomes], dtype)
    slots = rows.slots.tolist()
    failed = {s: e or w for s, (_, e), w in zip(slots, outcomes, wrong, strict=True)}
    held = pl.DataFrame([pl.Series(SLOT, rows.slots, pl.Int64()), values.alias(VALUE)])
    held = held.filter(held.get_column(VALUE).list.len().fill_null(0) > 0).explode(VALUE)
    made = held.get_column(VALUE)
    parts = made.struct.unnest().get_columns() if len(arguments) > 1 else [made]
    columns = [p.cast(t).alias(f"{VALUE}{i + 1}") for i, (p, t) in enumerate(zip(parts, arguments, strict=True))]
    return pl.DataFrame([held.get_column(SLOT), *columns]), {s: why for s, why in failed.items() if why is not None}


def renumbered(frame: pl.DataFrame, new: Int64s) -> pl.DataFrame:
    """Rows whose slot `i` is now slot `new[i]`."""
    return frame.with_columns(pl.Series(SLOT, new[ints(frame.get_column(SLOT))]))


__all__ = ["LOT", "BySlot", "FoldedPanes", "PaneRows", "by_slot", "renumbered"]
