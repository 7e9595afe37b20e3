"""Partial results of an aggregate that works by arrays, by pane: each made once, merged and taken back as the window moves.

A pane holds one partial result for each group, no rows but those that wait until their order is known (see `pane_rows`).
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
from sortedcontainers import SortedDict

from jupyter_stream.aggregates.protocol import VALUE
from jupyter_stream.aggregates.user.python import ArrayProgram
from jupyter_stream.aggregates.user.rows import HeldForm
from jupyter_stream.aggregates.user.segments import Outcome
from jupyter_stream.arrays.order import order_of
from jupyter_stream.arrays.rows import bytes_of
from jupyter_stream.core.messages import TS, Int64s, ints
from jupyter_stream.functions.scalar import RowError
from jupyter_stream.partials.frames import PANE
from jupyter_stream.partials.pane_rows import LOT, by_slot, renumbered
from jupyter_stream.partials.user_panes import framed


class ArrayPanes:
    """What panes gave, by slot.

    Args:
        form: what is run.
    """

    def __init__(self, form: HeldForm) -> None:
        self.form = form
        program = form.call.program
        assert isinstance(program, ArrayProgram)
        self._program = program
        self._waiting: SortedDict = SortedDict()  # pane -> frames of rows not folded yet
        self._partials: SortedDict = SortedDict()  # pane -> partial result by slot
        self._failed: dict[int, dict[int, str]] = {}
        self._closed: int | None = None  # panes before this one are folded
        self._window: tuple[int | None, int] | None = None  # where it was moved to
        self._inside: list[int] = []  # panes merged in `_merged`
        self._merged: dict[int, tuple[int, Any]] = {}  # slot -> how many panes, and what they give together
        self._wrong: dict[int, str] = {}  # slots from which a pane could not be taken back, until that is told
        self._found: pl.DataFrame | None = None

    @property
    def bytes(self) -> int:
        """Bytes held, those of partial results roughly."""
        held = sum(_size(p) for own in self._partials.values() for p in own.values())
        return held + bytes_of(f for frames in self._waiting.values() for f in frames)

    @property
    def rows(self) -> int:
        """Rows that wait."""
        return sum(f.height for frames in self._waiting.values() for f in frames)

    def update(self, rows: pl.DataFrame) -> None:
        """Take rows: columns `pane`, `slot`, the number, the arguments, `$ts`."""
        for (pane,), piece in rows.partition_by(PANE, as_dict=True, include_key=False).items():
            if self._closed is not None and pane < self._closed:
                self._fold(pane, piece.sort(VALUE, maintain_order=True).drop(TS, VALUE))
                self._found = None
            else:
                self._waiting.setdefault(pane, []).append(piece)

    def settle(self, until: int) -> None:
        """No row before that time comes any more, but late ones: whole lots of an open pane's rows are folded."""
        for pane, frames in list(self._waiting.items()):
            if sum(f.height for f in frames) < LOT:
                continue
            rows = pl.concat(frames)
            times = ints(rows.get_column(TS))
            lots = int((times < until).sum()) // LOT
            if lots:
                rows = rows[pl.Series(order_of(times, ints(rows.get_column(VALUE))))]
                for start in range(0, lots * LOT, LOT):
                    self._fold(pane, rows[start : start + LOT])
                rows = rows[lots * LOT :]
            self._waiting[pane] = [rows] if rows.height else []

    # -- the window moves

    def advance(self, first: int | None, end: int) -> None:
        """The window moves to panes `first <= pane < end`; `first` None keeps all."""
        for pane in list(self._waiting.irange(None, end, inclusive=(True, False))):
            frames = self._waiting.pop(pane)
            if frames:
                self._fold(pane, pl.concat(frames))
        self._closed = end if self._closed is None else max(self._closed, end)
        self._window, self._found = (first, end), None
        if first is not None:
            self.free(first)

    def free(self, before: int) -> None:
        """Forget panes before that one."""
        self._leave(before)
        for held in (self._partials, self._waiting):
            for pane in list(held.irange(None, before, inclusive=(True, False))):
                del held[pane]
        for pane in [p for p in self._failed if p < before]:
            del self._failed[pane]

    def renumber(self, old: Int64s) -> None:
        """Slot `old[i]` is now slot i."""
        if not old.size:
            return
        new = np.full(int(old.max()) + 1, -1, np.int64)
        new[old] = np.arange(old.size)
        for pane, frames in self._waiting.items():
            self._waiting[pane] = [renumbered(f, new) for f in frames]
        for pane, own in self._partials.items():
            self._partials[pane] = {int(new[s]): p for s, p in own.items()}
        self._failed = {p: {int(new[s]): why for s, why in own.items()} for p, own in self._failed.items()}
        self._merged = {int(new[s]): m for s, m in self._merged.items()}
        self._found = None

    # -- answers

    def finish(self, first: int | None, end: int) -> pl.DataFrame:
        """Answers over panes `first <= pane < end`: columns `slot`, `v`; no row for a group without rows."""
        if (first, end) != self._window:
            return self._ahead(first, end)
        if self._found is None:
            failed, self._wrong = self._wrong, {}
            panes = self._move(first, end, failed)
            self._found = self._finished(self._merged, failed, panes)
        return self._found

    def _ahead(self, first: int | None, end: int) -> pl.DataFrame:
        """An extent ahead, still open."""
        merged: dict[int, tuple[int, Any]] = {}
        failed: dict[int, str] = {}
        inside = (first, end, (True, False))
        panes = sorted({*self._partials.irange(*inside), *self._waiting.irange(*inside)})
        for pane in panes:
            self._add(merged, self._partials.get(pane, {}), failed)
            if frames := self._waiting.get(pane):
                made, wrong = self._made(pl.concat(frames))
                self._add(merged, made, failed)
                failed.update(wrong)
        return self._finished(merged, failed, panes)

    def _finished(
        self, merged: Mapping[int, tuple[int, Any]], failed: dict[int, str], panes: list[int]
    ) -> pl.DataFrame:
        for pane in panes:
            failed.update(self._failed.get(pane, {}))
        answers: dict[int, Outcome] = {}
        for slot, (_, partial) in merged.items():
            try:
                answers[slot] = self._program.finish(partial), None
            except RowError as error:
                failed[slot] = str(error)
        answers.update({slot: (None, reason) for slot, reason in failed.items()})
        return framed(answers, self.form.call.dtype)

    def _move(self, first: int | None, end: int, failed: dict[int, str]) -> list[int]:
        """Bring `_merged` to the window: without the panes that have left and with those that came; returns those inside.

        They are merged in their order: a late row's pane that came before others of the window has all of them merged anew.
        """
        panes = list(self._partials.irange(first, end, inclusive=(True, False)))
        came = set(panes) - set(self._inside)
        stay = [p for p in self._inside if p in self._partials and (first is None or p >= first)]
        if not stay or min(came, default=stay[-1]) < stay[-1]:
            self._inside, self._merged = [], {}
        elif first is not None:
            self._leave(first)
            failed.update(self._wrong)
            self._wrong = {}
        for pane in [p for p in panes if p not in self._inside]:
            self._add(self._merged, self._partials[pane], failed)
        self._inside = panes
        for slot in failed:  # begun anew the next time
            self._merged.pop(slot, None)
        if failed:
            self._inside = []
        return panes

    def _leave(self, before: int) -> None:
        """Take panes before that one back; without `subtract`, all begin anew."""
        gone = [p for p in self._inside if p < before]
        if not gone:
            return
        if not self._program.subtracts:
            self._inside, self._merged = [], {}
            return
        self._inside = [p for p in self._inside if p >= before]
        for pane in gone:
            for slot, partial in self._partials.get(pane, {}).items():
                if slot not in self._merged:
                    continue
                count, whole = self._merged[slot]
                if count == 1:
                    del self._merged[slot]
                    continue
                try:
                    self._merged[slot] = count - 1, self._program.subtract(whole, partial)
                except RowError as error:
                    self._wrong[slot] = str(error)

    def _add(self, merged: dict[int, tuple[int, Any]], partials: Mapping[int, Any], failed: dict[int, str]) -> None:
        for slot, partial in partials.items():
            if slot not in merged:
                merged[slot] = 1, partial
                continue
            count, before = merged[slot]
            try:
                merged[slot] = count + 1, self._program.merge(before, partial)
            except RowError as error:
                failed[slot] = str(error)

    def _fold(self, pane: int, rows: pl.DataFrame) -> None:
        made, failed = self._made(rows)
        held = self._partials.setdefault(pane, {})
        for slot, partial in made.items():
            try:
                held[slot] = self._program.merge(held[slot], partial) if slot in held else partial
            except RowError as error:
                failed[slot] = str(error)
        if failed:
            self._failed.setdefault(pane, {}).update(failed)
        if pane in self._inside:
            self._inside, self._merged = [], {}

    def _made(self, rows: pl.DataFrame) -> tuple[dict[int, Any], dict[int, str]]:
        """Partial results of rows, by slot, and slots for which there is none."""
        found = by_slot(rows)
        arrays = [c.to_numpy() for c in found.columns]
        made: dict[int, Any] = {}
        failed: dict[int, str] = {}
        stop = 0
        for slot, length in zip(found.slots.tolist(), found.lengths.tolist(), strict=True):
            start, stop = stop, stop + length
            try:
                made[slot] = self._program.partial([a[start:stop] for a in arrays])
            except RowError as error:
                failed[slot] = str(error)
        return made, failed


def _size(partial: Any) -> int:
    """Bytes of a partial result, roughly: what a user's own object holds isn't known."""
    if isinstance(partial, tuple | list):
        return sys.getsizeof(partial) + sum(map(_size, partial[:1000])) * max(1, len(partial) // 1000)
    if isinstance(partial, dict):
        return sys.getsizeof(partial) + sum(map(_size, list(partial.values())[:1000]))
    return int(getattr(partial, "nbytes", 0)) or sys.getsizeof(partial)


__all__ = ["ArrayPanes"]
