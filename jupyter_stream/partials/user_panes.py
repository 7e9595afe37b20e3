"""Rows for user-defined aggregates by pane, and runs over them as the window moves: afresh, kept on, or over answers of panes.

Rows are taken in the order of times, so they are kept as they came until their pane is in a final extent; and as long as a late
row may come among them, for then the group is run again. Of an ALGEBRAIC aggregate panes hold answers in place of rows: see
`pane_rows`. Delta maintenance and the paned rewrite: ESL, §4 and §5.1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from jupyter_stream.aggregates.protocol import SLOT, VALUE
from jupyter_stream.aggregates.user.answers import returned
from jupyter_stream.aggregates.user.protocol import GroupRun, Program
from jupyter_stream.aggregates.user.rows import ERROR, VALUES, HeldForm
from jupyter_stream.aggregates.user.segments import Outcome, as_tuples, attempt, over_segments
from jupyter_stream.aggregates.user.stepping import RowSteps
from jupyter_stream.core.messages import Int64s
from jupyter_stream.functions.scalar import RowError
from jupyter_stream.partials.frames import PANE
from jupyter_stream.partials.pane_rows import FoldedPanes, PaneRows

_Tagged: TypeAlias = tuple[list[int], list[tuple[Any, ...]]]
"""Rows in order: their panes, and their arguments."""


@dataclass
class _Kept:
    """A run that goes on from extent to extent.

    Attributes:
        run: its state.
        newest: the last pane it took rows of.
        last: what the last row returned.
        stale: whether rows have left since.
    """

    run: GroupRun
    newest: int = 0
    last: Sequence[Any] = ()
    stale: bool = False


class UserPanes:
    """One user-defined aggregate over panes.

    Args:
        form: what is run.
    """

    def __init__(self, form: HeldForm) -> None:
        self.form = form
        call = form.call
        self._outer: Program = call.combine if call.combine is not None else call.program
        self._keeps = call.how in ("delta", "running") or (call.combine is not None and self._outer.expires)
        self._rows = FoldedPanes(call) if call.combine is not None else PaneRows()
        self._kept: dict[int, _Kept] = {}
        self._window: tuple[int | None, int] | None = None  # where it was moved to
        self._done: int | None = None  # panes before this one have been taken by the runs that go on
        self._found: pl.DataFrame | None = None

    @property
    def bytes(self) -> int:
        """Bytes held, those of runs roughly."""
        return self._rows.bytes + sum(k.run.bytes for k in self._kept.values())

    @property
    def rows(self) -> int:
        """Rows held."""
        return self._rows.rows

    def update(self, rows: pl.DataFrame) -> None:
        """Take rows: columns `pane`, `slot`, the number, the arguments, `$ts`."""
        for (pane,), piece in rows.partition_by(PANE, as_dict=True, include_key=False).items():
            self._rows.add(pane, piece)
            if self._done is not None and pane < self._done:
                for slot in piece.get_column(SLOT).unique().to_list():  # a late row: run again from the beginning
                    self._kept.pop(slot, None)
                self._found = None

    def settle(self, until: int) -> None:
        """No row before that time comes any more, but late ones."""
        self._rows.settle(until)

    # -- the window moves

    def advance(self, first: int | None, end: int) -> None:
        """The window moves to panes `first <= pane < end`; `first` None keeps all."""
        self._window = (first, end)
        self._found = None
        self._rows.close(end)
        if first is not None:
            self.free(first)

    def free(self, before: int) -> None:
        """Forget panes before that one, and runs whose rows have all left."""
        self._rows.free(before)
        for slot in [s for s, k in self._kept.items() if k.newest < before]:
            del self._kept[slot]

    def renumber(self, old: Int64s) -> None:
        """Slot `old[i]` is now slot i."""
        if not old.size:
            return
        new = np.full(int(old.max()) + 1, -1, np.int64)
        new[old] = np.arange(old.size)
        self._rows.renumber(new)
        self._kept = {int(new[s]): k for s, k in self._kept.items()}
        self._found = None

    # -- answers

    def finish(self, first: int | None, end: int) -> pl.DataFrame:
        """Answers over panes `first <= pane < end`: columns `slot`, `v`; no row for a group without rows."""
        if (first, end) != self._window:
            return self._afresh(first, end)  # an extent ahead, still open
        if self._found is None:
            self._found = self._kept_on(first, end) if self._keeps else self._afresh(first, end)
        return self._found

    def _afresh(self, first: int | None, end: int) -> pl.DataFrame:
        """Every group run over its rows from the beginning."""
        panes = self._rows.panes(first, end)
        found = self._rows.of(panes)
        answers: dict[int, Outcome] = {}
        if found is not None:
            outcomes = over_segments(self._outer, found.columns, found.lengths)
            answers.update(zip(found.slots.tolist(), outcomes, strict=True))
        answers.update({slot: (None, reason) for slot, reason in self._rows.failed(panes).items()})
        return framed(answers, self.form.call.dtype)

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
        failed.update(self._rows.failed(self._rows.panes(first, end)))
        new = self._tagged(begin, end)
        # groups of which a late row was among those taken, or that failed before, begin again
        again = self._missing(first, end, set(new))
        for slot in again:
            errors.pop(slot, None)
        for slot, tagged in new.items():
            if slot not in errors and slot not in again:
                self._take(slot, tagged, errors)
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
        return framed(answers, self.form.call.dtype)

    def _tagged(self, first: int | None, end: int) -> dict[int, _Tagged]:
        """Rows of some panes by slot, in order, with their panes."""
        found: dict[int, _Tagged] = {}
        for pane in self._rows.panes(first, end):
            for slot, rows in self._tuples(pane):
                tags, held = found.setdefault(slot, ([], []))
                tags += [pane] * len(rows)
                held += rows
        return found

    def _take(self, slot: int, tagged: _Tagged, errors: dict[int, str]) -> None:
        tags, rows = tagged
        kept = self._kept.get(slot)
        if kept is None:
            kept = self._kept[slot] = _Kept(self._outer.start())
        kept.newest, kept.stale = tags[-1], False
        outcomes = kept.run.steps(RowSteps(tags, [None] * len(tags), rows, [False] * len(tags)))
        wrong = next((reason for _, reason in outcomes if reason is not None), None)
        if wrong is not None:
            errors[slot] = wrong
        else:
            kept.last = outcomes[-1][0] or ()

    def _missing(self, first: int | None, end: int, new: set[int]) -> set[int]:
        """Groups with rows in the extent before the new ones, and no run."""
        if self._done is None:
            return set()
        held: set[int] = set()
        for pane in self._rows.panes(first, self._done):
            held |= self._rows.slots(pane)
        return {s for s in held if s not in self._kept}

    def _over_again(self, first: int | None, end: int, slots: set[int], errors: dict[int, str]) -> dict[int, Outcome]:
        """Runs of some groups from the first row of the extent on, in place of those they had."""
        answers: dict[int, Outcome] = {}
        for slot, tagged in self._tagged(first, end).items():
            if slot not in slots:
                continue
            self._kept.pop(slot, None)
            self._take(slot, tagged, errors)
            if slot not in errors:
                kept = self._kept[slot]
                answers[slot] = attempt(kept.run.answer) if self._outer.blocking else (kept.last, None)
        return answers

    def _tuples(self, pane: int) -> Iterator[tuple[int, list[tuple[Any, ...]]]]:
        """What is run over, by slot: rows in order, or what the pane's rows gave."""
        found = self._rows.of([pane])
        if found is None:
            return
        stops = np.cumsum(found.lengths)
        rows = as_tuples(found.columns, int(stops[-1]) if stops.size else 0)
        for slot, stop, length in zip(found.slots.tolist(), stops.tolist(), found.lengths.tolist(), strict=True):
            yield slot, rows[stop - length : stop]


def framed(answers: Mapping[int, Outcome], dtype: pl.DataType) -> pl.DataFrame:
    """Answers by slot: columns `slot`, `v`, which says the values returned or why there are none."""
    values, wrong = returned([v for v, _ in answers.values()], dtype)
    errors = [e or w for (_, e), w in zip(answers.values(), wrong, strict=True)]
    made = pl.DataFrame([values.alias(VALUES), pl.Series(ERROR, errors, dtype=pl.String())])
    return pl.DataFrame([pl.Series(SLOT, list(answers), dtype=pl.Int64()), made.to_struct(VALUE)])


__all__ = ["UserPanes", "framed"]
