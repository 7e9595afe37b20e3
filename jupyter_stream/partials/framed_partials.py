"""Partials of a windowed aggregate that are no numbers (lists, sketches, distinct values), by aggregate, pane and group.

What is kept as numbers is `state.panes`' business; slots and panes are theirs here, too.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from jupyter_stream.aggregates import Dense
from jupyter_stream.aggregates.count import DistinctValues
from jupyter_stream.aggregates.protocol import SLOT, VALUE, nulls_of
from jupyter_stream.aggregates.user.python import ArrayProgram
from jupyter_stream.aggregates.user.rows import HeldForm
from jupyter_stream.core.messages import Int64s
from jupyter_stream.partials.distinct_panes import DistinctPanes
from jupyter_stream.partials.frames import PANE, FrameAnswers, FramePanes, one_by_one
from jupyter_stream.partials.group_aggregate import GroupAggregate
from jupyter_stream.partials.user_panes import UserPanes
from jupyter_stream.partials.user_partials import ArrayPanes


class FramedPartials:
    """Those of some aggregates, by their place among all. True if there are any.

    Args:
        aggregates: all that are computed, those kept as numbers among them.
        marks: whether distinct values are kept as marks rather than as frames, which can be moved to another.
        keyed: whether there are groups.
    """

    def __init__(self, aggregates: Sequence[GroupAggregate], marks: bool, keyed: bool) -> None:
        self._aggregates = tuple(aggregates)
        self._frames = {n: _made(a, marks, keyed) for n, a in enumerate(aggregates) if not isinstance(a.form, Dense)}

    def __bool__(self) -> bool:
        return bool(self._frames)

    @property
    def names(self) -> list[str]:
        """Of the aggregates, in order."""
        return [self._aggregates[n].name for n in self._frames]

    @property
    def held(self) -> list[int]:
        """Bytes of each."""
        return [f.bytes for f in self._frames.values()]

    # -- rows and partials in ----------------------------------------------------------------------------------------

    def add(self, panes: Int64s, ts: Int64s | None, slots: Int64s, inputs: Sequence[pl.Series]) -> None:
        """Fold rows in: their panes, times (where an aggregate goes by them), groups and inputs."""
        base = [pl.Series(PANE, panes), pl.Series(SLOT, slots)]
        for n, frames in self._frames.items():
            aggregate = self._aggregates[n]
            rows = aggregate.rows(base, inputs, None if ts is None else pl.Series(ts))
            if frames.form.skips_nulls and rows.get_column(VALUE).null_count():
                rows = rows.filter(pl.col(VALUE).is_not_null())
            if rows.height:
                frames.update(rows)

    def settle(self, until: int) -> None:
        """No row before that time comes any more, but late ones: those whose order is known may be folded."""
        for frames in self._frames.values():
            if isinstance(frames, UserPanes | ArrayPanes):
                frames.settle(until)

    def absorb(self, pane: int, other: FramedPartials, source: int, to: Int64s) -> None:
        """What another, made for the same aggregates, holds of its pane `source`. Slot i there is `to[i]` here; -1: left out."""
        for n, own in self._frames.items():
            theirs = other._frames[n]
            if isinstance(own, FramePanes) and isinstance(theirs, FramePanes):
                own.append(pane, theirs.renumbered(source, to))

    def unmark(self) -> None:
        """Distinct values as frames from here on."""
        for n, frames in self._frames.items():
            if isinstance(frames, DistinctPanes):
                self._frames[n] = frames.frames(self._aggregates[n].framed)

    def renumber(self, old: Int64s) -> None:
        """What was in slot `old[i]` is now in slot i; the others hold nothing and are given up."""
        for frames in self._frames.values():
            frames.renumber(old)

    # -- the window moves --------------------------------------------------------------------------------------------

    def advance(self, first: int | None, end: int) -> None:
        """Move the window to panes `first <= pane < end`; `first` None keeps all (a landmark)."""
        for frames in self._frames.values():
            frames.advance(first, end)

    def free(self, first: int) -> None:
        """Forget panes before `first`."""
        for frames in self._frames.values():
            frames.free(first)

    # -- answers out -------------------------------------------------------------------------------------------------

    def finish(self, aggregate: int, first: int | None, end: int, slots: int) -> FrameAnswers:
        """Answers of one of the aggregates for panes `first <= pane < end`, of so many slots at most."""
        return self._answers(aggregate, self._frames[aggregate].finish(first, end), slots)

    def close(self, windows: Sequence[tuple[int | None, int]], slots: int) -> list[dict[int, FrameAnswers]]:
        """The window moves from one place to the next: the answers at each, by aggregate."""
        answers: list[dict[int, FrameAnswers]] = [{} for _ in windows]
        for n, frames in self._frames.items():
            found = frames.close(windows) if isinstance(frames, FramePanes) else one_by_one(frames, windows)
            for of_window, frame in zip(answers, found, strict=True):
                of_window[n] = self._answers(n, frame, slots)
        return answers

    def _answers(self, aggregate: int, found: pl.DataFrame, slots: int) -> FrameAnswers:
        of = self._aggregates[aggregate]
        return FrameAnswers(found, slots, of.name, of.dtype, nulls_of(of.function))


def _made(aggregate: GroupAggregate, marks: bool, keyed: bool) -> FramePanes | UserPanes | ArrayPanes | DistinctPanes:
    form = aggregate.form
    assert not isinstance(form, Dense)
    if isinstance(form, HeldForm):
        by_arrays = isinstance(form.call.program, ArrayProgram) and form.call.how == "paned"
        return ArrayPanes(form) if by_arrays else UserPanes(form)
    if marks and isinstance(form, DistinctValues):
        return DistinctPanes(form, keyed)
    return FramePanes(form, aggregate.framed)


__all__ = ["FramedPartials"]
