"""Rows for user-defined aggregates by pane, and runs over them as the window moves: afresh, kept on, or over answers of panes.

Rows are taken in the order of times, so they are kept as they came until their pane is in a final extent; and as long as a late
row may come among them, for then the group is run again. Delta maintenance and the paned rewrite: ESL, §4 and §5.1.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import polars as pl
from sortedcontainers import SortedDict

from jupyter_stream.aggregates.protocol import SLOT, VALUE
from jupyter_stream.aggregates.user.answers import as_tuples, attempt, ordered, returned
from jupyter_stream.aggregates.user.protocol import Program, Run
from jupyter_stream.aggregates.user.python import ArrayProgram
from jupyter_stream.aggregates.user.rows import ERROR, VALUES, HeldForm
from jupyter_stream.core.messages import Int64s, ints
from jupyter_stream.functions.scalar import RowError
from jupyter_stream.state.frames import PANE
from jupyter_stream.state.user_partials import PanePartials

_Rows = dict[int, list[tuple[Any, ...]]]
"""Rows of a pane by slot."""


@dataclass
class _Kept:
    """A run that goes on from extent to extent.

    Attributes:
        run: its state.
        newest: the last pane it took rows of.
        last: what the last row returned.
        stale: whether rows have left since.
    """

    run: Run
    newest: int = 0
    last: list[Any] = field(default_factory=list)
    stale: bool = False


class UserPanes:
    """One user-defined aggregate over panes.

    Args:
        form: what is run.
    """

    def __init__(self, form: HeldForm) -> None:
        self.form = form
        call = form.call
        self._program = call.program
        self._combine = call.combine
        program: Program = call.combine if call.combine is not None else call.program
        self._outer = program
        self._keeps = call.how in ("delta", "running") or (call.combine is not None and program.expires)
        self._panes: SortedDict = SortedDict()  # pane -> frames of rows
        self._answers: dict[int, tuple[_Rows, dict[int, str]]] = {}  # paned: what panes gave, and slots that failed
        self._lists: dict[int, _Rows] = {}  # rows of panes in the window, as tuples
        self._kept: dict[int, _Kept] = {}
        self._window: tuple[int | None, int] | None = None  # where it was moved to
        self._done: int | None = None  # panes before this one have been taken by the runs that go on
        self._found: pl.DataFrame | None = None
        by_arrays = isinstance(program, ArrayProgram) and program.merges
        self._partials = PanePartials(program) if by_arrays and isinstance(program, ArrayProgram) else None

    @property
    def bytes(self) -> int:
        """Bytes held, those of runs roughly."""
        frames = sum(int(f.estimated_size()) for pieces in self._panes.values() for f in pieces)
        return frames + sum(k.run.bytes for k in self._kept.values())

    @property
    def rows(self) -> int:
        """Rows held."""
        return sum(f.height for pieces in self._panes.values() for f in pieces)

    def update(self, rows: pl.DataFrame) -> None:
        """Take rows: columns `pane`, `slot`, the number, the arguments, `$ts`."""
        for (pane,), piece in rows.partition_by(PANE, as_dict=True, include_key=False).items():
            self._panes.setdefault(pane, []).append(piece)
            self._lists.pop(pane, None)
            self._answers.pop(pane, None)
            if self._partials is not None:
                self._partials.forget(pane)
                self._found = None
            if self._done is not None and pane < self._done:
                for slot in piece.get_column(SLOT).unique().to_list():  # a late row: run again from the beginning
                    self._kept.pop(slot, None)
                self._found = None

    # -- the window moves

    def advance(self, first: int | None, end: int) -> None:
        """The window moves to panes `first <= pane < end`; `first` None keeps all."""
        self._window = (first, end)
        self._found = None
        if first is not None:
            self.free(first)

    def free(self, before: int) -> None:
        """Forget panes before that one, and runs whose rows have all left."""
        for pane in list(self._panes.irange(None, before, inclusive=(True, False))):
            del self._panes[pane]
            self._lists.pop(pane, None)
            self._answers.pop(pane, None)
        for slot in [s for s, k in self._kept.items() if k.newest < before]:
            del self._kept[slot]

    def renumber(self, old: Int64s) -> None:
        """Slot `old[i]` is now slot i."""
        if not old.size:
            return
        new = np.full(int(old.max()) + 1, -1, np.int64)
        new[old] = np.arange(old.size)
        for pane, pieces in self._panes.items():
            self._panes[pane] = [f.with_columns(pl.Series(SLOT, new[ints(f.get_column(SLOT))])) for f in pieces]
        self._kept = {int(new[s]): k for s, k in self._kept.items()}
        self._lists.clear()
        self._answers.clear()
        if self._partials is not None:
            self._partials.clear()
        self._found = None

    def panes(self) -> Iterable[int]:
        """Panes that hold anything."""
        return list(self._panes)

    # -- answers

    def finish(self, first: int | None, end: int) -> pl.DataFrame:
        """Answers over panes `first <= pane < end`: columns `slot`, `v`; no row for a group without rows."""
        if (first, end) != self._window:
            return self._afresh(first, end, keep=False)  # an extent ahead, still open
        if self._found is None:
            self._found = self._kept_on(first, end) if self._keeps else self._afresh(first, end, keep=True)
        return self._found

    def _inside(self, first: int | None, end: int) -> list[int]:
        return list(self._panes.irange(first, end, inclusive=(True, False)))

    def _afresh(self, first: int | None, end: int, keep: bool) -> pl.DataFrame:
        """Every group run over its rows from the beginning."""
        if self._partials is not None:
            return self._frame(self._partials.answers({p: self._panes[p] for p in self._inside(first, end)}, keep))
        rows: _Rows = {}
        failed: dict[int, str] = {}
        for pane in self._inside(first, end):
            self._collect(pane, rows, failed, keep)
        answers = {slot: attempt(partial(self._outer.over, held)) for slot, held in rows.items()}
        answers.update({slot: (None, reason) for slot, reason in failed.items()})
        return self._frame(answers)

    def _kept_on(self, first: int | None, end: int) -> pl.DataFrame:
        """Runs go on: rows that left are taken back, then those that came are taken."""
        failed: dict[int, str] = {}
        errors: dict[int, str] = {}
        if first is not None:
            for slot, kept in list(self._kept.items()):
                try:
                    if kept.run.expire(first):
                        kept.stale = True
                except RowError as error:
                    errors[slot] = str(error)
        begin = first if self._done is None else self._done if first is None else max(self._done, first)
        new: _Rows = {}
        newest: dict[int, int] = {}
        for pane in self._inside(begin, end):
            found, wrong = self._rows_of(pane, keep=False)
            failed.update(wrong)
            for slot, rows in found.items():
                newest[slot] = pane
                new.setdefault(slot, []).extend((pane, row) for row in rows)
        # groups of which a late row was among those taken, or that failed before, begin again
        again = self._missing(first, end, set(new))
        for slot in again:
            errors.pop(slot, None)
        for slot, tagged in new.items():
            if slot in errors or slot in again:
                continue
            self._take(slot, tagged, newest[slot], errors)
        answers = {}
        for slot, kept in self._kept.items():
            if slot in errors or slot in again:
                continue
            if not self._outer.blocking and kept.stale:
                again.add(slot)  # the last row returned what held before rows left
            else:
                answers[slot] = attempt(kept.run.answer) if self._outer.blocking else (kept.last, None)
        if again:
            answers.update(self._over_again(first, end, again, errors))
        for slot, reason in {**errors, **failed}.items():
            answers[slot] = (None, reason)
            self._kept.pop(slot, None)
        self._done = end
        return self._frame(answers)

    def _take(self, slot: int, tagged: list[Any], newest: int, errors: dict[int, str]) -> None:
        kept = self._kept.get(slot)
        if kept is None:
            kept = self._kept[slot] = _Kept(self._outer.start())
        kept.newest, kept.stale = newest, False
        try:
            for pane, row in tagged:
                kept.last = kept.run.take(pane, row)
        except RowError as error:
            errors[slot] = str(error)

    def _missing(self, first: int | None, end: int, new: set[int]) -> set[int]:
        """Groups with rows in the extent before the new ones, and no run."""
        if self._done is None:
            return set()
        held: set[int] = set()
        for pane in self._inside(first, self._done):
            for piece in self._panes[pane]:
                held.update(piece.get_column(SLOT).unique().to_list())
        return {s for s in held if s not in self._kept}

    def _over_again(
        self, first: int | None, end: int, slots: set[int], errors: dict[int, str]
    ) -> dict[int, tuple[list[Any] | None, str | None]]:
        """Runs of some groups from the first row of the extent on, in place of those they had."""
        rows: dict[int, list[Any]] = {}
        newest: dict[int, int] = {}
        for pane in self._inside(first, end):
            found, _ = self._rows_of(pane, keep=False, only=slots)
            for slot, own in found.items():
                newest[slot] = pane
                rows.setdefault(slot, []).extend((pane, row) for row in own)
        answers: dict[int, tuple[list[Any] | None, str | None]] = {}
        for slot, tagged in rows.items():
            self._kept.pop(slot, None)
            self._take(slot, tagged, newest[slot], errors)
            if slot not in errors:
                kept = self._kept[slot]
                answers[slot] = attempt(kept.run.answer) if self._outer.blocking else (kept.last, None)
        return answers

    # -- rows of a pane

    def _collect(self, pane: int, rows: _Rows, failed: dict[int, str], keep: bool) -> None:
        found, wrong = self._rows_of(pane, keep)
        failed.update(wrong)
        for slot, own in found.items():
            rows.setdefault(slot, []).extend(own)

    def _rows_of(self, pane: int, keep: bool, only: set[int] | None = None) -> tuple[_Rows, dict[int, str]]:
        """What is run over: rows in order, or what the pane's rows gave; by slot, with the slots that failed."""
        if self._combine is None:
            return self._tuples(pane, keep, only), {}
        known = self._answers.get(pane)
        if known is None:
            found: _Rows = {}
            wrong: dict[int, str] = {}
            for slot, rows in self._tuples(pane, False, None).items():
                values, reason = attempt(partial(self._program.over, rows))
                if reason is not None:
                    wrong[slot] = reason
                elif values:
                    several = len(self._combine.arguments) > 1
                    found[slot] = [tuple(v.values()) if several and v is not None else (v,) for v in values]
            known = found, wrong
            if keep or (self._window is not None and pane < self._window[1]):
                self._answers[pane] = known
        found, wrong = known
        if only is None:
            return found, wrong
        return {s: r for s, r in found.items() if s in only}, {s: w for s, w in wrong.items() if s in only}

    def _tuples(self, pane: int, keep: bool, only: set[int] | None) -> _Rows:
        known = self._lists.get(pane)
        if known is None:
            pieces = self._panes[pane]
            frame = pl.concat(pieces) if len(pieces) > 1 else pieces[0]
            if only is not None:
                frame = frame.filter(pl.col(SLOT).is_in(list(only)))
            slots = ints(frame.get_column(SLOT))
            rows = as_tuples(ordered(frame.drop(SLOT), slots), frame.height)
            known = {}
            counts = np.bincount(slots) if slots.size else np.empty(0, np.int64)
            start = 0
            for slot in np.flatnonzero(counts).tolist():
                stop = start + int(counts[slot])
                known[slot] = rows[start:stop]
                start = stop
            if keep:
                self._lists[pane] = known
        return known if only is None else {s: r for s, r in known.items() if s in only}

    def _frame(self, answers: dict[int, tuple[list[Any] | None, str | None]]) -> pl.DataFrame:
        values, wrong = returned([v for v, _ in answers.values()], self.form.call.dtype)
        errors = [e or w for (_, e), w in zip(answers.values(), wrong, strict=True)]
        made = pl.DataFrame([values.alias(VALUES), pl.Series(ERROR, errors, dtype=pl.String())])
        return pl.DataFrame([pl.Series(SLOT, list(answers), dtype=pl.Int64()), made.to_struct(VALUE)])


__all__ = ["UserPanes"]
